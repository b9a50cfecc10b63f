//! Moves-left estimators by name: `mle-legacy(midpoint=51.5,steepness=7)`, `blend(mle-mlh(weight=2),mle-pieces)`.

use crate::params::{ParamError, Params};
use crate::time::parameters::{ParameterSpec, declare_parameters};

use super::{
    Blend, BlendMember, LogLogistic, MovesLeftEstimator, MovesLeftHead, PieceCountParams, PieceCountTable,
};

declare_parameters! {
    /// Parameters of each member of `blend`, beside the member's own.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BlendMemberParams of "blend" {
        /// Weight of the member in the mean.
        "weight" weight: f64 = 1.0, within 0.0..=1000.0;
    }
}

/// The estimators that `blend` may mix.
const BLEND_MEMBERS: [&str; 3] = [LogLogistic::OWNER, PieceCountParams::OWNER, MovesLeftHead::OWNER];

/// A moves-left estimator that a parameter list can name.
#[derive(Clone, Copy, Debug)]
pub struct EstimatorSpec {
    /// The estimator's name.
    pub name: &'static str,
    /// The way in which it estimates, in one line for the documentation.
    pub summary: &'static str,
    /// Describes the parameters.
    pub parameters: fn() -> Vec<ParameterSpec>,
}

/// All estimators, in the order of [`ESTIMATOR_NAMES`].
pub const ESTIMATORS: [EstimatorSpec; 4] = [
    EstimatorSpec {
        name: LogLogistic::OWNER,
        summary: "The conditional median of a log-logistic game length: m·(1 + 2(k/m)^s)^(1/s) − k with k = ply/2.",
        parameters: LogLogistic::specs,
    },
    EstimatorSpec {
        name: PieceCountParams::OWNER,
        summary: "A table by the number of pieces on the board: the median over 3,081 games of TCEC (below 8 pieces: over \
                  games played to mate). A value given for 2, 8, 16, 24 or 32 pieces changes the table between its neighbours.",
        parameters: PieceCountParams::specs,
    },
    EstimatorSpec {
        name: MovesLeftHead::OWNER,
        summary: "The network's Moves Left Head: scale·(1 + M + caution·spread)/2 moves with M in plies, averaged over the \
                  tree, and its spread over the lines searched; `mle-pieces`, with a message, where there is no head.",
        parameters: MovesLeftHead::specs,
    },
    EstimatorSpec {
        name: BlendMemberParams::OWNER,
        summary: "The weighted mean of its members. The weight of the head counts for 1/(1 + (spread/M)²) of itself. \
                  `blend` without members mixes `mle-mlh` and `mle-pieces` evenly.",
        parameters: BlendMemberParams::specs,
    },
];

/// The names of all estimators.
pub const ESTIMATOR_NAMES: [&str; 4] =
    [LogLogistic::OWNER, PieceCountParams::OWNER, MovesLeftHead::OWNER, BlendMemberParams::OWNER];

/// Returns the estimator that is named in a list of `owner`'s parameters; `None` if there is none. `curve` has the values of
/// `mle-legacy` where the list names none.
///
/// # Errors
/// Returns a [`ParamError`] if there is more than one estimator, an unknown parameter or a value out of range.
pub fn estimator_from(
    owner: &str,
    params: &Params,
    curve: LogLogistic,
) -> Result<Option<MovesLeftEstimator>, ParamError> {
    let mut lists = params.lists().filter(|(name, _)| ESTIMATOR_NAMES.contains(name));
    let Some((name, own)) = lists.next() else { return Ok(None) };
    if let Some((second, _)) = lists.next() {
        return Err(ParamError::Value {
            key: owner.into(),
            value: format!("{name},{second}"),
            expected: "at most one moves-left estimator; mix them with blend(...)".into(),
        });
    }
    one(name, own, curve, &[]).map(Some)
}

/// Reads one estimator; `extra` names parameters that belong to the list around it.
fn one(
    name: &str,
    params: &Params,
    curve: LogLogistic,
    extra: &[&str],
) -> Result<MovesLeftEstimator, ParamError> {
    let allow = |own: &[&str], lists: &[&str]| params.allow_only(name, &[own, extra].concat(), lists);
    match name {
        LogLogistic::OWNER => {
            allow(LogLogistic::NAMES, &[])?;
            Ok(MovesLeftEstimator::LogLogistic(LogLogistic::read(params, &curve)?))
        }
        PieceCountParams::OWNER => {
            allow(PieceCountParams::NAMES, &[])?;
            let table = PieceCountParams::read(params, &PieceCountParams::default())?;
            Ok(MovesLeftEstimator::Pieces(table.into()))
        }
        MovesLeftHead::OWNER => {
            allow(MovesLeftHead::NAMES, &[])?;
            Ok(MovesLeftEstimator::Head(MovesLeftHead::read(params, &MovesLeftHead::default())?))
        }
        BlendMemberParams::OWNER if extra.is_empty() => {
            allow(&[], &BLEND_MEMBERS)?;
            blend(params, curve)
        }
        _ => Err(ParamError::Unknown {
            kind: "moves-left estimator".into(),
            name: name.into(),
            valid: ESTIMATOR_NAMES.join(", "),
        }),
    }
}

fn blend(params: &Params, curve: LogLogistic) -> Result<MovesLeftEstimator, ParamError> {
    let mut members = Vec::new();
    for (name, own) in params.lists() {
        let BlendMemberParams { weight } = BlendMemberParams::read(own, &BlendMemberParams::default())?;
        members.push(BlendMember { estimator: one(name, own, curve, BlendMemberParams::NAMES)?, weight });
    }
    if members.is_empty() {
        let BlendMemberParams { weight } = BlendMemberParams::default();
        let head = MovesLeftEstimator::Head(MovesLeftHead::default());
        let pieces = MovesLeftEstimator::Pieces(PieceCountTable::default());
        members.extend([head, pieces].map(|estimator| BlendMember { estimator, weight }));
    }
    Ok(MovesLeftEstimator::Blend(Blend::new(members)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<MovesLeftEstimator>, ParamError> {
        estimator_from("smooth", &Params::parse(text).unwrap(), LogLogistic::default())
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
            blend.members(),
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
            "unknown parameter of mle-legacy \"middle\"; valid: midpoint, steepness"
        );
        assert!(error("mle-legacy,mle-pieces").contains("mix them with blend"));
        assert!(error("blend(blend)").contains("valid: mle-legacy, mle-pieces, mle-mlh"));
        assert!(error("mle-mlh(floor=0)").contains("from 1 to 1000"));
        assert!(error("mle-mlh(weight=1)").contains("unknown parameter of mle-mlh"));
    }
}
