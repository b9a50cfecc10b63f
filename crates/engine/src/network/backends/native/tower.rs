//! The residual tower: input planes to the boards that the heads read.
//!
//! Its first convolution, from bit planes, adds the filters of the squares that are set, about 60 of 7,168.
//! Three things make it cheap. Planes of ones only depend on how close a square is to the edges: nine classes
//! of squares. A piece that stayed in place through several boards of the history is one addition of the
//! filters' sum. Sums over runs of boards are differences of prefix sums: two additions at most.

use arrayvec::ArrayVec;

use super::convolution::{
    self, Convolutions, FoldedConvolutions, FoldedScratch, Target, WinogradConvolutions, WinogradScratch,
};
use super::layers::{Arithmetic, Boards, Buffer, Linear, activate, activate_boards, padded, stride};
use crate::network::weights::{self, Activation, Dense};
use crate::network::{EvalSlot, InputPlanes, PLANES};
use zeitnot_kernels::{
    AddScaled, Apply, BOARD_SQUARES, BOARD_STRIDE, Epilogue, FinishStream, Fold, FoldedOutput, Kernels,
    Residual, ScaledResidual, Stamp, Stamps, Unfold, board_offset,
};

/// Residual blocks `act(x + se(conv2(act(conv1(x)))))` behind a first convolution.
#[derive(Debug)]
pub(crate) struct Tower {
    arithmetic: Arithmetic,
    filters: usize,
    first: FirstLayer,
    /// Two per block. Winograd's read and write boards, the others folded boards.
    convolutions: Convolutions,
    units: Vec<Option<SqueezeExcite>>,
    activation: Activation,
}

#[derive(Debug)]
struct SqueezeExcite {
    squeeze: Linear,
    excite: Linear,
}

#[derive(Debug)]
pub(crate) struct TowerScratch {
    /// `[positions][10][10][channels]`: the output.
    pub(crate) boards: Buffer,
    /// Outputs of a block's first convolution in fp32, free for heads afterwards.
    pub(crate) inner: Buffer,
    pub(crate) convolution: convolution::Scratch,
    class_sums: ClassSums,
    gates: Gates,
}

#[derive(Debug)]
struct Gates {
    squeezed: Buffer,
    /// `[positions][2][channels]`
    scale_shift: Buffer,
}

impl Tower {
    pub(crate) fn new(arithmetic: Arithmetic, tower: &weights::Tower, activation: Activation) -> Tower {
        let convolutions: Vec<_> =
            tower.blocks.iter().flat_map(|block| [&block.conv1, &block.conv2]).collect();
        let channels = arithmetic.padded(tower.filters());
        let unit = |block: &weights::ResidualBlock| {
            block.se.as_ref().map(|unit| SqueezeExcite::new(arithmetic.kernels, unit, channels))
        };
        Tower {
            arithmetic,
            filters: tower.filters(),
            first: FirstLayer::new(&tower.input),
            convolutions: Convolutions::new(arithmetic, &convolutions),
            units: tower.blocks.iter().map(unit).collect(),
            activation,
        }
    }

    pub(crate) fn filters(&self) -> usize {
        self.filters
    }

    pub(crate) fn blocks(&self) -> usize {
        self.units.len()
    }

    pub(crate) fn channels(&self) -> usize {
        self.first.channels()
    }

    pub(crate) fn scratch(&self, positions: usize) -> TowerScratch {
        let channels = self.channels();
        let boards = || Buffer::zeros(positions * BOARD_SQUARES * channels);
        let squeezed = self.units.iter().flatten().map(|unit| unit.squeeze.outputs).max().unwrap_or(0);
        TowerScratch {
            boards: boards(),
            inner: boards(),
            convolution: convolution::Scratch::new(positions, channels, self.arithmetic.tiles),
            class_sums: ClassSums::new(channels),
            gates: Gates {
                squeezed: Buffer::zeros(positions * squeezed),
                scale_shift: Buffer::zeros(positions * 2 * stride(channels)),
            },
        }
    }

    pub(crate) fn evaluate(&self, batch: &[EvalSlot], scratch: &mut TowerScratch) {
        let (kernels, channels) = (self.arithmetic.kernels, self.channels());
        let boards = scratch.boards.chunks_exact_mut(BOARD_SQUARES * channels);
        for (slot, board) in batch.iter().zip(boards) {
            self.first.apply(kernels, &slot.planes, &mut scratch.class_sums, board);
            activate_boards(kernels, self.activation, board, channels);
        }
        let TowerScratch { boards, inner, convolution, gates, .. } = scratch;
        match (&self.convolutions, convolution) {
            (Convolutions::Winograd(convolutions), convolution::Scratch::Winograd(scratch)) => {
                for (i, unit) in self.units.iter().enumerate() {
                    let boards = (batch.len(), &mut boards[..], &mut inner[..]);
                    self.evaluate_block((convolutions, i), unit.as_ref(), boards, gates, scratch);
                }
            }
            (Convolutions::Folded(convolutions), convolution::Scratch::Folded(scratch)) => {
                let FoldedScratch { boards: folded, stream, .. } = scratch;
                let positions = batch.len();
                kernels.run(Fold { positions, channels, boards, stream, folded });
                for (i, unit) in self.units.iter().enumerate() {
                    self.evaluate_folded_block((convolutions, i), unit.as_ref(), positions, gates, scratch);
                }
                kernels.run(Unfold { positions, channels, stream: &scratch.stream, boards });
            }
            _ => unreachable!("scratch and blocks are made for the same arithmetic"),
        }
    }

