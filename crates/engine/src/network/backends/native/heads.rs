//! Policy, value and moves left heads. Policies compute the logits of legal moves only, some thirty of 1858.

use super::convolution::{self, Convolutions};
use super::encoder::{self, Encoder, EncoderScratch, Stack, Surroundings};
use super::layers::{
    Arithmetic, Boards, Buffer, Layer, Linear, Order, Output, Pass, Stream, activate, padded,
};
use crate::network::policy_map::{ATTENTION_CELLS, CONVOLUTION_CELLS, CONVOLUTION_PLANES};
use crate::network::weights::{
    self, Activation, AttentionPolicy, Dense, HeadInput, PolicyHead, SQUARES, ScalarHead,
};
use crate::network::{EvalSlot, POLICY_SIZE};
use zeitnot_kernels::{BOARD_SQUARES, Convolve, Dot, Kernels};

#[derive(Debug)]
pub(crate) enum Policy {
    /// `dense(act(convolution(x)))`
    Classical(Classical),
    /// `conv2(act(conv1(x)))`
    Convolution(ConvolutionPolicy),
    Attention(Box<AttentionHead>),
}

#[derive(Debug)]
pub(crate) struct Classical {
    input: Linear,
    activation: Activation,
    /// `[1858][64][channels]`
    rows: Buffer,
    bias: Vec<f32>,
}

/// The second convolution is computed only at the origins of legal moves.
#[derive(Debug)]
pub(crate) struct ConvolutionPolicy {
    conv1: Convolutions,
    activation: Activation,
    channels: usize,
    /// `[73][3][3][channels]`
    filters: Buffer,
    bias: Vec<f32>,
}

/// A body's output for the heads, 64 rows per position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features<'a> {
    pub(crate) positions: usize,
    pub(crate) stream: &'a Stream,
}

#[derive(Debug)]
pub(crate) enum Workspace<'a> {
    /// A tower's boards, room for others as large, and scratch of convolutions.
    OfTower(Boards<'a>, &'a mut [f32], &'a mut convolution::Scratch),
    Nothing,
}

#[derive(Debug)]
pub(crate) struct PolicyScratch {
    squares: Buffer,
    attention: Option<AttentionScratch>,
}

impl Policy {
    pub(crate) fn new(
        arithmetic: Arithmetic,
        head: &PolicyHead,
        activation: Activation,
        inputs: usize,
    ) -> Policy {
        let kernels = arithmetic.kernels;
        match head {
            PolicyHead::Classical { convolution, dense } => {
                Policy::Classical(Classical::new(kernels, (convolution, inputs), dense, activation))
            }
            PolicyHead::Convolution { conv1, conv2 } => {
                let conv1 = Convolutions::new(arithmetic, &[conv1]);
                Policy::Convolution(ConvolutionPolicy::new(conv1, conv2, activation))
            }
            PolicyHead::Attention(head) => Policy::Attention(Box::new(AttentionHead::new(arithmetic, head))),
        }
    }

    pub(crate) fn first_layer(&self) -> Option<&Layer> {
        match self {
            Policy::Attention(head) => Some(&head.embedding),
            _ => None,
        }
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic, positions: usize) -> PolicyScratch {
        let (squares, attention) = match self {
            Policy::Classical(head) => (64 * head.input.outputs, None),
            Policy::Convolution(_) => (0, None),
            Policy::Attention(head) => (0, Some(head.scratch(arithmetic, positions))),
        };
        PolicyScratch { squares: Buffer::zeros(squares), attention }
    }

    /// All policy indices of the slots must be below 1858.
    pub(crate) fn evaluate(
        &self,
        kernels: Kernels,
        batch: &mut [EvalSlot],
        features: Features<'_>,
        workspace: Workspace<'_>,
        scratch: &mut PolicyScratch,
    ) {
        batch.iter_mut().for_each(|slot| slot.logits.clear());
        match (self, workspace) {
            (Policy::Attention(head), _) => {
                if let Some(scratch) = &mut scratch.attention {
                    head.evaluate(kernels, batch, features, scratch);
                }
            }
            (Policy::Classical(head), _) => {
                let rows = features.stream.numbers.chunks_exact(SQUARES * head.input.inputs);
                for (slot, rows) in batch.iter_mut().zip(rows) {
                    head.evaluate(kernels, rows, slot, &mut scratch.squares);
                }
            }
            (Policy::Convolution(head), Workspace::OfTower(boards, output, convolution)) => {
                head.conv1.apply_to_tower(kernels, head.activation, boards, output, convolution);
                for (position, slot) in batch.iter_mut().enumerate() {
                    head.evaluate(kernels, position, slot, output);
                }
            }
            (Policy::Convolution(_), Workspace::Nothing) => unreachable!("such heads stand on towers"),
        }
    }
}

