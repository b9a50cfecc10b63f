//! ONNX models in files: bare, or embedded in a file of Lc0. What they claim is checked.

use std::path::Path;

use bytes::Bytes;

use super::container::Chunks;
use super::error::{Checked, NetworkError, fault, missing, unsupported};
use super::{format, message};
use crate::network::encode::InputFormat;
use crate::network::onnx::message as onnx;
use crate::network::onnx::{
    DataType, INPUT_PLANES, InputForm, METADATA_INPUT_FORMAT, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_VALUE,
    OUTPUT_WDL, OnnxModel, TensorNames, ValueOutput,
};
use crate::network::planes::PLANES;

impl OnnxModel {
    /// Reads a bare model. Its tensors have these names, or Lc0's, its input Lc0's format of this number, or
    /// what the model says. `path` is its name in messages.
    pub fn from_bytes(
        path: &Path,
        bytes: Bytes,
        names: Option<TensorNames>,
        input_format: Option<i32>,
    ) -> Result<OnnxModel, NetworkError> {
        bare(path, bytes, names, input_format).map_err(|fault| NetworkError::new(path, fault))
    }
}

pub(crate) fn embedded(
    model: message::OnnxModel,
    declared: Option<message::NetworkFormat>,
) -> Checked<OnnxModel> {
    let lacks = |part| missing(part, "ONNX networks need it");
    let bytes = model
        .model
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| lacks("onnx_model.model"))?;
    let named = |name: Option<String>| name.filter(|name| !name.is_empty());
    let value = match (named(model.output_wdl), named(model.output_value)) {
        (Some(name), _) => ValueOutput::Wdl(name),
        (None, Some(name)) => ValueOutput::Scalar(name),
        (None, None) => return Err(lacks("onnx_model.output_wdl or output_value")),
    };
    let names = TensorNames {
        input: named(model.input_planes).ok_or_else(|| lacks("onnx_model.input_planes"))?,
        policy: named(model.output_policy).ok_or_else(|| lacks("onnx_model.output_policy"))?,
        value,
        moves_left: named(model.output_mlh),
    };
    let graph = parse(&bytes)?.graph.unwrap_or_default();
    let input_format = format::input_format(declared.unwrap_or_default().input)?;
    checked(bytes, graph, input_format, names, None)
}

/// The model of a bare `.onnx` file, whose tensors have the names `named`, or else Lc0's.
///
/// Planes are Lc0's classical ones unless the user has `told` another format, or the model's metadata say it.
pub(crate) fn bare(
    path: &Path,
    bytes: Bytes,
    named: Option<TensorNames>,
    told: Option<i32>,
) -> Checked<OnnxModel> {
    let model = parse(&bytes)?;
    let own = model
        .metadata
        .iter()
        .find(|entry| entry.key() == METADATA_INPUT_FORMAT);
    let number = told.map_or_else(|| own.map_or(Some(1), |own| own.value().parse().ok()), Some);
    let input_format = format::input_format(number)?;
    let graph = model.graph.unwrap_or_default();
    let has_output = |name: &str| graph.output.iter().any(|output| output.name() == name);
    let names = named.unwrap_or_else(|| TensorNames {
        input: INPUT_PLANES.into(),
        policy: OUTPUT_POLICY.into(),
        value: if has_output(OUTPUT_VALUE) && !has_output(OUTPUT_WDL) {
            ValueOutput::Scalar(OUTPUT_VALUE.into())
        } else {
            ValueOutput::Wdl(OUTPUT_WDL.into())
        },
        moves_left: has_output(OUTPUT_MOVES_LEFT).then(|| OUTPUT_MOVES_LEFT.into()),
    });
    // The folder of a file in the current one has no name.
    let folder = path.parent().map(|folder| {
        if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        }
    });
    checked(bytes, graph, input_format, names, folder)
}

fn parse(bytes: &Bytes) -> Checked<onnx::Model> {
    let model: onnx::Model = Chunks::from(bytes.clone()).decode()?;
    match &model.graph {
        Some(graph) if !graph.node.is_empty() => Ok(model),
        _ => Err(missing("ONNX graph", "a model needs one with nodes")),
    }
}

