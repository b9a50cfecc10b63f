//! Backing up: evaluations become policies and values, and every node on a leaf's path gets its share.
//!
//! A backup follows the path that the descent took; nodes don't know their parents.

use std::cmp::Ordering::Equal;
use std::sync::atomic::Ordering;

use super::batch::Batch;
use super::job::Job;
use super::tree::{Node, NodeId, Outcome, Proof, Sum, Tree, TreeFull, Value};
use crate::network::{EvalSlot, Evaluation};

/// An evaluation, which is for the side to move at the last node of `path`, as that node keeps it.
pub(super) fn leaf_value(job: &Job, path: &[NodeId], evaluation: Evaluation) -> Value {
    let root_turn = job.history.current().turn();
    let mover = if path.len().is_multiple_of(2) { root_turn } else { !root_turn };
    let (v, d) = job.params.rescale.apply((-evaluation.q, evaluation.d), mover);
    Value { v, d, m: evaluation.m }
}

/// Ends `visits` visits along `path` with the result `value` at its last node. From a node on that has been proven
/// meanwhile its certain result counts.
pub(super) fn finish(job: &Job, path: &[NodeId], visits: u32, value: Value) {
    let mut sum = Sum::finished(visits, value);
    for &id in path.iter().rev() {
        sum = job.tree.node(id).end_visits(sum).at_parent();
    }
}

/// Takes `visits` visits back along `path`.
pub(super) fn cancel(job: &Job, path: &[NodeId], visits: u32) {
    for &id in path {
        job.tree.node(id).cancel_visits(visits);
    }
}

/// The last node of `path` has just been proven: its ancestors are proven too as far as that decides them.
pub(super) fn propagate_proof(job: &Job, path: &[NodeId]) {
    if !job.params.sticky_endgames {
        return;
    }
    for depth in (0..path.len() - 1).rev() {
        let node = job.tree.node(path[depth]);
        if node.proof().is_some() {
            return;
        }
        let Some(proof) = proof_from_children(&job.tree, node) else { return };
        let mut correction = node.prove(proof);
        for &ancestor in path[..depth].iter().rev() {
            correction = correction.at_parent();
            if !job.tree.node(ancestor).correct(correction) {
                break;
            }
        }
    }
}

/// What the children's proofs say of `node`: a winning move decides it, and so do all moves together.
fn proof_from_children(tree: &Tree, node: &Node) -> Option<Proof> {
    let proofs = || tree.children(node).map(|(_, child)| child.proof());
    // The nearest win, where there is one.
    let wins = proofs().flatten().filter(|proof| proof.outcome == Outcome::Win);
    if let Some(win) =
        wins.min_by(|a, b| (!a.is_mate, a.plies).partial_cmp(&(!b.is_mate, b.plies)).unwrap_or(Equal))
    {
        return Some(Proof { outcome: Outcome::Loss, plies: win.plies + 1.0, is_mate: win.is_mate });
    }
    if node.child_count() < node.edge_count() || proofs().any(|proof| proof.is_none()) {
        return None;
    }
    let is_draw = proofs().flatten().any(|proof| proof.outcome == Outcome::Draw);
    let outcome = if is_draw { Outcome::Draw } else { Outcome::Win };
    // The side to move puts the end off as long as it can.
    let longest = proofs().flatten().filter(|proof| is_draw == (proof.outcome == Outcome::Draw));
    let plies = longest.map(|proof| proof.plies).fold(0.0, f32::max);
    let is_mate = !is_draw && proofs().flatten().all(|proof| proof.is_mate);
    Some(Proof { outcome, plies: plies + 1.0, is_mate })
}

/// Turns logits into probabilities in place: softmax at `temperature`.
/// The exponential comes from `libm`, so that a search is the same on every machine.
pub(super) fn softmax(logits: &mut [f32], temperature: f32) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = libm::expf((*logit - max) / temperature);
        sum += *logit;
    }
    for p in logits {
        *p /= sum;
    }
}

