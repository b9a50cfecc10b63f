//! Towers of 3×3 convolutions in bf16, for CPUs that multiply tiles of matrices.
//!
//! **Folded boards.** The two halves of a board, four ranks each, lie interleaved: `[channel / 32][6
//! ranks][10 files][2 halves][channel % 32]` in bf16, with a border of zeros, and the rank of the other half
//! where the halves meet. So for every tap of a filter a rank of both halves is a tile of 16 rows without
//! copying, and tiles are full even for one position. Channels are padded to a multiple of 32.
//!
//! **Streams** stay in fp32 between convolutions: `[channel / 32][64][channel % 32]`, in the same order
//! without a border: by rank within a half, then file, then half.

use std::ops::Range;
use std::ptr;

use super::activation::Activation;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::amx;
use super::elementwise;
use super::kernels::Job;
use super::operands::{Ahead, MATRIX, Sums, TILE_DEPTH, UNIT_ROWS};
use super::simd::Simd;
use super::sizes::{BOARD_SQUARES, board_offset, extent};
use super::tiles::Tiles;

/// Files of a half with its border.
const FILES: usize = 10;
/// bf16 numbers of a rank of both halves.
const RANK: usize = FILES * 2 * TILE_DEPTH;
/// bf16 numbers of 32 channels of a folded board: four ranks and one beyond each end.
const FOLDED: usize = 6 * RANK;
const STREAM: usize = 64 * TILE_DEPTH;
/// Rows of sums computed together: two ranks of both halves.
const ROWS: usize = 32;
/// A step reads this range of a folded board.
const ROWS_READ: usize = RANK + ROWS / 2 * TILE_DEPTH;
/// Weights multiplied with all positions before the next: they stay in the L2 cache. Twice as
/// many were 5 to 15 % slower (Sapphire Rapids).
const CHUNK: usize = (295 << 10) / size_of::<u16>();

pub fn folded_length(channels: usize) -> usize {
    channels.div_ceil(TILE_DEPTH) * FOLDED
}

pub fn stream_length(channels: usize) -> usize {
    channels.div_ceil(TILE_DEPTH) * STREAM
}

/// Each step's left operand begins here: nine taps for each 32 channels.
pub fn folded_offsets(channels: usize) -> Vec<u32> {
    let place = |step: usize| step / 9 * FOLDED + step % 9 / 3 * RANK + step % 3 * 2 * TILE_DEPTH;
    (0..channels.div_ceil(TILE_DEPTH) * 9)
        .map(|step| place(step) as u32)
        .collect()
}

/// The row of a stream for a square of `0..64`.
fn row_of(square: usize) -> usize {
    let (rank, file) = (square / 8, square % 8);
    rank % 4 * 16 + file * 2 + rank / 4
}

#[derive(Debug)]
pub struct Fold<'a> {
    pub positions: usize,
    pub channels: usize,
    /// `[positions][10][10][channels]`
    pub boards: &'a [f32],
    /// `[positions][`[`stream_length`]`]`. Padding is not written.
    pub stream: &'a mut [f32],
    /// `[positions][`[`folded_length`]`]`, bits of bf16. Border and padding are not written and must be 0.
    pub folded: &'a mut [u16],
}

#[derive(Debug)]
pub struct Unfold<'a> {
    pub positions: usize,
    pub channels: usize,
    /// `[positions][`[`stream_length`]`]`
    pub stream: &'a [f32],
    /// `[positions][10][10][channels]`
    pub boards: &'a mut [f32],
}

/// `stream = function(stream + scale * update + shift)`, or `function(update)` without scales. `folded` gets
/// the same.
#[derive(Debug)]
pub struct FinishStream<'a> {
    pub positions: usize,
    /// A multiple of 32.
    pub channels: usize,
    pub function: Activation,
    /// `[positions][`[`stream_length`]`]`
    pub update: &'a [f32],
    pub residual: Option<ScaledResidual<'a>>,
    /// `[positions][`[`folded_length`]`]`, bits of bf16. The border is not written and must be 0.
    pub folded: &'a mut [u16],
}

