//! 3×3 convolutions and dense layers in bf16 as products of matrices, for CPUs that multiply tiles of matrices.
//!
//! [`Round`](super::Round) makes the left operands of dense layers. For convolutions [`Spread`] writes a board as three
//! copies, each shifted by a file, so that for every tap of a filter the 64 squares' inputs lie one after the other;
//! then a convolution is the sum of plain products ([`TileProduct`]), and [`Collect`] brings the sums back to a board.
//! [`Tiles`] multiplies.

use std::fmt::Debug;

use half::bf16;

use super::epilogue::{Epilogue, finish, with_flags};
use super::simd::Simd;
use super::{BOARD_SQUARES, BOARD_STRIDE, board_offset, extent};

/// bf16 numbers in a row of a tile; also the outputs that are computed together.
pub(in super::super) const TILE_DEPTH: usize = 32;
/// Rows that are computed together at most.
pub(in super::super) const ROW_STEP: usize = 32;
/// Squares of a spread copy: ten ranks of eight files.
pub(in super::super) const SPREAD_SQUARES: usize = 80;
/// Squares from one rank to the next in a spread copy.
pub(in super::super) const SPREAD_STRIDE: usize = 8;
/// Copies of a spread board: a filter's files.
const COPIES: usize = 3;

/// Returns the length of a spread board of `channels`.
pub(in super::super) fn spread_length(channels: usize) -> usize {
    COPIES * channels.div_ceil(TILE_DEPTH) * SPREAD_SQUARES * TILE_DEPTH
}

/// Turns boards into bf16: `spread[position][x][channel / 32][rank + 1][file][channel % 32]` is the board's number at
/// the square's rank and `file + x - 1`.
///
/// Only squares of the board are written: the places of squares beyond its edges must be 0 before.
#[derive(Debug)]
pub(in super::super) struct Spread<'a> {
    /// Number of boards.
    pub(in super::super) positions: usize,
    /// Channels of the boards.
    pub(in super::super) channels: usize,
    /// `[positions][10][10][channels]`
    pub(in super::super) boards: &'a [f32],
    /// `[positions][`[`spread_length`]`]`, bits of bf16.
    pub(in super::super) spread: &'a mut [u16],
}

impl Spread<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.boards.len() >= extent(self.positions, board, board));
        // A spread board is longer than a board, but not ten times: no overflow where the board did not.
        let spread = spread_length(self.channels);
        assert!(self.spread.len() >= extent(self.positions, spread, spread));
    }
}

/// Computes products of spread boards, or of blocks of 64 rows, and packed weights: for each position
/// `c[square][column] = Σ over steps s and k < 32 of a[offsets[s] + square * 32 + k] * b(s, k, column)`.
#[derive(Debug)]
pub(in super::super) struct TileProduct<'a> {
    /// Number of spread boards, or of blocks of rows.
    pub(in super::super) positions: usize,
    /// Rows that are wanted of each: 64, or fewer if there is only one block. Rows beyond them are undefined.
    pub(in super::super) rows: usize,
    /// Columns of `c`, a multiple of 32.
    pub(in super::super) width: usize,
    /// The places where each step's left operand begins; at least one step.
    pub(in super::super) offsets: &'a [u32],
    /// Left operands, bits of bf16.
    pub(in super::super) a: &'a [u16],
    /// Numbers from one position of `a` to the next.
    pub(in super::super) a_step: usize,
    /// Right operands, bits of bf16: `[width / 32][steps][2][16][16][2]`, that is 32 columns as two tiles of 16, whose
    /// rows hold two `k` for each column.
    pub(in super::super) b: &'a [u16],
    /// `[positions][64][width]`; with fewer rows there must be room for a multiple of [`ROW_STEP`].
    pub(in super::super) c: &'a mut [f32],
}

impl TileProduct<'_> {
    /// Panics unless all operands are as long as the product needs.
    pub(super) fn check(&self) {
        let furthest = self.offsets.iter().max().expect("a product has a step");
        let last = (*furthest as usize).checked_add(64 * TILE_DEPTH).expect("fits");
        assert!(self.a.len() >= extent(self.positions, self.a_step, last));
        assert!(self.width.is_multiple_of(TILE_DEPTH));
        let columns = self.offsets.len().checked_mul(TILE_DEPTH).expect("fits");
        assert!(self.b.len() >= columns.checked_mul(self.width).expect("fits"));
        assert!(self.rows == 64 || self.rows < 64 && self.positions == 1);
        let sums = self.width.checked_mul(self.rows.next_multiple_of(ROW_STEP)).expect("fits");
        assert!(self.c.len() >= extent(self.positions, sums, sums));
    }
}

/// A CPU's unit for products of bf16 matrices.
pub(in super::super) trait Tiles: Send + Sync + Debug {
    /// Returns the name as in the option `kernel=`.
    fn name(&self) -> &'static str;

    /// Says whether a convolution this way is faster than Winograd's in fp32; dense layers always are.
    fn outruns_winograd(&self) -> bool;

    /// Computes a [`TileProduct`].
    fn multiply(&self, job: TileProduct<'_>);
}

/// The definition of a [`TileProduct`], in plain loops, against which real tiles are checked.
// Only AMX checks itself by it outside of tests.
#[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), allow(dead_code))]
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Definition;

impl Tiles for Definition {
    fn name(&self) -> &'static str {
        "definition"
    }

