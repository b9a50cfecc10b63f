//! 3×3 convolutions of boards: by Winograd's algorithm in fp32, or directly in bf16 where the CPU has matrix
//! tiles.

use super::layers::{Buffer, activate_boards, pack, padded, stride};
use crate::network::layers::{self, Activation};
use zeitnot_kernels::{
    BOARD_SQUARES, ConvolveFolded, Epilogue, FoldedOutput, InputTransform, Kernels, OutputTransform, POINTS,
    Product, TILE_DEPTH, TILES, Tiles, folded_length, folded_offsets, pack_right, stream_length,
    transform_filter,
};

/// Outputs computed together, so that their products stay in the cache.
const BLOCK: usize = 64;
/// Extra numbers between the matrices of two Winograd points, so that the 36 addresses of a tile don't share
/// a few lines of the L1 cache.
const SKEW: usize = 16;

pub(crate) struct WinogradScratch {
    pub(crate) transformed: Transformed,
    /// Outputs of a block's second convolution, `[positions][10][10][channels]`.
    pub(crate) update: Buffer,
    pub(crate) pool: Buffer,
}

pub(crate) struct Transformed {
    tiles: Buffer,
    products: Buffer,
}

pub(crate) struct FoldedScratch {
    pub(crate) boards: Buffer<u16>,
    pub(crate) inner: Buffer<u16>,
    pub(crate) stream: Buffer,
    pub(crate) update: Buffer,
    pub(crate) pool: Buffer,
}

impl WinogradScratch {
    pub(crate) fn new(positions: usize, channels: usize) -> WinogradScratch {
        let rows = positions * TILES;
        let transformed = Transformed {
            tiles: Buffer::zeros(POINTS * (rows * channels + SKEW)),
            products: Buffer::zeros(POINTS * (rows * BLOCK + SKEW)),
        };
        WinogradScratch {
            transformed,
            update: Buffer::zeros(positions * BOARD_SQUARES * channels),
            pool: Buffer::zeros(positions * channels),
        }
    }
}

impl FoldedScratch {
    pub(crate) fn new(positions: usize, channels: usize) -> FoldedScratch {
        // Borders and padding are 0 and never written.
        let folded = || Buffer::zeros(positions * folded_length(channels));
        let stream = || Buffer::zeros(positions * stream_length(channels));
        FoldedScratch {
            boards: folded(),
            inner: folded(),
            stream: stream(),
            update: stream(),
            pool: Buffer::zeros(positions * stride(channels)),
        }
    }
}

pub(crate) struct Target<'a> {
    /// `[positions][10][10][outputs]`
    pub(crate) boards: &'a mut [f32],
    pub(crate) epilogue: Epilogue,
    /// Sums for [`Epilogue::Pool`], `[positions][outputs]`, else empty.
    pub(crate) pool: &'a mut [f32],
}

/// Convolutions with as many inputs as outputs. The weights lie one after the other, so that they share huge
/// pages and the next ones can be fetched.
pub(crate) struct WinogradConvolutions {
    channels: usize,
    /// Per convolution and block of outputs, packed `[36][inputs][outputs of the block]`.
    weights: Buffer,
    biases: Vec<Buffer>,
}

impl WinogradConvolutions {
    pub(crate) fn new(kernels: Kernels, convolutions: &[&layers::Convolution]) -> WinogradConvolutions {
        let channels = convolutions.first().map_or(0, |first| padded(first.outputs));
        let length = POINTS * channels * channels;
        let mut weights = Buffer::zeros(convolutions.len() * length);
        for (convolution, to) in convolutions.iter().zip(weights.chunks_exact_mut(length.max(1))) {
            pack_filters(kernels, convolution, channels, to);
        }
        let bias = |convolution: &&layers::Convolution| Buffer::padded(&convolution.bias, channels);
        WinogradConvolutions {
            channels,
            weights,
            biases: convolutions.iter().map(bias).collect(),
        }
    }