/// Ends visits along many paths, one after the other: what neighbouring paths have in common is written once.
struct Backup<'a> {
    tree: &'a Tree,
    /// The path that was added last, with what has ended at each node and is not yet written.
    open: Vec<(NodeId, Sum)>,
}

impl Backup<'_> {
    /// Ends visits at the last node of `path`.
    fn add(&mut self, path: &[NodeId], sum: Sum) {
        let shared = self.open.iter().zip(path).take_while(|((open, _), id)| open == *id).count();
        self.close(shared);
        self.open.extend(path[shared..].iter().map(|&id| (id, Sum::default())));
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
fn end_visits(job: &Job, batch: &Batch, mut leaf_sum: impl FnMut(usize) -> Sum) {
    let mut backup = Backup { tree: &job.tree, open: Vec::new() };
    let mut collisions = batch.collisions.iter().peekable();
    for (index, leaf) in batch.leaves.iter().enumerate() {
        // In the order in which they were gathered, in which paths have most in common.
        while let Some(collision) = collisions.next_if(|collision| collision.path.start < leaf.start) {
            backup.add(batch.path(&collision.path), Sum::cancelled(collision.visits));
        }
        backup.add(batch.path(leaf), leaf_sum(index));
    }
    for collision in collisions {
        backup.add(batch.path(&collision.path), Sum::cancelled(collision.visits));
    }
    backup.close(0);
}

/// Backs up an evaluated batch and takes its collisions back.
pub(super) fn finish_batch(job: &Job, batch: &mut Batch) {
    let _inside = job.tree.enter();
    for slot in batch.slots_mut() {
        softmax(&mut slot.logits, job.params.policy_temperature);
    }
    end_visits(job, batch, |index| finish_leaf(job, batch, index));
    let prefetched = &batch.slots()[batch.leaves.len()..];
    for EvalSlot { key, evaluation, logits: policy, .. } in prefetched {
        job.cache.insert(*key, *evaluation, policy);
    }
    job.counters.prefetched.fetch_add(prefetched.len() as u64, Ordering::Relaxed);
    // All at once: the counters are shared by all threads.
    let depths = || batch.leaves.iter().map(ExactSizeIterator::len);
    job.counters.count_depths(depths().sum(), depths().max().unwrap_or(0));
}

/// Expands a leaf whose evaluation is there. Returns how the visit to it ends.
fn finish_leaf(job: &Job, batch: &Batch, index: usize) -> Sum {
    let EvalSlot { key, evaluation, logits: policy, .. } = &batch.slots()[index];
    let path = batch.path(&batch.leaves[index]);
    let leaf = path[path.len() - 1];
    if let Err(TreeFull) = job.tree.expand(leaf, policy) {
        // Without room for its policy it stays a leaf.
        job.tree.node(leaf).unclaim();
    }
    job.cache.insert(*key, *evaluation, policy);
    Sum::finished(1, leaf_value(job, path, *evaluation))
}

/// Takes everything back that the batch has under way: the evaluation failed.
pub(super) fn abandon_batch(job: &Job, batch: &Batch) {
    let _inside = job.tree.enter();
    end_visits(job, batch, |index| {
        let path = batch.path(&batch.leaves[index]);
        job.tree.node(path[path.len() - 1]).unclaim();
        Sum::cancelled(1)
    });
}

/// Takes the collisions of a batch without leaves back.
pub(super) fn release_collisions(job: &Job, batch: &Batch) {
    end_visits(job, batch, |_| Sum::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_at_a_temperature() {
        let mut logits = [2.0, 0.0, 2.0];
        softmax(&mut logits, 2.0);
        // e¹ : e⁰ : e¹, divided by their sum 2e + 1
        let e = std::f32::consts::E;
        for (p, expected) in logits.iter().zip([e, 1.0, e].map(|x| x / (2.0 * e + 1.0))) {
            assert!((p - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn softmax_survives_extreme_logits() {
        let mut logits = [1e30, -1e30, f32::MAX];
        softmax(&mut logits, 0.5);
        assert_eq!(logits, [0.0, 0.0, 1.0]);
    }
}
