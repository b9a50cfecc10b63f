//! 3×3 convolutions of boards: by Winograd's algorithm in fp32, or directly in bf16 where the CPU has matrix
//! tiles.

use super::layers::{Arithmetic, Boards, Buffer, activate_boards, pack, padded, stride};
use crate::network::weights::{self, Activation};
use zeitnot_kernels::{
    BOARD_SQUARES, ConvolveFolded, Epilogue, FoldedOutput, InputTransform, Kernels, OutputTransform, POINTS,
    Product, TILE_DEPTH, TILES, Tiles, Unfold, folded_length, folded_offsets, pack_right, stream_length,
    transform_filter,
};

/// Outputs computed together, so that their products stay in the cache.
const BLOCK: usize = 64;
/// Extra numbers between the matrices of two Winograd points, so that the 36 addresses of a tile don't share
/// a few lines of the L1 cache.
const SKEW: usize = 16;

/// The weights lie one after the other, so that they share huge pages and the next ones can be fetched.
#[derive(Debug)]
pub(crate) enum Convolutions {
    Winograd(WinogradConvolutions),
    Folded(FoldedConvolutions),
}

#[derive(Debug)]
pub(crate) enum Scratch {
    Winograd(WinogradScratch),
    Folded(FoldedScratch),
}

#[derive(Debug)]
pub(crate) struct WinogradScratch {
    pub(crate) transformed: Transformed,
    /// Outputs of a block's second convolution, `[positions][10][10][channels]`.
    pub(crate) update: Buffer,
    pub(crate) pool: Buffer,
}

#[derive(Debug)]
pub(crate) struct Transformed {
    tiles: Buffer,
    products: Buffer,
}

#[derive(Debug)]
pub(crate) struct FoldedScratch {
    pub(crate) boards: Buffer<u16>,
    pub(crate) inner: Buffer<u16>,
    pub(crate) stream: Buffer,
    pub(crate) update: Buffer,
    pub(crate) pool: Buffer,
}

impl Scratch {
    pub(crate) fn new(positions: usize, channels: usize, tiles: Option<Tiles>) -> Scratch {
        if tiles.is_some() {
            // Borders and padding are 0 and never written.
            let folded = || Buffer::zeros(positions * folded_length(channels));
            let stream = || Buffer::zeros(positions * stream_length(channels));
            return Scratch::Folded(FoldedScratch {
                boards: folded(),
                inner: folded(),
                stream: stream(),
                update: stream(),
                pool: Buffer::zeros(positions * stride(channels)),
            });
        }
        let (rows, channels) = (positions * TILES, padded(channels));
        let transformed = Transformed {
            tiles: Buffer::zeros(POINTS * (rows * channels + SKEW)),
            products: Buffer::zeros(POINTS * (rows * BLOCK + SKEW)),
        };
        Scratch::Winograd(WinogradScratch {
            transformed,
            update: Buffer::zeros(positions * BOARD_SQUARES * channels),
            pool: Buffer::zeros(positions * channels),
        })
    }
}

impl Convolutions {
    pub(crate) fn new(arithmetic: Arithmetic, convolutions: &[&weights::Convolution]) -> Convolutions {
        match arithmetic.tiles {
            Some(tiles) => Convolutions::Folded(FoldedConvolutions::new(tiles, convolutions)),
            None => Convolutions::Winograd(WinogradConvolutions::new(arithmetic.kernels, convolutions)),
        }
    }

