//! The attention body: input planes to the rows of squares that encoders read.

use super::encoder::{EncoderScratch, Encoders, FeedForward};
use super::layers::{
    Arithmetic, Buffer, Layer, Linear, Norm, Precision, Rows, activate, boards_to_rows, pack, padded,
    weight_of,
};
use super::tower::{Tower, TowerScratch, squares};
use crate::network::eval_slot::EvalSlot;
use crate::network::layers::{self, Activation, Dense, Embedding, PIECE_PLANES, SQUARES};
use crate::network::planes::PLANES;
use zeitnot_kernels::{AddScaled, Kernels};

/// Rows evaluated together stay in the cache.
const GROUP_BYTES: usize = 2 << 20;

pub(crate) struct AttentionBody {
    width: usize,
    pub(crate) stride: usize,
    number_size: usize,
    source: Source,
    /// In fp32: it reads exact numbers, and is small.
    embedding: Linear,
    /// `[64][channels]`, added to the embedding's outputs.
    constants: Option<Buffer>,
    activation: Activation,
    /// `[64][channels]`, multiplied after the activation.
    multiply_gate: Option<Buffer>,
    /// `[64][channels]`, added after that.
    add_gate: Option<Buffer>,
    /// Of an embedding by pieces: before and after the gates.
    rest: Option<(Norm, FeedForward)>,
    encoders: Encoders,
}

enum Source {
    Planes,
    Pieces(PieceLayer),
    Tower(Box<Tower>),
}

/// A dense layer over the piece planes of all squares, of which at most 32 are not 0.
struct PieceLayer {
    channels: usize,
    /// `[64 · 12][64 · channels]`: what each piece adds.
    weights: Buffer,
    bias: Buffer,
}

pub(crate) struct BodyScratch {
    inputs: Buffer,
    /// `[positions][64][channels]`, in the end the body's output.
    pub(crate) stream: Rows,
    /// `[64 · channels]` of a [`PieceLayer`].
    pieces: Buffer,
    tower: Option<TowerScratch>,
    encoders: EncoderScratch,
}

impl AttentionBody {
    pub(crate) fn new(
        arithmetic: Arithmetic,
        body: &layers::AttentionBody,
        activation: Activation,
    ) -> AttentionBody {
        let stride = arithmetic.padded(body.width());
        let mut rest = None;
        let mut constants = None;
        let mut embedding = body.dense.clone();
        let source = match &body.embedding {
            Embedding::Table => {
                let table = embedding.split_off_table();
                let rows = constants
                    .insert(Buffer::zeros(SQUARES * stride))
                    .chunks_exact_mut(stride);
                for (row, numbers) in rows.zip(table.chunks_exact(body.width())) {
                    row[..body.width()].copy_from_slice(numbers);
                }
                Source::Planes
            }
            Embedding::Pieces(pieces) => {
                let norm = Norm::new(arithmetic, &pieces.norm);
                rest = Some((norm, FeedForward::new(arithmetic, &pieces.ffn)));
                Source::Pieces(PieceLayer::new(&pieces.preprocess))
            }
            Embedding::Tower(tower) => {
                let is_slow = arithmetic.tiles().is_some_and(|tiles| !tiles.outruns_winograd());
                let precision = if is_slow {
                    Precision::Single
                } else {
                    arithmetic.precision
                };
                let arithmetic = Arithmetic {
                    precision,
                    ..arithmetic
                };
                Source::Tower(Box::new(Tower::new(arithmetic, tower, None, activation)))
            }
        };
        embedding.outputs = stride;
        embedding.weights.resize(stride * embedding.inputs, 0.0);
        embedding.bias.resize(stride, 0.0);
        let gate = |gate: &Vec<f32>| by_square(gate, stride);
        let inputs = padded(embedding.inputs);
        AttentionBody {
            width: body.width(),
            stride,
            number_size: if arithmetic.tiles().is_some() {
                size_of::<u16>()
            } else {
                size_of::<f32>()
            },
            source,
            embedding: Linear::new(arithmetic.kernels, &embedding, inputs, Activation::None),
            constants,
            activation,
            multiply_gate: body.multiply_gate.as_ref().map(gate),
            add_gate: body.add_gate.as_ref().map(gate),
            rest,
            encoders: Encoders::new(arithmetic, &body.encoders, body.smolgen.as_ref()),
        }
    }

    pub(crate) fn description(&self) -> String {
        format!("{}x{} encoders", self.width, self.encoders.list.len())
    }