#[derive(Debug)]
pub struct ScaledResidual<'a> {
    /// `[positions][2][channels]`: scales, shifts.
    pub scale_shift: &'a [f32],
    /// `[positions][`[`stream_length`]`]`
    pub stream: &'a mut [f32],
}

/// A 3×3 convolution of folded boards, with sums in fp32.
#[derive(Debug)]
pub struct ConvolveFolded<'a> {
    pub tiles: Tiles,
    pub positions: usize,
    /// Padded, a multiple of 32.
    pub outputs: usize,
    /// [`folded_offsets`] of the inputs.
    pub offsets: &'a [u32],
    /// `[positions][`[`folded_length`]`]` of the inputs, bits of bf16.
    pub input: &'a [u16],
    /// As [`pack_right`](super::pack_right) packs them, followed by the weights to prefetch.
    pub weights: &'a [u16],
    /// `[outputs]`
    pub bias: &'a [f32],
    pub output: FoldedOutput<'a>,
}

#[derive(Debug)]
pub enum FoldedOutput<'a> {
    /// The sums after ReLU, as folded boards. The border is not written and must be 0.
    Relu(&'a mut [u16]),
    /// The sums as streams, and over the board, `[positions][outputs]`.
    Sums {
        update: &'a mut [f32],
        pool: &'a mut [f32],
    },
}

impl Job for Fold<'_> {
    fn check(&self, lanes: usize) {
        check_boards(self.boards.len(), self.positions, self.channels, lanes);
        check_streams(self.stream.len(), self.positions, self.channels);
        check_folded(self.folded.len(), self.positions, self.channels);
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let channels = self.channels;
        for (position, square) in (0..self.positions).flat_map(|p| (0..64).map(move |square| (p, square))) {
            let from = position * BOARD_SQUARES * channels + board_offset(square, channels);
            let row = row_of(square);
            for channel in (0..channels).step_by(S::LANES) {
                let (block, column) = (channel / TILE_DEPTH, channel % TILE_DEPTH);
                // SAFETY: the check covers these boards, streams and folded boards.
                unsafe {
                    let v = simd.load(self.boards.as_ptr().add(from + channel));
                    let to = position * stream_length(channels) + block * STREAM + row * TILE_DEPTH + column;
                    simd.store(self.stream.as_mut_ptr().add(to), v);
                    let to = position * folded_length(channels) + block * FOLDED + column;
                    store_folded(simd, self.folded.as_mut_ptr().add(to), row, v);
                }
            }
        }
    }
}

impl Job for Unfold<'_> {
    fn check(&self, lanes: usize) {
        check_boards(self.boards.len(), self.positions, self.channels, lanes);
        check_streams(self.stream.len(), self.positions, self.channels);
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let channels = self.channels;
        for (position, square) in (0..self.positions).flat_map(|p| (0..64).map(move |square| (p, square))) {
            let from = position * stream_length(channels) + row_of(square) * TILE_DEPTH;
            let to = position * BOARD_SQUARES * channels + board_offset(square, channels);
            for channel in (0..channels).step_by(S::LANES) {
                let from = from + channel / TILE_DEPTH * STREAM + channel % TILE_DEPTH;
                // SAFETY: the check covers these streams and boards.
                unsafe {
                    let v = simd.load(self.stream.as_ptr().add(from));
                    simd.store(self.boards.as_mut_ptr().add(to + channel), v);
                }
            }
        }
    }
}

impl Job for FinishStream<'_> {
    fn check(&self, _lanes: usize) {
        assert!(self.channels.is_multiple_of(TILE_DEPTH));
        check_streams(self.update.len(), self.positions, self.channels);
        check_folded(self.folded.len(), self.positions, self.channels);
        if let Some(residual) = &self.residual {
            check_streams(residual.stream.len(), self.positions, self.channels);
            let scales = 2 * self.channels;
            assert!(residual.scale_shift.len() >= extent(self.positions, scales, scales));
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the caller's.
        unsafe { elementwise::with_function!(self.function, finish_stream::<S>(simd, self)) }
    }
}

