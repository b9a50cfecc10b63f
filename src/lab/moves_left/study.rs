//! A study: estimators against the truth, computed from rows.
//!
//! A first pass learns what the second needs (the best function of the ply, fits); the second adds up figures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::bootstrap::{BootstrapWeights, FEWEST_UNITS, Interval, ReplicatedMean, Replicates, Unit};
use super::clock::{ClockFigures, ClockUse};
use super::estimate::Estimator;
use super::fit::{Fit, FittedFamily, Fitter};
use super::groups::{Group, is_played_out};
use super::ply_median::LeftByPly;
use super::rows::PositionRow;
use super::statistics::{EstimatorFigures, Joint, SpreadCoverage, Sums};
use super::{Dimension, MovesLeftError};
use crate::lab::rows::MergedGames;

/// The estimators to be compared, and the rows to compare them on.
#[derive(Clone, Debug)]
pub struct Study {
    /// Files of rows.
    pub files: Vec<PathBuf>,
    /// The estimators, the one that others are compared with first. Those of searches are left out where rows have none.
    pub estimators: Vec<Estimator>,
    /// True to fit estimators to the games, too.
    pub is_fit: bool,
}

/// The findings of a study.
#[derive(Debug)]
pub struct StudyReport {
    /// Games with at least one row.
    pub games: u64,
    /// Rows.
    pub positions: u64,
    /// Events of the games.
    pub events: usize,
    /// Games that the rules of chess ended.
    pub played_out: u64,
    /// The unit of intervals and halves.
    pub unit: Unit,
    /// What is not known, and what would make it known.
    pub notes: Vec<String>,
    /// Names of the estimators; the last is the best function of the ply, if there are enough games.
    pub names: Vec<String>,
    /// Figures by group, in the order of dimensions and places.
    pub groups: Vec<GroupFigures>,
    /// Differences of any two estimators; that of head and pieces is the first.
    pub differences: Vec<PairDifference>,
    /// Estimates against truth, by estimator.
    pub joints: Vec<Joint>,
    /// Use of the clock by estimator; empty where positions of the games are missing.
    pub clocks: Vec<ClockUse>,
    /// Coverage of the truth by the tree's spread.
    pub spread: SpreadCoverage,
    /// Fitted estimators, if they were asked for.
    pub fits: Option<Vec<Fit>>,
}

/// The difference of two mean absolute errors on the same games, full moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The difference; below 0 the first of the two is better.
    pub difference: f64,
    /// Its 95 % confidence interval.
    pub ci: Interval,
}

/// How far two estimators differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairDifference {
    /// The one.
    pub name: String,
    /// The other, whose error is subtracted.
    pub against: String,
    /// Over all positions.
    #[serde(flatten)]
    pub all: Difference,
    /// Over those of games that were played out, if there are any.
    pub played_out: Option<Difference>,
}

/// Figures of a group, by estimator.
#[derive(Clone, Debug)]
pub struct GroupFigures {
    /// The group.
    pub group: Group,
    /// Its positions.
    pub positions: u64,
    /// Figures in the order of [`StudyReport::names`]; `None` where one could not estimate.
    pub figures: Vec<Option<EstimatorFigures>>,
}

impl StudyReport {
    /// Returns the figures of the clock by estimator, for all or for none.
    pub fn clock_figures(&self) -> Option<Vec<ClockFigures>> {
        self.clocks.iter().map(ClockUse::figures).collect()
    }
}

impl Study {
    /// Reads the rows.
    ///
    /// # Errors
    /// [`MovesLeftError::Rows`] if rows cannot be read or files overlap.
    pub fn run(&self) -> Result<StudyReport, MovesLeftError> {
        let unit = self.unit()?;
        let (mut left, mut fitter, mut is_searched) = (LeftByPly::new(unit), Fitter::new(unit), false);
        for game in self.games()? {
            let game = game?;
            left.add_game(&game);
            is_searched |= game.iter().any(|row| row.m_search_plies.is_some());
            if self.is_fit {
                game.iter().for_each(|row| fitter.add(row));
            }
        }
        let mut estimators = self.estimators.clone();
        estimators.retain(|estimator| is_searched || !estimator.uses_search());
        let mut notes = Vec::new();
        match left.medians() {
            Ok(medians) => estimators.push(Estimator::by_ply(Arc::new(medians))),
            Err(note) => notes.push(note),
        }
        if unit == Unit::Game {
            notes.push(format!(
                "intervals are by games, of fewer than {FEWEST_UNITS} events: they do not tell how much events differ"
            ));
        }
        let mut sums = Accumulator::new(unit, estimators, fitter.fits());
        for game in self.games()? {
            sums.add_game(&game?);
        }
        Ok(sums.report(notes, self.is_fit))
    }

