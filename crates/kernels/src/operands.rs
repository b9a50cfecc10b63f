//! Operands of products in bf16: the layout of rows, packed weights, prefetching, and the sums of a block.

use half::bf16;

use super::simd::Simd;
use super::sizes::extent;

/// Inputs of a step, and outputs that are computed together.
pub const TILE_DEPTH: usize = 32;
/// Rows read together: a left operand has memory for a multiple of them.
pub const TILE_ROWS: usize = 16;
/// Rows of a block, one per square.
pub const BLOCK_ROWS: usize = 64;
/// Rows whose sums stay in registers together.
pub(crate) const UNIT_ROWS: usize = 8;
pub(crate) const MATRIX: usize = TILE_DEPTH * TILE_DEPTH;
/// Numbers that one step reads.
const BLOCK_STEP: usize = BLOCK_ROWS * TILE_DEPTH;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// From one row to the next.
    pub(crate) row: usize,
    /// From 32 numbers of a row to the next 32.
    pub(crate) step: usize,
    /// From 64 rows to the next 64.
    pub(crate) block: usize,
}

impl Layout {
    /// `[rows / 64][width / 32][64][32]`: what a product reads lies side by side.
    pub fn blocks(width: usize) -> Layout {
        Layout {
            row: TILE_DEPTH,
            step: BLOCK_STEP,
            block: BLOCK_ROWS.checked_mul(width).expect("fits"),
        }
    }

    /// `[rows][stride]`
    pub fn rows(stride: usize) -> Layout {
        Layout {
            row: stride,
            step: TILE_DEPTH,
            block: BLOCK_ROWS.checked_mul(stride).expect("fits"),
        }
    }

    /// Panics if the length exceeds `usize`.
    pub fn length(self, rows: usize, width: usize) -> usize {
        let Some(last) = rows.checked_sub(1) else { return 0 };
        let row = extent(width / TILE_DEPTH, self.step, TILE_DEPTH);
        let whole = extent(last / BLOCK_ROWS, self.block, extent(BLOCK_ROWS, self.row, row));
        let block = extent(last % BLOCK_ROWS + 1, self.row, row);
        whole.max(extent(last / BLOCK_ROWS + 1, self.block, block))
    }

    #[inline(always)]
    pub fn at(self, row: usize) -> usize {
        row / BLOCK_ROWS * self.block + row % BLOCK_ROWS * self.row
    }

    #[inline(always)]
    pub fn place(self, row: usize, column: usize) -> usize {
        self.at(row) + column / TILE_DEPTH * self.step + column % TILE_DEPTH
    }
}

#[derive(Clone, Copy, Debug)]
pub struct HalfRows<'a> {
    pub numbers: &'a [u16],
    pub layout: Layout,
}

/// Fills `b`, a right operand for `steps` steps of 32 inputs, with `weight(step, k, column)`.
///
/// Bits of bf16, `[columns / 32][steps][2][16][16][2]`: 32 by 32 weights as two matrices of 16 columns, whose
/// rows hold two inputs for each column.
pub fn pack_right(b: &mut [u16], steps: usize, weight: impl Fn(usize, usize, usize) -> f32) {
    for (matrix, tiles) in b.chunks_exact_mut(MATRIX).enumerate() {
        let (block, step) = (matrix / steps, matrix % steps);
        for (i, to) in tiles.iter_mut().enumerate() {
            let (half, pair, column, second) = (i / 512, i / 32 % 16, i / 2 % 16, i % 2);
            let column = block * TILE_DEPTH + half * 16 + column;
            *to = bf16::from_f32(weight(step, 2 * pair + second, column)).to_bits();
        }
    }
}

#[repr(C, align(64))]
pub(crate) struct Sums(pub(crate) [f32; MATRIX]);

impl Sums {
    pub(crate) const ZERO: Sums = Sums([0.0; MATRIX]);
}

const LINE: usize = 64 / size_of::<u16>();

pub(crate) struct Ahead {
    next: *const u16,
    lines: usize,
    each: usize,
}

impl Ahead {
    pub(crate) fn new(weights: &[u16], length: usize, steps: usize) -> Ahead {
        let lines = weights.len().min(length).div_ceil(LINE);
        Ahead {
            next: weights.as_ptr(),
            lines,
            each: lines.div_ceil(steps.max(1)),
        }
    }

    #[inline(always)]
    pub(crate) fn advance<S: Simd>(&mut self, simd: S) {
        for _ in 0..self.each.min(self.lines) {
            simd.prefetch::<false>(self.next.cast());
            self.next = self.next.wrapping_add(LINE);
        }
        self.lines = self.lines.saturating_sub(self.each);
    }
}