/// # Safety
/// `job` must have passed its check.
#[inline(always)]
unsafe fn finish_stream<S: Simd, const F: u8>(simd: S, mut job: FinishStream<'_>) {
    let blocks = job.channels / TILE_DEPTH;
    for (position, block) in (0..job.positions).flat_map(|p| (0..blocks).map(move |block| (p, block))) {
        for column in (0..TILE_DEPTH).step_by(S::LANES) {
            // SAFETY: the check covers these scales, streams and folded boards.
            unsafe {
                let first = (position * blocks + block) * STREAM + column;
                let update = job.update.as_ptr().add(first);
                let folded = job
                    .folded
                    .as_mut_ptr()
                    .add((position * blocks + block) * FOLDED + column);
                if let Some(residual) = &mut job.residual {
                    let scale = position * 2 * job.channels + block * TILE_DEPTH + column;
                    let scale = residual.scale_shift.as_ptr().add(scale);
                    let (scale, shift) = (simd.load(scale), simd.load(scale.add(job.channels)));
                    let stream = residual.stream.as_mut_ptr().add(first);
                    for row in 0..64 {
                        let update = simd.mul_add(scale, simd.load(update.add(row * TILE_DEPTH)), shift);
                        let to = stream.add(row * TILE_DEPTH);
                        let v = elementwise::function::<S, F>(simd, simd.add(update, simd.load(to)));
                        simd.store(to, v);
                        store_folded(simd, folded, row, v);
                    }
                } else {
                    for row in 0..64 {
                        let v = simd.load(update.add(row * TILE_DEPTH));
                        store_folded(simd, folded, row, elementwise::function::<S, F>(simd, v));
                    }
                }
            }
        }
    }
}

/// Writes a vector of a stream's `row` to the same channels of a folded board, which begin at `block`.
///
/// # Safety
/// `block` must be valid for 32 channels of a folded board less those before the vector.
#[inline(always)]
unsafe fn store_folded<S: Simd>(simd: S, block: *mut u16, row: usize, v: S::Vector) {
    let (rank, file, half) = (row / 16, row % 16 / 2, row % 2);
    let place = |rank: usize, half: usize| rank * RANK + ((file + 1) * 2 + half) * TILE_DEPTH;
    // SAFETY: these places lie in the block that the caller vouches for: ranks are 0 to 5, files 1 to 8.
    unsafe {
        simd.store_bf16(block.add(place(rank + 1, half)), v);
        // The ranks where the halves meet are also the other half's border.
        match (rank, half) {
            (3, 0) => simd.store_bf16(block.add(place(0, 1)), v),
            (0, 1) => simd.store_bf16(block.add(place(5, 0)), v),
            _ => {}
        }
    }
}

fn check_boards(length: usize, positions: usize, channels: usize, lanes: usize) {
    let board = BOARD_SQUARES.checked_mul(channels).expect("fits");
    assert!(channels.is_multiple_of(lanes) && length >= extent(positions, board, board));
}

fn check_streams(length: usize, positions: usize, channels: usize) {
    let stream = STREAM.checked_mul(channels.div_ceil(TILE_DEPTH)).expect("fits");
    assert!(length >= extent(positions, stream, stream));
}

fn check_folded(length: usize, positions: usize, channels: usize) {
    let folded = FOLDED.checked_mul(channels.div_ceil(TILE_DEPTH)).expect("fits");
    assert!(length >= extent(positions, folded, folded));
}

