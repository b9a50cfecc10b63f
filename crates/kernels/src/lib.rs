//! The arithmetic of Zeitnot's native backend: operations written once over vectors and compiled for each
//! instruction set. All that it knows of networks is their activations. It is public for `zeitnot-engine`,
//! without a promise, and a package of its own as it takes longest to compile and changes seldom.
//!
//! [`Kernels::run`] is the whole interface, beside [`Tiles`] for products of bf16 matrices. Each operation is
//! a struct of its operands. All sizes are checked before the unchecked code runs, so that a wrong size is a
//! panic and never a wild write. Of the backend, only this package holds `unsafe` code.
//!
//! **Boards.** A position's activations lie as `[10][10][channels]`: the 8×8 squares (a1 first) with a border
//! of zeros, which spares convolutions all edge cases. Channels are a multiple of [`CHANNEL_STEP`].
//! Convolutions in bf16 have their own layout ([`folded`]).

mod activation;
mod definition;
mod elementwise;
mod fixed;
mod folded;
mod gemm;
mod operands;
mod rows;
mod simd;
mod speed;
mod tiles;
mod winograd;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512_bf16;
#[cfg(target_arch = "x86_64")]
mod fixed_x86;
#[cfg(target_arch = "x86_64")]
mod rows_units;
#[cfg(target_arch = "x86_64")]
mod rows_x86;

#[cfg(target_arch = "aarch64")]
use simd::Neon;
#[cfg(target_arch = "x86_64")]
use simd::{Avx2, Avx512, Multiplier};
use simd::{Fused, Portable, Simd};

pub use activation::Activation;
pub use elementwise::{AddScaled, Apply, Dot, Normalize, Residual, Round, Rounded, Softmax, Stamp, Stamps};
pub use fixed::{FixedProduct, FixedSums, pack_fixed_dense, pack_fixed_filters, point_factors};
pub use folded::{
    ConvolveFolded, FinishStream, Fold, FoldedOutput, ScaledResidual, Unfold, folded_length, folded_offsets,
    stream_length,
};
pub use gemm::Product;
pub use operands::{BLOCK_ROWS, HalfRows, Layout, TILE_DEPTH, TILE_ROWS, pack_right};
pub use rows::{Attend, Dense, DenseOutput};
pub use tiles::Tiles;
pub use winograd::{Epilogue, FixedScales, InputTransform, OutputTransform, Transformed, transform_filter};

/// Channels are padded to a multiple of this, the longest vector.
pub const CHANNEL_STEP: usize = 16;
/// From one rank of a board to the next.
pub const BOARD_STRIDE: usize = 10;
pub const BOARD_SQUARES: usize = BOARD_STRIDE * BOARD_STRIDE;
/// Matrix products of a Winograd convolution, one per point of a transformed 6×6 tile.
pub const POINTS: usize = 36;
pub const TILES: usize = 4;

/// Offset of `square` (0 a1 … 63 h8) on a board.
pub fn board_offset(square: usize, channels: usize) -> usize {
    ((square / 8 + 1) * BOARD_STRIDE + square % 8 + 1) * channels
}

/// An operation as it is written, for any instruction set.
trait Job: Operation {
    /// Panics unless all operands fit vectors of `lanes` numbers.
    fn check(&self, lanes: usize);

