//! Backing up: evaluations become policies and values, and every node on a leaf's path gets its share.
//!
//! A backup follows the path that the descent took; nodes don't know their parents.

use std::sync::atomic::Ordering;

use super::batch::Batch;
use crate::network::{EvalSlot, Evaluation, approximate_softmax};
use crate::search::state::{ExpectedResult, SearchContext, SearchCounters, VisitBudget};
use crate::search::tree::{NodeId, NodeValue, Tree, VisitSum};

/// Returns an evaluation, which is for the side to move at a node of `depth` positions from the root on, as that node keeps it.
pub(crate) fn leaf_value(context: &SearchContext, depth: usize, evaluation: Evaluation) -> NodeValue {
    let root_turn = context.history.current().turn();
    let mover = if depth.is_multiple_of(2) { root_turn } else { !root_turn };
    let result = ExpectedResult { wl: -evaluation.q, d: evaluation.d };
    let ExpectedResult { wl, d } = context.rescale.apply(result, mover);
    NodeValue { v: wl, d, m: evaluation.m }
}

/// Ends `visits` visits along `path` with the result `value` at its last node. From a node on that has been proven
/// meanwhile its certain result counts.
pub(super) fn finish(tree: &Tree, path: &[NodeId], visits: u32, value: NodeValue) {
    let mut sum = VisitSum::finished(visits, value);
    for &id in path.iter().rev() {
        sum = tree.node(id).end_visits(sum).at_parent();
    }
}

/// Takes `visits` visits back along `path`.
pub(super) fn cancel(tree: &Tree, path: &[NodeId], visits: u32) {
    for &id in path {
        tree.node(id).cancel_visits(visits);
    }
}

/// Ends visits along many paths, one after the other: what neighbouring paths have in common is written once.
struct Backup<'a> {
    tree: &'a Tree,
    /// The path that was added last, with what has ended at each node and is not yet written.
    open: Vec<(NodeId, VisitSum)>,
}

impl Backup<'_> {
    /// Ends visits at the last node of `path`.
    fn add(&mut self, path: &[NodeId], sum: VisitSum) {
        let shared = self.open.iter().zip(path).take_while(|((open, _), id)| open == *id).count();
        self.close(shared);
        self.open.extend(path[shared..].iter().map(|&id| (id, VisitSum::default())));
        if let Some((_, last)) = self.open.last_mut() {
            *last = last.and(sum);
        }
    }

    /// Writes what has ended at nodes that lie `depth` plies or more below the root.
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

/// Ends all visits of a batch: `leaf_sum` says how those to its leaves end, the collisions are taken back.
fn end_visits(tree: &Tree, batch: &Batch, mut leaf_sum: impl FnMut(usize) -> VisitSum) {
    let mut backup = Backup { tree, open: Vec::new() };
    let mut collisions = batch.collisions.iter().peekable();
    for (index, leaf) in batch.leaves.iter().enumerate() {
        // In the order in which they were gathered, in which paths have most in common.
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

/// Gives the evaluated leaf at the end of `path` its policy. Without room for that it stays a leaf. Returns whether a visit to it
/// counts: one to a root that has no moves yet does not, so that it is evaluated again once there is room.
pub(super) fn expand(tree: &Tree, path: &[NodeId], policy: &[f32]) -> bool {
    let leaf = path[path.len() - 1];
    let is_expanded = tree.expand(leaf, policy).is_ok();
    if !is_expanded {
        tree.node(leaf).unclaim();
    }
    is_expanded || path.len() > 1
}

/// Backs up an evaluated batch and takes its collisions back.
pub(crate) fn finish_batch(
    context: &SearchContext,
    budget: &VisitBudget,
    counters: &SearchCounters,
    batch: &mut Batch,
) {
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
    counters.prefetched.fetch_add(prefetched.len() as u64, Ordering::Relaxed);
    // All at once: the counters are shared by all threads.
    counters.count_depths(depth_sum, max_depth);
}

/// Expands a leaf whose evaluation is there. Returns the result of the visit to it, `None` if that does not count.
fn finish_leaf(context: &SearchContext, batch: &Batch, index: usize) -> Option<NodeValue> {
    let EvalSlot { key, evaluation, logits: policy, .. } = &batch.slots()[index];
    let path = batch.path(&batch.leaves[index]);
    context.cache.insert(*key, *evaluation, policy);
    expand(&context.tree, path, policy).then(|| leaf_value(context, path.len(), *evaluation))
}

/// Takes everything back that the batch has under way, after its evaluation failed.
pub(crate) fn abandon_batch(tree: &Tree, batch: &Batch) {
    let _inside = tree.enter();
    end_visits(tree, batch, |index| {
        let path = batch.path(&batch.leaves[index]);
        tree.node(path[path.len() - 1]).unclaim();
        VisitSum::cancelled(1)
    });
}

/// Takes the collisions of a batch that is not full yet back.
pub(super) fn release_collisions(tree: &Tree, batch: &mut Batch) {
    let mut backup = Backup { tree, open: Vec::new() };
    for collision in &batch.collisions {
        backup.add(batch.path(&collision.path), VisitSum::cancelled(collision.visits));
    }
    backup.close(0);
    batch.collisions.clear();
}
