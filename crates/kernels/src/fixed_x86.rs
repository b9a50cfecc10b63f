//! Products in fixed point with AVX2.
//!
//! In assembly, since compilers spill sums or reorder instructions, which costs half of the gain.

use std::arch::asm;
use std::arch::x86_64::*;

use super::fixed::{FixedProduct, FixedSums, PANEL, PART};

/// Rows by a panel, and where their sums go.
#[derive(Clone, Copy)]
struct Tile {
    /// Pairs of inputs, a multiple of 8.
    pairs: usize,
    a: *const i16,
    a_row: usize,
    b: *const i16,
    /// The panel to prefetch.
    ahead: *const i16,
    c: *mut f32,
    c_row: usize,
    finish: Finish,
}

#[derive(Clone, Copy)]
enum Finish {
    Store,
    Add,
    Scale {
        row_scales: *const f32,
        scales: *const f32,
        bias: *const f32,
    },
}

/// # Safety
/// The CPU must have AVX2 and FMA, and the job must have passed its check.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply(job: FixedProduct<'_>) {
    let FixedProduct {
        inner, a_row, c_row, ..
    } = job;
    let (c, finish) = match job.c {
        FixedSums::Parts(c) => (c.as_mut_ptr(), Finish::Store),
        FixedSums::Scaled {
            to,
            row_scales,
            scales,
            bias,
        } => {
            let (row_scales, scales, bias) = (row_scales.as_ptr(), scales.as_ptr(), bias.as_ptr());
            let finish = Finish::Scale {
                row_scales,
                scales,
                bias,
            };
            (to.as_mut_ptr(), finish)
        }
    };
    let part = match finish {
        Finish::Store | Finish::Add => PART.min(inner),
        Finish::Scale { .. } => inner,
    };
    for i in 0..job.count {
        for column in (0..job.width).step_by(PANEL) {
            let b = job.b.as_ptr().wrapping_add(i * job.b_step + inner * column);
            let mut tile = Tile {
                pairs: part / 2,
                a: job.a.as_ptr().wrapping_add(i * job.a_step),
                a_row,
                b,
                ahead: b.wrapping_add(inner * PANEL),
                c: c.wrapping_add(i * job.c_step + column),
                c_row,
                finish: finish.advanced(0, column),
            };
            let mut row = 0;
            while row < job.rows {
                // SAFETY: the check covers all rows and panels. No more rows are taken than are left, and
                // parts lie within the operands.
                unsafe {
                    let done = multiply_rows(&tile, job.rows - row, row == 0);
                    for first in (part..inner).step_by(part) {
                        let next = Tile {
                            pairs: part.min(inner - first) / 2,
                            a: tile.a.wrapping_add(first),
                            b: tile.b.wrapping_add(first * PANEL),
                            ahead: tile.ahead.wrapping_add(first * PANEL),
                            finish: Finish::Add,
                            ..tile
                        };
                        multiply_rows(&next, job.rows - row, row == 0);
                    }
                    tile.a = tile.a.wrapping_add(done * a_row);
                    tile.c = tile.c.wrapping_add(done * c_row);
                    tile.finish = tile.finish.advanced(done, 0);
                    row += done;
                }
            }
        }
    }
}

impl Finish {
    fn advanced(self, rows: usize, columns: usize) -> Finish {
        match self {
            Finish::Scale {
                row_scales,
                scales,
                bias,
            } => Finish::Scale {
                row_scales: row_scales.wrapping_add(rows),
                scales: scales.wrapping_add(columns),
                bias: bias.wrapping_add(columns),
            },
            other => other,
        }
    }
}

/// Computes the next rows, at most `left`, and returns their number. Eight are best as four and four. The
/// first ones prefetch the next panel.
///
/// # Safety
/// The tile's operands must be valid for `left` rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply_rows(tile: &Tile, left: usize, is_first: bool) -> usize {
    let prefetched = if is_first { tile.ahead } else { tile.b };
    // SAFETY: the caller's. No more rows are taken than are left.
    unsafe {
        if left >= 6 && left != 8 {
            store(tile, six_rows(tile, prefetched))
        } else if left >= 4 {
            store(tile, four_rows(tile, prefetched))
        } else if left >= 2 {
            store(tile, few_rows::<2>(tile))
        } else {
            store(tile, few_rows::<1>(tile))
        }
    }
}

/// Products of a row's pair of inputs with two vectors of weights, then both additions: two products in turn
/// leave the additions to the pipes that cannot multiply (Zen 3: 69 instead of 65 GMAC/s).
macro_rules! row {
    ($at:literal, $step:literal, $low:literal, $high:literal) => {
        concat!(
            "vpbroadcastd ymm14, [",
            $at,
            " + 4*",
            $step,
            "]\n",
            "vpmaddwd ymm15, ymm14, ymm12\n",
            "vpmaddwd ymm14, ymm14, ymm13\n",
            "vpaddd ymm",
            $low,
            ", ymm",
            $low,
            ", ymm15\n",
            "vpaddd ymm",
            $high,
            ", ymm",
            $high,
            ", ymm14\n",
        )
    };
}

