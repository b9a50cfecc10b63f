//! A CPU's units for products of bf16 matrices: [`Tiles`].
//!
//! Dense layers and attention are in [`rows`](super::rows), convolutions in [`folded`](super::folded).
//! [`TileProduct`] is a product by itself, by which a unit is checked and timed.

use std::time::{Duration, Instant};

use half::bf16;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::amx::Amx;
use super::gemm::Product;
#[cfg(target_arch = "x86_64")]
use super::simd::Avx512;
use super::{Kernels, extent};

/// bf16 numbers in a row of a tile, also the outputs that are computed together.
pub(crate) const TILE_DEPTH: usize = 32;
/// Rows that are computed together at most.
pub(crate) const ROW_STEP: usize = 32;
/// Rows that [`Tiles::multiply_rows`] computes.
pub(super) const UNIT_ROWS: usize = 8;

/// Computes products of blocks of 64 rows and packed weights: for each block
/// `c[square][column] = Σ over steps s and k < 32 of a[offsets[s] + square * 32 + k] * b(s, k, column)`.
#[derive(Debug)]
pub(crate) struct TileProduct<'a> {
    /// Number of blocks of rows.
    pub(crate) positions: usize,
    /// Rows that are wanted of each: 64, or fewer if there is only one block. Rows beyond them are undefined.
    pub(crate) rows: usize,
    /// Columns of `c`, a multiple of 32.
    pub(crate) width: usize,
    /// The places where each step's left operand begins, at least one step.
    pub(crate) offsets: &'a [u32],
    /// Left operands, bits of bf16.
    pub(crate) a: &'a [u16],
    /// Numbers from one position of `a` to the next.
    pub(crate) a_step: usize,
    /// Right operands, bits of bf16: `[width / 32][steps][2][16][16][2]`, that is 32 columns as two tiles of
    /// 16, whose rows hold two `k` for each column.
    pub(crate) b: &'a [u16],
    /// `[positions][64][width]`. With fewer rows there must be room for a multiple of [`ROW_STEP`].
    pub(crate) c: &'a mut [f32],
}

impl TileProduct<'_> {
    /// Panics unless all operands are as long as the product needs.
    fn check(&self) {
        let furthest = self.offsets.iter().max().expect("a product has a step");
        let last = (*furthest as usize).checked_add(64 * TILE_DEPTH).expect("fits");
        assert!(self.a.len() >= extent(self.positions, self.a_step, last));
        assert!(self.width.is_multiple_of(TILE_DEPTH));
        let columns = self.offsets.len().checked_mul(TILE_DEPTH).expect("fits");
        assert!(self.b.len() >= columns.checked_mul(self.width).expect("fits"));
        assert!(self.rows == 64 || self.rows < 64 && self.positions == 1);
        let sums = self.width.checked_mul(self.rows.next_multiple_of(ROW_STEP)).expect("fits");
        assert!(self.c.len() >= extent(self.positions, sums, sums));
    }
}

