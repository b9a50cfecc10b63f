//! Policy, value and moves left heads as ONNX.

use super::attention;
use super::graph::{Graph, Value};
use super::tower::convolution;
use crate::network::policy_map::CONVOLUTION_CELLS;
use crate::network::weights::{Activation, Dense, HeadInput, OUTPUT_POLICY, PolicyHead, SQUARES, ScalarHead};

/// The body's output.
#[derive(Debug)]
pub enum Trunk {
    /// `[batch, channels, 8, 8]`
    Board(Value),
    /// `[batch · 64, channels]`
    Squares(Value),
}

impl Trunk {
    fn value(&self) -> &Value {
        match self {
            Trunk::Board(value) | Trunk::Squares(value) => value,
        }
    }
}

/// Adds a dense layer with its weights: `[rows, inputs]` → `[rows, outputs]`.
pub fn dense(graph: &mut Graph, name: &str, x: &Value, layer: Dense) -> Value {
    let weights = graph.floats(&format!("{name}/w"), &[layer.outputs, layer.inputs], layer.weights);
    let bias = graph.floats(&format!("{name}/b"), &[layer.outputs], layer.bias);
    graph.dense(name, x, &weights, &bias)
}

/// Adds the policy head: 1858 logits, as the model's output.
pub fn policy(graph: &mut Graph, trunk: &Trunk, head: PolicyHead, activation: Activation) -> Value {
    match head {
        PolicyHead::Classical { convolution: layer, dense: last } => {
            let flat = (layer.outputs * SQUARES) as i64;
            let x = convolution(graph, "/policy/conv", trunk.value(), layer);
            let x = graph.activation("/policy/conv", &x, activation);
            let x = graph.reshape("/policy/flat", &x, &[-1, flat]);
            dense(graph, OUTPUT_POLICY, &x, last)
        }
        PolicyHead::Convolution { conv1, conv2 } => {
            let flat = (conv2.outputs * SQUARES) as i64;
            let x = convolution(graph, "/policy/conv1", trunk.value(), conv1);
            let x = graph.activation("/policy/conv1", &x, activation);
            let x = convolution(graph, "/policy/conv2", &x, conv2);
            let x = graph.reshape("/policy/flat", &x, &[-1, flat]);
            graph.gather(OUTPUT_POLICY, &x, &CONVOLUTION_CELLS)
        }
        PolicyHead::Attention(head) => {
            let squares = match trunk {
                Trunk::Board(board) => {
                    attention::squares(graph, "/policy/squares", board, head.embedding.inputs)
                }
                Trunk::Squares(squares) => squares.clone(),
            };
            attention::policy(graph, &squares, *head)
        }
    }
}

/// Adds a value or moves left head up to its last dense layer: `[batch, outputs]`.
pub fn hidden(
    graph: &mut Graph,
    trunk: &Trunk,
    name: &str,
    head: ScalarHead,
    activation: Activation,
) -> Value {
    let flat = (head.input.channels() * SQUARES) as i64;
    let x = match head.input {
        HeadInput::Convolution(layer) => convolution(graph, &format!("{name}/conv"), trunk.value(), layer),
        HeadInput::PerSquare(layer) => dense(graph, &format!("{name}/embed"), trunk.value(), layer),
    };
    let x = graph.activation(&format!("{name}/input"), &x, activation);
    let x = graph.reshape(&format!("{name}/flat"), &x, &[-1, flat]);
    let x = dense(graph, &format!("{name}/dense1"), &x, head.hidden);
    let x = graph.activation(&format!("{name}/dense1"), &x, activation);
    dense(graph, &format!("{name}/dense2"), &x, head.output)
}
