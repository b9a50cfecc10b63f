//! Holds what a worker gathers before it evaluates: leaves with their slots, and visits that collided.

use std::ops::Range;

use crate::network::EvalSlot;
use crate::search::tree::NodeId;

/// Visits that ended at a leaf which is being evaluated already. They stay under way until the batch is backed
/// up, so that the next descents of the gathering go elsewhere.
#[derive(Debug)]
pub(crate) struct Collision {
    /// The nodes from the root to the leaf, in the batch's nodes.
    pub(crate) path: Range<usize>,
    /// The number of visits.
    pub(crate) visits: u32,
}

/// Buffers for one batch; reused from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// One slot per leaf, and more from larger batches before.
    slots: Vec<EvalSlot>,
    /// The nodes from the root to each leaf, in `nodes`.
    pub(crate) leaves: Vec<Range<usize>>,
    /// Slots behind those of the leaves, for positions that are prefetched.
    extra: usize,
    /// Visits that stopped at leaves under evaluation.
    pub(crate) collisions: Vec<Collision>,
    /// The nodes of all paths.
    nodes: Vec<NodeId>,
}

/// Returns the memory of the buffers for batches of `positions` positions, bytes. Lines of play are rarely longer than
/// is counted here.
pub(crate) fn buffer_bytes(positions: usize) -> u64 {
    const LINE: usize = 32;
    (positions * (size_of::<EvalSlot>() + LINE * size_of::<NodeId>())) as u64
}

impl Batch {
    /// Returns whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.collisions.is_empty()
    }

    /// Returns whether it has been in use.
    pub(super) fn has_buffers(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Forgets the last batch.
    pub(crate) fn clear(&mut self) {
        self.leaves.clear();
        self.extra = 0;
        self.collisions.clear();
        self.nodes.clear();
    }

    /// Adds a leaf and returns its slot, for the caller to fill.
    pub(super) fn push_leaf(&mut self, path: &[NodeId]) -> &mut EvalSlot {
        let path = self.keep(path);
        self.leaves.push(path);
        self.last_slot()
    }

    /// Adds a position that is no leaf yet, after all leaves, and returns its slot, for the caller to fill.
    pub(super) fn push_extra(&mut self) -> &mut EvalSlot {
        self.extra += 1;
        self.last_slot()
    }

    fn last_slot(&mut self) -> &mut EvalSlot {
        let len = self.leaves.len() + self.extra;
        if self.slots.len() < len {
            self.slots.push(EvalSlot::default());
        }
        &mut self.slots[len - 1]
    }

    /// Adds visits that stopped at a leaf under evaluation.
    pub(super) fn push_collision(&mut self, path: &[NodeId], visits: u32) {
        let path = self.keep(path);
        self.collisions.push(Collision { path, visits });
    }

    fn keep(&mut self, path: &[NodeId]) -> Range<usize> {
        let start = self.nodes.len();
        self.nodes.extend_from_slice(path);
        start..self.nodes.len()
    }

    /// Returns the nodes of a path.
    pub(crate) fn path(&self, range: &Range<usize>) -> &[NodeId] {
        &self.nodes[range.clone()]
    }

    /// Returns the slots of all leaves, in order, then those of prefetched positions.
    pub(crate) fn slots(&self) -> &[EvalSlot] {
        &self.slots[..self.leaves.len() + self.extra]
    }

    /// Returns the same slots, for the evaluator.
    pub(crate) fn slots_mut(&mut self) -> &mut [EvalSlot] {
        let len = self.leaves.len() + self.extra;
        &mut self.slots[..len]
    }
}