    pub(crate) fn activate(
        &self,
        index: usize,
        (kernels, activation): (Kernels, Activation),
        (positions, input): (usize, &[f32]),
        output: &mut [f32],
        scratch: &mut Transformed,
    ) {
        let relu = activation == Activation::Relu;
        let epilogue = if relu { Epilogue::Relu } else { Epilogue::Store };
        let target = Target {
            boards: &mut *output,
            epilogue,
            pool: &mut [],
        };
        self.apply(index, kernels, (positions, input), target, scratch);
        if !relu {
            let boards = &mut output[..positions * BOARD_SQUARES * self.channels];
            activate_boards(kernels, activation, boards, self.channels);
        }
    }

    pub(crate) fn apply(
        &self,
        index: usize,
        kernels: Kernels,
        (positions, boards): (usize, &[f32]),
        target: Target<'_>,
        scratch: &mut Transformed,
    ) {
        let channels = self.channels;
        let rows = positions * TILES;
        let tiles_step = rows * channels + SKEW;
        let tiles = &mut scratch.tiles[..];
        kernels.run(InputTransform {
            positions,
            channels,
            boards,
            tiles,
            step: tiles_step,
        });
        for first in (0..channels).step_by(BLOCK) {
            let width = BLOCK.min(channels - first);
            let products_step = rows * width + SKEW;
            kernels.run(Product {
                count: POINTS,
                rows,
                inner: channels,
                width,
                a: &scratch.tiles,
                a_row: channels,
                a_step: tiles_step,
                b: &self.weights[POINTS * channels * (index * channels + first)..],
                b_step: channels * width,
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
                bias: &self.biases[index][first..],
                epilogue: target.epilogue,
                boards: &mut *target.boards,
                channels,
                first,
                pool: &mut *target.pool,
            });
        }
    }
}

fn pack_filters(kernels: Kernels, convolution: &layers::Convolution, channels: usize, to: &mut [f32]) {
    let filters: Vec<[f32; POINTS]> = convolution
        .weights
        .as_chunks::<9>()
        .0
        .iter()
        .map(transform_filter)
        .collect();
    for first in (0..channels).step_by(BLOCK) {
        let width = BLOCK.min(channels - first);
        let block = &mut to[POINTS * channels * first..][..POINTS * channels * width];
        for (point, to) in block.chunks_exact_mut(channels * width).enumerate() {
            let weight = |input: usize, output: usize| {
                let output = first + output;
                let inside = input < convolution.inputs && output < convolution.outputs;
                if inside {
                    filters[output * convolution.inputs + input][point]
                } else {
                    0.0
                }
            };
            pack(kernels.panel(), channels, width, weight, to);
        }
    }
}

/// Likewise of folded boards.
pub(crate) struct FoldedConvolutions {
    tiles: Tiles,
    outputs: usize,
    offsets: Vec<u32>,
    weights: Buffer<u16>,
    biases: Vec<Buffer>,
}

impl FoldedConvolutions {
    pub(crate) fn new(tiles: Tiles, convolutions: &[&layers::Convolution]) -> FoldedConvolutions {
        let channels = convolutions.first().map_or(0, |first| first.outputs);
        let (offsets, outputs) = (folded_offsets(channels), stride(channels));
        let length = 9 * outputs * outputs;
        let mut weights = Buffer::zeros(convolutions.len() * length);
        for (convolution, to) in convolutions.iter().zip(weights.chunks_exact_mut(length.max(1))) {
            pack_right(to, offsets.len(), |step, k, output| {
                let (input, tap) = (step / 9 * TILE_DEPTH + k, step % 9);
                let inside = input < channels && output < channels;
                if inside {
                    convolution.weights[(output * channels + input) * 9 + tap]
                } else {
                    0.0
                }
            });
        }
        let bias = |convolution: &&layers::Convolution| Buffer::padded(&convolution.bias, outputs);
        let biases = convolutions.iter().map(bias).collect();
        FoldedConvolutions {
            tiles,
            outputs,
            offsets,
            weights,
            biases,
        }
    }

    pub(crate) fn apply(
        &self,
        index: usize,
        kernels: Kernels,
        positions: usize,
        input: &[u16],
        output: FoldedOutput<'_>,
    ) {
        kernels.run(ConvolveFolded {
            tiles: self.tiles,
            positions,
            outputs: self.outputs,
            offsets: &self.offsets,
            input,
            weights: &self.weights[index * 9 * self.outputs * self.outputs..],
            bias: &self.biases[index],
            output,
        });
    }
}
