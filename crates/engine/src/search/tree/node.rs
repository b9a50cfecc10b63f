//! A node: what is known of one position, and all that changes it.
//!
//! Values are from the point of view of the side that moved into the node, so that a parent prefers the child
//! with the largest value.
//!
//! A node is made of atomics, which any worker may write. Values, means and finished visits change together
//! under a lock of one bit, so that no visit is counted at the wrong worth when a node is proven. Descents
//! don't take it, and may miss a part of a visit that ends at that moment.

use super::slab::{Slot, Zeroed};
use crate::chess::Move;
use crate::network::{Value, cache};
use crate::search::sync::atomic::{
    AtomicI64, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::search::sync::wait_for_lock;

/// For the side that moved into the node. Better results are greater. The numbers stand in [`meta`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProofOutcome {
    Loss = 1,
    Draw,
    Win,
}

impl ProofOutcome {
    pub(crate) fn flipped(self) -> ProofOutcome {
        match self {
            ProofOutcome::Loss => ProofOutcome::Win,
            ProofOutcome::Draw => ProofOutcome::Draw,
            ProofOutcome::Win => ProofOutcome::Loss,
        }
    }
}

/// The worst and the best result that are not disproved, for the side that moved into the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProvenBounds {
    pub(crate) worst: ProofOutcome,
    pub(crate) best: ProofOutcome,
}

impl ProvenBounds {
    pub(crate) const OPEN: ProvenBounds = ProvenBounds {
        worst: ProofOutcome::Loss,
        best: ProofOutcome::Win,
    };