    /// The boards are a tower's output, which `scratch` holds as well.
    pub(crate) fn apply_to_tower(
        &self,
        kernels: Kernels,
        activation: Activation,
        Boards { positions, boards }: Boards<'_>,
        output: &mut [f32],
        scratch: &mut Scratch,
    ) {
        match (self, scratch) {
            (Convolutions::Winograd(convolutions), Scratch::Winograd(scratch)) => {
                let input = Boards { positions, boards };
                convolutions.activate(0, kernels, activation, input, output, &mut scratch.transformed);
            }
            (Convolutions::Folded(convolutions), Scratch::Folded(scratch)) => {
                let FoldedScratch { boards, update, pool, .. } = scratch;
                convolutions.apply(0, kernels, positions, boards, FoldedOutput::Sums { update, pool });
                let channels = padded(convolutions.list[0].outputs);
                kernels.run(Unfold { positions, channels, stream: update, boards: &mut *output });
                let boards = &mut output[..positions * BOARD_SQUARES * channels];
                activate_boards(kernels, activation, boards, channels);
            }
            _ => unreachable!("scratch and convolutions are made for the same arithmetic"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// `[positions][10][10][outputs]`
    pub(crate) boards: &'a mut [f32],
    pub(crate) epilogue: Epilogue,
    /// Sums for [`Epilogue::Pool`], `[positions][outputs]`, else empty.
    pub(crate) pool: &'a mut [f32],
}

#[derive(Debug)]
pub(crate) struct WinogradConvolutions {
    list: Vec<WinogradConvolution>,
    /// Per convolution and block of outputs, packed `[36][inputs][outputs of the block]`.
    weights: Buffer,
}

#[derive(Debug)]
struct WinogradConvolution {
    inputs: usize,
    outputs: usize,
    first: usize,
    bias: Buffer,
}

impl WinogradConvolutions {
    fn new(kernels: Kernels, convolutions: &[&weights::Convolution]) -> WinogradConvolutions {
        let length = |convolution: &weights::Convolution| {
            POINTS * padded(convolution.inputs) * padded(convolution.outputs)
        };
        let mut weights = Buffer::zeros(convolutions.iter().copied().map(length).sum());
        let (mut list, mut first) = (Vec::new(), 0);
        for &convolution in convolutions {
            let (inputs, outputs) = (padded(convolution.inputs), padded(convolution.outputs));
            pack_filters(kernels, convolution, &mut weights[first..][..length(convolution)]);
            let bias = Buffer::padded(&convolution.bias, outputs);
            list.push(WinogradConvolution { inputs, outputs, first, bias });
            first += length(convolution);
        }
        WinogradConvolutions { list, weights }
    }

    pub(crate) fn activate(
        &self,
        index: usize,
        kernels: Kernels,
        activation: Activation,
        input: Boards<'_>,
        output: &mut [f32],
        scratch: &mut Transformed,
    ) {
        let relu = activation == Activation::Relu;
        let epilogue = if relu { Epilogue::Relu } else { Epilogue::Store };
        let target = Target { boards: &mut *output, epilogue, pool: &mut [] };
        self.apply(index, kernels, input, target, scratch);
        if !relu {
            let channels = self.list[index].outputs;
            let boards = &mut output[..input.positions * BOARD_SQUARES * channels];
            activate_boards(kernels, activation, boards, channels);
        }
    }

    pub(crate) fn apply(
        &self,
        index: usize,
        kernels: Kernels,
        Boards { positions, boards }: Boards<'_>,
        target: Target<'_>,
        scratch: &mut Transformed,
    ) {
        let WinogradConvolution { inputs, outputs, first: begin, bias } = &self.list[index];
        let (inputs, outputs) = (*inputs, *outputs);
        let rows = positions * TILES;
        let tiles_step = rows * inputs + SKEW;
        kernels.run(InputTransform {
            positions,
            channels: inputs,
            boards,
            tiles: &mut scratch.tiles,
            step: tiles_step,
        });
        for first in (0..outputs).step_by(BLOCK) {
            let width = BLOCK.min(outputs - first);
            let products_step = rows * width + SKEW;
            kernels.run(Product {
                count: POINTS,
                rows,
                inner: inputs,
                width,
                a: &scratch.tiles,
                a_row: inputs,
                a_step: tiles_step,
                b: &self.weights[begin + POINTS * inputs * first..],
                b_step: inputs * width,
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
                bias: &bias[first..],
                epilogue: target.epilogue,
                boards: &mut *target.boards,
                channels: outputs,
                first,
                pool: &mut *target.pool,
            });
        }
    }
}

fn pack_filters(kernels: Kernels, convolution: &weights::Convolution, to: &mut [f32]) {
    let (inputs, outputs) = (padded(convolution.inputs), padded(convolution.outputs));
    let filters: Vec<[f32; POINTS]> =
        convolution.weights.as_chunks::<9>().0.iter().map(transform_filter).collect();
    for first in (0..outputs).step_by(BLOCK) {
        let width = BLOCK.min(outputs - first);
        let block = &mut to[POINTS * inputs * first..][..POINTS * inputs * width];
        for (point, to) in block.chunks_exact_mut(inputs * width).enumerate() {
            let weight = |input: usize, output: usize| {
                let output = first + output;
                let inside = input < convolution.inputs && output < convolution.outputs;
                if inside { filters[output * convolution.inputs + input][point] } else { 0.0 }
            };
            pack(kernels.panel(), inputs, width, weight, to);
        }
    }
}

#[derive(Debug)]
pub(crate) struct FoldedConvolutions {
    tiles: Tiles,
    list: Vec<FoldedConvolution>,
    weights: Buffer<u16>,
}

#[derive(Debug)]
struct FoldedConvolution {
    outputs: usize,
    offsets: Vec<u32>,
    first: usize,
    bias: Buffer,
}

impl FoldedConvolutions {
    fn new(tiles: Tiles, convolutions: &[&weights::Convolution]) -> FoldedConvolutions {
        let length =
            |convolution: &weights::Convolution| 9 * stride(convolution.inputs) * stride(convolution.outputs);
        let mut weights = Buffer::zeros(convolutions.iter().copied().map(length).sum());
        let (mut list, mut first) = (Vec::new(), 0);
        for &convolution in convolutions {
            let offsets = folded_offsets(convolution.inputs);
            let to = &mut weights[first..][..length(convolution)];
            pack_right(to, offsets.len(), |step, k, output| {
                let (input, tap) = (step / 9 * TILE_DEPTH + k, step % 9);
                (input < convolution.inputs && output < convolution.outputs)
                    .then(|| convolution.weights[(output * convolution.inputs + input) * 9 + tap])
            });
            let bias = Buffer::padded(&convolution.bias, stride(convolution.outputs));
            list.push(FoldedConvolution { outputs: convolution.outputs, offsets, first, bias });
            first += length(convolution);
        }
        FoldedConvolutions { tiles, list, weights }
    }

    pub(crate) fn apply(
        &self,
        index: usize,
        kernels: Kernels,
        positions: usize,
        input: &[u16],
        output: FoldedOutput<'_>,
    ) {
        let convolution = &self.list[index];
        kernels.run(ConvolveFolded {
            tiles: self.tiles,
            positions,
            outputs: stride(convolution.outputs),
            offsets: &convolution.offsets,
            input,
            weights: &self.weights[convolution.first..],
            bias: &convolution.bias,
            output,
        });
    }
}
