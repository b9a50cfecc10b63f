//! `zeitnot describenet`: describes a network file.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::engine_args::HeadArgs;
use crate::output::{ExitStatus, Output};
use zeitnot_engine::network::layers::Network;
use zeitnot_engine::network::onnx::{DataType, OnnxModel, ValueOutput};
use zeitnot_engine::network::weights::{Model, NetworkFile, NetworkMetadata};
use zeitnot_engine::options::OptionChoice;

#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// Network file (.pb.gz, .pb or .onnx)
    #[arg(value_name = "FILE", required_unless_present = "weights")]
    file: Option<PathBuf>,
    /// The same, as Lc0 has it
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    weights: Option<PathBuf>,
    #[command(flatten)]
    heads: HeadArgs,
}

#[derive(Default, Serialize)]
struct Description {
    file: String,
    sha256: String,
    size: u64,
    input_format: i32,
    input: String,
    body: String,
    policy: String,
    value: String,
    moves_left: Option<String>,
    /// `None` for ONNX models.
    activation: Option<String>,
    policy_heads: Vec<&'static str>,
    value_heads: Vec<&'static str>,
    /// Per evaluation, `None` for ONNX models.
    cost: Option<CostReport>,
    #[serde(flatten)]
    metadata: NetworkMetadata,
}

#[derive(Serialize)]
struct CostReport {
    parameters: u64,
    macs_per_position: u64,
}

pub(super) fn run(args: &DescribeArgs, output: &mut Output) -> Result<ExitStatus> {
    let named = args.file.as_ref().or(args.weights.as_ref());
    let path = named.context("describenet: name a network file")?;
    output.report(&describe(&NetworkFile::load(path, args.heads.choice())?))
}

fn describe(file: &NetworkFile) -> Description {
    let description = Description {
        file: file.path.display().to_string(),
        sha256: file.sha256.clone(),
        size: file.size,
        policy_heads: file
            .policy_heads
            .iter()
            .map(|head| OptionChoice::name(*head))
            .collect(),
        value_heads: file
            .value_heads
            .iter()
            .map(|head| OptionChoice::name(*head))
            .collect(),
        metadata: file.metadata.clone(),
        ..Description::default()
    };
    match &file.model {
        Model::Layers(network) => of_layers(network, description),
        Model::Onnx(model) => of_onnx(model, description),
    }
}

fn of_layers(network: &Network, rest: Description) -> Description {
    let cost = network.cost();
    Description {
        input_format: network.input_format.into(),
        input: format!("{:?}", network.input_format),
        body: network.describe_body(),
        policy: network.describe_policy(),
        value: network.describe_value(),
        moves_left: network.describe_moves_left(),
        activation: Some(format!("{:?}", network.activation)),
        cost: Some(CostReport {
            parameters: cost.parameters,
            macs_per_position: cost.macs,
        }),
        ..rest
    }
}

fn of_onnx(model: &OnnxModel, rest: Description) -> Description {
    let element = match model.data_type {
        _ if model.is_quantized() => "int8",
        DataType::Float32 => "float32",
        DataType::Float16 => "float16",
        DataType::Bfloat16 => "bfloat16",
    };
    let batch = model
        .fixed_batch
        .map_or("any batch size".into(), |size| format!("batches of {size} only"));
    let kind = match &model.names.value {
        ValueOutput::Wdl(_) => "win, draw, loss",
        ValueOutput::Scalar(_) => "scalar",
    };
    Description {
        input_format: model.input_format.into(),
        input: format!("{:?}", model.input_format),
        body: format!("ONNX model of {} bytes, {element}, {batch}", model.bytes.len()),
        policy: model.names.policy.clone(),
        value: format!("{kind}; {}", model.names.value.name()),
        moves_left: model.names.moves_left.clone(),
        ..rest
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cost = self.cost.as_ref();
        let metadata = &self.metadata;
        let millions = |number: u64| number as f64 / 1e6;
        let parameters = cost.map(|cost| format!("{:.3} M", millions(cost.parameters)));
        let work = cost.map(|cost| {
            let macs = millions(cost.macs_per_position);
            format!("{macs:.1} M multiplications a position")
        });
        let figure = |number: Option<f32>| number.map(|number| number.to_string());
        let facts = [
            ("file", Some(format!("{} ({} bytes)", self.file, self.size))),
            ("sha256", Some(self.sha256.clone())),
            (
                "input",
                Some(format!("{} (format {})", self.input, self.input_format)),
            ),
            ("body", Some(self.body.clone())),
            ("policy", Some(self.policy.clone())),
            ("value", Some(self.value.clone())),
            ("moves left", self.moves_left.clone().or(Some("none".into()))),
            ("activation", self.activation.clone()),
            ("policy heads", Some(self.policy_heads.join(", "))),
            ("value heads", Some(self.value_heads.join(", "))),
            ("parameters", parameters),
            ("work", work),
            ("min. Lc0", metadata.min_version.clone()),
            (
                "training steps",
                metadata.training_steps.map(|steps| steps.to_string()),
            ),
            ("learning rate", figure(metadata.learning_rate)),
            ("value loss", figure(metadata.value_loss)),
            ("policy loss", figure(metadata.policy_loss)),
            (
                "accuracy",
                metadata.accuracy.map(|percent| format!("{percent} %")),
            ),
            ("trained with", metadata.training_params.clone()),
            ("licence", metadata.license.clone()),
        ];
        for (name, value) in facts {
            if let Some(value) = value {
                writeln!(f, "{name:<16} {value}")?;
            }
        }
        Ok(())
    }
}
