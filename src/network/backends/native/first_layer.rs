//! The first convolution, from bit planes: it adds up the filters of the squares that are set, about 60 of 7,168.
//!
//! Three things make it cheap. Planes that are one everywhere only depend on how close a square is to the edges: nine
//! classes of squares. A piece that stayed where it is through several boards of the history is one addition, of the
//! filters' sum. And the sums over runs of boards are differences of prefix sums: two additions at most.

use arrayvec::ArrayVec;

use super::buffer::Buffer;
use super::kernels::{AddScaled, BOARD_SQUARES, BOARD_STRIDE, Kernels, Stamp, Stamps, board_offset};
use super::linear::padded;
use crate::network::weights::Convolution;
use crate::network::{InputPlanes, PLANES};

/// Boards of the history in the input.
const HISTORY: usize = 8;
/// Planes of one board: twelve of pieces, one of repetition.
const PLANES_PER_BOARD: usize = 13;
/// Kinds of pieces: the first planes of a board.
const PIECES: usize = 12;
/// Classes of squares: first, middle or last rank times first, middle or last file.
const CLASSES: usize = 9;
/// Stamps that are handed to the kernel at once.
const STAMPS: usize = 128;

/// The first convolution, prepared for sparse planes.
#[derive(Debug)]
pub(super) struct FirstLayer {
    channels: usize,
    /// `[112 + 12 * 8][3][3][channels]`: the filter of each plane, mirrored; then for each piece the sums of its
    /// filters from now back to each board of the history.
    stamps: Buffer,
    /// `[112][9][channels]`: what a plane of ones adds to each class of squares.
    classes: Buffer,
    bias: Buffer,
}

/// Scratch of a [`FirstLayer`]: `[9][channels]`.
#[derive(Debug)]
pub(super) struct ClassSums(Buffer);

impl ClassSums {
    /// Makes scratch memory for a layer of `channels` padded channels.
    pub(super) fn new(channels: usize) -> ClassSums {
        ClassSums(Buffer::zeros(CLASSES * channels))
    }
}

impl FirstLayer {
    /// Prepares a 3×3 convolution of 112 planes.
    pub(super) fn new(convolution: &Convolution) -> FirstLayer {
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
        let mut bias = Buffer::zeros(channels);
        bias[..convolution.outputs].copy_from_slice(&convolution.bias);
        FirstLayer { channels, stamps, classes, bias }
    }

    /// Returns the padded outputs.
    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// Convolves `planes` into `board`, `[10][10][channels]`; no activation.
    pub(super) fn apply(
        &self,
        kernels: &dyn Kernels,
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

    /// Writes the sum of the bias and the planes of ones, for each class of squares, into `sums`.
    fn sum_classes(&self, kernels: &dyn Kernels, planes: &InputPlanes, sums: &mut [f32]) {
        for sum in sums.chunks_exact_mut(self.channels) {
            sum.copy_from_slice(&self.bias);
        }
        for plane in (0..PLANES).filter(|&plane| is_other(plane) && planes.masks[plane] == u64::MAX) {
            let length = CLASSES * self.channels;
            let from = &self.classes[plane * length..][..length];
            kernels.add_scaled(AddScaled { to: &mut *sums, from, factor: planes.values[plane] });
        }
    }
}

/// Stamps that wait to be added to a board.
struct Pending<'a> {
    layer: &'a FirstLayer,
    kernels: &'a dyn Kernels,
    board: &'a mut [f32],
    stamps: ArrayVec<Stamp, STAMPS>,
}

impl Pending<'_> {
    /// Adds a kind of piece on all boards of the history.
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
            // A run of boards ends here: all from now on …
            self.add_squares(mask & !older, prefix_entry(piece, board), value);
            // … but not those newer than the run.
            if board > 0 {
                self.add_squares(mask & !newer, prefix_entry(piece, board - 1), -value);
            }
            newer = mask;
        }
    }

    /// Adds `factor` times the table's `entry` around each square of `mask`.
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
        self.kernels.stamp(Stamps {
            channels: self.layer.channels,
            stamps: &self.stamps,
            table: &self.layer.stamps,
            board: &mut *self.board,
        });
        self.stamps.clear();
    }
}

/// Says whether `plane` is none of the pieces' planes: repetitions, castling, en passant, side, rule 50, ones.
fn is_other(plane: usize) -> bool {
    plane >= PLANES_PER_BOARD * HISTORY || plane % PLANES_PER_BOARD >= PIECES
}

/// Returns the entry of the sum of a piece's filters from now back to `board`.
fn prefix_entry(piece: usize, board: usize) -> usize {
    PLANES + piece * HISTORY + board
}

/// Returns 0 for the first of eight ranks or files, 2 for the last, 1 between.
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

/// Says whether the filter's `tap` sees a square of the board from squares of `class`.
fn is_on_board(class: usize, tap: usize) -> bool {
    let inside = |edge: usize, offset: usize| !(edge == 0 && offset == 0 || edge == 2 && offset == 2);
    inside(class / 3, tap / 3) && inside(class % 3, tap % 3)
}

/// Sets the squares around the 8×8 to 0.
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
