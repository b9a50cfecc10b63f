//! Winograd's F(4×4, 3×3): 36 multiplications for 16 outputs of a 3×3 convolution, 144 directly.
//!
//! A 6×6 tile `d` of a board becomes `V = Bᵀ d B`, the filter `g` became `U = G g Gᵀ` once, and `Aᵀ (Σ U∘V)
//! A` are the 4×4 outputs (Lavin and Gray 2015, interpolation points 0, ±1, ±2, ∞). The sums over channels
//! are 36 matrix products.

use super::fixed::{FOLDED, inverse};
use super::kernels::Job;
use super::simd::Simd;
use super::sizes::{BOARD_SQUARES, BOARD_STRIDE, POINTS, TILES, extent};

/// `G` of `U = G g Gᵀ`.
const FILTER: [[f64; 3]; 6] = [
    [1.0 / 4.0, 0.0, 0.0],
    [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
    [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
    [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
    [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
    [0.0, 0.0, 1.0],
];

/// The filter (rows first) is transformed in double precision, since only once.
pub fn transform_filter(filter: &[f32; 9]) -> [f32; POINTS] {
    let mut half = [[0.0; 3]; 6];
    for (to, g) in half.iter_mut().zip(&FILTER) {
        for (x, to) in to.iter_mut().enumerate() {
            *to = (0..3).map(|y| g[y] * f64::from(filter[y * 3 + x])).sum();
        }
    }
    let mut points = [0.0; POINTS];
    for (i, point) in points.iter_mut().enumerate() {
        let (row, g) = (&half[i / 6], &FILTER[i % 6]);
        *point = (0..3).map(|x| row[x] * g[x]).sum::<f64>() as f32;
    }
    points
}

/// Transformed tiles, `[36][positions * 4][channels]`.
#[derive(Debug)]
pub enum Transformed<'a> {
    Single(&'a mut [f32]),
    /// Integers: numbers times their point's factor, by the largest magnitude on their board.
    Fixed {
        tiles: &'a mut [i16],
        /// See [`point_factors`](super::point_factors).
        factors: &'a [f32; POINTS],
        /// `[positions]`
        largest: &'a [f32],
    },
}

/// Boards to tiles: `tiles[point][position * 4 + tile][channel]`.
#[derive(Debug)]
pub struct InputTransform<'a> {
    pub positions: usize,
    pub channels: usize,
    /// `[positions][10][10][channels]`
    pub boards: &'a [f32],
    pub tiles: Transformed<'a>,
    /// From one point of `tiles` to the next, at least `positions * 4 * channels`.
    pub step: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    Store,
    /// Stored after ReLU.
    Relu,
    /// Added to the board.
    Add,
    /// Added to the board, then ReLU.
    AddRelu,
    /// Stored, with sums over the board in `pool`.
    Pool,
}

/// Each [`Epilogue`] gets a loop of its own, without a branch.
macro_rules! with_flags {
    ($epilogue:expr, $function:ident::<$simd:ident>($($argument:expr),*)) => {
        match $epilogue {
            Epilogue::Store => $function::<$simd, false, false, false>($($argument),*),
            Epilogue::Relu => $function::<$simd, false, true, false>($($argument),*),
            Epilogue::Add => $function::<$simd, true, false, false>($($argument),*),
            Epilogue::AddRelu => $function::<$simd, true, true, false>($($argument),*),
            Epilogue::Pool => $function::<$simd, false, false, true>($($argument),*),
        }
    };
}

/// Finishes a vector of outputs, adds it to `pool` if there is one, and raises `reached` to its magnitudes.
///
/// # Safety
/// `to` must be valid for a vector.
#[inline(always)]
unsafe fn finish<S: Simd, const ADD: bool, const RELU: bool, const POOL: bool>(
    simd: S,
    mut v: S::Vector,
    to: *mut f32,
    (pool, reached): (&mut S::Vector, &mut S::Vector),
) {
    // SAFETY: the caller's.
    unsafe {
        if ADD {
            v = simd.add(v, simd.load(to));
        }
        if RELU {
            v = simd.max(v, simd.zero());
        }
        if POOL {
            *pool = simd.add(*pool, v);
        }
        *reached = simd.max(*reached, if RELU { v } else { simd.magnitude(v) });
        simd.store(to, v);
    }
}

/// What products in fixed point are multiplied with.
#[derive(Clone, Copy, Debug)]
pub struct FixedScales<'a> {
    /// Those of the panel, `[width]`.
    pub channels: &'a [f32],
    /// The largest magnitudes on the boards that were transformed, `[positions]`.
    pub boards: &'a [f32],
}

/// Products of tiles become boards, for a panel of channels.
#[derive(Debug)]
pub struct OutputTransform<'a> {
    pub positions: usize,
    /// Channels of the panel, a multiple of 8.
    pub width: usize,
    /// `[36][positions * 4][width]`
    pub products: &'a [f32],
    /// From one point of `products` to the next.
    pub step: usize,
    /// For products in fixed point.
    pub fixed: Option<FixedScales<'a>>,
    /// `[width]`
    pub bias: &'a [f32],
    pub epilogue: Epilogue,
    /// `[positions][10][10][channels]`
    pub boards: &'a mut [f32],
    pub channels: usize,
    pub first: usize,
    /// Sums for [`Epilogue::Pool`], `[positions][channels]`.
    pub pool: &'a mut [f32],
    /// Raised to the largest magnitude of each board's outputs, `[positions]`.
    pub reached: &'a mut [f32],
}

/// `Bᵀ d` for one column of a tile.
#[inline(always)]
fn input_column<S: Simd>(simd: S, d: [S::Vector; 6]) -> [S::Vector; 6] {
    let (two, four) = (simd.splat(2.0), simd.splat(4.0));
    let (minus_four, minus_five) = (simd.splat(-4.0), simd.splat(-5.0));
    let even = simd.mul_add(minus_four, d[2], d[4]);
    let odd = simd.mul_add(minus_four, d[1], d[3]);
    let far = simd.sub(d[4], d[2]);
    let slope = simd.mul(two, simd.sub(d[3], d[1]));
    [
        simd.mul_add(four, d[0], simd.mul_add(minus_five, d[2], d[4])),
        simd.add(even, odd),
        simd.sub(even, odd),
        simd.add(far, slope),
        simd.sub(far, slope),
        simd.mul_add(four, d[1], simd.mul_add(minus_five, d[3], d[5])),
    ]
}

/// `Aᵀ m` for one column of products, each of which has a scale (those of points 1 and 2 are 1, those of 3
/// and 4 the same).
#[inline(always)]
fn output_column<S: Simd>(simd: S, m: [S::Vector; 6], scales: &[f32; 6]) -> [S::Vector; 4] {
    let [first, _, _, far, _, last] = *scales;
    let (sum1, difference1) = (simd.add(m[1], m[2]), simd.sub(m[1], m[2]));
    let (sum2, difference2) = (simd.add(m[3], m[4]), simd.sub(m[3], m[4]));
    let near = simd.mul_add(simd.splat(far), sum2, sum1);
    let cubes = simd.mul_add(simd.splat(8.0 * far), difference2, difference1);
    [
        simd.mul_add(simd.splat(first), m[0], near),
        simd.mul_add(simd.splat(2.0 * far), difference2, difference1),
        simd.mul_add(simd.splat(4.0 * far), sum2, sum1),
        simd.mul_add(simd.splat(last), m[5], cubes),
    ]
}

#[inline(always)]
fn column<V: Copy, const N: usize>(rows: &[[V; N]; 6], x: usize) -> [V; 6] {
    [
        rows[0][x], rows[1][x], rows[2][x], rows[3][x], rows[4][x], rows[5][x],
    ]
}

/// Reads six vectors, `step` numbers apart.
///
/// # Safety
/// All six must be readable.
#[inline(always)]
unsafe fn load_six<S: Simd>(simd: S, from: *const f32, step: usize) -> [S::Vector; 6] {
    // SAFETY: the caller's.
    unsafe {
        [
            simd.load(from),
            simd.load(from.add(step)),
            simd.load(from.add(2 * step)),
            simd.load(from.add(3 * step)),
            simd.load(from.add(4 * step)),
            simd.load(from.add(5 * step)),
        ]
    }
}

impl Job for InputTransform<'_> {
    fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.channels.is_multiple_of(lanes));
        assert!(self.boards.len() >= extent(self.positions, board, board));
        let rows = extent(self.positions, TILES * self.channels, TILES * self.channels);
        let length = extent(POINTS, self.step, rows);
        match &self.tiles {
            Transformed::Single(tiles) => assert!(tiles.len() >= length),
            Transformed::Fixed { tiles, largest, .. } => {
                assert!(tiles.len() >= length && largest.len() >= self.positions);
            }
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the caller's.
        unsafe {
            match self.tiles {
                Transformed::Single(_) => transform_input_with::<S, false>(simd, self),
                Transformed::Fixed { .. } => transform_input_with::<S, true>(simd, self),
            }
        }
    }
}

