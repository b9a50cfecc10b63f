//! Layers in the form that the kernels take: weights packed once, biases beside them.

use super::buffer::Buffer;
use super::kernels::{BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, Kernels, Pointwise, Product};
use crate::network::weights::{Activation, Convolution, Dense};

/// Returns `channels` rounded up to what the kernels take.
pub(super) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(CHANNEL_STEP)
}

/// Returns the kernels' name for an activation; `None` for the identity.
pub(super) fn pointwise(activation: Activation) -> Option<Pointwise> {
    Some(match activation {
        Activation::None => return None,
        Activation::Relu => Pointwise::Relu,
        Activation::Relu2 => Pointwise::ReluSquared,
        Activation::Mish => Pointwise::Mish,
        Activation::Tanh => Pointwise::Tanh,
        Activation::Sigmoid => Pointwise::Sigmoid,
        Activation::Selu => Pointwise::Selu,
        Activation::Swish => Pointwise::Swish,
    })
}

/// Applies `activation` to each of `values`.
pub(super) fn activate(kernels: &dyn Kernels, activation: Activation, values: &mut [f32]) {
    if let Some(function) = pointwise(activation) {
        kernels.apply(function, values);
    }
}

/// Applies `activation` to the squares of boards, whose borders stay 0.
pub(super) fn activate_boards(
    kernels: &dyn Kernels,
    activation: Activation,
    boards: &mut [f32],
    channels: usize,
) {
    for board in boards.chunks_exact_mut(BOARD_SQUARES * channels) {
        for rank in board.chunks_exact_mut(BOARD_STRIDE * channels).skip(1).take(8) {
            activate(kernels, activation, &mut rank[channels..9 * channels]);
        }
    }
}

/// Lays out an `[inner][width]` matrix as [`Product`] reads it.
pub(super) fn pack(
    panel: usize,
    inner: usize,
    width: usize,
    weight: impl Fn(usize, usize) -> f32,
    to: &mut [f32],
) {
    let mut to = to.iter_mut();
    for first in (0..width).step_by(panel) {
        for row in 0..inner {
            for (column, to) in (first..(first + panel).min(width)).zip(&mut to) {
                *to = weight(row, column);
            }
        }
    }
}

/// A fully connected layer. Inputs and outputs are padded; padding has weights and biases 0.
#[derive(Debug)]
pub(super) struct Linear {
    /// Padded length of an input row.
    pub(super) inputs: usize,
    /// Padded length of an output row.
    pub(super) outputs: usize,
    weights: Buffer,
    bias: Buffer,
}

impl Linear {
    /// Packs a layer whose input `i` of `inputs` stands at `source(i)` in the file's order; `None` for padding.
    pub(super) fn new(
        kernels: &dyn Kernels,
        dense: &Dense,
        inputs: usize,
        source: impl Fn(usize) -> Option<usize>,
    ) -> Linear {
        let outputs = padded(dense.outputs);
        let mut weights = Buffer::zeros(inputs * outputs);
        let weight = |input: usize, output: usize| match source(input) {
            Some(input) if output < dense.outputs => dense.weights[output * dense.inputs + input],
            _ => 0.0,
        };
        pack(kernels.panel(), inputs, outputs, weight, &mut weights);
        let mut bias = Buffer::zeros(outputs);
        bias[..dense.outputs].copy_from_slice(&dense.bias);
        Linear { inputs, outputs, weights, bias }
    }

    /// Packs a layer whose inputs are in the file's order, padded at the end.
    pub(super) fn plain(kernels: &dyn Kernels, dense: &Dense) -> Linear {
        Linear::new(kernels, dense, padded(dense.inputs), |input| (input < dense.inputs).then_some(input))
    }

    /// Packs a layer that reads the 64 squares of a [`Linear`] with `channels` outputs; `order` is the file's.
    pub(super) fn after_squares(
        kernels: &dyn Kernels,
        dense: &Dense,
        channels: usize,
        order: Order,
    ) -> Linear {
        let stride = padded(channels);
        Linear::new(kernels, dense, 64 * stride, |input| {
            let (square, channel) = (input / stride, input % stride);
            (channel < channels).then(|| order.flatten(square, channel, channels))
        })
    }

    /// Turns a 1×1 convolution into a layer that is applied to each square.
    pub(super) fn pointwise_convolution(kernels: &dyn Kernels, convolution: &Convolution) -> Linear {
        let dense = Dense {
            inputs: convolution.inputs,
            outputs: convolution.outputs,
            weights: convolution.weights.clone(),
            bias: convolution.bias.clone(),
        };
        Linear::plain(kernels, &dense)
    }

    /// Returns the multiply-adds for a row.
    pub(super) fn multiply_adds(&self) -> usize {
        self.inputs * self.outputs
    }

    /// Computes `[rows][outputs]` from `[rows][inputs]`.
    pub(super) fn apply(&self, kernels: &dyn Kernels, rows: usize, input: &[f32], output: &mut [f32]) {
        kernels.multiply(Product {
            count: 1,
            rows,
            inner: self.inputs,
            width: self.outputs,
            a: input,
            a_row: self.inputs,
            b: &self.weights,
            bias: Some(&self.bias),
            c: output,
            c_row: self.outputs,
            ..Product::default()
        });
    }

    /// Computes squares `[64][outputs]` from one board `[10][10][inputs]`.
    pub(super) fn apply_to_board(&self, kernels: &dyn Kernels, board: &[f32], squares: &mut [f32]) {
        kernels.multiply(Product {
            count: 8,
            rows: 8,
            inner: self.inputs,
            width: self.outputs,
            a: &board[(BOARD_STRIDE + 1) * self.inputs..],
            a_row: self.inputs,
            a_step: BOARD_STRIDE * self.inputs,
            b: &self.weights,
            bias: Some(&self.bias),
            c: squares,
            c_row: self.outputs,
            c_step: 8 * self.outputs,
            ..Product::default()
        });
    }
}

/// The order in which a file flattens squares and channels.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// `[channels][64]`
    ChannelMajor,
    /// `[64][channels]`
    SquareMajor,
}

impl Order {
    /// Returns the place of a square's channel.
    pub(super) fn flatten(self, square: usize, channel: usize, channels: usize) -> usize {
        match self {
            Order::ChannelMajor => channel * 64 + square,
            Order::SquareMajor => square * channels + channel,
        }
    }
}
