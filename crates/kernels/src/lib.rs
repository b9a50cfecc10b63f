//! The arithmetic of Zeitnot's native backend: operations written once over vectors and compiled for each
//! instruction set. All that it knows of networks is their activations. It is public for `zeitnot-engine`,
//! without a promise, and a package of its own as it takes longest to compile and changes seldom.
//!
//! [`Kernels::run`] is the whole interface, beside [`Tiles`] for products of bf16 matrices. Each operation is
//! a struct of its operands. All sizes are checked before the unchecked code runs, so that a wrong size is a
//! panic and never a wild write.
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
mod kernels;
mod operands;
mod operations;
mod rows;
mod simd;
mod sizes;
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

pub use activation::Activation;
pub use elementwise::{AddScaled, Apply, Dot, Normalize, Residual, Round, Rounded, Softmax, Stamp, Stamps};
pub use fixed::{FixedProduct, FixedSums, pack_fixed_dense, pack_fixed_filters, point_factors};
pub use folded::{
    ConvolveFolded, FinishStream, Fold, FoldedOutput, ScaledResidual, Unfold, folded_length, folded_offsets,
    stream_length,
};
pub use gemm::Product;
pub use kernels::{Kernels, Operation};
pub use operands::{BLOCK_ROWS, HalfRows, Layout, TILE_DEPTH, TILE_ROWS, pack_right};
pub use rows::{Attend, Dense, DenseOutput};
pub use sizes::{BOARD_SQUARES, BOARD_STRIDE, CHANNEL_STEP, POINTS, TILES, board_offset};
pub use tiles::Tiles;
pub use winograd::{Epilogue, FixedScales, InputTransform, OutputTransform, Transformed, transform_filter};
