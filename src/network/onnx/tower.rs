//! Residual towers as ONNX: planes stay `[batch, channels, 8, 8]`, squeeze and excitation are 1x1 convolutions, so
//! that a runtime can keep one blocked memory layout from the first convolution to the last.
//!
//! With static quantisation the 3x3 convolutions of the blocks compute with 8-bit integers, all else stays float. A model
//! expresses that by pairs of `QuantizeLinear` and `DequantizeLinear` around what is to be quantised (QDQ); runtimes fuse them
//! with the convolution between them. Activations are `uint8` with one scale for the tensor, weights are symmetric `int8` with a
//! scale per output channel, biases `int32`. The scales of activations follow from [`Ranges`], which must be observed first:
//! [`Quantization::Observe`] makes the model that has them as outputs.

use std::collections::BTreeMap;

use super::graph::{Graph, Value};
use crate::network::weights::{Activation, Convolution, Dense, ResidualBlock, SqueezeExcite, Tower};

/// Adds a residual tower: `[batch, 112, 8, 8]` → `[batch, filters, 8, 8]`.
pub(crate) fn tower(graph: &mut Graph, planes: &Value, tower: Tower, activation: Activation) -> Value {
    let x = convolution(graph, "/input", planes, tower.input);
    let x = graph.activation("/input", &x, activation);
    tower
        .blocks
        .into_iter()
        .enumerate()
        .fold(x, |x, (index, block)| residual_block(graph, &format!("/block{index}"), &x, block, activation))
}

fn residual_block(
    graph: &mut Graph,
    name: &str,
    x: &Value,
    block: ResidualBlock,
    activation: Activation,
) -> Value {
    let rounded = quantized_input(graph, format!("{name}/conv1/in"), x);
    let mut y = quantized_convolution(graph, &format!("{name}/conv1"), &rounded, block.conv1);
    if activation != Activation::Relu {
        // Runtimes fuse a convolution with what rounds its result; a ReLU between the two is part of the rounding.
        y = quantized(graph, &format!("{name}/conv1/out"), &y);
    }
    let y = graph.activation(&format!("{name}/conv1"), &y, activation);
    let rounded = quantized_input(graph, format!("{name}/conv2/in"), &y);
    let y = quantized_convolution(graph, &format!("{name}/conv2"), &rounded, block.conv2);
    let mut y = quantized(graph, &format!("{name}/conv2/out"), &y);
    if let Some(se) = block.se {
        y = squeeze_excite(graph, &format!("{name}/se"), &y, se, activation);
    }
    let y = graph.add(&format!("{name}/skip"), &y, x);
    graph.activation(name, &y, activation)
}

pub(crate) fn convolution(graph: &mut Graph, name: &str, x: &Value, layer: Convolution) -> Value {
    let dims = [layer.outputs, layer.inputs, layer.kernel, layer.kernel];
    let weights = graph.floats(&format!("{name}/w"), &dims, layer.weights);
    let bias = graph.floats(&format!("{name}/b"), &[layer.outputs], layer.bias);
    graph.convolution(name, x, &weights, &bias, layer.kernel)
}

fn squeeze_excite(
    graph: &mut Graph,
    name: &str,
    x: &Value,
    se: SqueezeExcite,
    activation: Activation,
) -> Value {
    let pooled = graph.board_mean(&format!("{name}/pool"), x);
    let hidden = convolution(graph, &format!("{name}/squeeze"), &pooled, pointwise(se.squeeze));
    let hidden = graph.activation(&format!("{name}/squeeze"), &hidden, activation);
    let (scale, shift) = halves(se.excite);
    let scale = convolution(graph, &format!("{name}/scale"), &hidden, pointwise(scale));
    let scale = graph.sigmoid(&format!("{name}/sigmoid"), &scale);
    let shift = convolution(graph, &format!("{name}/shift"), &hidden, pointwise(shift));
    let scaled = graph.multiply(&format!("{name}/scaled"), x, &scale);
    graph.add(name, &scaled, &shift)
}

/// Returns a dense layer as a convolution over single squares; the weights' layout is the same.
fn pointwise(dense: Dense) -> Convolution {
    Convolution {
        inputs: dense.inputs,
        outputs: dense.outputs,
        kernel: 1,
        weights: dense.weights,
        bias: dense.bias,
    }
}

/// Splits a dense layer by its outputs into two of equal size.
fn halves(mut dense: Dense) -> (Dense, Dense) {
    let outputs = dense.outputs / 2;
    let weights = dense.weights.split_off(outputs * dense.inputs);
    let bias = dense.bias.split_off(outputs);
    let second = Dense { outputs, weights, bias, ..dense };
    (Dense { outputs, weights: dense.weights, bias: dense.bias, ..dense }, second)
}

/// The largest quantised weight: 8 bits. With 7, which CPUs without VNNI can add up without saturation, q of maia-1900
/// is wrong by 0.031 instead of 0.013 on average, with a bias.
const WEIGHT_LIMIT: f32 = 127.0;
/// The largest quantised activation.
const ACTIVATION_LIMIT: f32 = 255.0;
/// A scale below any that matters; it keeps channels without weights from a division by 0.
const SMALLEST_SCALE: f32 = 1e-9;

const MINIMUM: &str = "/min";
const MAXIMUM: &str = "/max";

