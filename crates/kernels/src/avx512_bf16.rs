//! AVX512-BF16: an instruction that adds two products of bf16 numbers to each of 16 sums.
//!
//! Dense layers take half the time of fp32. A convolution needs four times Winograd's multiplications, gains
//! nothing, and runs only on request. The results are those of AMX.

use std::arch::x86_64::*;

use super::operands::{MATRIX, TILE_DEPTH, UNIT_ROWS};
use super::simd::Avx512;

/// Proof by [`Avx512Bf16::detect`] of AVX512-BF16 and AVX512BW.
#[derive(Clone, Copy, Debug)]
pub struct Avx512Bf16(Avx512);

/// Two numbers for each of 16 columns.
const PAIRS: usize = 32;

impl Avx512Bf16 {
    pub(crate) fn detect() -> Option<Avx512Bf16> {
        let usable = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512bf16");
        Avx512::detect().filter(|_| usable).map(Avx512Bf16)
    }

    pub(crate) fn vectors(self) -> Avx512 {
        self.0
    }

    /// # Safety
    /// As [`Tiles::multiply_rows`](super::Tiles), and the CPU must have what `self` proves.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(crate) unsafe fn multiply_rows(self, offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32) {
        let mut sums = [[_mm512_setzero_ps(); 2]; UNIT_ROWS];
        // SAFETY: the caller's.
        unsafe {
            for (step, &offset) in offsets.iter().enumerate() {
                multiply_step(
                    a.add(offset as usize),
                    TILE_DEPTH,
                    b.add(step * MATRIX),
                    &mut sums,
                );
            }
            store_sums(&sums, c);
        }
    }
}

/// Writes the sums of [`UNIT_ROWS`] rows.
///
/// # Safety
/// The CPU must have AVX512F. `c` must be valid for the rows of 32 numbers.
#[inline(always)]
pub(crate) unsafe fn store_sums(sums: &[[__m512; 2]; UNIT_ROWS], c: *mut f32) {
    for (i, &sum) in sums.iter().flatten().enumerate() {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_ps(c.add(i * 16), sum) }
    }
}

/// Adds the products of one step, 32 numbers of [`UNIT_ROWS`] rows that are `row` numbers apart, to the sums
/// of 32 columns.
///
/// # Safety
/// The CPU must have the instructions. `a` must be valid for these rows, and `b` for 1,024 numbers.
#[inline(always)]
pub(crate) unsafe fn multiply_step(
    a: *const u16,
    row: usize,
    b: *const u16,
    sums: &mut [[__m512; 2]; UNIT_ROWS],
) {
    // SAFETY: the caller's. Vectors of 16-bit integers and of bf16 are the same bits.
    unsafe {
        for pair in 0..TILE_DEPTH / 2 {
            let b = b.add(pair * PAIRS);
            let columns = [load_half(b), load_half(b.add(TILE_DEPTH * 16))];
            for (i, sums) in sums.iter_mut().enumerate() {
                let both: *const i32 = a.add(i * row + 2 * pair).cast();
                let both = std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(both.read_unaligned()));
                for (sum, columns) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_dpbf16_ps(*sum, both, columns);
                }
            }
        }
    }
}

/// # Safety
/// The CPU must have AVX512F. `from` must be valid for 32 numbers.
#[inline(always)]
unsafe fn load_half(from: *const u16) -> __m512bh {
    // SAFETY: the caller's. Both types are the same bits.
    unsafe { std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast())) }
}