    /// # Safety
    /// It must have passed its check.
    unsafe fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Instruction sets, fastest first: the name as in the option `kernel=`, and what the compiler must enable.
macro_rules! kernels {
    ($($(#[$cfg:meta])? $set:ident $name:literal [$($attribute:tt)*];)*) => {
        #[derive(Clone, Copy, Debug)]
        pub enum Kernels {
            $($(#[$cfg])? $set($set),)*
        }

        impl Kernels {
            fn detect() -> impl Iterator<Item = Kernels> {
                [$($(#[$cfg])? $set::detect().map(Kernels::$set),)*].into_iter().flatten()
            }

            fn lanes(self) -> usize {
                match self {
                    $($(#[$cfg])? Kernels::$set(_) => $set::LANES,)*
                }
            }

            pub fn name(self) -> &'static str {
                #[cfg(target_arch = "x86_64")]
                if let Kernels::Avx2(avx2) = self {
                    return avx2.0.name();
                }
                match self {
                    $($(#[$cfg])? Kernels::$set(_) => $name,)*
                }
            }

            /// See [`Product`].
            pub fn panel(self) -> usize {
                match self {
                    $($(#[$cfg])? Kernels::$set(_) => $set::LANES * $set::COLUMNS,)*
                }
            }

            pub fn run<O: Operation>(self, operation: O) -> O::Output {
                operation.run_on(self)
            }

            fn enter<J: Job>(self, job: J) -> J::Output {
                match self {
                    $($(#[$cfg])? Kernels::$set(simd) => {
                        /// # Safety
                        /// The CPU must have the instruction set, and the job must have passed its check.
                        $($attribute)*
                        unsafe fn enter<J: Job>(simd: $set, job: J) -> J::Output {
                            // SAFETY: the caller checked the job.
                            unsafe { job.run(simd) }
                        }
                        job.check($set::LANES);
                        // SAFETY: `simd` proves that the CPU has the instruction set, and `check` what the
                        // job promises.
                        unsafe { enter(simd, job) }
                    })*
                }
            }
        }
    };
}

/// Results depend on how many lanes are added up together.
const FIXED_LANES: usize = 8;

impl Kernels {
    /// Those of this CPU for single precision and bf16, fastest first.
    pub fn available() -> Vec<Kernels> {
        Kernels::detect()
            .filter(|kernels| !matches!(kernels, Kernels::Fused(_)))
            .collect()
    }

    /// Those of this CPU for fixed point, fastest first. All compute the same bits.
    pub fn fixed() -> Vec<Kernels> {
        let detected = Kernels::detect().filter(|kernels| kernels.lanes() == FIXED_LANES);
        #[cfg(target_arch = "x86_64")]
        let detected = detected.flat_map(|kernels| match kernels {
            Kernels::Avx2(_) => Multiplier::available()
                .map(|multiplier| Kernels::Avx2(Avx2(multiplier)))
                .collect(),
            other => vec![other],
        });
        detected.collect()
    }
}

/// An operation with its operands. [`Kernels::run`] runs it.
pub trait Operation {
    type Output;

    /// Panics if a size is wrong.
    fn run_on(self, kernels: Kernels) -> Self::Output;
}

/// Compiles the operations here: code that is generic would be compiled wherever it is called.
macro_rules! operations {
    ($($output:ty: $($operation:ident),*;)*) => {
        $($(impl Operation for $operation<'_> {
            type Output = $output;

            fn run_on(self, kernels: Kernels) -> $output {
                kernels.enter(self)
            }
        })*)*
    };
}

operations! {
    (): AddScaled, ConvolveFolded, FinishStream, Fold, InputTransform, Normalize, OutputTransform,
        Product, Residual, Round, Softmax, Stamps, Unfold;
    f32: Apply, Dot;
}

impl Operation for FixedProduct<'_> {
    type Output = ();

    fn run_on(self, kernels: Kernels) {
        self.check();
        match kernels {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the CPU has AVX2 and its multiplier, and sizes are checked.
            Kernels::Avx2(avx2) => unsafe { fixed_x86::multiply(avx2.0, self) },
            _ => self.define(),
        }
    }
}

kernels! {
    #[cfg(target_arch = "x86_64")] Avx512 "avx512" [#[target_feature(enable = "avx512f")]];
    #[cfg(target_arch = "x86_64")] Avx2 "avx2" [#[target_feature(enable = "avx2,fma")]];
    #[cfg(target_arch = "aarch64")] Neon "neon" [#[target_feature(enable = "neon")]];
    Portable "portable" [];
    Fused "portable" [];
}

/// The length of `count` blocks of `length` numbers, `step` apart. Panics if that exceeds `usize`.
fn extent(count: usize, step: usize, length: usize) -> usize {
    let Some(last) = count.checked_sub(1) else {
        return 0;
    };
    last.checked_mul(step)
        .and_then(|start| start.checked_add(length))
        .expect("sizes fit in memory")
}
