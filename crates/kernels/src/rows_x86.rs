//! Dense layers and attention in bf16 with AVX-512. AMX or AVX512-BF16 computes the products in blocks of 32
//! by 32.
//!
//! A block's results are finished (bias, activation, rounding) between the steps of the next block: AMX
//! leaves the vector units free, and its stores wait for vector instructions. Weights are read in chunks that
//! stay in the L2 cache for all rows, while the next chunk is fetched, also across layers.
//!
//! Unsafe functions need AVX512F, AVX512BW and AVX512-BF16. They say what else.

use std::arch::x86_64::*;

use super::activation::Activation;
use super::elementwise::function;
use super::operands::{Ahead, BLOCK_ROWS, HalfRows, Layout, MATRIX, Sums, TILE_DEPTH};
use super::rows::{Attend, Dense, DenseOutput};
use super::simd::Avx512;

/// A chunk of weights stays in the L2 cache for all rows.
const CHUNK: usize = (128 << 10) / size_of::<u16>();
pub(crate) const BLOCK: usize = 32;
const SQUARES: usize = 64;

/// A block's left operand: 32 numbers of up to 32 rows for each step.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) first: *const u16,
    pub(crate) rows: usize,
    /// From one row to the next.
    pub(crate) row: usize,
    /// From one step to the next.
    pub(crate) step: usize,
}

pub(crate) trait Meanwhile {
    unsafe fn step(&mut self);
}

impl Meanwhile for () {
    #[inline(always)]
    unsafe fn step(&mut self) {}
}

/// Multiplies blocks of 32 rows by 32 columns. Whoever holds one has AVX512F, AVX512BW and AVX512-BF16.
pub(crate) trait Unit: Copy {
    fn simd(self) -> Avx512;

    /// All but the last block have 32 rows, and `rows` is at most the number of all.
    fn begin(self, rows: usize);

    fn end(self);

    /// Computes `c[32][32] = Σ over steps a[step] b[step]`. Rows of `c` beyond those of `a` are undefined.
    ///
    /// # Safety
    /// [`Unit::begin`] must have run on this thread. For each step, `a` must be valid for its rows rounded up
    /// to a multiple of 16, and `b` for a matrix, and `c` for 1,024 numbers. The CPU must have what
    /// `meanwhile` needs.
    unsafe fn multiply(
        self,
        a: Left,
        b: *const u16,
        steps: usize,
        c: *mut f32,
        meanwhile: &mut impl Meanwhile,
    );
}

#[derive(Clone, Copy)]
enum Target {
    Half(*mut u16),
    Single(*mut f32),
    Added(*mut f32, f32),
}

struct Finish {
    simd: Avx512,
    function: Activation,
    /// From one row of the target to the next.
    stride: usize,
    rows_a_step: usize,
    ahead: Ahead,
    /// The current block: its sums, biases, the target's first row, the next row and the number of all.
    sums: *const f32,
    bias: *const f32,
    target: Target,
    row: usize,
    rows: usize,
}

impl Meanwhile for Finish {
    #[inline(always)]
    unsafe fn step(&mut self) {
        self.ahead.advance(self.simd);
        for _ in 0..self.rows_a_step {
            if self.row == self.rows {
                return;
            }
            // SAFETY: the row is one of the block in work, which whoever set it vouches for.
            unsafe { self.finish_row() }
        }
    }
}

impl Finish {
    /// # Safety
    /// There must be a row left in the block. Sums, biases and target must be valid.
    #[inline(always)]
    unsafe fn finish_row(&mut self) {
        // SAFETY: the caller's: a row of the block has 32 sums, biases and results.
        unsafe {
            let sums = self.sums.add(self.row * BLOCK);
            let low = _mm512_add_ps(_mm512_loadu_ps(sums), _mm512_loadu_ps(self.bias));
            let high = _mm512_add_ps(_mm512_loadu_ps(sums.add(16)), _mm512_loadu_ps(self.bias.add(16)));
            let (low, high) = self.activate(low, high);
            let at = self.row * self.stride;
            match self.target {
                Target::Half(to) => store_half(to.add(at), low, high),
                Target::Single(to) => {
                    _mm512_storeu_ps(to.add(at), low);
                    _mm512_storeu_ps(to.add(at + 16), high);
                }
                Target::Added(to, factor) => {
                    let to = to.add(at);
                    let factor = _mm512_set1_ps(factor);
                    _mm512_storeu_ps(to, _mm512_fmadd_ps(factor, low, _mm512_loadu_ps(to)));
                    let to = to.add(16);
                    _mm512_storeu_ps(to, _mm512_fmadd_ps(factor, high, _mm512_loadu_ps(to)));
                }
            }
            self.row += 1;
        }
    }

