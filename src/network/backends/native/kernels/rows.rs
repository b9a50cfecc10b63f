//! The operations of encoders on rows of numbers between their products: layer norms, softmax, rounding to bf16.

use super::simd::Simd;
use super::tiles::TILE_DEPTH;
use super::{CHANNEL_STEP, extent};

/// Rows that stand together in what [`Round`] writes.
pub(in super::super) const BLOCK_ROWS: usize = 64;

/// `x = norm(x + factor * branch) * gammas + betas`, row by row (Ba et al. 2016).
#[derive(Debug)]
pub(in super::super) struct Normalize<'a> {
    /// Number of rows.
    pub(in super::super) rows: usize,
    /// Numbers of a row that count.
    pub(in super::super) size: usize,
    /// Numbers from one row to the next; those behind a row's end are padding.
    pub(in super::super) stride: usize,
    /// `[rows][stride]`
    pub(in super::super) x: &'a mut [f32],
    /// `[rows][stride]`, if anything is to be added.
    pub(in super::super) branch: Option<&'a [f32]>,
    /// The factor of the branch.
    pub(in super::super) factor: f32,
    /// `[stride]`, 0 in the padding.
    pub(in super::super) gammas: &'a [f32],
    /// `[stride]`, 0 in the padding.
    pub(in super::super) betas: &'a [f32],
    /// The number that is added to the variance.
    pub(in super::super) epsilon: f32,
}

impl Normalize<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, lanes: usize) {
        assert!(self.stride.is_multiple_of(lanes) && self.size <= self.stride && self.size > 0);
        let length = extent(self.rows, self.stride, self.stride);
        assert!(self.x.len() >= length && self.branch.is_none_or(|branch| branch.len() >= length));
        assert!(self.gammas.len() >= self.stride && self.betas.len() >= self.stride);
    }
}

/// `x = softmax(scale * x + added)`, row by row.
#[derive(Debug)]
pub(in super::super) struct Softmax<'a> {
    /// Number of rows.
    pub(in super::super) rows: usize,
    /// Numbers of a row: a multiple of a vector, not 0.
    pub(in super::super) width: usize,
    /// `[rows][width]`
    pub(in super::super) x: &'a mut [f32],
    /// The factor.
    pub(in super::super) scale: f32,
    /// `[rows][width]`, if anything is to be added.
    pub(in super::super) added: Option<&'a [f32]>,
}

impl Softmax<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, lanes: usize) {
        assert!(self.width > 0 && self.width.is_multiple_of(lanes));
        let length = extent(self.rows, self.width, self.width);
        assert!(self.x.len() >= length && self.added.is_none_or(|added| added.len() >= length));
    }
}

/// Turns rows into the left operands of a [`TileProduct`](super::TileProduct): to bf16, and from `[rows][width]` to
/// `[rows / 64][width / 32][64][32]`.
#[derive(Debug)]
pub(in super::super) struct Round<'a> {
    /// Number of rows; of the last block the others are left as they are.
    pub(in super::super) rows: usize,
    /// Numbers of a row: a multiple of 32.
    pub(in super::super) width: usize,
    /// `[rows][width]`
    pub(in super::super) from: &'a [f32],
    /// `[rows / 64, rounded up][width / 32][64][32]`, bits of bf16.
    pub(in super::super) to: &'a mut [u16],
}

