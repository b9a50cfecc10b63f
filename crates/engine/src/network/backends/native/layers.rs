//! The layers of networks as the kernels read them: weights packed once in aligned memory.
//!
//! [`Linear`] is a dense layer in fp32. [`Layer`] is one with its activation, in bf16 where the CPU
//! multiplies such matrices. [`Stream`] holds the rows that encoders change.

use std::ops::{Deref, DerefMut};

use crate::network::weights::{Activation, Dense, LayerNorm};
use crate::system::huge_pages::{HUGE_PAGE, prefer_huge_pages};
use zeitnot_kernels::{
    Apply, BLOCK_ROWS, BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, DenseOutput, HalfRows, Kernels, Layout,
    Normalize, Product, Round, TILE_DEPTH, TILE_ROWS, Tiles, board_offset, pack_right,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Boards<'a> {
    pub(crate) positions: usize,
    /// `[positions][10][10][channels]`
    pub(crate) boards: &'a [f32],
}

impl Boards<'_> {
    /// Each square becomes a row of `width`, of which it fills `channels`.
    pub(crate) fn copy_to_rows(self, channels: usize, rows: &mut [f32], width: usize) {
        let rows = rows.chunks_exact_mut(BLOCK_ROWS * width).take(self.positions);
        for (board, rows) in self.boards.chunks_exact(BOARD_SQUARES * channels).zip(rows) {
            for (square, row) in rows.chunks_exact_mut(width).enumerate() {
                row[..channels].copy_from_slice(&board[board_offset(square, channels)..][..channels]);
            }
        }
    }
}

/// A cache line, and the widest vector, in bytes.
const LINE: usize = 64;

