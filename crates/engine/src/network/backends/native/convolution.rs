//! 3×3 convolutions of boards: by Winograd's algorithm in fp32 or fixed point, or directly in bf16 where the
//! CPU has matrix tiles.

use super::layers::{Arithmetic, Boards, Buffer, Precision, pack, padded, stride};
use crate::network::layers::{self, Activation};
use zeitnot_kernels::{
    ConvolveFolded, Epilogue, FixedProduct, FixedScales, FixedSums, FoldedOutput, InputTransform, Kernels,
    OutputTransform, POINTS, Product, TILE_DEPTH, TILES, Tiles, Transformed, folded_length, folded_offsets,
    pack_fixed_filters, pack_right, point_factors, stream_length, transform_filter,
};

/// Outputs computed together, so that their products stay in the cache.
const BLOCK: usize = 64;
/// Extra numbers between the matrices of two points: else a tile's 36 addresses share a few lines of the L1
/// cache.
const SKEW: usize = 16;

pub(crate) struct WinogradScratch {
    pub(crate) tiles: TileScratch,
    /// Outputs of a block's second convolution.
    pub(crate) update: Boards,
    pub(crate) pool: Buffer,
}

pub(crate) struct TileScratch {
    /// For one of the two kinds of weights.
    single: Buffer,
    fixed: Buffer<i16>,
    products: Buffer,
}

pub(crate) struct FoldedScratch {
    pub(crate) boards: Buffer<u16>,
    pub(crate) inner: Buffer<u16>,
    pub(crate) stream: Buffer,
    pub(crate) update: Buffer,
    pub(crate) pool: Buffer,
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
    pub(crate) boards: &'a mut Boards,
    pub(crate) epilogue: Epilogue,
    /// Sums for [`Epilogue::Pool`], `[positions][outputs]`, else empty.
    pub(crate) pool: &'a mut [f32],
}

/// Convolutions with as many inputs as outputs. The weights lie one after the other, so that they share huge
/// pages and the next ones can be fetched.
pub(crate) struct WinogradConvolutions {
    kernels: Kernels,
    /// Before and after each of them.
    activation: Activation,
    channels: usize,
    weights: Filters,
    biases: Vec<Buffer>,
}

/// Per convolution and block of outputs, `[36][inputs][outputs of the block]`, packed.
enum Filters {
    Single(Buffer),
    Fixed {
        weights: Buffer<i16>,
        /// `[convolutions][channels]`
        scales: Vec<f32>,
        factors: [f32; POINTS],
    },
}

impl WinogradConvolutions {
    pub(crate) fn scratch(&self, positions: usize) -> WinogradScratch {
        let rows = positions * TILES;
        let length = |width: usize| POINTS * (rows * width + SKEW);
        let (single, fixed) = match self.weights {
            Filters::Single(_) => (length(self.channels), 0),
            Filters::Fixed { .. } => (0, length(self.channels)),
        };
        WinogradScratch {
            tiles: TileScratch {
                single: Buffer::in_small_pages(single),
                fixed: Buffer::in_small_pages(fixed),
                products: Buffer::in_small_pages(length(BLOCK)),
            },
            update: Boards::zeros(positions, self.channels),
            pool: Buffer::zeros(positions * self.channels),
        }
    }

    pub(crate) fn new(
        arithmetic: Arithmetic,
        convolutions: &[&layers::Convolution],
        activation: Activation,
    ) -> WinogradConvolutions {
        let channels = convolutions.first().map_or(0, |first| padded(first.outputs));
        let bias = |convolution: &&layers::Convolution| Buffer::padded(&convolution.bias, channels);
        WinogradConvolutions {
            kernels: arithmetic.kernels,
            activation,
            channels,
            weights: match arithmetic.precision {
                Precision::Fixed => Filters::fixed(convolutions, channels, activation),
                Precision::Single | Precision::Half(_) => {
                    Filters::single(arithmetic.kernels, convolutions, channels)
                }
            },
            biases: convolutions.iter().map(bias).collect(),
        }
    }

    pub(crate) fn activate(
        &self,
        index: usize,
        (positions, input): (usize, &Boards),
        output: &mut Boards,
        scratch: &mut TileScratch,
    ) {
        let relu = self.activation == Activation::Relu;
        let epilogue = if relu { Epilogue::Relu } else { Epilogue::Store };
        let target = Target {
            boards: &mut *output,
            epilogue,
            pool: &mut [],
        };
        self.apply(index, (positions, input), target, scratch);
        if !relu {
            output.activate(self.kernels, self.activation, (positions, self.channels));
        }
    }