    fn games(&self) -> Result<MergedGames<PositionRow>, MovesLeftError> {
        Ok(MergedGames::open(&self.files)?)
    }

    /// Returns events if there are enough of them.
    fn unit(&self) -> Result<Unit, MovesLeftError> {
        let mut events = BTreeSet::new();
        for game in self.games()? {
            events.extend(game?.first().map(|row| row.event));
            if events.len() >= FEWEST_UNITS {
                return Ok(Unit::Event);
            }
        }
        Ok(Unit::Game)
    }
}

/// Sums of a group and an estimator.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupSums {
    sums: Sums,
    count: Replicates,
    error: Replicates,
    absolute: Replicates,
    squared: Replicates,
}

/// Sums of a group.
#[derive(Clone, Debug)]
struct GroupCells {
    positions: u64,
    units: BTreeSet<u64>,
    /// By estimator.
    cells: Vec<GroupSums>,
}

/// Sums of a fitted estimator, and of the same one with its defaults.
struct FitSums {
    family: FittedFamily,
    units: BTreeSet<u64>,
    tried: GroupSums,
    default: GroupSums,
}

/// All sums.
struct Accumulator {
    unit: Unit,
    estimators: Vec<Estimator>,
    fits: Vec<FitSums>,
    games: u64,
    positions: u64,
    played_out: u64,
    events: BTreeSet<u64>,
    groups: BTreeMap<Group, GroupCells>,
    joints: Vec<Joint>,
    clocks: Vec<ClockUse>,
    spread: SpreadCoverage,
    /// True if no game lacks a position.
    is_complete: bool,
}

impl Accumulator {
    fn new(unit: Unit, estimators: Vec<Estimator>, families: Vec<FittedFamily>) -> Accumulator {
        let count = estimators.len();
        let fits = families.into_iter().map(|family| FitSums {
            family,
            units: BTreeSet::new(),
            tried: GroupSums::default(),
            default: GroupSums::default(),
        });
        Accumulator {
            unit,
            estimators,
            fits: fits.collect(),
            games: 0,
            positions: 0,
            played_out: 0,
            events: BTreeSet::new(),
            groups: BTreeMap::new(),
            joints: vec![Joint::default(); count],
            clocks: vec![ClockUse::default(); count],
            spread: SpreadCoverage::default(),
            is_complete: true,
        }
    }

    fn add_game(&mut self, rows: &[PositionRow]) {
        let Some(first) = rows.first() else { return };
        self.games += 1;
        self.positions += rows.len() as u64;
        self.played_out += u64::from(is_played_out(first));
        self.events.insert(first.event);
        // Sums of this game alone, which its weights then multiply.
        let mut game: BTreeMap<Group, (u64, Vec<Sums>)> = BTreeMap::new();
        let estimates: Vec<Vec<Option<f64>>> = rows
            .iter()
            .map(|row| self.estimators.iter().map(|estimator| estimator.estimate(row)).collect())
            .collect();
        for (row, estimates) in rows.iter().zip(&estimates) {
            let truth = f64::from(row.moves_left);
            for group in Group::of(row) {
                let (positions, sums) =
                    game.entry(group).or_insert_with(|| (0, vec![Sums::default(); estimates.len()]));
                *positions += 1;
                for (sums, estimate) in sums.iter_mut().zip(estimates) {
                    estimate.iter().for_each(|&estimate| sums.add(estimate, truth));
                }
            }
            for (joint, estimate) in self.joints.iter_mut().zip(estimates) {
                estimate.iter().for_each(|&estimate| joint.add(estimate, row.moves_left));
            }
            if let (Some(m), Some(spread)) = (row.m_search_plies, row.m_spread_plies) {
                self.spread.add(m.into(), spread.into(), row.plies_left.into());
            }
        }
        let unit = self.unit.of(first);
        let weights = BootstrapWeights::of(unit);
        for (group, (positions, sums)) in game {
            let all = self.groups.entry(group).or_insert_with(|| GroupCells {
                positions: 0,
                units: BTreeSet::new(),
                cells: vec![GroupSums::default(); sums.len()],
            });
            all.positions += positions;
            all.units.insert(unit);
            all.cells.iter_mut().zip(&sums).for_each(|(cell, sums)| cell.add(sums, &weights));
        }
        for fit in &mut self.fits {
            fit.units.insert(unit);
            fit.tried.add(&sums_of(&fit.family.tried, rows), &weights);
            fit.default.add(&sums_of(&fit.family.default, rows), &weights);
        }
        self.play_clocks(rows, &estimates);
    }

