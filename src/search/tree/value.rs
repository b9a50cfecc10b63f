//! What nodes are worth: results of visits, and results that are certain.
//!
//! Plain numbers, packed into a node's atomics by [`super::node`]; the point of view is that of the side that moved into
//! the node.

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
    /// A draw here and now.
    pub(crate) const DRAW: Value = Value { v: 0.0, d: 1.0, m: 0.0 };

    /// The same result one ply further from the root, seen by the other side.
    pub(crate) fn at_child(self) -> Value {
        Value { v: -self.v, d: self.d, m: (self.m - 1.0).max(0.0) }
    }

    /// The same result one ply nearer to the root, seen by the other side.
    pub(crate) fn at_parent(self) -> Value {
        Value { v: -self.v, d: self.d, m: self.m + 1.0 }
    }
}

/// The certain result of a node, from the point of view of the side that moved into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// That side loses.
    Loss,
    /// Nobody wins.
    Draw,
    /// That side wins.
    Win,
}

/// A certain result and how far away it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proof {
    /// The result.
    pub outcome: Outcome,
    /// Plies to the end of the game with best play, as far as known.
    pub plies: f32,
    /// The game ends by mate, after at most `plies`.
    pub is_mate: bool,
}

impl Proof {
    /// The value of every visit.
    pub(crate) fn value(self) -> Value {
        let (v, d) = match self.outcome {
            Outcome::Loss => (-1.0, 0.0),
            Outcome::Draw => (0.0, 1.0),
            Outcome::Win => (1.0, 0.0),
        };
        Value { v, d, m: self.plies }
    }
}

/// What the visits of a node that was proven are worth now, less what they were worth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correction {
    /// Of their values, in units of a node's sum, from the point of view of the side that moved into the node.
    pub(super) value_sum: i64,
    /// Of their draw probabilities.
    pub(super) d_sum: f32,
    /// Of their plies to the end of the game.
    pub(super) m_sum: f32,
}

impl Correction {
    /// The same one ply nearer to the root, seen by the other side.
    pub(crate) fn at_parent(self) -> Correction {
        Correction { value_sum: -self.value_sum, ..self }
    }
}