    pub(crate) fn apply(
        &self,
        index: usize,
        (positions, input): (usize, &Boards),
        target: Target<'_>,
        scratch: &mut TileScratch,
    ) {
        let (kernels, channels) = (self.kernels, self.channels);
        let rows = positions * TILES;
        let tiles_step = rows * channels + SKEW;
        let tiles = match &self.weights {
            Filters::Single(_) => Transformed::Single(&mut scratch.single),
            Filters::Fixed { factors, .. } => Transformed::Fixed {
                tiles: &mut scratch.fixed,
                factors,
                largest: &input.largest,
            },
        };
        kernels.run(InputTransform {
            positions,
            channels,
            boards: &input.numbers,
            tiles,
            step: tiles_step,
        });
        target.boards.largest.fill(0.0);
        for first in (0..channels).step_by(BLOCK) {
            let width = BLOCK.min(channels - first);
            let products_step = rows * width + SKEW;
            let of_block = POINTS * channels * (index * channels + first);
            let fixed = match &self.weights {
                Filters::Single(weights) => {
                    kernels.run(Product {
                        count: POINTS,
                        rows,
                        inner: channels,
                        width,
                        a: &scratch.single,
                        a_row: channels,
                        a_step: tiles_step,
                        b: &weights[of_block..],
                        b_step: channels * width,
                        c: &mut scratch.products,
                        c_row: width,
                        c_step: products_step,
                        ..Product::default()
                    });
                    None
                }
                Filters::Fixed { weights, scales, .. } => {
                    kernels.run(FixedProduct {
                        count: POINTS,
                        rows,
                        inner: channels,
                        width,
                        a: &scratch.fixed,
                        a_row: channels,
                        a_step: tiles_step,
                        b: &weights[of_block..],
                        b_step: channels * width,
                        c: FixedSums::Parts(&mut scratch.products),
                        c_row: width,
                        c_step: products_step,
                    });
                    Some(FixedScales {
                        channels: &scales[index * channels + first..],
                        boards: &input.largest,
                    })
                }
            };
            kernels.run(OutputTransform {
                positions,
                width,
                products: &scratch.products,
                step: products_step,
                fixed,
                bias: &self.biases[index][first..],
                epilogue: target.epilogue,
                boards: &mut target.boards.numbers,
                channels,
                first,
                pool: &mut *target.pool,
                reached: &mut target.boards.largest,
            });
        }
    }
}

impl Filters {
    fn single(kernels: Kernels, convolutions: &[&layers::Convolution], channels: usize) -> Filters {
        let length = POINTS * channels * channels;
        let mut weights = Buffer::zeros(convolutions.len() * length);
        for (convolution, to) in convolutions.iter().zip(weights.chunks_exact_mut(length.max(1))) {
            let filters: Vec<_> = convolution
                .weights
                .as_chunks()
                .0
                .iter()
                .map(transform_filter)
                .collect();
            let weight = |point: usize, input: usize, output: usize| {
                let place = place_of(convolution, input, output);
                place.map_or(0.0, |place| filters[place][point])
            };
            for first in (0..channels).step_by(BLOCK) {
                let width = BLOCK.min(channels - first);
                let block = &mut to[POINTS * channels * first..][..POINTS * channels * width];
                for (point, to) in block.chunks_exact_mut(channels * width).enumerate() {
                    let weight = |input, output| weight(point, input, first + output);
                    pack(kernels.panel(), channels, width, weight, to);
                }
            }
        }
        Filters::Single(weights)
    }

    fn fixed(convolutions: &[&layers::Convolution], channels: usize, activation: Activation) -> Filters {
        let signed = activation != Activation::Relu;
        let length = POINTS * channels * channels;
        let mut weights: Buffer<i16> = Buffer::zeros(convolutions.len() * length);
        let mut scales = Vec::new();
        for (convolution, to) in convolutions.iter().zip(weights.chunks_exact_mut(length.max(1))) {
            for first in (0..channels).step_by(BLOCK) {
                let size = (channels, BLOCK.min(channels - first));
                let filter = |input: usize, output: usize| {
                    place_of(convolution, input, first + output).map_or([0.0; POINTS], |place| {
                        transform_filter(&convolution.weights.as_chunks().0[place])
                    })
                };
                let to = &mut to[POINTS * channels * first..];
                scales.extend(pack_fixed_filters(size, signed, filter, to));
            }
        }
        Filters::Fixed {
            weights,
            scales,
            factors: point_factors(signed),
        }
    }
}

/// The number of a filter, `None` in the padding.
fn place_of(convolution: &layers::Convolution, input: usize, output: usize) -> Option<usize> {
    let inside = input < convolution.inputs && output < convolution.outputs;
    inside.then(|| output * convolution.inputs + input)
}

/// Convolutions of folded boards, in bf16.
pub(crate) struct FoldedConvolutions {
    kernels: Kernels,
    tiles: Tiles,
    outputs: usize,
    offsets: Vec<u32>,
    weights: Buffer<u16>,
    biases: Vec<Buffer>,
}

impl FoldedConvolutions {
    pub(crate) fn new(
        (kernels, tiles): (Kernels, Tiles),
        convolutions: &[&layers::Convolution],
    ) -> FoldedConvolutions {
        let channels = convolutions.first().map_or(0, |first| first.outputs);
        let (offsets, outputs) = (folded_offsets(channels), stride(channels));
        let length = 9 * outputs * outputs;
        let mut weights = Buffer::zeros(convolutions.len() * length);
        for (convolution, to) in convolutions.iter().zip(weights.chunks_exact_mut(length.max(1))) {
            pack_right(to, offsets.len(), |step, k, output| {
                let place = place_of(convolution, step / 9 * TILE_DEPTH + k, output);
                place.map_or(0.0, |place| convolution.weights[place * 9 + step % 9])
            });
        }
        let bias = |convolution: &&layers::Convolution| Buffer::padded(&convolution.bias, outputs);
        let biases = convolutions.iter().map(bias).collect();
        FoldedConvolutions {
            kernels,
            tiles,
            outputs,
            offsets,
            weights,
            biases,
        }
    }

    pub(crate) fn apply(&self, index: usize, positions: usize, input: &[u16], output: FoldedOutput<'_>) {
        self.kernels.run(ConvolveFolded {
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
