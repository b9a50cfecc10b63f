//! The units that multiply blocks of bf16 numbers: AMX, and AVX512-BF16, whose instruction adds two products
//! of bf16 numbers to each of 16 sums.

#[cfg(target_os = "linux")]
use std::arch::asm;
use std::arch::x86_64::*;

#[cfg(target_os = "linux")]
use super::amx::{Amx, configure, release};
use super::rows::MATRIX;
#[cfg(target_os = "linux")]
use super::rows::TILE_ROWS;
use super::rows_x86::{BLOCK, Left, Meanwhile, Unit};
use super::simd::Avx512;
use super::tiles::{Avx512Bf16, TILE_DEPTH, VECTOR_ROWS, multiply_step};

#[cfg(target_os = "linux")]
impl Unit for Amx {
    fn simd(self) -> Avx512 {
        self.vectors().vectors()
    }

    fn begin(self, rows: usize) {
        // SAFETY: `self` proves that tiles may be used.
        unsafe { configure(rows.min(TILE_ROWS)) }
    }

    fn end(self) {
        // SAFETY: `self` proves that tiles may be used.
        unsafe { release() }
    }

    /// Two by two tiles, or one by two where that holds all rows. Weights stream past the first cache, which
    /// belongs to `a`.
    ///
    /// Sums stay in tiles from one piece of assembly to the next: the compiler itself never uses tiles.
    #[inline(always)]
    unsafe fn multiply(
        self,
        a: Left,
        b: *const u16,
        steps: usize,
        c: *mut f32,
        meanwhile: &mut impl Meanwhile,
    ) {
        const ROW: usize = TILE_DEPTH * size_of::<u16>();
        const SUMS_ROW: usize = BLOCK * size_of::<f32>();
        let row = a.row * size_of::<u16>();
        let is_tall = a.rows > TILE_ROWS;
        let (mut upper, mut b) = (a.first, b);
        // SAFETY: the caller's. All registers that change are named.
        unsafe {
            asm!(
                "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                options(nostack, nomem, preserves_flags),
            );
            for _ in 0..steps {
                if is_tall {
                    asm!(
                        "tileloaddt1 tmm6, [{b} + {stride}*1]",
                        "tileloadd tmm4, [{upper} + {row}*1]",
                        "tileloaddt1 tmm7, [{b} + {stride}*1 + 1024]",
                        "tdpbf16ps tmm0, tmm4, tmm6",
                        "tileloadd tmm5, [{lower} + {row}*1]",
                        "tdpbf16ps tmm1, tmm4, tmm7",
                        "tdpbf16ps tmm2, tmm5, tmm6",
                        "tdpbf16ps tmm3, tmm5, tmm7",
                        b = in(reg) b,
                        upper = in(reg) upper,
                        lower = in(reg) upper.wrapping_add(TILE_ROWS * a.row),
                        row = in(reg) row,
                        stride = in(reg) ROW,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack, preserves_flags),
                    );
                } else {
                    asm!(
                        "tileloaddt1 tmm6, [{b} + {stride}*1]",
                        "tileloadd tmm4, [{upper} + {row}*1]",
                        "tileloaddt1 tmm7, [{b} + {stride}*1 + 1024]",
                        "tdpbf16ps tmm0, tmm4, tmm6",
                        "tdpbf16ps tmm1, tmm4, tmm7",
                        b = in(reg) b,
                        upper = in(reg) upper,
                        row = in(reg) row,
                        stride = in(reg) ROW,
                        out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                        options(nostack, preserves_flags),
                    );
                }
                upper = upper.wrapping_add(a.step);
                b = b.wrapping_add(MATRIX);
                meanwhile.step();
            }
            asm!(
                "tilestored [{c} + {row}*1], tmm0",
                "tilestored [{c} + {row}*1 + 64], tmm1",
                c = in(reg) c,
                row = in(reg) SUMS_ROW,
                options(nostack, preserves_flags),
            );
            if is_tall {
                asm!(
                    "tilestored [{c} + {row}*1], tmm2",
                    "tilestored [{c} + {row}*1 + 64], tmm3",
                    c = in(reg) c.add(TILE_ROWS * BLOCK),
                    row = in(reg) SUMS_ROW,
                    options(nostack, preserves_flags),
                );
            }
        }
    }
}

impl Unit for Avx512Bf16 {
    fn simd(self) -> Avx512 {
        self.vectors()
    }

    fn begin(self, _rows: usize) {}

    fn end(self) {}

    #[inline(always)]
    unsafe fn multiply(
        self,
        a: Left,
        b: *const u16,
        steps: usize,
        c: *mut f32,
        meanwhile: &mut impl Meanwhile,
    ) {
        let row = a.row;
        for first in (0..a.rows).step_by(VECTOR_ROWS) {
            // SAFETY: the caller's. Rows are read, and written, up to a multiple of 8.
            unsafe {
                let mut sums = [[_mm512_setzero_ps(); 2]; VECTOR_ROWS];
                for step in 0..steps {
                    let (a, b) = (a.first.add(first * a.row + step * a.step), b.add(step * MATRIX));
                    multiply_step(a, row, b, &mut sums);
                }
                for (i, sums) in sums.iter().enumerate() {
                    for (half, &sum) in sums.iter().enumerate() {
                        _mm512_storeu_ps(c.add((first + i) * BLOCK + half * 16), sum);
                    }
                }
                // As many as the block has steps, about
                for _ in 0..steps.div_ceil(BLOCK / VECTOR_ROWS) {
                    meanwhile.step();
                }
            }
        }
    }
}
