//! Turns a [`Network`] into an ONNX model in memory, in the form that runs best.
//!
//! [`build`] is the way in. `graph` is a small language for ONNX graphs, `constant` writes its weights; `tower`,
//! `attention` and `heads` write the parts of a network in it, `quantize` makes towers compute in integers. The backend
//! `onnxruntime` and `zeitnot convert` use it; it uses `weights` and the policy tables, and knows no runtime.
//!
//! Everything that can be computed once is folded into the weights: the scale of attention logits, the branch scales of
//! encoders, the constant position table.

use super::weights::{
    Body, DataType, INPUT_PACKED, INPUT_PLANES, InputForm, METADATA_INPUT_FORMAT, Network, OUTPUT_MOVES_LEFT,
    OUTPUT_POLICY, OUTPUT_VALUE, OUTPUT_WDL, OnnxModel, TensorNames, ValueOutput,
};
use crate::network::{PLANES, POLICY_SIZE};
use graph::Graph;

mod attention;
mod constant;
mod graph;
mod heads;
mod packed;
mod quantize;
mod tower;

pub use quantize::{Quantization, Ranges};

/// Precision of a model's weights, inputs and outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// IEEE single precision.
    #[default]
    Float32,
    /// IEEE half precision: for GPUs.
    Float16,
}

impl Precision {
    /// Returns the type of inputs and outputs.
    pub fn data_type(self) -> DataType {
        match self {
            Precision::Float32 => DataType::Float32,
            Precision::Float16 => DataType::Float16,
        }
    }

    /// Returns the bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Precision::Float32 => 4,
            Precision::Float16 => 2,
        }
    }
}

/// Options for building a model.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// The precision of weights, planes and outputs.
    pub precision: Precision,
    /// The quantisation of a tower's blocks. Other than [`Quantization::None`] it needs [`Precision::Float32`].
    pub quantization: Quantization,
    /// The only batch size that the model shall take; any if `None`.
    pub fixed_batch: Option<usize>,
    /// The form of the input.
    pub input: InputForm,
    /// Keys and values to write into the model's metadata.
    pub metadata: Vec<(String, String)>,
}

/// Returns the ONNX model of `network`, with Lc0's tensor names. Consumes the network, so that memory holds it once.
pub fn build(network: Network, options: &BuildOptions) -> OnnxModel {
    let mut graph = Graph::new("network", options.precision, options.quantization.clone());
    let batch = options.fixed_batch;
    let (input, planes) = match options.input {
        InputForm::Planes => {
            (INPUT_PLANES, graph.input(INPUT_PLANES, &[batch, Some(PLANES), Some(8), Some(8)]))
        }
        InputForm::Packed => (INPUT_PACKED, packed::input(&mut graph, batch, network.input_format)),
    };
    let activation = network.activation;
    let has_wdl = network.has_wdl();

    let trunk = match network.body {
        Body::Tower(residual) => heads::Trunk::Board(tower::tower(&mut graph, &planes, residual, activation)),
        Body::Attention(body) => {
            heads::Trunk::Squares(attention::body(&mut graph, &planes, body, activation))
        }
    };
    let policy = heads::policy(&mut graph, &trunk, network.policy, activation);
    graph.output(&policy, &[batch, Some(POLICY_SIZE)]);

    let value = heads::hidden(&mut graph, &trunk, "/value", network.value, activation);
    let (value, value_output) = if has_wdl {
        (graph.softmax(OUTPUT_WDL, &value), ValueOutput::Wdl(OUTPUT_WDL.into()))
    } else {
        (graph.tanh(OUTPUT_VALUE, &value), ValueOutput::Scalar(OUTPUT_VALUE.into()))
    };
    graph.output(&value, &[batch, Some(if has_wdl { 3 } else { 1 })]);

    let moves_left = network.moves_left.map(|head| {
        let plies = heads::hidden(&mut graph, &trunk, "/mlh", head, activation);
        let plies = graph.relu(OUTPUT_MOVES_LEFT, &plies);
        graph.output(&plies, &[batch, Some(1)]);
        OUTPUT_MOVES_LEFT.to_owned()
    });

    let mut metadata = options.metadata.clone();
    metadata.push((METADATA_INPUT_FORMAT.into(), network.input_format.number().to_string()));
    OnnxModel {
        bytes: graph.serialize(metadata),
        input_format: network.input_format,
        input_form: options.input,
        data_type: options.precision.data_type(),
        fixed_batch: batch,
        names: TensorNames {
            input: input.into(),
            policy: OUTPUT_POLICY.into(),
            value: value_output,
            moves_left,
        },
    }
}