impl Round<'_> {
    /// Panics unless all operands are as long as needed.
    pub(super) fn check(&self, _lanes: usize) {
        assert!(self.width.is_multiple_of(TILE_DEPTH));
        assert!(self.from.len() >= extent(self.rows, self.width, self.width));
        let block = self.width.checked_mul(BLOCK_ROWS).expect("fits");
        assert!(self.to.len() >= extent(self.rows.div_ceil(BLOCK_ROWS), block, block));
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn normalize<S: Simd>(simd: S, job: Normalize<'_>) {
    let whole = job.size / S::LANES * S::LANES;
    let size = job.size as f32;
    let factor = simd.splat(job.factor);
    for row in 0..job.rows {
        // SAFETY: the check covers all rows, and gammas and betas of a whole row with its padding.
        unsafe {
            let x = job.x.as_mut_ptr().add(row * job.stride);
            if let Some(branch) = job.branch {
                let branch = branch.as_ptr().add(row * job.stride);
                for i in (0..job.stride).step_by(S::LANES) {
                    let sum = simd.mul_add(factor, simd.load(branch.add(i)), simd.load(x.add(i)));
                    simd.store(x.add(i), sum);
                }
            }
            let mut sum = simd.zero();
            for i in (0..whole).step_by(S::LANES) {
                sum = simd.add(sum, simd.load(x.add(i)));
            }
            let rest = (whole..job.size).map(|i| *x.add(i)).sum::<f32>();
            let mean = (simd.sum(sum) + rest) / size;
            let means = simd.splat(mean);
            let mut squares = simd.zero();
            for i in (0..whole).step_by(S::LANES) {
                let difference = simd.sub(simd.load(x.add(i)), means);
                squares = simd.mul_add(difference, difference, squares);
            }
            let rest = (whole..job.size).map(|i| (*x.add(i) - mean).powi(2)).sum::<f32>();
            let variance = (simd.sum(squares) + rest) / size;
            let scale = simd.splat(1.0 / (variance + job.epsilon).sqrt());
            for i in (0..job.stride).step_by(S::LANES) {
                let normal = simd.mul(simd.sub(simd.load(x.add(i)), means), scale);
                let (gammas, betas) = (job.gammas.as_ptr().add(i), job.betas.as_ptr().add(i));
                simd.store(x.add(i), simd.mul_add(normal, simd.load(gammas), simd.load(betas)));
            }
        }
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn softmax<S: Simd>(simd: S, job: Softmax<'_>) {
    let scale = simd.splat(job.scale);
    for row in 0..job.rows {
        // SAFETY: the check covers all rows.
        unsafe {
            let x = job.x.as_mut_ptr().add(row * job.width);
            let added = job.added.map(|added| added.as_ptr().wrapping_add(row * job.width));
            let mut largest = simd.splat(f32::MIN);
            for i in (0..job.width).step_by(S::LANES) {
                let score = simd.mul(scale, simd.load(x.add(i)));
                let score = match added {
                    Some(added) => simd.add(score, simd.load(added.add(i))),
                    None => score,
                };
                largest = simd.max(largest, score);
                simd.store(x.add(i), score);
            }
            let mut lanes = [f32::MIN; CHANNEL_STEP];
            simd.store(lanes.as_mut_ptr(), largest);
            let largest = simd.splat(lanes.into_iter().fold(f32::MIN, f32::max));
            let mut sum = simd.zero();
            for i in (0..job.width).step_by(S::LANES) {
                let power = simd.exp(simd.sub(simd.load(x.add(i)), largest));
                sum = simd.add(sum, power);
                simd.store(x.add(i), power);
            }
            let factor = simd.splat(1.0 / simd.sum(sum));
            for i in (0..job.width).step_by(S::LANES) {
                simd.store(x.add(i), simd.mul(simd.load(x.add(i)), factor));
            }
        }
    }
}

/// Computes `job`.
///
/// # Safety
/// `job` must have passed its check.
#[inline(always)]
pub(super) unsafe fn round<S: Simd>(simd: S, job: Round<'_>) {
    for row in 0..job.rows {
        let block = row / BLOCK_ROWS * BLOCK_ROWS * job.width + row % BLOCK_ROWS * TILE_DEPTH;
        for column in (0..job.width).step_by(S::LANES) {
            let at = block + column / TILE_DEPTH * BLOCK_ROWS * TILE_DEPTH + column % TILE_DEPTH;
            // SAFETY: the check covers all rows and all blocks.
            unsafe {
                let numbers = simd.load(job.from.as_ptr().add(row * job.width + column));
                simd.store_bf16(job.to.as_mut_ptr().add(at), numbers);
            }
        }
    }
}
