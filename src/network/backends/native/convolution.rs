//! 3×3 convolutions of boards: by Winograd's algorithm in fp32, or directly in bf16 where the CPU has matrix tiles.

use super::kernels::{
    BOARD_SQUARES, Collect, Epilogue, InputTransform, Kernels, OutputTransform, POINTS, Pointwise, Product,
    SPREAD_SQUARES, SPREAD_STRIDE, Spread, TILE_DEPTH, TILES, TileProduct, Tiles, pack_right, spread_length,
    transform_filter,
};
use super::layers::{Arithmetic, Buffer, activate_boards, pack, padded, pointwise};
use crate::network::weights::{self, Activation};

/// Output channels of a convolution that are computed together, so that their products stay near.
const BLOCK: usize = 64;
/// Numbers between the matrices of two Winograd points beyond their own length: without them the 36 addresses of a
/// tile would fall into the same few lines of the first cache.
const SKEW: usize = 16;

#[derive(Debug)]
pub(crate) enum Convolution {
    /// Winograd's algorithm, in fp32.
    Winograd(WinogradConvolution),
    /// Products of tiles, in bf16 with sums in fp32.
    Tiled(TiledConvolution),
}

/// Scratch of convolutions, shared by all of them in an evaluator.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Winograd's transformed inputs.
    tiles: Buffer,
    /// Winograd's products, or the sums of a tiled convolution.
    products: Buffer,
    /// Inputs of a tiled convolution. What is 0 here when it is made is never written.
    spread: Buffer<u16>,
}

impl Scratch {
    /// Makes scratch memory for convolutions with up to `channels` padded inputs and outputs of up to `positions`
    /// boards.
    pub(crate) fn new(positions: usize, channels: usize, tiles: Option<Tiles>) -> Scratch {
        let rows = positions * TILES;
        if tiles.is_some() {
            return Scratch {
                tiles: Buffer::zeros(0),
                products: Buffer::zeros(positions * 64 * channels.next_multiple_of(TILE_DEPTH)),
                spread: Buffer::zeros(positions * spread_length(channels)),
            };
        }
        Scratch {
            tiles: Buffer::zeros(POINTS * (rows * channels + SKEW)),
            products: Buffer::zeros(POINTS * (rows * BLOCK + SKEW)),
            spread: Buffer::zeros(0),
        }
    }
}

impl Convolution {
    /// Packs the weights: for `tiles` if there are any, else for Winograd's algorithm.
    pub(crate) fn new(arithmetic: Arithmetic, convolution: &weights::Convolution) -> Convolution {
        match arithmetic.tiles {
            Some(tiles) => Convolution::Tiled(TiledConvolution::new(tiles, convolution)),
            None => Convolution::Winograd(WinogradConvolution::new(arithmetic.kernels, convolution)),
        }
    }

    pub(crate) fn outputs(&self) -> usize {
        match self {
            Convolution::Winograd(convolution) => convolution.outputs,
            Convolution::Tiled(convolution) => convolution.outputs,
        }
    }

    /// Convolves boards `[10][10][inputs]`.
    pub(crate) fn apply(
        &self,
        kernels: Kernels,
        scratch: &mut Scratch,
        input: Boards<'_>,
        target: Target<'_>,
    ) {
        match self {
            Convolution::Winograd(convolution) => convolution.apply(kernels, scratch, input, target),
            Convolution::Tiled(convolution) => convolution.apply(kernels, scratch, input, target),
        }
    }
}

/// Boards that a convolution or a head reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boards<'a> {
    pub(crate) positions: usize,
    /// `[positions][10][10][channels]`
    pub(crate) boards: &'a [f32],
}

#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// `[positions][10][10][outputs]`
    pub(crate) boards: &'a mut [f32],
    pub(crate) epilogue: Epilogue,
    /// The sums for [`Epilogue::Pool`], `[positions][outputs]`; else empty.
    pub(crate) pool: &'a mut [f32],
}

/// A 3×3 convolution, its filters transformed for Winograd's algorithm.
#[derive(Debug)]
pub(crate) struct WinogradConvolution {
    inputs: usize,
    outputs: usize,
    /// `[36][inputs][outputs of the block]` for each block of outputs, packed.
    weights: Buffer,
    bias: Buffer,
}

impl WinogradConvolution {
    fn new(kernels: Kernels, convolution: &weights::Convolution) -> WinogradConvolution {
        let (inputs, outputs) = (padded(convolution.inputs), padded(convolution.outputs));
        let filters: Vec<[f32; POINTS]> =
            convolution.weights.as_chunks::<9>().0.iter().map(transform_filter).collect();
        let mut weights = Buffer::zeros(POINTS * inputs * outputs);
        for first in (0..outputs).step_by(BLOCK) {
            let width = BLOCK.min(outputs - first);
            let block = &mut weights[POINTS * inputs * first..][..POINTS * inputs * width];
            for (point, to) in block.chunks_exact_mut(inputs * width).enumerate() {
                let weight = |input: usize, output: usize| {
                    let output = first + output;
                    let inside = input < convolution.inputs && output < convolution.outputs;
                    if inside { filters[output * convolution.inputs + input][point] } else { 0.0 }
                };
                pack(kernels.panel(), inputs, width, weight, to);
            }
        }
        let mut bias = Buffer::zeros(outputs);
        bias[..convolution.outputs].copy_from_slice(&convolution.bias);
        WinogradConvolution { inputs, outputs, weights, bias }
    }

