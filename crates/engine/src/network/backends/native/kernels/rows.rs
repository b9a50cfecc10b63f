//! Dense layers and attention in bf16 over rows of numbers, with sums in fp32, and results in bf16 where
//! another product reads them.
//!
//! [`Layout`](super::Layout) places the rows, [`pack_right`](super::pack_right) packs the weights, and
//! [`Tiles`](super::Tiles) computes what [`Dense`] and [`Attend`] define.

use half::bf16;

use super::operands::{HalfRows, Layout, MATRIX, TILE_DEPTH, TILE_ROWS};
use super::{Apply, Kernels, Pointwise};

const SQUARES: usize = 64;

/// A dense layer: `output[row] = function(a[row] weights + bias)`.
#[derive(Debug)]
pub(crate) struct Dense<'a> {
    pub(crate) rows: usize,
    /// A multiple of 32, not 0.
    pub(crate) inputs: usize,
    /// A multiple of 32.
    pub(crate) outputs: usize,
    /// With memory for a multiple of [`TILE_ROWS`] rows.
    pub(crate) a: HalfRows<'a>,
    /// As [`pack_right`](super::pack_right) packs them.
    pub(crate) weights: &'a [u16],
    /// `[outputs]`
    pub(crate) bias: &'a [f32],
    pub(crate) function: Option<Pointwise>,
    pub(crate) output: DenseOutput<'a>,
    /// The first weights of the next layer are fetched meanwhile.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) next: &'a [u16],
}

#[derive(Debug)]
pub(crate) enum DenseOutput<'a> {
    Half(&'a mut [u16], Layout),
    /// `[rows][outputs]`
    Single(&'a mut [f32]),
    /// `[rows][outputs]`: `to += factor * result`.
    Added {
        to: &'a mut [f32],
        factor: f32,
    },
}

/// `softmax(scale Q Kᵀ + additions) V` of each head, between the 64 squares.
#[derive(Debug)]
pub(crate) struct Attend<'a> {
    pub(crate) positions: usize,
    pub(crate) heads: usize,
    /// Numbers of a head's query, padded with 0 to a multiple of 32, not 0.
    pub(crate) depth: usize,
    /// Queries, keys and values, bits of bf16: `[positions][3][heads][depth / 32][64][32]`.
    pub(crate) projected: &'a [u16],
    pub(crate) scale: f32,
    /// Bits of bf16, added to the logits: a row `[64][64]` for each head of each position.
    pub(crate) additions: Option<HalfRows<'a>>,
    /// Bits of bf16: `[positions][heads][depth / 32][64][32]`.
    pub(crate) attended: &'a mut [u16],
    /// `[2][64 · depth]`
    pub(crate) scratch: &'a mut [u16],
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) next: &'a [u16],
}

impl Dense<'_> {
    pub(super) fn check(&self) {
        let product = |a: usize, b: usize| a.checked_mul(b).expect("fits");
        assert!(self.inputs > 0 && self.inputs.is_multiple_of(TILE_DEPTH));
        assert!(self.outputs.is_multiple_of(TILE_DEPTH));
        assert!(
            self.a.numbers.len() >= self.a.layout.length(self.rows.next_multiple_of(TILE_ROWS), self.inputs)
        );
        assert!(self.weights.len() >= product(self.inputs, self.outputs));
        assert!(self.bias.len() >= self.outputs);
        match &self.output {
            DenseOutput::Half(to, layout) => assert!(to.len() >= layout.length(self.rows, self.outputs)),
            DenseOutput::Single(to) | DenseOutput::Added { to, .. } => {
                assert!(to.len() >= product(self.rows, self.outputs));
            }
        }
    }
}

impl Attend<'_> {
    pub(super) fn check(&self) {
        let product = |numbers: &[usize]| {
            numbers.iter().try_fold(1usize, |product, &number| product.checked_mul(number)).expect("fits")
        };
        assert!(self.depth > 0 && self.depth.is_multiple_of(TILE_DEPTH));
        assert!(self.projected.len() >= product(&[self.positions, 3, self.heads, self.depth, SQUARES]));
        assert!(self.attended.len() >= product(&[self.positions, self.heads, self.depth, SQUARES]));
        assert!(self.scratch.len() >= product(&[2, SQUARES, self.depth]));
        if let Some(HalfRows { numbers, layout }) = self.additions {
            assert_eq!(layout.step, TILE_DEPTH, "additions of a head lie side by side");
            assert!(
                numbers.len() >= layout.length(product(&[self.positions, self.heads]), SQUARES * SQUARES)
            );
        }
    }
}

fn single(bits: u16) -> f32 {
    bf16::from_bits(bits).to_f32()
}

pub(super) fn dense_by_definition(mut job: Dense<'_>) {
    let steps = job.inputs / TILE_DEPTH;
    let output = |row: usize, column: usize| {
        let (block, side, within) = (column / TILE_DEPTH, column / 16 % 2, column % 16);
        let product = |input: usize| {
            let (step, pair, second) = (input / TILE_DEPTH, input / 2 % 16, input % 2);
            let weight = (block * steps + step) * MATRIX + side * 512 + pair * 32 + within * 2 + second;
            single(job.a.numbers[job.a.layout.place(row, input)]) * single(job.weights[weight])
        };
        (0..job.inputs).map(product).sum::<f32>() + job.bias[column]
    };
    for row in 0..job.rows {
        let mut results: Vec<f32> = (0..job.outputs).map(|column| output(row, column)).collect();
        if let (Some(function), Some(kernels)) = (job.function, Kernels::available().pop()) {
            kernels.run(Apply { function, values: &mut results });
        }
        for (column, &result) in results.iter().enumerate() {
            match &mut job.output {
                DenseOutput::Half(to, layout) => {
                    to[layout.place(row, column)] = bf16::from_f32(result).to_bits();
                }
                DenseOutput::Single(to) => to[row * job.outputs + column] = result,
                DenseOutput::Added { to, factor } => to[row * job.outputs + column] += *factor * result,
            }
        }
    }
}

pub(super) fn attend_by_definition(job: Attend<'_>) {
    let (heads, depth) = (job.heads, job.depth);
    let layout = Layout::blocks(depth);
    for (head, attended) in
        job.attended.chunks_exact_mut(SQUARES * depth).enumerate().take(job.positions * heads)
    {
        let part = |part: usize| {
            let first = (head / heads * 3 + part) * heads + head % heads;
            let numbers = &job.projected[first * SQUARES * depth..];
            move |square: usize, k: usize| single(numbers[layout.place(square, k)])
        };
        let (query, key, value) = (part(0), part(1), part(2));
        for square in 0..SQUARES {
            let logit = |other: usize| {
                let product = (0..depth).map(|k| query(square, k) * key(other, k)).sum::<f32>();
                let added = job.additions.map_or(0.0, |added| {
                    single(added.numbers[added.layout.place(head, square * SQUARES + other)])
                });
                job.scale * product + added
            };
            let logits: Vec<f32> = (0..SQUARES).map(logit).collect();
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            let powers: Vec<f32> = logits.iter().map(|logit| libm::expf(logit - largest)).collect();
            let sum: f32 = powers.iter().sum();
            for k in 0..depth {
                let result: f32 =
                    powers.iter().enumerate().map(|(other, power)| power * value(other, k)).sum();
                attended[layout.place(square, k)] = bf16::from_f32(result / sum).to_bits();
            }
        }
    }
}