    /// Lets each estimator use a clock, each side its own; only where no position is missing.
    fn play_clocks(&mut self, rows: &[PositionRow], estimates: &[Vec<Option<f64>>]) {
        self.is_complete &= rows.is_sorted_by(|a, b| b.ply == a.ply + 1)
            && rows.last().is_none_or(|last| last.plies_left == 1);
        if !self.is_complete {
            return;
        }
        for (place, clock) in self.clocks.iter_mut().enumerate() {
            for side in [0, 1] {
                let own = rows.iter().zip(estimates).filter(|(row, _)| row.ply % 2 == side);
                let own: Option<Vec<f64>> = own.map(|(_, estimates)| estimates[place]).collect();
                own.iter().for_each(|own| clock.play(own));
            }
        }
    }

    fn report(self, notes: Vec<String>, is_fit: bool) -> StudyReport {
        let spearman: Vec<_> = self.joints.iter().map(Joint::spearman).collect();
        let differences = self.differences();
        let groups = self.groups.into_iter().map(|(group, GroupCells { positions, units, cells })| {
            let is_all = group.dimension == Dimension::All;
            let figures = cells.iter().enumerate().map(|(place, cell)| {
                let spearman = spearman[place].filter(|_| is_all);
                let figures = || EstimatorFigures { spearman, ..cell.figures(&cells[0], units.len()) };
                (cell.sums.count > 0.0).then(figures)
            });
            GroupFigures { figures: figures.collect(), group, positions }
        });
        let fits = self.fits.iter().map(|fit| {
            let FitSums { family, units, tried, default } = fit;
            Fit::new(family, tried, default, units.len())
        });
        StudyReport {
            games: self.games,
            positions: self.positions,
            events: self.events.len(),
            played_out: self.played_out,
            unit: self.unit,
            notes,
            groups: groups.collect(),
            differences,
            joints: self.joints,
            clocks: if self.is_complete { self.clocks } else { Vec::new() },
            spread: self.spread,
            fits: is_fit.then(|| fits.collect()),
            names: self.estimators.into_iter().map(|estimator| estimator.name).collect(),
        }
    }

    /// Returns the differences of any two estimators, each to those before it; that of head and pieces is the first.
    fn differences(&self) -> Vec<PairDifference> {
        let difference = |dimension: Dimension, a: usize, b: usize| {
            let (_, group) = self.groups.iter().find(|(group, _)| group.dimension == dimension)?;
            let [a, b] = [&group.cells[a], &group.cells[b]];
            (a.sums.count > 0.0 && b.sums.count > 0.0).then(|| a.minus(b, group.units.len()))
        };
        let place = |name: &str| self.estimators.iter().position(|estimator| estimator.name == name);
        let foremost = place("mle-mlh").zip(place("mle-pieces"));
        let pairs = (1..self.estimators.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let others = pairs.filter(|&(a, b)| !foremost.is_some_and(|pair| pair == (a, b) || pair == (b, a)));
        let pairs = foremost.into_iter().chain(others);
        let pairs = pairs.filter_map(|(a, b)| {
            Some(PairDifference {
                name: self.estimators[a].name.clone(),
                against: self.estimators[b].name.clone(),
                all: difference(Dimension::All, a, b)?,
                played_out: difference(Dimension::PlayedOut, a, b),
            })
        });
        pairs.collect()
    }
}

/// Adds up the errors of an estimator over the positions of a game.
fn sums_of(estimator: &Estimator, rows: &[PositionRow]) -> Sums {
    let mut sums = Sums::default();
    for row in rows {
        estimator.estimate(row).iter().for_each(|&estimate| sums.add(estimate, row.moves_left.into()));
    }
    sums
}

impl GroupSums {
    fn add(&mut self, game: &Sums, weights: &BootstrapWeights) {
        self.sums.merge(game);
        self.count.add(weights, game.count);
        self.error.add(weights, game.error);
        self.absolute.add(weights, game.absolute);
        self.squared.add(weights, game.squared);
    }