    fn outruns_winograd(&self) -> bool {
        false
    }

    fn multiply(&self, job: TileProduct<'_>) {
        job.check();
        let steps = job.offsets.len();
        for (position, c) in job.c.chunks_mut(64 * job.width).take(job.positions).enumerate() {
            for (i, sum) in c.iter_mut().enumerate().take(job.rows * job.width) {
                let (square, column) = (i / job.width, i % job.width);
                let (block, half, column) = (column / 32, column / 16 % 2, column % 16);
                *sum = 0.0;
                for (s, &offset) in job.offsets.iter().enumerate() {
                    let a =
                        &job.a[position * job.a_step + offset as usize + square * TILE_DEPTH..][..TILE_DEPTH];
                    let b = &job.b[((block * steps + s) * 2 + half) * 512..][..512];
                    for (k, &a) in a.iter().enumerate() {
                        let b = b[k / 2 * 32 + column * 2 + k % 2];
                        *sum += bf16::from_bits(a).to_f32() * bf16::from_bits(b).to_f32();
                    }
                }
            }
        }
    }
}

/// Turns sums of a [`TileProduct`] into boards.
#[derive(Debug)]
pub(in super::super) struct Collect<'a> {
    /// Number of boards.
    pub(in super::super) positions: usize,
    /// Channels of the boards.
    pub(in super::super) channels: usize,
    /// `[positions][64][width]`
    pub(in super::super) sums: &'a [f32],
    /// Columns of `sums`, at least as many as channels.
    pub(in super::super) width: usize,
    /// The numbers that are added to each output, `[channels]`.
    pub(in super::super) bias: &'a [f32],
    /// The operation on the outputs.
    pub(in super::super) epilogue: Epilogue,
    /// `[positions][10][10][channels]`
    pub(in super::super) boards: &'a mut [f32],
    /// The sums for [`Epilogue::Pool`], `[positions][channels]`; else unused.
    pub(in super::super) pool: &'a mut [f32],
}

impl Collect<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes) && self.width >= self.channels);
        let sums = self.width.checked_mul(64).expect("fits");
        assert!(self.sums.len() >= extent(self.positions, sums, sums));
        assert!(self.bias.len() >= self.channels);
        assert!(self.boards.len() >= extent(self.positions, board, board));
        if self.epilogue == Epilogue::Pool {
            assert!(self.pool.len() >= extent(self.positions, self.channels, self.channels));
        }
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn spread<S: Simd>(simd: S, job: Spread<'_>) {
    let (channels, blocks) = (job.channels, job.channels.div_ceil(TILE_DEPTH));
    for (position, square) in
        (0..job.positions).flat_map(|position| (0..64).map(move |square| (position, square)))
    {
        let from = position * BOARD_SQUARES * channels + board_offset(square, channels);
        let row = (square / 8 + 1) * SPREAD_STRIDE + square % 8;
        for channel in (0..channels).step_by(S::LANES) {
            // SAFETY: the check covers these boards; a copy's row lies on the same rank as the square.
            unsafe {
                let v = simd.load(job.boards.as_ptr().add(from + channel));
                let to =
                    job.spread.as_mut_ptr().add(position * spread_length(channels) + channel % TILE_DEPTH);
                let block = channel / TILE_DEPTH;
                let at = |x: usize, row: usize| ((x * blocks + block) * SPREAD_SQUARES + row) * TILE_DEPTH;
                if square % 8 < 7 {
                    simd.store_bf16(to.add(at(0, row + 1)), v);
                }
                simd.store_bf16(to.add(at(1, row)), v);
                if square % 8 > 0 {
                    simd.store_bf16(to.add(at(2, row - 1)), v);
                }
            }
        }
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn collect<S: Simd>(simd: S, job: Collect<'_>) {
    // SAFETY: the caller's.
    unsafe { with_flags!(job.epilogue, collect_with::<S>(simd, job)) }
}

/// Computes `job` with the epilogue that the flags say.
///
/// # Safety
/// `job` must have passed its check; `POOL` only with [`Epilogue::Pool`].
#[inline(always)]
unsafe fn collect_with<S: Simd, const ADD: bool, const RELU: bool, const POOL: bool>(
    simd: S,
    job: Collect<'_>,
) {
    let channels = job.channels;
    for position in 0..job.positions {
        for channel in (0..channels).step_by(S::LANES) {
            // SAFETY: the check covers these sums, biases, boards and pools.
            unsafe {
                let bias = simd.load(job.bias.as_ptr().add(channel));
                let mut pool = simd.zero();
                for rank in 0..8 {
                    let from = job.sums.as_ptr().add((position * 64 + rank * 8) * job.width + channel);
                    let board = (position * BOARD_SQUARES + (rank + 1) * BOARD_STRIDE + 1) * channels;
                    let to = job.boards.as_mut_ptr().add(board + channel);
                    for file in 0..8 {
                        let to = to.add(file * channels);
                        let v = simd.add(simd.load(from.add(file * job.width)), bias);
                        finish::<S, ADD, RELU, POOL>(simd, v, to, &mut pool);
                    }
                }
                if POOL {
                    simd.store(job.pool.as_mut_ptr().add(position * channels + channel), pool);
                }
            }
        }
    }
}
