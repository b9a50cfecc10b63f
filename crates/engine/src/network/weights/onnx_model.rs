//! A network as an ONNX model: its bytes, and the names of its tensors.
//!
//! It comes from a file that embeds a model, from a bare `.onnx` file, or from [`crate::network::onnx`].
//! Backends that run ONNX take it as it is.

use std::path::{Path, PathBuf};

use bytes::{BufMut, Bytes};
use half::{bf16, f16};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{Enumeration, Message};

use super::container::{Chunks, NETWORK_START};
use super::message::{self, EngineVersion, Format, Net, onnx};
use super::{Checked, NetworkError, NetworkFault, NetworkFile, format};
use crate::network::encode::InputFormat;
use crate::network::onnx::value_info;
use crate::network::packed_planes::PLANE_BYTES;
use crate::network::{PLANES, POLICY_SIZE};

/// Lc0's tensor names, used wherever a file gives no others.
pub const INPUT_PLANES: &str = "/input/planes";
pub(crate) const INPUT_PACKED: &str = "/input/packed";
/// Raw logits `[batch, 1858]`.
pub const OUTPUT_POLICY: &str = "/output/policy";
/// Win, draw, loss `[batch, 3]`, after softmax.
pub const OUTPUT_WDL: &str = "/output/wdl";
/// Value `[batch, 1]`, after tanh.
pub(crate) const OUTPUT_VALUE: &str = "/output/value";
/// Plies left `[batch, 1]`.
pub(crate) const OUTPUT_MOVES_LEFT: &str = "/output/mlh";
/// Key under which a model's metadata hold the number of its input format.
pub(crate) const METADATA_INPUT_FORMAT: &str = "zeitnot.input_format";

#[derive(Clone, Debug)]
pub struct OnnxModel {
    pub bytes: Bytes,
    pub input_format: InputFormat,
    pub(crate) input_form: InputForm,
    /// Type of policy and moves left, of the value in files, and of the input if that is planes.
    pub data_type: DataType,
    /// The batch size, where the model allows only one.
    pub fixed_batch: Option<usize>,
    /// The folder of its weights, where they lie in files of their own.
    pub weights_folder: Option<PathBuf>,
    pub names: TensorNames,
}

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

    /// Adds the softmax that its win, draw and loss lack. What is appended to a model is merged into it.
    pub fn with_wdl_softmax(mut self) -> OnnxModel {
        let ValueOutput::Wdl(logits) = &self.names.value else {
            return self;
        };
        let name = format!("{logits}/softmax");
        let output = value_info(&name, &[self.fixed_batch, Some(3)], self.data_type as i32);
        let node = operation("Softmax", &name, vec![logits.clone()]);
        let graph = onnx::Graph {
            node: vec![node],
            output: vec![output],
            ..onnx::Graph::default()
        };
        let addition = onnx::Model {
            graph: Some(graph),
            ..onnx::Model::default()
        }
        .encode_to_vec();
        self.bytes = [&self.bytes[..], &addition].concat().into();
        self.names.value = ValueOutput::Wdl(name);
        self
    }

    /// Scales the fifty-move counter as models of TensorFlow need it, which were trained on 99ths. What
    /// stands in front of a model is merged into it.
    pub fn with_scaled_rule50(mut self) -> OnnxModel {
        const COUNTER: usize = 109;
        const UNIT: f32 = 99.0;
        let [scaled, factors] = ["rule50", "rule50_factors"].map(|end| format!("{}/{end}", self.names.input));
        let Ok(taken) = renamed(&self.bytes, &[7, 1, 1], &self.names.input, &scaled) else {
            return self;
        };
        let factor = |plane| if plane == COUNTER { 1.0 / UNIT } else { 1.0 };
        let mut raw: Vec<u8> = Vec::new();
        (0..PLANES)
            .map(factor)
            .for_each(|factor| self.data_type.put(factor, &mut raw));
        let (dims, data_type) = (vec![PLANES as i64, 1, 1], Some(self.data_type as i32));
        let tensor = onnx::Tensor {
            dims,
            data_type,
            name: Some(factors.clone()),
            external_data: Vec::new(),
        };
        let node = operation("Mul", &scaled, vec![self.names.input.clone(), factors]);
        let mut tensor = tensor.encode_to_vec();
        encoding::bytes::encode(9, &raw, &mut tensor);
        let mut graph = onnx::Graph {
            node: vec![node],
            ..onnx::Graph::default()
        }
        .encode_to_vec();
        encoding::bytes::encode(5, &tensor, &mut graph);
        let mut model = Vec::new();
        encoding::bytes::encode(7, &graph, &mut model);
        self.bytes = [model, taken].concat().into();
        self
    }

    /// Whether it computes with 8-bit integers. Its inputs and outputs are floats all the same.
    pub fn is_quantized(&self) -> bool {
        self.has_node("DequantizeLinear")
    }

    pub(crate) fn has_node(&self, op_type: &str) -> bool {
        let graph = parse(&self.bytes)
            .ok()
            .and_then(|model| model.graph)
            .unwrap_or_default();
        graph.node.iter().any(|node| node.op_type() == op_type)
    }
}

