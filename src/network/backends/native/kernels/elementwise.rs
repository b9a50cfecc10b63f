//! Activations, the end of a squeeze-and-excitation unit, the sparse first layer, and single outputs of policy heads.

use super::simd::Simd;
use super::{BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, Pointwise, board_offset, extent};

/// `boards = boards + scale * update + shift` on the 64 squares, then ReLU if wanted.
#[derive(Debug)]
pub(in super::super) struct Residual<'a> {
    /// Number of boards.
    pub(in super::super) positions: usize,
    /// Channels of the boards.
    pub(in super::super) channels: usize,
    /// `[positions][10][10][channels]`
    pub(in super::super) update: &'a [f32],
    /// `[positions][2][channels]`: scales, shifts.
    pub(in super::super) scale_shift: &'a [f32],
    /// `[positions][10][10][channels]`
    pub(in super::super) boards: &'a mut [f32],
    /// True if ReLU follows.
    pub(in super::super) relu: bool,
}

impl Residual<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.update.len() >= extent(self.positions, board, board));
        assert!(self.boards.len() >= extent(self.positions, board, board));
        assert!(self.scale_shift.len() >= extent(self.positions, 2 * self.channels, 2 * self.channels));
    }
}

/// `to += factor * from`, number by number.
#[derive(Debug)]
pub(in super::super) struct AddScaled<'a> {
    /// The numbers that are changed: a multiple of a vector.
    pub(in super::super) to: &'a mut [f32],
    /// The numbers that are read, as many as `to` has.
    pub(in super::super) from: &'a [f32],
    /// The factor.
    pub(in super::super) factor: f32,
}

impl AddScaled<'_> {
    /// Panics unless both are equally long and divide into vectors.
    pub(super) fn check(&self, lanes: usize) {
        assert!(self.to.len() == self.from.len() && self.to.len().is_multiple_of(lanes));
    }
}

/// A filter's 3×3 weights to be added around a square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Stamp {
    /// The square that is not 0, `0..64`.
    pub(in super::super) square: u8,
    /// The entry of the table.
    pub(in super::super) entry: u16,
    /// The square's value.
    pub(in super::super) factor: f32,
}

/// Adds `factor * table[entry]` to the 3×3 squares around each stamp's square.
///
/// Squares of the border receive numbers too; the caller clears them.
#[derive(Debug)]
pub(in super::super) struct Stamps<'a> {
    /// Channels of the board.
    pub(in super::super) channels: usize,
    /// The filters to add.
    pub(in super::super) stamps: &'a [Stamp],
    /// `[entries][3][3][channels]`: what a 1 on a square adds to the squares around it, a rank lower and a file left
    /// first.
    pub(in super::super) table: &'a [f32],
    /// `[10][10][channels]`
    pub(in super::super) board: &'a mut [f32],
}

impl Stamps<'_> {
    /// Panics unless all operands are as long as needed and every stamp is on the board and in the table.
    pub(super) fn check(&self, lanes: usize) {
        let entry = self.channels.checked_mul(9).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.board.len() >= BOARD_SQUARES.checked_mul(self.channels).expect("fits"));
        let entries = self.table.len().checked_div(entry).unwrap_or(0);
        assert!(self.stamps.iter().all(|stamp| stamp.square < 64 && usize::from(stamp.entry) < entries));
    }
}

/// One output of a 3×3 convolution: the sum over the squares around `square` and all channels.
#[derive(Debug)]
pub(in super::super) struct Convolve<'a> {
    /// Channels of the board.
    pub(in super::super) channels: usize,
    /// The output's square, `0..64`.
    pub(in super::super) square: usize,
    /// `[10][10][channels]`
    pub(in super::super) board: &'a [f32],
    /// `[3][3][channels]`
    pub(in super::super) filter: &'a [f32],
}

impl Convolve<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, lanes: usize) {
        assert!(self.channels.is_multiple_of(lanes) && self.square < 64);
        assert!(self.board.len() >= BOARD_SQUARES.checked_mul(self.channels).expect("fits"));
        assert!(self.filter.len() >= 9 * self.channels);
    }
}

/// Applies `function` to each of `values`.
#[inline(always)]
pub(super) fn apply<S: Simd>(simd: S, function: Pointwise, values: &mut [f32]) {
    match function {
        Pointwise::Relu => apply_with::<S, 0>(simd, values),
        Pointwise::ReluSquared => apply_with::<S, 1>(simd, values),
        Pointwise::Mish => apply_with::<S, 2>(simd, values),
        Pointwise::Tanh => apply_with::<S, 3>(simd, values),
        Pointwise::Sigmoid => apply_with::<S, 4>(simd, values),
        Pointwise::Selu => apply_with::<S, 5>(simd, values),
        Pointwise::Swish => apply_with::<S, 6>(simd, values),
    }
}

/// Applies the function number `F` in the order of [`Pointwise`].
#[inline(always)]
fn apply_with<S: Simd, const F: u8>(simd: S, values: &mut [f32]) {
    let mut chunks = values.chunks_exact_mut(S::LANES);
    for chunk in &mut chunks {
        // SAFETY: a chunk is a vector long.
        unsafe { simd.store(chunk.as_mut_ptr(), function::<S, F>(simd, simd.load(chunk.as_ptr()))) }
    }
    let rest = chunks.into_remainder();
    let mut padded = [0.0; CHANNEL_STEP];
    padded[..rest.len()].copy_from_slice(rest);
    // SAFETY: `padded` is at least a vector long.
    unsafe { simd.store(padded.as_mut_ptr(), function::<S, F>(simd, simd.load(padded.as_ptr()))) }
    rest.copy_from_slice(&padded[..rest.len()]);
}

