//! The arithmetic of the native backend: a few operations, written once over vectors, compiled for each instruction set.
//!
//! [`Kernels`] is the whole interface of this folder. Each operation is a struct that names its operands; the entry
//! points check every size before the unchecked code runs, so that a wrong size is a panic and never a wild write. Only
//! this folder of the backend holds `unsafe` code. It knows nothing of networks.
//!
//! **Boards.** Activations of a position lie as `[10][10][channels]`: the 8×8 squares (a1 first) with a border of
//! zeros, which spares convolutions all edge cases. Channels are a multiple of [`CHANNEL_STEP`].

mod elementwise;
mod epilogue;
mod gemm;
mod portable;
mod rows;
mod simd;
mod tiles;
mod winograd;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_bf16;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;

pub(super) use elementwise::{AddScaled, Convolve, Residual, Stamp, Stamps};
pub(super) use epilogue::Epilogue;
pub(super) use gemm::Product;
pub(super) use rows::{BLOCK_ROWS, Normalize, Round, Softmax};
#[cfg(test)]
pub(super) use tiles::Definition;
pub(super) use tiles::{
    Collect, ROW_STEP, SPREAD_SQUARES, SPREAD_STRIDE, Spread, TILE_DEPTH, TileProduct, Tiles, spread_length,
};
pub(super) use winograd::{InputTransform, OutputTransform, transform_filter};

/// Channels are padded to a multiple of this: no vector is longer.
pub(super) const CHANNEL_STEP: usize = 16;
/// Squares from one rank of a board to the next.
pub(super) const BOARD_STRIDE: usize = 10;
/// Squares of a board with its border.
pub(super) const BOARD_SQUARES: usize = BOARD_STRIDE * BOARD_STRIDE;
/// Matrix products of a Winograd convolution: one per point of a transformed 6×6 tile.
pub(super) const POINTS: usize = 36;
/// Winograd tiles of a board: 4×4 outputs each.
pub(super) const TILES: usize = 4;

/// Returns the place of square `square` (0 a1 … 63 h8) on a board of `channels` channels.
pub(super) fn board_offset(square: usize, channels: usize) -> usize {
    ((square / 8 + 1) * BOARD_STRIDE + square % 8 + 1) * channels
}

/// Functions applied number by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointwise {
    /// `max(x, 0)`
    Relu,
    /// `max(x, 0)²`
    ReluSquared,
    /// `x tanh(ln(1 + e^x))`
    Mish,
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// Scaled exponential linear unit.
    Selu,
    /// `x sigmoid(x)`
    Swish,
}

/// The operations, compiled for one instruction set.
pub(super) trait Kernels: Send + Sync + Debug {
    /// Returns the name as in the option `kernel=`.
    fn name(&self) -> &'static str;

    /// Returns the columns of a full panel of packed weights: see [`Product`].
    fn panel(&self) -> usize;

