//! `leela2onnx` and `onnx2leela`, Lc0's modes that convert networks, with Lc0's flags. The first is another way to say
//! `zeitnot convert`; the second puts an ONNX model into a file of Lc0's format.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, ValueEnum};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::output::eprint_message;
use super::{ConvertArgs, ConvertPrecision, ExitStatus, Failure, Output};
use crate::network::weights::{
    INPUT_PLANES, NetworkFile, OUTPUT_POLICY, OUTPUT_WDL, OnnxModel, PolicyHeadName, TensorNames,
    ValueHeadName, ValueOutput,
};

/// Lc0's names of precisions.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Lc0DataType {
    #[default]
    F32,
    F16,
    Bf16,
}

#[derive(Debug, Args)]
pub(in crate::tools) struct Leela2onnxArgs {
    /// Network file (.pb.gz or .pb)
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The ONNX file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Precision of the computation
    #[arg(long, value_enum, default_value_t)]
    onnx_data_type: Lc0DataType,
    /// The only batch size that the model accepts; -1 is any
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true)]
    onnx_batch_size: i64,
    /// Policy head: vanilla, optimistic, soft, opponent
    #[arg(long, value_name = "HEAD", default_value_t)]
    policy_head: PolicyHeadName,
    /// Value head: winner, q, st
    #[arg(long, value_name = "HEAD", default_value_t)]
    value_head: ValueHeadName,
    #[arg(long, hide = true)]
    onnx_opset: Option<String>,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    onnx_ir: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    onnx2pytorch: Option<Option<String>>,
}

/// Runs `leela2onnx`.
///
/// # Errors
/// Fails as `convert` does, and for bfloat16.
pub(in crate::tools) fn leela2onnx(args: Leela2onnxArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    for (flag, is_there) in [
        ("--onnx-opset", args.onnx_opset.is_some()),
        ("--onnx-ir", args.onnx_ir.is_some()),
        ("--onnx2pytorch", args.onnx2pytorch.is_some()),
    ] {
        if is_there {
            eprint_message(format_args!("{flag} has no effect: there is one form of model"));
        }
    }
    let precision = match args.onnx_data_type {
        Lc0DataType::F32 => ConvertPrecision::Fp32,
        Lc0DataType::F16 => ConvertPrecision::Fp16,
        Lc0DataType::Bf16 => {
            return Err(Failure::Input("--onnx-data-type=bf16 cannot be written; use f16 or f32".into()));
        }
    };
    let batch = usize::try_from(args.onnx_batch_size).ok().and_then(NonZeroUsize::new);
    let Leela2onnxArgs { input: file, output: target, policy_head, value_head, .. } = args;
    super::run(&ConvertArgs { file, output: target, precision, batch, policy_head, value_head }, output)
}

#[derive(Debug, Args)]
pub(in crate::tools) struct Onnx2leelaArgs {
    /// The ONNX model
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The network file to write; .pb.gz is compressed
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Name of the model's input [default: /input/planes]
    #[arg(long, value_name = "NAME")]
    onnx_input: Option<String>,
    /// Name of the policy [default: /output/policy]
    #[arg(long, value_name = "NAME")]
    onnx_output_policy: Option<String>,
    /// Name of a value of win, draw and loss [default: /output/wdl]
    #[arg(long, value_name = "NAME", conflicts_with = "onnx_output_value")]
    onnx_output_wdl: Option<String>,
    /// Name of a value in a single number
    #[arg(long, value_name = "NAME")]
    onnx_output_value: Option<String>,
    /// Name of the moves left [default: /output/mlh, if the model has that, else none]
    #[arg(long, value_name = "NAME")]
    onnx_output_mlh: Option<String>,
}

impl Onnx2leelaArgs {
    /// Returns the names of the model's tensors, if any is given.
    fn names(&self) -> Option<TensorNames> {
        let all = [
            &self.onnx_input,
            &self.onnx_output_policy,
            &self.onnx_output_wdl,
            &self.onnx_output_value,
            &self.onnx_output_mlh,
        ];
        let or = |name: &Option<String>, default: &str| name.clone().unwrap_or_else(|| default.into());
        all.iter().any(|name| name.is_some()).then(|| TensorNames {
            input: or(&self.onnx_input, INPUT_PLANES),
            policy: or(&self.onnx_output_policy, OUTPUT_POLICY),
            value: match &self.onnx_output_value {
                Some(name) => ValueOutput::Scalar(name.clone()),
                None => ValueOutput::Wdl(or(&self.onnx_output_wdl, OUTPUT_WDL)),
            },
            moves_left: self.onnx_output_mlh.clone(),
        })
    }
}

/// Runs `onnx2leela`.
///
/// # Errors
/// Fails if the model cannot be read, lacks a tensor, or if the file cannot be written.
pub(in crate::tools) fn onnx2leela(
    args: &Onnx2leelaArgs,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let bytes = std::fs::read(&args.input)
        .map_err(|error| Failure::Input(format!("{}: cannot be read: {error}", args.input.display())))?;
    let model = OnnxModel::from_bytes(&args.input, Bytes::from(bytes), args.names())?;
    let mut file = NetworkFile::with_model(&model);
    if args.output.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&file)?;
        file = encoder.finish()?;
    }
    super::write_whole(&args.output, &file)?;
    let conversion = super::conversion(&args.output, file.len(), model);
    output.write(&conversion, &conversion)?;
    Ok(ExitStatus::Success)
}