/// Fills `b`, right operands of a [`TileProduct`] with so many steps, with `weight(step, k, column)`. `None`
/// is padding.
pub(crate) fn pack_right(b: &mut [u16], steps: usize, weight: impl Fn(usize, usize, usize) -> Option<f32>) {
    for (matrix, tiles) in b.chunks_exact_mut(TILE_DEPTH * TILE_DEPTH).enumerate() {
        let (block, step) = (matrix / steps, matrix % steps);
        for (i, to) in tiles.iter_mut().enumerate() {
            let (half, pair, column, second) = (i / 512, i / 32 % 16, i / 2 % 16, i % 2);
            let column = block * TILE_DEPTH + half * 16 + column;
            if let Some(weight) = weight(step, 2 * pair + second, column) {
                *to = bf16::from_f32(weight).to_bits();
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx512_bf16::{Avx512Bf16, ROWS as VECTOR_ROWS, multiply_step};

/// A CPU's unit for products of bf16 matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tiles {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(Amx),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Bf16),
    /// Plain loops, against which the others are checked.
    // Only AMX checks itself by it outside of tests.
    #[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), allow(dead_code))]
    Definition,
}

impl Tiles {
    /// Returns the units of this CPU, the fastest first. Matrix tiles are here only if the system lets us use
    /// them and they compute what they should.
    pub(crate) fn available() -> Vec<Tiles> {
        let all: Vec<Option<Tiles>> = Vec::from([
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Amx::detect().map(Tiles::Amx),
            #[cfg(target_arch = "x86_64")]
            Avx512Bf16::detect().map(Tiles::Avx512),
        ]);
        all.into_iter().flatten().collect()
    }

    /// Returns the name as in the option `kernel=`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(_) => "amx",
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(_) => "avx512",
            Tiles::Definition => "definition",
        }
    }

    /// Says whether a convolution this way is faster than Winograd's in fp32.
    pub(crate) fn outruns_winograd(self) -> bool {
        self.name() == "amx"
    }

    /// Says whether dense layers this way are faster than in fp32 with `kernels`. All but AMX are measured
    /// for less than a millisecond: the instruction of AVX512-BF16 has half the rate of multiplications in
    /// fp32 on Intel's CPUs.
    pub(crate) fn outruns_products(self, kernels: Kernels) -> bool {
        const ROUNDS: usize = 16;
        const SIZE: usize = 64;
        if self.name() == "amx" {
            return true;
        }
        let (numbers, bits) = (vec![1.0; SIZE * SIZE], vec![bf16::ONE.to_bits(); SIZE * SIZE]);
        let offsets: Vec<u32> =
            (0..SIZE / TILE_DEPTH).map(|step| (step * SIZE * TILE_DEPTH) as u32).collect();
        let mut c = vec![0.0; SIZE * SIZE];
        let mut best = [Duration::MAX; 2];
        for round in 0..2 * ROUNDS {
            let start = Instant::now();
            if round % 2 == 0 {
                self.multiply(TileProduct {
                    positions: 1,
                    rows: SIZE,
                    width: SIZE,
                    offsets: &offsets,
                    a: &bits,
                    a_step: SIZE * SIZE,
                    b: &bits,
                    c: &mut c,
                });
            } else {
                kernels.run(Product {
                    count: 1,
                    rows: SIZE,
                    inner: SIZE,
                    width: SIZE,
                    a: &numbers,
                    a_row: SIZE,
                    b: &numbers,
                    c: &mut c,
                    c_row: SIZE,
                    ..Product::default()
                });
            }
            best[round % 2] = best[round % 2].min(start.elapsed());
        }
        best[0] < best[1]
    }

    /// Makes the unit ready for a convolution.
    pub(super) fn begin(self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if let Tiles::Amx(amx) = self {
            amx.begin();
        }
    }

    /// Frees the unit after [`Tiles::begin`].
    pub(super) fn end(self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if let Tiles::Amx(amx) = self {
            amx.end();
        }
    }

    /// Computes [`UNIT_ROWS`] rows by 32 columns: `c = Σ over steps of a[offset] b[step]`, by the definition
    /// unless the unit multiplies vectors.
    ///
    /// # Safety
    /// `a` must be valid from each offset for the rows of 32 numbers, `b` for 1,024 numbers a step, and `c`
    /// for the rows of 32 numbers.
    pub(super) unsafe fn multiply_rows(self, offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32) {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's.
            Tiles::Avx512(unit) => unsafe { unit.multiply_rows(offsets, a, b, c) },
            _ => {
                for i in 0..UNIT_ROWS * TILE_DEPTH {
                    let (row, column) = (i / TILE_DEPTH, i % TILE_DEPTH);
                    let number = |from: *const u16, at: usize| {
                        // SAFETY: the caller's.
                        bf16::from_bits(unsafe { *from.add(at) }).to_f32()
                    };
                    let mut sum = 0.0;
                    for (step, &offset) in offsets.iter().enumerate() {
                        let b_step = step * TILE_DEPTH * TILE_DEPTH + column / 16 * 512 + column % 16 * 2;
                        for k in 0..TILE_DEPTH {
                            sum += number(a, offset as usize + row * TILE_DEPTH + k)
                                * number(b, b_step + k / 2 * 32 + k % 2);
                        }
                    }
                    // SAFETY: the caller's.
                    unsafe { *c.add(i) = sum };
                }
            }
        }
    }

    pub(crate) fn multiply(self, job: TileProduct<'_>) {
        job.check();
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(amx) => amx.multiply(job),
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(unit) => unit.multiply(job),
            Tiles::Definition => multiply_by_definition(job),
        }
    }
}

fn multiply_by_definition(job: TileProduct<'_>) {
    let steps = job.offsets.len();
    for (position, c) in job.c.chunks_mut(64 * job.width).take(job.positions).enumerate() {
        for (i, sum) in c.iter_mut().enumerate().take(job.rows * job.width) {
            let (square, column) = (i / job.width, i % job.width);
            let (block, half, column) = (column / 32, column / 16 % 2, column % 16);
            *sum = 0.0;
            for (s, &offset) in job.offsets.iter().enumerate() {
                let a = position * job.a_step + offset as usize + square * TILE_DEPTH;
                let b = &job.b[((block * steps + s) * 2 + half) * 512..][..512];
                for (k, &a) in job.a[a..][..TILE_DEPTH].iter().enumerate() {
                    let b = b[k / 2 * 32 + column * 2 + k % 2];
                    *sum += bf16::from_bits(a).to_f32() * bf16::from_bits(b).to_f32();
                }
            }
        }
    }
}