fn operation(op_type: &str, name: &str, input: Vec<String>) -> onnx::Node {
    let (output, name, op_type) = (
        vec![name.to_owned()],
        Some(name.to_owned()),
        Some(op_type.to_owned()),
    );
    onnx::Node {
        input,
        output,
        name,
        op_type,
        ..onnx::Node::default()
    }
}

/// Copies a protobuf message. Where `path` leads, field by field, the text `from` becomes `to`.
fn renamed(mut message: &[u8], path: &[u32], from: &str, to: &str) -> Result<Vec<u8>, prost::DecodeError> {
    let Some((field, path)) = path.split_first() else {
        return Ok(if message == from.as_bytes() {
            to.into()
        } else {
            message.into()
        });
    };
    let mut copy = Vec::new();
    while !message.is_empty() {
        let begin = message;
        let (tag, kind) = encoding::decode_key(&mut message)?;
        if tag == *field && kind == WireType::LengthDelimited {
            let mut content = Vec::new();
            encoding::bytes::merge(kind, &mut content, &mut message, DecodeContext::default())?;
            encoding::bytes::encode(tag, &renamed(&content, path, from, to)?, &mut copy);
        } else {
            encoding::skip_field(kind, tag, &mut message, DecodeContext::default())?;
            copy.extend(&begin[..begin.len() - message.len()]);
        }
    }
    Ok(copy)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputForm {
    /// Planes as numbers, `[batch, 112, 8, 8]`.
    #[default]
    Planes,
    /// Bytes `[batch, 112, 8]` that the model expands: [`crate::network::packed_planes`].
    Packed,
}

impl InputForm {
    pub fn sizes(self) -> &'static [usize] {
        match self {
            InputForm::Planes => &[PLANES, 8, 8],
            InputForm::Packed => &[PLANES, PLANE_BYTES],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorNames {
    /// `[batch, 112, 8, 8]`, or of the other [`InputForm`]
    pub input: String,
    /// `[batch, 1858]`, raw logits in Lc0's order
    pub policy: String,
    pub value: ValueOutput,
    /// `[batch, 1]`, plies, not below 0
    pub moves_left: Option<String>,
}

impl TensorNames {
    /// The outputs, and how many numbers each has for a position: policy, value, moves left.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&str, usize)> {
        let value_size = if matches!(self.value, ValueOutput::Wdl(_)) {
            3
        } else {
            1
        };
        let moves_left = self.moves_left.as_deref().map(|name| (name, 1));
        [(&*self.policy, POLICY_SIZE), (self.value.name(), value_size)]
            .into_iter()
            .chain(moves_left)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOutput {
    /// `[batch, 3]`: probabilities of win, draw, loss for the side to move.
    Wdl(String),
    /// `[batch, 1]`: expected result in `-1..=1`.
    Scalar(String),
}

impl ValueOutput {
    pub fn name(&self) -> &str {
        match self {
            ValueOutput::Wdl(name) | ValueOutput::Scalar(name) => name,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum DataType {
    Float32 = 1,
    Float16 = 10,
    /// The upper half of a single.
    Bfloat16 = 16,
}

impl DataType {
    /// In bytes.
    pub(crate) fn size(self) -> usize {
        if self == DataType::Float32 { 4 } else { 2 }
    }

    pub(crate) fn put(self, number: f32, out: &mut impl BufMut) {
        match self {
            DataType::Float32 => out.put_f32_le(number),
            DataType::Float16 => out.put_u16_le(f16::from_f32(number).to_bits()),
            DataType::Bfloat16 => out.put_u16_le(bf16::from_f32(number).to_bits()),
        }
    }
}

/// The Lc0 since which files may embed ONNX models: 0.28.
const ONNX_SINCE: EngineVersion = EngineVersion {
    major: Some(0),
    minor: Some(28),
    patch: None,
};
/// Lc0's number of the format of outputs and values that are win, draw and loss …
const FORMAT_WDL: i32 = 2;
/// … and of that in which they are a single number.
const FORMAT_CLASSICAL: i32 = 1;

impl NetworkFile {
    /// The content of a file, not compressed, that embeds `model`.
    pub fn with_model(model: &OnnxModel) -> Vec<u8> {
        let name = |name: &str| Some(name.to_owned());
        let (output_wdl, output_value) = match &model.names.value {
            ValueOutput::Wdl(wdl) => (name(wdl), None),
            ValueOutput::Scalar(value) => (None, name(value)),
        };
        let value = Some(if output_wdl.is_some() {
            FORMAT_WDL
        } else {
            FORMAT_CLASSICAL
        });
        let network_format = message::NetworkFormat {
            input: Some(model.input_format.into()),
            output: value,
            network: Some(format::ONNX),
            policy: Some(1),
            value,
            moves_left: Some(model.names.moves_left.is_some().into()),
            ..message::NetworkFormat::default()
        };
        let net = Net {
            min_version: Some(ONNX_SINCE),
            format: Some(Format {
                weights_encoding: None,
                network_format: Some(network_format),
            }),
            onnx_model: Some(message::OnnxModel {
                model: Some(model.bytes.clone()),
                data_type: Some(model.data_type as i32),
                input_planes: name(&model.names.input),
                output_value,
                output_wdl,
                output_policy: name(&model.names.policy),
                output_mlh: model.names.moves_left.clone(),
            }),
            ..Net::default()
        };
        let mut file = NETWORK_START.to_vec();
        file.extend(net.encode_to_vec());
        file
    }
}

pub(crate) fn embedded(
    model: message::OnnxModel,
    declared: Option<message::NetworkFormat>,
) -> Checked<OnnxModel> {
    let missing = |part| NetworkFault::missing(part, "ONNX networks need it");
    let bytes = model
        .model
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| missing("onnx_model.model"))?;
    let named = |name: Option<String>| name.filter(|name| !name.is_empty());
    let value = match (named(model.output_wdl), named(model.output_value)) {
        (Some(name), _) => ValueOutput::Wdl(name),
        (None, Some(name)) => ValueOutput::Scalar(name),
        (None, None) => return Err(missing("onnx_model.output_wdl or output_value")),
    };
    let names = TensorNames {
        input: named(model.input_planes).ok_or_else(|| missing("onnx_model.input_planes"))?,
        policy: named(model.output_policy).ok_or_else(|| missing("onnx_model.output_policy"))?,
        value,
        moves_left: named(model.output_mlh),
    };
    let graph = parse(&bytes)?.graph.unwrap_or_default();
    let input_format = format::input_format(declared.unwrap_or_default().input)?;
    checked(bytes, graph, input_format, names, None)
}

/// The model of a bare `.onnx` file, whose tensors have the names `named`, or else Lc0's.
///
/// Planes are taken to be Lc0's classical ones unless the user has `told` another format, or the model's
/// metadata say it.
/// An error lists the names that are there.
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
        _ => Err(NetworkFault::missing(
            "ONNX graph",
            "a model needs one with nodes",
        )),
    }
}

/// Checks that the named tensors exist and have the shapes of Lc0's networks, and that weights in files of
/// their own are in `folder`.
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
        return Err(NetworkFault::missing(&format!("file {lost}"), reason));
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
        NetworkFault::unsupported(part, element_type(number), "float32, float16, bfloat16")
    })?;
    for (name, size) in names.outputs() {
        let output = require(&outputs, "output", name, &[size])?;
        let found = tensor_type(output)
            .elem_type
            .filter(|&found| found != 0 && found != number);
        if let Some(found) = found {
            let own = format!("{}, the type of the input", element_type(number));
            let part = format!("ONNX output \"{name}\"");
            return Err(NetworkFault::unsupported(part, element_type(found), &own));
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
        return Err(NetworkFault::new(part, reason));
    };
    let found = dimensions(tensor);
    let fits = |(&found, &wanted): (&i64, &usize)| found <= 0 || found == wanted as i64;
    if !found.is_empty() && (found.len() != shape.len() + 1 || !found[1..].iter().zip(shape).all(fits)) {
        let size = |&size: &i64| if size > 0 { size.to_string() } else { "any".into() };
        let found = found.iter().map(size).collect::<Vec<_>>().join(", ");
        let reason = format!("its shape is [{found}], but [batch, {shape:?}] is expected");
        return Err(NetworkFault::new(
            part,
            reason.replace(", [", ", ").replace("]]", "]"),
        ));
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
