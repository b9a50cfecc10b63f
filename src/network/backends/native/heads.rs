//! The heads: policy, value, moves left. Policies compute the logits of the legal moves only: some thirty of 1858.

use super::convolution::{self, Boards, Convolution};
use super::encoder::{Encoder, EncoderScratch, Stack};
use super::kernels::{BOARD_SQUARES, Convolve, Dot, Kernels, board_offset};
use super::layers::{Arithmetic, Buffer, InputSize, Layer, Linear, Order, Rounded, Rows, activate, padded};
use crate::network::policy_map::{ATTENTION_CELLS, CONVOLUTION_CELLS, CONVOLUTION_PLANES};
use crate::network::weights::{
    self, Activation, AttentionPolicy, Dense, HeadInput, PolicyHead, SQUARES, ScalarHead,
};
use crate::network::{EvalSlot, POLICY_SIZE};

#[derive(Debug)]
pub(crate) enum Policy {
    /// `dense(act(convolution(x)))`
    Classical(Classical),
    /// `conv2(act(conv1(x)))`
    Convolution(ConvolutionPolicy),
    /// Attention between squares.
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

/// Two 3×3 convolutions; the second one only where a legal move starts.
#[derive(Debug)]
pub(crate) struct ConvolutionPolicy {
    conv1: Convolution,
    activation: Activation,
    /// `[73][3][3][channels]`
    filters: Buffer,
    bias: Vec<f32>,
}

/// Scratch memory of a body that its heads may use.
#[derive(Debug)]
pub(crate) enum Workspace<'a> {
    /// A tower's: room for boards as large as its own, and for convolutions.
    OfTower(&'a mut [f32], &'a mut convolution::Scratch),
    /// Nothing: there are no convolutions on attention bodies.
    Nothing,
}

#[derive(Debug)]
pub(crate) struct PolicyScratch {
    squares: Buffer,
    attention: Option<AttentionScratch>,
}

impl Policy {
    /// Packs the weights, those of 3×3 convolutions and attention for tiles if there are any.
    pub(crate) fn new(arithmetic: Arithmetic, head: &PolicyHead, activation: Activation) -> Policy {
        let kernels = arithmetic.kernels;
        match head {
            PolicyHead::Classical { convolution, dense } => {
                Policy::Classical(Classical::new(kernels, convolution, dense, activation))
            }
            PolicyHead::Convolution { conv1, conv2 } => {
                let conv1 = Convolution::new(arithmetic, conv1);
                Policy::Convolution(ConvolutionPolicy::new(conv1, conv2, activation))
            }
            PolicyHead::Attention(head) => Policy::Attention(Box::new(AttentionHead::new(arithmetic, head))),
        }
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic) -> PolicyScratch {
        let (squares, attention) = match self {
            Policy::Classical(head) => (64 * head.input.outputs, None),
            Policy::Convolution(_) => (0, None),
            Policy::Attention(head) => (0, Some(head.scratch(arithmetic))),
        };
        PolicyScratch { squares: Buffer::zeros(squares), attention }
    }

    /// Evaluates the head for the body's `boards`; fills the slots' logits.
    ///
    /// All policy indices of the slots must be below 1858.
    pub(crate) fn evaluate(
        &self,
        kernels: Kernels,
        batch: &mut [EvalSlot],
        boards: &[f32],
        workspace: Workspace<'_>,
        scratch: &mut PolicyScratch,
    ) {
        let mut inner: &[f32] = &[];
        if let (Policy::Convolution(head), Workspace::OfTower(output, convolution)) = (self, workspace) {
            let input = Boards { positions: batch.len(), boards };
            head.conv1.apply(kernels, head.activation, input, output, convolution);
            inner = output;
        }
        for (position, slot) in batch.iter_mut().enumerate() {
            slot.logits.clear();
            match self {
                Policy::Classical(head) => {
                    let size = BOARD_SQUARES * head.input.inputs;
                    let board = &boards[position * size..][..size];
                    head.evaluate(kernels, board, slot, &mut scratch.squares);
                }
                Policy::Convolution(head) => head.evaluate(kernels, position, slot, inner),
                Policy::Attention(head) => {
                    let size = BOARD_SQUARES * head.inputs();
                    if let Some(scratch) = &mut scratch.attention {
                        head.evaluate(kernels, &boards[position * size..][..size], slot, scratch);
                    }
                }
            }
        }
    }
}

