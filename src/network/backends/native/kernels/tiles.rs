//! 3×3 convolutions and dense layers in bf16 as products of matrices, for CPUs that multiply tiles of matrices.
//!
//! [`Round`](super::Round) makes the left operands of dense layers. For convolutions [`Spread`] writes a board as three
//! copies, each shifted by a file, so that for every tap of a filter the 64 squares' inputs lie one after the other;
//! then a convolution is the sum of plain products ([`TileProduct`]), and [`Collect`] brings the sums back to a board.
//! [`Tiles`] multiplies.

use std::time::{Duration, Instant};

use half::bf16;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::amx::Amx;
use super::gemm::Product;
use super::simd::Simd;
use super::winograd::{Epilogue, finish, with_flags};
use super::{BOARD_SQUARES, BOARD_STRIDE, Job, Kernels, board_offset, extent};

/// bf16 numbers in a row of a tile; also the outputs that are computed together.
pub(crate) const TILE_DEPTH: usize = 32;
/// Rows that are computed together at most.
pub(crate) const ROW_STEP: usize = 32;
/// Squares of a spread copy: ten ranks of eight files.
pub(crate) const SPREAD_SQUARES: usize = 80;
/// Squares from one rank to the next in a spread copy.
pub(crate) const SPREAD_STRIDE: usize = 8;
/// Copies of a spread board: a filter's files.
const COPIES: usize = 3;

/// Returns the length of a spread board of `channels`.
pub(crate) fn spread_length(channels: usize) -> usize {
    COPIES * channels.div_ceil(TILE_DEPTH) * SPREAD_SQUARES * TILE_DEPTH
}

/// Turns boards into bf16: `spread[position][x][channel / 32][rank + 1][file][channel % 32]` is the board's number at
/// the square's rank and `file + x - 1`.
///
/// Only squares of the board are written: the places of squares beyond its edges must be 0 before.
#[derive(Debug)]
pub(crate) struct Spread<'a> {
    pub(crate) positions: usize,
    pub(crate) channels: usize,
    /// `[positions][10][10][channels]`
    pub(crate) boards: &'a [f32],
    /// `[positions][`[`spread_length`]`]`, bits of bf16.
    pub(crate) spread: &'a mut [u16],
}

/// Computes products of spread boards, or of blocks of 64 rows, and packed weights: for each position
/// `c[square][column] = Σ over steps s and k < 32 of a[offsets[s] + square * 32 + k] * b(s, k, column)`.
#[derive(Debug)]
pub(crate) struct TileProduct<'a> {
    /// Number of spread boards, or of blocks of rows.
    pub(crate) positions: usize,
    /// Rows that are wanted of each: 64, or fewer if there is only one block. Rows beyond them are undefined.
    pub(crate) rows: usize,
    /// Columns of `c`, a multiple of 32.
    pub(crate) width: usize,
    /// The places where each step's left operand begins; at least one step.
    pub(crate) offsets: &'a [u32],
    /// Left operands, bits of bf16.
    pub(crate) a: &'a [u16],
    /// Numbers from one position of `a` to the next.
    pub(crate) a_step: usize,
    /// Right operands, bits of bf16: `[width / 32][steps][2][16][16][2]`, that is 32 columns as two tiles of 16, whose
    /// rows hold two `k` for each column.
    pub(crate) b: &'a [u16],
    /// `[positions][64][width]`; with fewer rows there must be room for a multiple of [`ROW_STEP`].
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

/// Fills `b`, right operands of a [`TileProduct`] with so many steps, with `weight(step, k, column)`; `None` is padding.
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

/// A CPU's unit for products of bf16 matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tiles {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(Amx),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512_bf16::Avx512Bf16),
    /// Plain loops, against which the others are checked.
    // Only AMX checks itself by it outside of tests.
    #[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), allow(dead_code))]
    Definition,
}

