//! What is known of a node: its state from leaf to terminal, bounds and proofs of its result, and what they change in its sums.

use super::standing::with_visits_below;
use super::{Node, NodeState, meta};
use crate::search::sync::atomic::Ordering;
use crate::search::tree::value::{Bounds, Correction, NodeValue, Proof, ProofOutcome, VisitSum, fixed};

impl Node {
    /// Tries to make the caller the one worker that evaluates this node; returns whether it is.
    pub(crate) fn claim(&self) -> bool {
        self.meta
            .compare_exchange(meta::UNEXPANDED, meta::CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives a claim back after a failed evaluation.
    pub(crate) fn unclaim(&self) {
        self.meta.store(meta::UNEXPANDED, Ordering::Release);
    }

    /// Makes an expanded node a leaf again; its visits stay what they were. The caller has released what it led to, and
    /// nobody else uses the tree.
    pub(in super::super) fn collapse(&self) {
        self.policy.store(0, Ordering::Relaxed);
        self.meta.store(meta::UNEXPANDED, Ordering::Release);
    }

    /// Makes the claimed node terminal: how the game ends is certain without an evaluation, and visits end here.
    pub(crate) fn set_terminal(&self, proof: Proof) {
        let NodeValue { d, m, .. } = proof.value();
        self.means.set(d, m);
        self.drop_policy_if_lost(proof);
        self.meta.store(meta::TERMINAL | proof_bits(proof), Ordering::Release);
    }

    /// Takes the policy of the move into the node away if it certainly loses: exploring it is no use, and as a visited move
    /// it would lower the first-play urgency of its siblings.
    fn drop_policy_if_lost(&self, proof: Proof) {
        if proof.is_loss() {
            self.edge.store(self.edge().without_policy().0, Ordering::Relaxed);
        }
    }

    /// Makes the claimed node terminal: its position was there `cycle` plies ago, after the root, and is taken for a draw as
    /// long as the root does not move past that. The way back counts as plies to the end of the game, as in Lc0. Returns the
    /// value of its visits.
    pub(crate) fn set_two_fold_draw(&self, cycle: u8) -> NodeValue {
        let value = NodeValue { m: cycle.into(), ..NodeValue::DRAW };
        self.means.set(value.d, value.m);
        self.meta.store(meta::TERMINAL | u32::from(cycle) << meta::CYCLE_SHIFT, Ordering::Release);
        value
    }

    /// Makes a draw by repetition within the tree an ordinary leaf again: the root has moved past the position that
    /// it repeats. Returns the visits that it had as a draw, which are to be taken back; `None` if another thread has
    /// done it.
    pub(in super::super) fn reopen(&self) -> Option<u32> {
        let visits = self.lock_sums();
        let now = self.meta.load(Ordering::Relaxed);
        let is_done = now >> meta::CYCLE_SHIFT > 0
            && self
                .meta
                .compare_exchange(now, meta::UNEXPANDED, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        self.unlock_sums();
        is_done.then_some(visits)
    }

    /// Returns what is proven of this node.
    pub(crate) fn proof(&self) -> Option<Proof> {
        let meta = self.meta.load(Ordering::Acquire);
        let outcome = match (meta & meta::PROOF) >> meta::PROOF_SHIFT {
            0 => return None,
            1 => ProofOutcome::Loss,
            2 => ProofOutcome::Draw,
            _ => ProofOutcome::Win,
        };
        let (_, plies) = self.means.get();
        Some(Proof { outcome, plies, is_mate: meta & meta::MATE != 0 })
    }

    /// Returns whether the side that moved into the node certainly loses.
    pub(crate) fn is_lost(&self) -> bool {
        self.proof().is_some_and(Proof::is_loss)
    }

    /// Returns the results that are still possible.
    pub(crate) fn bounds(&self) -> Bounds {
        if let Some(Proof { outcome, .. }) = self.proof() {
            return Bounds::certain(outcome);
        }
        let meta = self.meta.load(Ordering::Relaxed);
        let if_set = |bit, known, open| if meta & bit != 0 { known } else { open };
        Bounds {
            worst: if_set(meta::CANNOT_LOSE, ProofOutcome::Draw, Bounds::OPEN.worst),
            best: if_set(meta::CANNOT_WIN, ProofOutcome::Draw, Bounds::OPEN.best),
        }
    }

    /// Marks results of an expanded node as impossible, those outside of `bounds`. Returns whether any of them was taken to be
    /// possible until now.
    pub(crate) fn narrow(&self, bounds: Bounds) -> bool {
        let cannot_lose = if bounds.worst > ProofOutcome::Loss { meta::CANNOT_LOSE } else { 0 };
        let cannot_win = if bounds.best < ProofOutcome::Win { meta::CANNOT_WIN } else { 0 };
        let bits = cannot_lose | cannot_win;
        self.meta.fetch_or(bits, Ordering::Relaxed) & bits != bits
    }

    /// Marks an expanded node as decided: its visits so far get the certain value. Returns what that changes for its
    /// ancestors; `None` if another thread has decided it, whose proof stays.
    pub(crate) fn prove(&self, proof: Proof) -> Option<Correction> {
        let value = proof.value();
        let visits = self.lock_sums();
        let is_open = self.proof().is_none();
        let correction = is_open.then(|| {
            let (d, m) = self.means.get();
            let certain = fixed(value.v) * i64::from(visits);
            let old = self.value_sum.load(Ordering::Relaxed);
            self.means.set(value.d, value.m);
            self.value_sum.store(certain, Ordering::Relaxed);
            self.drop_policy_if_lost(proof);
            self.meta.fetch_or(proof_bits(proof), Ordering::Release);
            let n = visits as f32;
            Correction {
                value_sum: certain.wrapping_sub(old),
                d_sum: (value.d - d) * n,
                m_sum: (value.m - m) * n,
            }
        });
        self.unlock_sums();
        correction
    }

    /// Brings the certain win or loss of a proven node nearer, if `proof` has it nearer. Returns what that changes for its ancestors, `None`
    /// if nothing.
    pub(crate) fn shorten(&self, proof: Proof) -> Option<Correction> {
        let visits = self.lock_sums();
        let is_nearer = self.proof().is_some_and(|old| {
            old.outcome == proof.outcome && old.is_mate == proof.is_mate && proof.plies < old.plies
        });
        let is_better = is_nearer && proof.outcome != ProofOutcome::Draw;
        let correction = is_better.then(|| {
            let (d, m) = self.means.get();
            self.means.set(d, proof.plies);
            Correction { value_sum: 0, d_sum: 0.0, m_sum: (proof.plies - m) * visits as f32 }
        });
        self.unlock_sums();
        correction
    }

    /// Prepares a node to be searched as the root. Visits under way go on. Nobody else changes it or its `children` meanwhile.
    ///
    /// A proof is forgotten: the visits are from now on one of the node's own, with the certain result, and those of its
    /// children, as its mean is theirs. A leaf has no visits any more: those that it kept when it was pruned are to moves that
    /// are gone, and a root needs one to have moves.
    pub(in super::super) fn become_root<'a>(&self, children: impl Iterator<Item = &'a Node>) {
        let sum = match (self.proof(), self.state()) {
            (Some(proof), _) => with_visits_below(proof.value(), children),
            (None, NodeState::Unexpanded | NodeState::Claimed) => VisitSum::default(),
            (None, _) => return,
        };
        let visits = self.lock_sums();
        self.means.set(sum.d, sum.m);
        self.value_sum.store(sum.value_sum, Ordering::Relaxed);
        self.meta.fetch_and(!(meta::PROOF | meta::MATE), Ordering::Release);
        self.unlock_with_visits(visits, sum.finished);
    }

    /// Revalues the visits of a descendant, as this node sees them. Nothing changes for this node and its ancestors where
    /// its own result is certain; returns whether that is not so.
    pub(crate) fn correct(&self, by: Correction) -> bool {
        let n = self.lock_sums().max(1) as f32;
        let is_open = self.proof().is_none();
        if is_open {
            let (d, m) = self.means.get();
            self.means.set(d + by.d_sum / n, m + by.m_sum / n);
            self.add_value(by.value_sum);
        }
        self.unlock_sums();
        is_open
    }
}

/// Returns the bits of `meta` for a proof.
fn proof_bits(proof: Proof) -> u32 {
    let outcome = match proof.outcome {
        ProofOutcome::Loss => 1,
        ProofOutcome::Draw => 2,
        ProofOutcome::Win => 3,
    };
    outcome << meta::PROOF_SHIFT | if proof.is_mate { meta::MATE } else { 0 }
}
