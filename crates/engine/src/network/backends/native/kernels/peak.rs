//! The peak of a CPU: what its multiplication units compute undisturbed.

use std::hint::black_box;

use super::Job;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::amx;
use super::operands::{MATRIX, TILE_DEPTH, UNIT_ROWS};
use super::simd::Simd;
use super::tiles::Tiles;

/// Multiplies in registers, or matrices in the L1 cache, and counts the operations, two for each
/// multiplication.
#[derive(Debug)]
pub(crate) struct Peak {
    /// For bf16, else fp32.
    pub(crate) tiles: Option<Tiles>,
    pub(crate) rounds: usize,
}

#[repr(align(64))]
struct Aligned<const N: usize>([u16; N]);

impl Job for Peak {
    type Output = usize;

    fn check(&self, _lanes: usize) {}

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) -> usize {
        let Some(tiles) = self.tiles else { return multiply_registers(simd, self.rounds) };
        // Varied bits: zeros take less power, and then a CPU may be faster.
        let number = |i: usize| (i * 7919 % 0x3f80) as u16;
        let (a, b) = (Aligned(std::array::from_fn(number)), Aligned(std::array::from_fn(number)));
        let (a, b): (&[u16; MATRIX], &[u16; MATRIX]) = (&a.0, &b.0);
        let mut sums = vec![0.0; MATRIX];
        let rows = if tiles.name() == "amx" { TILE_DEPTH } else { UNIT_ROWS };
        tiles.begin();
        for _ in 0..self.rounds {
            // SAFETY: `a` holds all that a step reads, `b` its weights, `sums` more than a unit's rows.
            unsafe {
                match tiles {
                    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
                    Tiles::Amx(_) => amx::add(a.as_ptr(), a[MATRIX / 2..].as_ptr(), TILE_DEPTH, b.as_ptr()),
                    _ => tiles.multiply_rows(&[0], a.as_ptr(), b.as_ptr(), sums.as_mut_ptr()),
                }
            }
        }
        tiles.end();
        black_box(&mut sums);
        self.rounds * 2 * rows * MATRIX
    }
}

/// Uses as many registers as a tile of [`Product`](super::Product).
#[inline(always)]
fn multiply_registers<S: Simd>(simd: S, rounds: usize) -> usize {
    let factor = simd.splat(black_box(0.5));
    let mut sums = [[simd.zero(); 4]; 6];
    for (i, row) in sums.iter_mut().enumerate() {
        for (j, sum) in row.iter_mut().enumerate() {
            *sum = simd.splat((i * 4 + j) as f32);
        }
    }
    for _ in 0..rounds {
        for row in sums.iter_mut().take(S::ROWS) {
            for sum in row.iter_mut().take(S::COLUMNS) {
                *sum = simd.mul_add(*sum, factor, factor);
            }
        }
    }
    let mut total = simd.zero();
    for row in &sums {
        for &sum in row {
            total = simd.add(total, sum);
        }
    }
    black_box(simd.sum(total));
    rounds * S::ROWS * S::COLUMNS * S::LANES * 2
}