    pub(crate) fn certain(outcome: ProofOutcome) -> ProvenBounds {
        ProvenBounds {
            worst: outcome,
            best: outcome,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proof {
    pub(crate) outcome: ProofOutcome,
    /// Plies to the end of the game with best play, as far as known.
    pub(crate) plies: f32,
    /// True if the game ends by mate, after at most `plies`.
    pub(crate) is_mate: bool,
}

impl Proof {
    pub(crate) fn is_loss(self) -> bool {
        self.outcome == ProofOutcome::Loss
    }

    pub(crate) fn value(self) -> Value {
        let (wl, d) = match self.outcome {
            ProofOutcome::Loss => (-1.0, 0.0),
            ProofOutcome::Draw => (0.0, 1.0),
            ProofOutcome::Win => (1.0, 0.0),
        };
        Value { wl, d, m: self.plies }
    }
}

/// The change in the worth of a node's visits by its proof.
pub(crate) struct Correction {
    visits: u32,
    value_sum: i64,
    d_sum: f32,
    m_sum: f32,
}

impl Correction {
    pub(crate) fn at_parent(self) -> Correction {
        Correction {
            value_sum: self.value_sum.wrapping_neg(),
            ..self
        }
    }

    /// For a node with `visits` of its own. Those below are more where a search from there, or of chosen
    /// moves, does not count above.
    fn share_of(self, visits: u32) -> Correction {
        let share = f64::from(visits) / f64::from(self.visits);
        Correction {
            visits,
            value_sum: (self.value_sum as f64 * share) as i64,
            d_sum: self.d_sum * share as f32,
            m_sum: self.m_sum * share as f32,
        }
    }
}

/// The most visits of a node: a sum of values overflows at 2³¹ wins or losses.
pub(crate) const MAX_VISITS: u32 = i32::MAX as u32 - (1 << 24);

/// Steps of the value sum per unit. Integer sums don't depend on the order of visits.
const VALUE_SCALE: f64 = (1u64 << 32) as f64;

pub(crate) fn fixed(wl: f32) -> i64 {
    (f64::from(wl) * VALUE_SCALE) as i64
}

/// Visits that end at a node, with a result or cancelled.
#[derive(Clone, Copy, Default)]
pub(crate) struct VisitSum {
    finished: u32,
    cancelled: u32,
    value_sum: i64,
    d: f32,
    m: f32,
}

impl VisitSum {
    pub(crate) fn finished(visits: u32, value: Value) -> VisitSum {
        VisitSum {
            finished: visits,
            ..VisitSum::default()
        }
        .with(value)
    }

    pub(crate) fn cancelled(visits: u32) -> VisitSum {
        VisitSum {
            cancelled: visits,
            ..VisitSum::default()
        }
    }

    fn with(self, value: Value) -> VisitSum {
        VisitSum {
            value_sum: fixed(value.wl) * i64::from(self.finished),
            d: value.d,
            m: value.m,
            ..self
        }
    }

    pub(crate) fn at_parent(self) -> VisitSum {
        VisitSum {
            value_sum: -self.value_sum,
            m: self.m + 1.0,
            ..self
        }
    }

    pub(crate) fn and(self, other: VisitSum) -> VisitSum {
        let finished = self.finished + other.finished;
        let share = if other.finished == 0 {
            0.0
        } else {
            other.finished as f32 / finished as f32
        };
        VisitSum {
            finished,
            cancelled: self.cancelled + other.cancelled,
            value_sum: self.value_sum + other.value_sum,
            d: self.d + (other.d - self.d) * share,
            m: self.m + (other.m - self.m) * share,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge(pub(super) u32);

impl Edge {
    pub(super) fn packed(mv: Move, policy: u16) -> Edge {
        Edge(u32::from(policy) << 16 | u32::from(mv.to_bits()))
    }

    pub(crate) fn mv(self) -> Move {
        Move::from_bits(self.0 as u16)
    }

    #[inline]
    pub(crate) fn policy(self) -> f32 {
        cache::expand((self.0 >> 16) as u16)
    }
}

/// Mean draw probability in the upper half, mean plies left in the lower, both as `f32`.
#[derive(Default)]
struct Means(AtomicU64);

impl Means {
    #[inline]
    fn get(&self) -> (f32, f32) {
        let bits = self.0.load(Relaxed);
        (f32::from_bits((bits >> 32) as u32), f32::from_bits(bits as u32))
    }

    #[inline]
    fn set(&self, d: f32, m: f32) {
        self.0
            .store(u64::from(d.to_bits()) << 32 | u64::from(m.to_bits()), Relaxed);
    }
}

/// Bits of `Node::meta`: state, proof, the lock for appending a child, and counts.
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
    /// The side that moved into the node can no longer lose, or win. A proof implies both.
    pub(super) const CANNOT_LOSE: u32 = 1 << 6;
    pub(super) const CANNOT_WIN: u32 = 1 << 7;
    pub(super) const EDGES_SHIFT: u32 = 8;
    pub(super) const CHILDREN_SHIFT: u32 = 16;
    /// Plies back to the position that a draw by repetition within the tree repeats, else 0.
    pub(super) const CYCLE_SHIFT: u32 = 24;
}

/// The bit of `Node::counts` whose holder alone changes sums and finished visits.
const SUMS_LOCK: u64 = 1 << 31;
const IN_FLIGHT: u64 = SUMS_LOCK - 1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NodeState {
    Unexpanded,
    Claimed,
    Expanded,
    /// The game is over, or a mate or a table decides it.
    Terminal,
    /// Its position occurred so many plies ago, after the root, and counts as a draw until the root moves
    /// past that.
    TwoFoldDraw(u8),
}

/// 48 bytes.
#[derive(Default)]
pub(crate) struct Node {
    /// In units of 2⁻³².
    value_sum: AtomicI64,
    means: Means,
    /// Finished visits in the upper half, below them [`SUMS_LOCK`] and the visits under way (virtual loss).
    counts: AtomicU64,
    /// Index of the run with its policy, see [`super::Tree`].
    policy: AtomicU32,
    edge: AtomicU32,
    /// Index of the next run of siblings, in the last node of a full run. The run's first node is published
    /// after this.
    pub(super) next: AtomicU32,
    /// Packed as in [`meta`].
    meta: AtomicU32,
    /// Valid once the child is counted.
    pub(super) first_child: AtomicU32,
    /// Rank of the best unvisited move, or 0. Valid once expanded. Who holds the claim or the lock for growth
    /// changes it.
    pub(super) best_unvisited: AtomicU32,
}

// SAFETY: made of atomics of integers only.
unsafe impl Zeroed for Node {}

impl Slot for Node {
    fn link(&self) -> &AtomicU32 {
        &self.policy
    }
}

impl Node {
    /// Of a slot that may have been used. The caller publishes it.
    pub(super) fn reset(&self, edge: Edge) {
        self.value_sum.store(0, Relaxed);
        self.means.set(0.0, 0.0);
        self.counts.store(0, Relaxed);
        self.policy.store(0, Relaxed);
        self.edge.store(edge.0, Relaxed);
        self.next.store(0, Relaxed);
        self.meta.store(meta::UNEXPANDED, Relaxed);
    }

    #[inline]
    pub(crate) fn visits(&self) -> u32 {
        (self.counts.load(Relaxed) >> 32) as u32
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.counts.load(Relaxed) & IN_FLIGHT) as u32
    }

    #[inline]
    pub(crate) fn finished_and_started(&self) -> (u32, u32) {
        let counts = self.counts.load(Relaxed);
        let finished = (counts >> 32) as u32;
        (finished, finished + (counts & IN_FLIGHT) as u32)
    }

    #[inline]
    pub(crate) fn edge(&self) -> Edge {
        Edge(self.edge.load(Relaxed))
    }

    /// Acquire: a thread that sees `Expanded` sees the edges, and with `Terminal` or `TwoFoldDraw` the value.
    #[inline]
    pub(crate) fn state(&self) -> NodeState {
        let meta = self.meta.load(Acquire);
        match (meta & meta::STATE, (meta >> meta::CYCLE_SHIFT) as u8) {
            (meta::UNEXPANDED, _) => NodeState::Unexpanded,
            (meta::CLAIMED, _) => NodeState::Claimed,
            (meta::EXPANDED, _) => NodeState::Expanded,
            (_, 0) => NodeState::Terminal,
            (_, cycle) => NodeState::TwoFoldDraw(cycle),
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.state(), NodeState::Terminal | NodeState::TwoFoldDraw(_))
    }

    #[inline]
    pub(crate) fn wl(&self) -> f32 {
        // Visits are counted after the sum, so the quotient may leave the range for a moment.
        match self.visits() {
            0 => 0.0,
            n => ((self.value_sum.load(Relaxed) as f64 / VALUE_SCALE) as f32 / n as f32).clamp(-1.0, 1.0),
        }
    }

    #[cfg(test)]
    pub(crate) fn value_sum(&self) -> i64 {
        self.value_sum.load(Relaxed)
    }

    pub(crate) fn mean(&self) -> Value {
        // A correction from below may arrive before the visits that it revalues, and take the means out of
        // their range.
        let (d, m) = self.means.get();
        Value {
            wl: self.wl(),
            d: d.clamp(0.0, 1.0),
            m: m.max(0.0),
        }
    }

    /// Legal moves, or 0 before the node is expanded.
    #[inline]
    pub(crate) fn edge_count(&self) -> usize {
        (self.meta.load(Acquire) >> meta::EDGES_SHIFT & 0xff) as usize
    }

    /// Children that exist. Acquire: they are initialised.
    #[inline]
    pub(crate) fn child_count(&self) -> usize {
        (self.meta.load(Acquire) >> meta::CHILDREN_SHIFT & 0xff) as usize
    }

    #[inline]
    pub(crate) fn start_visits(&self, visits: u32) {
        self.counts.fetch_add(visits.into(), Relaxed);
    }

    #[inline]
    pub(crate) fn cancel_visits(&self, visits: u32) {
        self.counts.fetch_sub(visits.into(), Relaxed);
    }

    /// Gives the finished visits. Acquire: sums and proof are seen as their last holder left them.
    #[inline]
    fn lock_sums(&self) -> u32 {
        let mut counts = self.counts.load(Relaxed);
        let mut tries = 0;
        loop {
            if counts & SUMS_LOCK != 0 {
                wait_for_lock(tries);
                tries += 1;
                counts = self.counts.load(Relaxed);
                continue;
            }
            // Visits come from the load: the CPU need not wait for the lock to use them.
            let locked = counts | SUMS_LOCK;
            match self
                .counts
                .compare_exchange_weak(counts, locked, Acquire, Relaxed)
            {
                Ok(_) => return (counts >> 32) as u32,
                Err(now) => counts = now,
            }
        }
    }

    fn unlock_sums(&self) {
        self.counts.fetch_sub(SUMS_LOCK, Release);
    }

    /// Puts `sum` in the place of the finished visits, after `change`.
    fn replace_visits(&self, sum: VisitSum, change: impl FnOnce()) {
        let before = self.lock_sums();
        self.value_sum.store(sum.value_sum, Relaxed);
        self.means.set(sum.d, sum.m);
        change();
        let more = (u64::from(sum.finished) << 32).wrapping_sub(u64::from(before) << 32);
        self.counts.fetch_add(more.wrapping_sub(SUMS_LOCK), Release);
    }

    /// The finished visits as they are.
    pub(super) fn visit_sum(&self) -> VisitSum {
        let (value_sum, (d, m)) = (self.value_sum.load(Relaxed), self.means.get());
        VisitSum {
            finished: self.visits(),
            cancelled: 0,
            value_sum,
            d,
            m,
        }
    }

    #[inline]
    fn add_value(&self, sum: i64) {
        // A proof's correction may overflow. The sum after it fits again.
        self.value_sum
            .store(self.value_sum.load(Relaxed).wrapping_add(sum), Relaxed);
    }

    /// Ends visits with `sum`, or with the node's certain result, and gives the result used.
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
        self.counts
            .fetch_add((u64::from(sum.finished) << 32) - ended - SUMS_LOCK, Release);
        sum
    }

    /// Takes back finished visits with `value`, or the node's certain result, and gives the result used.
    pub(super) fn take_back_visits(&self, visits: u32, value: Value) -> Value {
        let all = self.lock_sums();
        let proof = self.proof();
        if proof.is_none() {
            let left = all.saturating_sub(visits).max(1) as f32;
            let without = |mean: f32, part: f32| (mean * all as f32 - part * visits as f32) / left;
            let (d, m) = self.means.get();
            self.means.set(without(d, value.d), without(m, value.m));
        }
        let value = proof.map_or(value, Proof::value);
        self.add_value(-fixed(value.wl) * i64::from(visits));
        self.counts
            .fetch_sub((u64::from(visits) << 32) + SUMS_LOCK, Release);
        value
    }

    pub(super) fn set_expanded(&self, start: u32, count: usize) {
        self.policy.store(start, Relaxed);
        self.meta
            .store(meta::EXPANDED | (count as u32) << meta::EDGES_SHIFT, Release);
    }

    #[inline]
    pub(super) fn policy_start(&self) -> u32 {
        self.policy.load(Relaxed)
    }

    /// The lock for appending a child. False if another thread holds it.
    pub(super) fn lock_for_growth(&self) -> bool {
        self.meta.fetch_or(meta::GROWING, Acquire) & meta::GROWING == 0
    }

    pub(super) fn unlock_with_new_child(&self) {
        // Others may set bits meanwhile. Only this thread changes the count of children.
        self.meta
            .fetch_add((1 << meta::CHILDREN_SHIFT) - meta::GROWING, Release);
    }

    pub(super) fn unlock(&self) {
        self.meta.fetch_and(!meta::GROWING, Release);
    }

    pub(crate) fn claim(&self) -> bool {
        self.meta
            .compare_exchange(meta::UNEXPANDED, meta::CLAIMED, Acquire, Relaxed)
            .is_ok()
    }

    pub(crate) fn unclaim(&self) {
        self.meta.store(meta::UNEXPANDED, Release);
    }

    /// Makes it a leaf that keeps its visits. The caller is alone in the tree.
    pub(super) fn collapse(&self) {
        self.policy.store(0, Relaxed);
        self.meta.store(meta::UNEXPANDED, Release);
    }

    pub(crate) fn set_terminal(&self, proof: Proof) {
        let Value { d, m, .. } = proof.value();
        self.means.set(d, m);
        self.drop_policy_if_lost(proof);
        self.meta.store(meta::TERMINAL | proof_bits(proof), Release);
    }

    /// As a visited move it would lower its siblings' first-play urgency.
    fn drop_policy_if_lost(&self, proof: Proof) {
        if proof.is_loss() {
            self.edge.store(Edge::packed(self.edge().mv(), 0).0, Relaxed);
        }
    }

    /// The way back, `cycle` plies, counts as plies to the end, as in Lc0.
    pub(crate) fn set_two_fold_draw(&self, cycle: u8) -> Value {
        let value = Value {
            m: cycle.into(),
            ..Value::DRAW
        };
        self.means.set(value.d, value.m);
        self.meta
            .store(meta::TERMINAL | u32::from(cycle) << meta::CYCLE_SHIFT, Release);
        value
    }

    /// Makes a draw by repetition a leaf again, and gives the visits to take back.
    pub(super) fn reopen(&self) -> Option<u32> {
        let visits = self.lock_sums();
        let now = self.meta.load(Relaxed);
        let is_done = now >> meta::CYCLE_SHIFT > 0
            && self
                .meta
                .compare_exchange(now, meta::UNEXPANDED, Relaxed, Relaxed)
                .is_ok();
        self.unlock_sums();
        is_done.then_some(visits)
    }

    pub(crate) fn proof(&self) -> Option<Proof> {
        let meta = self.meta.load(Acquire);
        let outcome = match (meta & meta::PROOF) >> meta::PROOF_SHIFT {
            0 => return None,
            1 => ProofOutcome::Loss,
            2 => ProofOutcome::Draw,
            _ => ProofOutcome::Win,
        };
        let (_, plies) = self.means.get();
        Some(Proof {
            outcome,
            plies,
            is_mate: meta & meta::MATE != 0,
        })
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.proof().is_some_and(Proof::is_loss)
    }

    /// What is known short of a proof.
    pub(crate) fn bounds(&self) -> ProvenBounds {
        let meta = self.meta.load(Relaxed);
        let if_set = |bit, known, open| if meta & bit != 0 { known } else { open };
        ProvenBounds {
            worst: if_set(meta::CANNOT_LOSE, ProofOutcome::Draw, ProvenBounds::OPEN.worst),
            best: if_set(meta::CANNOT_WIN, ProofOutcome::Draw, ProvenBounds::OPEN.best),
        }
    }

    /// True if a result outside of `bounds` was still possible.
    pub(crate) fn narrow(&self, bounds: ProvenBounds) -> bool {
        let cannot_lose = if bounds.worst > ProofOutcome::Loss {
            meta::CANNOT_LOSE
        } else {
            0
        };
        let cannot_win = if bounds.best < ProofOutcome::Win {
            meta::CANNOT_WIN
        } else {
            0
        };
        let bits = cannot_lose | cannot_win;
        self.meta.fetch_or(bits, Relaxed) & bits != bits
    }

    /// Revalues the visits so far. Gives the change for ancestors, `None` after another thread.
    pub(crate) fn prove(&self, proof: Proof) -> Option<Correction> {
        let value = proof.value();
        let visits = self.lock_sums();
        let is_open = self.proof().is_none();
        let correction = is_open.then(|| {
            let (d, m) = self.means.get();
            let certain = fixed(value.wl) * i64::from(visits);
            let old = self.value_sum.load(Relaxed);
            self.means.set(value.d, value.m);
            self.value_sum.store(certain, Relaxed);
            self.drop_policy_if_lost(proof);
            self.meta.fetch_or(proof_bits(proof), Release);
            let n = visits as f32;
            Correction {
                visits,
                value_sum: certain.wrapping_sub(old),
                d_sum: (value.d - d) * n,
                m_sum: (value.m - m) * n,
            }
        });
        self.unlock_sums();
        correction
    }

    pub(crate) fn shorten(&self, proof: Proof) -> Option<Correction> {
        let visits = self.lock_sums();
        let is_nearer = self.proof().is_some_and(|old| {
            old.outcome == proof.outcome && old.is_mate == proof.is_mate && proof.plies < old.plies
        });
        let is_better = is_nearer && proof.outcome != ProofOutcome::Draw;
        let correction = is_better.then(|| {
            let (d, m) = self.means.get();
            self.means.set(d, proof.plies);
            Correction {
                visits,
                value_sum: 0,
                d_sum: 0.0,
                m_sum: (proof.plies - m) * visits as f32,
            }
        });
        self.unlock_sums();
        correction
    }

    /// Visits under way go on. Nobody else changes the node or its `children` meanwhile.
    ///
    /// A proof is forgotten: the mean becomes that of the children's visits and one of its own. A pruned leaf
    /// loses its visits, since a root needs one of its own to have moves.
    pub(super) fn become_root<'a>(&self, children: impl Iterator<Item = &'a Node>) {
        let sum = match (self.proof(), self.state()) {
            (Some(proof), _) => with_visits_below(VisitSum::finished(1, proof.value()), children),
            (None, NodeState::Unexpanded | NodeState::Claimed) => VisitSum::default(),
            (None, _) => return,
        };
        self.replace_visits(sum, || {
            self.meta.fetch_and(!(meta::PROOF | meta::MATE), Release);
        });
    }

    /// Revalues a descendant's visits, and gives the change for ancestors: `None` if this node's result is
    /// certain.
    pub(crate) fn correct(&self, by: Correction) -> Option<Correction> {
        let visits = self.lock_sums();
        // Visits that have ended below may still be under way here.
        let is_part = by.visits > visits + self.in_flight();
        let by = if is_part { by.share_of(visits) } else { by };
        let is_open = self.proof().is_none();
        if is_open {
            let n = visits.max(1) as f32;
            let (d, m) = self.means.get();
            self.means.set(d + by.d_sum / n, m + by.m_sum / n);
            self.add_value(by.value_sum);
        }
        self.unlock_sums();
        is_open.then_some(by)
    }
}

fn proof_bits(proof: Proof) -> u32 {
    (proof.outcome as u32) << meta::PROOF_SHIFT | if proof.is_mate { meta::MATE } else { 0 }
}

pub(super) struct SavedNode {
    visits: VisitSum,
    proof: u32,
}

impl Node {
    pub(super) fn save(&self) -> SavedNode {
        let proof = self.meta.load(Relaxed) & (meta::PROOF | meta::MATE);
        SavedNode {
            visits: self.visit_sum(),
            proof,
        }
    }

    pub(super) fn restore(&self, before: SavedNode) {
        self.replace_visits(before.visits, || {
            self.meta.fetch_or(before.proof, Release);
        });
    }

    /// Counts the visits of `children` and one of its own, if it has fewer. The caller is alone with them.
    pub(super) fn count_visits_below<'a>(&self, children: impl Iterator<Item = &'a Node>) {
        let sum = with_visits_below(VisitSum::finished(1, self.mean()), children);
        if sum.finished > self.visits() && self.proof().is_none() {
            self.replace_visits(sum, || ());
        }
    }

    /// Counts no visits but `own` and those of `children`.
    pub(super) fn count_visits_of<'a>(&self, own: VisitSum, children: impl Iterator<Item = &'a Node>) {
        self.replace_visits(with_visits_below(own, children), || ());
    }

