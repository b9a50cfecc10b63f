//! The layers of networks as the kernels read them: weights packed once in aligned memory.
//!
//! [`Linear`] is a dense layer in fp32. [`Layer`] is one in the backend's precision. It reads and writes
//! [`Rows`]. A [`Branch`] is one whose results are added to rows and normalized with them.

use std::cell::Cell;
use std::ops::{Deref, DerefMut, Range};

use crate::network::layers::{self, Activation, Dense, LayerNorm};
use crate::system::huge_pages::{HUGE_PAGE, prefer_huge_pages};
use zeitnot_kernels::{
    self, Apply, BLOCK_ROWS, BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, DenseOutput, FixedProduct, FixedSums,
    HalfRows, Kernels, Layout, Normalize, Product, Round, Rounded, TILE_DEPTH, TILE_ROWS, Tiles,
    board_offset, pack_fixed_dense, pack_right,
};

/// Each square of `boards`, `[positions][10][10][channels]`, becomes a row of `width`.
pub(crate) fn boards_to_rows(boards: &[f32], channels: usize, rows: &mut [f32], width: usize) {
    let rows = rows.chunks_exact_mut(BLOCK_ROWS * width);
    for (board, rows) in boards.chunks_exact(BOARD_SQUARES * channels).zip(rows) {
        for (square, row) in rows.chunks_exact_mut(width).enumerate() {
            row[..channels].copy_from_slice(&board[board_offset(square, channels)..][..channels]);
        }
    }
}

/// A cache line, and the widest vector, in bytes.
const LINE: usize = 64;

/// Aligned to a cache line, or to a huge page if the numbers fill a quarter of one.
///
/// Made of a somewhat longer `Vec`, so that it needs no `unsafe`. Moving the buffer leaves the numbers where
/// they are.
pub(crate) struct Buffer<T = f32> {
    memory: Vec<T>,
    start: usize,
    length: usize,
}

