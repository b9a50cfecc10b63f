//! The edge to a node: the move that leads there, and its policy.

use crate::chess::Move;
use crate::network::cache;

/// A move and its policy in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge(pub(super) u32);

impl Edge {
    /// Returns the edge of a move with its compressed policy.
    pub(super) fn packed(mv: Move, policy: u16) -> Edge {
        Edge(u32::from(policy) << 16 | u32::from(mv.to_bits()))
    }

    /// Returns the same move with the least policy.
    pub(super) fn without_policy(self) -> Edge {
        Edge::packed(self.mv(), 0)
    }

    /// Returns the move.
    pub(crate) fn mv(self) -> Move {
        Move::from_bits(self.0 as u16)
    }

    /// Returns the policy of the move, without noise.
    #[inline]
    pub(crate) fn policy(self) -> f32 {
        cache::expand((self.0 >> 16) as u16)
    }
}
