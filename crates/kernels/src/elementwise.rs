//! Everything but matrix products.

use super::activation::Activation;
use super::fixed::round_row;
use super::kernels::Job;
use super::operands::{Layout, TILE_DEPTH};
use super::simd::Simd;
use super::sizes::{BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, board_offset, extent};

/// `boards = boards + scale * update + shift` on the 64 squares, then ReLU if wanted.
#[derive(Debug)]
pub struct Residual<'a> {
    pub positions: usize,
    pub channels: usize,
    /// `[positions][10][10][channels]`
    pub update: &'a [f32],
    /// `[positions][2][channels]`: scales, shifts.
    pub scale_shift: &'a [f32],
    /// `[positions][10][10][channels]`
    pub boards: &'a mut [f32],
    pub relu: bool,
    /// Receives each board's largest magnitude, `[positions]`.
    pub largest: &'a mut [f32],
}

#[derive(Debug)]
pub struct AddScaled<'a> {
    /// A multiple of a vector.
    pub to: &'a mut [f32],
    pub from: &'a [f32],
    pub factor: f32,
}

/// A filter to add around a square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// `0..64`
    pub square: u8,
    pub entry: u16,
    pub factor: f32,
}

/// Adds `factor * table[entry]` to the 3×3 squares around each stamp's square.
///
/// The border also receives numbers, which the caller clears.
#[derive(Debug)]
pub struct Stamps<'a> {
    pub channels: usize,
    pub stamps: &'a [Stamp],
    /// `[entries][3][3][channels]`: a 1's contribution to the squares around it, a rank lower and a file left
    /// first.
    pub table: &'a [f32],
    /// `[10][10][channels]`
    pub board: &'a mut [f32],
}

/// The result is the largest magnitude of the new values.
#[derive(Debug)]
pub struct Apply<'a> {
    pub function: Activation,
    pub values: &'a mut [f32],
}

/// Each function gets a loop of its own, without a branch.
macro_rules! with_function {
    ($function:expr, $name:ident::<$simd:ident>($($argument:expr),*)) => {
        match $function {
            Activation::Relu => $name::<$simd, 0>($($argument),*),
            Activation::Relu2 => $name::<$simd, 1>($($argument),*),
            Activation::Mish => $name::<$simd, 2>($($argument),*),
            Activation::Tanh => $name::<$simd, 3>($($argument),*),
            Activation::Sigmoid => $name::<$simd, 4>($($argument),*),
            Activation::Selu => $name::<$simd, 5>($($argument),*),
            Activation::Swish => $name::<$simd, 6>($($argument),*),
            Activation::None => $name::<$simd, 7>($($argument),*),
        }
    };
}
pub(crate) use with_function;

impl Job for Apply<'_> {
    fn check(&self, _lanes: usize) {}

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) -> f32 {
        with_function!(self.function, apply_with::<S>(simd, self.values))
    }
}

#[inline(always)]
fn apply_with<S: Simd, const F: u8>(simd: S, values: &mut [f32]) -> f32 {
    let mut chunks = values.chunks_exact_mut(S::LANES);
    let mut reached = simd.zero();
    for chunk in &mut chunks {
        // SAFETY: a chunk is a vector long.
        unsafe {
            let v = function::<S, F>(simd, simd.load(chunk.as_ptr()));
            reached = simd.max(reached, simd.magnitude(v));
            simd.store(chunk.as_mut_ptr(), v);
        }
    }
    let rest = chunks.into_remainder();
    let mut padded = [0.0; CHANNEL_STEP];
    padded[..rest.len()].copy_from_slice(rest);
    // SAFETY: `padded` is at least a vector long.
    unsafe {
        let v = function::<S, F>(simd, simd.load(padded.as_ptr()));
        simd.store(padded.as_mut_ptr(), v);
    }
    rest.copy_from_slice(&padded[..rest.len()]);
    rest.iter()
        .fold(simd.largest(reached), |largest, x| largest.max(x.abs()))
}

/// The function number `F` of [`with_function`].
#[inline(always)]
pub(crate) fn function<S: Simd, const F: u8>(simd: S, x: S::Vector) -> S::Vector {
    let positive = simd.max(x, simd.zero());
    match F {
        0 => positive,
        1 => simd.mul(positive, positive),
        2 => simd.mish(x),
        3 => simd.tanh(x),
        4 => simd.sigmoid(x),
        5 => simd.selu(x),
        6 => simd.mul(x, simd.sigmoid(x)),
        _ => x,
    }
}

