//! What a position is worth.

/// What a position or a subtree is worth. An evaluation is from the point of view of the side to move, and a
/// tree's node from that of the side that moved into it, so that a parent prefers its child with the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Value {
    /// Win minus loss, `-1..=1`, without the worth that contempt gives to draws.
    pub wl: f32,
    /// Draw probability in `0..=1`, 0 without a WDL head.
    pub d: f32,
    /// Plies to the end of the game, at least 0, and 0 without a Moves Left Head.
    pub m: f32,
}

impl Value {
    /// A drawn game.
    pub const DRAW: Value = Value {
        wl: 0.0,
        d: 1.0,
        m: 0.0,
    };

    /// The result one ply further from the root, for the other side.
    pub fn at_child(self) -> Value {
        Value {
            wl: -self.wl,
            d: self.d,
            m: (self.m - 1.0).max(0.0),
        }
    }

    /// The result one ply nearer to the root, for the other side.
    pub fn at_parent(self) -> Value {
        Value {
            wl: -self.wl,
            d: self.d,
            m: self.m + 1.0,
        }
    }

    /// The probabilities of win, draw and loss.
    pub fn wdl(self) -> [f32; 3] {
        [
            (1.0 + self.wl - self.d) / 2.0,
            self.d,
            (1.0 - self.wl - self.d) / 2.0,
        ]
    }

    /// The same result for the other side.
    pub fn for_opponent(self) -> Value {
        Value { wl: -self.wl, ..self }
    }
}
