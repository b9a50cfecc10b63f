//! AVX512-BF16: an instruction that adds two products of bf16 numbers to each of 16 sums.
//!
//! Dense layers take half the time of fp32. A convolution needs four times Winograd's multiplications, so that it gains
//! nothing and runs only when asked for; it computes what AMX computes, and tells on more CPUs what bf16 costs.

use std::arch::x86_64::*;

use super::tiles::{TILE_DEPTH, TileProduct, Tiles};

/// AVX512-BF16, proven by [`Avx512Bf16::detect`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512Bf16(());

/// Squares whose sums stay in registers together.
const ROWS: usize = 8;
/// Numbers in a row of a right operand: two for each of 16 columns.
const PAIRS: usize = 32;

impl Avx512Bf16 {
    /// Returns the instruction set, if this CPU and system have it.
    pub(super) fn detect() -> Option<Avx512Bf16> {
        let usable = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
        usable.then_some(Avx512Bf16(()))
    }
}

impl Tiles for Avx512Bf16 {
    fn name(&self) -> &'static str {
        "avx512"
    }

    fn outruns_winograd(&self) -> bool {
        false
    }

    fn multiply(&self, job: TileProduct<'_>) {
        job.check();
        let steps = job.offsets.len();
        for block in 0..job.width / TILE_DEPTH {
            for (position, first) in (0..job.positions)
                .flat_map(|position| (0..job.rows).step_by(ROWS).map(move |first| (position, first)))
            {
                // SAFETY: `self` proves that the CPU has the instructions; the check covers all operands of each block.
                unsafe {
                    multiply_rows(
                        job.offsets,
                        job.a.as_ptr().add(position * job.a_step + first * TILE_DEPTH),
                        job.b.as_ptr().add(block * steps * TILE_DEPTH * TILE_DEPTH),
                        job.c.as_mut_ptr().add((position * 64 + first) * job.width + block * TILE_DEPTH),
                        job.width,
                    );
                }
            }
        }
    }
}

/// Computes [`ROWS`] rows by 32 columns: `c = Σ over steps of a[offset] b[step]`.
///
/// # Safety
/// The CPU must have the instructions; `a` must be valid from each offset for [`ROWS`] rows of 32 numbers, `b` for 1,024
/// numbers a step, and `c` for [`ROWS`] rows of 32 numbers that are `width` numbers apart.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_rows(offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32, width: usize) {
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    // SAFETY: the caller's. Vectors of 16-bit integers and of bf16 are the same bits.
    unsafe {
        let row =
            |from: *const u16| std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast()));
        for (step, &offset) in offsets.iter().enumerate() {
            let (a, b) = (a.add(offset as usize), b.add(step * TILE_DEPTH * TILE_DEPTH));
            for pair in 0..TILE_DEPTH / 2 {
                let b = b.add(pair * PAIRS);
                let columns = [row(b), row(b.add(TILE_DEPTH * 16))];
                for (i, sums) in sums.iter_mut().enumerate() {
                    let both: *const i32 = a.add(i * TILE_DEPTH + 2 * pair).cast();
                    let both =
                        std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(both.read_unaligned()));
                    for (sum, columns) in sums.iter_mut().zip(columns) {
                        *sum = _mm512_dpbf16_ps(*sum, both, columns);
                    }
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (half, &sum) in sums.iter().enumerate() {
                _mm512_storeu_ps(c.add(i * width + half * 16), sum);
            }
        }
    }
}