impl Job for Residual<'_> {
    fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.update.len() >= extent(self.positions, board, board));
        assert!(self.boards.len() >= extent(self.positions, board, board));
        assert!(self.scale_shift.len() >= extent(self.positions, 2 * self.channels, 2 * self.channels));
        assert!(self.largest.len() >= self.positions);
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the caller's.
        unsafe {
            if self.relu {
                add_residual_with::<S, true>(simd, self)
            } else {
                add_residual_with::<S, false>(simd, self)
            }
        }
    }
}

/// # Safety
/// `job` must have passed its check.
#[inline(always)]
unsafe fn add_residual_with<S: Simd, const RELU: bool>(simd: S, job: Residual<'_>) {
    let channels = job.channels;
    for position in 0..job.positions {
        let mut reached = simd.zero();
        for channel in (0..channels).step_by(S::LANES) {
            // SAFETY: the check covers these boards and scales.
            unsafe {
                let scale = job.scale_shift.as_ptr().add(position * 2 * channels + channel);
                let (scale, shift) = (simd.load(scale), simd.load(scale.add(channels)));
                for square in 0..64 {
                    let at = position * BOARD_SQUARES * channels + board_offset(square, channels) + channel;
                    let to = job.boards.as_mut_ptr().add(at);
                    let update = simd.mul_add(scale, simd.load(job.update.as_ptr().add(at)), shift);
                    let sum = simd.add(update, simd.load(to));
                    let v = if RELU { simd.max(sum, simd.zero()) } else { sum };
                    reached = simd.max(reached, if RELU { v } else { simd.magnitude(v) });
                    simd.store(to, v);
                }
            }
        }
        job.largest[position] = simd.largest(reached);
    }
}

impl Job for AddScaled<'_> {
    fn check(&self, lanes: usize) {
        assert!(self.to.len() == self.from.len() && self.to.len().is_multiple_of(lanes));
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the check made both slices equally long.
        unsafe {
            accumulate(
                simd,
                self.to.as_mut_ptr(),
                self.from.as_ptr(),
                self.to.len(),
                self.factor,
            )
        }
    }
}

/// `to += factor * from` for `length` numbers.
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

impl Job for Stamps<'_> {
    fn check(&self, lanes: usize) {
        let entry = self.channels.checked_mul(9).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.board.len() >= BOARD_SQUARES.checked_mul(self.channels).expect("fits"));
        let entries = self.table.len().checked_div(entry).unwrap_or(0);
        assert!(
            self.stamps
                .iter()
                .all(|stamp| stamp.square < 64 && usize::from(stamp.entry) < entries)
        );
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let channels = self.channels;
        for stamp in self.stamps {
            let square = usize::from(stamp.square);
            let corner = (square / 8 * BOARD_STRIDE + square % 8) * channels;
            for rank in 0..3 {
                // SAFETY: the check covers the table's entry and the 3×3 squares, three of them side by side.
                unsafe {
                    let from = self
                        .table
                        .as_ptr()
                        .add((usize::from(stamp.entry) * 3 + rank) * 3 * channels);
                    let to = self
                        .board
                        .as_mut_ptr()
                        .add(corner + rank * BOARD_STRIDE * channels);
                    accumulate(simd, to, from, 3 * channels, stamp.factor);
                }
            }
        }
    }
}

/// `Σ a[i] b[i]`, for slices of equal length.
#[derive(Debug)]
pub struct Dot<'a> {
    pub a: &'a [f32],
    pub b: &'a [f32],
}

impl Job for Dot<'_> {
    fn check(&self, _lanes: usize) {
        assert_eq!(self.a.len(), self.b.len(), "a dot product of unequal lengths");
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) -> f32 {
        let (mut a, mut b) = (self.a.chunks_exact(S::LANES), self.b.chunks_exact(S::LANES));
        let mut sum = simd.zero();
        for (a, b) in (&mut a).zip(&mut b) {
            // SAFETY: chunks are a vector long.
            unsafe { sum = simd.mul_add(simd.load(a.as_ptr()), simd.load(b.as_ptr()), sum) }
        }
        let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
        simd.sum(sum) + rest
    }
}