    #[inline(always)]
    unsafe fn activate(&self, low: __m512, high: __m512) -> (__m512, __m512) {
        let simd = self.simd;
        // SAFETY: the caller's.
        unsafe {
            match self.function {
                Activation::None => (low, high),
                Activation::Mish => (mish(low), mish(high)),
                Activation::Swish => (swish(low), swish(high)),
                Activation::Relu => (function::<_, 0>(simd, low), function::<_, 0>(simd, high)),
                Activation::Relu2 => (function::<_, 1>(simd, low), function::<_, 1>(simd, high)),
                Activation::Tanh => (function::<_, 3>(simd, low), function::<_, 3>(simd, high)),
                Activation::Sigmoid => (function::<_, 4>(simd, low), function::<_, 4>(simd, high)),
                Activation::Selu => (function::<_, 5>(simd, low), function::<_, 5>(simd, high)),
            }
        }
    }

    /// # Safety
    /// As [`Finish::finish_row`].
    #[inline(always)]
    unsafe fn finish_rows(&mut self) {
        while self.row < self.rows {
            // SAFETY: the caller's.
            unsafe { self.finish_row() }
        }
    }
}

/// Writes 32 numbers as bf16.
///
/// # Safety
/// `to` must be valid for them.
#[inline(always)]
unsafe fn store_half(to: *mut u16, low: __m512, high: __m512) {
    // SAFETY: the caller's. Vectors of 16-bit integers and of bf16 are the same bits.
    unsafe {
        let numbers = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
        _mm512_storeu_si512(to.cast(), numbers);
    }
}

/// Computes `2^y` with an error of 3e-6 of it, for a result that is rounded to bf16.
#[inline(always)]
unsafe fn exp2(y: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        let whole = _mm512_roundscale_ps::<0>(y);
        let r = _mm512_sub_ps(y, whole);
        // Taylor's series with the fifth term replaced by the nearest polynomial of lower degree
        let mut e = _mm512_set1_ps(0.009_618_13);
        for coefficient in [0.055_920_8, 0.240_226_5, 0.693_121_1, 1.0] {
            e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(coefficient));
        }
        _mm512_scalef_ps(e, whole)
    }
}

/// Computes [`Activation::Mish`] for a result that is rounded to bf16: `x n / (n + 2)` with
/// `n = e^x (e^x + 2)`.
#[inline(always)]
unsafe fn mish(x: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        // Above 20 the factor is 1. Below -60 the result is 0 in bf16.
        let bounded = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-60.0)), _mm512_set1_ps(20.0));
        let e = exp2(_mm512_mul_ps(bounded, _mm512_set1_ps(std::f32::consts::LOG2_E)));
        let two = _mm512_set1_ps(2.0);
        let n = _mm512_mul_ps(e, _mm512_add_ps(e, two));
        _mm512_mul_ps(_mm512_mul_ps(x, n), _mm512_rcp14_ps(_mm512_add_ps(n, two)))
    }
}

/// Computes [`Activation::Swish`] for a result that is rounded to bf16.
#[inline(always)]
unsafe fn swish(x: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        let bounded = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-60.0)), _mm512_set1_ps(60.0));
        let e = exp2(_mm512_mul_ps(bounded, _mm512_set1_ps(-std::f32::consts::LOG2_E)));
        _mm512_mul_ps(x, _mm512_rcp14_ps(_mm512_add_ps(e, _mm512_set1_ps(1.0))))
    }
}

