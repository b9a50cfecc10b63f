//! Layer norms over the rows of encoders and attention bodies.

use super::buffer::Buffer;
use super::kernels::{Kernels, Normalize};
use super::layer::stride;
use crate::network::weights::LayerNorm;

/// A layer norm.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) size: usize,
    gammas: Buffer,
    betas: Buffer,
    epsilon: f32,
}

/// Rows that are added to others before the norm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch<'a> {
    /// The rows, as many as those that they are added to.
    pub(super) rows: &'a [f32],
    pub(super) factor: f32,
}

impl Norm {
    /// Makes a norm with its numbers padded.
    pub(super) fn new(norm: &LayerNorm, epsilon: f32) -> Norm {
        let size = norm.gammas.len();
        let row = |numbers: &[f32]| {
            let mut row = Buffer::zeros(stride(size));
            row[..size].copy_from_slice(numbers);
            row
        };
        Norm { size, gammas: row(&norm.gammas), betas: row(&norm.betas), epsilon }
    }

    /// Returns the length of a row with its padding.
    pub(super) fn row_length(&self) -> usize {
        self.gammas.len()
    }

    /// Computes `rows = norm(rows + factor * branch)` with a branch, or `norm(rows)` without; padding becomes 0.
    pub(super) fn apply(&self, kernels: &dyn Kernels, rows: &mut [f32], branch: Option<Branch<'_>>) {
        let stride = self.row_length();
        kernels.normalize(Normalize {
            rows: rows.len() / stride,
            size: self.size,
            stride,
            x: rows,
            branch: branch.map(|branch| branch.rows),
            factor: branch.map_or(0.0, |branch| branch.factor),
            gammas: &self.gammas,
            betas: &self.betas,
            epsilon: self.epsilon,
        });
    }
}