macro_rules! step {
    ($step:literal; $($at:literal $low:literal $high:literal),*) => {
        concat!(
            "vmovdqu ymm12, [{b} + 64*", $step, "]\n",
            "vmovdqu ymm13, [{b} + 64*", $step, " + 32]\n",
            "prefetcht1 [{ahead} + 64*", $step, "]\n",
            $(row!($at, $step, $low, $high),)*
        )
    };
}

/// A function of a tile, and what to prefetch, to the sums of its rows. The order, and four steps a turn, are
/// measured.
macro_rules! in_assembly {
    ($name:ident, $rows:literal; $($at:literal $low:literal $high:literal),*; $($sum:ident $register:tt),*) => {
        /// # Safety
        /// The tile's operands must be valid for its rows.
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $name(tile: &Tile, prefetched: *const i16) -> [[__m256i; 2]; $rows] {
            $(let mut $sum = _mm256_setzero_si256();)*
            // SAFETY: the caller's. The assembly reads `pairs` pairs of each row and of the panel, and writes
            // no memory. It prefetches as much, which any address allows.
            unsafe {
                asm!(
                    "2:",
                    step!("0"; $($at $low $high),*),
                    step!("1"; $($at $low $high),*),
                    step!("2"; $($at $low $high),*),
                    step!("3"; $($at $low $high),*),
                    "add {a}, 16",
                    "add {c}, 16",
                    "add {b}, 256",
                    "add {ahead}, 256",
                    "dec {n}",
                    "jnz 2b",
                    a = inout(reg) tile.a => _,
                    c = inout(reg) tile.a.wrapping_add(3 * tile.a_row) => _,
                    s = in(reg) tile.a_row * size_of::<i16>(),
                    b = inout(reg) tile.b => _,
                    ahead = inout(reg) prefetched => _,
                    n = inout(reg) tile.pairs / 4 => _,
                    $(inout($register) $sum,)*
                    out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                    options(nostack, readonly),
                );
            }
            let sums = [$($sum),*];
            std::array::from_fn(|row| [sums[2 * row], sums[2 * row + 1]])
        }
    };
}

in_assembly!(six_rows, 6;
    "{a}" "0" "1", "{a} + {s}" "2" "3", "{a} + 2*{s}" "4" "5",
    "{c}" "6" "7", "{c} + {s}" "8" "9", "{c} + 2*{s}" "10" "11";
    s0 "ymm0", s1 "ymm1", s2 "ymm2", s3 "ymm3", s4 "ymm4", s5 "ymm5",
    s6 "ymm6", s7 "ymm7", s8 "ymm8", s9 "ymm9", s10 "ymm10", s11 "ymm11");
in_assembly!(four_rows, 4;
    "{a}" "0" "1", "{a} + {s}" "2" "3", "{a} + 2*{s}" "4" "5", "{c}" "6" "7";
    s0 "ymm0", s1 "ymm1", s2 "ymm2", s3 "ymm3", s4 "ymm4", s5 "ymm5", s6 "ymm6", s7 "ymm7");

/// # Safety
/// The tile's operands must be valid for `R` rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn few_rows<const R: usize>(tile: &Tile) -> [[__m256i; 2]; R] {
    let mut sums = [[_mm256_setzero_si256(); 2]; R];
    for pair in 0..tile.pairs {
        // SAFETY: the caller's.
        unsafe {
            let b = tile.b.add(pair * 2 * PANEL).cast::<__m256i>();
            let (low, high) = (_mm256_loadu_si256(b), _mm256_loadu_si256(b.add(1)));
            _mm_prefetch::<_MM_HINT_T1>(tile.ahead.wrapping_add(pair * 2 * PANEL).cast());
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = tile
                    .a
                    .add(row * tile.a_row + 2 * pair)
                    .cast::<i32>()
                    .read_unaligned();
                let a = _mm256_set1_epi32(a);
                sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(a, low));
                sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(a, high));
            }
        }
    }
    sums
}

/// # Safety
/// The tile's results, scales and biases must be valid for `R` rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn store<const R: usize>(tile: &Tile, sums: [[__m256i; 2]; R]) -> usize {
    for (row, sums) in sums.iter().enumerate() {
        for (half, &sum) in sums.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                let at = half * PANEL / 2;
                let to = tile.c.add(row * tile.c_row + at);
                let sum = _mm256_cvtepi32_ps(sum);
                let result = match tile.finish {
                    Finish::Store => sum,
                    Finish::Add => _mm256_add_ps(_mm256_loadu_ps(to), sum),
                    Finish::Scale {
                        row_scales,
                        scales,
                        bias,
                    } => {
                        let row_scale = _mm256_set1_ps(*row_scales.add(row));
                        let scale = _mm256_mul_ps(row_scale, _mm256_loadu_ps(scales.add(at)));
                        _mm256_fmadd_ps(sum, scale, _mm256_loadu_ps(bias.add(at)))
                    }
                };
                _mm256_storeu_ps(to, result);
            }
        }
    }
    R
}
