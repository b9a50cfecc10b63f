//! Dense layers and attention in bf16 over rows of numbers, with sums in fp32, and results in bf16 where
//! another product reads them.
//!
//! [`Layout`](super::Layout) places the rows, [`pack_right`](super::pack_right) packs the weights, and
//! [`Tiles`](super::Tiles) computes what [`Dense`] and [`Attend`] define.

use super::activation::Activation;
use super::operands::{HalfRows, Layout, TILE_DEPTH, TILE_ROWS};

const SQUARES: usize = 64;

/// A dense layer: `output[row] = function(a[row] weights + bias)`.
#[derive(Debug)]
pub struct Dense<'a> {
    pub rows: usize,
    /// A multiple of 32, not 0.
    pub inputs: usize,
    /// A multiple of 32.
    pub outputs: usize,
    /// With memory for a multiple of [`TILE_ROWS`] rows.
    pub a: HalfRows<'a>,
    /// As [`pack_right`](super::pack_right) packs them.
    pub weights: &'a [u16],
    /// `[outputs]`
    pub bias: &'a [f32],
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub function: Activation,
    pub output: DenseOutput<'a>,
    /// The first weights of the next layer are fetched meanwhile.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub next: &'a [u16],
}

#[derive(Debug)]
pub enum DenseOutput<'a> {
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
pub struct Attend<'a> {
    pub positions: usize,
    pub heads: usize,
    /// Numbers of a head's query, padded with 0 to a multiple of 32, not 0.
    pub depth: usize,
    /// Queries, keys and values, bits of bf16: `[positions][3][heads][depth / 32][64][32]`.
    pub projected: &'a [u16],
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub scale: f32,
    /// Bits of bf16, added to the logits: a row `[64][64]` for each head of each position.
    pub additions: Option<HalfRows<'a>>,
    /// Bits of bf16: `[positions][heads][depth / 32][64][32]`.
    pub attended: &'a mut [u16],
    /// `[2][64 · depth]`
    pub scratch: &'a mut [u16],
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub next: &'a [u16],
}

impl Dense<'_> {
    pub(crate) fn check(&self) {
        let product = |a: usize, b: usize| a.checked_mul(b).expect("fits");
        assert!(self.inputs > 0 && self.inputs.is_multiple_of(TILE_DEPTH));
        assert!(self.outputs.is_multiple_of(TILE_DEPTH));
        assert!(
            self.a.numbers.len()
                >= self
                    .a
                    .layout
                    .length(self.rows.next_multiple_of(TILE_ROWS), self.inputs)
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
    pub(crate) fn check(&self) {
        let product = |numbers: &[usize]| {
            numbers
                .iter()
                .try_fold(1usize, |product, &number| product.checked_mul(number))
                .expect("fits")
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
