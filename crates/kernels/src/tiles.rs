//! A CPU's units for products of bf16 matrices.

use half::bf16;

use super::activation::Activation;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::amx::Amx;
#[cfg(target_arch = "x86_64")]
use super::avx512_bf16::Avx512Bf16;
use super::definition;
use super::operands::{BLOCK_ROWS, HalfRows, Layout, TILE_DEPTH};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::operands::{TILE_ROWS, pack_right};
use super::rows::{Attend, Dense, DenseOutput};

#[derive(Clone, Copy, Debug)]
pub enum Tiles {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(Amx),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Bf16),
    /// By loops: slow, for tests on any CPU.
    Definition,
}

impl Tiles {
    /// The units of this CPU, fastest first. Matrix tiles must compute a test correctly, or the machine
    /// falls back to fp32.
    pub fn available() -> Vec<Tiles> {
        let all: Vec<Option<Tiles>> = Vec::from([
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Amx::detect()
                .map(Tiles::Amx)
                .filter(|tiles| tiles.multiplies_correctly()),
            #[cfg(target_arch = "x86_64")]
            Avx512Bf16::detect().map(Tiles::Avx512),
        ]);
        all.into_iter().flatten().collect()
    }

    /// Whether a product is right, but for the order of additions.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    fn multiplies_correctly(self) -> bool {
        const INPUTS: usize = 3 * TILE_DEPTH;
        const OUTPUTS: usize = 2 * TILE_DEPTH;
        let rounded = |number: usize| bf16::from_f32((number % 251) as f32 / 125.0 - 1.0);
        let left = |row: usize, input: usize| rounded((row * INPUTS + input) * 7);
        let right = |input: usize, column: usize| rounded((input * OUTPUTS + column) * 11).to_f32();
        let (mut a, mut weights) = (vec![0; BLOCK_ROWS * INPUTS], vec![0; INPUTS * OUTPUTS]);
        let mut sums = [0.0; BLOCK_ROWS * OUTPUTS];
        for (row, input) in (0..BLOCK_ROWS).flat_map(|row| (0..INPUTS).map(move |input| (row, input))) {
            a[Layout::blocks(INPUTS).place(row, input)] = left(row, input).to_bits();
        }
        pack_right(&mut weights, INPUTS / TILE_DEPTH, |step, k, column| {
            right(step * TILE_DEPTH + k, column)
        });
        self.multiply(INPUTS, &a, &weights, &mut sums);
        let expected = |i: usize| -> f32 {
            let (row, column) = (i / OUTPUTS, i % OUTPUTS);
            (0..INPUTS)
                .map(|input| left(row, input).to_f32() * right(input, column))
                .sum()
        };
        sums.iter()
            .enumerate()
            .all(|(i, found)| (found - expected(i)).abs() < 1e-3)
    }

    pub(crate) fn multiply(self, inputs: usize, a: &[u16], weights: &[u16], sums: &mut [f32]) {
        self.dense(Dense {
            rows: BLOCK_ROWS,
            inputs,
            outputs: 2 * TILE_DEPTH,
            a: HalfRows {
                numbers: a,
                layout: Layout::blocks(inputs),
            },
            weights,
            bias: &[0.0; 2 * TILE_DEPTH],
            function: Activation::None,
            output: DenseOutput::Single(sums),
            next: &[],
        });
    }

    pub fn name(self) -> &'static str {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(_) => "amx",
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(_) => "avx512",
            Tiles::Definition => "definition",
        }
    }

    /// Whether a convolution is faster than Winograd's in fp32.
    pub fn outruns_winograd(self) -> bool {
        self.name() == "amx"
    }

    pub(crate) fn begin(self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if let Tiles::Amx(amx) = self {
            amx.configure(TILE_ROWS);
        }
    }

    pub(crate) fn end(self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if let Tiles::Amx(amx) = self {
            amx.release();
        }
    }

    /// Computes [`UNIT_ROWS`](super::operands::UNIT_ROWS) rows by 32 columns: `c = Σ over steps of a[offset]
    /// b[step]`, with a unit of vectors.
    ///
    /// # Safety
    /// `a` must be valid from each offset for the rows of 32 numbers, `b` for 1,024 numbers a step, and `c`
    /// for the rows of 32 numbers.
    pub(crate) unsafe fn multiply_rows(self, offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32) {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's.
            Tiles::Avx512(unit) => unsafe { unit.multiply_rows(offsets, a, b, c) },
            // SAFETY: the caller's.
            Tiles::Definition => unsafe { definition::multiply_rows(offsets, a, b, c) },
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(_) => unreachable!("tiles multiply no rows"),
        }
    }

    pub fn dense(self, job: Dense<'_>) {
        job.check();
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(amx) => super::rows_x86::dense(amx, job),
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(unit) => super::rows_x86::dense(unit, job),
            Tiles::Definition => definition::dense(job),
        }
    }

    pub fn attend(self, job: Attend<'_>) {
        job.check();
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx(amx) => super::rows_x86::attend(amx, job),
            #[cfg(target_arch = "x86_64")]
            Tiles::Avx512(unit) => super::rows_x86::attend(unit, job),
            Tiles::Definition => definition::attend(job),
        }
    }
}