thread_local! {
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// The bytes of the buffers that `make` makes.
pub(crate) fn buffer_bytes<T>(make: impl FnOnce() -> T) -> usize {
    let before = MADE.get();
    drop(make());
    MADE.get() - before
}

impl<T: Clone + Default> Buffer<T> {
    pub(crate) fn zeros(length: usize) -> Buffer<T> {
        Buffer::aligned(length, length * size_of::<T>() >= HUGE_PAGE / 4)
    }

    /// In no huge page: each thread has such buffers, and writes to a part of them.
    pub(crate) fn in_small_pages(length: usize) -> Buffer<T> {
        Buffer::aligned(length, false)
    }

    fn aligned(length: usize, is_large: bool) -> Buffer<T> {
        let alignment = if is_large { HUGE_PAGE } else { LINE } / size_of::<T>();
        let whole = length.next_multiple_of(alignment);
        // Zeros come from the system as pages that take no memory before they are written.
        let memory = vec![T::default(); whole + alignment];
        // Only for speed: `align_offset` may decline, as it does under Miri.
        let aligned = Some(memory.as_ptr().align_offset(alignment * size_of::<T>()));
        let start = aligned.filter(|&start| start < alignment).unwrap_or(0);
        if is_large {
            prefer_huge_pages(&memory[start..start + whole]);
        }
        MADE.set(MADE.get() + whole * size_of::<T>());
        Buffer {
            memory,
            start,
            length,
        }
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
        kernels.run(Apply {
            function: activation,
            values,
        });
    }
}

/// Boards with the largest magnitude on each, which fixed point needs.
pub(crate) struct Boards {
    /// `[positions][10][10][channels]`, with a border of zeros.
    pub(crate) numbers: Buffer,
    /// `[positions]`
    pub(crate) largest: Buffer,
}

impl Boards {
    pub(crate) fn zeros(positions: usize, channels: usize) -> Boards {
        Boards {
            numbers: Buffer::zeros(positions * BOARD_SQUARES * channels),
            largest: Buffer::zeros(positions),
        }
    }

    pub(crate) fn activate(
        &mut self,
        kernels: Kernels,
        function: Activation,
        (positions, channels): (usize, usize),
    ) {
        let boards = self.numbers.chunks_exact_mut(BOARD_SQUARES * channels);
        for (board, largest) in boards.zip(self.largest.iter_mut()).take(positions) {
            let ranks = board.chunks_exact_mut(BOARD_STRIDE * channels).skip(1).take(8);
            let apply = |rank: &mut [f32]| {
                let values = &mut rank[channels..9 * channels];
                kernels.run(Apply { function, values })
            };
            *largest = ranks.map(apply).fold(0.0, f32::max);
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

/// A weight of `dense`, or 0 in its padding.
pub(crate) fn weight_of(dense: &Dense, input: usize, output: usize) -> f32 {
    let is_padding = input >= dense.inputs || output >= dense.outputs;
    if is_padding {
        0.0
    } else {
        dense.weights[output * dense.inputs + input]
    }
}

/// The same layer with `inputs` inputs in another order: input `i` is `source(i)` of before, `None` for
/// padding.
pub(crate) fn reordered(dense: &Dense, inputs: usize, source: impl Fn(usize) -> Option<usize>) -> Dense {
    let places: Vec<_> = (0..inputs).map(source).collect();
    let row = |row: &[f32]| {
        places
            .iter()
            .map(|place| place.map_or(0.0, |place| row[place]))
            .collect()
    };
    let rows = dense.weights.chunks_exact(dense.inputs).map(row);
    let weights = rows.collect::<Vec<Vec<f32>>>().concat();
    Dense {
        inputs,
        weights,
        ..dense.clone()
    }
}

/// Pads each of the `groups` of a layer's outputs to `width`.
pub(crate) fn side_by_side(layers: &[&Dense], groups: usize, width: usize) -> Dense {
    let inputs = layers[0].inputs;
    let mut all = Dense {
        inputs,
        outputs: 0,
        weights: Vec::new(),
        bias: Vec::new(),
    };
    for layer in layers {
        let depth = layer.outputs / groups;
        for (weights, bias) in layer
            .weights
            .chunks_exact(depth * inputs)
            .zip(layer.bias.chunks_exact(depth))
        {
            all.outputs += width;
            all.weights.extend_from_slice(weights);
            all.weights.resize(all.outputs * inputs, 0.0);
            all.bias.extend_from_slice(bias);
            all.bias.resize(all.outputs, 0.0);
        }
    }
    all
}

/// Inputs and outputs are padded, with weights and biases 0.
pub(crate) struct Linear {
    pub(crate) kernels: Kernels,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    activation: Activation,
    weights: Buffer,
    bias: Buffer,
}

impl Linear {
    /// `inputs` includes padding.
    pub(crate) fn new(kernels: Kernels, dense: &Dense, inputs: usize, activation: Activation) -> Linear {
        let outputs = padded(dense.outputs);
        let mut weights = Buffer::zeros(inputs * outputs);
        let weight = |input: usize, output: usize| weight_of(dense, input, output);
        pack(kernels.panel(), inputs, outputs, weight, &mut weights);
        Linear {
            kernels,
            inputs,
            outputs,
            activation,
            weights,
            bias: Buffer::padded(&dense.bias, outputs),
        }
    }

    pub(crate) fn apply(&self, rows: usize, input: &[f32], output: &mut [f32]) {
        self.kernels.run(Product {
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
        activate(self.kernels, self.activation, &mut output[..rows * self.outputs]);
    }
}

/// Of a tower's 3×3 convolutions and an attention body's dense layers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Precision {
    Single,
    /// In 16-bit fixed point, with kernels for it.
    Fixed,
    /// In bf16.
    Half(Tiles),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arithmetic {
    pub(crate) kernels: Kernels,
    pub(crate) precision: Precision,
}

impl Arithmetic {
    pub(crate) fn tiles(self) -> Option<Tiles> {
        match self.precision {
            Precision::Half(tiles) => Some(tiles),
            Precision::Single | Precision::Fixed => None,
        }
    }

    pub(crate) fn padded(self, size: usize) -> usize {
        if self.tiles().is_some() {
            stride(size)
        } else {
            padded(size)
        }
    }

    /// The place of number `i` where a position's 64 rows of `channels` are read as one.
    pub(crate) fn square_and_channel(self, i: usize, channels: usize) -> (usize, usize) {
        match self.tiles() {
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

pub(crate) struct Rows {
    kernels: Kernels,
    /// `[rows][width]`, empty where layers write bf16.
    pub(crate) numbers: Buffer,
    /// Bits of bf16, empty where layers read something else.
    pub(crate) half: Buffer<u16>,
    /// Integers in fixed point, likewise.
    fixed: Buffer<i16>,
    /// Of rows in fixed point.
    scales: Buffer,
}

impl Rows {
    /// Room for what a layer writes and the next one reads.
    pub(crate) fn new(arithmetic: Arithmetic, rows: usize, width: usize) -> Rows {
        let exact = Rows::exact(arithmetic, rows, width);
        if arithmetic.tiles().is_none() {
            exact
        } else {
            Rows {
                numbers: Buffer::zeros(0),
                ..exact
            }
        }
    }

    /// Room for numbers that no layer reads.
    pub(crate) fn plain(kernels: Kernels, rows: usize, width: usize) -> Rows {
        Rows {
            kernels,
            numbers: Buffer::zeros(rows * width),
            half: Buffer::zeros(0),
            fixed: Buffer::zeros(0),
            scales: Buffer::zeros(0),
        }
    }

    /// Room for exact numbers, which [`Rows::round`] rounds where layers read bf16 or fixed point.
    pub(crate) fn exact(arithmetic: Arithmetic, rows: usize, width: usize) -> Rows {
        let blocks = Layout::blocks(width).length(rows.next_multiple_of(TILE_ROWS), width);
        let (half, fixed) = match arithmetic.precision {
            Precision::Single => (0, 0),
            Precision::Fixed => (0, rows),
            Precision::Half(_) => (blocks, 0),
        };
        Rows {
            kernels: arithmetic.kernels,
            numbers: Buffer::zeros(rows * width),
            half: Buffer::zeros(half),
            fixed: Buffer::zeros(fixed * width),
            scales: Buffer::zeros(fixed),
        }
    }

    /// Rounds the numbers, unless the next layer reads them, or the last one wrote bf16.
    pub(crate) fn round(&mut self, rows: usize, width: usize) {
        self.finish(Activation::None, 0..rows, width);
    }

    /// Likewise what `function` makes of them.
    fn finish(&mut self, function: Activation, rows: Range<usize>, width: usize) {
        let kernels = self.kernels;
        let count = rows.len();
        match self.parts(rows, width) {
            (x, Some(to)) if !x.is_empty() => kernels.run(Round {
                rows: count,
                width,
                function,
                x,
                to,
            }),
            (x, _) => activate(kernels, function, x),
        }
    }

    /// Some rows, and where they are rounded. In bf16 the first is a block's.
    fn parts(&mut self, rows: Range<usize>, width: usize) -> (&mut [f32], Option<Rounded<'_>>) {
        let first = rows.start;
        let rounded = if !self.half.is_empty() {
            let layout = Layout::blocks(width);
            Some(Rounded::Half(&mut self.half[layout.at(first)..], layout))
        } else if !self.fixed.is_empty() {
            Some(Rounded::Fixed(
                &mut self.fixed[first * width..],
                &mut self.scales[first..],
            ))
        } else {
            None
        };
        let numbers = self.numbers.get_mut(first * width..rows.end * width);
        (numbers.unwrap_or_default(), rounded)
    }
}

pub(crate) struct Layer {
    pub(crate) kernels: Kernels,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    activation: Activation,
    packed: Packed,
}

enum Packed {
    /// Without the activation.
    Single(Linear),
    /// See [`FixedProduct`].
    Fixed {
        weights: Buffer<i16>,
        scales: Vec<f32>,
        bias: Buffer,
    },
    Half(HalfLayer),
}

struct HalfLayer {
    tiles: Tiles,
    /// See [`zeitnot_kernels::Dense`].
    weights: Buffer<u16>,
    bias: Buffer,
    from: Layout,
    to: Layout,
}

pub(crate) struct Pass<'a> {
    pub(crate) rows: Range<usize>,
    pub(crate) input: &'a Rows,
    pub(crate) output: &'a mut Rows,
    /// Its first weights are fetched meanwhile.
    pub(crate) next: Option<&'a Layer>,
}

impl Layer {
    pub(crate) fn new(arithmetic: Arithmetic, dense: &Dense, activation: Activation) -> Layer {
        let [inputs, outputs] = [dense.inputs, dense.outputs].map(|size| arithmetic.padded(size));
        let bias = Buffer::padded(&dense.bias, outputs);
        let packed = match arithmetic.precision {
            Precision::Single => {
                Packed::Single(Linear::new(arithmetic.kernels, dense, inputs, Activation::None))
            }
            Precision::Fixed => {
                let mut weights: Buffer<i16> = Buffer::zeros(outputs * inputs);
                let weight = |input: usize, output: usize| weight_of(dense, input, output);
                let scales = pack_fixed_dense((inputs, outputs), weight, &mut weights);
                Packed::Fixed {
                    weights,
                    scales,
                    bias,
                }
            }
            Precision::Half(tiles) => {
                let mut weights: Buffer<u16> = Buffer::zeros(outputs * inputs);
                pack_right(&mut weights, inputs / TILE_DEPTH, |step, k, output| {
                    weight_of(dense, step * TILE_DEPTH + k, output)
                });
                let (from, to) = (Layout::blocks(inputs), Layout::blocks(outputs));
                Packed::Half(HalfLayer {
                    tiles,
                    weights,
                    bias,
                    from,
                    to,
                })
            }
        };
        Layer {
            kernels: arithmetic.kernels,
            inputs,
            outputs,
            activation,
            packed,
        }
    }

    /// It reads a position's 64 rows as one, see [`Arithmetic::square_and_channel`].
    pub(crate) fn after_squares(mut self) -> Layer {
        if let Packed::Half(layer) = &mut self.packed {
            layer.from = Layout::rows(self.inputs);
        }
        self
    }

    /// It writes each row's numbers side by side, and `gap` numbers between two rows in bf16.
    pub(crate) fn with_gaps(mut self, gap: usize) -> Layer {
        if let Packed::Half(layer) = &mut self.packed {
            layer.to = Layout::rows(self.outputs + gap);
        }
        self
    }

    /// Its results among `rows` in bf16, if it writes that.
    pub(crate) fn half_results<'a>(&self, rows: &'a Rows) -> Option<HalfRows<'a>> {
        match &self.packed {
            Packed::Half(layer) => Some(HalfRows {
                numbers: &rows.half,
                layout: layer.to,
            }),
            Packed::Single(_) | Packed::Fixed { .. } => None,
        }
    }

    pub(crate) fn half_weights(&self) -> &[u16] {
        match &self.packed {
            Packed::Half(layer) => &layer.weights,
            Packed::Single(_) | Packed::Fixed { .. } => &[],
        }
    }

    /// The results are also rounded, where the output has room for that.
    pub(crate) fn apply(&self, pass: Pass<'_>) {
        let Pass {
            rows,
            input,
            output,
            next,
        } = pass;
        let first = rows.start * self.outputs;
        let function = if let Packed::Half(layer) = &self.packed {
            let to = if output.numbers.is_empty() {
                DenseOutput::Half(&mut output.half[layer.to.at(rows.start)..], layer.to)
            } else {
                DenseOutput::Single(&mut output.numbers[first..])
            };
            self.run_half(layer, rows.clone(), input, to, next);
            Activation::None
        } else {
            self.multiply(rows.clone(), input, &mut output.numbers[first..]);
            self.activation
        };
        output.finish(function, rows, self.outputs);
    }

    /// Without the activation, not for bf16.
    fn multiply(&self, rows: Range<usize>, input: &Rows, output: &mut [f32]) {
        let count = rows.len();
        let first = rows.start;
        match &self.packed {
            Packed::Single(layer) => {
                layer.apply(count, &input.numbers[first * self.inputs..], output);
            }
            Packed::Fixed {
                weights,
                scales,
                bias,
            } => self.kernels.run(FixedProduct {
                count: 1,
                rows: count,
                inner: self.inputs,
                width: self.outputs,
                a: &input.fixed[first * self.inputs..],
                a_row: self.inputs,
                a_step: 0,
                b: weights,
                b_step: 0,
                c: FixedSums::Scaled {
                    to: output,
                    row_scales: &input.scales[first..],
                    scales,
                    bias,
                },
                c_row: self.outputs,
                c_step: 0,
            }),
            Packed::Half(_) => unreachable!("tiles write bf16"),
        }
    }

    fn run_half(
        &self,
        layer: &HalfLayer,
        rows: Range<usize>,
        input: &Rows,
        output: DenseOutput<'_>,
        next: Option<&Layer>,
    ) {
        layer.tiles.dense(zeitnot_kernels::Dense {
            rows: rows.len(),
            inputs: self.inputs,
            outputs: self.outputs,
            a: HalfRows {
                numbers: &input.half[layer.from.at(rows.start)..],
                layout: layer.from,
            },
            weights: &layer.weights,
            bias: &layer.bias,
            function: self.activation,
            output,
            next: next.map_or(&[], Layer::half_weights),
        });
    }
}

/// A multiple of a block: the rows stay in the cache until they are normalized.
pub(crate) const ROWS_AT_ONCE: usize = 2 * BLOCK_ROWS;

pub(crate) fn in_parts(rows: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(size)
        .map(move |first| first..end.min(first.saturating_add(size)))
}

/// `x = norm(x + factor * layer(input))`
pub(crate) struct Branch {
    pub(crate) layer: Layer,
    norm: Norm,
    factor: f32,
}

impl Branch {
    /// `layer` stands for that of `branch`.
    pub(crate) fn new(arithmetic: Arithmetic, layer: &Dense, branch: &layers::Branch) -> Branch {
        let layer = Layer::new(arithmetic, layer, Activation::None);
        Branch {
            layer,
            norm: Norm::new(arithmetic, &branch.norm),
            factor: branch.factor,
        }
    }

    /// The output of `pass` is `x`. `scratch` has room for [`ROWS_AT_ONCE`], but for bf16.
    pub(crate) fn add(&self, pass: Pass<'_>, scratch: &mut [f32]) {
        let Branch { layer, norm, factor } = self;
        let Pass {
            rows: all,
            input,
            output: x,
            next,
        } = pass;
        for rows in in_parts(all.clone(), ROWS_AT_ONCE) {
            let (to, rounded) = x.parts(rows.clone(), layer.outputs);
            if let Packed::Half(half) = &layer.packed {
                let next = next.filter(|_| rows.end == all.end);
                let output = DenseOutput::Added {
                    to: &mut *to,
                    factor: *factor,
                };
                layer.run_half(half, rows, input, output, next);
                norm.apply(to, None, rounded);
            } else {
                layer.multiply(rows, input, scratch);
                norm.apply(to, Some((scratch, *factor)), rounded);
            }
        }
    }
}

pub(crate) struct Norm {
    kernels: Kernels,
    pub(crate) size: usize,
    gammas: Buffer,
    betas: Buffer,
    epsilon: f32,
}

impl Norm {
    pub(crate) fn new(arithmetic: Arithmetic, norm: &LayerNorm) -> Norm {
        let size = norm.gammas.len();
        let row = |numbers: &[f32]| Buffer::padded(numbers, arithmetic.padded(size));
        Norm {
            kernels: arithmetic.kernels,
            size,
            gammas: row(&norm.gammas),
            betas: row(&norm.betas),
            epsilon: norm.epsilon,
        }
    }

    /// Computes `rows = norm(rows + factor * branch)`, or `norm(rows)` without a branch. Padding becomes 0.
    pub(crate) fn apply(
        &self,
        rows: &mut [f32],
        branch: Option<(&[f32], f32)>,
        rounded: Option<Rounded<'_>>,
    ) {
        let stride = self.gammas.len();
        self.kernels.run(Normalize {
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