impl Classical {
    fn new(
        kernels: Kernels,
        convolution: &weights::Convolution,
        dense: &Dense,
        activation: Activation,
    ) -> Classical {
        let input = Linear::pointwise_convolution(kernels, convolution);
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

    fn evaluate(&self, kernels: Kernels, board: &[f32], slot: &mut EvalSlot, squares: &mut [f32]) {
        self.input.apply_to_board(kernels, board, squares);
        activate(kernels, self.activation, squares);
        let length = squares.len();
        for &index in &slot.moves {
            let index = usize::from(index);
            let row = &self.rows[index * length..][..length];
            slot.logits.push(kernels.run(Dot { a: row, b: squares }) + self.bias[index]);
        }
    }
}

impl ConvolutionPolicy {
    fn new(conv1: Convolution, conv2: &weights::Convolution, activation: Activation) -> ConvolutionPolicy {
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
        ConvolutionPolicy { conv1, activation, filters, bias }
    }

    fn evaluate(&self, kernels: Kernels, position: usize, slot: &mut EvalSlot, boards: &[f32]) {
        let channels = self.conv1.outputs();
        let board = &boards[position * BOARD_SQUARES * channels..][..BOARD_SQUARES * channels];
        for &index in &slot.moves {
            let cell = usize::from(CONVOLUTION_CELLS[usize::from(index)]);
            let (plane, square) = (cell / 64, cell % 64);
            let filter = &self.filters[plane * 9 * channels..][..9 * channels];
            slot.logits.push(kernels.run(Convolve { channels, square, board, filter }) + self.bias[plane]);
        }
    }
}

/// Cells of a head's output before the promotions.
const PLAIN_CELLS: usize = 64 * 64;
/// Promotions from a file: to 8 files (of which at most three are neighbours), each to queen, rook or bishop.
const PROMOTIONS_PER_FILE: usize = 24;

/// An attention policy head with its weights packed.
#[derive(Debug)]
pub(crate) struct AttentionHead {
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
pub(crate) struct AttentionScratch {
    squares: Buffer,
    embedded: Buffer,
    query: Buffer,
    key: Buffer,
    encoders: EncoderScratch,
    rounded: Rounded,
}

impl AttentionHead {
    pub(crate) fn new(arithmetic: Arithmetic, head: &AttentionPolicy) -> AttentionHead {
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

    /// Returns the padded channels of the boards that it reads.
    pub(crate) fn inputs(&self) -> usize {
        padded(self.inputs)
    }

    pub(crate) fn scratch(&self, arithmetic: Arithmetic) -> AttentionScratch {
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
    pub(crate) fn evaluate(
        &self,
        kernels: Kernels,
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
            let mut logit = kernels.run(Dot { a: &query[row(from)], b: key }) * self.scale;
            if let Some(cell) = cell.checked_sub(PLAIN_CELLS) {
                logit += kernels.run(Dot { a: key, b: &self.promotion[cell % 3 * width..][..width] });
            }
            slot.logits.push(logit);
        }
    }
}

/// `output(act(hidden(act(input(x)))))`, its weights packed.
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
    /// Makes scratch memory for each of `heads`, up to `positions` at once.
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
    pub(crate) fn new(kernels: Kernels, head: &ScalarHead, activation: Activation) -> Head {
        let (input, order) = match &head.input {
            HeadInput::Convolution(convolution) => {
                (Linear::pointwise_convolution(kernels, convolution), Order::ChannelMajor)
            }
            HeadInput::PerSquare(dense) => (Linear::plain(kernels, dense), Order::SquareMajor),
        };
        let hidden = Linear::after_squares(kernels, &head.hidden, head.input.channels(), order);
        Head { input, hidden, output: Linear::plain(kernels, &head.output), activation }
    }

    /// Evaluates the head for boards; yields each position's outputs (and padding behind them).
    pub(crate) fn evaluate<'a>(
        &self,
        kernels: Kernels,
        Boards { positions, boards }: Boards<'_>,
        scratch: &'a mut HeadScratch,
    ) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let squares = &mut scratch.squares[..positions * self.hidden.inputs];
        let boards = boards.chunks_exact(BOARD_SQUARES * self.input.inputs);
        for (board, squares) in boards.zip(squares.chunks_exact_mut(self.hidden.inputs)) {
            self.input.apply_to_board(kernels, board, squares);
        }
        activate(kernels, self.activation, squares);
        let hidden = &mut scratch.hidden[..positions * self.hidden.outputs];
        self.hidden.apply(kernels, positions, squares, hidden);
        activate(kernels, self.activation, hidden);
        self.output.apply(kernels, positions, hidden, &mut scratch.output);
        scratch.output.chunks_exact(self.output.outputs).take(positions)
    }
}
