//! Kernels for NEON: 4 numbers in a vector, 32 registers.

use std::arch::aarch64::*;

use super::simd::Simd;

/// NEON, which practically every 64-bit ARM has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon(());

impl Neon {
    /// Returns the instruction set, if this CPU and system have it.
    pub(super) fn detect() -> Option<Neon> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}

// SAFETY of all blocks below that only compute: `self` exists only where `detect` found NEON.
impl Simd for Neon {
    type Vector = float32x4_t;
    const LANES: usize = 4;
    const COLUMNS: usize = 4;
    const ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, x: f32) -> float32x4_t {
        unsafe { vdupq_n_f32(x) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> float32x4_t {
        // SAFETY: the caller vouches for 4 readable numbers.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, v: float32x4_t) {
        // SAFETY: the caller vouches for 4 writable numbers.
        unsafe { vst1q_f32(to, v) }
    }

    #[inline(always)]
    fn add(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vaddq_f32(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vsubq_f32(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vmulq_f32(a, b) }
    }

    #[inline(always)]
    fn div(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vdivq_f32(a, b) }
    }

    #[inline(always)]
    fn max(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vmaxq_f32(a, b) }
    }

    #[inline(always)]
    fn min(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vminq_f32(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        unsafe { vfmaq_f32(c, a, b) }
    }

    #[inline(always)]
    fn sum(self, v: float32x4_t) -> f32 {
        unsafe { vaddvq_f32(v) }
    }

    #[inline(always)]
    fn round_and_exp2(self, x: float32x4_t) -> (float32x4_t, float32x4_t) {
        unsafe {
            let n = vcvtnq_s32_f32(x);
            let exponent = vshlq_n_s32::<23>(vaddq_s32(n, vdupq_n_s32(127)));
            (vcvtq_f32_s32(n), vreinterpretq_f32_s32(exponent))
        }
    }
}

super::entry_points!(Neon, "neon", [#[target_feature(enable = "neon")]]);