    pub(crate) fn group(&self) -> usize {
        (GROUP_BYTES / (SQUARES * self.encoders.widest() * self.number_size).max(1)).clamp(2, 16)
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic, positions: usize) -> BodyScratch {
        let (tower, pieces) = match &self.source {
            Source::Planes => (None, 0),
            Source::Pieces(layer) => (None, layer.bias.len()),
            Source::Tower(tower) => (Some(tower.scratch(positions)), 0),
        };
        let ffn = self.rest.as_ref().map(|(_, ffn)| ffn);
        BodyScratch {
            inputs: Buffer::zeros(positions * SQUARES * self.embedding.inputs),
            stream: Rows::exact(arithmetic, positions * SQUARES, self.stride),
            pieces: Buffer::zeros(pieces),
            tower,
            encoders: self.encoders.scratch(arithmetic, positions, self.stride, ffn),
        }
    }

    /// `batch` is no larger than the scratch. `next` reads the stream.
    pub(crate) fn evaluate(&self, batch: &[EvalSlot], scratch: &mut BodyScratch, next: Option<&Layer>) {
        self.read(batch, scratch);
        let BodyScratch {
            inputs,
            stream,
            encoders,
            ..
        } = scratch;
        let rows = batch.len() * SQUARES;
        let x = &mut stream.numbers[..rows * self.stride];
        self.embedding.apply(rows, inputs, x);
        for_each_board(x, &self.constants, |x, constant| *x += constant);
        activate(self.embedding.kernels, self.activation, x);
        if let Some((norm, _)) = &self.rest {
            norm.apply(x, None, None);
        }
        for_each_board(x, &self.multiply_gate, |x, gate| *x *= gate);
        for_each_board(x, &self.add_gate, |x, gate| *x += gate);
        stream.round(rows, self.stride);
        if let Some((_, ffn)) = &self.rest {
            ffn.evaluate(rows, (stream, None), encoders);
        }
        self.encoders.evaluate(batch.len(), (stream, next), encoders);
    }

    fn read(&self, batch: &[EvalSlot], scratch: &mut BodyScratch) {
        let stride = self.embedding.inputs;
        if let (Source::Tower(tower), Some(of_tower)) = (&self.source, &mut scratch.tower) {
            let boards = tower.evaluate(batch, of_tower);
            return boards_to_rows(boards, tower.channels(), &mut scratch.inputs, stride);
        }
        for (slot, rows) in batch
            .iter()
            .zip(scratch.inputs.chunks_exact_mut(SQUARES * stride))
        {
            rows.fill(0.0);
            for (plane, (&mask, &value)) in slot.planes.masks.iter().zip(&slot.planes.values).enumerate() {
                for square in squares(mask) {
                    rows[square * stride + plane] = value;
                }
            }
            if let Source::Pieces(layer) = &self.source {
                layer.evaluate(self.embedding.kernels, slot, &mut scratch.pieces);
                let pieces = scratch.pieces.chunks_exact(layer.channels);
                for (row, pieces) in rows.chunks_exact_mut(stride).zip(pieces) {
                    row[PLANES..][..layer.channels].copy_from_slice(pieces);
                }
            }
        }
    }
}

fn for_each_board(x: &mut [f32], by_square: &Option<Buffer>, combine: impl Fn(&mut f32, f32)) {
    let Some(by_square) = by_square else { return };
    for board in x.chunks_exact_mut(by_square.len()) {
        board
            .iter_mut()
            .zip(by_square.iter())
            .for_each(|(x, &other)| combine(x, other));
    }
}

fn by_square(gate: &[f32], stride: usize) -> Buffer {
    let mut turned = Buffer::zeros(SQUARES * stride);
    for (channel, gate) in gate.chunks_exact(SQUARES).enumerate() {
        for (square, &number) in gate.iter().enumerate() {
            turned[square * stride + channel] = number;
        }
    }
    turned
}

impl PieceLayer {
    fn new(dense: &Dense) -> PieceLayer {
        let mut weights = Buffer::zeros(dense.inputs * dense.outputs);
        let weight = |input: usize, output: usize| weight_of(dense, input, output);
        pack(dense.outputs, dense.inputs, dense.outputs, weight, &mut weights);
        let bias = Buffer::padded(&dense.bias, dense.outputs);
        PieceLayer {
            channels: dense.outputs / SQUARES,
            weights,
            bias,
        }
    }

    fn evaluate(&self, kernels: Kernels, slot: &EvalSlot, output: &mut [f32]) {
        output.copy_from_slice(&self.bias);
        let planes = slot
            .planes
            .masks
            .iter()
            .zip(&slot.planes.values)
            .take(PIECE_PLANES);
        for (plane, (&mask, &factor)) in planes.enumerate() {
            for square in squares(mask) {
                let from = &self.weights[(square * PIECE_PLANES + plane) * output.len()..][..output.len()];
                kernels.run(AddScaled {
                    to: output,
                    from,
                    factor,
                });
            }
        }
    }
}
