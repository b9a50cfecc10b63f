//! A batch and its backup: evaluations become policies and values, and every node on a leaf's path gets its
//! share.
//!
//! A backup follows the path of the descent, since nodes don't know their parents.

use std::ops::Range;

use crate::network::{EvalSlot, Value, approximate_softmax};
use crate::search::state::{SearchContext, SearchState};
use crate::search::tree::{NodeId, Tree, VisitSum};

/// Converts an evaluation for the side to move into the node's point of view. `depth` counts the positions
/// from the root on.
pub(crate) fn leaf_value(context: &SearchContext, depth: usize, evaluation: Value) -> Value {
    let root_turn = context.history.current().turn();
    let mover = if depth.is_multiple_of(2) { root_turn } else { !root_turn };
    context.rescale.apply(evaluation.for_opponent(), mover)
}

/// Ends `visits` visits along `path` with `value`, or from a proven node on with its certain result.
pub(super) fn finish(tree: &Tree, path: &[NodeId], visits: u32, value: Value) {
    let mut sum = VisitSum::finished(visits, value);
    for &id in path.iter().rev() {
        sum = tree.node(id).end_visits(sum).at_parent();
    }
}

pub(super) fn cancel(tree: &Tree, path: &[NodeId], visits: u32) {
    for &id in path {
        tree.node(id).cancel_visits(visits);
    }
}

/// Ends visits along many paths in turn, and writes what neighbouring paths share only once.
struct Backup<'a> {
    tree: &'a Tree,
    /// The last path, with the visits that ended at each node and are not written yet.
    open: Vec<(NodeId, VisitSum)>,
}

impl Backup<'_> {
    fn add(&mut self, path: &[NodeId], sum: VisitSum) {
        let shared = self.open.iter().zip(path).take_while(|((open, _), id)| open == *id).count();
        self.close(shared);
        self.open.extend(path[shared..].iter().map(|&id| (id, VisitSum::default())));
        if let Some((_, last)) = self.open.last_mut() {
            *last = last.and(sum);
        }
    }

    fn close(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some((id, sum)) = self.open.pop()
        {
            let sum = self.tree.node(id).end_visits(sum);
            if let Some((_, parent)) = self.open.last_mut() {
                *parent = parent.and(sum.at_parent());
            }
        }
    }
}

fn end_visits(tree: &Tree, batch: &Batch, mut leaf_sum: impl FnMut(usize) -> VisitSum) {
    let mut backup = Backup { tree, open: Vec::new() };
    let mut collisions = batch.collisions.iter().peekable();
    for (index, leaf) in batch.leaves.iter().enumerate() {
        // In the order of gathering, in which neighbouring paths share most.
        while let Some(collision) = collisions.next_if(|collision| collision.path.start < leaf.start) {
            backup.add(batch.path(&collision.path), VisitSum::cancelled(collision.visits));
        }
        backup.add(batch.path(leaf), leaf_sum(index));
    }
    for collision in collisions {
        backup.add(batch.path(&collision.path), VisitSum::cancelled(collision.visits));
    }
    backup.close(0);
}

/// Gives the leaf at the end of `path` its policy if there is room. False if the visit does not count: a root
/// without a policy must be evaluated again.
pub(super) fn expand(tree: &Tree, path: &[NodeId], policy: &[f32]) -> bool {
    let leaf = path[path.len() - 1];
    let is_expanded = tree.expand(leaf, policy).is_ok();
    if !is_expanded {
        tree.node(leaf).unclaim();
    }
    is_expanded || path.len() > 1
}

