//! One node: visits, value sums and state, all in atomics.
//!
//! Every value is from the point of view of the side that moved into the node (the side to move at its parent),
//! so that a parent prefers the child with the largest value. Writers: any worker, at any time; see each method
//! for the ordering.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::slab::Slot;
use crate::chess::Move;
use crate::network::cache;

/// Steps of the fixed-point value sum per unit. Sums of integers don't depend on the order of the visits.
const VALUE_SCALE: f64 = (1u64 << 32) as f64;

/// Bits of `Node::meta`: what the node is, the lock for appending a child, and counts of edges and children.
mod meta {
    pub(super) const STATE: u32 = 0b11;
    pub(super) const UNEXPANDED: u32 = 0;
    pub(super) const CLAIMED: u32 = 1;
    pub(super) const EXPANDED: u32 = 2;
    pub(super) const TERMINAL: u32 = 3;
    pub(super) const GROWING: u32 = 1 << 2;
    pub(super) const EDGES_SHIFT: u32 = 8;
    pub(super) const CHILDREN_SHIFT: u32 = 16;
}

/// What a node is in the course of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has evaluated it yet.
    Unexpanded,
    /// One worker is evaluating it.
    Claimed,
    /// It has edges.
    Expanded,
    /// The game is over here; its value is exact.
    Terminal,
}

/// The result of one visit, or the mean of many, from the point of view of the side that moved into the node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    /// Win minus loss, `-1..=1`.
    pub v: f32,
    /// Draw probability, `0..=1`.
    pub d: f32,
    /// Plies to the end of the game.
    pub m: f32,
}

impl Value {
    /// The same result one ply nearer to the root, seen by the other side.
    pub(crate) fn at_parent(self) -> Value {
        Value { v: -self.v, d: self.d, m: self.m + 1.0 }
    }
}

/// A move and its policy in 32 bits, sortable by policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge(pub(super) u32);

impl Edge {
    /// `policy` in `0..=1`.
    pub(crate) fn new(mv: Move, policy: f32) -> Edge {
        Edge(u32::from(cache::compress(policy)) << 16 | u32::from(mv.to_bits()))
    }

    pub(crate) fn mv(self) -> Move {
        Move::from_bits(self.0 as u16)
    }

    #[inline]
    pub(crate) fn policy(self) -> f32 {
        cache::expand((self.0 >> 16) as u16)
    }
}

/// A node; 40 bytes.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Sum of values in units of 2⁻³².
    value_sum: AtomicI64,
    /// Mean draw probability and mean plies left, two `f32` side by side so that they change together.
    draw_and_moves: AtomicU64,
    /// Finished visits.
    visits: AtomicU32,
    /// Visits under way (virtual loss).
    in_flight: AtomicU32,
    /// Index of the run of edges; see [`super::Tree`].
    edges: AtomicU32,
    /// The edge that leads here.
    edge: AtomicU32,
    /// See [`meta`].
    meta: AtomicU32,
}

impl Slot for Node {
    fn link(&self) -> &AtomicU32 {
        &self.edges
    }
}

impl Node {
    /// Makes a fresh node of a slot that may have been used before. The caller publishes it.
    pub(super) fn reset(&self, edge: Edge) {
        self.value_sum.store(0, Ordering::Relaxed);
        self.draw_and_moves.store(0, Ordering::Relaxed);
        self.visits.store(0, Ordering::Relaxed);
        self.in_flight.store(0, Ordering::Relaxed);
        self.edges.store(0, Ordering::Relaxed);
        self.edge.store(edge.0, Ordering::Relaxed);
        self.meta.store(meta::UNEXPANDED, Ordering::Relaxed);
    }

    /// Finished visits.
    #[inline]
    pub(crate) fn visits(&self) -> u32 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Visits under way.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The edge that leads here; meaningless for a root.
    #[inline]
    pub(crate) fn edge(&self) -> Edge {
        Edge(self.edge.load(Ordering::Relaxed))
    }

    /// What the node is. Acquire: who sees `Expanded` sees the edges, who sees `Terminal` the value.
    #[inline]
    pub(crate) fn state(&self) -> State {
        match self.meta.load(Ordering::Acquire) & meta::STATE {
            meta::UNEXPANDED => State::Unexpanded,
            meta::CLAIMED => State::Claimed,
            meta::EXPANDED => State::Expanded,
            _ => State::Terminal,
        }
    }

    /// Mean value, 0 without visits.
    #[inline]
    pub(crate) fn q(&self) -> f32 {
        // Visits are counted after the sum was raised, so that the quotient may leave the range for a moment.
        match self.visits() {
            0 => 0.0,
            n => ((self.value_sum.load(Ordering::Relaxed) as f64 / VALUE_SCALE) as f32 / n as f32)
                .clamp(-1.0, 1.0),
        }
    }

    /// Mean of all visits.
    pub(crate) fn mean(&self) -> Value {
        let (d, m) = unpack(self.draw_and_moves.load(Ordering::Relaxed));
        Value { v: self.q(), d, m }
    }

    /// Edges; 0 before the node is expanded.
    #[inline]
    pub(crate) fn edge_count(&self) -> usize {
        (self.meta.load(Ordering::Acquire) >> meta::EDGES_SHIFT & 0xff) as usize
    }

    /// Children that exist, always those of the first edges. Acquire: they are initialised.
    #[inline]
    pub(crate) fn child_count(&self) -> usize {
        (self.meta.load(Ordering::Acquire) >> meta::CHILDREN_SHIFT & 0xff) as usize
    }

