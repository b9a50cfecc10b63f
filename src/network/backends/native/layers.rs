//! The layers of which networks are made, in the form that the kernels take: weights packed once in aligned memory.
//!
//! [`Linear`] is a dense layer in fp32. [`Layer`] is one over the rows of attention bodies, in bf16 where the CPU multiplies such
//! matrices. [`Norm`] is a layer norm, [`Buffer`] the memory of all.

use std::ops::{Deref, DerefMut};

use super::kernels::{
    AddScaled, Apply, BLOCK_ROWS, BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, Kernels, Normalize, Pointwise,
    Product, ROW_STEP, Round, TILE_DEPTH, TileProduct, Tiles, pack_right,
};
use crate::huge_pages::{HUGE_PAGE, prefer_huge_pages};
use crate::network::weights::{Activation, Convolution, Dense, LayerNorm};

/// A cache line, and the widest vector of any kernel, in bytes.
const LINE: usize = 64;

/// A fixed number of numbers, the first of them at the start of a cache line, or of a huge page if they fill one.
///
/// It is made of a somewhat longer `Vec`, so that it needs no `unsafe`. It is neither cloned nor resized: a move of the
/// buffer leaves the numbers where they are.
#[derive(Debug)]
pub(crate) struct Buffer<T = f32> {
    memory: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Clone + Default> Buffer<T> {
    /// Makes a buffer of `length` zeros.
    pub(crate) fn zeros(length: usize) -> Buffer<T> {
        let is_large = length * size_of::<T>() >= HUGE_PAGE;
        let alignment = if is_large { HUGE_PAGE } else { LINE } / size_of::<T>();
        let whole = length.next_multiple_of(alignment);
        // Zeros come from the system as pages that take no memory before they are written.
        let memory = vec![T::default(); whole + alignment];
        // Alignment is only for speed: `align_offset` may decline (it does so under Miri).
        let aligned = Some(memory.as_ptr().align_offset(alignment * size_of::<T>()));
        let start = aligned.filter(|&start| start < alignment).unwrap_or(0);
        if is_large {
            prefer_huge_pages(&memory[start..start + whole]);
        }
        Buffer { memory, start, length }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// Returns `channels` rounded up to what the kernels take.
pub(crate) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(CHANNEL_STEP)
}

/// Returns the kernels' name for an activation; `None` for the identity.
pub(crate) fn pointwise(activation: Activation) -> Option<Pointwise> {
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
pub(crate) fn activate(kernels: Kernels, activation: Activation, values: &mut [f32]) {
    if let Some(function) = pointwise(activation) {
        kernels.run(Apply { function, values });
    }
}

/// Applies `activation` to the squares of boards, whose borders stay 0.
pub(crate) fn activate_boards(kernels: Kernels, activation: Activation, boards: &mut [f32], channels: usize) {
    for board in boards.chunks_exact_mut(BOARD_SQUARES * channels) {
        for rank in board.chunks_exact_mut(BOARD_STRIDE * channels).skip(1).take(8) {
            activate(kernels, activation, &mut rank[channels..9 * channels]);
        }
    }
}

/// Lays out an `[inner][width]` matrix as [`Product`] reads it.
pub(crate) fn pack(
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
pub(crate) struct Linear {
    /// Padded length of an input row.
    pub(crate) inputs: usize,
    /// Padded length of an output row.
    pub(crate) outputs: usize,
    weights: Buffer,
    bias: Buffer,
}

impl Linear {
    /// Packs a layer whose input `i` of `inputs` stands at `source(i)` in the file's order; `None` for padding.
    pub(crate) fn new(
        kernels: Kernels,
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
    pub(crate) fn plain(kernels: Kernels, dense: &Dense) -> Linear {
        Linear::new(kernels, dense, padded(dense.inputs), |input| (input < dense.inputs).then_some(input))
    }

    /// Packs a layer that reads the 64 squares of a [`Linear`] with `channels` outputs; `order` is the file's.
    pub(crate) fn after_squares(kernels: Kernels, dense: &Dense, channels: usize, order: Order) -> Linear {
        let stride = padded(channels);
        Linear::new(kernels, dense, 64 * stride, |input| {
            let (square, channel) = (input / stride, input % stride);
            (channel < channels).then(|| order.flatten(square, channel, channels))
        })
    }

    /// Turns a 1×1 convolution into a layer that is applied to each square.
    pub(crate) fn pointwise_convolution(kernels: Kernels, convolution: &Convolution) -> Linear {
        let dense = Dense {
            inputs: convolution.inputs,
            outputs: convolution.outputs,
            weights: convolution.weights.clone(),
            bias: convolution.bias.clone(),
        };
        Linear::plain(kernels, &dense)
    }

    /// Computes `[rows][outputs]` from `[rows][inputs]`.
    pub(crate) fn apply(&self, kernels: Kernels, rows: usize, input: &[f32], output: &mut [f32]) {
        kernels.run(Product {
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
    pub(crate) fn apply_to_board(&self, kernels: Kernels, board: &[f32], squares: &mut [f32]) {
        kernels.run(Product {
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
pub(crate) enum Order {
    /// `[channels][64]`
    ChannelMajor,
    /// `[64][channels]`
    SquareMajor,
}

impl Order {
    /// Returns the place of a square's channel.
    pub(crate) fn flatten(self, square: usize, channel: usize, channels: usize) -> usize {
        match self {
            Order::ChannelMajor => channel * 64 + square,
            Order::SquareMajor => square * channels + channel,
        }
    }
}

/// The means that layers compute with: kernels, and the tiles if products shall be in bf16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arithmetic {
    pub(crate) kernels: Kernels,
    pub(crate) tiles: Option<Tiles>,
}

/// Returns the length of a row of `size` numbers with its padding, which is 0.
pub(crate) fn stride(size: usize) -> usize {
    size.next_multiple_of(TILE_DEPTH)
}

/// Returns `rows` rounded up to those for which an output of a layer must have room.
pub(crate) fn room(rows: usize) -> usize {
    rows.next_multiple_of(ROW_STEP)
}

/// A dense layer with its weights packed: rows of `inputs` numbers to rows of `outputs`.
#[derive(Debug)]
pub(crate) enum Layer {
    Single(Linear),
    /// Products in bf16, sums in fp32.
    Half(HalfLayer),
}

/// Weights rounded to bf16.
#[derive(Debug)]
pub(crate) struct HalfLayer {
    tiles: Tiles,
    inputs: usize,
    outputs: usize,
    /// The places in a block of rows where the left operand of each step begins.
    offsets: Vec<u32>,
    /// The right operands; see [`TileProduct`].
    weights: Buffer<u16>,
    bias: Buffer,
}

/// Rows of numbers that a layer reads, each with its padding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) count: usize,
    /// `[count][inputs]`
    pub(crate) numbers: &'a [f32],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InputSize {
    /// Rows at once, at most.
    pub(crate) rows: usize,
    /// Numbers of a row with its padding.
    pub(crate) length: usize,
}

/// Room for rounded inputs, shared by all layers of an evaluator.
#[derive(Debug)]
pub(crate) struct Rounded(Buffer<u16>);

impl Rounded {
    /// Makes scratch memory for inputs of these sizes; none is needed without tiles.
    pub(crate) fn new(arithmetic: Arithmetic, inputs: &[InputSize]) -> Rounded {
        let sizes =
            inputs.iter().map(|&InputSize { rows, length }| rows.next_multiple_of(BLOCK_ROWS) * length);
        Rounded(Buffer::zeros(arithmetic.tiles.and_then(|_| sizes.max()).unwrap_or(0)))
    }
}

impl Layer {
    /// Packs a layer whose inputs are in the file's order, padded at the end.
    pub(crate) fn new(arithmetic: Arithmetic, dense: &Dense) -> Layer {
        Layer::with_inputs(arithmetic, dense, stride(dense.inputs), |input| {
            (input < dense.inputs).then_some(input)
        })
    }

    /// Packs a layer whose input `i` of `inputs`, a multiple of 32, stands at `source(i)` in the file's order; `None`
    /// for padding.
    pub(crate) fn with_inputs(
        arithmetic: Arithmetic,
        dense: &Dense,
        inputs: usize,
        source: impl Fn(usize) -> Option<usize>,
    ) -> Layer {
        match arithmetic.tiles {
            Some(tiles) => Layer::Half(HalfLayer::new(tiles, dense, inputs, source)),
            None => Layer::Single(Linear::new(arithmetic.kernels, &with_padding(dense), inputs, source)),
        }
    }

    /// Returns the length of an input row with its padding.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Layer::Single(layer) => layer.inputs,
            Layer::Half(layer) => layer.inputs,
        }
    }

    /// Returns the length of an output row with its padding.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Layer::Single(layer) => layer.outputs,
            Layer::Half(layer) => layer.outputs,
        }
    }

    /// Computes `[rows][outputs]` from `[rows][inputs]`; the output must have [`room`].
    pub(crate) fn apply(&self, kernels: Kernels, input: Rows<'_>, output: &mut [f32], rounded: &mut Rounded) {
        match self {
            Layer::Single(layer) => layer.apply(kernels, input.count, input.numbers, output),
            Layer::Half(layer) => layer.apply(kernels, input, output, rounded),
        }
    }
}

/// Returns `dense` with as many outputs of 0 behind the others as the padding needs.
fn with_padding(dense: &Dense) -> Dense {
    let mut dense = dense.clone();
    dense.outputs = stride(dense.outputs);
    dense.weights.resize(dense.outputs * dense.inputs, 0.0);
    dense.bias.resize(dense.outputs, 0.0);
    dense
}

impl HalfLayer {
    fn new(tiles: Tiles, dense: &Dense, inputs: usize, source: impl Fn(usize) -> Option<usize>) -> HalfLayer {
        let outputs = stride(dense.outputs);
        let steps = inputs / TILE_DEPTH;
        let mut weights: Buffer<u16> = Buffer::zeros(outputs * inputs);
        pack_right(&mut weights, steps, |step, k, output| {
            let input = source(step * TILE_DEPTH + k).filter(|_| output < dense.outputs)?;
            Some(dense.weights[output * dense.inputs + input])
        });
        let mut bias = Buffer::zeros(outputs);
        bias[..dense.outputs].copy_from_slice(&dense.bias);
        let offsets = (0..steps).map(|step| (step * BLOCK_ROWS * TILE_DEPTH) as u32).collect();
        HalfLayer { tiles, inputs, outputs, offsets, weights, bias }
    }

    fn apply(&self, kernels: Kernels, input: Rows<'_>, output: &mut [f32], rounded: &mut Rounded) {
        let rows = input.count;
        kernels.run(Round { rows, width: self.inputs, from: input.numbers, to: &mut rounded.0 });
        let whole = rows / BLOCK_ROWS;
        for (positions, first, rows) in [(whole, 0, BLOCK_ROWS), (1, whole, rows % BLOCK_ROWS)] {
            if positions * rows > 0 {
                self.tiles.multiply(TileProduct {
                    positions,
                    rows,
                    width: self.outputs,
                    offsets: &self.offsets,
                    a: &rounded.0[first * BLOCK_ROWS * self.inputs..],
                    a_step: BLOCK_ROWS * self.inputs,
                    b: &self.weights,
                    c: &mut output[first * BLOCK_ROWS * self.outputs..],
                });
            }
        }
        for row in output.chunks_exact_mut(self.outputs).take(rows) {
            kernels.run(AddScaled { to: row, from: &self.bias, factor: 1.0 });
        }
    }
}

#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) size: usize,
    gammas: Buffer,
    betas: Buffer,
    epsilon: f32,
}

/// Rows that are added to others before the norm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) factor: f32,
}

impl Norm {
    pub(crate) fn new(norm: &LayerNorm, epsilon: f32) -> Norm {
        let size = norm.gammas.len();
        let row = |numbers: &[f32]| {
            let mut row = Buffer::zeros(stride(size));
            row[..size].copy_from_slice(numbers);
            row
        };
        Norm { size, gammas: row(&norm.gammas), betas: row(&norm.betas), epsilon }
    }

    pub(crate) fn row_length(&self) -> usize {
        self.gammas.len()
    }

    /// Computes `rows = norm(rows + factor * branch)` with a branch, or `norm(rows)` without; padding becomes 0.
    pub(crate) fn apply(&self, kernels: Kernels, rows: &mut [f32], branch: Option<Branch<'_>>) {
        let stride = self.row_length();
        kernels.run(Normalize {
            rows: rows.len() / stride,
            size: self.size,
            stride,
            x: rows,
            branch: branch.map(|branch| branch.rows),
            factor: branch.map_or(0.0, |branch| branch.factor),
            gammas: &self.gammas,
            betas: &self.betas,
            epsilon: self.epsilon,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_asked_for() {
        for length in [0, 1, 15, 16, 1000, 1_500_000] {
            let mut buffer = Buffer::zeros(length);
            assert_eq!(buffer.len(), length);
            buffer.fill(1.0);
            assert_eq!(buffer[..], vec![1.0; length]);
        }
    }
}