/// `x = norm(x + factor * branch) * gammas + betas`, row by row (Ba et al. 2016).
#[derive(Debug)]
pub struct Normalize<'a> {
    pub rows: usize,
    /// Numbers of a row before its padding.
    pub size: usize,
    /// From one row to the next, including padding.
    pub stride: usize,
    /// `[rows][stride]`
    pub x: &'a mut [f32],
    /// `[rows][stride]`
    pub branch: Option<&'a [f32]>,
    pub factor: f32,
    /// `[stride]`, 0 in the padding.
    pub gammas: &'a [f32],
    /// `[stride]`, 0 in the padding.
    pub betas: &'a [f32],
    pub epsilon: f32,
    /// The result rounded, too.
    pub rounded: Option<Rounded<'a>>,
}

/// Where rows go that a product reads.
#[derive(Debug)]
pub enum Rounded<'a> {
    /// Bits of bf16.
    Half(&'a mut [u16], Layout),
    /// `[rows][width]` integers, and each row's scale: what it was multiplied with is the inverse.
    Fixed(&'a mut [i16], &'a mut [f32]),
}

impl Rounded<'_> {
    fn check(&self, rows: usize, width: usize) {
        match self {
            Rounded::Half(to, layout) => {
                assert!(width.is_multiple_of(TILE_DEPTH) && to.len() >= layout.length(rows, width));
            }
            Rounded::Fixed(to, scales) => {
                assert!(to.len() >= extent(rows, width, width) && scales.len() >= rows);
            }
        }
    }
}

/// `x = softmax(scale * x + added)`, row by row.
#[derive(Debug)]
pub struct Softmax<'a> {
    pub rows: usize,
    /// A multiple of a vector, not 0.
    pub width: usize,
    /// `[rows][width]`
    pub x: &'a mut [f32],
    pub scale: f32,
    /// `[rows][width]`
    pub added: Option<&'a [f32]>,
}

/// `x = function(x)`, and the result rounded.
#[derive(Debug)]
pub struct Round<'a> {
    pub rows: usize,
    /// A multiple of a vector, of 32 for bf16.
    pub width: usize,
    pub function: Activation,
    /// `[rows][width]`
    pub x: &'a mut [f32],
    pub to: Rounded<'a>,
}

impl Job for Normalize<'_> {
    fn check(&self, lanes: usize) {
        assert!(self.stride.is_multiple_of(lanes) && self.size <= self.stride && self.size > 0);
        let length = extent(self.rows, self.stride, self.stride);
        assert!(self.x.len() >= length && self.branch.is_none_or(|branch| branch.len() >= length));
        assert!(self.gammas.len() >= self.stride && self.betas.len() >= self.stride);
        if let Some(rounded) = &self.rounded {
            rounded.check(self.rows, self.stride);
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let whole = self.size / S::LANES * S::LANES;
        let size = self.size as f32;
        let factor = simd.splat(self.factor);
        let mut rounded = self.rounded;
        for row in 0..self.rows {
            // SAFETY: the check covers all rows, and gammas and betas of a whole row with its padding.
            unsafe {
                let x = self.x.as_mut_ptr().add(row * self.stride);
                if let Some(branch) = self.branch {
                    let branch = branch.as_ptr().add(row * self.stride);
                    for i in (0..self.stride).step_by(S::LANES) {
                        let sum = simd.mul_add(factor, simd.load(branch.add(i)), simd.load(x.add(i)));
                        simd.store(x.add(i), sum);
                    }
                }
                let sum = sum_with(x, whole, simd, |sum, x| simd.add(sum, x));
                let rest = (whole..self.size).map(|i| *x.add(i)).sum::<f32>();
                let mean = (sum + rest) / size;
                let means = simd.splat(mean);
                let sum = sum_with(x, whole, simd, |sum, x| {
                    let difference = simd.sub(x, means);
                    simd.mul_add(difference, difference, sum)
                });
                let rest = (whole..self.size)
                    .map(|i| (*x.add(i) - mean).powi(2))
                    .sum::<f32>();
                let variance = (sum + rest) / size;
                let scale = simd.splat(1.0 / (variance + self.epsilon).sqrt());
                let mut reached = simd.zero();
                for i in (0..self.stride).step_by(S::LANES) {
                    let normal = simd.mul(simd.sub(simd.load(x.add(i)), means), scale);
                    let (gammas, betas) = (self.gammas.as_ptr().add(i), self.betas.as_ptr().add(i));
                    let result = simd.mul_add(normal, simd.load(gammas), simd.load(betas));
                    simd.store(x.add(i), result);
                    reached = simd.max(reached, simd.magnitude(result));
                    if let Some(Rounded::Half(to, layout)) = &mut rounded {
                        simd.store_bf16(to.as_mut_ptr().add(layout.place(row, i)), result);
                    }
                }
                if let Some(Rounded::Fixed(to, scales)) = &mut rounded {
                    let row_size = (self.stride, simd.largest(reached));
                    scales[row] = round_row(simd, x, row_size, to.as_mut_ptr().add(row * self.stride));
                }
            }
        }
    }
}

