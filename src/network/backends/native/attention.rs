//! The attention policy head on a residual tower, with its encoders.

use super::buffer::Buffer;
use super::kernels::{Kernels, Pointwise, Product};
use super::linear::{Linear, activate, pack, padded};
use crate::network::EvalSlot;
use crate::network::policy_map::ATTENTION_CELLS;
use crate::network::weights::{Activation, AttentionPolicy, Encoder, LayerNorm};

/// Cells of a head's output before the promotions.
const PLAIN_CELLS: usize = 64 * 64;
/// Promotions from a file: to 8 files (of which at most three are neighbours), each to queen, rook or bishop.
const PROMOTIONS_PER_FILE: usize = 24;

/// An attention policy head with its weights packed.
#[derive(Debug)]
pub(super) struct AttentionHead {
    embedding: Linear,
    activation: Activation,
    encoders: Vec<EncoderLayer>,
    query: Linear,
    key: Linear,
    /// `[3][width]`: what a key on the last rank says of a promotion to queen, rook or bishop.
    promotion: Buffer,
    /// `1 / sqrt(width)`
    scale: f32,
}

/// An encoder with its weights packed.
#[derive(Debug)]
struct EncoderLayer {
    heads: usize,
    /// Of a head.
    depth: usize,
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    norm1: Norm,
    hidden: Linear,
    activation: Activation,
    ffn: Linear,
    norm2: Norm,
    alpha: f32,
}

/// Layer norm over the first `gammas.len()` numbers of a row.
#[derive(Debug)]
struct Norm {
    gammas: Vec<f32>,
    betas: Vec<f32>,
    epsilon: f32,
}

/// What an evaluator of an attention head needs to compute in. All but the last four are `[64][…]`.
#[derive(Debug)]
pub(super) struct AttentionScratch {
    embedded: Buffer,
    query: Buffer,
    key: Buffer,
    value: Buffer,
    /// The heads' results side by side.
    attended: Buffer,
    /// The output of a branch, to be added.
    branch: Buffer,
    hidden: Buffer,
    /// `[64][64]`
    scores: Buffer,
    /// A head's keys, transposed, then its values; packed.
    packed: Buffer,
    /// A head's result, `[64][depth]`.
    result: Buffer,
}

impl AttentionHead {
    /// Packs the weights.
    pub(super) fn new(kernels: &dyn Kernels, head: &AttentionPolicy) -> AttentionHead {
        let key = Linear::plain(kernels, &head.key);
        let width = head.key.outputs;
        let mut promotion = Buffer::zeros(3 * key.outputs);
        let (common, pieces) = (&head.promotion[3 * width..], &head.promotion[..3 * width]);
        for (to, piece) in promotion.chunks_exact_mut(key.outputs).zip(pieces.chunks_exact(width)) {
            for ((to, piece), common) in to.iter_mut().zip(piece).zip(common) {
                *to = piece + common;
            }
        }
        AttentionHead {
            embedding: Linear::plain(kernels, &head.embedding),
            activation: head.activation,
            encoders: head.encoders.iter().map(|encoder| EncoderLayer::new(kernels, encoder)).collect(),
            query: Linear::plain(kernels, &head.query),
            key,
            promotion,
            scale: 1.0 / (width as f32).sqrt(),
        }
    }

    /// Of a square.
    pub(super) fn multiply_adds(&self) -> usize {
        let layers = [&self.embedding, &self.query, &self.key];
        let encoders = self.encoders.iter().flat_map(|encoder| {
            [&encoder.query, &encoder.key, &encoder.value, &encoder.output, &encoder.hidden, &encoder.ffn]
        });
        let attention = self.encoders.iter().map(|encoder| 2 * 64 * encoder.query.outputs);
        layers.into_iter().chain(encoders).map(Linear::multiply_adds).sum::<usize>()
            + attention.sum::<usize>()
    }

    /// Padded channels of the boards that it reads.
    pub(super) fn inputs(&self) -> usize {
        self.embedding.inputs
    }

    /// Scratch for one position.
    pub(super) fn scratch(&self) -> AttentionScratch {
        let widest = |own: usize, of: fn(&EncoderLayer) -> usize| {
            Buffer::zeros(64 * self.encoders.iter().map(of).max().unwrap_or(0).max(own))
        };
        AttentionScratch {
            embedded: Buffer::zeros(64 * self.embedding.outputs),
            query: widest(self.query.outputs, |encoder| encoder.query.outputs),
            key: widest(self.key.outputs, |encoder| encoder.key.outputs),
            value: widest(0, |encoder| encoder.value.outputs),
            attended: widest(0, |encoder| encoder.output.inputs),
            branch: Buffer::zeros(64 * self.embedding.outputs),
            hidden: widest(0, |encoder| encoder.hidden.outputs),
            scores: Buffer::zeros(64 * 64),
            packed: widest(0, |encoder| padded(encoder.depth)),
            result: widest(0, |encoder| padded(encoder.depth)),
        }
    }