    /// Multiplies matrices; see [`Product`].
    fn multiply(&self, job: Product<'_>);

    /// Transforms boards to Winograd tiles; see [`InputTransform`].
    fn transform_input(&self, job: InputTransform<'_>);

    /// Transforms products of Winograd tiles back to boards; see [`OutputTransform`].
    fn transform_output(&self, job: OutputTransform<'_>);

    /// Applies `function` to each of `values`.
    fn apply(&self, function: Pointwise, values: &mut [f32]);

    /// Ends a squeeze-and-excitation unit: see [`Residual`].
    fn add_residual(&self, job: Residual<'_>);

    /// Computes `to += factor * from`; see [`AddScaled`].
    fn add_scaled(&self, job: AddScaled<'_>);

    /// Adds up the sparse first layer; see [`Stamps`].
    fn stamp(&self, job: Stamps<'_>);

    /// Turns boards into operands of bf16 tiles; see [`Spread`].
    fn spread(&self, job: Spread<'_>);

    /// Turns sums of bf16 tiles into boards; see [`Collect`].
    fn collect(&self, job: Collect<'_>);

    /// Computes layer norms; see [`Normalize`].
    fn normalize(&self, job: Normalize<'_>);

    /// Computes softmaxes; see [`Softmax`].
    fn softmax(&self, job: Softmax<'_>);

    /// Turns rows into operands of bf16 tiles; see [`Round`].
    fn round(&self, job: Round<'_>);

    /// Computes one output of a 3×3 convolution; see [`Convolve`].
    fn convolve(&self, job: Convolve<'_>) -> f32;

    /// Runs many independent multiply-adds in registers, for benchmarks; returns their number, and a sum that keeps the
    /// compiler from leaving them out.
    fn spin(&self) -> (usize, f32);

    /// Computes `Σ a[i] b[i]`.
    ///
    /// # Panics
    /// Panics if the lengths differ.
    fn dot(&self, a: &[f32], b: &[f32]) -> f32;
}

/// Implements [`Kernels`] for a [`simd::Simd`]: each operation checks its operands, then enters code that the compiler
/// builds with the instruction set's attributes.
macro_rules! entry_points {
    ($simd:ty, $name:literal, [$($attribute:tt)*]) => {
        impl super::Kernels for $simd {
            fn name(&self) -> &'static str {
                $name
            }

            fn panel(&self) -> usize {
                <Self as super::simd::Simd>::LANES * <Self as super::simd::Simd>::COLUMNS
            }

            super::entry_points!(@ $simd, [$($attribute)*], multiply, super::gemm::multiply, (job: super::Product<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], transform_input, super::winograd::transform_input, (job: super::InputTransform<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], transform_output, super::winograd::transform_output, (job: super::OutputTransform<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], add_residual, super::elementwise::add_residual, (job: super::Residual<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], add_scaled, super::elementwise::add_scaled, (job: super::AddScaled<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], stamp, super::elementwise::stamp, (job: super::Stamps<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], spread, super::tiles::spread, (job: super::Spread<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], collect, super::tiles::collect, (job: super::Collect<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], normalize, super::rows::normalize, (job: super::Normalize<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], softmax, super::rows::softmax, (job: super::Softmax<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], round, super::rows::round, (job: super::Round<'_>));
            super::entry_points!(@ $simd, [$($attribute)*], convolve, super::elementwise::convolve, (job: super::Convolve<'_>) -> f32);

            fn apply(&self, function: super::Pointwise, values: &mut [f32]) {
                $($attribute)*
                unsafe fn enter(simd: $simd, function: super::Pointwise, values: &mut [f32]) {
                    super::elementwise::apply(simd, function, values)
                }
                // SAFETY: `self` proves that the CPU has the instruction set.
                unsafe { enter(*self, function, values) }
            }

            fn spin(&self) -> (usize, f32) {
                $($attribute)*
                unsafe fn enter(simd: $simd) -> (usize, f32) {
                    super::elementwise::spin(simd)
                }
                // SAFETY: `self` proves that the CPU has the instruction set.
                unsafe { enter(*self) }
            }

            fn dot(&self, a: &[f32], b: &[f32]) -> f32 {
                $($attribute)*
                unsafe fn enter(simd: $simd, a: &[f32], b: &[f32]) -> f32 {
                    super::elementwise::dot(simd, a, b)
                }
                assert_eq!(a.len(), b.len(), "a dot product of unequal lengths");
                // SAFETY: `self` proves that the CPU has the instruction set.
                unsafe { enter(*self, a, b) }
            }
        }
    };
    (@ $simd:ty, [$($attribute:tt)*], $method:ident, $generic:path, ($job:ident: $type:ty) $(-> $result:ty)?) => {
        fn $method(&self, $job: $type) $(-> $result)? {
            /// # Safety
            /// The CPU must have the instruction set, and the job must have passed its check.
            $($attribute)*
            unsafe fn enter(simd: $simd, job: $type) $(-> $result)? {
                // SAFETY: the caller checked the job.
                unsafe { $generic(simd, job) }
            }
            $job.check(<Self as super::simd::Simd>::LANES);
            // SAFETY: `self` proves that the CPU has the instruction set, and `check` what the job promises.
            unsafe { enter(*self, $job) }
        }
    };
}
use entry_points;

/// Returns all kernels that this CPU can run, the fastest first.
pub(super) fn available() -> Vec<Box<dyn Kernels>> {
    let mut all: Vec<Box<dyn Kernels>> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        all.extend(avx512::Avx512::detect().map(|kernels| Box::new(kernels) as Box<dyn Kernels>));
        all.extend(avx2::Avx2::detect().map(|kernels| Box::new(kernels) as Box<dyn Kernels>));
    }
    #[cfg(target_arch = "aarch64")]
    all.extend(neon::Neon::detect().map(|kernels| Box::new(kernels) as Box<dyn Kernels>));
    all.push(Box::new(portable::Portable));
    all
}

/// Returns the units of this CPU for products of bf16 matrices, the fastest first. Matrix tiles are here only if the
/// system lets us use them and they compute what they should.
pub(super) fn tiles() -> Vec<Arc<dyn Tiles>> {
    let mut all: Vec<Arc<dyn Tiles>> = Vec::new();
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    all.extend(amx::Amx::detect().map(|tiles| Arc::new(tiles) as Arc<dyn Tiles>));
    #[cfg(target_arch = "x86_64")]
    all.extend(avx512_bf16::Avx512Bf16::detect().map(|tiles| Arc::new(tiles) as Arc<dyn Tiles>));
    all
}

/// Returns the length that `count` blocks need which start `step` apart and hold `length` numbers each.
///
/// # Panics
/// Panics if that exceeds `usize`.
fn extent(count: usize, step: usize, length: usize) -> usize {
    let Some(last) = count.checked_sub(1) else { return 0 };
    last.checked_mul(step).and_then(|start| start.checked_add(length)).expect("sizes fit in memory")
}