impl Tiles {
    /// Returns the units of this CPU, the fastest first. Matrix tiles are here only if the system lets us use them and they
    /// compute what they should.
    pub(crate) fn available() -> Vec<Tiles> {
        let mut all = Vec::new();
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        all.extend(Amx::detect().map(Tiles::Amx));
        #[cfg(target_arch = "x86_64")]
        all.extend(avx512_bf16::Avx512Bf16::detect().map(Tiles::Avx512));
        all
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

    /// Says whether dense layers this way are faster than in fp32 with `kernels`. All but AMX are measured for less than a
    /// millisecond: the instruction of AVX512-BF16 has half the rate of multiplications in fp32 on Intel's CPUs.
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

/// Turns sums of a [`TileProduct`] into boards.
#[derive(Debug)]
pub(crate) struct Collect<'a> {
    pub(crate) positions: usize,
    pub(crate) channels: usize,
    /// `[positions][64][width]`
    pub(crate) sums: &'a [f32],
    /// Columns of `sums`, at least as many as channels.
    pub(crate) width: usize,
    /// The numbers that are added to each output, `[channels]`.
    pub(crate) bias: &'a [f32],
    pub(crate) epilogue: Epilogue,
    /// `[positions][10][10][channels]`
    pub(crate) boards: &'a mut [f32],
    /// The sums for [`Epilogue::Pool`], `[positions][channels]`; else unused.
    pub(crate) pool: &'a mut [f32],
}

impl Job for Spread<'_> {
    type Output = ();

    fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.boards.len() >= extent(self.positions, board, board));
        // A spread board is longer than a board, but not ten times: no overflow where the board did not.
        let spread = spread_length(self.channels);
        assert!(self.spread.len() >= extent(self.positions, spread, spread));
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let (channels, blocks) = (self.channels, self.channels.div_ceil(TILE_DEPTH));
        for (position, square) in
            (0..self.positions).flat_map(|position| (0..64).map(move |square| (position, square)))
        {
            let from = position * BOARD_SQUARES * channels + board_offset(square, channels);
            let row = (square / 8 + 1) * SPREAD_STRIDE + square % 8;
            for channel in (0..channels).step_by(S::LANES) {
                // SAFETY: the check covers these boards; a copy's row lies on the same rank as the square.
                unsafe {
                    let v = simd.load(self.boards.as_ptr().add(from + channel));
                    let to = self
                        .spread
                        .as_mut_ptr()
                        .add(position * spread_length(channels) + channel % TILE_DEPTH);
                    let block = channel / TILE_DEPTH;
                    let at =
                        |x: usize, row: usize| ((x * blocks + block) * SPREAD_SQUARES + row) * TILE_DEPTH;
                    if square % 8 < 7 {
                        simd.store_bf16(to.add(at(0, row + 1)), v);
                    }
                    simd.store_bf16(to.add(at(1, row)), v);
                    if square % 8 > 0 {
                        simd.store_bf16(to.add(at(2, row - 1)), v);
                    }
                }
            }
        }
    }
}

impl Job for Collect<'_> {
    type Output = ();

    fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes) && self.width >= self.channels);
        let sums = self.width.checked_mul(64).expect("fits");
        assert!(self.sums.len() >= extent(self.positions, sums, sums));
        assert!(self.bias.len() >= self.channels);
        assert!(self.boards.len() >= extent(self.positions, board, board));
        if self.epilogue == Epilogue::Pool {
            assert!(self.pool.len() >= extent(self.positions, self.channels, self.channels));
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the caller's.
        unsafe { with_flags!(self.epilogue, collect_with::<S>(simd, self)) }
    }
}

