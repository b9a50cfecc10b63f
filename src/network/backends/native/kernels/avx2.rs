//! Kernels for AVX2 with fused multiply-add: 8 numbers in a vector, 16 registers.

use std::arch::x86_64::*;

use super::simd::Simd;

/// AVX2 and FMA, which come together in every CPU since 2013 that has the former.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// Returns the instruction set, if this CPU and system have it.
    pub(super) fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }
}

// SAFETY of all blocks below that only compute: `self` exists only where `detect` found AVX2 and FMA.
impl Simd for Avx2 {
    type Vector = __m256;
    const LANES: usize = 8;
    const COLUMNS: usize = 2;
    const ROWS: usize = 6;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m256 {
        // SAFETY: the caller vouches for 8 readable numbers.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, v: __m256) {
        // SAFETY: the caller vouches for 8 writable numbers.
        unsafe { _mm256_storeu_ps(to, v) }
    }

    #[inline(always)]
    fn prefetch(self, from: *const f32) {
        // SAFETY: every CPU with this instruction set has the instruction; it reads nothing that a program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_min_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn sum(self, v: __m256) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn round_and_exp2(self, x: __m256) -> (__m256, __m256) {
        unsafe {
            let n = _mm256_cvtps_epi32(x);
            let exponent = _mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127)));
            (_mm256_cvtepi32_ps(n), _mm256_castsi256_ps(exponent))
        }
    }
}

super::entry_points!(Avx2, "avx2", [#[target_feature(enable = "avx2,fma")]]);
