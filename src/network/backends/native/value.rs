//! The heads that end in one vector: value and moves left.

use super::buffer::Buffer;
use super::convolution::Boards;
use super::kernels::{BOARD_SQUARES, Kernels};
use super::linear::{Linear, Order, activate};
use crate::network::weights::{Activation, HeadInput, ScalarHead};

/// `output(act(hidden(act(input(x)))))`, its weights packed.
#[derive(Debug)]
pub(super) struct Head {
    /// Per square.
    input: Linear,
    hidden: Linear,
    output: Linear,
    activation: Activation,
}

/// Scratch memory of the heads' evaluators.
#[derive(Debug)]
pub(super) struct HeadScratch {
    squares: Buffer,
    hidden: Buffer,
    output: Buffer,
}

impl HeadScratch {
    /// Makes scratch memory for each of `heads`, up to `positions` at once.
    pub(super) fn new<'a>(heads: impl Iterator<Item = &'a Head> + Clone, positions: usize) -> HeadScratch {
        let largest = |size: fn(&Head) -> usize| heads.clone().map(size).max().unwrap_or(0);
        HeadScratch {
            squares: Buffer::zeros(positions * largest(|head| head.hidden.inputs)),
            hidden: Buffer::zeros(positions * largest(|head| head.hidden.outputs)),
            output: Buffer::zeros(positions * largest(|head| head.output.outputs)),
        }
    }
}

impl Head {
    /// Packs the weights.
    pub(super) fn new(kernels: &dyn Kernels, head: &ScalarHead, activation: Activation) -> Head {
        let (input, order) = match &head.input {
            HeadInput::Convolution(convolution) => {
                (Linear::pointwise_convolution(kernels, convolution), Order::ChannelMajor)
            }
            HeadInput::PerSquare(dense) => (Linear::plain(kernels, dense), Order::SquareMajor),
        };
        let hidden = Linear::after_squares(kernels, &head.hidden, head.input.channels(), order);
        Head { input, hidden, output: Linear::plain(kernels, &head.output), activation }
    }

    /// Returns the multiply-adds of an evaluation.
    pub(super) fn multiply_adds(&self) -> usize {
        64 * self.input.multiply_adds() + self.hidden.multiply_adds() + self.output.multiply_adds()
    }

    /// Evaluates the head for boards; yields each position's outputs (and padding behind them).
    pub(super) fn evaluate<'a>(
        &self,
        kernels: &dyn Kernels,
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