    fn evaluate_block(
        &self,
        (convolutions, index): (&WinogradConvolutions, usize),
        unit: Option<&SqueezeExcite>,
        (positions, boards, inner): (usize, &mut [f32], &mut [f32]),
        gates: &mut Gates,
        scratch: &mut WinogradScratch,
    ) {
        let (kernels, channels) = (self.arithmetic.kernels, self.channels());
        let WinogradScratch { transformed, update, pool } = scratch;
        let input = Boards { positions, boards };
        convolutions.activate(2 * index, kernels, self.activation, input, inner, transformed);
        let relu = self.activation == Activation::Relu;
        let inner = Boards { positions, boards: inner };
        if let Some(unit) = unit {
            let target = Target { boards: &mut *update, epilogue: Epilogue::Pool, pool: &mut *pool };
            convolutions.apply(2 * index + 1, kernels, inner, target, transformed);
            unit.evaluate(kernels, self.activation, positions, pool, gates);
            let scale_shift = &gates.scale_shift;
            kernels.run(Residual { positions, channels, update, scale_shift, boards, relu });
        } else {
            let epilogue = if relu { Epilogue::AddRelu } else { Epilogue::Add };
            let target = Target { boards, epilogue, pool: &mut [] };
            convolutions.apply(2 * index + 1, kernels, inner, target, transformed);
        }
        if !relu {
            let boards = &mut boards[..positions * BOARD_SQUARES * channels];
            activate_boards(kernels, self.activation, boards, channels);
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
        let (kernels, channels) = (self.arithmetic.kernels, stride(self.channels()));
        let function = self.activation;
        let FoldedScratch { boards, inner, stream, update, pool } = scratch;
        if function == Activation::Relu {
            convolutions.apply(2 * index, kernels, positions, boards, FoldedOutput::Relu(inner));
        } else {
            let sums = FoldedOutput::Sums { update: &mut *update, pool: &mut *pool };
            convolutions.apply(2 * index, kernels, positions, boards, sums);
            let folded = &mut *inner;
            kernels.run(FinishStream { positions, channels, function, update, residual: None, folded });
        }
        let sums = FoldedOutput::Sums { update: &mut *update, pool: &mut *pool };
        convolutions.apply(2 * index + 1, kernels, positions, inner, sums);
        if let Some(unit) = unit {
            unit.evaluate(kernels, self.activation, positions, pool, gates);
        } else {
            for gate in gates.scale_shift.chunks_exact_mut(2 * channels).take(positions) {
                let (scales, shifts) = gate.split_at_mut(channels);
                scales.fill(1.0);
                shifts.fill(0.0);
            }
        }
        let residual = Some(ScaledResidual { scale_shift: &gates.scale_shift, stream });
        kernels.run(FinishStream { positions, channels, function, update, residual, folded: boards });
    }
}

impl SqueezeExcite {
    /// Packs a unit for `channels`, including padding.
    fn new(kernels: Kernels, unit: &weights::SqueezeExcite, channels: usize) -> SqueezeExcite {
        let mut squeeze = unit.squeeze.clone();
        // The unit reads sums over 64 squares, the file expects means.
        squeeze.weights.iter_mut().for_each(|weight| *weight /= 64.0);
        let source = |input: usize| (input < squeeze.inputs).then_some(input);
        SqueezeExcite {
            squeeze: Linear::new(kernels, &squeeze, channels, source),
            excite: Linear::plain(kernels, &pad_halves(&unit.excite, channels)),
        }
    }