/// The job must have been checked.
pub(crate) fn dense(unit: impl Unit, job: Dense<'_>) {
    // SAFETY: the unit proves that the CPU has the instructions.
    unsafe { dense_with(unit, job) }
}

/// # Safety
/// The job must have been checked.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn dense_with<U: Unit>(unit: U, job: Dense<'_>) {
    let (steps, columns) = (job.inputs / TILE_DEPTH, job.outputs / TILE_DEPTH);
    let blocks = job.rows.div_ceil(BLOCK);
    let chunk = (CHUNK / (steps * MATRIX)).max(1);
    let (stride, layout) = match &job.output {
        DenseOutput::Half(_, layout) => (layout.row, *layout),
        // An fp32 row has the offset of a row of as many bf16 numbers.
        _ => (job.outputs, Layout::rows(job.outputs)),
    };
    let target = match job.output {
        DenseOutput::Half(to, _) => Target::Half(to.as_mut_ptr()),
        DenseOutput::Single(to) => Target::Single(to.as_mut_ptr()),
        DenseOutput::Added { to, factor } => Target::Added(to.as_mut_ptr(), factor),
    };
    let mut sums = [Sums::ZERO; 2];
    let mut finish = Finish {
        simd: unit.simd(),
        function: job.function,
        stride,
        rows_a_step: BLOCK.div_ceil(steps),
        ahead: Ahead::new(&[], 0, 0),
        sums: sums[0].0.as_ptr(),
        bias: job.bias.as_ptr(),
        target,
        row: 0,
        rows: 0,
    };
    unit.begin(job.rows);
    let mut parity = 0;
    for first in (0..columns).step_by(chunk) {
        let end = (first + chunk).min(columns);
        let after = if end < columns {
            &job.weights[end * steps * MATRIX..columns * steps * MATRIX]
        } else {
            job.next
        };
        finish.ahead = Ahead::new(after, CHUNK, blocks * (end - first) * steps);
        for i in 0..blocks * (end - first) {
            let (block, column) = (i / (end - first), first + i % (end - first));
            let row = block * BLOCK;
            let rows = BLOCK.min(job.rows - row);
            let c = sums[parity].0.as_mut_ptr();
            parity ^= 1;
            // SAFETY: the check covers the rows, rounded up to 16, and all weights, biases and results. The
            // block in work is the one before this, whose sums are in the other half of `sums`.
            unsafe {
                let a = Left {
                    first: job.a.numbers.as_ptr().add(job.a.layout.at(row)),
                    rows,
                    row: job.a.layout.row,
                    step: job.a.layout.step,
                };
                unit.multiply(
                    a,
                    job.weights.as_ptr().add(column * steps * MATRIX),
                    steps,
                    c,
                    &mut finish,
                );
                finish.finish_rows();
                let at = layout.at(row) + column * layout.step;
                finish.target = match target {
                    Target::Half(to) => Target::Half(to.add(at)),
                    Target::Single(to) => Target::Single(to.add(at)),
                    Target::Added(to, factor) => Target::Added(to.add(at), factor),
                };
                finish.sums = c;
                finish.bias = job.bias.as_ptr().add(column * TILE_DEPTH);
            }
            (finish.row, finish.rows) = (0, rows);
        }
    }
    // SAFETY: the last block is in work.
    unsafe { finish.finish_rows() }
    unit.end();
}

/// The job must have been checked.
pub(crate) fn attend(unit: impl Unit, job: Attend<'_>) {
    // SAFETY: the unit proves that the CPU has the instructions.
    unsafe { attend_with(unit, job) }
}

#[repr(C, align(64))]
struct HeadScratch {
    /// `[2][2][32][32]`: blocks of rows, blocks of columns.
    logits: [f32; SQUARES * SQUARES],
    /// `[2][64][32]`: not yet divided by their sum, bits of bf16.
    powers: [u16; SQUARES * SQUARES],
    /// Parts of a row's largest logit, then of the sum of its powers.
    parts: [f32; SQUARES * 16],
    /// The largest logit of each row, then 1 / sum.
    factors: [f32; SQUARES],
    result: [f32; BLOCK * BLOCK],
}

