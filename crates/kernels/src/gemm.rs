//! Products of small dense matrices: all multiplications but the first layer's.

use super::kernels::Job;
use super::simd::Simd;
use super::sizes::extent;

/// `c[i] = a[i] b[i] + bias` for `count` matrices: `a` is `[rows][inner]`, `b` `[inner][width]`, `c`
/// `[rows][width]`. `…_row` is from one row to the next, `…_step` from one matrix to the next.
///
/// `b` is packed: cut into panels of [`Kernels::panel`](super::Kernels::panel) columns, the last one
/// narrower, each `[inner][columns]` without gaps, one after the other.
#[derive(Debug, Default)]
pub struct Product<'a> {
    pub count: usize,
    pub rows: usize,
    /// Columns of `a`, rows of `b`.
    pub inner: usize,
    /// Columns of `b` and `c`, a multiple of [`CHANNEL_STEP`](super::CHANNEL_STEP).
    pub width: usize,
    pub a: &'a [f32],
    pub a_row: usize,
    pub a_step: usize,
    /// `inner * width` numbers each.
    pub b: &'a [f32],
    /// 0 if all products share `b`.
    pub b_step: usize,
    /// `width` numbers, added to each row.
    pub bias: Option<&'a [f32]>,
    pub c: &'a mut [f32],
    pub c_row: usize,
    pub c_step: usize,
}

const LINE: usize = 16;
/// Weights multiplied with all rows before the next: 32 KB, which stay in the L1 cache.
const PANEL: usize = 8192;
/// How far prefetching is ahead where weights are used once.
const DISTANCE: usize = 1024;
/// Prefetches all lines of each row of a panel into the L1 cache.
const ALL_NEAR: usize = usize::MAX;

