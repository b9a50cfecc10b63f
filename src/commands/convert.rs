//! `zeitnot convert`: writes a network as an ONNX model. `onnx2leela` puts an ONNX model into a file of Lc0's
//! format, with the flags of Lc0's mode of this name.

use std::fmt;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use bytes::Bytes;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::engine_args::HeadArgs;
use crate::output::{ExitStatus, Output, unreadable};
use zeitnot_engine::network::onnx::{
    self, BuildOptions, DataType, Form, INPUT_PLANES, InputForm, OUTPUT_POLICY, OUTPUT_WDL, OnnxModel,
    TensorNames, ValueOutput,
};
use zeitnot_engine::network::weights::{Model, NetworkFile};
use zeitnot_lab::rows::replace;

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Network file (.pb.gz, .pb or .onnx)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The ONNX file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Precision of the computation, with fp16 also of input and outputs, for GPUs
    #[arg(long, value_name = "PRECISION", default_value = "fp32", value_parser = precision())]
    precision: DataType,
    /// The only batch size that the model accepts [default: any]
    #[arg(long, value_name = "N")]
    batch: Option<NonZeroUsize>,
    #[command(flatten)]
    heads: HeadArgs,
}

fn precision() -> impl TypedValueParser<Value = DataType> {
    let names = PossibleValuesParser::new(["fp32", "fp16"]);
    names.map(|name| {
        if name == "fp16" {
            DataType::Float16
        } else {
            DataType::Float32
        }
    })
}

#[derive(Serialize)]
struct Conversion {
    output: String,
    size: usize,
    input: String,
    policy: String,
    value: String,
    moves_left: Option<String>,
    input_format: i32,
}

pub(super) fn run(args: &ConvertArgs, output: &mut Output) -> Result<ExitStatus> {
    let heads = args.heads.choice();
    let file = NetworkFile::load(&args.file, heads)?;
    let metadata = [
        (
            "network",
            file.path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        ),
        ("sha256", file.sha256),
        ("policy_head", heads.policy.to_string()),
        ("value_head", heads.value.to_string()),
    ];
    let model = match file.model {
        Model::Layers(network) => {
            let options = BuildOptions {
                data_type: args.precision,
                // Lc0 reads outputs of one type.
                value_type: args.precision,
                fixed_batch: args.batch.map(NonZeroUsize::get),
                input: InputForm::Planes,
                form: Form::Plain,
                metadata: metadata
                    .map(|(key, value)| (format!("zeitnot.{key}"), value))
                    .into(),
            };
            onnx::build(network, &options)
        }
        Model::Onnx(model) => {
            in_one_file(&args.file, &model)?;
            ensure!(
                args.batch.is_none() && args.precision == DataType::Float32,
                "{}: already holds an ONNX model, which is written as it is: leave --batch and --precision out",
                args.file.display()
            );
            model
        }
    };
    write_whole(&args.output, &model.bytes)?;
    let conversion = conversion(&args.output, model.bytes.len(), model);
    output.report(&conversion)
}

fn conversion(path: &Path, size: usize, model: OnnxModel) -> Conversion {
    Conversion {
        output: path.display().to_string(),
        size,
        input: model.names.input,
        policy: model.names.policy,
        value: model.names.value.name().to_owned(),
        moves_left: model.names.moves_left,
        input_format: model.input_format.into(),
    }
}

fn in_one_file(path: &Path, model: &OnnxModel) -> Result<()> {
    let text = "keeps its weights in another file: save the model in one file (all in .onnx) first";
    ensure!(model.weights_folder.is_none(), "{}: {text}", path.display());
    Ok(())
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| anyhow!("{}: cannot be written: {error}", path.display()))
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conversion {
            output,
            size,
            input,
            policy,
            value,
            input_format,
            ..
        } = self;
        writeln!(f, "{output} ({size} bytes)")?;
        writeln!(
            f,
            "input      {input} [batch, 112, 8, 8], Lc0's input format {input_format}"
        )?;
        writeln!(f, "policy     {policy} [batch, 1858]")?;
        writeln!(f, "value      {value}")?;
        writeln!(f, "moves left {}", self.moves_left.as_deref().unwrap_or("none"))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Onnx2leelaArgs {
    /// The ONNX model
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The network file to write. .pb.gz is compressed
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
    /// Lc0's input format, its number or name [default: what the model says, else 1]
    #[arg(long, value_name = "N", value_parser = input_format)]
    input_format: Option<i32>,
    /// Divide the fifty-move counter by 99, as models that TensorFlow exported need it
    #[arg(long)]
    fix_rule50: bool,
    /// Append the softmax that the model's win, draw and loss lack
    #[arg(long)]
    fix_wdl_softmax: bool,
}

/// Lc0's names of its input formats, with their numbers.
const INPUT_FORMATS: [(&str, i32); 7] = [
    ("INPUT_CLASSICAL_112_PLANE", 1),
    ("INPUT_112_WITH_CASTLING_PLANE", 2),
    ("INPUT_112_WITH_CANONICALIZATION", 3),
    ("INPUT_112_WITH_CANONICALIZATION_HECTOPLIES", 4),
    ("INPUT_112_WITH_CANONICALIZATION_HECTOPLIES_ARMAGEDDON", 132),
    ("INPUT_112_WITH_CANONICALIZATION_V2", 5),
    ("INPUT_112_WITH_CANONICALIZATION_V2_ARMAGEDDON", 133),
];

fn input_format(text: &str) -> Result<i32, String> {
    let mut known = INPUT_FORMATS.iter();
    let format = known.find(|(name, number)| *name == text || number.to_string() == text);
    format
        .map(|(_, number)| *number)
        .ok_or_else(|| "expected 1, 2, 3, 4, 5, 132 or 133".into())
}

impl Onnx2leelaArgs {
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

pub(super) fn onnx2leela(args: &Onnx2leelaArgs, output: &mut Output) -> Result<ExitStatus> {
    let bytes = std::fs::read(&args.input).map_err(|error| unreadable(&args.input, &error))?;
    let mut model = OnnxModel::from_bytes(&args.input, Bytes::from(bytes), args.names(), args.input_format)?;
    in_one_file(&args.input, &model)?;
    if args.fix_rule50 {
        model = model.with_scaled_rule50();
    }
    if args.fix_wdl_softmax {
        model = model.with_wdl_softmax();
    }
    let mut file = NetworkFile::with_model(&model);
    if args.output.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&file)?;
        file = encoder.finish()?;
    }
    write_whole(&args.output, &file)?;
    let conversion = conversion(&args.output, file.len(), model);
    output.report(&conversion)
}
