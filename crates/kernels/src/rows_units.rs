//! The units that multiply blocks of bf16 numbers: AMX, and AVX512-BF16.

use std::arch::x86_64::*;

#[cfg(target_os = "linux")]
use super::amx::{self, Amx};
use super::avx512_bf16::{Avx512Bf16, multiply_step, store_sums};
#[cfg(target_os = "linux")]
use super::operands::TILE_ROWS;
use super::operands::{MATRIX, TILE_DEPTH, UNIT_ROWS};
use super::rows_x86::{BLOCK, Left, Meanwhile, Unit};
use super::simd::Avx512;

#[cfg(target_os = "linux")]
impl Unit for Amx {
    fn simd(self) -> Avx512 {
        self.vectors().vectors()
    }

    fn begin(self, rows: usize) {
        self.configure(rows);
    }

    fn end(self) {
        self.release();
    }

    /// Two by two tiles, or one by two where that holds all rows.
    #[inline(always)]
    unsafe fn multiply(
        self,
        a: Left,
        b: *const u16,
        steps: usize,
        c: *mut f32,
        meanwhile: &mut impl Meanwhile,
    ) {
        let is_tall = a.rows > TILE_ROWS;
        // SAFETY: the caller's.
        unsafe {
            amx::clear();
            for step in 0..steps {
                let upper = a.first.add(step * a.step);
                let b = b.add(step * MATRIX);
                if is_tall {
                    amx::add(upper, upper.add(TILE_ROWS * a.row), a.row, b);
                } else {
                    amx::add_upper(upper, a.row, b);
                }
                meanwhile.step();
            }
            if is_tall {
                amx::store(c);
            } else {
                amx::store_upper(c);
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
        for first in (0..a.rows).step_by(UNIT_ROWS) {
            // SAFETY: the caller's. Rows are read, and written, up to a multiple of 8.
            unsafe {
                let mut sums = [[_mm512_setzero_ps(); 2]; UNIT_ROWS];
                for step in 0..steps {
                    let from = a.first.add(first * a.row + step * a.step);
                    let b = b.add(step * MATRIX);
                    multiply_step(from, a.row, b, &mut sums);
                }
                store_sums(&sums, c.add(first * TILE_DEPTH));
                // About as many as the block has steps.
                for _ in 0..steps.div_ceil(BLOCK / UNIT_ROWS) {
                    meanwhile.step();
                }
            }
        }
    }
}
