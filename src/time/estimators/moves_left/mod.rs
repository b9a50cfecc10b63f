//! Moves left: how many full moves our side still has to make in this game.
//!
//! Estimators differ in what they look at: the move number (`mle-legacy`), the pieces on the board
//! (`mle-pieces`), the network's Moves Left Head (`mle-mlh`), or a mix (`blend`). The head's output M is in
//! plies; all results here are full moves of our side.

mod blend;
mod log_logistic;
mod mlh;
mod parse;
mod pieces;

use crate::time::units::{GamePly, Plies};
pub use blend::{Blend, BlendMember};
pub use log_logistic::LogLogistic;
pub use mlh::MovesLeftHead;
pub use parse::{BlendMemberParams, ESTIMATOR_NAMES, ESTIMATORS, EstimatorSpec, estimator_from};

pub use pieces::{KNOT_KEYS, KNOTS, PieceCountParams, PieceCountTable};

/// A number of moves that no game reaches. It bounds every estimate, whatever the output of a network.
const MOST_MOVES: f64 = 1000.0;

/// The facts that an estimator knows of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MovesLeftInput {
    /// Plies played so far.
    pub game_ply: GamePly,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// The Moves Left Head's M for the root, visit-weighted over the tree where there is one.
    pub m: Option<Plies>,
    /// Standard deviation of M over the tree.
    pub m_spread: Option<Plies>,
}

/// An estimate and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovesLeftEstimate {
    /// Full moves that our side still has to make, `1..=1000`.
    pub moves: f64,
    /// Name of the estimator that gave it; a fallback's name where one had to help out.
    pub source: &'static str,
}

/// A moves-left estimator.
#[derive(Clone, Debug, PartialEq)]
pub enum MovesLeftEstimator {
    /// `mle-legacy`
    LogLogistic(LogLogistic),
    /// `mle-pieces`
    Pieces(PieceCountTable),
    /// `mle-mlh`
    Head(MovesLeftHead),
    /// `blend`
    Blend(Blend),
}

impl MovesLeftEstimator {
    /// Returns the estimate for a position; finite and within `1..=1000` for any input.
    pub fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let MovesLeftEstimate { moves, source } = match self {
            MovesLeftEstimator::LogLogistic(curve) => {
                MovesLeftEstimate { moves: curve.moves_left(input.game_ply), source: LogLogistic::OWNER }
            }
            MovesLeftEstimator::Pieces(table) => {
                MovesLeftEstimate { moves: table.moves_left(input.pieces), source: PieceCountParams::OWNER }
            }
            MovesLeftEstimator::Head(head) => head.moves_left(input),
            MovesLeftEstimator::Blend(blend) => blend.moves_left(input),
        };
        let moves = if moves.is_nan() { MOST_MOVES } else { moves.clamp(1.0, MOST_MOVES) };
        MovesLeftEstimate { moves, source }
    }

    /// Returns true if the Moves Left Head's M changes the estimate.
    pub fn uses_head(&self) -> bool {
        match self {
            MovesLeftEstimator::LogLogistic(_) | MovesLeftEstimator::Pieces(_) => false,
            MovesLeftEstimator::Head(_) => true,
            MovesLeftEstimator::Blend(blend) => {
                blend.members().iter().any(|member| member.estimator.uses_head())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_estimator_is_bounded_for_any_input(
            game_ply: u32, pieces: u32,
            m in proptest::option::of(proptest::num::f64::ANY),
            m_spread in proptest::option::of(proptest::num::f64::ANY),
        ) {
            let input = MovesLeftInput { game_ply: GamePly(game_ply), pieces, m: m.map(Plies), m_spread: m_spread.map(Plies) };
            for name in ESTIMATOR_NAMES {
                let params = crate::params::Params::parse(name).unwrap();
                let estimator = estimator_from("test", &params, LogLogistic::default()).unwrap().unwrap();
                let moves = estimator.estimate(&input).moves;
                prop_assert!((1.0..=MOST_MOVES).contains(&moves), "{} {}", name, moves);
            }
        }
    }
}
