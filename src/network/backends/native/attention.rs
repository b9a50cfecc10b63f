//! The attention policy head, with its encoders.

use super::buffer::Buffer;
use super::encoder::{Encoder, EncoderScratch, Stack};
use super::kernels::{Kernels, board_offset};
use super::layer::{Arithmetic, InputSize, Layer, Rounded, Rows};
use super::linear::{activate, padded};
use crate::network::EvalSlot;
use crate::network::policy_map::ATTENTION_CELLS;
use crate::network::weights::{Activation, AttentionPolicy, SQUARES};

/// Cells of a head's output before the promotions.
const PLAIN_CELLS: usize = 64 * 64;
/// Promotions from a file: to 8 files (of which at most three are neighbours), each to queen, rook or bishop.
const PROMOTIONS_PER_FILE: usize = 24;

/// An attention policy head with its weights packed.
#[derive(Debug)]
pub(super) struct AttentionHead {
    /// Channels of the boards that it reads, as the file says.
    inputs: usize,
    embedding: Layer,
    activation: Activation,
    encoders: Vec<Encoder>,
    query: Layer,
    key: Layer,
    /// `[3][width]`: what a key on the last rank says of a promotion to queen, rook or bishop.
    promotion: Buffer,
    /// `1 / sqrt(width)`
    scale: f32,
}

/// Scratch memory of an attention head's evaluator: rows of one position.
#[derive(Debug)]
pub(super) struct AttentionScratch {
    /// The body's output.
    squares: Buffer,
    embedded: Buffer,
    query: Buffer,
    key: Buffer,
    encoders: EncoderScratch,
    rounded: Rounded,
}

impl AttentionHead {
    /// Packs the weights.
    pub(super) fn new(arithmetic: Arithmetic<'_>, head: &AttentionPolicy) -> AttentionHead {
        let key = Layer::new(arithmetic, &head.key);
        let width = head.key.outputs;
        let mut promotion = Buffer::zeros(3 * key.outputs());
        let (common, pieces) = (&head.promotion[3 * width..], &head.promotion[..3 * width]);
        for (to, piece) in promotion.chunks_exact_mut(key.outputs()).zip(pieces.chunks_exact(width)) {
            for ((to, piece), common) in to.iter_mut().zip(piece).zip(common) {
                *to = piece + common;
            }
        }
        AttentionHead {
            inputs: head.embedding.inputs,
            embedding: Layer::new(arithmetic, &head.embedding),
            activation: head.activation,
            encoders: head.encoders.iter().map(|encoder| Encoder::new(arithmetic, encoder)).collect(),
            query: Layer::new(arithmetic, &head.query),
            key,
            promotion,
            scale: 1.0 / (width as f32).sqrt(),
        }
    }

    /// Returns the multiply-adds of an evaluation, without those for the logits of single moves.
    pub(super) fn multiply_adds(&self) -> usize {
        let layers = [&self.embedding, &self.query, &self.key];
        let encoders = self.encoders.iter().map(|encoder| encoder.multiply_adds(None));
        SQUARES * layers.into_iter().map(Layer::multiply_adds).sum::<usize>() + encoders.sum::<usize>()
    }

    /// Returns the padded channels of the boards that it reads.
    pub(super) fn inputs(&self) -> usize {
        padded(self.inputs)
    }

    /// Makes scratch memory for one position.
    pub(super) fn scratch(&self, arithmetic: Arithmetic<'_>) -> AttentionScratch {
        let width = self.embedding.outputs();
        let stack = Stack { encoders: &self.encoders, shared: None, ffn: None, width };
        let inputs = [self.embedding.inputs(), width].map(|length| InputSize { rows: SQUARES, length });
        AttentionScratch {
            squares: Buffer::zeros(SQUARES * self.embedding.inputs()),
            embedded: Buffer::zeros(SQUARES * width),
            query: Buffer::zeros(SQUARES * self.query.outputs()),
            key: Buffer::zeros(SQUARES * self.key.outputs()),
            encoders: EncoderScratch::new(arithmetic, 1, stack),
            rounded: Rounded::new(arithmetic, &inputs),
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
        let AttentionScratch { squares, embedded, query, key, encoders, rounded } = scratch;
        for (square, row) in squares.chunks_exact_mut(self.embedding.inputs()).enumerate() {
            row[..self.inputs].copy_from_slice(&board[board_offset(square, self.inputs())..][..self.inputs]);
        }
        self.embedding.apply(kernels, Rows { count: SQUARES, numbers: squares }, embedded, rounded);
        activate(kernels, self.activation, embedded);
        for encoder in &self.encoders {
            encoder.evaluate(kernels, embedded, None, encoders);
        }
        let embedded = Rows { count: SQUARES, numbers: embedded };
        self.query.apply(kernels, embedded, query, rounded);
        self.key.apply(kernels, embedded, key, rounded);
        let width = self.key.outputs();
        let row = |square: usize| square * width..(square + 1) * width;
        for &index in &slot.moves {
            let cell = usize::from(ATTENTION_CELLS[usize::from(index)]);
            let (from, to) = match cell.checked_sub(PLAIN_CELLS) {
                None => (cell / 64, cell % 64),
                Some(cell) => (48 + cell / PROMOTIONS_PER_FILE, 56 + cell % PROMOTIONS_PER_FILE / 3),
            };
            let key = &key[row(to)];
            let mut logit = kernels.dot(&query[row(from)], key) * self.scale;
            if let Some(cell) = cell.checked_sub(PLAIN_CELLS) {
                logit += kernels.dot(key, &self.promotion[cell % 3 * width..][..width]);
            }
            slot.logits.push(logit);
        }
    }
}
