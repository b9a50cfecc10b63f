//! One node: visits, value sums and state, all in atomics.
//!
//! Every value is from the point of view of the side that moved into the node (the side to move at its parent),
//! so that a parent prefers the child with the largest value. Writers: any worker, at any time; see each method
//! for the ordering. Values, means and finished visits change together, under a lock of one bit that is held for a few
//! instructions, so that no visit is lost or counted at the wrong worth when a node is proven. Descents don't take it: they begin and
//! cancel visits and read, and what they read may lack a part of a visit that ends at that moment.

mod proving;
mod standing;

pub(super) use standing::Standing;

use super::blocks::Zeroed;
use super::edge::Edge;
use super::means::Means;
use super::slab::Slot;
use super::value::{NodeValue, Proof, VALUE_SCALE, VisitSum, fixed};
use crate::search::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::search::sync::wait_for_lock;

/// Bits of `Node::meta`: what the node is, what is proven of it, the lock for appending a child, and counts.
mod meta {
    pub(super) const STATE: u32 = 0b11;
    pub(super) const UNEXPANDED: u32 = 0;
    pub(super) const CLAIMED: u32 = 1;
    pub(super) const EXPANDED: u32 = 2;
    pub(super) const TERMINAL: u32 = 3;
    pub(super) const GROWING: u32 = 1 << 2;
    pub(super) const PROOF_SHIFT: u32 = 3;
    pub(super) const PROOF: u32 = 0b11 << PROOF_SHIFT;
    /// The proven result is a mate, at most M plies away.
    pub(super) const MATE: u32 = 1 << 5;
    /// The side that moved into the node cannot lose, or cannot win, any more; a proof says more than both.
    pub(super) const CANNOT_LOSE: u32 = 1 << 6;
    pub(super) const CANNOT_WIN: u32 = 1 << 7;
    pub(super) const EDGES_SHIFT: u32 = 8;
    pub(super) const CHILDREN_SHIFT: u32 = 16;
    /// Plies back to the position that a draw by repetition within the tree repeats; 0 for other nodes.
    pub(super) const CYCLE_SHIFT: u32 = 24;
}

/// The bit of `Node::counts` by which one thread at a time changes the sums and the finished visits.
const SUMS_LOCK: u64 = 1 << 31;
/// The bits of `Node::counts` with the visits under way.
const IN_FLIGHT: u64 = SUMS_LOCK - 1;

/// The states of a node in the course of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// Nobody has evaluated it yet.
    Unexpanded,
    /// One worker is evaluating it.
    Claimed,
    /// It has a policy, and children as far as they were visited.
    Expanded,
    /// Visits end here: the game is over, or a mate or an endgame table says how it ends.
    Terminal,
    /// Its position was there so many plies ago, after the root, and is taken for a draw while the root is not past that.
    TwoFoldDraw(u8),
}

/// A node; 48 bytes.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Sum of values in units of 2⁻³².
    value_sum: AtomicI64,
    /// Mean draw probability and mean plies left.
    means: Means,
    /// Finished visits in the upper half, below them the lock of the sums, and visits under way (virtual loss).
    counts: AtomicU64,
    /// Index of the run with its policy; see [`super::Tree`].
    policy: AtomicU32,
    /// The edge that leads here.
    edge: AtomicU32,
    /// Index of the next run of siblings, in the last node of a run.
    next: AtomicU32,
    /// State, proof, lock and counts, packed as [`meta`] says.
    meta: AtomicU32,
    /// The first child; valid once it is counted.
    first_child: AtomicU32,
    /// Rank of the best move without a child, 0 if there is none; valid once expanded.
    best_unvisited: AtomicU32,
}

// SAFETY: made of atomics of integers only.
unsafe impl Zeroed for Node {}

impl Slot for Node {
    fn link(&self) -> &AtomicU32 {
        &self.policy
    }
}

impl Node {
    /// Makes a fresh node of a slot that may have been used before. The caller publishes it.
    pub(super) fn reset(&self, edge: Edge) {
        self.value_sum.store(0, Ordering::Relaxed);
        self.means.set(0.0, 0.0);
        self.counts.store(0, Ordering::Relaxed);
        self.policy.store(0, Ordering::Relaxed);
        self.edge.store(edge.0, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
        self.meta.store(meta::UNEXPANDED, Ordering::Relaxed);
    }

    /// Returns the number of finished visits.
    #[inline]
    pub(crate) fn visits(&self) -> u32 {
        (self.counts.load(Ordering::Relaxed) >> 32) as u32
    }

    /// Returns the number of visits under way.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.counts.load(Ordering::Relaxed) & IN_FLIGHT) as u32
    }