impl Classical {
    fn new(
        kernels: Kernels,
        (convolution, inputs): (&weights::Convolution, usize),
        dense: &Dense,
        activation: Activation,
    ) -> Classical {
        let in_order = |input: usize| (input < convolution.inputs).then_some(input);
        let input = Linear::new(kernels, &as_dense(convolution), inputs, in_order);
        let mut rows = Buffer::zeros(POLICY_SIZE * 64 * input.outputs);
        for (row, weights) in
            rows.chunks_exact_mut(64 * input.outputs).zip(dense.weights.chunks_exact(dense.inputs))
        {
            for (square, to) in row.chunks_exact_mut(input.outputs).enumerate() {
                for (channel, to) in to.iter_mut().enumerate().take(convolution.outputs) {
                    *to = weights[Order::ChannelMajor.flatten(square, channel, convolution.outputs)];
                }
            }
        }
        Classical { input, activation, rows, bias: dense.bias.clone() }
    }

    fn evaluate(&self, kernels: Kernels, rows: &[f32], slot: &mut EvalSlot, squares: &mut [f32]) {
        self.input.apply(kernels, SQUARES, rows, squares);
        activate(kernels, self.activation, squares);
        let length = squares.len();
        for &index in &slot.moves {
            let index = usize::from(index);
            let row = &self.rows[index * length..][..length];
            slot.logits.push(kernels.run(Dot { a: row, b: squares }) + self.bias[index]);
        }
    }
}

fn as_dense(convolution: &weights::Convolution) -> Dense {
    let &weights::Convolution { inputs, outputs, .. } = convolution;
    let (weights, bias) = (convolution.weights.clone(), convolution.bias.clone());
    Dense { inputs, outputs, weights, bias }
}

impl ConvolutionPolicy {
    fn new(conv1: Convolutions, conv2: &weights::Convolution, activation: Activation) -> ConvolutionPolicy {
        let channels = padded(conv2.inputs);
        let mut filters = Buffer::zeros(CONVOLUTION_PLANES * 9 * channels);
        for (plane, filter) in filters.chunks_exact_mut(9 * channels).enumerate() {
            for (tap, to) in filter.chunks_exact_mut(channels).enumerate() {
                for (channel, to) in to.iter_mut().enumerate().take(conv2.inputs) {
                    *to = conv2.weights[(plane * conv2.inputs + channel) * 9 + tap];
                }
            }
        }
        let bias = conv2.bias[..CONVOLUTION_PLANES].to_vec();
        ConvolutionPolicy { conv1, activation, channels, filters, bias }
    }

    fn evaluate(&self, kernels: Kernels, position: usize, slot: &mut EvalSlot, boards: &[f32]) {
        let channels = self.channels;
        let board = &boards[position * BOARD_SQUARES * channels..][..BOARD_SQUARES * channels];
        for &index in &slot.moves {
            let cell = usize::from(CONVOLUTION_CELLS[usize::from(index)]);
            let (plane, square) = (cell / 64, cell % 64);
            let filter = &self.filters[plane * 9 * channels..][..9 * channels];
            slot.logits.push(kernels.run(Convolve { channels, square, board, filter }) + self.bias[plane]);
        }
    }
}

const PLAIN_CELLS: usize = 64 * 64;
/// A pawn promotes on 8 files (at most three are neighbours), each to queen, rook or bishop.
const PROMOTIONS_PER_FILE: usize = 24;

#[derive(Debug)]
pub(crate) struct AttentionHead {
    embedding: Layer,
    encoders: Vec<Encoder>,
    query: Layer,
    key: Layer,
    /// `[3][width]`: a last-rank key's part in a promotion to queen, rook or bishop.
    promotion: Buffer,
    /// `1 / sqrt(width)`
    scale: f32,
}

#[derive(Debug)]
pub(crate) struct AttentionScratch {
    embedded: Stream,
    query: Buffer,
    key: Buffer,
    encoders: EncoderScratch,
}

impl AttentionHead {
    pub(crate) fn new(arithmetic: Arithmetic, head: &AttentionPolicy) -> AttentionHead {
        let key = Layer::new(arithmetic, &head.key);
        let width = head.key.outputs;
        let mut promotion = Buffer::zeros(3 * key.outputs);
        let (common, pieces) = (&head.promotion[3 * width..], &head.promotion[..3 * width]);
        for (to, piece) in promotion.chunks_exact_mut(key.outputs).zip(pieces.chunks_exact(width)) {
            for ((to, piece), common) in to.iter_mut().zip(piece).zip(common) {
                *to = piece + common;
            }
        }
        AttentionHead {
            embedding: Layer::new(arithmetic, &head.embedding).activated(head.activation),
            encoders: head.encoders.iter().map(|encoder| Encoder::new(arithmetic, encoder)).collect(),
            query: Layer::new(arithmetic, &head.query),
            key,
            promotion,
            scale: 1.0 / (width as f32).sqrt(),
        }
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic, positions: usize) -> AttentionScratch {
        let (rows, width) = (positions * SQUARES, self.embedding.outputs);
        let stack = Stack { encoders: &self.encoders, shared: None, ffn: None, width };
        AttentionScratch {
            embedded: Stream::new(arithmetic, rows, width),
            query: Buffer::zeros(rows * self.query.outputs),
            key: Buffer::zeros(rows * self.key.outputs),
            encoders: EncoderScratch::new(arithmetic, positions, stack),
        }
    }

