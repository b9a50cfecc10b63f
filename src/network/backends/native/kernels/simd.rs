//! The operations of a vector instruction set that the kernels need, and functions of vectors built on them.

/// A vector instruction set, as a value: **whoever holds one may execute its instructions**, because its only
/// constructor asks the CPU. So arithmetic is safe; only memory access is not.
///
/// All functions are inlined into entry points that enable the instruction set for the compiler.
pub(super) trait Simd: Copy {
    /// [`Simd::LANES`] `f32`s.
    type Vector: Copy;
    /// Numbers in a vector.
    const LANES: usize;
    /// Vectors side by side in a tile of a matrix product: a panel of weights is at most this wide.
    const COLUMNS: usize;
    /// Rows of such a tile: as many as registers allow, at most 6.
    const ROWS: usize;

    /// Returns a vector whose lanes all hold `x`.
    fn splat(self, x: f32) -> Self::Vector;

    /// Reads [`Simd::LANES`] numbers.
    ///
    /// # Safety
    /// `from` must be valid for that; no alignment is needed.
    unsafe fn load(self, from: *const f32) -> Self::Vector;

    /// Writes [`Simd::LANES`] numbers.
    ///
    /// # Safety
    /// `to` must be valid for that; no alignment is needed.
    unsafe fn store(self, to: *mut f32, v: Self::Vector);

    /// Computes `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Computes `a - b`.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Computes `a * b`.
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Computes `a / b`.
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the larger one, lane by lane.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the smaller one, lane by lane.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Computes `a * b + c`, rounded once where the CPU can.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// Returns the sum of all lanes.
    fn sum(self, v: Self::Vector) -> f32;
    /// Returns `x` rounded to the nearest integer `n`, and `2^n`; for `x` in `-126..=127`.
    fn round_and_exp2(self, x: Self::Vector) -> (Self::Vector, Self::Vector);

    /// Writes [`Simd::LANES`] numbers as bf16, rounded to nearest even. NaN may become infinite.
    ///
    /// # Safety
    /// `to` must be valid for that; no alignment is needed.
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16, v: Self::Vector) {
        let mut numbers = [0.0f32; 16];
        // SAFETY: no vector is longer than `numbers`; for `to` the caller vouches.
        unsafe {
            self.store(numbers.as_mut_ptr(), v);
            for (i, number) in numbers.iter().enumerate().take(Self::LANES) {
                let bits = number.to_bits();
                to.add(i).write((bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16);
            }
        }
    }

    /// Asks for the cache line at `from` to be brought near. Any address will do.
    #[inline(always)]
    fn prefetch(self, _from: *const f32) {}

    /// Returns a vector of zeros.
    #[inline(always)]
    fn zero(self) -> Self::Vector {
        self.splat(0.0)
    }

    /// Computes `e^x`, relative error below 1e-6; `x` is clamped to `-87..=87`.
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

    /// Computes `1 / (1 + e^-x)`.
    #[inline(always)]
    fn sigmoid(self, x: Self::Vector) -> Self::Vector {
        let one = self.splat(1.0);
        self.div(one, self.add(one, self.exp(self.sub(self.zero(), x))))
    }

    /// Computes `tanh x = 1 - 2 / (e^2x + 1)`
    #[inline(always)]
    fn tanh(self, x: Self::Vector) -> Self::Vector {
        let (one, two) = (self.splat(1.0), self.splat(2.0));
        self.sub(one, self.div(two, self.add(self.exp(self.mul(two, x)), one)))
    }

    /// Computes `x tanh(ln(1 + e^x))`, written with `n = e^x (e^x + 2)` as `x n / (n + 2)`
    #[inline(always)]
    fn mish(self, x: Self::Vector) -> Self::Vector {
        // Above 20 the factor is 1 in f32; the limit keeps e^2x finite.
        let e = self.exp(self.min(x, self.splat(20.0)));
        let n = self.mul(e, self.add(e, self.splat(2.0)));
        self.mul(x, self.div(n, self.add(n, self.splat(2.0))))
    }

    /// Computes `λ x` for positive `x`, `λ α (e^x - 1)` for negative (Klambauer et al. 2017)
    #[inline(always)]
    fn selu(self, x: Self::Vector) -> Self::Vector {
        const LAMBDA: f32 = 1.050_701;
        const ALPHA: f32 = 1.673_263_2;
        let positive = self.mul(self.max(x, self.zero()), self.splat(LAMBDA));
        let negative = self.sub(self.exp(self.min(x, self.zero())), self.splat(1.0));
        self.mul_add(negative, self.splat(LAMBDA * ALPHA), positive)
    }
}