    /// Returns the number of finished visits, and that of all visits begun.
    #[inline]
    pub(crate) fn finished_and_started(&self) -> (u32, u32) {
        let counts = self.counts.load(Ordering::Relaxed);
        let finished = (counts >> 32) as u32;
        (finished, finished + (counts & IN_FLIGHT) as u32)
    }

    /// Returns the edge that leads here; it is meaningless for a root.
    #[inline]
    pub(crate) fn edge(&self) -> Edge {
        Edge(self.edge.load(Ordering::Relaxed))
    }

    /// Returns what the node is. Acquire: a thread that sees `Expanded` sees the edges, and with `Terminal` or `TwoFoldDraw`
    /// the value.
    #[inline]
    pub(crate) fn state(&self) -> NodeState {
        let meta = self.meta.load(Ordering::Acquire);
        match (meta & meta::STATE, (meta >> meta::CYCLE_SHIFT) as u8) {
            (meta::UNEXPANDED, _) => NodeState::Unexpanded,
            (meta::CLAIMED, _) => NodeState::Claimed,
            (meta::EXPANDED, _) => NodeState::Expanded,
            (_, 0) => NodeState::Terminal,
            (_, cycle) => NodeState::TwoFoldDraw(cycle),
        }
    }

    /// Returns whether visits end here, in a draw by repetition within the tree at least for now.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.state(), NodeState::Terminal | NodeState::TwoFoldDraw(_))
    }

    /// Returns the mean value, 0 without visits.
    #[inline]
    pub(crate) fn q(&self) -> f32 {
        // Visits are counted after the sum was raised, so that the quotient may leave the range for a moment.
        match self.visits() {
            0 => 0.0,
            n => ((self.value_sum.load(Ordering::Relaxed) as f64 / VALUE_SCALE) as f32 / n as f32)
                .clamp(-1.0, 1.0),
        }
    }

    /// Returns the sum of the values of all visits, in units of [`fixed`].
    #[cfg(test)]
    pub(crate) fn value_sum(&self) -> i64 {
        self.value_sum.load(Ordering::Relaxed)
    }

    /// Returns the mean of all visits.
    pub(crate) fn mean(&self) -> NodeValue {
        // What a proof changes below may arrive before the visits that it revalues, and take the means out of their range.
        let (d, m) = self.means.get();
        NodeValue { v: self.q(), d: d.clamp(0.0, 1.0), m: m.max(0.0) }
    }

    /// Returns the number of legal moves; 0 before the node is expanded.
    #[inline]
    pub(crate) fn edge_count(&self) -> usize {
        (self.meta.load(Ordering::Acquire) >> meta::EDGES_SHIFT & 0xff) as usize
    }

    /// Returns the number of children that exist. Acquire: they are initialised.
    #[inline]
    pub(crate) fn child_count(&self) -> usize {
        (self.meta.load(Ordering::Acquire) >> meta::CHILDREN_SHIFT & 0xff) as usize
    }

    /// Marks `visits` visits as under way.
    #[inline]
    pub(crate) fn start_visits(&self, visits: u32) {
        self.counts.fetch_add(visits.into(), Ordering::Relaxed);
    }

    /// Takes back visits that led nowhere.
    #[inline]
    pub(crate) fn cancel_visits(&self, visits: u32) {
        self.counts.fetch_sub(visits.into(), Ordering::Relaxed);
    }

    /// Takes the lock of the sums and returns the number of finished visits. Acquire: sums and proof are seen as whoever held
    /// it last has left them.
    #[inline]
    fn lock_sums(&self) -> u32 {
        let mut counts = self.counts.load(Ordering::Relaxed);
        let mut tries = 0;
        loop {
            if counts & SUMS_LOCK != 0 {
                wait_for_lock(tries);
                tries += 1;
                counts = self.counts.load(Ordering::Relaxed);
                continue;
            }
            // The number of visits comes from the load, so that what follows from it is computed while the lock is taken.
            let locked = counts | SUMS_LOCK;
            match self.counts.compare_exchange_weak(counts, locked, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return (counts >> 32) as u32,
                Err(now) => counts = now,
            }
        }
    }

    /// Releases the lock of the sums.
    fn unlock_sums(&self) {
        self.counts.fetch_sub(SUMS_LOCK, Ordering::Release);
    }

    /// Releases the lock of the sums, under which the node had `before` finished visits, and makes them `after`.
    fn unlock_with_visits(&self, before: u32, after: u32) {
        let more = (u64::from(after) << 32).wrapping_sub(u64::from(before) << 32);
        self.counts.fetch_add(more.wrapping_sub(SUMS_LOCK), Ordering::Release);
    }

    /// Adds to the sum of values. The caller holds the lock of the sums.
    #[inline]
    fn add_value(&self, sum: i64) {
        // What a proof changes may be more than fits; the sum after it fits again.
        self.value_sum.store(self.value_sum.load(Ordering::Relaxed).wrapping_add(sum), Ordering::Relaxed);
    }

    /// Ends visits that were under way with the results in `sum`, or, where the node's result is certain, with that. Returns
    /// how they have ended.
    #[inline]
    pub(crate) fn end_visits(&self, sum: VisitSum) -> VisitSum {
        if sum.finished == 0 {
            self.cancel_visits(sum.cancelled);
            return sum;
        }
        let visits = self.lock_sums();
        let sum = match self.proof() {
            Some(proof) => sum.with(proof.value()),
            None => {
                let share = sum.finished as f32 / (visits + sum.finished) as f32;
                let (d, m) = self.means.get();
                self.means.set(d + (sum.d - d) * share, m + (sum.m - m) * share);
                sum
            }
        };
        self.add_value(sum.value_sum);
        // One more finished is one less under way. Release: as in `unlock_sums`.
        let ended = u64::from(sum.finished) + u64::from(sum.cancelled);
        self.counts.fetch_add((u64::from(sum.finished) << 32) - ended - SUMS_LOCK, Ordering::Release);
        sum
    }

    /// Takes back `visits` finished visits, all of which had the result `value`, or the certain one of this node. Returns
    /// the result.
    pub(super) fn take_back_visits(&self, visits: u32, value: NodeValue) -> NodeValue {
        let all = self.lock_sums();
        let proof = self.proof();
        if proof.is_none() {
            let left = all.saturating_sub(visits).max(1) as f32;
            let without = |mean: f32, part: f32| (mean * all as f32 - part * visits as f32) / left;
            let (d, m) = self.means.get();
            self.means.set(without(d, value.d), without(m, value.m));
        }
        let value = proof.map_or(value, Proof::value);
        self.add_value(-fixed(value.v) * i64::from(visits));
        self.counts.fetch_sub((u64::from(visits) << 32) + SUMS_LOCK, Ordering::Release);
        value
    }

    /// Publishes the policy that the claiming worker has written at `start`.
    pub(super) fn set_expanded(&self, start: u32, count: usize) {
        self.policy.store(start, Ordering::Relaxed);
        self.meta.store(meta::EXPANDED | (count as u32) << meta::EDGES_SHIFT, Ordering::Release);
    }

    /// Returns the index of the run with the policy; valid once expanded.
    #[inline]
    pub(super) fn policy_start(&self) -> u32 {
        self.policy.load(Ordering::Relaxed)
    }

    /// Returns the index of the first child; valid once it is counted.
    #[inline]
    pub(super) fn first_child(&self) -> u32 {
        self.first_child.load(Ordering::Relaxed)
    }

    /// Sets the first child, which is published after this.
    pub(super) fn set_first_child(&self, child: u32) {
        self.first_child.store(child, Ordering::Relaxed);
    }

    /// Returns the rank of the best move without a child; valid once expanded.
    #[inline]
    pub(super) fn best_unvisited(&self) -> u32 {
        self.best_unvisited.load(Ordering::Relaxed)
    }

    /// Sets the rank of the best move without a child. The caller holds the claim or the lock for growth.
    pub(super) fn set_best_unvisited(&self, rank: u32) {
        self.best_unvisited.store(rank, Ordering::Relaxed);
    }

    /// Returns the index of the next run of siblings; valid in the last node of a run that is full and not the last one.
    #[inline]
    pub(super) fn next_run(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Links the next run of siblings; its first node is published after this.
    pub(super) fn set_next_run(&self, run: u32) {
        self.next.store(run, Ordering::Relaxed);
    }

    /// Takes the lock for appending a child, unless someone else holds it; returns whether the caller has it.
    pub(super) fn lock_for_growth(&self) -> bool {
        self.meta.fetch_or(meta::GROWING, Ordering::Acquire) & meta::GROWING == 0
    }

    /// Publishes one more child and releases the lock.
    pub(super) fn unlock_with_new_child(&self) {
        // Others may set bits of `meta` at the same time; the count of children is ours alone.
        self.meta.fetch_add((1 << meta::CHILDREN_SHIFT) - meta::GROWING, Ordering::Release);
    }

    /// Releases the lock without a new child.
    pub(super) fn unlock(&self) {
        self.meta.fetch_and(!meta::GROWING, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
