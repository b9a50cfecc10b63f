//! The residual tower: input planes to the boards that the heads read.

use std::sync::Arc;

use super::buffer::Buffer;
use super::convolution::{self, Boards, Convolution, Target};
use super::first_layer::{ClassSums, FirstLayer};
use super::kernels::{BOARD_SQUARES, Epilogue, Kernels, Pointwise, Residual, Tiles};
use super::linear::{Linear, activate, activate_boards, padded, pointwise};
use crate::network::EvalSlot;
use crate::network::weights;
use crate::network::weights::{Activation, Dense};

/// A tower with its weights packed.
#[derive(Debug)]
pub(super) struct Tower {
    filters: usize,
    first: FirstLayer,
    blocks: Vec<Block>,
    activation: Activation,
    /// The unit that its convolutions are packed for, if not for the kernels.
    tiles: Option<Arc<dyn Tiles>>,
}

/// `act(x + se(conv2(act(conv1(x)))))`
#[derive(Debug)]
struct Block {
    conv1: Convolution,
    conv2: Convolution,
    squeeze_excite: Option<SqueezeExcite>,
}

/// Sums over each channel to scales and shifts of the channels.
#[derive(Debug)]
struct SqueezeExcite {
    squeeze: Linear,
    excite: Linear,
}

/// Scratch memory of a tower's evaluator.
#[derive(Debug)]
pub(super) struct TowerScratch {
    /// `[positions][10][10][channels]`: the tower's output.
    pub(super) boards: Buffer,
    /// Boards of the same size: outputs of a block's first convolution; free for heads afterwards.
    pub(super) inner: Buffer,
    /// Scratch memory of all convolutions.
    pub(super) convolution: convolution::Scratch,
    update: Buffer,
    class_sums: ClassSums,
    pool: Buffer,
    squeezed: Buffer,
    scale_shift: Buffer,
}

impl Tower {
    /// Packs the weights, those of the 3×3 convolutions for `tiles` if there are any.
    pub(super) fn new(
        kernels: &dyn Kernels,
        tiles: Option<&Arc<dyn Tiles>>,
        tower: &weights::Tower,
        activation: Activation,
    ) -> Tower {
        let block = |block: &weights::ResidualBlock| Block {
            conv1: Convolution::new(kernels, tiles, &block.conv1),
            conv2: Convolution::new(kernels, tiles, &block.conv2),
            squeeze_excite: block.se.as_ref().map(|unit| SqueezeExcite::new(kernels, unit)),
        };
        Tower {
            filters: tower.filters(),
            first: FirstLayer::new(&tower.input),
            blocks: tower.blocks.iter().map(block).collect(),
            activation,
            tiles: tiles.cloned(),
        }
    }

    /// Returns the multiply-adds of an evaluation, without those of the first layer.
    pub(super) fn multiply_adds(&self) -> usize {
        let block = |block: &Block| {
            let unit = block.squeeze_excite.as_ref();
            let unit = unit.map_or(0, |unit| unit.squeeze.multiply_adds() + unit.excite.multiply_adds());
            block.conv1.multiply_adds() + block.conv2.multiply_adds() + unit
        };
        self.blocks.iter().map(block).sum()
    }

    /// Returns the filters of the network, as its file says.
    pub(super) fn filters(&self) -> usize {
        self.filters
    }

    /// Returns the number of residual blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the padded channels of its output.
    pub(super) fn channels(&self) -> usize {
        self.first.channels()
    }

    /// Makes scratch memory for up to `positions` at once.
    pub(super) fn scratch(&self, positions: usize) -> TowerScratch {
        let channels = self.channels();
        let boards = || Buffer::zeros(positions * BOARD_SQUARES * channels);
        let units = self.blocks.iter().filter_map(|block| block.squeeze_excite.as_ref());
        let squeezed = units.map(|unit| unit.squeeze.outputs).max().unwrap_or(0);
        TowerScratch {
            boards: boards(),
            inner: boards(),
            convolution: convolution::Scratch::new(positions, channels, self.tiles.as_ref()),
            update: boards(),
            class_sums: ClassSums::new(channels),
            pool: Buffer::zeros(positions * channels),
            squeezed: Buffer::zeros(positions * squeezed),
            scale_shift: Buffer::zeros(positions * 2 * channels),
        }
    }

    /// Evaluates the tower for `batch`, no larger than the scratch, into the scratch's boards.
    pub(super) fn evaluate(&self, kernels: &dyn Kernels, batch: &[EvalSlot], scratch: &mut TowerScratch) {
        let channels = self.channels();
        let boards = scratch.boards.chunks_exact_mut(BOARD_SQUARES * channels);
        for (slot, board) in batch.iter().zip(boards) {
            self.first.apply(kernels, &slot.planes, &mut scratch.class_sums, board);
            activate_boards(kernels, self.activation, board, channels);
        }
        for block in &self.blocks {
            self.evaluate_block(kernels, block, batch.len(), scratch);
        }
    }