    /// Marks `visits` visits as under way.
    #[inline]
    pub(crate) fn start_visits(&self, visits: u32) {
        self.in_flight.fetch_add(visits, Ordering::Relaxed);
    }

    /// Takes back visits that led nowhere.
    #[inline]
    pub(crate) fn cancel_visits(&self, visits: u32) {
        self.in_flight.fetch_sub(visits, Ordering::Relaxed);
    }

    /// Ends `visits` visits that were under way, all with the result `value`.
    #[inline]
    pub(crate) fn finish_visits(&self, visits: u32, value: Value) {
        let fixed = (f64::from(value.v) * VALUE_SCALE) as i64;
        self.value_sum.fetch_add(fixed * i64::from(visits), Ordering::Relaxed);
        let share = visits as f32 / (self.visits() + visits) as f32;
        let mut old = self.draw_and_moves.load(Ordering::Relaxed);
        loop {
            let (d, m) = unpack(old);
            let new = pack(d + (value.d - d) * share, m + (value.m - m) * share);
            match self.draw_and_moves.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        self.visits.fetch_add(visits, Ordering::Relaxed);
        self.in_flight.fetch_sub(visits, Ordering::Relaxed);
    }

    /// Tries to become the one worker that evaluates this node.
    pub(crate) fn claim(&self) -> bool {
        self.meta
            .compare_exchange(meta::UNEXPANDED, meta::CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives a claim back after a failed evaluation.
    pub(crate) fn unclaim(&self) {
        self.meta.store(meta::UNEXPANDED, Ordering::Release);
    }

    /// The claiming worker found the game over here.
    pub(crate) fn set_terminal(&self) {
        self.meta.store(meta::TERMINAL, Ordering::Release);
    }

    /// The claiming worker publishes the edges it has written at `start`.
    pub(super) fn set_expanded(&self, start: u32, count: usize) {
        self.edges.store(start, Ordering::Relaxed);
        self.meta.store(meta::EXPANDED | (count as u32) << meta::EDGES_SHIFT, Ordering::Release);
    }

    /// Index of the run of edges; valid once expanded.
    #[inline]
    pub(super) fn edges_start(&self) -> u32 {
        self.edges.load(Ordering::Relaxed)
    }

    /// Takes the lock for appending a child, if there are `children` of them now and nobody else holds it.
    pub(super) fn lock_for_growth(&self, children: usize) -> bool {
        let now = self.meta.load(Ordering::Relaxed);
        now & meta::GROWING == 0
            && (now >> meta::CHILDREN_SHIFT & 0xff) as usize == children
            && self
                .meta
                .compare_exchange(now, now | meta::GROWING, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Publishes one more child and releases the lock.
    pub(super) fn unlock_with_new_child(&self) {
        // Nobody else changes `meta` of an expanded node while the lock is held.
        let now = self.meta.load(Ordering::Relaxed);
        self.meta.store((now & !meta::GROWING) + (1 << meta::CHILDREN_SHIFT), Ordering::Release);
    }

    /// Releases the lock without a new child (there was no memory for it).
    pub(super) fn unlock(&self) {
        self.meta.fetch_and(!meta::GROWING, Ordering::Release);
    }
}

fn pack(d: f32, m: f32) -> u64 {
    u64::from(d.to_bits()) << 32 | u64::from(m.to_bits())
}

fn unpack(bits: u64) -> (f32, f32) {
    (f32::from_bits((bits >> 32) as u32), f32::from_bits(bits as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_node_takes_forty_bytes() {
        assert_eq!(size_of::<Node>(), 40);
    }

    proptest! {
        #[test]
        fn edges_keep_move_and_policy(bits: u16, policy in 0f32..=1.0) {
            let edge = Edge::new(Move::from_bits(bits), policy);
            prop_assert_eq!(edge.mv(), Move::from_bits(bits));
            prop_assert!((edge.policy() - policy).abs() <= policy / 4096.0 + 1e-9, "{} for {policy}", edge.policy());
        }

        #[test]
        fn edges_sort_by_policy(a in 0f32..=1.0, b in 0f32..=1.0) {
            let (low, high) = (Edge::new(Move::from_bits(9), a.min(b)), Edge::new(Move::from_bits(9), a.max(b)));
            prop_assert!(low <= high);
        }

        #[test]
        fn mean_is_the_mean(values in prop::collection::vec((-1f32..=1.0, 0f32..=1.0, 0f32..=300.0, 1u32..4), 1..50)) {
            let node = Node::default();
            let (mut n, mut v_sum, mut d_sum, mut m_sum) = (0f64, 0f64, 0f64, 0f64);
            for (v, d, m, visits) in values {
                node.start_visits(visits);
                node.finish_visits(visits, Value { v, d, m });
                let k = f64::from(visits);
                (n, v_sum, d_sum, m_sum) = (n + k, v_sum + k * f64::from(v), d_sum + k * f64::from(d), m_sum + k * f64::from(m));
            }
            prop_assert_eq!(node.in_flight(), 0);
            let mean = node.mean();
            prop_assert!((f64::from(mean.v) - v_sum / n).abs() < 1e-6);
            prop_assert!((f64::from(mean.d) - d_sum / n).abs() < 1e-5);
            prop_assert!((f64::from(mean.m) - m_sum / n).abs() < 1e-2);
        }
    }
}