/// Aligned to a cache line, or to a huge page if the numbers fill a quarter of one.
///
/// Made of a somewhat longer `Vec`, so that it needs no `unsafe`. Neither cloned nor resized: moving the
/// buffer leaves the numbers where they are.
#[derive(Debug)]
pub(crate) struct Buffer<T = f32> {
    memory: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Clone + Default> Buffer<T> {
    pub(crate) fn zeros(length: usize) -> Buffer<T> {
        let is_large = length * size_of::<T>() >= HUGE_PAGE / 4;
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

impl Buffer {
    /// `numbers`, and zeros behind them up to `length`.
    pub(crate) fn padded(numbers: &[f32], length: usize) -> Buffer {
        let mut buffer = Buffer::zeros(length);
        buffer[..numbers.len()].copy_from_slice(numbers);
        buffer
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

/// Rounds `channels` up to what the kernels take.
pub(crate) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(CHANNEL_STEP)
}

pub(crate) fn activate(kernels: Kernels, activation: Activation, values: &mut [f32]) {
    if activation != Activation::None {
        kernels.run(Apply { function: activation, values });
    }
}

/// Borders stay 0.
pub(crate) fn activate_boards(kernels: Kernels, activation: Activation, boards: &mut [f32], channels: usize) {
    for board in boards.chunks_exact_mut(BOARD_SQUARES * channels) {
        for rank in board.chunks_exact_mut(BOARD_STRIDE * channels).skip(1).take(8) {
            activate(kernels, activation, &mut rank[channels..9 * channels]);
        }
    }
}

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

/// Inputs and outputs are padded, with weights and biases 0.
#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    weights: Buffer,
    bias: Buffer,
}

impl Linear {
    /// Input `i` of `inputs` is `source(i)` in the file's order, `None` for padding.
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
        Linear { inputs, outputs, weights, bias: Buffer::padded(&dense.bias, outputs) }
    }

    pub(crate) fn plain(kernels: Kernels, dense: &Dense) -> Linear {
        Linear::new(kernels, dense, padded(dense.inputs), |input| (input < dense.inputs).then_some(input))
    }

    pub(crate) fn after_squares(kernels: Kernels, dense: &Dense, channels: usize, order: Order) -> Linear {
        let stride = padded(channels);
        Linear::new(kernels, dense, 64 * stride, |input| {
            let (square, channel) = (input / stride, input % stride);
            (channel < channels).then(|| order.flatten(square, channel, channels))
        })
    }

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
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// `[channels][64]`
    ChannelMajor,
    /// `[64][channels]`
    SquareMajor,
}

impl Order {
    pub(crate) fn flatten(self, square: usize, channel: usize, channels: usize) -> usize {
        match self {
            Order::ChannelMajor => channel * 64 + square,
            Order::SquareMajor => square * channels + channel,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arithmetic {
    pub(crate) kernels: Kernels,
    pub(crate) tiles: Option<Tiles>,
}

impl Arithmetic {
    pub(crate) fn padded(self, size: usize) -> usize {
        if self.tiles.is_some() { stride(size) } else { padded(size) }
    }

    /// The place of number `i` where a position's 64 rows of `channels` are read as one, see
    /// [`Activations::flat`].
    pub(crate) fn square_and_channel(self, i: usize, channels: usize) -> (usize, usize) {
        match self.tiles {
            None => (i / channels, i % channels),
            Some(_) => {
                let (block, i) = (i / (BLOCK_ROWS * TILE_DEPTH), i % (BLOCK_ROWS * TILE_DEPTH));
                (i / TILE_DEPTH, block * TILE_DEPTH + i % TILE_DEPTH)
            }
        }
    }
}

pub(crate) fn stride(size: usize) -> usize {
    size.next_multiple_of(TILE_DEPTH)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    Single(&'a [f32]),
    Half(HalfRows<'a>),
}

#[derive(Debug)]
pub(crate) enum Output<'a> {
    Single(&'a mut [f32]),
    Half(&'a mut [u16], Layout),
}

#[derive(Debug)]
pub(crate) enum Activations {
    Single(Buffer),
    Half(Buffer<u16>, Layout),
}

impl Activations {
    pub(crate) fn new(arithmetic: Arithmetic, rows: usize, width: usize) -> Activations {
        Activations::with_layout(arithmetic, (rows, width), Layout::blocks(width))
    }

    pub(crate) fn with_layout(
        arithmetic: Arithmetic,
        (rows, width): (usize, usize),
        layout: Layout,
    ) -> Activations {
        match arithmetic.tiles {
            None => Activations::Single(Buffer::zeros(rows * width)),
            Some(_) => {
                let length = layout.length(rows.next_multiple_of(TILE_ROWS), width);
                Activations::Half(Buffer::zeros(length), layout)
            }
        }
    }

    /// Room for each position's 64 rows, also readable by [`Activations::flat`].
    pub(crate) fn of_positions(arithmetic: Arithmetic, positions: usize, channels: usize) -> Activations {
        Activations::new(arithmetic, positions.next_multiple_of(TILE_ROWS) * BLOCK_ROWS, channels)
    }

    pub(crate) fn input(&self) -> Input<'_> {
        match self {
            Activations::Single(numbers) => Input::Single(numbers),
            Activations::Half(numbers, layout) => Input::Half(HalfRows { numbers, layout: *layout }),
        }
    }

    pub(crate) fn output(&mut self) -> Output<'_> {
        match self {
            Activations::Single(numbers) => Output::Single(numbers),
            Activations::Half(numbers, layout) => Output::Half(numbers, *layout),
        }
    }

    /// Each position's 64 rows of `channels` as one, see [`Arithmetic::square_and_channel`].
    pub(crate) fn flat(&self, channels: usize) -> Input<'_> {
        match self {
            Activations::Single(numbers) => Input::Single(numbers),
            Activations::Half(numbers, _) => {
                Input::Half(HalfRows { numbers, layout: Layout::rows(BLOCK_ROWS * channels) })
            }
        }
    }

    /// The rows are rounded into this memory if the layer reads bf16.
    pub(crate) fn hold<'a>(
        &'a mut self,
        kernels: Kernels,
        (rows, width): (usize, usize),
        numbers: &'a [f32],
    ) -> Input<'a> {
        match self {
            Activations::Single(_) => Input::Single(numbers),
            Activations::Half(to, _) => {
                let layout = Layout::blocks(width);
                kernels.run(Round { rows, width, from: numbers, to, layout });
                Input::Half(HalfRows { numbers: to, layout })
            }
        }
    }
}

/// Rows that encoders change, with a rounded copy for layers.
#[derive(Debug)]
pub(crate) struct Stream {
    width: usize,
    /// `[rows][width]`
    pub(crate) numbers: Buffer,
    rounded: Option<Buffer<u16>>,
}

/// A multiple of a block: the rows stay in the cache until they are normalized.
const ROWS_AT_ONCE: usize = 2 * BLOCK_ROWS;

/// `x = norm(x + factor * layer(input))`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch<'a> {
    pub(crate) layer: &'a Layer,
    pub(crate) input: Input<'a>,
    pub(crate) norm: &'a Norm,
    pub(crate) factor: f32,
    pub(crate) next: Option<&'a Layer>,
}

impl Stream {
    pub(crate) fn new(arithmetic: Arithmetic, rows: usize, width: usize) -> Stream {
        let half = |_| Buffer::zeros(Layout::blocks(width).length(rows.next_multiple_of(TILE_ROWS), width));
        Stream { width, numbers: Buffer::zeros(rows * width), rounded: arithmetic.tiles.map(half) }
    }

    pub(crate) fn read_boards(&mut self, boards: Boards<'_>, channels: usize) {
        boards.copy_to_rows(channels, &mut self.numbers, self.width);
    }

    pub(crate) fn input(&self) -> Input<'_> {
        match &self.rounded {
            None => Input::Single(&self.numbers),
            Some(numbers) => Input::Half(HalfRows { numbers, layout: Layout::blocks(self.width) }),
        }
    }

    pub(crate) fn round(&mut self, kernels: Kernels, rows: usize) {
        if let Some(to) = &mut self.rounded {
            let layout = Layout::blocks(self.width);
            kernels.run(Round { rows, width: self.width, from: &self.numbers, to, layout });
        }
    }

    pub(crate) fn normalize(&mut self, kernels: Kernels, rows: usize, norm: &Norm) {
        norm.apply(kernels, &mut self.numbers[..rows * self.width], None, None);
    }

    /// `scratch` has room for as many.
    pub(crate) fn add(&mut self, kernels: Kernels, rows: usize, branch: Branch<'_>, scratch: &mut [f32]) {
        let Branch { layer, input, norm, factor, next } = branch;
        let numbers = &mut self.numbers[..rows * self.width];
        match (&layer.packed, input, &mut self.rounded) {
            (Packed::Half(half), Input::Half(a), Some(rounded)) => {
                let layout = Layout::blocks(self.width);
                let parts = numbers.chunks_mut(ROWS_AT_ONCE * self.width);
                let places = rounded.chunks_mut(ROWS_AT_ONCE * self.width);
                for (i, (numbers, rounded)) in parts.zip(places).enumerate() {
                    let (first, count) = (i * ROWS_AT_ONCE, numbers.len() / self.width);
                    let a = HalfRows { numbers: &a.numbers[a.layout.at(first)..], layout: a.layout };
                    let next = next.filter(|_| first + count == rows);
                    let output = DenseOutput::Added { to: &mut *numbers, factor };
                    half.run(layer.activation, count, a, output, next);
                    norm.apply(kernels, numbers, None, Some((rounded, layout)));
                }
            }
            _ => {
                layer.apply(kernels, Pass { rows, input, output: Output::Single(scratch), next });
                norm.apply(kernels, numbers, Some((scratch, factor)), None);
                self.round(kernels, rows);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    activation: Activation,
    packed: Packed,
}

#[derive(Debug)]
enum Packed {
    Single(Linear),
    Half(HalfLayer),
}

#[derive(Debug)]
struct HalfLayer {
    tiles: Tiles,
    inputs: usize,
    outputs: usize,
    /// See [`zeitnot_kernels::Dense`].
    weights: Buffer<u16>,
    bias: Buffer,
}

#[derive(Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) rows: usize,
    pub(crate) input: Input<'a>,
    pub(crate) output: Output<'a>,
    /// Its first weights are fetched meanwhile.
    pub(crate) next: Option<&'a Layer>,
}

impl Layer {
    pub(crate) fn new(arithmetic: Arithmetic, dense: &Dense) -> Layer {
        Layer::with_inputs(arithmetic, dense, arithmetic.padded(dense.inputs), |input| {
            (input < dense.inputs).then_some(input)
        })
    }

    /// Input `i` of `inputs`, a padded length, is `source(i)` in the file's order, `None` for padding.
    pub(crate) fn with_inputs(
        arithmetic: Arithmetic,
        dense: &Dense,
        inputs: usize,
        source: impl Fn(usize) -> Option<usize>,
    ) -> Layer {
        let packed = match arithmetic.tiles {
            Some(tiles) => Packed::Half(HalfLayer::new(tiles, dense, inputs, source)),
            None => Packed::Single(Linear::new(arithmetic.kernels, dense, inputs, source)),
        };
        Layer { inputs, outputs: arithmetic.padded(dense.outputs), activation: Activation::None, packed }
    }

    pub(crate) fn activated(self, activation: Activation) -> Layer {
        Layer { activation, ..self }
    }

    pub(crate) fn half_weights(&self) -> &[u16] {
        match &self.packed {
            Packed::Single(_) => &[],
            Packed::Half(layer) => &layer.weights,
        }
    }

    /// The inputs have the layer's own precision.
    pub(crate) fn apply(&self, kernels: Kernels, pass: Pass<'_>) {
        let Pass { rows, input, output, next } = pass;
        match (&self.packed, input, output) {
            (Packed::Single(layer), Input::Single(numbers), Output::Single(to)) => {
                layer.apply(kernels, rows, numbers, to);
                activate(kernels, self.activation, &mut to[..rows * layer.outputs]);
            }
            (Packed::Half(layer), Input::Half(a), output) => {
                let output = match output {
                    Output::Single(to) => DenseOutput::Single(to),
                    Output::Half(to, layout) => DenseOutput::Half(to, layout),
                };
                layer.run(self.activation, rows, a, output, next);
            }
            _ => unreachable!("layers and their rows are made for the same arithmetic"),
        }
    }
}

impl HalfLayer {
    fn new(tiles: Tiles, dense: &Dense, inputs: usize, source: impl Fn(usize) -> Option<usize>) -> HalfLayer {
        let outputs = stride(dense.outputs);
        let mut weights: Buffer<u16> = Buffer::zeros(outputs * inputs);
        pack_right(&mut weights, inputs / TILE_DEPTH, |step, k, output| {
            let input = source(step * TILE_DEPTH + k).filter(|_| output < dense.outputs)?;
            Some(dense.weights[output * dense.inputs + input])
        });
        HalfLayer { tiles, inputs, outputs, weights, bias: Buffer::padded(&dense.bias, outputs) }
    }

    fn run(
        &self,
        activation: Activation,
        rows: usize,
        a: HalfRows<'_>,
        output: DenseOutput<'_>,
        next: Option<&Layer>,
    ) {
        self.tiles.dense(zeitnot_kernels::Dense {
            rows,
            inputs: self.inputs,
            outputs: self.outputs,
            a,
            weights: &self.weights,
            bias: &self.bias,
            function: activation,
            output,
            next: next.map_or(&[], Layer::half_weights),
        });
    }
}

#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) size: usize,
    gammas: Buffer,
    betas: Buffer,
    epsilon: f32,
}

impl Norm {
    pub(crate) fn new(arithmetic: Arithmetic, norm: &LayerNorm, epsilon: f32) -> Norm {
        let size = norm.gammas.len();
        let row = |numbers: &[f32]| Buffer::padded(numbers, arithmetic.padded(size));
        Norm { size, gammas: row(&norm.gammas), betas: row(&norm.betas), epsilon }
    }

    /// Computes `rows = norm(rows + factor * branch)`, or `norm(rows)` without a branch. Padding becomes 0.
    pub(crate) fn apply(
        &self,
        kernels: Kernels,
        rows: &mut [f32],
        branch: Option<(&[f32], f32)>,
        rounded: Option<(&mut [u16], Layout)>,
    ) {
        let stride = self.gammas.len();
        kernels.run(Normalize {
            rows: rows.len() / stride,
            size: self.size,
            stride,
            x: rows,
            branch: branch.map(|(branch, _)| branch),
            factor: branch.map_or(0.0, |(_, factor)| factor),
            gammas: &self.gammas,
            betas: &self.betas,
            epsilon: self.epsilon,
            rounded,
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
