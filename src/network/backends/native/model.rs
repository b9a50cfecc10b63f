//! A whole network with its weights packed for one set of kernels, and its evaluation.

use std::sync::Arc;

use super::body::{self, AttentionBody};
use super::convolution::Boards;
use super::evaluates;
use super::kernels::{Kernels, Tiles};
use super::layer::Arithmetic;
use super::policy::{Policy, PolicyScratch, Workspace};
use super::tower::{Tower, TowerScratch};
use super::value::{Head, HeadScratch};
use crate::network::weights::{self, Network};
use crate::network::{EvalSlot, Evaluation};

/// Memory that the Winograd tiles of positions evaluated together may take: they should stay in the second cache.
const TILE_BYTES: usize = 600 << 10;
/// Bytes of Winograd tiles for each channel of a position: 36 points of 4 tiles.
const TILE_BYTES_PER_CHANNEL: usize = 36 * 4 * size_of::<f32>();

/// A network, immutable: shared by all evaluators.
#[derive(Debug)]
pub(super) struct Model {
    kernels: Box<dyn Kernels>,
    /// The unit for products in bf16, if any are computed so.
    tiles: Option<Arc<dyn Tiles>>,
    body: Body,
    policy: Policy,
    value: Head,
    moves_left: Option<Head>,
    has_wdl: bool,
}

/// The body, which makes boards for the heads.
#[derive(Debug)]
enum Body {
    Tower(Tower),
    Attention(Box<AttentionBody>),
}

/// Scratch memory of a body.
#[derive(Debug)]
enum BodyScratch {
    Tower(Box<TowerScratch>),
    Attention(Box<body::BodyScratch>),
}

/// Scratch memory of one evaluator, for [`Model::group`] positions.
#[derive(Debug)]
pub(super) struct Scratch {
    body: BodyScratch,
    policy: PolicyScratch,
    heads: HeadScratch,
}

impl Model {
    /// Packs the weights; `None` if an attention body has a policy head with convolutions.
    ///
    /// With `tiles`, a tower's 3×3 convolutions and an attention body's dense layers are computed in bf16.
    pub(super) fn new(
        kernels: Box<dyn Kernels>,
        tiles: Option<&Arc<dyn Tiles>>,
        network: &Network,
    ) -> Option<Model> {
        let (k, activation) = (&*kernels, network.activation);
        let arithmetic = Arithmetic { kernels: k, tiles };
        if !evaluates(network) {
            return None;
        }
        let body = match &network.body {
            weights::Body::Tower(tower) => Body::Tower(Tower::new(k, tiles, tower, activation)),
            weights::Body::Attention(body) => {
                Body::Attention(Box::new(AttentionBody::new(arithmetic, body, activation)))
            }
        };
        Some(Model {
            body,
            tiles: tiles.cloned(),
            policy: Policy::new(arithmetic, &network.policy, activation),
            value: Head::new(k, &network.value, activation),
            moves_left: network.moves_left.as_ref().map(|head| Head::new(k, head, activation)),
            has_wdl: network.has_wdl(),
            kernels,
        })
    }

    /// Returns the multiply-adds of the matrix products of an evaluation.
    pub(super) fn multiply_adds(&self) -> usize {
        let heads = [&self.value].into_iter().chain(&self.moves_left);
        let body = match &self.body {
            Body::Tower(tower) => tower.multiply_adds(),
            Body::Attention(body) => body.multiply_adds(),
        };
        body + self.policy.multiply_adds() + heads.map(Head::multiply_adds).sum::<usize>()
    }

    /// Describes the size of the body for people.
    pub(super) fn description(&self) -> String {
        match &self.body {
            Body::Tower(tower) => format!("{}x{}", tower.filters(), tower.blocks()),
            Body::Attention(body) => body.description(),
        }
    }

    /// Returns the kernels that the model was packed for.
    pub(super) fn kernels(&self) -> &dyn Kernels {
        &*self.kernels
    }

    /// Returns the number of positions that are evaluated together: more would leave the cache, fewer would read the
    /// weights more often.
    pub(super) fn group(&self) -> usize {
        match &self.body {
            Body::Tower(tower) => (TILE_BYTES / (tower.channels() * TILE_BYTES_PER_CHANNEL)).clamp(4, 16),
            Body::Attention(body) => body.group(),
        }
    }

    fn arithmetic(&self) -> Arithmetic<'_> {
        Arithmetic { kernels: &*self.kernels, tiles: self.tiles.as_ref() }
    }

    /// Makes scratch memory for one evaluator.
    pub(super) fn scratch(&self) -> Scratch {
        let positions = self.group();
        let body = match &self.body {
            Body::Tower(tower) => BodyScratch::Tower(Box::new(tower.scratch(positions))),
            Body::Attention(body) => {
                BodyScratch::Attention(Box::new(body.scratch(self.arithmetic(), positions)))
            }
        };
        Scratch {
            body,
            policy: self.policy.scratch(self.arithmetic()),
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
        let (boards, workspace) = match (&self.body, &mut scratch.body) {
            (Body::Tower(tower), BodyScratch::Tower(scratch)) => {
                tower.evaluate(kernels, group, scratch);
                let workspace = Workspace::OfTower(&mut scratch.inner, &mut scratch.convolution);
                (&scratch.boards[..], workspace)
            }
            (Body::Attention(body), BodyScratch::Attention(scratch)) => {
                body.evaluate(kernels, group, scratch);
                (&scratch.boards[..], Workspace::Nothing)
            }
            _ => unreachable!("an evaluator's scratch is made by its own model"),
        };
        let boards = Boards { positions: group.len(), boards };
        let values = self.value.evaluate(kernels, boards, &mut scratch.heads);
        for (slot, outputs) in group.iter_mut().zip(values) {
            slot.evaluation = if self.has_wdl {
                from_wdl([outputs[0], outputs[1], outputs[2]])
            } else {
                Evaluation { q: libm::tanhf(outputs[0]), ..Evaluation::default() }
            };
        }
        if let Some(head) = &self.moves_left {
            for (slot, outputs) in group.iter_mut().zip(head.evaluate(kernels, boards, &mut scratch.heads)) {
                slot.evaluation.m = outputs[0].max(0.0);
            }
        }
        self.policy.evaluate(kernels, group, boards.boards, workspace, &mut scratch.policy);
    }
}

/// Computes an evaluation from the logits of win, draw and loss by softmax.
fn from_wdl(logits: [f32; 3]) -> Evaluation {
    let largest = logits.iter().copied().fold(f32::MIN, f32::max);
    let [win, draw, loss] = logits.map(|logit| libm::expf(logit - largest));
    let sum = win + draw + loss;
    Evaluation { q: (win - loss) / sum, d: draw / sum, m: 0.0 }
}
