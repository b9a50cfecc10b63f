//! The residual tower: input planes to the boards that the heads read.
//!
//! Its first convolution, from bit planes, adds the filters of the squares that are set, about 60 of 7,168.
//! Three things make it cheap. Planes of ones only depend on how close a square is to the edges: nine classes
//! of squares. A piece that stayed in place through several boards of the history is one addition of the
//! filters' sum. Sums over runs of boards are differences of prefix sums: two additions at most.

use super::convolution::{FoldedConvolutions, FoldedScratch, Target, WinogradConvolutions, WinogradScratch};
use super::layers::{Arithmetic, Boards, Buffer, Linear, padded, side_by_side, stride};
use crate::chess::Bitboard;
use crate::network::eval_slot::EvalSlot;
use crate::network::layers::{self, Activation};
use crate::network::planes::{InputPlanes, PLANES};
use zeitnot_kernels::{
    AddScaled, Apply, BOARD_SQUARES, BOARD_STRIDE, Epilogue, FinishStream, Fold, FoldedOutput, Kernels,
    Residual, ScaledResidual, Stamp, Stamps, Unfold, board_offset,
};

pub(crate) struct Tower {
    kernels: Kernels,
    pub(crate) filters: usize,
    first: FirstLayer,
    /// Two per block, then a policy's.
    convolutions: Convolutions,
    has_policy: bool,
    pub(super) units: Vec<Option<SqueezeExcite>>,
    activation: Activation,
}

enum Convolutions {
    /// Of boards, in fp32 or fixed point.
    Winograd(WinogradConvolutions),
    /// Of folded boards, in bf16.
    Folded(FoldedConvolutions),
}

enum ConvolutionScratch {
    Winograd(WinogradScratch),
    Folded(FoldedScratch),
}

pub(super) struct SqueezeExcite {
    squeeze: Linear,
    excite: Linear,
}

pub(crate) struct TowerScratch {
    boards: Boards,
    /// Outputs of a block's first convolution in fp32, in the end those of the policy's.
    pub(crate) inner: Boards,
    convolution: ConvolutionScratch,
    first: FirstScratch,
    gates: Gates,
}

struct FirstScratch {
    /// `[9][channels]`
    class_sums: Buffer,
    stamps: Vec<Stamp>,
}

struct Gates {
    squeezed: Buffer,
    /// `[positions][2][channels]`
    scale_shift: Buffer,
}

impl Tower {
    /// `policy` is a convolution that reads the output.
    pub(crate) fn new(
        arithmetic: Arithmetic,
        tower: &layers::Tower,
        policy: Option<&layers::Convolution>,
        activation: Activation,
    ) -> Tower {
        let kernels = arithmetic.kernels;
        let of_blocks = tower.blocks.iter().flat_map(|block| [&block.conv1, &block.conv2]);
        let convolutions: Vec<_> = of_blocks.chain(policy).collect();
        let channels = arithmetic.padded(tower.filters());
        let unit = |block: &layers::ResidualBlock| {
            block
                .se
                .as_ref()
                .map(|unit| SqueezeExcite::new(kernels, unit, channels, activation))
        };
        Tower {
            kernels,
            filters: tower.filters(),
            first: FirstLayer::new(&tower.input),
            convolutions: match arithmetic.tiles() {
                Some(tiles) => Convolutions::Folded(FoldedConvolutions::new((kernels, tiles), &convolutions)),
                None => {
                    Convolutions::Winograd(WinogradConvolutions::new(arithmetic, &convolutions, activation))
                }
            },
            has_policy: policy.is_some(),
            units: tower.blocks.iter().map(unit).collect(),
            activation,
        }
    }

    pub(crate) fn channels(&self) -> usize {
        self.first.channels
    }

    pub(crate) fn scratch(&self, positions: usize) -> TowerScratch {
        let channels = self.channels();
        let squeezed = self
            .units
            .iter()
            .flatten()
            .map(|unit| unit.squeeze.outputs)
            .max()
            .unwrap_or(0);
        TowerScratch {
            boards: Boards::zeros(positions, channels),
            inner: Boards::zeros(positions, channels),
            convolution: match &self.convolutions {
                Convolutions::Winograd(convolutions) => {
                    ConvolutionScratch::Winograd(convolutions.scratch(positions))
                }
                Convolutions::Folded(_) => {
                    ConvolutionScratch::Folded(FoldedScratch::new(positions, channels))
                }
            },
            first: FirstScratch {
                class_sums: Buffer::zeros(CLASSES * channels),
                stamps: Vec::new(),
            },
            gates: Gates {
                squeezed: Buffer::zeros(positions * squeezed),
                scale_shift: Buffer::zeros(positions * 2 * stride(channels)),
            },
        }
    }

