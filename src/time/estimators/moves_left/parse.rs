//! Moves-left estimators by name: `mle-legacy(midpoint=51.5,steepness=7)`, `blend(mle-mlh(weight=2),mle-pieces)`.

use super::{Blend, KNOT_KEYS, LogLogistic, MovesLeftEstimator, MovesLeftHead, PieceCountTable};
use crate::params::{ParamError, Params};

/// The names of all estimators.
pub const ESTIMATOR_NAMES: [&str; 4] = ["mle-legacy", "mle-pieces", "mle-mlh", "blend"];

/// The estimator named in a list of `owner`'s parameters; `None` if there is none. `curve` has the values of
/// `mle-legacy` where the list names none.
///
/// # Errors
/// More than one estimator, an unknown parameter of it, or a value out of range.
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

/// One estimator; `extra` keys belong to the list around it.
fn one(
    name: &str,
    params: &Params,
    curve: LogLogistic,
    extra: &[&str],
) -> Result<MovesLeftEstimator, ParamError> {
    let allow = |own: &[&str], lists: &[&str]| params.allow_only(name, &[own, extra].concat(), lists);
    match name {
        "mle-legacy" => {
            allow(&["midpoint", "steepness"], &[])?;
            Ok(MovesLeftEstimator::LogLogistic(LogLogistic {
                midpoint: params.number("midpoint", curve.midpoint, 1.0..=1000.0)?,
                steepness: params.number("steepness", curve.steepness, 0.5..=100.0)?,
            }))
        }
        "mle-pieces" => {
            allow(&[&["scale"], &KNOT_KEYS[..]].concat(), &[])?;
            let mut table = PieceCountTable {
                scale: params.number("scale", 1.0, 0.01..=100.0)?,
                ..PieceCountTable::default()
            };
            for (key, moves) in KNOT_KEYS.into_iter().zip(&mut table.knots) {
                *moves = params.number(key, *moves, 1.0..=1000.0)?;
            }
            Ok(MovesLeftEstimator::Pieces(table))
        }
        "mle-mlh" => {
            allow(&["scale", "floor", "caution"], &[])?;
            let default = MovesLeftHead::default();
            Ok(MovesLeftEstimator::Head(MovesLeftHead {
                scale: params.number("scale", default.scale, 0.01..=100.0)?,
                floor: params.number("floor", default.floor, 1.0..=1000.0)?,
                caution: params.number("caution", default.caution, 0.0..=10.0)?,
            }))
        }
        "blend" if extra.is_empty() => {
            allow(&[], &["mle-legacy", "mle-pieces", "mle-mlh"])?;
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
        let weight = own.number("weight", 1.0, 0.0..=1000.0)?;
        members.push((one(name, own, curve, &["weight"])?, weight));
    }
    if members.is_empty() {
        members.push((MovesLeftEstimator::Head(MovesLeftHead::default()), 1.0));
        members.push((MovesLeftEstimator::Pieces(PieceCountTable::default()), 1.0));
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
                (MovesLeftEstimator::Head(head), 2.0),
                (MovesLeftEstimator::Pieces(PieceCountTable::default()), 1.0)
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
    fn faults_name_what_is_valid() {
        let fault = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            fault("mle-legacy(middle=1)"),
            "unknown parameter of mle-legacy \"middle\"; valid: midpoint, steepness"
        );
        assert!(fault("mle-legacy,mle-pieces").contains("mix them with blend"));
        assert!(fault("blend(blend)").contains("valid: mle-legacy, mle-pieces, mle-mlh"));
        assert!(fault("mle-mlh(floor=0)").contains("from 1 to 1000"));
        assert!(fault("mle-mlh(weight=1)").contains("unknown parameter of mle-mlh"));
    }
}
