//! Products in fixed point with AVX2, AVX-VNNI and AVX512-VNNI.
//!
//! In assembly, since compilers spill sums or reorder instructions, which costs half of the gain. They also
//! [take VNNI's instructions apart](https://github.com/llvm/llvm-project/issues/84182).

use std::arch::asm;
use std::arch::x86_64::*;

use super::fixed::{FixedProduct, FixedSums, PANEL, PART};
use super::simd::Multiplier;

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
/// The CPU must have AVX2, FMA and the multiplier, and the job must have passed its check.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply(multiplier: Multiplier, job: FixedProduct<'_>) {
    // SAFETY: the caller's.
    unsafe {
        match multiplier {
            Multiplier::Avx512Vnni => multiply_with::<AVX512_VNNI>(job),
            Multiplier::AvxVnni => multiply_with::<AVX_VNNI>(job),
            Multiplier::Avx2 => multiply_with::<AVX2>(job),
        }
    }
}

const AVX512_VNNI: u8 = Multiplier::Avx512Vnni as u8;
const AVX_VNNI: u8 = Multiplier::AvxVnni as u8;
const AVX2: u8 = Multiplier::Avx2 as u8;

/// # Safety
/// That of [`multiply`].
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply_with<const MULTIPLIER: u8>(job: FixedProduct<'_>) {
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
                    let done = multiply_rows::<MULTIPLIER>(&tile, job.rows - row, row == 0);
                    for first in (part..inner).step_by(part) {
                        let next = Tile {
                            pairs: part.min(inner - first) / 2,
                            a: tile.a.wrapping_add(first),
                            b: tile.b.wrapping_add(first * PANEL),
                            ahead: tile.ahead.wrapping_add(first * PANEL),
                            finish: Finish::Add,
                            ..tile
                        };
                        multiply_rows::<MULTIPLIER>(&next, job.rows - row, row == 0);
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

/// Computes the next rows, at most `left`, and returns their number. Eight are best as four and four where
/// registers hold 8 sums. The first ones prefetch the next panel.
///
/// # Safety
/// The CPU must have the multiplier, and the tile's operands must be valid for `left` rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply_rows<const MULTIPLIER: u8>(tile: &Tile, left: usize, is_first: bool) -> usize {
    let prefetched = if is_first { tile.ahead } else { tile.b };
    // SAFETY: the caller's. No more rows are taken than are left.
    unsafe {
        match (MULTIPLIER, left) {
            (_, ..2) => few_rows::<1>(tile),
            (_, ..4) => few_rows::<2>(tile),
            (AVX512_VNNI, 16..) => sixteen_rows_avx512(tile, prefetched),
            (AVX512_VNNI, 8..) => eight_rows_avx512(tile, prefetched),
            (AVX512_VNNI, _) => four_rows_avx512(tile, prefetched),
            (AVX_VNNI, ..6 | 8) => four_rows_vnni(tile, prefetched),
            (AVX_VNNI, _) => six_rows_vnni(tile, prefetched),
            (_, ..6 | 8) => four_rows(tile, prefetched),
            _ => six_rows(tile, prefetched),
        }
    }
}

/// A row's pair of inputs, at `$at` for the first of four steps.
macro_rules! pair {
    ($at:literal, $step:literal) => {
        concat!("dword ptr [", $at, " + 4*", $step, "]")
    };
}

/// Products of a row's pair of inputs with two vectors of weights, then both additions: two products in turn
/// leave the additions to the pipes that cannot multiply (Zen 3: 69 instead of 65 GMAC/s).
macro_rules! row_avx2 {
    ($at:literal, $step:literal, $low:literal, $high:literal) => {
        concat!(
            "vpbroadcastd ymm14, ",
            pair!($at, $step),
            "\n",
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

macro_rules! row_vnni {
    ($at:literal, $step:literal, $low:literal, $high:literal) => {
        concat!(
            "vpbroadcastd ymm14, ",
            pair!($at, $step),
            "\n",
            "{{vex}} vpdpwssd ymm",
            $low,
            ", ymm14, ymm12\n",
            "{{vex}} vpdpwssd ymm",
            $high,
            ", ymm14, ymm13\n",
        )
    };
}

macro_rules! row_avx512 {
    ($at:literal, $step:literal, $sum:literal) => {
        concat!(
            "vpdpwssd zmm",
            $sum,
            ", zmm16, ",
            pair!($at, $step),
            "{{1to16}}\n"
        )
    };
}

/// Loads the weights of a step for vectors of 8.
macro_rules! load {
    ($step:literal) => {
        concat!(
            "vmovdqu ymm12, [{b} + 64*",
            $step,
            "]\n",
            "vmovdqu ymm13, [{b} + 64*",
            $step,
            " + 32]\n",
        )
    };
}

macro_rules! load_avx512 {
    ($step:literal) => {
        concat!("vmovdqu32 zmm16, [{b} + 64*", $step, "]\n")
    };
}

macro_rules! step {
    ($load:ident $row:ident $step:literal; $($at:literal [$($sum:literal),*])*) => {
        concat!(
            $load!($step),
            "prefetcht1 [{ahead} + 64*", $step, "]\n",
            $($row!($at, $step, $($sum),*),)*
        )
    };
}

/// Functions of a tile, and what to prefetch, that store the results of their rows. The order, and four steps
/// a turn, are measured with AVX2.
macro_rules! in_assembly {
    (
        $name:ident, $rows:literal, $features:literal, $zero:ident, $load:ident $row:ident;
        $($pointer:ident $first:literal),*; $($at:literal $sums:tt),*;
        $($sum:ident $register:tt),*; $($changed:tt),*
    ) => {
        /// # Safety
        /// The CPU must have the instructions, and the tile's operands must be valid for its rows.
        #[target_feature(enable = $features)]
        unsafe fn $name(tile: &Tile, prefetched: *const i16) -> usize {
            $(let mut $sum = $zero();)*
            // SAFETY: the caller's. The assembly reads `pairs` pairs of each row and of the panel, and writes
            // no memory. It prefetches as much, which any address allows. Sums of 16 are two of 8.
            unsafe {
                asm!(
                    "2:",
                    step!($load $row "0"; $($at $sums)*),
                    step!($load $row "1"; $($at $sums)*),
                    step!($load $row "2"; $($at $sums)*),
                    step!($load $row "3"; $($at $sums)*),
                    $(concat!("add {", stringify!($pointer), "}, 16"),)*
                    "add {b}, 256",
                    "add {ahead}, 256",
                    "dec {n}",
                    "jnz 2b",
                    $($pointer = inout(reg) tile.a.wrapping_add($first * tile.a_row) => _,)*
                    s = in(reg) tile.a_row * size_of::<i16>(),
                    t = in(reg) 3 * tile.a_row * size_of::<i16>(),
                    b = inout(reg) tile.b => _,
                    ahead = inout(reg) prefetched => _,
                    n = inout(reg) tile.pairs / 4 => _,
                    $(inout($register) $sum,)*
                    $(out($changed) _,)*
                    options(nostack, readonly),
                );
                let sums = [$($sum),*];
                store(tile, (&raw const sums).cast::<[[__m256i; 2]; $rows]>().read())
            }
        }
    };
}

macro_rules! of_eight_lanes {
    ($row:ident, $six:ident, $four:ident) => {
        in_assembly!($six, 6, "avx2,fma", _mm256_setzero_si256, load $row; a 0, c 4;
            "{a}" ["0", "1"], "{a} + {s}" ["2", "3"], "{a} + 2*{s}" ["4", "5"], "{a} + {t}" ["6", "7"],
            "{c}" ["8", "9"], "{c} + {s}" ["10", "11"];
            s0 "ymm0", s1 "ymm1", s2 "ymm2", s3 "ymm3", s4 "ymm4", s5 "ymm5",
            s6 "ymm6", s7 "ymm7", s8 "ymm8", s9 "ymm9", s10 "ymm10", s11 "ymm11";
            "ymm12", "ymm13", "ymm14", "ymm15");
        in_assembly!($four, 4, "avx2,fma", _mm256_setzero_si256, load $row; a 0;
            "{a}" ["0", "1"], "{a} + {s}" ["2", "3"], "{a} + 2*{s}" ["4", "5"], "{a} + {t}" ["6", "7"];
            s0 "ymm0", s1 "ymm1", s2 "ymm2", s3 "ymm3", s4 "ymm4", s5 "ymm5", s6 "ymm6", s7 "ymm7";
            "ymm12", "ymm13", "ymm14", "ymm15");
    };
}

of_eight_lanes!(row_avx2, six_rows, four_rows);
of_eight_lanes!(row_vnni, six_rows_vnni, four_rows_vnni);
in_assembly!(sixteen_rows_avx512, 16, "avx2,fma,avx512f", _mm512_setzero_si512, load_avx512 row_avx512;
    a 0, c 4, d 8, e 12;
    "{a}" ["0"], "{a} + {s}" ["1"], "{a} + 2*{s}" ["2"], "{a} + {t}" ["3"],
    "{c}" ["4"], "{c} + {s}" ["5"], "{c} + 2*{s}" ["6"], "{c} + {t}" ["7"],
    "{d}" ["8"], "{d} + {s}" ["9"], "{d} + 2*{s}" ["10"], "{d} + {t}" ["11"],
    "{e}" ["12"], "{e} + {s}" ["13"], "{e} + 2*{s}" ["14"], "{e} + {t}" ["15"];
    s0 "zmm0", s1 "zmm1", s2 "zmm2", s3 "zmm3", s4 "zmm4", s5 "zmm5", s6 "zmm6", s7 "zmm7",
    s8 "zmm8", s9 "zmm9", s10 "zmm10", s11 "zmm11", s12 "zmm12", s13 "zmm13", s14 "zmm14", s15 "zmm15";
    "zmm16");
in_assembly!(eight_rows_avx512, 8, "avx2,fma,avx512f", _mm512_setzero_si512, load_avx512 row_avx512; a 0, c 4;
    "{a}" ["0"], "{a} + {s}" ["1"], "{a} + 2*{s}" ["2"], "{a} + {t}" ["3"],
    "{c}" ["4"], "{c} + {s}" ["5"], "{c} + 2*{s}" ["6"], "{c} + {t}" ["7"];
    s0 "zmm0", s1 "zmm1", s2 "zmm2", s3 "zmm3", s4 "zmm4", s5 "zmm5", s6 "zmm6", s7 "zmm7"; "zmm16");
in_assembly!(four_rows_avx512, 4, "avx2,fma,avx512f", _mm512_setzero_si512, load_avx512 row_avx512; a 0;
    "{a}" ["0"], "{a} + {s}" ["1"], "{a} + 2*{s}" ["2"], "{a} + {t}" ["3"];
    s0 "zmm0", s1 "zmm1", s2 "zmm2", s3 "zmm3"; "zmm16");

/// # Safety
/// The tile's operands must be valid for `R` rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn few_rows<const R: usize>(tile: &Tile) -> usize {
    let mut sums = [[_mm256_setzero_si256(); 2]; R];
    for pair in 0..tile.pairs {
        // SAFETY: the caller's.
        unsafe {
            let b = tile.b.add(pair * 2 * PANEL).cast::<__m256i>();
            let low = _mm256_loadu_si256(b);
            let high = _mm256_loadu_si256(b.add(1));
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
    // SAFETY: the caller's.
    unsafe { store(tile, sums) }
}

/// Returns the number of rows.
///
/// # Safety
/// The CPU must have AVX2 and FMA, and the tile's results, scales and biases must be valid for `R` rows.
#[inline(always)]
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