/// # Safety
/// The job must have been checked.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn attend_with<U: Unit>(unit: U, job: Attend<'_>) {
    let (heads, depth) = (job.heads, job.depth);
    let blocks = depth / TILE_DEPTH;
    let size = SQUARES * depth;
    let mut ahead = Ahead::new(job.next, CHUNK, job.positions * heads * SQUARES);
    let mut scratch = HeadScratch {
        logits: [0.0; SQUARES * SQUARES],
        powers: [0; SQUARES * SQUARES],
        parts: [0.0; SQUARES * 16],
        factors: [0.0; SQUARES],
        result: [0.0; BLOCK * BLOCK],
    };
    let (keys, values) = job.scratch.split_at_mut(size);
    let (keys, values) = (keys.as_mut_ptr(), values.as_mut_ptr());
    unit.begin(SQUARES);
    for head in 0..job.positions * heads {
        // SAFETY: the check covers queries, keys, values, additions and results of each head of each
        // position, and the scratch.
        unsafe {
            let part = |part: usize| {
                job.projected
                    .as_ptr()
                    .add(((head / heads * 3 + part) * heads + head % heads) * size)
            };
            let (query, key, value) = (part(0), part(1), part(2));
            for block in 0..blocks {
                let (key, value) = (
                    key.add(block * BLOCK_ROWS * TILE_DEPTH),
                    value.add(block * BLOCK_ROWS * TILE_DEPTH),
                );
                for quarter in 0..4 {
                    let to = ((quarter / 2 * blocks + block) * 2 + quarter % 2) * 512;
                    transpose(key.add(quarter * 512), keys.add(to));
                }
                for half in 0..2 {
                    interleave(value.add(half * MATRIX), values.add((block * 2 + half) * MATRIX));
                }
            }
            let logits = scratch.logits.as_mut_ptr();
            for (rows, columns) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let first = query.add(rows * MATRIX);
                let a = Left {
                    first,
                    rows: BLOCK,
                    row: TILE_DEPTH,
                    step: BLOCK_ROWS * TILE_DEPTH,
                };
                let b = keys.add(columns * blocks * MATRIX);
                unit.multiply(a, b, blocks, logits.add((rows * 2 + columns) * MATRIX), &mut ());
            }
            let added = job
                .additions
                .map(|HalfRows { numbers, layout }| numbers.as_ptr().add(layout.at(head)));
            let of_row = |row: usize| row / BLOCK * 2 * MATRIX + row % BLOCK * BLOCK;
            let (parts, factors) = (scratch.parts.as_mut_ptr(), scratch.factors.as_mut_ptr());
            for row in 0..SQUARES {
                let added = added.map(|added| added.add(row * SQUARES));
                let largest = scale_logits(logits.add(of_row(row)), added, job.scale);
                _mm512_storeu_ps(parts.add(row * 16), largest);
                ahead.advance(unit.simd());
            }
            for row in (0..SQUARES).step_by(16) {
                _mm512_storeu_ps(factors.add(row), reduce::<true>(parts.add(row * 16)));
            }
            for row in 0..SQUARES {
                let (powers, sum) = exponentials(logits.add(of_row(row)), _mm512_set1_ps(*factors.add(row)));
                _mm512_storeu_ps(parts.add(row * 16), sum);
                let to = scratch.powers.as_mut_ptr().add(row * TILE_DEPTH);
                store_half(to, powers[0], powers[1]);
                store_half(to.add(BLOCK_ROWS * TILE_DEPTH), powers[2], powers[3]);
            }
            for row in (0..SQUARES).step_by(16) {
                let sums = reduce::<false>(parts.add(row * 16));
                _mm512_storeu_ps(factors.add(row), _mm512_div_ps(_mm512_set1_ps(1.0), sums));
            }
            let attended = job.attended.as_mut_ptr().add(head * size);
            for i in 0..2 * blocks {
                let (rows, block) = (i / blocks, i % blocks);
                let first = scratch.powers.as_ptr().add(rows * MATRIX);
                let a = Left {
                    first,
                    rows: BLOCK,
                    row: TILE_DEPTH,
                    step: BLOCK_ROWS * TILE_DEPTH,
                };
                let result = scratch.result.as_mut_ptr();
                unit.multiply(a, values.add(block * 2 * MATRIX), 2, result, &mut ());
                let to = attended.add(block * BLOCK_ROWS * TILE_DEPTH + rows * MATRIX);
                for row in 0..BLOCK {
                    let factor = _mm512_set1_ps(scratch.factors[rows * BLOCK + row]);
                    let result = result.add(row * BLOCK);
                    let low = _mm512_mul_ps(_mm512_loadu_ps(result), factor);
                    let high = _mm512_mul_ps(_mm512_loadu_ps(result.add(16)), factor);
                    store_half(to.add(row * TILE_DEPTH), low, high);
                }
            }
        }
    }
    unit.end();
}

