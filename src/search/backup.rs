//! Backing up: evaluations become policies and values, and every node on a leaf's path gets its share.
//!
//! A backup follows the path that the descent took; nodes don't know their parents.

use std::cmp::Ordering::Equal;
use std::sync::atomic::Ordering;

use super::batch::Batch;
use super::job::Job;
use super::tree::{Node, NodeId, Outcome, Proof, Tree, TreeFull, Value};
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
    let mut value = value;
    for &id in path.iter().rev() {
        value = job.tree.node(id).finish_visits(visits, value).at_parent();
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

/// Backs up an evaluated batch and takes its collisions back.
pub(super) fn finish_batch(job: &Job, batch: &mut Batch) {
    let _inside = job.tree.enter();
    for slot in batch.slots_mut() {
        softmax(&mut slot.logits, job.params.policy_temperature);
    }
    for index in 0..batch.leaves.len() {
        finish_leaf(job, batch, index);
    }
    let prefetched = &batch.slots()[batch.leaves.len()..];
    for EvalSlot { key, evaluation, logits: policy, .. } in prefetched {
        job.cache.insert(*key, *evaluation, policy);
    }
    job.counters.prefetched.fetch_add(prefetched.len() as u64, Ordering::Relaxed);
    // All at once: the counters are shared by all threads.
    let depths = || batch.leaves.iter().map(ExactSizeIterator::len);
    job.counters.count_depths(depths().sum(), depths().max().unwrap_or(0));
    release_collisions(job, batch);
}

fn finish_leaf(job: &Job, batch: &Batch, index: usize) {
    let EvalSlot { key, evaluation, logits: policy, .. } = &batch.slots()[index];
    let path = batch.path(&batch.leaves[index]);
    let leaf = path[path.len() - 1];
    match job.tree.expand(leaf, policy) {
        Ok(()) => finish(job, path, 1, leaf_value(job, path, *evaluation)),
        // Without room for its policy it stays a leaf.
        Err(TreeFull) => {
            job.tree.node(leaf).unclaim();
            finish(job, path, 1, leaf_value(job, path, *evaluation));
        }
    }
    job.cache.insert(*key, *evaluation, policy);
}

/// Takes everything back that the batch has under way: the evaluation failed.
pub(super) fn abandon_batch(job: &Job, batch: &Batch) {
    let _inside = job.tree.enter();
    for leaf in &batch.leaves {
        let path = batch.path(leaf);
        job.tree.node(path[path.len() - 1]).unclaim();
        cancel(job, path, 1);
    }
    release_collisions(job, batch);
}

pub(super) fn release_collisions(job: &Job, batch: &Batch) {
    for collision in &batch.collisions {
        cancel(job, batch.path(&collision.path), collision.visits);
    }
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