/// # Safety
/// `job` must have passed its check. `FIXED` says which tiles it has.
#[inline(always)]
unsafe fn transform_input_with<S: Simd, const FIXED: bool>(simd: S, job: InputTransform<'_>) {
    let channels = job.channels;
    let (mut single, mut fixed) = (std::ptr::null_mut(), std::ptr::null_mut());
    let mut of_points = [0.0; POINTS];
    let mut of_boards = &[][..];
    match job.tiles {
        Transformed::Single(tiles) => single = tiles.as_mut_ptr(),
        Transformed::Fixed {
            tiles,
            factors,
            largest,
        } => {
            (of_points, of_boards) = (*factors, largest);
            fixed = tiles.as_mut_ptr();
        }
    }
    for tile in 0..job.positions * TILES {
        let corner = tile % TILES / 2 * 4 * BOARD_STRIDE + tile % 2 * 4;
        let from = (tile / TILES * BOARD_SQUARES + corner) * channels;
        let mut factors = of_points;
        if FIXED {
            let inverse = inverse(of_boards[tile / TILES]);
            factors.iter_mut().for_each(|factor| *factor *= inverse);
        }
        for channel in (0..channels).step_by(S::LANES) {
            // SAFETY: the check covers these boards and tiles. A tile's 6×6 squares lie on the board.
            unsafe {
                let from = job.boards.as_ptr().add(from + channel);
                let mut half = [[simd.zero(); 6]; 6];
                for (row, half) in half.iter_mut().enumerate() {
                    let from = from.add(row * BOARD_STRIDE * channels);
                    *half = input_column(simd, load_six(simd, from, channels));
                }
                for x in 0..6 {
                    for (y, &v) in input_column(simd, column(&half, x)).iter().enumerate() {
                        let point = y * 6 + x;
                        let at = point * job.step + tile * channels + channel;
                        if FIXED {
                            simd.store_i16(fixed.add(at), simd.mul(v, simd.splat(factors[point])));
                        } else {
                            simd.store(single.add(at), v);
                        }
                    }
                }
            }
        }
    }
}

