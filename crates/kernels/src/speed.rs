//! Which arithmetic multiplies fastest on this machine: measured for less than a millisecond, as processors
//! of one instruction set differ by twice.

use std::time::{Duration, Instant};

use half::bf16;

use super::fixed::{FixedProduct, FixedSums};
use super::gemm::Product;
use super::kernels::Kernels;
use super::operands::BLOCK_ROWS;
use super::tiles::Tiles;

const ROUNDS: usize = 16;
const SIZE: usize = BLOCK_ROWS;
/// How much faster products of integers must be: rounding has its cost, and their results are less exact.
const WORTH: f64 = 1.2;

impl Tiles {
    /// Whether dense layers are faster than in fp32 with `kernels`. AMX always is. On Intel's CPUs
    /// AVX512-BF16 has half the multiplication rate of fp32.
    pub fn outruns_products(self, kernels: Kernels) -> bool {
        let bits = vec![bf16::ONE.to_bits(); SIZE * SIZE];
        let mut c = vec![0.0; SIZE * SIZE];
        self.name() == "amx" || gain(kernels, &mut || self.multiply(SIZE, &bits, &bits, &mut c)) > 1.0
    }
}

impl Kernels {
    /// Whether fixed point with these kernels is worth it beside fp32 with `single`. It never is in plain
    /// Rust, whose other operations are slow.
    pub fn fixed_outruns(self, single: Kernels) -> bool {
        if matches!(self, Kernels::Fused(_)) {
            return false;
        }
        let numbers = vec![1; SIZE * SIZE];
        let mut c = vec![0.0; SIZE * SIZE];
        let mut multiply = || {
            self.run(FixedProduct {
                count: 1,
                rows: SIZE,
                inner: SIZE,
                width: SIZE,
                a: &numbers,
                a_row: SIZE,
                a_step: 0,
                b: &numbers,
                b_step: 0,
                c: FixedSums::Parts(&mut c),
                c_row: SIZE,
                c_step: 0,
            });
        };
        gain(single, &mut multiply) > WORTH
    }
}

/// How many times as fast `other` is as a product of the same size in fp32 with `kernels`.
fn gain(kernels: Kernels, other: &mut dyn FnMut()) -> f64 {
    let numbers = vec![1.0; SIZE * SIZE];
    let mut c = vec![0.0; SIZE * SIZE];
    let mut single = || {
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
    };
    let mut best = [Duration::MAX; 2];
    for round in 0..2 * ROUNDS {
        let start = Instant::now();
        if round % 2 == 0 {
            other();
        } else {
            single();
        }
        best[round % 2] = best[round % 2].min(start.elapsed());
    }
    best[1].as_secs_f64() / best[0].as_secs_f64()
}
