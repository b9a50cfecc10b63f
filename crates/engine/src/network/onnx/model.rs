//! A network as an ONNX model: its bytes, and the names of its tensors.
//!
//! It comes from a file or from [`super::build`].

use std::path::PathBuf;

use bytes::{BufMut, Bytes};
use half::{bf16, f16};
use prost::{Enumeration, Message};

use super::message::Model;
use crate::network::encode::InputFormat;
use crate::network::packed_planes::PLANE_BYTES;
use crate::network::planes::PLANES;
use crate::network::policy_map::POLICY_SIZE;

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
    /// Whether it computes with 8-bit integers. Its inputs and outputs are floats all the same.
    pub fn is_quantized(&self) -> bool {
        self.has_node("DequantizeLinear")
    }

    pub(crate) fn has_node(&self, op_type: &str) -> bool {
        let model = Model::decode(self.bytes.clone()).unwrap_or_default();
        let graph = model.graph.unwrap_or_default();
        graph.node.iter().any(|node| node.op_type() == op_type)
    }
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
    /// `[batch, 1]`, plies. Below 0 means 0
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

/// Both forms compute the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Operations that any provider has.
    #[default]
    Plain,
    /// With ONNX Runtime's `Attention` and `SkipLayerNormalization`: a third fewer calls of a GPU.
    Fused,
}
