//! The policy heads. They compute the logits of the legal moves only: some thirty of 1858.

use super::attention::{AttentionHead, AttentionScratch};
use super::buffer::Buffer;
use super::convolution::{self, Boards};
use super::kernels::{BOARD_SQUARES, Convolve, Kernels};
use super::layer::Arithmetic;
use super::linear::{Linear, Order, activate, padded};
use super::tower::ActivatedConvolution;
use crate::network::policy_map::{CONVOLUTION_CELLS, CONVOLUTION_PLANES};
use crate::network::weights::{Activation, Dense, PolicyHead};
use crate::network::{EvalSlot, POLICY_SIZE, weights};

/// A policy head with its weights packed.
#[derive(Debug)]
pub(super) enum Policy {
    /// `dense(act(convolution(x)))`
    Classical(Classical),
    /// `conv2(act(conv1(x)))`
    Convolution(Convolution),
    /// Attention between squares.
    Attention(Box<AttentionHead>),
}

/// A 1×1 convolution and a fully connected layer.
#[derive(Debug)]
pub(super) struct Classical {
    input: Linear,
    activation: Activation,
    /// `[1858][64][channels]`
    rows: Buffer,
    bias: Vec<f32>,
}

/// Two 3×3 convolutions; the second one only where a legal move starts.
#[derive(Debug)]
pub(super) struct Convolution {
    conv1: convolution::Convolution,
    activation: Activation,
    /// `[73][3][3][channels]`
    filters: Buffer,
    bias: Vec<f32>,
}

/// Scratch memory of a body that its heads may use.
#[derive(Debug)]
pub(super) enum Workspace<'a> {
    /// A tower's: room for boards as large as its own, and for convolutions.
    OfTower(&'a mut [f32], &'a mut convolution::Scratch),
    /// Nothing: there are no convolutions on attention bodies.
    Nothing,
}

/// Scratch memory of a policy head's evaluator.
#[derive(Debug)]
pub(super) struct PolicyScratch {
    squares: Buffer,
    attention: Option<AttentionScratch>,
}

impl Policy {
    /// Packs the weights, those of 3×3 convolutions and attention for tiles if there are any.
    pub(super) fn new(arithmetic: Arithmetic<'_>, head: &PolicyHead, activation: Activation) -> Policy {
        let Arithmetic { kernels, tiles } = arithmetic;
        match head {
            PolicyHead::Classical { convolution, dense } => {
                Policy::Classical(Classical::new(kernels, convolution, dense, activation))
            }
            PolicyHead::Convolution { conv1, conv2 } => {
                let conv1 = convolution::Convolution::new(kernels, tiles, conv1);
                Policy::Convolution(Convolution::new(conv1, conv2, activation))
            }
            PolicyHead::Attention(head) => Policy::Attention(Box::new(AttentionHead::new(arithmetic, head))),
        }
    }

    /// Returns the multiply-adds of an evaluation, as far as they don't depend on the number of moves.
    pub(super) fn multiply_adds(&self) -> usize {
        match self {
            Policy::Classical(head) => 64 * head.input.multiply_adds(),
            Policy::Convolution(head) => head.conv1.multiply_adds(),
            Policy::Attention(head) => head.multiply_adds(),
        }
    }

    /// Makes scratch memory for one position at a time.
    pub(super) fn scratch(&self, arithmetic: Arithmetic<'_>) -> PolicyScratch {
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
    pub(super) fn evaluate(
        &self,
        kernels: &dyn Kernels,
        batch: &mut [EvalSlot],
        boards: &[f32],
        workspace: Workspace<'_>,
        scratch: &mut PolicyScratch,
    ) {
        let mut inner: &[f32] = &[];
        if let (Policy::Convolution(head), Workspace::OfTower(output, convolution)) = (self, workspace) {
            let conv1 = ActivatedConvolution { convolution: &head.conv1, activation: head.activation };
            let input = Boards { positions: batch.len(), boards };
            conv1.apply(kernels, input, output, convolution);
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
        kernels: &dyn Kernels,
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

    fn evaluate(&self, kernels: &dyn Kernels, board: &[f32], slot: &mut EvalSlot, squares: &mut [f32]) {
        self.input.apply_to_board(kernels, board, squares);
        activate(kernels, self.activation, squares);
        let length = squares.len();
        for &index in &slot.moves {
            let index = usize::from(index);
            let row = &self.rows[index * length..][..length];
            slot.logits.push(kernels.dot(row, squares) + self.bias[index]);
        }
    }
}

impl Convolution {
    fn new(
        conv1: convolution::Convolution,
        conv2: &weights::Convolution,
        activation: Activation,
    ) -> Convolution {
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
        Convolution { conv1, activation, filters, bias }
    }

    fn evaluate(&self, kernels: &dyn Kernels, position: usize, slot: &mut EvalSlot, boards: &[f32]) {
        let channels = self.conv1.outputs();
        let board = &boards[position * BOARD_SQUARES * channels..][..BOARD_SQUARES * channels];
        for &index in &slot.moves {
            let cell = usize::from(CONVOLUTION_CELLS[usize::from(index)]);
            let (plane, square) = (cell / 64, cell % 64);
            let filter = &self.filters[plane * 9 * channels..][..9 * channels];
            slot.logits
                .push(kernels.convolve(Convolve { channels, square, board, filter }) + self.bias[plane]);
        }
    }
}