/// Computes `job` with the epilogue that the flags say.
///
/// # Safety
/// `job` must have passed its check; `POOL` only with [`Epilogue::Pool`].
#[inline(always)]
unsafe fn collect_with<S: Simd, const ADD: bool, const RELU: bool, const POOL: bool>(
    simd: S,
    job: Collect<'_>,
) {
    let channels = job.channels;
    for position in 0..job.positions {
        for channel in (0..channels).step_by(S::LANES) {
            // SAFETY: the check covers these sums, biases, boards and pools.
            unsafe {
                let bias = simd.load(job.bias.as_ptr().add(channel));
                let mut pool = simd.zero();
                for rank in 0..8 {
                    let from = job.sums.as_ptr().add((position * 64 + rank * 8) * job.width + channel);
                    let board = (position * BOARD_SQUARES + (rank + 1) * BOARD_STRIDE + 1) * channels;
                    let to = job.boards.as_mut_ptr().add(board + channel);
                    for file in 0..8 {
                        let to = to.add(file * channels);
                        let v = simd.add(simd.load(from.add(file * job.width)), bias);
                        finish::<S, ADD, RELU, POOL>(simd, v, to, &mut pool);
                    }
                }
                if POOL {
                    simd.store(job.pool.as_mut_ptr().add(position * channels + channel), pool);
                }
            }
        }
    }
}

/// AVX512-BF16: an instruction that adds two products of bf16 numbers to each of 16 sums.
///
/// Dense layers take half the time of fp32. A convolution needs four times Winograd's multiplications, so that it gains
/// nothing and runs only when asked for; it computes what AMX computes, and tells on more CPUs what bf16 costs.
#[cfg(target_arch = "x86_64")]
mod avx512_bf16 {
    use std::arch::x86_64::*;

    use super::{TILE_DEPTH, TileProduct};

    /// AVX512-BF16, proven by [`Avx512Bf16::detect`].
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx512Bf16(());

    /// Squares whose sums stay in registers together.
    const ROWS: usize = 8;
    /// Numbers in a row of a right operand: two for each of 16 columns.
    const PAIRS: usize = 32;

    impl Avx512Bf16 {
        pub(super) fn detect() -> Option<Avx512Bf16> {
            let usable = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
            usable.then_some(Avx512Bf16(()))
        }

        /// The job must have been checked.
        pub(super) fn multiply(self, job: TileProduct<'_>) {
            let steps = job.offsets.len();
            for block in 0..job.width / TILE_DEPTH {
                for (position, first) in (0..job.positions)
                    .flat_map(|position| (0..job.rows).step_by(ROWS).map(move |first| (position, first)))
                {
                    // SAFETY: `self` proves that the CPU has the instructions; the check covers all operands of each block.
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
    /// The CPU must have the instructions; `a` must be valid from each offset for [`ROWS`] rows of 32 numbers, `b` for 1,024
    /// numbers a step, and `c` for [`ROWS`] rows of 32 numbers that are `width` numbers apart.
    #[target_feature(enable = "avx512f,avx512bf16")]
    unsafe fn multiply_rows(offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32, width: usize) {
        let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
        // SAFETY: the caller's. Vectors of 16-bit integers and of bf16 are the same bits.
        unsafe {
            let row =
                |from: *const u16| std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast()));
            for (step, &offset) in offsets.iter().enumerate() {
                let (a, b) = (a.add(offset as usize), b.add(step * TILE_DEPTH * TILE_DEPTH));
                for pair in 0..TILE_DEPTH / 2 {
                    let b = b.add(pair * PAIRS);
                    let columns = [row(b), row(b.add(TILE_DEPTH * 16))];
                    for (i, sums) in sums.iter_mut().enumerate() {
                        let both: *const i32 = a.add(i * TILE_DEPTH + 2 * pair).cast();
                        let both = std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(
                            both.read_unaligned(),
                        ));
                        for (sum, columns) in sums.iter_mut().zip(columns) {
                            *sum = _mm512_dpbf16_ps(*sum, both, columns);
                        }
                    }
                }
            }
            for (i, sums) in sums.iter().enumerate() {
                for (half, &sum) in sums.iter().enumerate() {
                    _mm512_storeu_ps(c.add(i * width + half * 16), sum);
                }
            }
        }
    }
}
