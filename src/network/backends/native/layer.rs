//! Dense layers over the rows of attention bodies: in fp32, or in bf16 where the CPU multiplies such matrices.

use std::sync::Arc;

use half::bf16;

use super::buffer::Buffer;
use super::kernels::{AddScaled, BLOCK_ROWS, Kernels, ROW_STEP, Round, TILE_DEPTH, TileProduct, Tiles};
use super::linear::Linear;
use crate::network::weights::Dense;

/// The means that layers compute with: kernels, and the tiles if products shall be in bf16.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arithmetic<'a> {
    pub(super) kernels: &'a dyn Kernels,
    pub(super) tiles: Option<&'a Arc<dyn Tiles>>,
}

/// Returns the length of a row of `size` numbers with its padding, which is 0.
pub(super) fn stride(size: usize) -> usize {
    size.next_multiple_of(TILE_DEPTH)
}

/// Returns `rows` rounded up to those for which an output of a layer must have room.
pub(super) fn room(rows: usize) -> usize {
    rows.next_multiple_of(ROW_STEP)
}

/// A dense layer with its weights packed: rows of `inputs` numbers to rows of `outputs`.
#[derive(Debug)]
pub(super) enum Layer {
    /// A layer in fp32.
    Single(Linear),
    /// Products in bf16, sums in fp32.
    Half(HalfLayer),
}

/// Weights rounded to bf16.
#[derive(Debug)]
pub(super) struct HalfLayer {
    tiles: Arc<dyn Tiles>,
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
pub(super) struct Rows<'a> {
    /// Number of rows.
    pub(super) count: usize,
    /// `[count][inputs]`
    pub(super) numbers: &'a [f32],
}

/// The size of the inputs of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputSize {
    /// Rows at once, at most.
    pub(super) rows: usize,
    /// Numbers of a row with its padding.
    pub(super) length: usize,
}

/// Room for rounded inputs, shared by all layers of an evaluator.
#[derive(Debug)]
pub(super) struct Rounded(Buffer<u16>);

impl Rounded {
    /// Makes scratch memory for inputs of these sizes; none is needed without tiles.
    pub(super) fn new(arithmetic: Arithmetic<'_>, inputs: &[InputSize]) -> Rounded {
        let sizes =
            inputs.iter().map(|&InputSize { rows, length }| rows.next_multiple_of(BLOCK_ROWS) * length);
        Rounded(Buffer::zeros(arithmetic.tiles.and_then(|_| sizes.max()).unwrap_or(0)))
    }
}

impl Layer {
    /// Packs a layer whose inputs are in the file's order, padded at the end.
    pub(super) fn new(arithmetic: Arithmetic<'_>, dense: &Dense) -> Layer {
        Layer::with_inputs(arithmetic, dense, stride(dense.inputs), |input| {
            (input < dense.inputs).then_some(input)
        })
    }

    /// Packs a layer whose input `i` of `inputs`, a multiple of 32, stands at `source(i)` in the file's order; `None`
    /// for padding.
    pub(super) fn with_inputs(
        arithmetic: Arithmetic<'_>,
        dense: &Dense,
        inputs: usize,
        source: impl Fn(usize) -> Option<usize>,
    ) -> Layer {
        match arithmetic.tiles {
            Some(tiles) => Layer::Half(HalfLayer::new(tiles, dense, inputs, source)),
            None => Layer::Single(Linear::new(arithmetic.kernels, &padded(dense), inputs, source)),
        }
    }

    /// Returns the length of an input row with its padding.
    pub(super) fn inputs(&self) -> usize {
        match self {
            Layer::Single(layer) => layer.inputs,
            Layer::Half(layer) => layer.inputs,
        }
    }

    /// Returns the length of an output row with its padding.
    pub(super) fn outputs(&self) -> usize {
        match self {
            Layer::Single(layer) => layer.outputs,
            Layer::Half(layer) => layer.outputs,
        }
    }

    /// Returns the multiply-adds for a row.
    pub(super) fn multiply_adds(&self) -> usize {
        self.inputs() * self.outputs()
    }

    /// Computes `[rows][outputs]` from `[rows][inputs]`; the output must have [`room`].
    pub(super) fn apply(
        &self,
        kernels: &dyn Kernels,
        input: Rows<'_>,
        output: &mut [f32],
        rounded: &mut Rounded,
    ) {
        match self {
            Layer::Single(layer) => layer.apply(kernels, input.count, input.numbers, output),
            Layer::Half(layer) => layer.apply(kernels, input, output, rounded),
        }
    }
}

/// Returns `dense` with as many outputs of 0 behind the others as the padding needs.
fn padded(dense: &Dense) -> Dense {
    let mut dense = dense.clone();
    dense.outputs = stride(dense.outputs);
    dense.weights.resize(dense.outputs * dense.inputs, 0.0);
    dense.bias.resize(dense.outputs, 0.0);
    dense
}

impl HalfLayer {
    fn new(
        tiles: &Arc<dyn Tiles>,
        dense: &Dense,
        inputs: usize,
        source: impl Fn(usize) -> Option<usize>,
    ) -> HalfLayer {
        let outputs = stride(dense.outputs);
        let steps = inputs / TILE_DEPTH;
        let mut weights: Buffer<u16> = Buffer::zeros(outputs * inputs);
        for (matrix, tiles) in weights.chunks_exact_mut(TILE_DEPTH * TILE_DEPTH).enumerate() {
            let (block, step) = (matrix / steps, matrix % steps);
            // Two tiles of 16 columns; their rows hold pairs of inputs for each column.
            for (i, to) in tiles.iter_mut().enumerate() {
                let (half, pair, column, second) = (i / 512, i / 32 % 16, i / 2 % 16, i % 2);
                let output = block * TILE_DEPTH + half * 16 + column;
                let input = step * TILE_DEPTH + 2 * pair + second;
                if let Some(input) = source(input).filter(|_| output < dense.outputs) {
                    *to = bf16::from_f32(dense.weights[output * dense.inputs + input]).to_bits();
                }
            }
        }
        let mut bias = Buffer::zeros(outputs);
        bias[..dense.outputs].copy_from_slice(&dense.bias);
        let offsets = (0..steps).map(|step| (step * BLOCK_ROWS * TILE_DEPTH) as u32).collect();
        HalfLayer { tiles: Arc::clone(tiles), inputs, outputs, offsets, weights, bias }
    }

    fn apply(&self, kernels: &dyn Kernels, input: Rows<'_>, output: &mut [f32], rounded: &mut Rounded) {
        let rows = input.count;
        kernels.round(Round { rows, width: self.inputs, from: input.numbers, to: &mut rounded.0 });
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
            kernels.add_scaled(AddScaled { to: row, from: &self.bias, factor: 1.0 });
        }
    }
}
