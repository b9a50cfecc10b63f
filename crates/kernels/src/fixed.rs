//! Products in 16-bit fixed point: dense layers, and Winograd convolutions.
//!
//! Activations and weights are 16-bit integers, and their sums **cannot overflow** 32 bits: the scale of a
//! row or board bounds its activations, and the weights of an output are scaled so that the sum of their
//! magnitudes, times that bound, stays below 2^31. So sums are exact, whatever the order of additions. With
//! the other operations in vectors of eight lanes ([`fixed`](super::Kernels::fixed)), results are the same
//! bits in every batch and on every machine.

use super::simd::Simd;
use super::sizes::{POINTS, extent};

/// Columns of a panel of weights.
pub(crate) const PANEL: usize = 16;
/// What a sum may reach: 2^31, less for rounding.
const LARGEST_SUM: f64 = 2_147_000_000.0;
const LARGEST_WEIGHT: f64 = 32767.0;
/// Bound of a tile's activations, most of which are far below it.
const LARGEST_IN_TILE: f64 = 16383.0;
/// Inputs of a convolution that are summed as integers, before the sums are added in fp32. More would leave
/// fewer bits for weights.
pub(crate) const PART: usize = 128;
/// Rows and boards with smaller numbers count as zeros, so that no inverse is infinite.
const SMALLEST: f32 = 1e-30;

/// Bound of the activations in rows of `width`. Wide rows have many weights, which need more
/// bits.
fn largest_in_row(width: usize) -> f32 {
    if width < 1024 { 8191.0 } else { 4095.0 }
}

pub(crate) fn inverse(largest: f32) -> f32 {
    if largest > SMALLEST { 1.0 / largest } else { 0.0 }
}

/// Rounds a row to integers, and returns its scale: number = integer * scale.
///
/// # Safety
/// `from` and `to` must be valid for `width` numbers, a multiple of [`Simd::LANES`].
#[inline(always)]
pub(crate) unsafe fn round_row<S: Simd>(
    simd: S,
    from: *const f32,
    (width, largest): (usize, f32),
    to: *mut i16,
) -> f32 {
    // SAFETY: the caller's.
    unsafe {
        let bound = largest_in_row(width);
        let factor = simd.splat(bound * inverse(largest));
        for i in (0..width).step_by(S::LANES) {
            simd.store_i16(to.add(i), simd.mul(factor, simd.load(from.add(i))));
        }
        largest / bound
    }
}

/// The place of a weight in `[outputs / 16][inputs / 2][16][2]`.
fn place(inputs: usize, input: usize, output: usize) -> usize {
    ((output / PANEL * (inputs / 2) + input / 2) * PANEL + output % PANEL) * 2 + input % 2
}

/// The smallest scale of integer weights whose products with activations of at most `bound` fit a sum, for
/// one output's weights, a `part` of them summed together.
fn smallest_scale(weights: &[f32], part: usize, bound: f64) -> f64 {
    let magnitudes = |part: &[f32]| part.iter().map(|weight| f64::from(weight.abs())).sum();
    let sum = weights.chunks(part).map(magnitudes).fold(0.0, f64::max);
    let most = weights
        .iter()
        .fold(0.0, |most: f64, weight| most.max(f64::from(weight.abs())));
    // Rounding adds at most 1/2 to a weight, and 1 to an activation.
    let room = LARGEST_SUM / (bound + 1.0) - part.min(weights.len()) as f64 / 2.0;
    (sum / room).max(most / LARGEST_WEIGHT)
}

fn round_weight(weight: f32, scale: f64) -> i16 {
    if scale > 0.0 {
        (f64::from(weight) / scale).round_ties_even() as i16
    } else {
        0
    }
}

/// Packs a dense layer's weights for [`FixedProduct`], and returns the outputs' scales. Inputs and outputs
/// are multiples of 16.
pub fn pack_fixed_dense(
    (inputs, outputs): (usize, usize),
    weight: impl Fn(usize, usize) -> f32,
    to: &mut [i16],
) -> Vec<f32> {
    let pack_output = |output: usize| {
        let weights: Vec<f32> = (0..inputs).map(|input| weight(input, output)).collect();
        let scale = smallest_scale(&weights, inputs, largest_in_row(inputs).into());
        for (input, &weight) in weights.iter().enumerate() {
            to[place(inputs, input, output)] = round_weight(weight, scale);
        }
        scale as f32
    };
    (0..outputs).map(pack_output).collect()
}

/// Sums of the positive and of the negative numbers in each row of `Bᵀ`.
const PARTS: [(f64, f64); 6] = [
    (5.0, 5.0),
    (2.0, 8.0),
    (5.0, 5.0),
    (3.0, 3.0),
    (3.0, 3.0),
    (5.0, 5.0),
];
/// Scales of a row or column of products, which the output transform applies.
pub(crate) const FOLDED: [f32; 6] = [0.75, 1.0, 1.0, 0.375, 0.375, 3.0];

/// The largest magnitude at a point of a tile of numbers in `0..=1`, or in `-1..=1` if `signed`.
fn bound_of(point: usize, signed: bool) -> f64 {
    let ((p, n), (q, m)) = (PARTS[point / 6], PARTS[point % 6]);
    if signed {
        (p + n) * (q + m)
    } else {
        // Below zero it is p * m + n * q, which is no more, as no row has more positive parts.
        p * q + n * m
    }
}

