//! The worth of nodes: results of visits, and results that are certain.
//!
//! These are plain numbers, packed into a node's atomics by [`super::node`]; the point of view is that of the side that moved into
//! the node.

/// The result of one visit, or the mean of many, from the point of view of the side that moved into the node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeValue {
    /// Win minus loss, `-1..=1`.
    pub v: f32,
    /// Draw probability, `0..=1`.
    pub d: f32,
    /// Plies to the end of the game.
    pub m: f32,
}

impl NodeValue {
    /// A draw here and now.
    pub(crate) const DRAW: NodeValue = NodeValue { v: 0.0, d: 1.0, m: 0.0 };

    /// Returns the same result one ply further from the root, seen by the other side.
    pub(crate) fn at_child(self) -> NodeValue {
        NodeValue { v: -self.v, d: self.d, m: (self.m - 1.0).max(0.0) }
    }

    /// Returns the same result one ply nearer to the root, seen by the other side.
    pub(crate) fn at_parent(self) -> NodeValue {
        NodeValue { v: -self.v, d: self.d, m: self.m + 1.0 }
    }
}

/// A certain result of a node, from the point of view of the side that moved into it; better ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProofOutcome {
    /// That side loses.
    Loss,
    /// Nobody wins.
    Draw,
    /// That side wins.
    Win,
}

impl ProofOutcome {
    /// Returns the same result, seen by the other side.
    pub(crate) fn flipped(self) -> ProofOutcome {
        match self {
            ProofOutcome::Loss => ProofOutcome::Win,
            ProofOutcome::Draw => ProofOutcome::Draw,
            ProofOutcome::Win => ProofOutcome::Loss,
        }
    }
}

/// The results of a node that are still possible, from the point of view of the side that moved into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The worst of them.
    pub(crate) worst: ProofOutcome,
    /// The best of them.
    pub(crate) best: ProofOutcome,
}

impl Bounds {
    /// The bounds of a node of which nothing is known.
    pub(crate) const OPEN: Bounds = Bounds { worst: ProofOutcome::Loss, best: ProofOutcome::Win };

    /// Returns the bounds of a node with a certain result.
    pub(crate) fn certain(outcome: ProofOutcome) -> Bounds {
        Bounds { worst: outcome, best: outcome }
    }
}

/// A certain result and how far away it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proof {
    /// The result.
    pub outcome: ProofOutcome,
    /// Plies to the end of the game with best play, as far as known.
    pub plies: f32,
    /// True if the game ends by mate, after at most `plies`.
    pub is_mate: bool,
}

impl Proof {
    /// Returns whether the side that moved into the node loses.
    pub(crate) fn is_loss(self) -> bool {
        self.outcome == ProofOutcome::Loss
    }

    /// Returns the value of every visit.
    pub(crate) fn value(self) -> NodeValue {
        let (v, d) = match self.outcome {
            ProofOutcome::Loss => (-1.0, 0.0),
            ProofOutcome::Draw => (0.0, 1.0),
            ProofOutcome::Win => (1.0, 0.0),
        };
        NodeValue { v, d, m: self.plies }
    }
}

/// The difference between what the visits of a node that was proven are worth now and what they were worth before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correction {
    /// Difference of the sums of values, in units of a node's sum, from the point of view of the side that moved into the
    /// node.
    pub(super) value_sum: i64,
    /// Difference of the sums of draw probabilities.
    pub(super) d_sum: f32,
    /// Difference of the sums of plies to the end of the game.
    pub(super) m_sum: f32,
}

impl Correction {
    /// Returns the same correction one ply nearer to the root, seen by the other side.
    pub(crate) fn at_parent(self) -> Correction {
        Correction { value_sum: self.value_sum.wrapping_neg(), ..self }
    }
}

/// The most visits that a node may get: a sum of values overflows at 2³¹ wins or losses.
pub(crate) const MAX_VISITS: u32 = i32::MAX as u32 - (1 << 24);

/// The number of steps of a node's fixed-point value sum per unit. Sums of integers don't depend on the order of the visits.
pub(super) const VALUE_SCALE: f64 = (1u64 << 32) as f64;

/// Returns a value in units of a node's sum.
pub(crate) fn fixed(v: f32) -> i64 {
    (f64::from(v) * VALUE_SCALE) as i64
}

/// Visits that end at a node: some with a result, others without one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VisitSum {
    /// Visits with a result.
    pub(super) finished: u32,
    /// Visits without one.
    pub(super) cancelled: u32,
    /// Sum of values, in units of a node's sum.
    pub(super) value_sum: i64,
    /// Mean draw probability of the finished ones.
    pub(super) d: f32,
    /// Mean of their plies to the end of the game.
    pub(super) m: f32,
}

impl VisitSum {
    /// Returns `visits` visits, all with the result `value`.
    pub(crate) fn finished(visits: u32, value: NodeValue) -> VisitSum {
        VisitSum { finished: visits, ..VisitSum::default() }.with(value)
    }

    /// Returns `visits` visits that led nowhere.
    pub(crate) fn cancelled(visits: u32) -> VisitSum {
        VisitSum { cancelled: visits, ..VisitSum::default() }
    }

    /// Returns the same visits with the result `value` for all.
    pub(super) fn with(self, value: NodeValue) -> VisitSum {
        VisitSum { value_sum: fixed(value.v) * i64::from(self.finished), d: value.d, m: value.m, ..self }
    }

    /// Returns the same visits one ply nearer to the root, seen by the other side.
    pub(crate) fn at_parent(self) -> VisitSum {
        VisitSum { value_sum: -self.value_sum, m: self.m + 1.0, ..self }
    }

    /// Returns the visits of both together.
    pub(crate) fn and(self, other: VisitSum) -> VisitSum {
        let finished = self.finished + other.finished;
        let share = if other.finished == 0 { 0.0 } else { other.finished as f32 / finished as f32 };
        VisitSum {
            finished,
            cancelled: self.cancelled + other.cancelled,
            value_sum: self.value_sum + other.value_sum,
            d: self.d + (other.d - self.d) * share,
            m: self.m + (other.m - self.m) * share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_single_visits_would_add_up_to() {
        let loss = NodeValue { v: -1.0, d: 0.0, m: 10.0 };
        let sum = VisitSum::finished(3, NodeValue::DRAW)
            .and(VisitSum::cancelled(5))
            .and(VisitSum::finished(1, loss))
            .at_parent();
        assert_eq!((sum.finished, sum.cancelled, sum.value_sum), (4, 5, fixed(1.0)));
        assert_eq!((sum.d, sum.m), (0.75, 3.5));
        let won = sum.with(NodeValue { v: 1.0, d: 0.0, m: 1.0 });
        assert_eq!((won.finished, won.cancelled, won.value_sum), (4, 5, fixed(4.0)));
    }
}