/// AVX512-BF16: an instruction that adds two products of bf16 numbers to each of 16 sums.
///
/// Dense layers take half the time of fp32. A convolution needs four times Winograd's multiplications, so
/// that it gains nothing and runs only when asked for. It computes what AMX computes, and tells on more CPUs
/// what bf16 costs.
#[cfg(target_arch = "x86_64")]
mod avx512_bf16 {
    use std::arch::x86_64::*;

    use super::{Avx512, TILE_DEPTH, TileProduct};

    /// AVX512-BF16, proven by [`Avx512Bf16::detect`], with AVX512BW.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx512Bf16(Avx512);

    /// Rows whose sums stay in registers together.
    pub(crate) const ROWS: usize = super::UNIT_ROWS;
    /// Numbers in a row of a right operand: two for each of 16 columns.
    const PAIRS: usize = 32;

    impl Avx512Bf16 {
        pub(in super::super) fn detect() -> Option<Avx512Bf16> {
            let usable = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512bf16");
            Avx512::detect().filter(|_| usable).map(Avx512Bf16)
        }

        pub(in super::super) fn vectors(self) -> Avx512 {
            self.0
        }

        /// Computes [`ROWS`] rows by 32 columns.
        ///
        /// # Safety
        /// The same as for [`super::Tiles::multiply_rows`].
        pub(super) unsafe fn multiply_rows(self, offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32) {
            // SAFETY: `self` proves that the CPU has the instructions. For the rest the caller vouches.
            unsafe { multiply_rows(offsets, a, b, c, TILE_DEPTH) }
        }

        /// The job must have been checked.
        pub(super) fn multiply(self, job: TileProduct<'_>) {
            let steps = job.offsets.len();
            for block in 0..job.width / TILE_DEPTH {
                for (position, first) in (0..job.positions)
                    .flat_map(|position| (0..job.rows).step_by(ROWS).map(move |first| (position, first)))
                {
                    // SAFETY: `self` proves that the CPU has the instructions. The check covers all operands
                    // of each block.
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
    /// The CPU must have the instructions. `a` must be valid from each offset for [`ROWS`] rows of 32
    /// numbers, `b` for 1,024 numbers a step, and `c` for [`ROWS`] rows of 32 numbers that are `width`
    /// numbers apart.
    #[target_feature(enable = "avx512f,avx512bf16")]
    unsafe fn multiply_rows(offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32, width: usize) {
        let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
        // SAFETY: the caller's.
        unsafe {
            for (step, &offset) in offsets.iter().enumerate() {
                let b = b.add(step * TILE_DEPTH * TILE_DEPTH);
                multiply_step(a.add(offset as usize), TILE_DEPTH, b, &mut sums);
            }
            for (i, sums) in sums.iter().enumerate() {
                for (half, &sum) in sums.iter().enumerate() {
                    _mm512_storeu_ps(c.add(i * width + half * 16), sum);
                }
            }
        }
    }

    /// Adds the products of one step, 32 numbers of [`ROWS`] rows that are `row` numbers apart, to the sums
    /// of 32 columns.
    ///
    /// # Safety
    /// The CPU must have the instructions. `a` must be valid for these rows, and `b` for 1,024 numbers.
    #[inline(always)]
    pub(crate) unsafe fn multiply_step(
        a: *const u16,
        row: usize,
        b: *const u16,
        sums: &mut [[__m512; 2]; ROWS],
    ) {
        // SAFETY: the caller's. Vectors of 16-bit integers and of bf16 are the same bits.
        unsafe {
            for pair in 0..TILE_DEPTH / 2 {
                let b = b.add(pair * PAIRS);
                let columns = [load_half(b), load_half(b.add(TILE_DEPTH * 16))];
                for (i, sums) in sums.iter_mut().enumerate() {
                    let both: *const i32 = a.add(i * row + 2 * pair).cast();
                    let both =
                        std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(both.read_unaligned()));
                    for (sum, columns) in sums.iter_mut().zip(columns) {
                        *sum = _mm512_dpbf16_ps(*sum, both, columns);
                    }
                }
            }
        }
    }

    /// # Safety
    /// The CPU must have AVX512F. `from` must be valid for 32 numbers.
    #[inline(always)]
    unsafe fn load_half(from: *const u16) -> __m512bh {
        // SAFETY: the caller's. Vectors of 16-bit integers and of bf16 are the same bits.
        unsafe { std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast())) }
    }
}
