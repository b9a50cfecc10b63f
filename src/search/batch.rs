//! What a worker gathers before it evaluates: leaves with their slots, and visits that collided.

use std::ops::Range;

use super::tree::NodeId;
use crate::chess::MoveList;
use crate::network::EvalSlot;

/// A leaf that waits for its evaluation.
#[derive(Debug)]
pub(super) struct Leaf {
    /// From the root to the leaf, in [`Batch::nodes`].
    pub(super) path: Range<usize>,
    /// Its legal moves; their policy indices stand in the slot, in the same order.
    pub(super) moves: MoveList,
}

/// Visits that ended at a leaf which is being evaluated already. They stay under way until the batch is backed
/// up, so that the next descents of the gathering go elsewhere.
#[derive(Debug)]
pub(super) struct Collision {
    pub(super) path: Range<usize>,
    pub(super) visits: u32,
}

/// Buffers for one batch; reused from batch to batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// One per leaf, and more from larger batches before.
    slots: Vec<EvalSlot>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) collisions: Vec<Collision>,
    /// The nodes of all paths.
    nodes: Vec<NodeId>,
}

impl Batch {
    /// Forgets the last batch.
    pub(super) fn clear(&mut self) {
        self.leaves.clear();
        self.collisions.clear();
        self.nodes.clear();
    }

    /// Adds a leaf; the caller fills the slot it gets. Gives the moves back.
    pub(super) fn push_leaf(&mut self, path: &[NodeId], moves: MoveList) -> (&MoveList, &mut EvalSlot) {
        let path = self.keep(path);
        let index = self.leaves.len();
        self.leaves.push(Leaf { path, moves });
        if self.slots.len() == index {
            self.slots.push(EvalSlot::default());
        }
        (&self.leaves[index].moves, &mut self.slots[index])
    }

    pub(super) fn push_collision(&mut self, path: &[NodeId], visits: u32) {
        let path = self.keep(path);
        self.collisions.push(Collision { path, visits });
    }

    fn keep(&mut self, path: &[NodeId]) -> Range<usize> {
        let start = self.nodes.len();
        self.nodes.extend_from_slice(path);
        start..self.nodes.len()
    }

    pub(super) fn path(&self, range: &Range<usize>) -> &[NodeId] {
        &self.nodes[range.clone()]
    }

    /// The slots of all leaves, in order.
    pub(super) fn slots(&self) -> &[EvalSlot] {
        &self.slots[..self.leaves.len()]
    }

    pub(super) fn slots_mut(&mut self) -> &mut [EvalSlot] {
        &mut self.slots[..self.leaves.len()]
    }
}
