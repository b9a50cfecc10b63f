//! The vector operations that the kernels need, and functions built on them.

/// A vector instruction set, as a value: **whoever holds one may execute its instructions**, because its only
/// constructor asks the CPU. So arithmetic is safe. Only memory access is not. It needs no alignment.
///
/// All functions are inlined into [`Kernels::run`](super::Kernels::run), which enables the instruction set
/// for the compiler.
pub trait Simd: Copy {
    /// [`Simd::LANES`] `f32`s.
    type Vector: Copy;
    const LANES: usize;
    /// Vectors side by side in a tile of a matrix product, and in a panel of weights at most.
    const COLUMNS: usize;
    /// Rows of such a tile, at most 6, by the number of registers.
    const ROWS: usize;
    /// Whether [`prefetch`](Self::prefetch) does anything.
    const PREFETCHES: bool = false;

    fn splat(self, x: f32) -> Self::Vector;

    /// # Safety
    /// `from` must be valid for [`Simd::LANES`] numbers.
    unsafe fn load(self, from: *const f32) -> Self::Vector;

    /// # Safety
    /// `to` must be valid for [`Simd::LANES`] numbers.
    unsafe fn store(self, to: *mut f32, v: Self::Vector);

    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a * b + c`, rounded once where the CPU can.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    fn sum(self, v: Self::Vector) -> f32;
    /// `x` rounded to the nearest integer `n`, and `2^n`, for `x` in `-126..=127`.
    fn round_and_exp2(self, x: Self::Vector) -> (Self::Vector, Self::Vector);

    /// Writes [`Simd::LANES`] numbers as bf16, rounded to nearest even. NaN may become infinite.
    ///
    /// # Safety
    /// `to` must be valid for that.
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16, v: Self::Vector) {
        let mut numbers = [0.0f32; 16];
        // SAFETY: no vector is longer than `numbers`. For `to` the caller vouches.
        unsafe {
            self.store(numbers.as_mut_ptr(), v);
            for (i, number) in numbers.iter().enumerate().take(Self::LANES) {
                let bits = number.to_bits();
                to.add(i)
                    .write((bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16);
            }
        }
    }

    /// Writes [`Simd::LANES`] numbers as integers, rounded to nearest even.
    ///
    /// # Safety
    /// `to` must be valid for that.
    #[inline(always)]
    unsafe fn store_i16(self, to: *mut i16, v: Self::Vector) {
        let mut numbers = [0.0f32; 16];
        // SAFETY: no vector is longer than `numbers`. For `to` the caller vouches.
        unsafe {
            self.store(numbers.as_mut_ptr(), v);
            for (i, number) in numbers.iter().enumerate().take(Self::LANES) {
                to.add(i).write((number + MAGIC).to_bits() as i16);
            }
        }
    }

    /// Prefetches the cache line at `from`, into the L1 cache if `NEAR`, else into L2. Any address is
    /// allowed.
    #[inline(always)]
    fn prefetch<const NEAR: bool>(self, _from: *const f32) {}

    #[inline(always)]
    fn zero(self) -> Self::Vector {
        self.splat(0.0)
    }

    #[inline(always)]
    fn magnitude(self, v: Self::Vector) -> Self::Vector {
        self.max(v, self.sub(self.zero(), v))
    }

    /// The largest of all lanes.
    #[inline(always)]
    fn largest(self, v: Self::Vector) -> f32 {
        let mut numbers = [f32::MIN; 16];
        // SAFETY: no vector is longer than `numbers`.
        unsafe { self.store(numbers.as_mut_ptr(), v) };
        numbers.into_iter().fold(f32::MIN, f32::max)
    }

    /// `e^x`, relative error below 1e-6. `x` is clamped to `-87..=87`.
    #[inline(always)]
    fn exp(self, x: Self::Vector) -> Self::Vector {
        let x = self.min(self.max(x, self.splat(-87.0)), self.splat(87.0));
        let (n, power) = self.round_and_exp2(self.mul(x, self.splat(std::f32::consts::LOG2_E)));
        // x - n ln 2, with ln 2 in two parts (the first exact in few bits), so that nothing cancels
        let r = self.mul_add(n, self.splat(-355.0 / 512.0), x);
        let r = self.mul_add(n, self.splat(2.121_944_4e-4), r);
        // Taylor series of e^r for |r| <= ln 2 / 2
        let mut e = self.splat(1.0 / 5040.0);
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            e = self.mul_add(e, r, self.splat(coefficient));
        }
        self.mul(e, power)
    }

    #[inline(always)]
    fn sigmoid(self, x: Self::Vector) -> Self::Vector {
        let one = self.splat(1.0);
        self.div(one, self.add(one, self.exp(self.sub(self.zero(), x))))
    }

    /// `tanh x = 1 - 2 / (e^2x + 1)`
    #[inline(always)]
    fn tanh(self, x: Self::Vector) -> Self::Vector {
        let (one, two) = (self.splat(1.0), self.splat(2.0));
        self.sub(one, self.div(two, self.add(self.exp(self.mul(two, x)), one)))
    }

    /// `x tanh(ln(1 + e^x))`, with `n = e^x (e^x + 2)` as `x n / (n + 2)`
    #[inline(always)]
    fn mish(self, x: Self::Vector) -> Self::Vector {
        // Above 20 the factor is 1 in f32. The limit keeps e^2x finite.
        let e = self.exp(self.min(x, self.splat(20.0)));
        let n = self.mul(e, self.add(e, self.splat(2.0)));
        self.mul(x, self.div(n, self.add(n, self.splat(2.0))))
    }

    /// `λ x` for positive `x`, `λ α (e^x - 1)` for negative (Klambauer et al. 2017)
    #[inline(always)]
    fn selu(self, x: Self::Vector) -> Self::Vector {
        const LAMBDA: f32 = 1.050_701;
        const ALPHA: f32 = 1.673_263_2;
        let positive = self.mul(self.max(x, self.zero()), self.splat(LAMBDA));
        let negative = self.sub(self.exp(self.min(x, self.zero())), self.splat(1.0));
        self.mul_add(negative, self.splat(LAMBDA * ALPHA), positive)
    }
}

/// `N` lanes in plain Rust. `FUSED` rounds `a * b + c` once, as instructions do.
#[derive(Clone, Copy, Debug)]
pub struct Plain<const N: usize, const FUSED: bool>(());

/// The others are tested against it.
pub type Portable = Plain<4, false>;
/// The same bits as [`Avx2`], slow where the CPU cannot fuse.
pub type Fused = Plain<8, true>;

#[derive(Clone, Copy, Debug)]
pub struct Lanes<const N: usize>([f32; N]);

impl<const N: usize, const FUSED: bool> Plain<N, FUSED> {
    pub fn detect() -> Option<Plain<N, FUSED>> {
        Some(Plain(()))
    }
}

macro_rules! lanes {
    (|$($v:ident),+| $result:expr) => {
        Lanes(std::array::from_fn(|i| { $(let $v = $v.0[i];)+ $result }))
    };
}

/// 1.5 * 2^23: added to a small number, it leaves the integer part in the lowest bits.
const MAGIC: f32 = 12_582_912.0;

impl<const N: usize, const FUSED: bool> Simd for Plain<N, FUSED> {
    type Vector = Lanes<N>;
    const LANES: usize = N;
    const COLUMNS: usize = 2;
    const ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, x: f32) -> Lanes<N> {
        Lanes([x; N])
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Lanes<N> {
        // SAFETY: the caller's. An array of f32 needs no more alignment than f32.
        Lanes(unsafe { from.cast::<[f32; N]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, v: Lanes<N>) {
        // SAFETY: the caller's.
        unsafe { to.cast::<[f32; N]>().write(v.0) }
    }

    #[inline(always)]
    fn add(self, a: Lanes<N>, b: Lanes<N>) -> Lanes<N> {
        lanes!(|a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Lanes<N>, b: Lanes<N>) -> Lanes<N> {
        lanes!(|a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: Lanes<N>, b: Lanes<N>) -> Lanes<N> {
        lanes!(|a, b| a * b)
    }

    #[inline(always)]
    fn div(self, a: Lanes<N>, b: Lanes<N>) -> Lanes<N> {
        lanes!(|a, b| a / b)
    }

    #[inline(always)]
    fn max(self, a: Lanes<N>, b: Lanes<N>) -> Lanes<N> {
        lanes!(|a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: Lanes<N>, b: Lanes<N>) -> Lanes<N> {
        lanes!(|a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn mul_add(self, a: Lanes<N>, b: Lanes<N>, c: Lanes<N>) -> Lanes<N> {
        // Without the instruction, `f32::mul_add` is a slow library call.
        lanes!(|a, b, c| if FUSED { a.mul_add(b, c) } else { a * b + c })
    }

    /// Halves are added, then their halves, as vectors do.
    #[inline(always)]
    fn sum(self, v: Lanes<N>) -> f32 {
        let mut v = v.0;
        let mut half = N / 2;
        while half > 0 {
            for i in 0..half {
                v[i] += v[i + half];
            }
            half /= 2;
        }
        v[0]
    }

    #[inline(always)]
    fn round_and_exp2(self, x: Lanes<N>) -> (Lanes<N>, Lanes<N>) {
        let shifted: Lanes<N> = lanes!(|x| x + MAGIC);
        let power =
            lanes!(|shifted| f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits())));
        (lanes!(|shifted| shifted - MAGIC), power)
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instruction_set {
    (
        $(#[$doc:meta])* $set:ident($and:ty) if $is_there:expr;
        $vector:ty, $lanes:literal lanes, tiles of $rows:literal x $columns:literal;
        $splat:ident, $load:ident, $store:ident;
        $($operation:ident = $intrinsic:ident),*;
        $a:ident * $b:ident + $c:ident = $fused:expr;
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $set(pub(crate) $and);

        impl $set {
            pub fn detect() -> Option<$set> {
                $is_there.then_some($set(Default::default()))
            }
        }

        // SAFETY of all blocks that only compute: `self` exists only where `detect` has found the
        // instructions.
        impl Simd for $set {
            type Vector = $vector;
            const LANES: usize = $lanes;
            const COLUMNS: usize = $columns;
            const ROWS: usize = $rows;

            #[inline(always)]
            fn splat(self, x: f32) -> $vector {
                unsafe { $splat(x) }
            }

            #[inline(always)]
            unsafe fn load(self, from: *const f32) -> $vector {
                // SAFETY: the caller's.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32, v: $vector) {
                // SAFETY: the caller's.
                unsafe { $store(to, v) }
            }

            $(
                #[inline(always)]
                fn $operation(self, a: $vector, b: $vector) -> $vector {
                    unsafe { $intrinsic(a, b) }
                }
            )*

            #[inline(always)]
            fn mul_add(self, $a: $vector, $b: $vector, $c: $vector) -> $vector {
                unsafe { $fused }
            }

            $($rest)*
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::simd::Simd;

    /// The instructions that multiply pairs of integers and add them up, fastest first.
    #[derive(Clone, Copy, Debug, Default)]
    pub enum Multiplier {
        /// `vpdpwssd` of 16 sums.
        Avx512Vnni,
        /// `vpdpwssd` of 8 sums.
        AvxVnni,
        /// `vpmaddwd` and `vpaddd`.
        #[default]
        Avx2,
    }

    impl Multiplier {
        /// Those of this CPU, which has AVX2.
        pub(crate) fn available() -> impl Iterator<Item = Multiplier> {
            [
                is_x86_feature_detected!("avx512vnni").then_some(Multiplier::Avx512Vnni),
                is_x86_feature_detected!("avxvnni").then_some(Multiplier::AvxVnni),
                Some(Multiplier::Avx2),
            ]
            .into_iter()
            .flatten()
        }

        pub(crate) fn name(self) -> &'static str {
            match self {
                Multiplier::Avx512Vnni => "avx512vnni",
                Multiplier::AvxVnni => "avxvnni",
                Multiplier::Avx2 => "avx2",
            }
        }
    }

    #[inline(always)]
    fn prefetch<const NEAR: bool>(from: *const f32) {
        // SAFETY: every such CPU has the instructions. They read nothing that a program could see.
        unsafe {
            if NEAR {
                _mm_prefetch::<_MM_HINT_T0>(from.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T1>(from.cast());
            }
        }
    }

    instruction_set! {
        /// AVX2 and FMA, which every CPU since 2013 has together: 16 registers.
        Avx2(Multiplier) if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        __m256, 8 lanes, tiles of 6 x 2;
        _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps;
        add = _mm256_add_ps, sub = _mm256_sub_ps, mul = _mm256_mul_ps, div = _mm256_div_ps,
        max = _mm256_max_ps, min = _mm256_min_ps;
        a * b + c = _mm256_fmadd_ps(a, b, c);

        const PREFETCHES: bool = true;

        #[inline(always)]
        unsafe fn store_i16(self, to: *mut i16, v: __m256) {
            // SAFETY: the caller's.
            unsafe {
                let n = _mm256_cvtps_epi32(v);
                let low = _mm256_castsi256_si128(n);
                let high = _mm256_extracti128_si256::<1>(n);
                _mm_storeu_si128(to.cast(), _mm_packs_epi32(low, high));
            }
        }

        #[inline(always)]
        fn prefetch<const NEAR: bool>(self, from: *const f32) {
            prefetch::<NEAR>(from);
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

    instruction_set! {
        /// AVX512F alone, in every CPU with AVX-512: 32 registers.
        Avx512(()) if is_x86_feature_detected!("avx512f");
        __m512, 16 lanes, tiles of 6 x 4;
        _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps;
        add = _mm512_add_ps, sub = _mm512_sub_ps, mul = _mm512_mul_ps, div = _mm512_div_ps,
        max = _mm512_max_ps, min = _mm512_min_ps;
        a * b + c = _mm512_fmadd_ps(a, b, c);

        const PREFETCHES: bool = true;

        #[inline(always)]
        unsafe fn store_bf16(self, to: *mut u16, v: __m512) {
            // SAFETY: the caller's.
            unsafe {
                let bits = _mm512_castps_si512(v);
                let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
                let rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
                let halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(rounded));
                _mm256_storeu_si256(to.cast(), halves);
            }
        }

        #[inline(always)]
        fn prefetch<const NEAR: bool>(self, from: *const f32) {
            prefetch::<NEAR>(from);
        }

        #[inline(always)]
        fn sum(self, v: __m512) -> f32 {
            unsafe { _mm512_reduce_add_ps(v) }
        }

        #[inline(always)]
        fn round_and_exp2(self, x: __m512) -> (__m512, __m512) {
            unsafe {
                let n = _mm512_cvtps_epi32(x);
                let exponent = _mm512_slli_epi32::<23>(_mm512_add_epi32(n, _mm512_set1_epi32(127)));
                (_mm512_cvtepi32_ps(n), _mm512_castsi512_ps(exponent))
            }
        }
    }
}
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512, Multiplier};

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use crate::simd::Simd;

    instruction_set! {
        /// NEON, in practically every 64-bit ARM CPU: 32 registers.
        Neon(()) if std::arch::is_aarch64_feature_detected!("neon");
        float32x4_t, 4 lanes, tiles of 4 x 4;
        vdupq_n_f32, vld1q_f32, vst1q_f32;
        add = vaddq_f32, sub = vsubq_f32, mul = vmulq_f32, div = vdivq_f32, max = vmaxq_f32, min = vminq_f32;
        a * b + c = vfmaq_f32(c, a, b);

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
}
#[cfg(target_arch = "aarch64")]
pub use arm::Neon;