/// Scales the products of a row of 64 and adds to them, as powers of 2. Returns 16 parts of the largest.
///
/// # Safety
/// `logits` must be valid for two times 32 numbers that are a block apart, `added` for 64.
#[inline(always)]
unsafe fn scale_logits(logits: *mut f32, added: Option<*const u16>, scale: f32) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        let log2_e = _mm512_set1_ps(std::f32::consts::LOG2_E);
        let scale = _mm512_set1_ps(scale * std::f32::consts::LOG2_E);
        let mut largest = _mm512_set1_ps(f32::MIN);
        for i in 0..4 {
            let at = logits.add(i / 2 * MATRIX + i % 2 * 16);
            let mut x = _mm512_mul_ps(_mm512_loadu_ps(at), scale);
            if let Some(added) = added {
                let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(added.add(i * 16).cast()));
                x = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits)), log2_e, x);
            }
            largest = _mm512_max_ps(largest, x);
            _mm512_storeu_ps(at, x);
        }
        largest
    }
}

/// `2^(logit - largest)` of a row of 64, and 16 parts of the sum of all.
///
/// # Safety
/// `logits` must be valid for two times 32 numbers that are a block apart.
#[inline(always)]
unsafe fn exponentials(logits: *const f32, largest: __m512) -> ([__m512; 4], __m512) {
    // SAFETY: the caller's.
    unsafe {
        let mut powers = [_mm512_setzero_ps(); 4];
        for (i, power) in powers.iter_mut().enumerate() {
            let x = _mm512_loadu_ps(logits.add(i / 2 * MATRIX + i % 2 * 16));
            *power = exp2(_mm512_sub_ps(x, largest));
        }
        let sum = _mm512_add_ps(
            _mm512_add_ps(powers[0], powers[1]),
            _mm512_add_ps(powers[2], powers[3]),
        );
        (powers, sum)
    }
}

/// The largest number of each of 16 rows of 16, or the sum of each.
///
/// # Safety
/// `rows` must be valid for 256 numbers.
#[inline(always)]
unsafe fn reduce<const LARGEST: bool>(rows: *const f32) -> __m512 {
    macro_rules! both {
        ($shuffle:ident, $a:expr, $b:expr, $low:literal, $high:literal) => {
            join::<LARGEST>($shuffle::<$low>($a, $b), $shuffle::<$high>($a, $b))
        };
    }
    // SAFETY: the caller's.
    unsafe {
        // Each step joins two rows, or parts of them, so that a vector holds twice the rows.
        let mut quarters = [_mm512_setzero_ps(); 4];
        for (i, quarter) in quarters.iter_mut().enumerate() {
            let mut pairs = [_mm512_setzero_ps(); 2];
            for (k, pair) in pairs.iter_mut().enumerate() {
                let a = _mm512_loadu_ps(rows.add((4 * i + 2 * k) * 16));
                let b = _mm512_loadu_ps(rows.add((4 * i + 2 * k + 1) * 16));
                *pair = join::<LARGEST>(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            }
            *quarter = both!(_mm512_shuffle_ps, pairs[0], pairs[1], 0x44, 0xee);
        }
        let first = both!(_mm512_shuffle_f32x4, quarters[0], quarters[1], 0x88, 0xdd);
        let second = both!(_mm512_shuffle_f32x4, quarters[2], quarters[3], 0x88, 0xdd);
        both!(_mm512_shuffle_f32x4, first, second, 0x88, 0xdd)
    }
}

/// The larger of two numbers, or their sum.
#[inline(always)]
unsafe fn join<const LARGEST: bool>(a: __m512, b: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        if LARGEST {
            _mm512_max_ps(a, b)
        } else {
            _mm512_add_ps(a, b)
        }
    }
}

