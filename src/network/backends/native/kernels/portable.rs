//! Kernels in plain Rust, for any CPU; the others are tested against them. The compiler vectorises them.

use super::simd::Simd;

/// No instruction set beyond what the program was compiled for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

/// Four numbers: what SSE2 and NEON hold in a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Four([f32; 4]);

macro_rules! lanes {
    (|$($v:ident),+| $result:expr) => {
        Four([
            { $(let $v = $v.0[0];)+ $result },
            { $(let $v = $v.0[1];)+ $result },
            { $(let $v = $v.0[2];)+ $result },
            { $(let $v = $v.0[3];)+ $result },
        ])
    };
}

impl Simd for Portable {
    type Vector = Four;
    const LANES: usize = 4;
    const COLUMNS: usize = 2;
    const ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, x: f32) -> Four {
        Four([x; 4])
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Four {
        // SAFETY: the caller vouches for four readable numbers; an array of f32 needs no more alignment than f32.
        Four(unsafe { from.cast::<[f32; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, v: Four) {
        // SAFETY: the caller vouches for four writable numbers.
        unsafe { to.cast::<[f32; 4]>().write(v.0) }
    }

    #[inline(always)]
    fn add(self, a: Four, b: Four) -> Four {
        lanes!(|a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Four, b: Four) -> Four {
        lanes!(|a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: Four, b: Four) -> Four {
        lanes!(|a, b| a * b)
    }

    #[inline(always)]
    fn div(self, a: Four, b: Four) -> Four {
        lanes!(|a, b| a / b)
    }

    #[inline(always)]
    fn max(self, a: Four, b: Four) -> Four {
        lanes!(|a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: Four, b: Four) -> Four {
        lanes!(|a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn mul_add(self, a: Four, b: Four, c: Four) -> Four {
        // Not `f32::mul_add`: without the instruction that is a slow library call.
        lanes!(|a, b, c| a * b + c)
    }

    #[inline(always)]
    fn sum(self, v: Four) -> f32 {
        (v.0[0] + v.0[2]) + (v.0[1] + v.0[3])
    }

    #[inline(always)]
    fn round_and_exp2(self, x: Four) -> (Four, Four) {
        /// 1.5 * 2^23: added to a small number, it leaves the integer part in the lowest bits.
        const MAGIC: f32 = 12_582_912.0;
        let shifted = lanes!(|x| x + MAGIC);
        let power =
            lanes!(|shifted| f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits())));
        (lanes!(|shifted| shifted - MAGIC), power)
    }
}

super::entry_points!(Portable, "portable", []);