impl Job for ConvolveFolded<'_> {
    fn check(&self, _lanes: usize) {
        let steps = self.offsets.len();
        assert!(steps > 0 && steps.is_multiple_of(9) && self.outputs.is_multiple_of(TILE_DEPTH));
        let inputs = steps / 9 * TILE_DEPTH;
        check_folded(self.input.len(), self.positions, inputs);
        // The second pair of ranks is two ranks further.
        let furthest = folded_length(inputs) - 2 * RANK - ROWS_READ;
        assert!(self.offsets.iter().all(|&offset| offset as usize <= furthest));
        let columns = steps.checked_mul(TILE_DEPTH).expect("fits");
        assert!(self.weights.len() >= columns.checked_mul(self.outputs).expect("fits"));
        assert!(self.bias.len() >= self.outputs);
        match &self.output {
            FoldedOutput::Relu(folded) => check_folded(folded.len(), self.positions, self.outputs),
            FoldedOutput::Sums { update, pool } => {
                check_streams(update.len(), self.positions, self.outputs);
                assert!(pool.len() >= extent(self.positions, self.outputs, self.outputs));
            }
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(mut self, simd: S) {
        // SAFETY: the caller's.
        unsafe {
            if let FoldedOutput::Sums { pool, .. } = &mut self.output {
                pool[..self.positions * self.outputs].fill(0.0);
                convolve::<S, false>(simd, self);
            } else {
                convolve::<S, true>(simd, self);
            }
        }
    }
}

/// Computes `job`: chunks of weights, all positions for each, two ranks of both halves at a time.
///
/// The sums of a block go to the output while the next block is multiplied, a few rows a step. Else the unit
/// for tiles waits: 2.07 in place of 2.77 TFLOPS (128 filters, Sapphire Rapids). Meanwhile the weights of the
/// next chunk come into the second cache.
///
/// # Safety
/// `job` must have passed its check. `RELU` says which output it has.
#[inline(always)]
unsafe fn convolve<S: Simd, const RELU: bool>(simd: S, job: ConvolveFolded<'_>) {
    let target = match job.output {
        FoldedOutput::Relu(folded) => Target {
            folded: folded.as_mut_ptr(),
            ..Target::default()
        },
        FoldedOutput::Sums { update, pool } => Target {
            update: update.as_mut_ptr(),
            pool: pool.as_mut_ptr(),
            ..Target::default()
        },
    };
    let steps = job.offsets.len();
    let depths = steps / 9;
    let blocks = job.outputs / TILE_DEPTH;
    let chunk = (CHUNK / (steps * MATRIX)).clamp(1, blocks.max(1));
    // One is filled while the other is output.
    let mut sums = [Sums::ZERO; 2];
    let mut current = 0;
    let mut pending = Pending::<S, RELU>::nothing(simd);
    // SAFETY: the check covers all operands and outputs of each block.
    unsafe {
        job.tiles.begin();
        for first in (0..blocks).step_by(chunk) {
            let end = blocks.min(first + chunk);
            let mut ahead = Ahead::new(
                &job.weights[end * steps * MATRIX..],
                chunk * steps * MATRIX,
                (end - first) * steps * 2 * job.positions,
            );
            for (position, pair) in (0..job.positions).flat_map(|p| (0..2).map(move |pair| (p, pair))) {
                for block in first..end {
                    let operands = Operands {
                        offsets: job.offsets,
                        a: job
                            .input
                            .as_ptr()
                            .add(position * depths * FOLDED + pair * 2 * RANK),
                        b: job.weights.as_ptr().add(block * steps * MATRIX),
                    };
                    let sums = sums[current].0.as_mut_ptr();
                    multiply(job.tiles, &operands, sums, &mut pending, &mut ahead);
                    let at = position * blocks + block;
                    pending = Pending {
                        rows: 0..ROWS,
                        sums,
                        bias: job.bias.as_ptr().add(block * TILE_DEPTH),
                        target: target.of_block(at, pair),
                        ..Pending::nothing(simd)
                    };
                    current ^= 1;
                }
            }
        }
        job.tiles.end();
        pending.finish();
    }
}

struct Operands<'a> {
    offsets: &'a [u32],
    /// Where the offsets begin. A step reads 16 rows of 32 numbers there, and those a rank further.
    a: *const u16,
    /// 1,024 numbers for each step.
    b: *const u16,
}