    fn evaluate(
        &self,
        kernels: Kernels,
        activation: Activation,
        positions: usize,
        pool: &[f32],
        gates: &mut Gates,
    ) {
        let squeezed = &mut gates.squeezed[..positions * self.squeeze.outputs];
        self.squeeze.apply(kernels, positions, pool, squeezed);
        activate(kernels, activation, squeezed);
        self.excite.apply(kernels, positions, squeezed, &mut gates.scale_shift);
        let channels = self.excite.outputs / 2;
        for scales in gates.scale_shift.chunks_exact_mut(2 * channels).take(positions) {
            kernels.run(Apply { function: Activation::Sigmoid, values: &mut scales[..channels] });
        }
    }
}

fn pad_halves(dense: &Dense, channels: usize) -> Dense {
    let (half, inputs) = (dense.outputs / 2, dense.inputs);
    let outputs = 2 * channels;
    let mut result =
        Dense { inputs, outputs, weights: vec![0.0; outputs * inputs], bias: vec![0.0; outputs] };
    for (from, to) in [(0, 0), (half, channels)] {
        result.bias[to..to + half].copy_from_slice(&dense.bias[from..from + half]);
        result.weights[to * inputs..(to + half) * inputs]
            .copy_from_slice(&dense.weights[from * inputs..(from + half) * inputs]);
    }
    result
}

const HISTORY: usize = 8;
/// Twelve of pieces, one of repetition.
const PLANES_PER_BOARD: usize = 13;
/// Kinds of pieces: the first planes of a board.
const PIECES: usize = 12;
/// First, middle or last rank times first, middle or last file.
const CLASSES: usize = 9;
const STAMPS: usize = 128;

#[derive(Debug)]
pub(crate) struct FirstLayer {
    channels: usize,
    /// `[112 + 12 * 8][3][3][channels]`: each plane's filter, mirrored. Then each piece's sums of filters
    /// from now back to each board of the history.
    stamps: Buffer,
    /// `[112][9][channels]`: what a plane of ones adds to each class of squares.
    classes: Buffer,
    bias: Buffer,
}

/// Scratch of a [`FirstLayer`], `[9][channels]`.
#[derive(Debug)]
pub(crate) struct ClassSums(Buffer);

impl ClassSums {
    pub(crate) fn new(channels: usize) -> ClassSums {
        ClassSums(Buffer::zeros(CLASSES * channels))
    }
}

impl FirstLayer {
    pub(crate) fn new(convolution: &weights::Convolution) -> FirstLayer {
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
        FirstLayer { channels, stamps, classes, bias: Buffer::padded(&convolution.bias, channels) }
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    /// Convolves `planes` into `board`, `[10][10][channels]`.
    pub(crate) fn apply(
        &self,
        kernels: Kernels,
        planes: &InputPlanes,
        sums: &mut ClassSums,
        board: &mut [f32],
    ) {
        self.sum_classes(kernels, planes, &mut sums.0);
        for square in 0..64 {
            let to = board_offset(square, self.channels);
            let from = class_of(square) * self.channels;
            board[to..to + self.channels].copy_from_slice(&sums.0[from..from + self.channels]);
        }
        let mut pending = Pending { layer: self, kernels, board, stamps: ArrayVec::new() };
        for piece in 0..PIECES {
            pending.add_piece(planes, piece);
        }
        for plane in (0..PLANES).filter(|&plane| is_other(plane)) {
            if planes.masks[plane] != u64::MAX {
                pending.add_squares(planes.masks[plane], plane, planes.values[plane]);
            }
        }
        pending.flush();
        clear_border(board, self.channels);
    }

    /// The sum of the bias and the planes of ones, for each class of squares.
    fn sum_classes(&self, kernels: Kernels, planes: &InputPlanes, sums: &mut [f32]) {
        for sum in sums.chunks_exact_mut(self.channels) {
            sum.copy_from_slice(&self.bias);
        }
        for plane in (0..PLANES).filter(|&plane| is_other(plane) && planes.masks[plane] == u64::MAX) {
            let length = CLASSES * self.channels;
            let from = &self.classes[plane * length..][..length];
            kernels.run(AddScaled { to: &mut *sums, from, factor: planes.values[plane] });
        }
    }
}

struct Pending<'a> {
    layer: &'a FirstLayer,
    kernels: Kernels,
    board: &'a mut [f32],
    stamps: ArrayVec<Stamp, STAMPS>,
}

impl Pending<'_> {
    fn add_piece(&mut self, planes: &InputPlanes, piece: usize) {
        let plane = |board: usize| board * PLANES_PER_BOARD + piece;
        let value = planes.values[piece];
        if (1..HISTORY).any(|board| planes.values[plane(board)] != value) {
            for board in 0..HISTORY {
                self.add_squares(planes.masks[plane(board)], plane(board), planes.values[plane(board)]);
            }
            return;
        }
        let mut newer = 0;
        for board in 0..HISTORY {
            let mask = planes.masks[plane(board)];
            let older = if board + 1 < HISTORY { planes.masks[plane(board + 1)] } else { 0 };
            // The run ends here: add the sum from now on …
            self.add_squares(mask & !older, prefix_entry(piece, board), value);
            // … and subtract the boards newer than the run.
            if board > 0 {
                self.add_squares(mask & !newer, prefix_entry(piece, board - 1), -value);
            }
            newer = mask;
        }
    }

    fn add_squares(&mut self, mut mask: u64, entry: usize, factor: f32) {
        while mask != 0 {
            let square = mask.trailing_zeros() as u8;
            mask &= mask - 1;
            if self.stamps.is_full() {
                self.flush();
            }
            self.stamps.push(Stamp { square, entry: entry as u16, factor });
        }
    }

    fn flush(&mut self) {
        self.kernels.run(Stamps {
            channels: self.layer.channels,
            stamps: &self.stamps,
            table: &self.layer.stamps,
            board: &mut *self.board,
        });
        self.stamps.clear();
    }
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
    let row = BOARD_STRIDE * channels;
    let (first, rest) = board[..BOARD_SQUARES * channels].split_at_mut(row);
    let (middle, last) = rest.split_at_mut(8 * row);
    first.fill(0.0);
    last.fill(0.0);
    for rank in middle.chunks_exact_mut(row) {
        rank[..channels].fill(0.0);
        rank[9 * channels..].fill(0.0);
    }
}