    /// Evaluates the head for a board; pushes the logits of the slot's moves.
    pub(super) fn evaluate(
        &self,
        kernels: &dyn Kernels,
        board: &[f32],
        slot: &mut EvalSlot,
        scratch: &mut AttentionScratch,
    ) {
        self.embedding.apply_to_board(kernels, board, &mut scratch.embedded);
        activate(kernels, self.activation, &mut scratch.embedded);
        for encoder in &self.encoders {
            encoder.evaluate(kernels, scratch);
        }
        self.query.apply(kernels, 64, &scratch.embedded, &mut scratch.query);
        self.key.apply(kernels, 64, &scratch.embedded, &mut scratch.key);
        let width = self.key.outputs;
        let row = |square: usize| square * width..(square + 1) * width;
        for &index in &slot.moves {
            let cell = usize::from(ATTENTION_CELLS[usize::from(index)]);
            let (from, to) = match cell.checked_sub(PLAIN_CELLS) {
                None => (cell / 64, cell % 64),
                Some(cell) => (48 + cell / PROMOTIONS_PER_FILE, 56 + cell % PROMOTIONS_PER_FILE / 3),
            };
            let key = &scratch.key[row(to)];
            let mut logit = kernels.dot(&scratch.query[row(from)], key) * self.scale;
            if let Some(cell) = cell.checked_sub(PLAIN_CELLS) {
                logit += kernels.dot(key, &self.promotion[cell % 3 * width..][..width]);
            }
            slot.logits.push(logit);
        }
    }
}

impl EncoderLayer {
    fn new(kernels: &dyn Kernels, encoder: &Encoder) -> EncoderLayer {
        EncoderLayer {
            heads: encoder.heads,
            depth: encoder.query.outputs / encoder.heads,
            query: Linear::plain(kernels, &encoder.query),
            key: Linear::plain(kernels, &encoder.key),
            value: Linear::plain(kernels, &encoder.value),
            output: Linear::plain(kernels, &encoder.output),
            norm1: Norm::new(&encoder.norm1, encoder.epsilon),
            hidden: Linear::plain(kernels, &encoder.ffn.hidden),
            activation: encoder.ffn.activation,
            ffn: Linear::plain(kernels, &encoder.ffn.output),
            norm2: Norm::new(&encoder.norm2, encoder.epsilon),
            alpha: encoder.alpha,
        }
    }

    /// Evaluates the layer on the scratch's `embedded`, in place.
    fn evaluate(&self, kernels: &dyn Kernels, scratch: &mut AttentionScratch) {
        self.query.apply(kernels, 64, &scratch.embedded, &mut scratch.query);
        self.key.apply(kernels, 64, &scratch.embedded, &mut scratch.key);
        self.value.apply(kernels, 64, &scratch.embedded, &mut scratch.value);
        for head in 0..self.heads {
            self.attend(kernels, head, scratch);
        }
        self.output.apply(kernels, 64, &scratch.attended, &mut scratch.branch);
        self.norm1.add(&mut scratch.embedded, (&scratch.branch, self.alpha));
        let hidden = &mut scratch.hidden[..64 * self.hidden.outputs];
        self.hidden.apply(kernels, 64, &scratch.embedded, hidden);
        activate(kernels, self.activation, hidden);
        self.ffn.apply(kernels, 64, hidden, &mut scratch.branch);
        self.norm2.add(&mut scratch.embedded, (&scratch.branch, self.alpha));
    }

    /// `softmax(Q Kᵀ / sqrt(depth)) V` of one head, into its columns of the scratch's `attended`.
    fn attend(&self, kernels: &dyn Kernels, head: usize, scratch: &mut AttentionScratch) {
        let (depth, first, width) = (self.depth, head * self.depth, self.query.outputs);
        let key = |row: usize, square: usize| scratch.key[square * width + first + row];
        pack(kernels.panel(), depth, 64, key, &mut scratch.packed[..depth * 64]);
        kernels.multiply(Product {
            count: 1,
            rows: 64,
            inner: depth,
            width: 64,
            a: &scratch.query[first..],
            a_row: width,
            b: &scratch.packed,
            c: &mut scratch.scores,
            c_row: 64,
            ..Product::default()
        });
        let scale = 1.0 / (depth as f32).sqrt();
        for row in scratch.scores.chunks_exact_mut(64) {
            let largest = row.iter().copied().fold(f32::MIN, f32::max);
            row.iter_mut().for_each(|score| *score = (*score - largest) * scale);
            kernels.apply(Pointwise::Exp, row);
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|score| *score /= sum);
        }
        let columns = padded(depth);
        let value = |square: usize, column: usize| {
            if column < depth { scratch.value[square * width + first + column] } else { 0.0 }
        };
        pack(kernels.panel(), 64, columns, value, &mut scratch.packed[..64 * columns]);
        kernels.multiply(Product {
            count: 1,
            rows: 64,
            inner: 64,
            width: columns,
            a: &scratch.scores,
            a_row: 64,
            b: &scratch.packed,
            c: &mut scratch.result,
            c_row: columns,
            ..Product::default()
        });
        for (square, result) in scratch.result.chunks_exact(columns).take(64).enumerate() {
            scratch.attended[square * width + first..][..depth].copy_from_slice(&result[..depth]);
        }
    }
}

impl Norm {
    fn new(norm: &LayerNorm, epsilon: f32) -> Norm {
        Norm { gammas: norm.gammas.clone(), betas: norm.betas.clone(), epsilon }
    }

    /// `rows = norm(rows + factor * branch)`, row by row; padding stays 0.
    fn add(&self, rows: &mut [f32], (branch, factor): (&[f32], f32)) {
        let size = self.gammas.len();
        let stride = padded(size);
        for (row, branch) in rows.chunks_exact_mut(stride).zip(branch.chunks_exact(stride)) {
            let row = &mut row[..size];
            for (x, branch) in row.iter_mut().zip(branch) {
                *x += factor * branch;
            }
            let mean = row.iter().sum::<f32>() / size as f32;
            let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / size as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((x, gamma), beta) in row.iter_mut().zip(&self.gammas).zip(&self.betas) {
                *x = (*x - mean) * scale * gamma + beta;
            }
        }
    }
}