impl Job for Product<'_> {
    fn check(&self, lanes: usize) {
        let inner = self.inner.max(1);
        assert!(self.width.is_multiple_of(lanes));
        assert!(self.a.len() >= extent(self.count, self.a_step, extent(self.rows, self.a_row, inner)));
        assert!(
            self.b.len()
                >= extent(
                    self.count,
                    self.b_step,
                    inner.checked_mul(self.width).expect("fits")
                )
        );
        assert!(self.c.len() >= extent(self.count, self.c_step, extent(self.rows, self.c_row, self.width)));
        assert!(self.bias.is_none_or(|bias| bias.len() >= self.width));
    }

    /// Right operands are prefetched, since the CPU's own prefetcher begins anew on each page. Those of
    /// several products go to the L2 cache, line after line, and that of a single one, a head's, to L1. Other
    /// ways were 5 to 50 % slower (Sapphire Rapids).
    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        let panel = S::LANES * S::COLUMNS;
        for i in 0..self.count {
            for column in (0..self.width).step_by(panel) {
                // SAFETY: the check covers `count` matrices at these steps and all columns of each. Panels
                // before this one hold `inner * column` numbers.
                unsafe {
                    let tile = Tile {
                        inner: self.inner,
                        a: self.a.as_ptr().add(i * self.a_step),
                        a_row: self.a_row,
                        b: self.b.as_ptr().add(i * self.b_step + self.inner * column),
                        ahead: std::ptr::null(),
                        resumes: false,
                        bias: self
                            .bias
                            .map_or(std::ptr::null(), |bias| bias.as_ptr().add(column)),
                        c: self.c.as_mut_ptr().add(i * self.c_step + column),
                        c_row: self.c_row,
                    };
                    let size = Size {
                        rows: self.rows,
                        is_alone: self.count == 1,
                    };
                    match (self.width - column).min(panel) / S::LANES {
                        4 if const { S::COLUMNS == 4 } => multiply_panel::<S, 4>(simd, &tile, size),
                        3 if const { S::COLUMNS == 4 } => multiply_panel::<S, 3>(simd, &tile, size),
                        2 => multiply_panel::<S, 2>(simd, &tile, size),
                        _ => multiply_panel::<S, 1>(simd, &tile, size),
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Size {
    rows: usize,
    is_alone: bool,
}

/// Computes all rows of a product with a panel of `N` vectors.
///
/// # Safety
/// The same as for [`multiply_tile`], for these rows.
#[inline(always)]
unsafe fn multiply_panel<S: Simd, const N: usize>(simd: S, whole: &Tile, Size { rows, is_alone }: Size) {
    let columns = N * S::LANES;
    let lines = columns.div_ceil(LINE);
    // Several tiles of rows read a part of the panel before the next, and each prefetches its share.
    let (part, distance, share) = if rows <= S::ROWS {
        (whole.inner, DISTANCE, lines)
    } else {
        let part = whole.inner.min(PANEL / columns);
        let share = if rows <= 3 * S::ROWS { lines.div_ceil(2) } else { 1 };
        (part, DISTANCE.max(part * columns), share)
    };
    let mut first = 0;
    loop {
        let mut tile = Tile {
            inner: part.min(whole.inner - first),
            a: whole.a.wrapping_add(first),
            b: whole.b.wrapping_add(first * columns),
            ahead: whole.b.wrapping_add(first * columns + distance),
            resumes: first > 0,
            ..*whole
        };
        let mut row = 0;
        let mut line = 0;
        while row < rows {
            let left = rows - row;
            let asked = share.min(lines - line);
            // SAFETY: the caller's. No more rows are taken than are left, and parts lie within the operands.
            unsafe {
                // Each of these is a program of its own. Constants leave out those that a set of instructions
                // never runs, or the compiler works on them for minutes.
                let done = match asked {
                    1.. if const { S::PREFETCHES } && is_alone && asked == lines => {
                        multiply_rows::<S, N, ALL_NEAR>(simd, &tile, left)
                    }
                    1 if const { S::PREFETCHES } => multiply_rows::<S, N, 1>(simd, &tile, left),
                    2 if const { S::PREFETCHES && N * S::LANES > LINE } => {
                        multiply_rows::<S, N, 2>(simd, &tile, left)
                    }
                    3.. if const { S::PREFETCHES && N * S::LANES > 2 * LINE } => {
                        multiply_rows::<S, N, 4>(simd, &tile, left)
                    }
                    _ => multiply_rows::<S, N, 0>(simd, &tile, left),
                };
                tile.a = tile.a.wrapping_add(done * tile.a_row);
                tile.c = tile.c.wrapping_add(done * tile.c_row);
                tile.ahead = tile.ahead.wrapping_add(asked * tile.inner * LINE);
                row += done;
                line += asked;
            }
        }
        first += part;
        if first >= whole.inner {
            break;
        }
    }
}

/// Computes the next rows of a product, at most `left`, and prefetches `LINES` lines with each row of `b`.
/// The result is their number.
///
/// # Safety
/// The same as for [`multiply_tile`], for `left` rows.
#[inline(always)]
unsafe fn multiply_rows<S: Simd, const N: usize, const LINES: usize>(
    simd: S,
    tile: &Tile,
    left: usize,
) -> usize {
    // SAFETY: the caller's. No more rows are taken than are left.
    unsafe {
        // Six rows are best. Eight are better as four and four than as six and two.
        if const { S::ROWS >= 6 } && left >= 6 && left != 8 {
            multiply_tile::<S, 6, N, LINES>(simd, tile)
        } else if left >= 4 {
            multiply_tile::<S, 4, N, LINES>(simd, tile)
        } else if left >= 2 {
            multiply_tile::<S, 2, N, LINES>(simd, tile)
        } else {
            multiply_tile::<S, 1, N, LINES>(simd, tile)
        }
    }
}

struct Tile {
    inner: usize,
    a: *const f32,
    a_row: usize,
    b: *const f32,
    /// The operand to prefetch, if there is a next one.
    ahead: *const f32,
    resumes: bool,
    /// Null for none.
    bias: *const f32,
    c: *mut f32,
    c_row: usize,
}

/// Computes `R` rows of `N` vectors, held in registers while `inner` runs. Returns `R`.
///
/// # Safety
/// `a` must be valid for `R` rows of `inner` numbers, `b` for `inner` rows of `N` vectors without gaps, `c`
/// for `R` rows of `N` vectors, `bias` for `N` vectors unless it is null.
#[inline(always)]
unsafe fn multiply_tile<S: Simd, const R: usize, const N: usize, const LINES: usize>(
    simd: S,
    tile: &Tile,
) -> usize {
    // SAFETY: all addresses lie in what the caller vouches for.
    unsafe {
        let mut sums = [[simd.zero(); N]; R];
        if tile.resumes {
            for (r, row) in sums.iter_mut().enumerate() {
                for (j, sum) in row.iter_mut().enumerate() {
                    *sum = simd.load(tile.c.add(r * tile.c_row + j * S::LANES));
                }
            }
        } else if !tile.bias.is_null() {
            for j in 0..N {
                let bias = simd.load(tile.bias.add(j * S::LANES));
                for row in &mut sums {
                    row[j] = bias;
                }
            }
        }
        for k in 0..tile.inner {
            let mut b = [simd.zero(); N];
            for (j, b) in b.iter_mut().enumerate() {
                *b = simd.load(tile.b.add((k * N + j) * S::LANES));
            }
            let is_near = LINES == ALL_NEAR;
            let lines = if is_near {
                (N * S::LANES).div_ceil(LINE)
            } else {
                LINES
            };
            for line in 0..lines {
                let at = tile.ahead.wrapping_add((k * lines + line) * LINE);
                if is_near {
                    simd.prefetch::<true>(at)
                } else {
                    simd.prefetch::<false>(at)
                }
            }
            for (r, row) in sums.iter_mut().enumerate() {
                let a = simd.splat(*tile.a.add(r * tile.a_row + k));
                for (sum, &b) in row.iter_mut().zip(&b) {
                    *sum = simd.mul_add(a, b, *sum);
                }
            }
        }
        for (r, row) in sums.iter().enumerate() {
            for (j, &sum) in row.iter().enumerate() {
                simd.store(tile.c.add(r * tile.c_row + j * S::LANES), sum);
            }
        }
    }
    R
}