/// The numbers in which the convolutions of a tower's blocks compute.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Quantization {
    /// Numbers of the model's precision.
    #[default]
    None,
    /// Numbers of the model's precision, with one more output for each end of each range; [`Ranges::record`] takes them.
    Observe,
    /// 8-bit integers.
    Static(Ranges),
}

/// The smallest and largest numbers of a network's inner tensors, by the tensors' names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranges(BTreeMap<String, Range>);

/// A range that always includes 0, which quantisation must hit exactly: convolutions pad with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Range {
    low: f32,
    high: f32,
}

impl Ranges {
    /// Widens the range that belongs to `output`, if it is one of the outputs that [`Quantization::Observe`] adds.
    pub fn record(&mut self, output: &str, number: f32) {
        if let Some(tensor) = output.strip_suffix(MINIMUM) {
            let range = self.0.entry(tensor.into()).or_default();
            range.low = range.low.min(number);
        } else if let Some(tensor) = output.strip_suffix(MAXIMUM) {
            let range = self.0.entry(tensor.into()).or_default();
            range.high = range.high.max(number);
        }
    }
}

impl Range {
    fn scale(self) -> f32 {
        ((self.high - self.low) / ACTIVATION_LIMIT).max(SMALLEST_SCALE)
    }

    fn zero_point(self) -> u8 {
        (-self.low / self.scale()).round() as u8
    }
}

/// An activation as a convolution takes it.
#[derive(Clone, Debug)]
struct QuantizedInput {
    /// The name under which its range was observed.
    name: String,
    value: Value,
}

/// Returns `x` as the input of a [`quantized_convolution`], called `name`.
fn quantized_input(graph: &mut Graph, name: String, x: &Value) -> QuantizedInput {
    let value = quantized(graph, &name, x);
    QuantizedInput { name, value }
}

/// Returns `x` as 8 bits can hold it, where the graph is quantised; `x` itself, perhaps observed, where it is not.
fn quantized(graph: &mut Graph, name: &str, x: &Value) -> Value {
    match graph.quantization() {
        Quantization::None => x.clone(),
        Quantization::Observe => {
            let low = graph.reduce("ReduceMin", &format!("{name}{MINIMUM}"), x);
            graph.output(&low, &[]);
            let high = graph.reduce("ReduceMax", &format!("{name}{MAXIMUM}"), x);
            graph.output(&high, &[]);
            x.clone()
        }
        Quantization::Static(ranges) => {
            let range = ranges.0.get(name).copied().unwrap_or_default();
            let scale = graph.floats(&format!("{name}/scale"), &[], vec![range.scale()]);
            let zero = graph.zero_point(&format!("{name}/zero"), range.zero_point());
            let quantized = graph.quantize(&format!("{name}/quantized"), x, &scale, &zero);
            graph.dequantize(name, &quantized, &scale, Some(&zero))
        }
    }
}

/// Adds a convolution of `input`.
fn quantized_convolution(graph: &mut Graph, name: &str, input: &QuantizedInput, layer: Convolution) -> Value {
    let Quantization::Static(ranges) = graph.quantization() else {
        return convolution(graph, name, &input.value, layer);
    };
    let input_scale = ranges.0.get(&input.name).copied().unwrap_or_default().scale();
    let row = layer.inputs * layer.kernel * layer.kernel;
    let scales: Vec<f32> = layer.weights.chunks_exact(row).map(weight_scale).collect();
    let weights = layer.weights.chunks_exact(row).zip(&scales);
    let weights =
        weights.flat_map(|(row, scale)| row.iter().map(move |weight| (weight / scale).round() as i8));
    let bias_scales: Vec<f32> = scales.iter().map(|scale| scale * input_scale).collect();
    let bias = layer.bias.iter().zip(&bias_scales).map(|(bias, scale)| (bias / scale).round() as i32);

    let dims = [layer.outputs, layer.inputs, layer.kernel, layer.kernel];
    let weights = graph.signed_bytes(&format!("{name}/w/quantized"), &dims, weights.collect());
    let scales = graph.floats(&format!("{name}/w/scales"), &[layer.outputs], scales);
    let weights = graph.dequantize(&format!("{name}/w"), &weights, &scales, None);
    let bias: Vec<_> = bias.collect();
    let bias = graph.words(&format!("{name}/b/quantized"), &[bias.len()], bias);
    let scales = graph.floats(&format!("{name}/b/scales"), &[layer.outputs], bias_scales);
    let bias = graph.dequantize(&format!("{name}/b"), &bias, &scales, None);
    graph.convolution(name, &input.value, &weights, &bias, layer.kernel)
}

fn weight_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0.0f32, |largest, weight| largest.max(weight.abs()));
    (largest / WEIGHT_LIMIT).max(SMALLEST_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_widen_and_always_hold_zero() {
        let mut ranges = Ranges::default();
        for (output, number) in [("/a/min", 0.5), ("/a/max", 3.0), ("/a/max", 1.0), ("/output/wdl", 9.0)] {
            ranges.record(output, number);
        }
        assert_eq!(ranges.0.len(), 1);
        assert_eq!(ranges.0["/a"], Range { low: 0.0, high: 3.0 });
        assert_eq!(ranges.0["/a"].zero_point(), 0);
        ranges.record("/a/min", -2.0);
        assert_eq!(ranges.0["/a"].zero_point(), 102);
    }

    #[test]
    fn a_channel_without_weights_or_activations_gives_no_infinity() {
        assert!(weight_scale(&[0.0; 9]) > 0.0);
        assert!(Range::default().scale() > 0.0);
    }
}
