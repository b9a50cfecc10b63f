//! Estimators under test: those of the time managers, and what no function of the ply can beat.

use std::sync::Arc;

use super::bootstrap::Unit;
use super::ply_median::PlyMedian;
use super::rows::PositionRow;
use crate::params::{ParamError, Params};
use crate::time::estimators::moves_left::{MovesLeftEstimator, estimator_from};
use crate::time::parameters::Preset;

/// The M that an estimator gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovesLeftSource {
    /// The head's output for the position alone.
    Root,
    /// Mean over the searched tree, with its spread.
    Search,
}

/// An estimator of the full moves that the side to move still has to make.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// Its text as in a `TimeManager` string, and which M it sees.
    pub name: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Manager(MovesLeftEstimator, MovesLeftSource),
    PlyMedian(Arc<PlyMedian>),
    /// For each half what was fitted to the other one.
    Fitted(Unit, [MovesLeftEstimator; 2]),
}

impl Estimator {
    /// Parses an estimator of the time managers, such as `mle-legacy(midpoint=45.2)`.
    ///
    /// # Errors
    /// [`ParamError`] if a name or parameter is unknown, or a value out of range.
    pub fn parse(text: &str, source: MovesLeftSource) -> Result<Estimator, ParamError> {
        let rule = estimator_from("--estimator", &Params::parse(text)?, Preset::Pr1195)?;
        let rule = rule.ok_or_else(|| ParamError::Value {
            key: "--estimator".into(),
            value: text.into(),
            expected: "a moves-left estimator such as mle-legacy(midpoint=51.5,steepness=7)".into(),
        })?;
        let name = match source {
            MovesLeftSource::Search if rule.uses_head() => format!("{text} after search"),
            _ => text.to_owned(),
        };
        Ok(Estimator { name, rule: Rule::Manager(rule, source) })
    }

    /// Returns the yardstick: the best function of the ply, never fitted on the games it is tried on.
    pub(super) fn by_ply(medians: Arc<PlyMedian>) -> Estimator {
        Estimator { name: "best by ply".into(), rule: Rule::PlyMedian(medians) }
    }

    /// Returns an estimator that sees the head's output for the position alone.
    pub(super) fn of(name: &str, rule: MovesLeftEstimator) -> Estimator {
        Estimator { name: name.to_owned(), rule: Rule::Manager(rule, MovesLeftSource::Root) }
    }

    /// Returns an estimator that was fitted to games, each half of the units tried with the fit to the other half.
    pub(super) fn fitted(name: String, unit: Unit, of_halves: [MovesLeftEstimator; 2]) -> Estimator {
        let [first, second] = of_halves;
        Estimator { name, rule: Rule::Fitted(unit, [second, first]) }
    }

    /// Says whether the estimate depends on the network's head.
    pub fn uses_head(&self) -> bool {
        matches!(&self.rule, Rule::Manager(rule, _) if rule.uses_head())
    }

    /// Says whether the estimate depends on what a search made of the head's output.
    pub(super) fn uses_search(&self) -> bool {
        self.uses_head() && matches!(&self.rule, Rule::Manager(_, MovesLeftSource::Search))
    }

    /// Returns the estimate, full moves; `None` where the M that it needs is missing.
    pub fn estimate(&self, row: &PositionRow) -> Option<f64> {
        let (rule, input) = match &self.rule {
            Rule::PlyMedian(medians) => return Some(medians.moves_left(row)),
            Rule::Manager(rule, MovesLeftSource::Root) => (rule, row.input()),
            Rule::Manager(rule, MovesLeftSource::Search) => (rule, row.searched_input()),
            Rule::Fitted(unit, halves) => (&halves[unit.half(row)], row.input()),
        };
        (input.m.is_some() || !rule.uses_head()).then(|| rule.estimate(&input).moves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_counts_plies_and_estimates_are_full_moves() {
        let row = PositionRow { ply: 40, pieces: 20, m_plies: Some(79.0), ..PositionRow::default() };
        let root = Estimator::parse("mle-mlh", MovesLeftSource::Root).unwrap();
        assert_eq!(root.estimate(&row), Some(40.0), "(1 + 79 plies)/2");
        let search = Estimator::parse("mle-mlh", MovesLeftSource::Search).unwrap();
        assert_eq!(search.estimate(&row), None, "there was no search");
        assert!(Estimator::parse("mle-none", MovesLeftSource::Root).is_err());
        assert!(Estimator::parse("", MovesLeftSource::Root).unwrap_err().to_string().contains("mle-legacy"));
    }
}
