//! Residual towers as ONNX. Planes stay `[batch, channels, 8, 8]`, and squeeze and excitation are 1x1
//! convolutions, so that a runtime can keep one blocked memory layout throughout.

use super::graph::{Graph, Value};
use super::model::Form;
use crate::network::layers::{Activation, Dense, ResidualBlock, SqueezeExcite, Tower};

/// `[batch, 112, 8, 8]` → `[batch, filters, 8, 8]`.
pub(crate) fn tower(graph: &mut Graph, planes: &Value, tower: Tower, activation: Activation) -> Value {
    let x = graph.convolution("/input", planes, tower.input);
    let x = graph.activation("/input", &x, activation);
    tower.blocks.into_iter().enumerate().fold(x, |x, (index, block)| {
        residual_block(graph, &format!("/block{index}"), &x, block, activation)
    })
}

fn residual_block(
    graph: &mut Graph,
    name: &str,
    x: &Value,
    block: ResidualBlock,
    activation: Activation,
) -> Value {
    let y = graph.convolution(&format!("{name}/conv1"), x, block.conv1);
    let y = graph.activation(&format!("{name}/conv1"), &y, activation);
    let mut y = graph.convolution(&format!("{name}/conv2"), &y, block.conv2);
    if let Some(se) = block.se {
        y = squeeze_excite(graph, &format!("{name}/se"), &y, se, activation);
    }
    let y = graph.op("Add", &format!("{name}/skip"), &[&y, x]);
    graph.activation(name, &y, activation)
}

fn squeeze_excite(
    graph: &mut Graph,
    name: &str,
    x: &Value,
    se: SqueezeExcite,
    activation: Activation,
) -> Value {
    let pooled = graph.op("GlobalAveragePool", &format!("{name}/pool"), &[x]);
    let hidden = graph.pointwise(&format!("{name}/squeeze"), &pooled, se.squeeze);
    let hidden = graph.activation(&format!("{name}/squeeze"), &hidden, activation);
    let names = ["scale", "shift"].map(|half| format!("{name}/{half}"));
    let [scale, shift] = names.each_ref().map(String::as_str);
    let [scale, shift] = if graph.form == Form::Fused {
        let sizes = [se.excite.outputs / 2; 2];
        let both = graph.pointwise(&format!("{name}/excite"), &hidden, se.excite);
        graph.split([scale, shift], &both, (1, sizes))
    } else {
        let (first, second) = halves(se.excite);
        [
            graph.pointwise(scale, &hidden, first),
            graph.pointwise(shift, &hidden, second),
        ]
    };
    let scale = graph.op("Sigmoid", &format!("{name}/sigmoid"), &[&scale]);
    let scaled = graph.op("Mul", &format!("{name}/scaled"), &[x, &scale]);
    graph.op("Add", name, &[&scaled, &shift])
}

fn halves(mut dense: Dense) -> (Dense, Dense) {
    dense.outputs /= 2;
    let second = Dense {
        weights: dense.weights.split_off(dense.outputs * dense.inputs),
        bias: dense.bias.split_off(dense.outputs),
        ..dense
    };
    (dense, second)
}