    /// Convolves boards `[10][10][inputs]`.
    fn apply(&self, kernels: Kernels, scratch: &mut Scratch, input: Boards<'_>, target: Target<'_>) {
        let Boards { positions, boards } = input;
        let rows = positions * TILES;
        let tiles_step = rows * self.inputs + SKEW;
        kernels.run(InputTransform {
            positions,
            channels: self.inputs,
            boards,
            tiles: &mut scratch.tiles,
            step: tiles_step,
        });
        for first in (0..self.outputs).step_by(BLOCK) {
            let width = BLOCK.min(self.outputs - first);
            let products_step = rows * width + SKEW;
            kernels.run(Product {
                count: POINTS,
                rows,
                inner: self.inputs,
                width,
                a: &scratch.tiles,
                a_row: self.inputs,
                a_step: tiles_step,
                b: &self.weights[POINTS * self.inputs * first..],
                b_step: self.inputs * width,
                c: &mut scratch.products,
                c_row: width,
                c_step: products_step,
                ..Product::default()
            });
            kernels.run(OutputTransform {
                positions,
                width,
                products: &scratch.products,
                step: products_step,
                bias: &self.bias[first..],
                epilogue: target.epilogue,
                boards: &mut *target.boards,
                channels: self.outputs,
                first,
                pool: &mut *target.pool,
            });
        }
    }
}

/// A 3×3 convolution as products of bf16 matrices, one for each of the nine taps and 32 input channels.
#[derive(Debug)]
pub(crate) struct TiledConvolution {
    tiles: Tiles,
    inputs: usize,
    outputs: usize,
    /// The place in a spread board where the left operand of each product begins.
    offsets: Vec<u32>,
    /// The right operands for each 32 outputs and each product; see [`TileProduct`].
    weights: Buffer<u16>,
    bias: Buffer,
}

impl TiledConvolution {
    fn new(tiles: Tiles, convolution: &weights::Convolution) -> TiledConvolution {
        let (inputs, outputs) = (padded(convolution.inputs), padded(convolution.outputs));
        let depths = inputs.div_ceil(TILE_DEPTH);
        let mut steps = Vec::new();
        for (x, y, depth) in (0..9 * depths).map(|i| (i / 3 / depths, i / depths % 3, i % depths)) {
            steps.push((
                y * 3 + x,
                depth,
                ((x * depths + depth) * SPREAD_SQUARES + y * SPREAD_STRIDE) * TILE_DEPTH,
            ));
        }
        let blocks = outputs.div_ceil(TILE_DEPTH);
        let mut weights: Buffer<u16> = Buffer::zeros(blocks * steps.len() * TILE_DEPTH * TILE_DEPTH);
        pack_right(&mut weights, steps.len(), |step, k, output| {
            let (tap, depth, _) = steps[step];
            let input = depth * TILE_DEPTH + k;
            (input < convolution.inputs && output < convolution.outputs)
                .then(|| convolution.weights[(output * convolution.inputs + input) * 9 + tap])
        });
        let mut bias = Buffer::zeros(outputs);
        bias[..convolution.outputs].copy_from_slice(&convolution.bias);
        let offsets = steps.iter().map(|&(_, _, offset)| offset as u32).collect();
        TiledConvolution { tiles, inputs, outputs, offsets, weights, bias }
    }

    /// Convolves boards `[10][10][inputs]`.
    fn apply(&self, kernels: Kernels, scratch: &mut Scratch, input: Boards<'_>, target: Target<'_>) {
        let Boards { positions, boards } = input;
        let step = spread_length(self.inputs);
        kernels.run(Spread { positions, channels: self.inputs, boards, spread: &mut scratch.spread });
        let width = self.outputs.next_multiple_of(TILE_DEPTH);
        self.tiles.multiply(TileProduct {
            positions,
            rows: 64,
            width,
            offsets: &self.offsets,
            a: &scratch.spread,
            a_step: step,
            b: &self.weights,
            c: &mut scratch.products,
        });
        kernels.run(Collect {
            positions,
            channels: self.outputs,
            sums: &scratch.products,
            width,
            bias: &self.bias,
            epilogue: target.epilogue,
            boards: target.boards,
            pool: target.pool,
        });
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivatedConvolution<'a> {
    pub(crate) convolution: &'a Convolution,
    pub(crate) activation: Activation,
}

impl ActivatedConvolution<'_> {
    /// Computes `output = activation(convolution(input))`.
    pub(crate) fn apply(
        &self,
        kernels: Kernels,
        input: Boards<'_>,
        output: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let relu = pointwise(self.activation) == Some(Pointwise::Relu);
        let epilogue = if relu { Epilogue::Relu } else { Epilogue::Store };
        let target = Target { boards: &mut *output, epilogue, pool: &mut [] };
        self.convolution.apply(kernels, scratch, input, target);
        if !relu {
            let channels = self.convolution.outputs();
            let boards = &mut output[..input.positions * BOARD_SQUARES * channels];
            activate_boards(kernels, self.activation, boards, channels);
        }
    }
}
