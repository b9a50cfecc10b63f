//! A whole network with its weights packed for one set of kernels, and its evaluation.

use std::sync::Arc;

use super::kernels::{Kernels, Tiles};
use super::policy::{Policy, PolicyScratch};
use super::tower::{Tower, TowerScratch};
use super::value::{Head, HeadScratch};
use crate::network::weights::{Body, Network};
use crate::network::{EvalSlot, Evaluation};

/// Memory that the Winograd tiles of positions evaluated together may take: they should stay in the second cache.
const TILE_BYTES: usize = 600 << 10;
/// Bytes of Winograd tiles for each channel of a position: 36 points of 4 tiles.
const TILE_BYTES_PER_CHANNEL: usize = 36 * 4 * size_of::<f32>();

/// A network, immutable: shared by all evaluators.
#[derive(Debug)]
pub(super) struct Model {
    kernels: Box<dyn Kernels>,
    tower: Tower,
    policy: Policy,
    value: Head,
    moves_left: Option<Head>,
    has_wdl: bool,
}

/// What one evaluator computes in, for [`Model::group`] positions.
#[derive(Debug)]
pub(super) struct Scratch {
    tower: TowerScratch,
    policy: PolicyScratch,
    heads: HeadScratch,
}

impl Model {
    /// Packs the weights; `None` if the network is no residual tower.
    ///
    /// With `tiles`, 3×3 convolutions are computed in bf16.
    pub(super) fn new(
        kernels: Box<dyn Kernels>,
        tiles: Option<&Arc<dyn Tiles>>,
        network: &Network,
    ) -> Option<Model> {
        let Body::Tower(tower) = &network.body else { return None };
        let (k, activation) = (&*kernels, network.activation);
        Some(Model {
            tower: Tower::new(k, tiles, tower, activation),
            policy: Policy::new(k, tiles, &network.policy, activation),
            value: Head::new(k, &network.value, activation),
            moves_left: network.moves_left.as_ref().map(|head| Head::new(k, head, activation)),
            has_wdl: network.has_wdl(),
            kernels,
        })
    }

    /// Multiply-adds of the matrix products of an evaluation.
    pub(super) fn multiply_adds(&self) -> usize {
        let heads = [&self.value].into_iter().chain(&self.moves_left);
        self.tower.multiply_adds()
            + self.policy.multiply_adds()
            + heads.map(Head::multiply_adds).sum::<usize>()
    }

    /// For people: the size of the tower.
    pub(super) fn description(&self) -> String {
        format!("{}x{}", self.tower.filters(), self.tower.blocks())
    }

    /// The kernels it was packed for.
    pub(super) fn kernels(&self) -> &dyn Kernels {
        &*self.kernels
    }

    /// Positions that are evaluated together: more would leave the cache, fewer would read the weights more often.
    pub(super) fn group(&self) -> usize {
        (TILE_BYTES / (self.tower.channels() * TILE_BYTES_PER_CHANNEL)).clamp(4, 16)
    }

    /// Scratch for one evaluator.
    pub(super) fn scratch(&self) -> Scratch {
        let positions = self.group();
        Scratch {
            tower: self.tower.scratch(positions),
            policy: self.policy.scratch(),
            heads: HeadScratch::new([&self.value].into_iter().chain(&self.moves_left), positions),
        }
    }

    /// Evaluates a batch of any size. All policy indices must be below 1858.
    pub(super) fn evaluate(&self, batch: &mut [EvalSlot], scratch: &mut Scratch) {
        for group in batch.chunks_mut(self.group()) {
            self.evaluate_group(group, scratch);
        }
    }

    fn evaluate_group(&self, group: &mut [EvalSlot], scratch: &mut Scratch) {
        let kernels = self.kernels();
        self.tower.evaluate(kernels, group, &mut scratch.tower);
        let boards = (group.len(), &scratch.tower.boards[..]);
        let values = self.value.evaluate(kernels, boards, &mut scratch.heads);
        for (slot, outputs) in group.iter_mut().zip(values) {
            slot.evaluation = if self.has_wdl {
                from_wdl([outputs[0], outputs[1], outputs[2]])
            } else {
                Evaluation { q: outputs[0].tanh(), ..Evaluation::default() }
            };
        }
        if let Some(head) = &self.moves_left {
            for (slot, outputs) in group.iter_mut().zip(head.evaluate(kernels, boards, &mut scratch.heads)) {
                slot.evaluation.m = outputs[0].max(0.0);
            }
        }
        self.policy.evaluate(kernels, group, &mut scratch.tower, &mut scratch.policy);
    }
}

/// Softmax of the logits of win, draw and loss.
fn from_wdl(logits: [f32; 3]) -> Evaluation {
    let largest = logits.iter().copied().fold(f32::MIN, f32::max);
    let [win, draw, loss] = logits.map(|logit| (logit - largest).exp());
    let sum = win + draw + loss;
    Evaluation { q: (win - loss) / sum, d: draw / sum, m: 0.0 }
}
