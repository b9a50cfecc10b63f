//! Turns a [`Network`] into an ONNX model in memory, for `onnxruntime` and `zeitnot convert`.
//!
//! `model` is what comes out, `rewrite` changes one that is finished, and `message` is its protobuf. `graph`
//! is a small language for ONNX graphs, in which `tower` and `attention` write the bodies of networks
//! and this file the heads. What can be computed once is folded into the weights.

use std::sync::Arc;

use super::encode::InputFormat;
use super::layers::{Activation, AttentionPolicy, Body, Dense, Network, PolicyHead, SQUARES, ScalarHead};
use super::packed_planes::{PLANE_BYTES, first_rows, table};
use super::planes::PLANES;
use super::policy_map::{CONVOLUTION_CELLS, POLICY_SIZE};
use attention::stacked;
use graph::{Graph, TYPE_INT32, TYPE_UINT8, Value};

mod attention;
mod graph;
pub(crate) mod message;
mod model;
mod rewrite;
mod tower;

pub use model::*;

#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Of weights, planes and outputs.
    pub data_type: DataType,
    /// In which the value head ends: in half precision win, draw and loss have steps of 0.0005.
    pub value_type: DataType,
    /// The only batch size of the model, or any.
    pub fixed_batch: Option<usize>,
    pub input: InputForm,
    pub form: Form,
    pub metadata: Vec<(String, String)>,
}

/// Takes the network apart if nobody else has it, so that memory holds it once.
pub fn build(network: Arc<Network>, options: &BuildOptions) -> OnnxModel {
    let network = Arc::unwrap_or_clone(network);
    let mut graph = Graph::new("network", options.data_type, options.form);
    let batch = options.fixed_batch;
    let (input, planes) = match options.input {
        InputForm::Planes => {
            let shape = [batch, Some(PLANES), Some(8), Some(8)];
            (
                INPUT_PLANES,
                graph.input(INPUT_PLANES, &shape, options.data_type as i32),
            )
        }
        InputForm::Packed => (
            INPUT_PACKED,
            packed_input(&mut graph, batch, network.input_format),
        ),
    };
    let activation = network.activation;
    let has_wdl = network.has_wdl();

    let trunk = match network.body {
        Body::Tower(residual) => Trunk::Board(tower::tower(&mut graph, &planes, residual, activation)),
        Body::Attention(body) => Trunk::Squares(attention::body(&mut graph, &planes, body, activation)),
    };
    let heads = (network.policy, network.value, network.moves_left);
    let (policy, mut value, plies) = match (&trunk, heads) {
        (Trunk::Squares(squares), (PolicyHead::Attention(policy), value, Some(moves_left)))
            if options.form == Form::Fused && policy.activation == activation =>
        {
            joined_heads(&mut graph, squares, *policy, [value, moves_left])
        }
        (trunk, (head, value, moves_left)) => (
            policy(&mut graph, trunk, head, activation),
            scalars(&mut graph, trunk, "/value", value, activation),
            moves_left.map(|head| {
                let plies = scalars(&mut graph, trunk, "/mlh", head, activation);
                graph.op("Relu", OUTPUT_MOVES_LEFT, &[&plies])
            }),
        ),
    };
    graph.output(&policy, &[batch, Some(POLICY_SIZE)], options.data_type);

    if options.value_type != options.data_type {
        value = graph.cast("/value/cast", &value, options.value_type as i32);
    }
    let (value, value_output) = if has_wdl {
        (
            graph.softmax(OUTPUT_WDL, &value),
            ValueOutput::Wdl(OUTPUT_WDL.into()),
        )
    } else {
        (
            graph.op("Tanh", OUTPUT_VALUE, &[&value]),
            ValueOutput::Scalar(OUTPUT_VALUE.into()),
        )
    };
    graph.output(
        &value,
        &[batch, Some(if has_wdl { 3 } else { 1 })],
        options.value_type,
    );

    let moves_left = plies.map(|plies| {
        graph.output(&plies, &[batch, Some(1)], options.data_type);
        OUTPUT_MOVES_LEFT.to_owned()
    });

    let mut metadata = options.metadata.clone();
    metadata.push((
        METADATA_INPUT_FORMAT.into(),
        i32::from(network.input_format).to_string(),
    ));
    OnnxModel {
        bytes: graph.serialize(metadata),
        input_format: network.input_format,
        input_form: options.input,
        data_type: options.data_type,
        fixed_batch: batch,
        weights_folder: None,
        names: TensorNames {
            input: input.into(),
            policy: OUTPUT_POLICY.into(),
            value: value_output,
            moves_left,
        },
    }
}

/// Declares the input `[batch, 112, 8]` of bytes and unpacks it to planes `[batch, 112, 8, 8]`.
fn packed_input(graph: &mut Graph, batch: Option<usize>, format: InputFormat) -> Value {
    let bytes = graph.input(
        INPUT_PACKED,
        &[batch, Some(PLANES), Some(PLANE_BYTES)],
        TYPE_UINT8,
    );
    let words = graph.cast("/input/bytes", &bytes, TYPE_INT32);
    let first_rows = graph.words("/input/first_rows", &[PLANES, 1], first_rows());
    let rows = graph.op("Add", "/input/rows", &[&words, &first_rows]);
    let table = table(format);
    let table = graph.floats("/input/table", &[table.len() / 8, 8], table);
    graph.look_up(INPUT_PLANES, &table, &rows)
}