    /// Returns the output, `[positions][10][10][channels]`.
    pub(crate) fn evaluate<'a>(&self, batch: &[EvalSlot], scratch: &'a mut TowerScratch) -> &'a [f32] {
        let (kernels, activation) = (self.kernels, self.activation);
        let positions = batch.len();
        let channels = self.channels();
        let blocks = self.units.len();
        let TowerScratch {
            boards,
            inner,
            convolution,
            first,
            gates,
        } = scratch;
        let size = (positions, channels);
        for (slot, board) in batch
            .iter()
            .zip(boards.numbers.chunks_exact_mut(BOARD_SQUARES * channels))
        {
            self.first.apply(kernels, &slot.planes, first, board);
        }
        boards.activate(kernels, activation, size);
        match (&self.convolutions, convolution) {
            (Convolutions::Winograd(convolutions), ConvolutionScratch::Winograd(scratch)) => {
                for (i, unit) in self.units.iter().enumerate() {
                    let boards = (positions, &mut *boards, &mut *inner);
                    self.evaluate_block((convolutions, i), unit.as_ref(), boards, gates, scratch);
                }
                if self.has_policy {
                    let input = (positions, &*boards);
                    let to = &mut scratch.tiles;
                    convolutions.activate(2 * blocks, input, inner, to);
                }
            }
            (Convolutions::Folded(convolutions), ConvolutionScratch::Folded(scratch)) => {
                let FoldedScratch {
                    boards: folded,
                    stream,
                    ..
                } = scratch;
                kernels.run(Fold {
                    positions,
                    channels,
                    boards: &boards.numbers,
                    stream,
                    folded,
                });
                for (i, unit) in self.units.iter().enumerate() {
                    self.evaluate_folded_block((convolutions, i), unit.as_ref(), positions, gates, scratch);
                }
                kernels.run(Unfold {
                    positions,
                    channels,
                    stream: &scratch.stream,
                    boards: &mut boards.numbers,
                });
                if self.has_policy {
                    let FoldedScratch {
                        boards: folded,
                        update,
                        pool,
                        ..
                    } = scratch;
                    let sums = FoldedOutput::Sums {
                        update: &mut *update,
                        pool,
                    };
                    convolutions.apply(2 * blocks, positions, folded, sums);
                    kernels.run(Unfold {
                        positions,
                        channels,
                        stream: update,
                        boards: &mut inner.numbers,
                    });
                    inner.activate(kernels, activation, size);
                }
            }
            _ => unreachable!("scratch and blocks are made for the same arithmetic"),
        }
        &boards.numbers[..positions * BOARD_SQUARES * channels]
    }

    fn evaluate_block(
        &self,
        (convolutions, index): (&WinogradConvolutions, usize),
        unit: Option<&SqueezeExcite>,
        (positions, boards, inner): (usize, &mut Boards, &mut Boards),
        gates: &mut Gates,
        scratch: &mut WinogradScratch,
    ) {
        let kernels = self.kernels;
        let channels = self.channels();
        let WinogradScratch { tiles, update, pool } = scratch;
        convolutions.activate(2 * index, (positions, boards), inner, tiles);
        let relu = self.activation == Activation::Relu;
        let inner = (positions, &*inner);
        if let Some(unit) = unit {
            let target = Target {
                boards: &mut *update,
                epilogue: Epilogue::Pool,
                pool: &mut *pool,
            };
            convolutions.apply(2 * index + 1, inner, target, tiles);
            unit.evaluate(positions, pool, gates);
            kernels.run(Residual {
                positions,
                channels,
                update: &update.numbers,
                scale_shift: &gates.scale_shift,
                boards: &mut boards.numbers,
                relu,
                largest: &mut boards.largest,
            });
        } else {
            let epilogue = if relu { Epilogue::AddRelu } else { Epilogue::Add };
            let target = Target {
                boards: &mut *boards,
                epilogue,
                pool: &mut [],
            };
            convolutions.apply(2 * index + 1, inner, target, tiles);
        }
        if !relu {
            boards.activate(kernels, self.activation, (positions, channels));
        }
    }

    fn evaluate_folded_block(
        &self,
        (convolutions, index): (&FoldedConvolutions, usize),
        unit: Option<&SqueezeExcite>,
        positions: usize,
        gates: &mut Gates,
        scratch: &mut FoldedScratch,
    ) {
        let kernels = self.kernels;
        let channels = stride(self.channels());
        let function = self.activation;
        let FoldedScratch {
            boards,
            inner,
            stream,
            update,
            pool,
        } = scratch;
        if function == Activation::Relu {
            convolutions.apply(2 * index, positions, boards, FoldedOutput::Relu(inner));
        } else {
            let sums = FoldedOutput::Sums {
                update: &mut *update,
                pool: &mut *pool,
            };
            convolutions.apply(2 * index, positions, boards, sums);
            let folded = &mut *inner;
            kernels.run(FinishStream {
                positions,
                channels,
                function,
                update,
                residual: None,
                folded,
            });
        }
        let sums = FoldedOutput::Sums {
            update: &mut *update,
            pool: &mut *pool,
        };
        convolutions.apply(2 * index + 1, positions, inner, sums);
        if let Some(unit) = unit {
            unit.evaluate(positions, pool, gates);
        } else {
            for gate in gates.scale_shift.chunks_exact_mut(2 * channels).take(positions) {
                let (scales, shifts) = gate.split_at_mut(channels);
                scales.fill(1.0);
                shifts.fill(0.0);
            }
        }
        let residual = Some(ScaledResidual {
            scale_shift: &gates.scale_shift,
            stream,
        });
        kernels.run(FinishStream {
            positions,
            channels,
            function,
            update,
            residual,
            folded: boards,
        });
    }
}