    fn evaluate_block(
        &self,
        kernels: &dyn Kernels,
        block: &Block,
        positions: usize,
        scratch: &mut TowerScratch,
    ) {
        let conv1 = ActivatedConvolution { convolution: &block.conv1, activation: self.activation };
        let input = Boards { positions, boards: &scratch.boards };
        conv1.apply(kernels, input, &mut scratch.inner, &mut scratch.convolution);
        let relu = pointwise(self.activation) == Some(Pointwise::Relu);
        let inner = Boards { positions, boards: &scratch.inner };
        if let Some(unit) = &block.squeeze_excite {
            let target =
                Target { boards: &mut scratch.update, epilogue: Epilogue::Pool, pool: &mut scratch.pool };
            block.conv2.apply(kernels, &mut scratch.convolution, inner, target);
            unit.evaluate(kernels, self.activation, positions, scratch);
            kernels.add_residual(Residual {
                positions,
                channels: self.channels(),
                update: &scratch.update,
                scale_shift: &scratch.scale_shift,
                boards: &mut scratch.boards,
                relu,
            });
        } else {
            let epilogue = if relu { Epilogue::AddRelu } else { Epilogue::Add };
            let target = Target { boards: &mut scratch.boards, epilogue, pool: &mut [] };
            block.conv2.apply(kernels, &mut scratch.convolution, inner, target);
        }
        if !relu {
            let boards = &mut scratch.boards[..positions * BOARD_SQUARES * self.channels()];
            activate_boards(kernels, self.activation, boards, self.channels());
        }
    }
}

/// A convolution and the activation behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActivatedConvolution<'a> {
    pub(super) convolution: &'a Convolution,
    pub(super) activation: Activation,
}

impl ActivatedConvolution<'_> {
    /// Computes `output = activation(convolution(input))`.
    pub(super) fn apply(
        &self,
        kernels: &dyn Kernels,
        input: Boards<'_>,
        output: &mut [f32],
        scratch: &mut convolution::Scratch,
    ) {
        let relu = pointwise(self.activation) == Some(Pointwise::Relu);
        let epilogue = if relu { Epilogue::Relu } else { Epilogue::Store };
        let target = Target { boards: &mut *output, epilogue, pool: &mut [] };
        self.convolution.apply(kernels, scratch, input, target);
        if !relu {
            let channels = self.convolution.outputs();
            let boards = &mut output[..input.positions * BOARD_SQUARES * channels];
            activate_boards(kernels, self.activation, boards, channels);
        }
    }
}

impl SqueezeExcite {
    fn new(kernels: &dyn Kernels, unit: &weights::SqueezeExcite) -> SqueezeExcite {
        let mut squeeze = unit.squeeze.clone();
        // It reads sums over 64 squares, the file means means.
        squeeze.weights.iter_mut().for_each(|weight| *weight /= 64.0);
        SqueezeExcite {
            squeeze: Linear::plain(kernels, &squeeze),
            excite: Linear::plain(kernels, &pad_halves(&unit.excite)),
        }
    }

    /// Computes scales and shifts from pooled sums, within `scratch`.
    fn evaluate(
        &self,
        kernels: &dyn Kernels,
        activation: Activation,
        positions: usize,
        scratch: &mut TowerScratch,
    ) {
        let squeezed = &mut scratch.squeezed[..positions * self.squeeze.outputs];
        self.squeeze.apply(kernels, positions, &scratch.pool, squeezed);
        activate(kernels, activation, squeezed);
        self.excite.apply(kernels, positions, squeezed, &mut scratch.scale_shift);
        let channels = self.excite.outputs / 2;
        for scales in scratch.scale_shift.chunks_exact_mut(2 * channels).take(positions) {
            kernels.apply(Pointwise::Sigmoid, &mut scales[..channels]);
        }
    }
}

/// Pads a layer whose outputs come in two halves, each half to what the kernels take.
fn pad_halves(dense: &Dense) -> Dense {
    let (half, inputs) = (dense.outputs / 2, dense.inputs);
    let outputs = 2 * padded(half);
    let mut result =
        Dense { inputs, outputs, weights: vec![0.0; outputs * inputs], bias: vec![0.0; outputs] };
    for (from, to) in [(0, 0), (half, padded(half))] {
        result.bias[to..to + half].copy_from_slice(&dense.bias[from..from + half]);
        result.weights[to * inputs..(to + half) * inputs]
            .copy_from_slice(&dense.weights[from * inputs..(from + half) * inputs]);
    }
    result
}
