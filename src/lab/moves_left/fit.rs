//! Fits the parameters of estimators to games.
//!
//! It seeks the least mean absolute error by a pattern search over the parameters; errors are sums over counts, so that memory
//! doesn't grow with the games. The worth of a fit is measured across the halves of the events: fitted on one, tried on the other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::bootstrap::Unit;
use super::rows::PositionRow;
use super::study::GroupSums;
use super::{Difference, Estimator, Interval};
use crate::time::estimators::moves_left::{
    KNOT_KEYS, LogLogistic, MovesLeftEstimator, MovesLeftHead, MovesLeftInput, PieceCountTable,
};
use crate::time::{GamePly, Plies};

/// Steps of M, per ply, in which positions are counted.
const STEPS_PER_PLY: f32 = 2.0;
/// Factor on a parameter at the beginning of the search, and where it ends.
const FACTORS: (f64, f64) = (1.4, 1.001);

/// A fit and what it is worth on games that it was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The text to paste as `TimeManager`; `None` where the fit does not beat the defaults.
    pub time_manager: Option<String>,
    /// The fitted estimator.
    pub estimator: String,
    /// Mean absolute error across the halves, full moves.
    pub mae: f64,
    /// That of the same estimator with its defaults.
    pub default_mae: f64,
    /// 95 % confidence interval of `mae` − `default_mae`. The fit beats the defaults if all of it is below 0.
    pub versus_default_ci: Interval,
}

impl Fit {
    /// Returns the worth of a fit from the sums over the games that it was tried on.
    pub(super) fn new(fitted: &FittedFamily, sums: &GroupSums, default: &GroupSums, units: usize) -> Fit {
        let Difference { ci, .. } = sums.minus(default, units);
        let estimator = fitted.tried.name.clone();
        Fit {
            time_manager: (ci.high < 0.0).then(|| format!("smooth({estimator})")),
            estimator,
            mae: sums.mae(),
            default_mae: default.mae(),
            versus_default_ci: ci,
        }
    }
}

/// What was fitted, to be tried.
#[derive(Clone, Debug)]
pub(super) struct FittedFamily {
    /// Named after the fit to all games, with the fits to the halves inside.
    pub(super) tried: Estimator,
    /// The same estimator with its defaults.
    pub(super) default: Estimator,
}

/// Positions of a half: for each value that an estimator looks at, counts by the number of moves that were left.
type ValueCounts = BTreeMap<u32, BTreeMap<u32, u64>>;

/// Counts positions, then fits.
#[derive(Clone, Debug)]
pub(super) struct Fitter {
    unit: Unit,
    by_ply: [ValueCounts; 2],
    by_pieces: [ValueCounts; 2],
    by_m: [ValueCounts; 2],
}

/// An estimator whose parameters are sought.
struct Family {
    name: &'static str,
    keys: &'static [&'static str],
    /// The defaults, from which the search begins.
    start: Vec<f64>,
    /// Smallest values of the parameters.
    least: Vec<f64>,
    make: fn(&[f64]) -> MovesLeftEstimator,
    input: fn(u32) -> MovesLeftInput,
}

impl Fitter {
    /// Returns counts of nothing, for halves of these units.
    pub(super) fn new(unit: Unit) -> Fitter {
        Fitter { unit, by_ply: Default::default(), by_pieces: Default::default(), by_m: Default::default() }
    }

    /// Counts a position.
    pub(super) fn add(&mut self, row: &PositionRow) {
        let half = self.unit.half(row);
        let count = |counts: &mut [ValueCounts; 2], value: u32| {
            *counts[half].entry(value).or_default().entry(row.moves_left).or_default() += 1;
        };
        count(&mut self.by_ply, row.ply);
        count(&mut self.by_pieces, row.pieces);
        if let Some(m) = row.m_plies {
            count(&mut self.by_m, (m * STEPS_PER_PLY).round() as u32);
        }
    }

    /// Fits `mle-legacy`, `mle-pieces` and, where there is a head, `mle-mlh`.
    pub(super) fn fits(&self) -> Vec<FittedFamily> {
        let head = MovesLeftHead::default();
        let curve = LogLogistic::default();
        let families = [
            (
                &self.by_ply,
                Family {
                    name: "mle-legacy",
                    keys: &["midpoint", "steepness"],
                    start: vec![curve.midpoint, curve.steepness],
                    least: vec![1.0, 0.5],
                    make: |p| {
                        MovesLeftEstimator::LogLogistic(LogLogistic { midpoint: p[0], steepness: p[1] })
                    },
                    input: |ply| MovesLeftInput { game_ply: GamePly(ply), ..MovesLeftInput::default() },
                },
            ),
            (
                &self.by_pieces,
                Family {
                    name: "mle-pieces",
                    keys: &KNOT_KEYS,
                    start: PieceCountTable::default().knots().to_vec(),
                    least: vec![1.0; KNOT_KEYS.len()],
                    make: |p| {
                        let knots = std::array::from_fn(|knot| p[knot]);
                        MovesLeftEstimator::Pieces(PieceCountTable::through(knots))
                    },
                    input: |pieces| MovesLeftInput { pieces, ..MovesLeftInput::default() },
                },
            ),
            (
                &self.by_m,
                Family {
                    name: "mle-mlh",
                    keys: &["scale", "floor"],
                    start: vec![head.scale, head.floor],
                    least: vec![0.01, 1.0],
                    make: |p| {
                        MovesLeftEstimator::Head(MovesLeftHead { scale: p[0], floor: p[1], caution: 0.0 })
                    },
                    input: |m| MovesLeftInput {
                        m: Some(Plies(f64::from(m) / f64::from(STEPS_PER_PLY))),
                        ..MovesLeftInput::default()
                    },
                },
            ),
        ];
        families
            .into_iter()
            .filter(|(halves, _)| halves.iter().any(|half| !half.is_empty()))
            .map(|(halves, family)| family.fit(self.unit, halves))
            .collect()
    }
}