/// Checks the named tensors, and that weights in files of their own are in `folder`.
fn checked(
    bytes: Bytes,
    graph: onnx::Graph,
    input_format: InputFormat,
    names: TensorNames,
    folder: Option<&Path>,
) -> Checked<OnnxModel> {
    let external = graph.initializer.iter().flat_map(|tensor| &tensor.external_data);
    let mut files = external
        .filter(|entry| entry.key() == "location")
        .map(onnx::Metadata::value)
        .peekable();
    let weights_folder = folder.filter(|_| files.peek().is_some()).map(Path::to_owned);
    let is_there = |file: &str| folder.is_some_and(|folder| folder.join(file).is_file());
    if let Some(lost) = files.find(|file| !is_there(file)) {
        let reason = "the model keeps weights there, beside itself";
        return Err(missing(&format!("file {lost}"), reason));
    }
    let constants: Vec<_> = graph.initializer.iter().map(onnx::Tensor::name).collect();
    let inputs: Vec<_> = graph
        .input
        .iter()
        .filter(|input| !constants.contains(&input.name()))
        .collect();
    let outputs: Vec<_> = graph.output.iter().collect();
    let input = require(&inputs, "input", &names.input, &[PLANES, 8, 8])?;
    let number = tensor_type(input).elem_type.unwrap_or_default();
    let data_type = DataType::try_from(number).map_err(|_| {
        let part = format!("ONNX input \"{}\"", names.input);
        unsupported(part, element_type(number), "float32, float16, bfloat16")
    })?;
    for (name, size) in names.outputs() {
        let output = require(&outputs, "output", name, &[size])?;
        let found = tensor_type(output)
            .elem_type
            .filter(|&found| found != 0 && found != number);
        if let Some(found) = found {
            let own = format!("{}, the type of the input", element_type(number));
            let part = format!("ONNX output \"{name}\"");
            return Err(unsupported(part, element_type(found), &own));
        }
    }
    let batch = dimensions(input).first().copied().unwrap_or_default();
    let fixed_batch = usize::try_from(batch).ok().filter(|&size| size > 0);
    let input_form = InputForm::Planes;
    Ok(OnnxModel {
        bytes,
        input_format,
        input_form,
        data_type,
        fixed_batch,
        weights_folder,
        names,
    })
}

/// The tensor called `name`, whose sizes after the batch must be `shape` as far as the model tells
/// them.
fn require<'a>(
    tensors: &[&'a onnx::ValueInfo],
    kind: &str,
    name: &str,
    shape: &[usize],
) -> Checked<&'a onnx::ValueInfo> {
    let part = format!("ONNX {kind} \"{name}\"");
    let Some(tensor) = tensors.iter().find(|tensor| tensor.name() == name) else {
        let present: Vec<_> = tensors.iter().map(|tensor| tensor.name()).collect();
        let reason = format!(
            "it is not among the model's {kind}s: {}. `zeitnot onnx2leela` takes other names, as \
             --onnx-input, --onnx-output-policy or --onnx-output-wdl",
            present.join(", ")
        );
        return Err(fault(part, reason));
    };
    let found = dimensions(tensor);
    let fits = |(&found, &wanted): (&i64, &usize)| found <= 0 || found == wanted as i64;
    if !found.is_empty() && (found.len() != shape.len() + 1 || !found[1..].iter().zip(shape).all(fits)) {
        let size = |&size: &i64| if size > 0 { size.to_string() } else { "any".into() };
        let found = found.iter().map(size).collect::<Vec<_>>().join(", ");
        let reason = format!("its shape is [{found}], but [batch, {shape:?}] is expected");
        return Err(fault(part, reason.replace(", [", ", ").replace("]]", "]")));
    }
    Ok(tensor)
}

fn element_type(number: i32) -> String {
    const NAMES: &str = "no type,float32,uint8,int8,uint16,int16,int32,int64,string,bool,float16,float64,uint32,uint64,\
                         complex64,complex128,bfloat16,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,uint4,int4";
    let name = usize::try_from(number)
        .ok()
        .and_then(|number| NAMES.split(',').nth(number));
    name.map_or_else(|| format!("element type {number}"), str::to_owned)
}

fn tensor_type(info: &onnx::ValueInfo) -> onnx::TensorType {
    info.kind.clone().and_then(|kind| kind.tensor).unwrap_or_default()
}

/// 0 where a size is free, empty if the model does not tell.
fn dimensions(info: &onnx::ValueInfo) -> Vec<i64> {
    let shape = tensor_type(info).shape.unwrap_or_default();
    shape
        .dim
        .iter()
        .map(|dimension| dimension.value.unwrap_or_default())
        .collect()
}