/// What the points of a tile are multiplied with, on a board whose largest magnitude is 1. `signed` says
/// whether it may have negative numbers.
pub fn point_factors(signed: bool) -> [f32; POINTS] {
    std::array::from_fn(|point| (LARGEST_IN_TILE / bound_of(point, signed)) as f32)
}

/// Packs filters (see [`transform_filter`](super::transform_filter)) for [`FixedProduct`], those of a point
/// side by side, and returns the outputs' scales on such a board. Inputs and outputs are multiples of 16.
pub fn pack_fixed_filters(
    (inputs, outputs): (usize, usize),
    signed: bool,
    filter: impl Fn(usize, usize) -> [f32; POINTS],
    to: &mut [i16],
) -> Vec<f32> {
    // What an integer of 1 of a tile stands for, before the output transform.
    let unit = |point: usize| {
        let folded = FOLDED[point / 6] * FOLDED[point % 6];
        bound_of(point, signed) / (LARGEST_IN_TILE * f64::from(folded))
    };
    let pack_output = |output: usize| {
        let filters: Vec<_> = (0..inputs).map(|input| filter(input, output)).collect();
        let of_point = |point: usize| -> Vec<f32> { filters.iter().map(|filter| filter[point]).collect() };
        let scale = (0..POINTS)
            .map(|point| smallest_scale(&of_point(point), PART, LARGEST_IN_TILE) * unit(point))
            .fold(0.0, f64::max);
        for point in 0..POINTS {
            for (input, &weight) in of_point(point).iter().enumerate() {
                let at = point * inputs * outputs + place(inputs, input, output);
                to[at] = round_weight(weight, scale / unit(point));
            }
        }
        scale as f32
    };
    (0..outputs).map(pack_output).collect()
}

/// Where the sums of a product go.
#[derive(Debug)]
pub enum FixedSums<'a> {
    /// As they are, those of each 128 inputs added in fp32.
    Parts(&'a mut [f32]),
    /// `sum * row_scale * scale + bias`
    Scaled {
        to: &'a mut [f32],
        /// `[rows]`
        row_scales: &'a [f32],
        /// `[width]`
        scales: &'a [f32],
        /// `[width]`
        bias: &'a [f32],
    },
}

/// `c[i] = a[i] b[i]` for `count` matrices of integers, with distances as in
/// [`Product`](super::Product).
#[derive(Debug)]
pub struct FixedProduct<'a> {
    pub count: usize,
    pub rows: usize,
    /// A multiple of 16, not 0.
    pub inner: usize,
    /// A multiple of 16.
    pub width: usize,
    pub a: &'a [i16],
    pub a_row: usize,
    pub a_step: usize,
    /// `[width / 16][inner / 2][16][2]` each.
    pub b: &'a [i16],
    pub b_step: usize,
    /// One matrix only if scaled.
    pub c: FixedSums<'a>,
    pub c_row: usize,
    pub c_step: usize,
}

impl FixedProduct<'_> {
    pub(crate) fn check(&self) {
        assert!(self.inner > 0 && self.inner.is_multiple_of(PANEL) && self.width.is_multiple_of(PANEL));
        let right = self.inner.checked_mul(self.width).expect("fits");
        assert!(self.a.len() >= extent(self.count, self.a_step, extent(self.rows, self.a_row, self.inner)));
        assert!(self.b.len() >= extent(self.count, self.b_step, right));
        let length = extent(self.count, self.c_step, extent(self.rows, self.c_row, self.width));
        match &self.c {
            FixedSums::Parts(c) => assert!(c.len() >= length),
            FixedSums::Scaled {
                to,
                row_scales,
                scales,
                bias,
            } => {
                assert!(self.count == 1 && to.len() >= length && row_scales.len() >= self.rows);
                assert!(scales.len() >= self.width && bias.len() >= self.width);
            }
        }
    }

    /// By loops on any CPU.
    pub(crate) fn define(mut self) {
        let rows = (0..self.count).flat_map(|i| (0..self.rows).map(move |row| (i, row)));
        for (i, row) in rows {
            let a = &self.a[i * self.a_step + row * self.a_row..][..self.inner];
            for column in 0..self.width {
                let b = &self.b[i * self.b_step..];
                let product = |k: usize| i32::from(a[k]).wrapping_mul(b[place(self.inner, k, column)].into());
                // Nothing wraps but numbers that are not finite.
                let sum_of = |first: usize, part: usize| {
                    (first..self.inner.min(first + part))
                        .map(product)
                        .fold(0, i32::wrapping_add) as f32
                };
                let at = i * self.c_step + row * self.c_row + column;
                match &mut self.c {
                    FixedSums::Parts(c) => {
                        let parts = (0..self.inner).step_by(PART).map(|first| sum_of(first, PART));
                        c[at] = parts.reduce(|sum, part| sum + part).unwrap_or(0.0);
                    }
                    FixedSums::Scaled {
                        to,
                        row_scales,
                        scales,
                        bias,
                    } => {
                        let sum = sum_of(0, self.inner);
                        to[at] = sum.mul_add(row_scales[row] * scales[column], bias[column]);
                    }
                }
            }
        }
    }
}