impl Family {
    fn fit(&self, unit: Unit, halves: &[ValueCounts; 2]) -> FittedFamily {
        let [first, second] = halves;
        let best = self.search(&[first, second]);
        let rounded: Vec<String> = self
            .keys
            .iter()
            .zip(&best)
            .map(|(key, value)| format!("{key}={}", (value * 1e3).round() / 1e3))
            .collect();
        let name = format!("{}({})", self.name, rounded.join(","));
        let of_halves = [first, second].map(|half| (self.make)(&self.search(&[half])));
        FittedFamily {
            tried: Estimator::fitted(name, unit, of_halves),
            default: Estimator::of(self.name, (self.make)(&self.start)),
        }
    }

    /// Adds up the absolute errors of the estimator with these parameters.
    fn error(&self, counts: &[&ValueCounts], parameters: &[f64]) -> f64 {
        let estimator = (self.make)(parameters);
        let mut error = 0.0;
        for (&value, left) in counts.iter().flat_map(|counts| counts.iter()) {
            let estimate = estimator.estimate(&(self.input)(value)).moves;
            let errors =
                left.iter().map(|(&moves, &count)| (estimate - f64::from(moves)).abs() * count as f64);
            error += errors.sum::<f64>();
        }
        error
    }

    /// Searches for the parameters with the least error: steps up and down in each, finer when none helps.
    fn search(&self, counts: &[&ValueCounts]) -> Vec<f64> {
        let mut best = self.start.clone();
        let mut least = self.error(counts, &best);
        let mut factor = FACTORS.0;
        while factor > FACTORS.1 {
            let mut helped = false;
            for place in 0..best.len() {
                for step in [factor, 1.0 / factor] {
                    let mut tried = best.clone();
                    tried[place] = (tried[place] * step).max(self.least[place]);
                    let error = self.error(counts, &tried);
                    if error < least {
                        (best, least, helped) = (tried, error, true);
                    }
                }
            }
            if !helped {
                factor = factor.sqrt();
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fits to the rows, each a unit of its own, with mean absolute errors across the halves: fitted and with defaults.
    fn fits(rows: &[PositionRow]) -> Vec<(String, f64, f64)> {
        let mut fitter = Fitter::new(Unit::Game);
        rows.iter().for_each(|row| fitter.add(row));
        let mean = |estimator: &Estimator| {
            let error =
                |row: &PositionRow| (estimator.estimate(row).unwrap() - f64::from(row.moves_left)).abs();
            rows.iter().map(error).sum::<f64>() / rows.len() as f64
        };
        let fits = fitter.fits();
        fits.iter().map(|fit| (fit.tried.name.clone(), mean(&fit.tried), mean(&fit.default))).collect()
    }

    #[test]
    fn a_curve_that_made_the_games_is_found_again() {
        let truth = LogLogistic { midpoint: 60.0, steepness: 4.0 };
        let mut rows = Vec::new();
        for game in 0..40 {
            for ply in (0..240).step_by(4) {
                // Errors up and down alike leave the median where it is.
                let left = truth.moves_left(GamePly(ply)) + [-3.0, 0.0, 3.0][game as usize % 3];
                let moves_left = left.round().max(1.0) as u32;
                rows.push(PositionRow { game, ply, moves_left, pieces: 32, ..PositionRow::default() });
            }
        }
        let fits = fits(&rows);
        assert_eq!(fits.len(), 2, "no network, no fit of the head");
        let (text, mae, default_mae) = &fits[0];
        let (midpoint, steepness) = (number(text, "midpoint="), number(text, "steepness="));
        assert!((midpoint - 60.0).abs() < 1.5 && (steepness - 4.0).abs() < 0.5, "{text}");
        assert!(*mae < 2.5 && mae < default_mae, "{fits:?}");
        crate::time::manager_from(&format!("smooth({text})")).expect("a TimeManager string");
    }

    #[test]
    fn a_bent_table_that_made_the_games_is_found_again() {
        let knots = [6.0, 10.0, 20.0, 30.0, 40.0];
        let truth = PieceCountTable::through(knots);
        let rows: Vec<_> = (0..40)
            .flat_map(|game| (2..=32).map(move |pieces| (game, pieces)))
            .map(|(game, pieces)| {
                let moves_left = truth.moves_left(pieces).round() as u32;
                PositionRow { game, moves_left, pieces, ..PositionRow::default() }
            })
            .collect();
        let (text, mae, default_mae) = &fits(&rows)[1];
        for (key, moves) in KNOT_KEYS.iter().zip(knots) {
            let found = number(text, &format!("{key}="));
            assert!((found - moves).abs() < 1.0, "{key}: {text}");
        }
        assert!(*mae < 0.5 && mae < default_mae, "{text}: {mae}");
        crate::time::manager_from(&format!("smooth({text})")).expect("a TimeManager string");
    }

    /// Returns the number behind `key` in a list of parameters.
    fn number(text: &str, key: &str) -> f64 {
        let rest = text.split_once(key).unwrap().1;
        rest.split([',', ')']).next().unwrap().parse().unwrap()
    }
}