pub(crate) fn finish_batch(SearchState { context, budget, counters, .. }: &SearchState, batch: &mut Batch) {
    let _inside = context.tree.enter();
    for slot in batch.slots_mut() {
        approximate_softmax(&mut slot.logits, context.params.policy_temperature);
    }
    let (mut depth_sum, mut max_depth) = (0, 0);
    end_visits(&context.tree, batch, |index| {
        let Some(value) = finish_leaf(context, batch, index) else {
            budget.give_back(1);
            return VisitSum::cancelled(1);
        };
        let depth = batch.leaves[index].len();
        (depth_sum, max_depth) = (depth_sum + depth, max_depth.max(depth));
        VisitSum::finished(1, value)
    });
    let prefetched = &batch.slots()[batch.leaves.len()..];
    for EvalSlot { key, evaluation, logits: policy, .. } in prefetched {
        context.cache.insert(*key, *evaluation, policy);
    }
    let mut counters = counters.lock();
    counters.prefetched += prefetched.len() as u64;
    counters.count_depths(depth_sum, max_depth);
}

/// `None` if the visit does not count.
fn finish_leaf(context: &SearchContext, batch: &Batch, index: usize) -> Option<Value> {
    let EvalSlot { key, evaluation, logits: policy, .. } = &batch.slots()[index];
    let path = batch.path(&batch.leaves[index]);
    context.cache.insert(*key, *evaluation, policy);
    expand(&context.tree, path, policy).then(|| leaf_value(context, path.len(), *evaluation))
}

pub(crate) fn abandon_batch(tree: &Tree, batch: &Batch) {
    let _inside = tree.enter();
    end_visits(tree, batch, |index| {
        let path = batch.path(&batch.leaves[index]);
        tree.node(path[path.len() - 1]).unclaim();
        VisitSum::cancelled(1)
    });
}

pub(super) fn release_collisions(tree: &Tree, batch: &mut Batch) {
    let mut backup = Backup { tree, open: Vec::new() };
    for collision in &batch.collisions {
        backup.add(batch.path(&collision.path), VisitSum::cancelled(collision.visits));
    }
    backup.close(0);
    batch.collisions.clear();
}

/// Collided visits stay under way until the batch is backed up, so that other descents avoid the leaf.
#[derive(Debug)]
pub(crate) struct Collision {
    pub(crate) path: Range<usize>,
    pub(crate) visits: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// One slot per leaf, and spare ones of larger batches before.
    slots: Vec<EvalSlot>,
    /// Paths, as ranges of `nodes`.
    pub(crate) leaves: Vec<Range<usize>>,
    /// Slots of prefetched positions, behind those of the leaves.
    extra: usize,
    pub(crate) collisions: Vec<Collision>,
    nodes: Vec<NodeId>,
}

pub(crate) fn buffer_bytes(positions: usize) -> u64 {
    const LINE: usize = 32;
    (positions * (size_of::<EvalSlot>() + LINE * size_of::<NodeId>())) as u64
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.collisions.is_empty()
    }

    pub(super) fn has_buffers(&self) -> bool {
        !self.slots.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.leaves.clear();
        self.extra = 0;
        self.collisions.clear();
        self.nodes.clear();
    }

    pub(super) fn push_leaf(&mut self, path: &[NodeId]) -> &mut EvalSlot {
        let path = self.keep(path);
        self.leaves.push(path);
        self.last_slot()
    }

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

    pub(super) fn push_collision(&mut self, path: &[NodeId], visits: u32) {
        let path = self.keep(path);
        self.collisions.push(Collision { path, visits });
    }

    fn keep(&mut self, path: &[NodeId]) -> Range<usize> {
        let start = self.nodes.len();
        self.nodes.extend_from_slice(path);
        start..self.nodes.len()
    }

    pub(crate) fn path(&self, range: &Range<usize>) -> &[NodeId] {
        &self.nodes[range.clone()]
    }

    pub(crate) fn slots(&self) -> &[EvalSlot] {
        &self.slots[..self.leaves.len() + self.extra]
    }

    pub(crate) fn slots_mut(&mut self) -> &mut [EvalSlot] {
        let len = self.leaves.len() + self.extra;
        &mut self.slots[..len]
    }
}