    /// One visit with the mean of all, none without visits.
    pub(super) fn mean_visit(&self) -> VisitSum {
        VisitSum::finished(self.visits().min(1), self.mean())
    }

    /// Proofs found since stay, with a visit at least.
    pub(super) fn put_back(&self, before: VisitSum) {
        let proven = |proof: Proof| VisitSum::finished(before.finished.max(1), proof.value());
        self.replace_visits(self.proof().map_or(before, proven), || ());
    }
}

fn with_visits_below<'a>(own: VisitSum, children: impl Iterator<Item = &'a Node>) -> VisitSum {
    children.fold(own, |sum, child| {
        let Value { d, m, .. } = child.mean();
        sum.and(
            VisitSum {
                d,
                m,
                ..child.visit_sum()
            }
            .at_parent(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_keep_what_single_visits_would_add_up_to() {
        let loss = Value {
            wl: -1.0,
            d: 0.0,
            m: 10.0,
        };
        let sum = VisitSum::finished(3, Value::DRAW)
            .and(VisitSum::cancelled(5))
            .and(VisitSum::finished(1, loss))
            .at_parent();
        assert_eq!((sum.finished, sum.cancelled, sum.value_sum), (4, 5, fixed(1.0)));
        assert_eq!((sum.d, sum.m), (0.75, 3.5));
        let won = sum.with(Value {
            wl: 1.0,
            d: 0.0,
            m: 1.0,
        });
        assert_eq!((won.finished, won.cancelled, won.value_sum), (4, 5, fixed(4.0)));
    }

    #[test]
    fn a_node_takes_forty_eight_bytes() {
        assert_eq!(size_of::<Node>(), 48);
    }

    #[test]
    fn sums_are_exact_up_to_the_last_visit_that_can_be_counted() {
        const MOST: u32 = (1 << 31) - 1;
        let (parent, child) = (Node::default(), Node::default());
        let loss = VisitSum::finished(
            1 << 30,
            Value {
                wl: -1.0,
                d: 0.0,
                m: 3.0,
            },
        );
        let rest = VisitSum::finished(
            MOST - (1 << 30),
            Value {
                wl: -1.0,
                d: 0.0,
                m: 3.0,
            },
        );
        for sum in [loss, rest] {
            for node in [&parent, &child] {
                node.start_visits(sum.finished);
            }
            parent.end_visits(child.end_visits(sum).at_parent());
        }
        let result = |node: &Node| (node.visits(), node.in_flight(), node.mean());
        assert_eq!(
            result(&child),
            (
                MOST,
                0,
                Value {
                    wl: -1.0,
                    d: 0.0,
                    m: 3.0
                }
            )
        );
        assert_eq!(
            result(&parent),
            (
                MOST,
                0,
                Value {
                    wl: 1.0,
                    d: 0.0,
                    m: 4.0
                }
            )
        );
        let proof = Proof {
            outcome: ProofOutcome::Win,
            plies: 1.0,
            is_mate: true,
        };
        assert!(parent.correct(child.prove(proof).unwrap().at_parent()).is_some());
        assert_eq!(result(&child).2, proof.value());
        assert_eq!(parent.value_sum(), -child.value_sum());
        assert_eq!((parent.wl(), parent.mean().d), (-1.0, 0.0));
        assert!((parent.mean().m - 2.0).abs() < 1e-3);
    }

    /// A regression: sums overflowed, and a mate in one was worth −1 after 2³¹ visits.
    #[test]
    fn sums_hold_the_most_visits_of_one_result() {
        for v in [-1.0, 1.0] {
            let node = Node::default();
            for visits in [MAX_VISITS / 2, MAX_VISITS - MAX_VISITS / 2] {
                node.start_visits(visits);
                node.end_visits(VisitSum::finished(
                    visits,
                    Value {
                        wl: v,
                        d: 0.0,
                        m: 1.0,
                    },
                ));
            }
            assert_eq!((node.visits(), node.wl()), (MAX_VISITS, v));
        }
    }

    /// A regression: a proof below revalued more visits than a node had, and threw its value out of range.
    #[test]
    fn a_proof_below_revalues_no_more_visits_than_a_node_has() {
        let value = |wl| Value {
            wl,
            ..Value::default()
        };
        let (node, below) = (Node::default(), Node::default());
        for (node, visits, wl) in [(&node, 10, 0.25), (&below, 1_000, -0.5)] {
            node.start_visits(visits);
            node.end_visits(VisitSum::finished(visits, value(wl)));
        }
        let proof = Proof {
            outcome: ProofOutcome::Draw,
            plies: 1.0,
            is_mate: false,
        };
        let correction = below.prove(proof).unwrap().at_parent();
        let above = node.correct(correction).unwrap();
        let revalued = Value {
            wl: -0.25,
            d: 1.0,
            m: 1.0,
        };
        assert_eq!((node.visits(), node.mean()), (10, revalued));
        assert_eq!((above.visits, above.value_sum), (10, fixed(-5.0)));
    }

    #[test]
    fn bounds_only_become_narrower() {
        let node = Node::default();
        assert_eq!(node.bounds(), ProvenBounds::OPEN);
        let cannot_win = ProvenBounds {
            best: ProofOutcome::Draw,
            ..ProvenBounds::OPEN
        };
        assert!(node.narrow(cannot_win) && !node.narrow(cannot_win) && !node.narrow(ProvenBounds::OPEN));
        assert_eq!(node.bounds(), cannot_win);
        assert!(node.narrow(ProvenBounds::certain(ProofOutcome::Draw)));
        assert_eq!(node.bounds(), ProvenBounds::certain(ProofOutcome::Draw));
    }

    proptest! {
        #[test]
        fn edges_keep_move_and_policy(bits: u16, policy in 0f32..=1.0) {
            let edge = Edge::packed(Move::from_bits(bits), cache::compress(policy));
            prop_assert_eq!(edge.mv(), Move::from_bits(bits));
            prop_assert!((edge.policy() - policy).abs() <= policy / 4096.0 + 1e-9, "{} for {policy}", edge.policy());
        }

        #[test]
        fn mean_is_the_mean(values in prop::collection::vec((-1f32..=1.0, 0f32..=1.0, 0f32..=300.0, 1u32..4), 1..50)) {
            let node = Node::default();
            let (mut n, mut v_sum, mut d_sum, mut m_sum) = (0f64, 0f64, 0f64, 0f64);
            for (v, d, m, visits) in values {
                node.start_visits(visits);
                node.end_visits(VisitSum::finished(visits, Value { wl: v, d, m }));
                let k = f64::from(visits);
                (n, v_sum, d_sum, m_sum) = (n + k, v_sum + k * f64::from(v), d_sum + k * f64::from(d), m_sum + k * f64::from(m));
            }
            prop_assert_eq!(node.in_flight(), 0);
            let mean = node.mean();
            prop_assert!((f64::from(mean.wl) - v_sum / n).abs() < 1e-6);
            prop_assert!((f64::from(mean.d) - d_sum / n).abs() < 1e-5);
            prop_assert!((f64::from(mean.m) - m_sum / n).abs() < 1e-2);
        }
    }
}