/// Computes a block's 32 by 32 sums, and what is pending meanwhile.
///
/// # Safety
/// Operands must be valid for each step, `sums` for all numbers, and what is pending for its rows. The tiles
/// must have begun.
#[inline(always)]
unsafe fn multiply<S: Simd, const RELU: bool>(
    tiles: Tiles,
    operands: &Operands<'_>,
    sums: *mut f32,
    pending: &mut Pending<S, RELU>,
    ahead: &mut Ahead,
) {
    let Operands { offsets, a, b } = *operands;
    // SAFETY: the caller's.
    unsafe {
        match tiles {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(_) => {
                let mut due = 0;
                amx::clear();
                for (step, &offset) in offsets.iter().enumerate() {
                    let a = a.add(offset as usize);
                    amx::add(a, a.add(RANK), TILE_DEPTH, b.add(step * MATRIX));
                    ahead.advance(pending.simd);
                    due += ROWS;
                    while due >= offsets.len() {
                        due -= offsets.len();
                        pending.finish_row();
                    }
                }
                pending.finish();
                amx::store(sums);
            }
            _ => {
                pending.finish();
                offsets.iter().for_each(|_| ahead.advance(pending.simd));
                // In each half's rank, as many rows at once as the unit takes.
                for row in (0..ROWS).step_by(UNIT_ROWS) {
                    let a = a.add(row / 16 * RANK + row % 16 * TILE_DEPTH);
                    tiles.multiply_rows(offsets, a, b, sums.add(row * TILE_DEPTH));
                }
            }
        }
    }
}

/// Absent parts are null.
#[derive(Clone, Copy)]
struct Target {
    folded: *mut u16,
    update: *mut f32,
    pool: *mut f32,
    first: usize,
}

impl Default for Target {
    fn default() -> Target {
        Target {
            folded: ptr::null_mut(),
            update: ptr::null_mut(),
            pool: ptr::null_mut(),
            first: 0,
        }
    }
}

impl Target {
    fn of_block(self, block: usize, pair: usize) -> Target {
        Target {
            folded: self.folded.wrapping_add(block * FOLDED),
            update: self.update.wrapping_add(block * STREAM),
            pool: self.pool.wrapping_add(block * TILE_DEPTH),
            first: pair * ROWS,
        }
    }
}

struct Pending<S: Simd, const RELU: bool> {
    simd: S,
    rows: Range<usize>,
    sums: *const f32,
    bias: *const f32,
    target: Target,
    /// Sums over finished rows. Vectors have at least four numbers.
    pool: [S::Vector; TILE_DEPTH / 4],
}

impl<S: Simd, const RELU: bool> Pending<S, RELU> {
    #[inline(always)]
    fn nothing(simd: S) -> Pending<S, RELU> {
        Pending {
            simd,
            rows: 0..0,
            sums: ptr::null(),
            bias: ptr::null(),
            target: Target::default(),
            pool: [simd.zero(); TILE_DEPTH / 4],
        }
    }

    /// Brings the next row to the output, if there is one.
    ///
    /// # Safety
    /// Sums, bias and output must be valid.
    #[inline(always)]
    unsafe fn finish_row(&mut self) {
        let Some(row) = self.rows.next() else { return };
        let simd = self.simd;
        let to = self.target.first + row;
        for column in (0..TILE_DEPTH).step_by(S::LANES) {
            // SAFETY: the caller's.
            unsafe {
                let sum = simd.load(self.sums.add(row * TILE_DEPTH + column));
                let v = simd.add(sum, simd.load(self.bias.add(column)));
                if RELU {
                    store_folded(simd, self.target.folded.add(column), to, simd.max(v, simd.zero()));
                } else {
                    simd.store(self.target.update.add(to * TILE_DEPTH + column), v);
                    let pool = &mut self.pool[column / S::LANES];
                    *pool = simd.add(*pool, v);
                }
            }
        }
        if !RELU && self.rows.is_empty() {
            for (i, &sum) in self.pool.iter().enumerate().take(TILE_DEPTH / S::LANES) {
                // SAFETY: the caller's.
                unsafe {
                    let to = self.target.pool.add(i * S::LANES);
                    simd.store(to, simd.add(sum, simd.load(to)));
                }
            }
        }
    }

    /// # Safety
    /// The same as for [`Pending::finish_row`].
    #[inline(always)]
    unsafe fn finish(&mut self) {
        while !self.rows.is_empty() {
            // SAFETY: the caller's.
            unsafe { self.finish_row() }
        }
    }
}
