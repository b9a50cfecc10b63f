//! `zeitnot describenet`: describes a network file.

mod structure;

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::{ExitStatus, Failure, Output};
use crate::network::weights::{
    DataType, HeadChoice, Model, Network, NetworkFile, NetworkMetadata, OnnxModel, PolicyHeadName,
    ValueHeadName, ValueOutput,
};
use crate::options::OptionChoice;
use structure::Structure;

#[derive(Debug, Args)]
pub(super) struct DescribeArgs {
    /// Network file (.pb.gz, .pb or .onnx)
    #[arg(value_name = "FILE", required_unless_present = "weights")]
    file: Option<PathBuf>,
    /// The same, as Lc0 has it
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    weights: Option<PathBuf>,
    /// Policy head to describe: vanilla, optimistic, soft, opponent
    #[arg(long, value_name = "HEAD", default_value_t)]
    policy_head: PolicyHeadName,
    /// Value head to describe: winner, q, st
    #[arg(long, value_name = "HEAD", default_value_t)]
    value_head: ValueHeadName,
}

/// The description of a network file.
#[derive(Serialize)]
struct Description {
    file: String,
    sha256: String,
    /// Bytes on disk.
    size: u64,
    /// The time to read the file and check its layers, ms.
    load_ms: f64,
    input_format: i32,
    input: String,
    body: String,
    policy: String,
    value: String,
    /// The Moves Left Head; `None` without one.
    moves_left: Option<String>,
    /// The layers; `None` for ONNX models.
    structure: Option<Structure>,
    /// The activation function; `None` for ONNX models.
    activation: Option<String>,
    policy_heads: Vec<&'static str>,
    value_heads: Vec<&'static str>,
    /// The cost of an evaluation; `None` for ONNX models.
    cost: Option<CostReport>,
    unusual: Vec<String>,
    #[serde(flatten)]
    metadata: NetworkMetadata,
}

/// The cost of the network with the chosen heads.
#[derive(Serialize)]
struct CostReport {
    parameters: u64,
    macs_per_position: u64,
    /// Bytes of the weights in float32.
    weight_bytes: u64,
    /// Bytes of the largest layer's inputs and outputs for one position in float32: an estimate of what one more
    /// position in a batch costs.
    bytes_per_position: u64,
}

/// Runs the command.
pub(super) fn run(args: &DescribeArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let heads = HeadChoice { policy: args.policy_head, value: args.value_head };
    let start = Instant::now();
    let named = args.file.as_ref().or(args.weights.as_ref());
    let path = named.ok_or_else(|| Failure::Input("describenet: name a network file".into()))?;
    let file = NetworkFile::load(path, heads)?;
    let load_ms = start.elapsed().as_secs_f64() * 1e3;
    let description = describe(&file, load_ms);
    output.write(&description, &description)?;
    Ok(ExitStatus::Success)
}

fn describe(file: &NetworkFile, load_ms: f64) -> Description {
    let description = Description {
        file: file.path.display().to_string(),
        sha256: file.sha256.clone(),
        size: file.size,
        load_ms,
        input_format: 0,
        input: String::new(),
        body: String::new(),
        policy: String::new(),
        value: String::new(),
        moves_left: None,
        structure: None,
        activation: None,
        policy_heads: file.policy_heads.iter().map(|head| OptionChoice::name(*head)).collect(),
        value_heads: file.value_heads.iter().map(|head| OptionChoice::name(*head)).collect(),
        cost: None,
        unusual: Vec::new(),
        metadata: file.metadata.clone(),
    };
    match &file.model {
        Model::Layers(network, _) => of_layers(network, description),
        Model::Onnx(model) => of_onnx(model, description),
    }
}

fn of_layers(network: &Network, rest: Description) -> Description {
    let cost = network.cost();
    Description {
        input_format: network.input_format.number(),
        input: format!("{:?}", network.input_format),
        body: network.describe_body(),
        policy: network.describe_policy(),
        value: network.describe_value(),
        moves_left: network.describe_moves_left(),
        structure: Some(network.into()),
        activation: Some(format!("{:?}", network.activation)),
        cost: Some(CostReport {
            parameters: cost.parameters,
            macs_per_position: cost.macs,
            weight_bytes: 4 * cost.parameters,
            bytes_per_position: 4 * cost.widest,
        }),
        unusual: network.unusual(),
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
    let batch = model.fixed_batch.map_or("any batch size".into(), |size| format!("batches of {size} only"));
    let kind = match &model.names.value {
        ValueOutput::Wdl(_) => "win, draw, loss",
        ValueOutput::Scalar(_) => "scalar",
    };
    Description {
        input_format: model.input_format.number(),
        input: format!("{:?}", model.input_format),
        body: format!("ONNX model of {} bytes, {element}, {batch}", model.bytes.len()),
        policy: model.names.policy.clone(),
        value: format!("{kind}; {}", model.names.value.name()),
        moves_left: model.names.moves_left.clone(),
        unusual: vec!["an ONNX model: its layers cannot be checked or rearranged".into()],
        ..rest
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |key: &str, value: &dyn fmt::Display| writeln!(f, "{key:<16} {value}");
        line("file", &format_args!("{} ({} bytes)", self.file, self.size))?;
        line("sha256", &self.sha256)?;
        line("loaded in", &format_args!("{:.1} ms", self.load_ms))?;
        line("input", &format_args!("{} (format {})", self.input, self.input_format))?;
        line("body", &self.body)?;
        line("policy", &self.policy)?;
        line("value", &self.value)?;
        line("moves left", &self.moves_left.as_deref().unwrap_or("none"))?;
        if let Some(activation) = &self.activation {
            line("activation", activation)?;
        }
        line("policy heads", &self.policy_heads.join(", "))?;
        line("value heads", &self.value_heads.join(", "))?;
        if let Some(cost) = &self.cost {
            line("parameters", &format_args!("{:.3} M", cost.parameters as f64 / 1e6))?;
            line(
                "work",
                &format_args!("{:.1} M multiplications a position", cost.macs_per_position as f64 / 1e6),
            )?;
            line("weights", &format_args!("{:.1} MB in float32", cost.weight_bytes as f64 / 1e6))?;
            line(
                "buffers",
                &format_args!("about {:.0} kB a position", cost.bytes_per_position as f64 / 1e3),
            )?;
        }
        for part in &self.unusual {
            line("unusual", part)?;
        }
        let metadata = &self.metadata;
        let facts: [(&str, Option<String>); 8] = [
            ("min. Lc0", metadata.min_version.clone()),
            ("training steps", metadata.training_steps.map(|n| n.to_string())),
            ("learning rate", metadata.learning_rate.map(|n| n.to_string())),
            ("value loss", metadata.value_loss.map(|n| n.to_string())),
            ("policy loss", metadata.policy_loss.map(|n| n.to_string())),
            ("accuracy", metadata.accuracy.map(|n| format!("{n} %"))),
            ("trained with", metadata.training_params.clone()),
            ("licence", metadata.license.clone()),
        ];
        for (key, value) in facts {
            if let Some(value) = value {
                line(key, &value)?;
            }
        }
        Ok(())
    }
}
