//! Backing up: evaluations become edges and values, and every node on a leaf's path gets its share.
//!
//! A backup follows the path that the descent took; nodes don't know their parents.

use super::batch::{Batch, Leaf};
use super::job::Job;
use super::tree::{Edge, NodeId, TreeFull, Value};
use crate::chess::MoveList;
use crate::network::{EvalSlot, Evaluation};

/// An evaluation, which is for the side to move at the leaf, as the leaf's node keeps it.
pub(super) fn leaf_value(evaluation: Evaluation) -> Value {
    Value { v: -evaluation.q, d: evaluation.d, m: evaluation.m }
}

/// Ends `visits` visits along `path` with the result `value` at its last node.
pub(super) fn finish(job: &Job, path: &[NodeId], visits: u32, value: Value) {
    let mut value = value;
    for &id in path.iter().rev() {
        job.tree.node(id).finish_visits(visits, value);
        value = value.at_parent();
    }
    job.counters.count_depth(path.len() - 1, visits);
}

/// Takes `visits` visits back along `path`.
pub(super) fn cancel(job: &Job, path: &[NodeId], visits: u32) {
    for &id in path {
        job.tree.node(id).cancel_visits(visits);
    }
}

/// Gives the claimed node `id` its edges: `policy` belongs to `moves`, in their order, and sums to 1.
/// `buffer` is for the edges while they are sorted.
pub(super) fn expand(
    job: &Job,
    id: NodeId,
    moves: &MoveList,
    policy: &[f32],
    buffer: &mut Vec<Edge>,
) -> Result<(), TreeFull> {
    buffer.clear();
    buffer.extend(moves.iter().zip(policy).map(|(&mv, &p)| Edge::new(mv, p)));
    buffer.sort_unstable_by(|a, b| b.cmp(a));
    job.tree.expand(id, buffer)
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
pub(super) fn finish_batch(job: &Job, batch: &mut Batch, edges: &mut Vec<Edge>) {
    for index in 0..batch.leaves.len() {
        softmax(&mut batch.slots_mut()[index].logits, job.params.policy_temperature);
        finish_leaf(job, batch, index, edges);
    }
    release_collisions(job, batch);
}

fn finish_leaf(job: &Job, batch: &Batch, index: usize, edges: &mut Vec<Edge>) {
    let Leaf { path, moves } = &batch.leaves[index];
    let EvalSlot { key, evaluation, logits: policy, .. } = &batch.slots()[index];
    let path = batch.path(path);
    let leaf = path[path.len() - 1];
    match expand(job, leaf, moves, policy, edges) {
        Ok(()) => finish(job, path, 1, leaf_value(*evaluation)),
        Err(full) => {
            job.tree.node(leaf).unclaim();
            cancel(job, path, 1);
            job.fail(full.to_string());
        }
    }
    job.cache.insert(*key, *evaluation, policy);
}

/// Takes everything back that the batch has under way: the evaluation failed.
pub(super) fn abandon_batch(job: &Job, batch: &Batch) {
    for leaf in &batch.leaves {
        let path = batch.path(&leaf.path);
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