    pub(crate) fn evaluate(
        &self,
        kernels: Kernels,
        batch: &mut [EvalSlot],
        features: Features<'_>,
        scratch: &mut AttentionScratch,
    ) {
        let AttentionScratch { embedded, query, key, encoders } = scratch;
        let rows = batch.len() * SQUARES;
        let input = features.stream.input();
        let output = Output::Single(&mut embedded.numbers);
        self.embedding.apply(kernels, Pass { rows, input, output, next: Some(&self.query) });
        embedded.round(kernels, rows);
        let surroundings = Surroundings { positions: batch.len(), shared: None, next: Some(&self.query) };
        encoder::evaluate(&self.encoders, kernels, embedded, surroundings, encoders);
        let input = embedded.input();
        self.query.apply(kernels, Pass { rows, input, output: Output::Single(query), next: Some(&self.key) });
        self.key.apply(kernels, Pass { rows, input, output: Output::Single(key), next: None });
        let (queries, keys) =
            (query.chunks(SQUARES * self.query.outputs), key.chunks(SQUARES * self.key.outputs));
        for ((slot, query), key) in batch.iter_mut().zip(queries).zip(keys) {
            self.push_logits(kernels, slot, query, key);
        }
    }

    /// Logits are products of queries and keys, `[64][width]`.
    fn push_logits(&self, kernels: Kernels, slot: &mut EvalSlot, query: &[f32], key: &[f32]) {
        let width = self.key.outputs;
        let row = |square: usize| square * width..(square + 1) * width;
        for &index in &slot.moves {
            let cell = usize::from(ATTENTION_CELLS[usize::from(index)]);
            let (from, to) = match cell.checked_sub(PLAIN_CELLS) {
                None => (cell / 64, cell % 64),
                Some(cell) => (48 + cell / PROMOTIONS_PER_FILE, 56 + cell % PROMOTIONS_PER_FILE / 3),
            };
            let key = &key[row(to)];
            let mut logit = kernels.run(Dot { a: &query[row(from)], b: key }) * self.scale;
            if let Some(cell) = cell.checked_sub(PLAIN_CELLS) {
                logit += kernels.run(Dot { a: key, b: &self.promotion[cell % 3 * width..][..width] });
            }
            slot.logits.push(logit);
        }
    }
}

/// `output(act(hidden(act(input(x)))))`, in fp32: rounding matters most in the value.
#[derive(Debug)]
pub(crate) struct Head {
    /// Per square.
    input: Linear,
    hidden: Linear,
    output: Linear,
    activation: Activation,
}

#[derive(Debug)]
pub(crate) struct HeadScratch {
    squares: Buffer,
    hidden: Buffer,
    output: Buffer,
}

impl HeadScratch {
    pub(crate) fn new<'a>(heads: impl Iterator<Item = &'a Head> + Clone, positions: usize) -> HeadScratch {
        let largest = |size: fn(&Head) -> usize| heads.clone().map(size).max().unwrap_or(0);
        HeadScratch {
            squares: Buffer::zeros(positions * largest(|head| head.hidden.inputs)),
            hidden: Buffer::zeros(positions * largest(|head| head.hidden.outputs)),
            output: Buffer::zeros(positions * largest(|head| head.output.outputs)),
        }
    }
}

impl Head {
    pub(crate) fn new(kernels: Kernels, head: &ScalarHead, activation: Activation, inputs: usize) -> Head {
        let (dense, order) = match &head.input {
            HeadInput::Convolution(convolution) => (&as_dense(convolution), Order::ChannelMajor),
            HeadInput::PerSquare(dense) => (dense, Order::SquareMajor),
        };
        let in_order = |input: usize| (input < dense.inputs).then_some(input);
        let input = Linear::new(kernels, dense, inputs, in_order);
        let hidden = Linear::after_squares(kernels, &head.hidden, dense.outputs, order);
        Head { input, hidden, output: Linear::plain(kernels, &head.output), activation }
    }

    /// Yields each position's outputs, with padding behind them.
    pub(crate) fn evaluate<'a>(
        &self,
        kernels: Kernels,
        Features { positions, stream }: Features<'_>,
        scratch: &'a mut HeadScratch,
    ) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let squares = &mut scratch.squares[..positions * self.hidden.inputs];
        self.input.apply(kernels, positions * SQUARES, &stream.numbers, squares);
        activate(kernels, self.activation, squares);
        let hidden = &mut scratch.hidden[..positions * self.hidden.outputs];
        self.hidden.apply(kernels, positions, squares, hidden);
        activate(kernels, self.activation, hidden);
        self.output.apply(kernels, positions, hidden, &mut scratch.output);
        scratch.output.chunks_exact(self.output.outputs).take(positions)
    }
}