/// Turns 16 rows of 16 pairs into 16 pairs of 16 rows.
///
/// # Safety
/// Both must be valid for 512 numbers.
#[inline(always)]
unsafe fn transpose(from: *const u16, to: *mut u16) {
    // SAFETY: the caller's.
    unsafe {
        let mut rows = [_mm512_setzero_si512(); 16];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = _mm512_loadu_si512(from.add(i * TILE_DEPTH).cast());
        }
        let mut turned = rows;
        for i in 0..8 {
            turned[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
            turned[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
        }
        for i in 0..4 {
            rows[4 * i] = _mm512_unpacklo_epi64(turned[4 * i], turned[4 * i + 2]);
            rows[4 * i + 1] = _mm512_unpackhi_epi64(turned[4 * i], turned[4 * i + 2]);
            rows[4 * i + 2] = _mm512_unpacklo_epi64(turned[4 * i + 1], turned[4 * i + 3]);
            rows[4 * i + 3] = _mm512_unpackhi_epi64(turned[4 * i + 1], turned[4 * i + 3]);
        }
        for i in 0..4 {
            turned[i] = _mm512_shuffle_i32x4::<0x88>(rows[i], rows[i + 4]);
            turned[i + 4] = _mm512_shuffle_i32x4::<0xdd>(rows[i], rows[i + 4]);
            turned[i + 8] = _mm512_shuffle_i32x4::<0x88>(rows[i + 8], rows[i + 12]);
            turned[i + 12] = _mm512_shuffle_i32x4::<0xdd>(rows[i + 8], rows[i + 12]);
        }
        for i in 0..8 {
            rows[i] = _mm512_shuffle_i32x4::<0x88>(turned[i], turned[i + 8]);
            rows[i + 8] = _mm512_shuffle_i32x4::<0xdd>(turned[i], turned[i + 8]);
        }
        for (i, row) in rows.into_iter().enumerate() {
            _mm512_storeu_si512(to.add(i * TILE_DEPTH).cast(), row);
        }
    }
}

/// Turns 32 rows of 32 numbers into a matrix of a right operand: two rows of each number side by side.
///
/// # Safety
/// Both must be valid for a matrix.
#[inline(always)]
unsafe fn interleave(from: *const u16, to: *mut u16) {
    /// Sources of each place: `i` of the first row, `32 + i` of the second.
    const LOW: [u16; 32] = {
        let mut places = [0; 32];
        let mut i = 0;
        while i < 32 {
            places[i] = (i / 2 + i % 2 * 32) as u16;
            i += 1;
        }
        places
    };
    // SAFETY: the caller's.
    unsafe {
        let low = _mm512_loadu_si512(LOW.as_ptr().cast());
        let high = _mm512_or_si512(low, _mm512_set1_epi16(16));
        for pair in 0..16 {
            let from = from.add(2 * pair * TILE_DEPTH);
            let first = _mm512_loadu_si512(from.cast());
            let second = _mm512_loadu_si512(from.add(TILE_DEPTH).cast());
            _mm512_storeu_si512(
                to.add(pair * 32).cast(),
                _mm512_permutex2var_epi16(first, low, second),
            );
            _mm512_storeu_si512(
                to.add(512 + pair * 32).cast(),
                _mm512_permutex2var_epi16(first, high, second),
            );
        }
    }
}
