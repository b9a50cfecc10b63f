//! Moves left by the network's Moves Left Head.

use crate::options::option_group;
use crate::time::parameters::Named;
use crate::time::units::Plies;

use super::{Estimate, MovesLeftEstimate, MovesLeftInput, PieceCountTable};

option_group! {
    /// `mle-mlh`: reads the head's M, or asks `mle-pieces` where the network has no such head.
    #[derive(Copy)]
    pub struct MovesLeftHead {
        /// Factor on the estimate, for networks whose M is too large or too small by a constant factor.
        scale: f64 = 1.0, in 0.01..=100.0, "scale";
        /// Minimum estimate in full moves. It keeps a wrong head from using up the clock.
        floor: f64 = 6.0, in 1.0..=1000.0, "floor";
        /// Number of standard deviations that are added to M. If the tree disagrees about the length of the game, more time then stays on the clock.
        caution: f64 = 0.0, in 0.0..=10.0, "caution";
    }
}

impl Named for MovesLeftHead {
    const NAME: &'static str = "mle-mlh";
    const SUMMARY: &'static str = "The network's Moves Left Head: scale·(1 + M + caution·spread)/2 moves. M is the tree's average \
                                   in plies, and spread is its standard deviation over the lines searched. If the network has no \
                                   such head, `mle-pieces` is used and a message says so.";
    type Params = MovesLeftHead;

    fn new(params: MovesLeftHead) -> Self {
        params
    }
}

impl Estimate for MovesLeftHead {
    /// M counts plies and our side makes the first of them: moves = (1 + M)/2.
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let Some(m) = known(input.m) else {
            return PieceCountTable::default().estimate(input);
        };
        let plies = m + self.caution * known(input.m_spread).unwrap_or(0.0);
        let moves = (self.scale * (1.0 + plies) / 2.0).max(self.floor);
        MovesLeftEstimate { moves, source: MovesLeftHead::NAME }
    }

    fn uses_head(&self) -> bool {
        true
    }
}

/// Returns the number of plies if it is finite and not negative.
pub(super) fn known(plies: Option<Plies>) -> Option<f64> {
    plies.map(|plies| plies.0).filter(|plies| plies.is_finite() && *plies >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::units::GamePly;

    fn input(m: Option<f64>, m_spread: Option<f64>) -> MovesLeftInput {
        MovesLeftInput { game_ply: GamePly(40), pieces: 20, m: m.map(Plies), m_spread: m_spread.map(Plies) }
    }

    fn from_head(moves: f64) -> MovesLeftEstimate {
        MovesLeftEstimate { moves, source: "mle-mlh" }
    }

    #[test]
    fn plies_become_moves_of_our_side() {
        let head = MovesLeftHead::default();
        assert_eq!(head.estimate(&input(Some(79.0), None)), from_head(40.0));
        assert_eq!(head.estimate(&input(Some(3.0), None)), from_head(6.0), "the floor");
        let halved = MovesLeftHead { scale: 0.5, ..head };
        assert_eq!(halved.estimate(&input(Some(79.0), None)).moves, 20.0);
    }

    #[test]
    fn spread_adds_moves_only_where_asked_for() {
        let wary = MovesLeftHead { caution: 2.0, ..MovesLeftHead::default() };
        // (1 + 79 + 2·10)/2
        assert_eq!(wary.estimate(&input(Some(79.0), Some(10.0))).moves, 50.0);
        assert_eq!(MovesLeftHead::default().estimate(&input(Some(79.0), Some(10.0))).moves, 40.0);
    }

    #[test]
    fn networks_without_the_head_fall_back_to_pieces() {
        let MovesLeftEstimate { moves, source } = MovesLeftHead::default().estimate(&input(None, None));
        assert_eq!((moves, source), (PieceCountTable::default().moves_left(20), "mle-pieces"));
        assert_eq!(
            MovesLeftHead::default().estimate(&input(Some(f64::NAN), None)).source,
            PieceCountTable::NAME
        );
    }
}
