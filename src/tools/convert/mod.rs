//! `zeitnot convert`: writes a network as an ONNX model that any program can run.

mod int8;
mod lc0_modes;

use std::fmt;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{ExitStatus, Failure, Output};
use crate::network::onnx::{self, BuildOptions, Quantization};
use crate::network::weights::{
    Body, HeadChoice, InputForm, Model, Network, NetworkFile, OnnxModel, PolicyHeadName, ValueHeadName,
};
pub(super) use lc0_modes::{Leela2onnxArgs, Onnx2leelaArgs, leela2onnx, onnx2leela};

#[derive(Debug, Args)]
pub(super) struct ConvertArgs {
    /// Network file (.pb.gz, .pb or .onnx)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The ONNX file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Precision of the computation
    #[arg(long, value_enum, default_value_t)]
    precision: ConvertPrecision,
    /// The only batch size that the model accepts [default: any]
    #[arg(long, value_name = "N")]
    batch: Option<NonZeroUsize>,
    /// Policy head: vanilla, optimistic, soft, opponent
    #[arg(long, value_name = "HEAD", default_value_t)]
    policy_head: PolicyHeadName,
    /// Value head: winner, q, st
    #[arg(long, value_name = "HEAD", default_value_t)]
    value_head: ValueHeadName,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum ConvertPrecision {
    /// float32
    #[default]
    Fp32,
    /// float16, also for input and outputs: for GPUs
    Fp16,
    /// 8-bit integers in the blocks of a residual tower, float32 elsewhere: faster on CPUs with VNNI, less exact (in 500
    /// positions of engine games, mean error of q 0.013 for maia-1900 and 0.011 for zeitnot-tiny, mean KL divergence of
    /// the policy 0.005 and 0.001, same best move in 96 % and 98 %)
    Int8,
}

/// The file that was written.
#[derive(Serialize)]
struct Conversion {
    output: String,
    /// Bytes on disk.
    size: usize,
    input: String,
    policy: String,
    value: String,
    moves_left: Option<String>,
    input_format: i32,
}

/// Runs the command.
pub(super) fn run(args: &ConvertArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let heads = HeadChoice { policy: args.policy_head, value: args.value_head };
    let file = NetworkFile::load(&args.file, heads)?;
    let metadata = [
        ("network", file.path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        ("sha256", file.sha256),
        ("policy_head", args.policy_head.to_string()),
        ("value_head", args.value_head.to_string()),
    ];
    let model = match file.model {
        Model::Layers(network, _) => {
            let options = BuildOptions {
                precision: match args.precision {
                    ConvertPrecision::Fp32 | ConvertPrecision::Int8 => onnx::Precision::Float32,
                    ConvertPrecision::Fp16 => onnx::Precision::Float16,
                },
                fixed_batch: args.batch.map(NonZeroUsize::get),
                quantization: Quantization::None,
                input: InputForm::Planes,
                metadata: metadata.map(|(key, value)| (format!("zeitnot.{key}"), value)).into(),
            };
            match args.precision {
                ConvertPrecision::Int8 => quantized(*network, options, args)?,
                ConvertPrecision::Fp32 | ConvertPrecision::Fp16 => onnx::build(*network, &options),
            }
        }
        Model::Onnx(model) => as_it_is(model, args)?,
    };
    write_whole(&args.output, &model.bytes)?;
    let conversion = conversion(&args.output, model.bytes.len(), model);
    output.write(&conversion, &conversion)?;
    Ok(ExitStatus::Success)
}

/// Returns what is said of a file of `size` bytes that holds `model`.
fn conversion(path: &Path, size: usize, model: OnnxModel) -> Conversion {
    Conversion {
        output: path.display().to_string(),
        size,
        input: model.names.input,
        policy: model.names.policy,
        value: model.names.value.name().to_owned(),
        moves_left: model.names.moves_left,
        input_format: model.input_format.number(),
    }
}

fn quantized(network: Network, options: BuildOptions, args: &ConvertArgs) -> Result<OnnxModel, Failure> {
    match network.body {
        Body::Tower(_) => Ok(int8::build(network, options)?),
        Body::Attention(_) => {
            let text = "has an attention body, and int8 is for residual towers: use fp16 or fp32";
            Err(Failure::Input(format!("{}: {text}", args.file.display())))
        }
    }
}

/// Returns a file's own ONNX model, which is only ever written unchanged.
fn as_it_is(model: OnnxModel, args: &ConvertArgs) -> Result<OnnxModel, Failure> {
    if args.batch.is_some() || args.precision != ConvertPrecision::Fp32 {
        let text =
            "already holds an ONNX model, which is written as it is: leave --batch and --precision out";
        return Err(Failure::Input(format!("{}: {text}", args.file.display())));
    }
    Ok(model)
}

/// Writes a file so that no other program ever sees it half done.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    fs::write(&part, bytes)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|error| Failure::Input(format!("{}: cannot be written: {error}", path.display())))
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} bytes)", self.output, self.size)?;
        writeln!(
            f,
            "input      {} [batch, 112, 8, 8], Lc0's input format {}",
            self.input, self.input_format
        )?;
        writeln!(f, "policy     {} [batch, 1858]", self.policy)?;
        writeln!(f, "value      {}", self.value)?;
        writeln!(f, "moves left {}", self.moves_left.as_deref().unwrap_or("none"))
    }
}
