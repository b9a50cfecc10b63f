//! Moves left: how many full moves our side still has to make in this game.
//!
//! Estimators differ in what they look at: the move number (`mle-legacy`), the pieces on the board
//! (`mle-pieces`), the network's Moves Left Head (`mle-mlh`), or a mix (`blend`). The head's output M is in
//! plies; all results here are full moves of our side.

mod blend;
mod log_logistic;
mod mlh;
mod pieces;

pub(crate) use blend::{Blend, BlendMemberParams};
pub(crate) use log_logistic::LogLogistic;
pub(crate) use mlh::MovesLeftHead;
pub use pieces::{KNOT_KEYS, PieceCountTable};

use crate::params::{ParamError, Params};
use crate::time::parameters::{Preset, Registered, registered};
use crate::time::units::{GamePly, Plies};

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
pub(crate) struct MovesLeftEstimate {
    /// Full moves that our side still has to make, `1..=1000`.
    pub moves: f64,
    /// Name of the estimator that gave it; a fallback's name where one had to help out.
    pub source: &'static str,
}

/// What an estimator computes. An estimator is a type with this trait and [`Named`](crate::time::parameters::Named).
trait Estimate {
    /// Estimates the moves left in a position.
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate;

    /// Returns true if the Moves Left Head's M changes the estimate.
    fn uses_head(&self) -> bool {
        false
    }
}

/// Declares the estimators: an enum with a variant for each, and their table.
macro_rules! estimators {
    ($($variant:ident($Type:ty),)+) => {
        /// A moves-left estimator.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MovesLeftEstimator {
            $(#[doc = concat!("[`", stringify!($Type), "`]")] $variant($Type),)+
        }

        impl MovesLeftEstimator {
            fn rule(&self) -> &dyn Estimate {
                match self {
                    $(MovesLeftEstimator::$variant(rule) => rule,)+
                }
            }
        }

        /// All estimators.
        pub const ESTIMATORS: &[Registered<MovesLeftEstimator>] =
            &registered![$($Type => MovesLeftEstimator::$variant,)+];
    };
}

estimators! {
    LogLogistic(LogLogistic),
    Pieces(PieceCountTable),
    Head(MovesLeftHead),
    Blend(Blend),
}

impl MovesLeftEstimator {
    /// Returns the estimate for a position; finite and within `1..=1000` for any input.
    pub(crate) fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let MovesLeftEstimate { moves, source } = self.rule().estimate(input);
        let moves = if moves.is_nan() { MOST_MOVES } else { moves.clamp(1.0, MOST_MOVES) };
        MovesLeftEstimate { moves, source }
    }

    /// Returns true if the Moves Left Head's M changes the estimate.
    pub(crate) fn uses_head(&self) -> bool {
        self.rule().uses_head()
    }
}

pub(crate) fn estimator_names() -> Vec<&'static str> {
    ESTIMATORS.iter().map(|estimator| estimator.name).collect()
}

/// Returns the estimator that is named in a list of `owner`'s parameters; `None` if there is none. What its own list does not
/// name has the values of `preset`.
///
/// # Errors
/// Returns a [`ParamError`] if there is more than one estimator, an unknown parameter or a value out of range.
pub(crate) fn estimator_from(
    owner: &str,
    params: &Params,
    preset: Preset,
) -> Result<Option<MovesLeftEstimator>, ParamError> {
    let known = |name: &str| ESTIMATORS.iter().find(|estimator| estimator.name == name);
    let mut named = params.lists().filter_map(|(name, own)| Some((known(name)?, own)));
    let Some((estimator, own)) = named.next() else { return Ok(None) };
    if let Some((second, _)) = named.next() {
        return Err(ParamError::Value {
            key: owner.into(),
            value: format!("{},{}", estimator.name, second.name),
            expected: "at most one moves-left estimator, but blend(...) mixes them".into(),
        });
    }
    (estimator.create)(own, preset).map(Some)
}

#[cfg(test)]
mod tests {
    use super::blend::BlendMember;
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
            for Registered { name, .. } in ESTIMATORS {
                let moves = parse(name).unwrap().unwrap().estimate(&input).moves;
                prop_assert!((1.0..=MOST_MOVES).contains(&moves), "{} {}", name, moves);
            }
        }
    }

    fn parse(text: &str) -> Result<Option<MovesLeftEstimator>, ParamError> {
        estimator_from("smooth", &Params::parse(text).unwrap(), Preset::Pr1195)
    }

    #[test]
    fn names_and_parameters() {
        let curve = LogLogistic { midpoint: 50.0, steepness: 12.0 };
        assert_eq!(
            parse("init-nps=1,mle-legacy(steepness=12.0,midpoint=50)"),
            Ok(Some(MovesLeftEstimator::LogLogistic(curve)))
        );
        assert_eq!(parse("init-nps=1"), Ok(None));
        let Ok(Some(MovesLeftEstimator::Blend(blend))) = parse("blend(mle-mlh(weight=2,floor=4),mle-pieces)")
        else {
            panic!("a blend was asked for");
        };
        let head = MovesLeftHead { floor: 4.0, ..MovesLeftHead::default() };
        assert_eq!(
            blend.members,
            [
                BlendMember { estimator: MovesLeftEstimator::Head(head), weight: 2.0 },
                BlendMember {
                    estimator: MovesLeftEstimator::Pieces(PieceCountTable::default()),
                    weight: 1.0
                }
            ]
        );
    }

    #[test]
    fn knots_bend_the_table_by_pieces() {
        let Ok(Some(MovesLeftEstimator::Pieces(bent))) = parse("mle-pieces(scale=2,at-24=50,at-2=5)") else {
            panic!("a table was asked for");
        };
        assert_eq!((bent.moves_left(24), bent.moves_left(2), bent.moves_left(32)), (100.0, 10.0, 118.0));
        assert!(parse("mle-pieces(at-9=1)").unwrap_err().to_string().contains("at-8"));
    }

    #[test]
    fn errors_name_what_is_valid() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            error("mle-legacy(middle=1)"),
            "unknown parameter of mle-legacy \"middle\". Valid: midpoint, steepness"
        );
        assert!(error("mle-legacy,mle-pieces").contains("blend(...) mixes them"));
        assert!(error("blend(blend)").contains("Valid: mle-legacy, mle-pieces, mle-mlh"));
        assert!(error("mle-mlh(floor=0)").contains("from 1 to 1000"));
        assert!(error("mle-mlh(weight=1)").contains("unknown parameter of mle-mlh"));
    }
}