/// Sums up what `add` makes of `count` numbers. Four sums do not wait for each other.
///
/// # Safety
/// `x` must be valid for `count` numbers, a multiple of [`Simd::LANES`].
#[inline(always)]
unsafe fn sum_with<S: Simd>(
    x: *const f32,
    count: usize,
    simd: S,
    add: impl Fn(S::Vector, S::Vector) -> S::Vector,
) -> f32 {
    let [mut a, mut b, mut c, mut d] = [simd.zero(); 4];
    let fours = count / (4 * S::LANES) * (4 * S::LANES);
    // SAFETY: the caller's.
    unsafe {
        for i in (0..fours).step_by(4 * S::LANES) {
            a = add(a, simd.load(x.add(i)));
            b = add(b, simd.load(x.add(i + S::LANES)));
            c = add(c, simd.load(x.add(i + 2 * S::LANES)));
            d = add(d, simd.load(x.add(i + 3 * S::LANES)));
        }
        for i in (fours..count).step_by(S::LANES) {
            a = add(a, simd.load(x.add(i)));
        }
    }
    simd.sum(simd.add(simd.add(a, b), simd.add(c, d)))
}

impl Job for Softmax<'_> {
    fn check(&self, lanes: usize) {
        assert!(self.width > 0 && self.width.is_multiple_of(lanes));
        let length = extent(self.rows, self.width, self.width);
        assert!(self.x.len() >= length && self.added.is_none_or(|added| added.len() >= length));
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let scale = simd.splat(self.scale);
        for row in 0..self.rows {
            // SAFETY: the check covers all rows.
            unsafe {
                let x = self.x.as_mut_ptr().add(row * self.width);
                let added = self
                    .added
                    .map(|added| added.as_ptr().wrapping_add(row * self.width));
                let mut largest = simd.splat(f32::MIN);
                for i in (0..self.width).step_by(S::LANES) {
                    let score = simd.mul(scale, simd.load(x.add(i)));
                    let score = match added {
                        Some(added) => simd.add(score, simd.load(added.add(i))),
                        None => score,
                    };
                    largest = simd.max(largest, score);
                    simd.store(x.add(i), score);
                }
                let largest = simd.splat(simd.largest(largest));
                let mut sum = simd.zero();
                for i in (0..self.width).step_by(S::LANES) {
                    let power = simd.exp(simd.sub(simd.load(x.add(i)), largest));
                    sum = simd.add(sum, power);
                    simd.store(x.add(i), power);
                }
                let factor = simd.splat(1.0 / simd.sum(sum));
                for i in (0..self.width).step_by(S::LANES) {
                    simd.store(x.add(i), simd.mul(simd.load(x.add(i)), factor));
                }
            }
        }
    }
}

impl Job for Round<'_> {
    fn check(&self, lanes: usize) {
        assert!(self.width.is_multiple_of(lanes));
        assert!(self.x.len() >= extent(self.rows, self.width, self.width));
        self.to.check(self.rows, self.width);
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the caller's.
        unsafe { with_function!(self.function, round_with::<S>(simd, self)) }
    }
}

/// # Safety
/// `job` must have passed its check.
#[inline(always)]
unsafe fn round_with<S: Simd, const F: u8>(simd: S, mut job: Round<'_>) {
    for row in 0..job.rows {
        let x = &mut job.x[row * job.width..][..job.width];
        let largest = apply_with::<S, F>(simd, x);
        let x = x.as_ptr();
        // SAFETY: the check covers all rows.
        unsafe {
            match &mut job.to {
                Rounded::Half(to, layout) => {
                    for column in (0..job.width).step_by(S::LANES) {
                        let to = to.as_mut_ptr().add(layout.place(row, column));
                        simd.store_bf16(to, simd.load(x.add(column)));
                    }
                }
                Rounded::Fixed(to, scales) => {
                    let to = to.as_mut_ptr().add(row * job.width);
                    scales[row] = round_row(simd, x, (job.width, largest), to);
                }
            }
        }
    }
}
