//! A CPU's units for products of bf16 matrices. [`rows`](super::rows) and [`folded`](super::folded) define
//! what they compute.

use std::time::{Duration, Instant};

use half::bf16;

use super::Kernels;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::amx::Amx;
#[cfg(target_arch = "x86_64")]
use super::avx512_bf16::Avx512Bf16;
use super::gemm::Product;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::operands::TILE_ROWS;
use super::operands::{BLOCK_ROWS, HalfRows, Layout, MATRIX, TILE_DEPTH, UNIT_ROWS};
use super::rows::{Attend, Dense, DenseOutput, attend_by_definition, dense_by_definition};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Tiles {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(Amx),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Bf16),
    // Outside of tests only AMX checks itself by it.
    #[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), allow(dead_code))]
    Definition,
}

impl Tiles {
    /// The units of this CPU, fastest first. Matrix tiles must be allowed by the system and compute a test
    /// correctly, or the machine falls back to fp32.
    pub(crate) fn available() -> Vec<Tiles> {
        let all: Vec<Option<Tiles>> = Vec::from([
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Amx::detect().map(Tiles::Amx).filter(|tiles| tiles.agrees_with_definition()),
            #[cfg(target_arch = "x86_64")]
            Avx512Bf16::detect().map(Tiles::Avx512),
        ]);
        all.into_iter().flatten().collect()
    }

    /// Results may differ by the order of additions.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    fn agrees_with_definition(self) -> bool {
        const INPUTS: usize = 3 * TILE_DEPTH;
        let numbers = |count: usize, factor: usize| -> Vec<u16> {
            (0..count).map(|i| bf16::from_f32((i * factor % 251) as f32 / 125.0 - 1.0).to_bits()).collect()
        };
        let (a, weights) = (numbers(BLOCK_ROWS * INPUTS, 7), numbers(INPUTS * 2 * TILE_DEPTH, 11));
        let sums = |tiles: Tiles| {
            let mut sums = [0.0; BLOCK_ROWS * 2 * TILE_DEPTH];
            tiles.multiply(INPUTS, &a, &weights, &mut sums);
            sums
        };
        let pairs = sums(self).into_iter().zip(sums(Tiles::Definition));
        pairs.into_iter().all(|(found, expected)| (found - expected).abs() < 1e-3)
    }

    fn multiply(self, inputs: usize, a: &[u16], weights: &[u16], sums: &mut [f32]) {
        self.dense(Dense {
            rows: BLOCK_ROWS,
            inputs,
            outputs: 2 * TILE_DEPTH,
            a: HalfRows { numbers: a, layout: Layout::blocks(inputs) },
            weights,
            bias: &[0.0; 2 * TILE_DEPTH],
            function: None,
            output: DenseOutput::Single(sums),
            next: &[],
        });
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(_) => "amx",
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(_) => "avx512",
            Tiles::Definition => "definition",
        }
    }

    /// Whether a convolution is faster than Winograd's in fp32.
    pub(crate) fn outruns_winograd(self) -> bool {
        self.name() == "amx"
    }

    /// Whether dense layers are faster than in fp32 with `kernels`. All but AMX are measured for less than a
    /// millisecond: on Intel's CPUs AVX512-BF16 has half the multiplication rate of fp32.
    pub(crate) fn outruns_products(self, kernels: Kernels) -> bool {
        const ROUNDS: usize = 16;
        const SIZE: usize = BLOCK_ROWS;
        if self.name() == "amx" {
            return true;
        }
        let (numbers, bits) = (vec![1.0; SIZE * SIZE], vec![bf16::ONE.to_bits(); SIZE * SIZE]);
        let mut c = vec![0.0; SIZE * SIZE];
        let mut best = [Duration::MAX; 2];
        for round in 0..2 * ROUNDS {
            let start = Instant::now();
            if round % 2 == 0 {
                self.multiply(SIZE, &bits, &bits, &mut c);
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

    pub(super) fn begin(self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if let Tiles::Amx(amx) = self {
            amx.configure(TILE_ROWS);
        }
    }

    pub(super) fn end(self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if let Tiles::Amx(amx) = self {
            amx.release();
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
                        let b_step = step * MATRIX + column / 16 * 512 + column % 16 * 2;
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

    pub(crate) fn dense(self, job: Dense<'_>) {
        job.check();
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(amx) => super::rows_x86::dense(amx, job),
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(unit) => super::rows_x86::dense(unit, job),
            Tiles::Definition => dense_by_definition(job),
        }
    }

    pub(crate) fn attend(self, job: Attend<'_>) {
        job.check();
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(amx) => super::rows_x86::attend(amx, job),
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(unit) => super::rows_x86::attend(unit, job),
            Tiles::Definition => attend_by_definition(job),
        }
    }
}