/// Computes the function number `F` in the order of [`Pointwise`].
#[inline(always)]
fn function<S: Simd, const F: u8>(simd: S, x: S::Vector) -> S::Vector {
    let positive = simd.max(x, simd.zero());
    match F {
        0 => positive,
        1 => simd.mul(positive, positive),
        2 => simd.mish(x),
        3 => simd.tanh(x),
        4 => simd.sigmoid(x),
        5 => simd.selu(x),
        _ => simd.mul(x, simd.sigmoid(x)),
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn add_residual<S: Simd>(simd: S, job: Residual<'_>) {
    // SAFETY: the caller's.
    unsafe {
        if job.relu {
            add_residual_with::<S, true>(simd, job)
        } else {
            add_residual_with::<S, false>(simd, job)
        }
    }
}

/// Computes `job` with or without ReLU.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
unsafe fn add_residual_with<S: Simd, const RELU: bool>(simd: S, job: Residual<'_>) {
    let channels = job.channels;
    for position in 0..job.positions {
        for channel in (0..channels).step_by(S::LANES) {
            // SAFETY: the check covers these boards and scales.
            unsafe {
                let scale = job.scale_shift.as_ptr().add(position * 2 * channels + channel);
                let (scale, shift) = (simd.load(scale), simd.load(scale.add(channels)));
                for square in 0..64 {
                    let at = position * BOARD_SQUARES * channels + board_offset(square, channels) + channel;
                    let to = job.boards.as_mut_ptr().add(at);
                    let update = simd.mul_add(scale, simd.load(job.update.as_ptr().add(at)), shift);
                    let v = simd.add(update, simd.load(to));
                    simd.store(to, if RELU { simd.max(v, simd.zero()) } else { v });
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
pub(super) unsafe fn add_scaled<S: Simd>(simd: S, job: AddScaled<'_>) {
    // SAFETY: the check made both slices equally long.
    unsafe { accumulate(simd, job.to.as_mut_ptr(), job.from.as_ptr(), job.to.len(), job.factor) }
}

/// Computes `to += factor * from` for `length` numbers.
///
/// # Safety
/// Both must be valid for `length` numbers, a multiple of [`Simd::LANES`].
#[inline(always)]
unsafe fn accumulate<S: Simd>(simd: S, to: *mut f32, from: *const f32, length: usize, factor: f32) {
    let factor = simd.splat(factor);
    for i in (0..length).step_by(S::LANES) {
        // SAFETY: the caller's.
        unsafe {
            let sum = simd.mul_add(factor, simd.load(from.add(i)), simd.load(to.add(i)));
            simd.store(to.add(i), sum);
        }
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn stamp<S: Simd>(simd: S, job: Stamps<'_>) {
    let channels = job.channels;
    for stamp in job.stamps {
        let corner = corner(usize::from(stamp.square), channels);
        for rank in 0..3 {
            // SAFETY: the check covers the table's entry and the 3×3 squares, three of them side by side.
            unsafe {
                let from = job.table.as_ptr().add((usize::from(stamp.entry) * 3 + rank) * 3 * channels);
                let to = job.board.as_mut_ptr().add(corner + rank * BOARD_STRIDE * channels);
                accumulate(simd, to, from, 3 * channels, stamp.factor);
            }
        }
    }
}

/// Returns the place on a board where the 3×3 squares around a square of `0..64` begin.
#[inline(always)]
fn corner(square: usize, channels: usize) -> usize {
    (square / 8 * BOARD_STRIDE + square % 8) * channels
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn convolve<S: Simd>(simd: S, job: Convolve<'_>) -> f32 {
    let row = 3 * job.channels;
    let corner = corner(job.square, job.channels);
    let mut sum = simd.zero();
    for rank in 0..3 {
        // SAFETY: the check covers the filter and the 3×3 squares, three of them side by side.
        unsafe {
            let board = job.board.as_ptr().add(corner + rank * BOARD_STRIDE * job.channels);
            let filter = job.filter.as_ptr().add(rank * row);
            for i in (0..row).step_by(S::LANES) {
                sum = simd.mul_add(simd.load(board.add(i)), simd.load(filter.add(i)), sum);
            }
        }
    }
    simd.sum(sum)
}

/// Computes `Σ a[i] b[i]`, for slices of equal length.
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let (mut a, mut b) = (a.chunks_exact(S::LANES), b.chunks_exact(S::LANES));
    let mut sum = simd.zero();
    for (a, b) in (&mut a).zip(&mut b) {
        // SAFETY: chunks are a vector long.
        unsafe { sum = simd.mul_add(simd.load(a.as_ptr()), simd.load(b.as_ptr()), sum) }
    }
    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    simd.sum(sum) + rest
}

/// Rounds of [`spin`].
const PEAK_STEPS: usize = 10_000;
/// Independent sums: enough to hide the latency of two multiply-adds per cycle, few enough for 16 registers.
const PEAK_SUMS: usize = 12;

/// Runs multiply-adds as fast as the CPU can; returns their number and their sum.
#[inline(always)]
pub(super) fn spin<S: Simd>(simd: S) -> (usize, f32) {
    let mut sums = [simd.splat(std::hint::black_box(1.0)); PEAK_SUMS];
    let factor = simd.splat(std::hint::black_box(0.5));
    for _ in 0..PEAK_STEPS {
        for sum in &mut sums {
            *sum = simd.mul_add(*sum, factor, factor);
        }
    }
    let mut total = 0.0;
    for sum in sums {
        total += simd.sum(sum);
    }
    (PEAK_STEPS * PEAK_SUMS * S::LANES, total)
}