    /// Returns the mean absolute error.
    pub(super) fn mae(&self) -> f64 {
        self.sums.absolute / self.sums.count
    }

    /// Returns how much larger the mean absolute error is than that of `other`, on the same positions of so many units.
    pub(super) fn minus(&self, other: &GroupSums, units: usize) -> Difference {
        let [mine, others] =
            [self, other].map(|sums| ReplicatedMean { sum: &sums.absolute, count: &sums.count });
        Difference { difference: self.mae() - other.mae(), ci: known(units, || mine.difference(others)) }
    }

    /// Returns the figures of an estimator in a group of so many units; `first` are the sums of the estimator that others are
    /// compared with.
    fn figures(&self, first: &GroupSums, units: usize) -> EstimatorFigures {
        let mean = |sum: f64, count: f64| sum / count;
        EstimatorFigures {
            ci: known(units, || self.absolute.interval(&self.count, mean)),
            bias_ci: known(units, || self.error.interval(&self.count, mean)),
            rmse_ci: known(units, || self.squared.interval(&self.count, |sum, count| (sum / count).sqrt())),
            versus_first_ci: self.minus(first, units).ci,
            ..self.sums.figures()
        }
    }
}

/// Returns the interval if there are enough units for one.
fn known(units: usize, interval: impl FnOnce() -> Interval) -> Interval {
    if units < FEWEST_UNITS { Interval::NONE } else { interval() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::moves_left::MovesLeftSource;
    use crate::lab::rows::RowWriter;

    /// Returns the study of 60 games, each of an event of its own, whose lengths scatter about `factor` times what `mle-legacy` says.
    fn study(factor: f64) -> StudyReport {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let mut writer = RowWriter::create(&path).unwrap();
        let legacy = Estimator::parse("mle-legacy", MovesLeftSource::Root).unwrap();
        for game in 1..=60u64 {
            let scatter = (game * 37 % 60) as f64 - 29.5;
            for ply in 0..40 {
                let row = PositionRow { game, event: game, ply, pieces: 32, ..PositionRow::default() };
                let left = factor * legacy.estimate(&row).unwrap() + scatter;
                writer.write(&PositionRow { moves_left: left.max(1.0) as u32, ..row }).unwrap();
            }
        }
        writer.flush().unwrap();
        Study { files: vec![path], estimators: vec![legacy], is_fit: true }.run().unwrap()
    }

    /// A regression: any fit was printed to be pasted, also one that was worse than what it was to replace.
    #[test]
    fn only_fits_that_beat_their_defaults_on_other_games_are_offered() {
        let [same, longer] = [1.0, 1.5].map(|factor| study(factor).fits.unwrap().remove(0));
        assert_eq!(same.time_manager, None, "{same:?}");
        assert!(longer.time_manager.as_ref().unwrap().starts_with("smooth(mle-legacy("), "{longer:?}");
        assert!(longer.mae < longer.default_mae && longer.versus_default_ci.high < 0.0, "{longer:?}");
    }

    #[test]
    fn groups_of_few_events_have_no_intervals() {
        let report = study(1.0);
        assert_eq!((report.unit, report.events), (Unit::Event, 60));
        assert!(report.groups[0].figures[0].unwrap().ci.is_known());
        assert!(!known(FEWEST_UNITS - 1, || Interval { low: 0.0, high: 1.0 }).is_known());
    }
}