impl SqueezeExcite {
    /// Packs a unit for `channels`, including padding.
    fn new(
        kernels: Kernels,
        unit: &layers::SqueezeExcite,
        channels: usize,
        activation: Activation,
    ) -> SqueezeExcite {
        let mut squeeze = unit.squeeze.clone();
        // The unit reads sums over 64 squares, the file expects means.
        squeeze.weights.iter_mut().for_each(|weight| *weight /= 64.0);
        let squeeze = Linear::new(kernels, &squeeze, channels, activation);
        let excite = side_by_side(&[&unit.excite], 2, channels);
        let excite = Linear::new(kernels, &excite, squeeze.outputs, Activation::None);
        SqueezeExcite { squeeze, excite }
    }

    fn evaluate(&self, positions: usize, pool: &[f32], gates: &mut Gates) {
        self.squeeze.apply(positions, pool, &mut gates.squeezed);
        self.excite
            .apply(positions, &gates.squeezed, &mut gates.scale_shift);
        let channels = self.excite.outputs / 2;
        for scales in gates.scale_shift.chunks_exact_mut(2 * channels).take(positions) {
            self.excite.kernels.run(Apply {
                function: Activation::Sigmoid,
                values: &mut scales[..channels],
            });
        }
    }
}

const HISTORY: usize = 8;
/// Twelve of pieces, one of repetition.
const PLANES_PER_BOARD: usize = 13;
/// The first planes of a board.
const PIECES: usize = 12;
/// First, middle or last rank times first, middle or last file.
const CLASSES: usize = 9;

struct FirstLayer {
    channels: usize,
    /// `[112 + 12 * 8][3][3][channels]`: each plane's filter, mirrored. Then each piece's sums of filters
    /// from now back to each board of the history.
    stamps: Buffer,
    /// `[112][9][channels]`: what a plane of ones adds to each class of squares.
    classes: Buffer,
    bias: Buffer,
}

impl FirstLayer {
    fn new(convolution: &layers::Convolution) -> FirstLayer {
        let channels = padded(convolution.outputs);
        let weight = |plane: usize, tap: usize, channel: usize| {
            f64::from(convolution.weights[(channel * PLANES + plane) * 9 + tap])
        };
        let mut stamps = Buffer::zeros((PLANES + PIECES * HISTORY) * 9 * channels);
        let mut classes = Buffer::zeros(PLANES * CLASSES * channels);
        for channel in 0..convolution.outputs {
            for tap in 0..9 {
                let mut set = |entry: usize, weight: f64| {
                    stamps[(entry * 9 + 8 - tap) * channels + channel] = weight as f32;
                };
                for plane in 0..PLANES {
                    set(plane, weight(plane, tap, channel));
                }
                for piece in 0..PIECES {
                    let mut sum = 0.0;
                    for board in 0..HISTORY {
                        sum += weight(board * PLANES_PER_BOARD + piece, tap, channel);
                        set(prefix_entry(piece, board), sum);
                    }
                }
            }
            for plane in 0..PLANES {
                for class in 0..CLASSES {
                    let taps = (0..9).filter(|&tap| is_on_board(class, tap));
                    let sum: f64 = taps.map(|tap| weight(plane, tap, channel)).sum();
                    classes[(plane * CLASSES + class) * channels + channel] = sum as f32;
                }
            }
        }
        FirstLayer {
            channels,
            stamps,
            classes,
            bias: Buffer::padded(&convolution.bias, channels),
        }
    }