enum Trunk {
    /// `[batch, channels, 8, 8]`
    Board(Value),
    /// `[batch · 64, channels]`
    Squares(Value),
}

impl Trunk {
    /// A dense layer per square.
    fn dense(&self, graph: &mut Graph, name: &str, layer: Dense) -> Value {
        match self {
            Trunk::Board(board) => graph.pointwise(&format!("{name}/conv"), board, layer),
            Trunk::Squares(squares) => graph.dense(&format!("{name}/embed"), squares, layer),
        }
    }

    /// `[batch · 64, channels]`
    fn squares(&self, graph: &mut Graph, channels: usize) -> Value {
        match self {
            Trunk::Board(board) => attention::squares(graph, "/policy/squares", board, channels),
            Trunk::Squares(squares) => squares.clone(),
        }
    }
}

/// 1858 logits, the model's output.
fn policy(graph: &mut Graph, trunk: &Trunk, head: PolicyHead, activation: Activation) -> Value {
    match head {
        PolicyHead::Classical { squares, dense } => {
            let flat = (squares.outputs * SQUARES) as i64;
            let x = trunk.dense(graph, "/policy", squares);
            let x = graph.activation("/policy/conv", &x, activation);
            let x = graph.reshape("/policy/flat", &x, &[-1, flat]);
            graph.dense(OUTPUT_POLICY, &x, dense)
        }
        PolicyHead::Convolution { conv1, conv2 } => {
            let (Trunk::Board(board) | Trunk::Squares(board)) = trunk;
            let flat = (conv2.outputs * SQUARES) as i64;
            let x = graph.convolution("/policy/conv1", board, conv1);
            let x = graph.activation("/policy/conv1", &x, activation);
            let x = graph.convolution("/policy/conv2", &x, conv2);
            let x = graph.reshape("/policy/flat", &x, &[-1, flat]);
            graph.gather(OUTPUT_POLICY, &x, &CONVOLUTION_CELLS)
        }
        PolicyHead::Attention(head) => {
            let squares = trunk.squares(graph, head.embedding.inputs);
            let x = graph.dense("/policy/embedding", &squares, head.embedding.clone());
            let x = graph.activation("/policy/embedding", &x, head.activation);
            attention::policy(graph, x, *head)
        }
    }
}

/// A value or moves left head up to its last dense layer: `[batch, outputs]`.
fn scalars(graph: &mut Graph, trunk: &Trunk, name: &str, head: ScalarHead, activation: Activation) -> Value {
    let x = trunk.dense(graph, name, head.squares);
    let x = graph.activation(&format!("{name}/input"), &x, activation);
    hidden(graph, &x, name, [head.hidden, head.output], activation)
}

/// What is left of such a head behind its layer per square.
fn hidden(graph: &mut Graph, x: &Value, name: &str, layers: [Dense; 2], activation: Activation) -> Value {
    let [hidden, output] = layers;
    let x = graph.reshape(&format!("{name}/flat"), x, &[-1, hidden.inputs as i64]);
    let x = graph.dense(&format!("{name}/dense1"), &x, hidden);
    let x = graph.activation(&format!("{name}/dense1"), &x, activation);
    graph.dense(&format!("{name}/dense2"), &x, output)
}

/// The three heads behind an attention body, joined where they can be, so that a GPU is called less often.
fn joined_heads(
    graph: &mut Graph,
    squares: &Value,
    policy: AttentionPolicy,
    scalars: [ScalarHead; 2],
) -> (Value, Value, Option<Value>) {
    let activation = policy.activation;
    let [value, moves_left] = scalars;
    let hidden_layer = beside(value.hidden, moves_left.hidden, SQUARES);
    let columns = [value.output.outputs, moves_left.output.outputs];
    let output = beside(value.output, moves_left.output, 1);
    let first = [policy.embedding.outputs, hidden_layer.inputs / SQUARES];
    let layer = stacked(policy.embedding.clone(), [value.squares, moves_left.squares]);
    let x = graph.dense("/heads", squares, layer);
    let x = graph.activation("/heads", &x, activation);
    let [embedded, x] = graph.split(["/policy/embedding", "/value/embed"], &x, (1, first));
    let policy = attention::policy(graph, embedded, policy);
    let x = hidden(graph, &x, "/scalars", [hidden_layer, output], activation);
    // Whoever reads plies takes negative ones for 0.
    let [value, plies] = graph.split(["/value", OUTPUT_MOVES_LEFT], &x, (1, columns));
    (policy, value, Some(plies))
}

/// The outputs of two layers as one. The inputs are groups, each with its part for either.
fn beside(first: Dense, second: Dense, groups: usize) -> Dense {
    let [ours, theirs] = [&first, &second].map(|layer| layer.inputs / groups);
    let mut weights = Vec::new();
    for part in first.weights.chunks_exact(ours) {
        weights.extend_from_slice(part);
        weights.resize(weights.len() + theirs, 0.0);
    }
    for part in second.weights.chunks_exact(theirs) {
        weights.resize(weights.len() + ours, 0.0);
        weights.extend_from_slice(part);
    }
    Dense {
        inputs: first.inputs + second.inputs,
        outputs: first.outputs + second.outputs,
        weights,
        bias: [first.bias, second.bias].concat(),
    }
}