impl Job for OutputTransform<'_> {
    fn check(&self, lanes: usize) {
        let board = BOARD_SQUARES.checked_mul(self.channels).expect("fits");
        assert!(self.width.is_multiple_of(lanes));
        assert!(
            self.first
                .checked_add(self.width)
                .is_some_and(|end| end <= self.channels)
        );
        let rows = extent(self.positions, TILES * self.width, TILES * self.width);
        assert!(self.products.len() >= extent(POINTS, self.step, rows));
        assert!(self.bias.len() >= self.width && self.reached.len() >= self.positions);
        assert!(self.fixed.is_none_or(|scales| {
            scales.channels.len() >= self.width && scales.boards.len() >= self.positions
        }));
        assert!(self.boards.len() >= extent(self.positions, board, board));
        if self.epilogue == Epilogue::Pool {
            assert!(self.pool.len() >= extent(self.positions, self.channels, self.channels));
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S) {
        // SAFETY: the caller's.
        unsafe { with_flags!(self.epilogue, transform_output_with::<S>(simd, self)) }
    }
}

/// # Safety
/// `job` must have passed its check. `POOL` only with [`Epilogue::Pool`].
#[inline(always)]
unsafe fn transform_output_with<S: Simd, const ADD: bool, const RELU: bool, const POOL: bool>(
    simd: S,
    job: OutputTransform<'_>,
) {
    let channels = job.channels;
    let points = if job.fixed.is_some() { FOLDED } else { [1.0; 6] };
    for position in 0..job.positions {
        let mut reached = simd.zero();
        for channel in (0..job.width).step_by(S::LANES) {
            // SAFETY: the check covers these products, boards, biases and pools. 4 × 4×4 outputs fill the 8×8
            // squares.
            unsafe {
                let bias = simd.load(job.bias.as_ptr().add(channel));
                let scale = job.fixed.map_or(simd.splat(1.0), |scales| {
                    let of_channels = simd.load(scales.channels.as_ptr().add(channel));
                    simd.mul(of_channels, simd.splat(scales.boards[position]))
                });
                let board = job
                    .boards
                    .as_mut_ptr()
                    .add(position * BOARD_SQUARES * channels + job.first + channel);
                let mut pool = simd.zero();
                for tile in 0..TILES {
                    let from = job
                        .products
                        .as_ptr()
                        .add((position * TILES + tile) * job.width + channel);
                    let to = board.add(((tile / 2 * 4 + 1) * BOARD_STRIDE + tile % 2 * 4 + 1) * channels);
                    let mut half = [[simd.zero(); 4]; 6];
                    for (row, half) in half.iter_mut().enumerate() {
                        let products = load_six(simd, from.add(row * 6 * job.step), job.step);
                        *half = output_column(simd, products, &points);
                    }
                    for x in 0..4 {
                        for (y, &v) in output_column(simd, column(&half, x), &points).iter().enumerate() {
                            let to = to.add((y * BOARD_STRIDE + x) * channels);
                            let v = simd.mul_add(v, scale, bias);
                            finish::<S, ADD, RELU, POOL>(simd, v, to, (&mut pool, &mut reached));
                        }
                    }
                }
                if POOL {
                    simd.store(
                        job.pool
                            .as_mut_ptr()
                            .add(position * channels + job.first + channel),
                        pool,
                    );
                }
            }
        }
        job.reached[position] = job.reached[position].max(simd.largest(reached));
    }
}