    /// Convolves `planes` into `board`, `[10][10][channels]`.
    fn apply(&self, kernels: Kernels, planes: &InputPlanes, scratch: &mut FirstScratch, board: &mut [f32]) {
        let channels = self.channels;
        let FirstScratch { class_sums, stamps } = scratch;
        self.sum_classes(kernels, planes, class_sums);
        for square in 0..64 {
            let to = board_offset(square, channels);
            let from = class_of(square) * channels;
            board[to..to + channels].copy_from_slice(&class_sums[from..from + channels]);
        }
        stamps.clear();
        for piece in 0..PIECES {
            add_piece(stamps, planes, piece);
        }
        for plane in (0..PLANES).filter(|&plane| is_other(plane) && planes.masks[plane] != u64::MAX) {
            add_squares(stamps, planes.masks[plane], plane, planes.values[plane]);
        }
        kernels.run(Stamps {
            channels,
            stamps,
            table: &self.stamps,
            board: &mut *board,
        });
        clear_border(board, channels);
    }

    /// The sum of the bias and the planes of ones, for each class of squares.
    fn sum_classes(&self, kernels: Kernels, planes: &InputPlanes, sums: &mut [f32]) {
        for sum in sums.chunks_exact_mut(self.channels) {
            sum.copy_from_slice(&self.bias);
        }
        for plane in (0..PLANES).filter(|&plane| is_other(plane) && planes.masks[plane] == u64::MAX) {
            let length = CLASSES * self.channels;
            let from = &self.classes[plane * length..][..length];
            kernels.run(AddScaled {
                to: &mut *sums,
                from,
                factor: planes.values[plane],
            });
        }
    }
}

fn add_piece(stamps: &mut Vec<Stamp>, planes: &InputPlanes, piece: usize) {
    let plane = |board: usize| board * PLANES_PER_BOARD + piece;
    let value = planes.values[piece];
    if (1..HISTORY).any(|board| planes.values[plane(board)] != value) {
        for plane in (0..HISTORY).map(plane) {
            add_squares(stamps, planes.masks[plane], plane, planes.values[plane]);
        }
        return;
    }
    let mut newer = 0;
    for board in 0..HISTORY {
        let mask = planes.masks[plane(board)];
        let older = if board + 1 < HISTORY {
            planes.masks[plane(board + 1)]
        } else {
            0
        };
        // The run ends here: add the sum from now on …
        add_squares(stamps, mask & !older, prefix_entry(piece, board), value);
        // … and subtract the boards newer than the run.
        if board > 0 {
            add_squares(stamps, mask & !newer, prefix_entry(piece, board - 1), -value);
        }
        newer = mask;
    }
}

fn add_squares(stamps: &mut Vec<Stamp>, mask: u64, entry: usize, factor: f32) {
    stamps.extend(squares(mask).map(|square| Stamp {
        square: square as u8,
        entry: entry as u16,
        factor,
    }));
}

/// The squares of a mask, a1 first.
pub(crate) fn squares(mask: u64) -> impl Iterator<Item = usize> {
    Bitboard(mask).into_iter().map(usize::from)
}

/// Repetitions, castling, en passant, side, rule 50, ones.
fn is_other(plane: usize) -> bool {
    plane >= PLANES_PER_BOARD * HISTORY || plane % PLANES_PER_BOARD >= PIECES
}

fn prefix_entry(piece: usize, board: usize) -> usize {
    PLANES + piece * HISTORY + board
}

/// 0 for the first rank or file, 2 for the last, 1 between.
fn edge(coordinate: usize) -> usize {
    match coordinate {
        0 => 0,
        7 => 2,
        _ => 1,
    }
}

fn class_of(square: usize) -> usize {
    edge(square / 8) * 3 + edge(square % 8)
}

/// Whether `tap` reaches a square of the board from squares of `class`.
fn is_on_board(class: usize, tap: usize) -> bool {
    let inside = |edge: usize, offset: usize| !(edge == 0 && offset == 0 || edge == 2 && offset == 2);
    inside(class / 3, tap / 3) && inside(class % 3, tap % 3)
}

fn clear_border(board: &mut [f32], channels: usize) {
    for (place, square) in board.chunks_exact_mut(channels).enumerate() {
        let (rank, file) = (place / BOARD_STRIDE, place % BOARD_STRIDE);
        if [rank, file].iter().any(|&at| at == 0 || at == 9) {
            square.fill(0.0);
        }
    }
}
