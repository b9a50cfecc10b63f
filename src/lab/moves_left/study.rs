//! A study: estimators against the truth, computed from rows in two passes.
//!
//! The first pass learns what the second needs (the best function of the ply) and what fits need; the second adds up figures.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::MovesLeftError;
use super::bootstrap::{BootstrapWeights, ReplicatedMean, Replicates};
use super::clock::{ClockFigures, ClockUse};
use super::estimate::Estimator;
use super::fit::{Fit, Fitter};
use super::groups::Group;
use super::ply_median::LeftByPly;
use super::rows::PositionRow;
use super::statistics::{EstimatorFigures, Joint, SpreadCoverage, Sums};
use crate::lab::rows::MergedGames;

/// The estimators to be compared, and the rows to compare them on.
#[derive(Clone, Debug)]
pub struct Study {
    /// Files of rows.
    pub files: Vec<PathBuf>,
    /// The estimators, the one that others are compared with first. Those of searches are left out where rows have none.
    pub estimators: Vec<Estimator>,
}

/// The findings of a study.
#[derive(Debug)]
pub struct StudyReport {
    /// Games with at least one row.
    pub games: u64,
    /// Rows.
    pub positions: u64,
    /// Names of the estimators; the last is the best function of the ply.
    pub names: Vec<String>,
    /// Figures by group, in the order of dimensions and places.
    pub groups: Vec<GroupFigures>,
    /// Estimates against truth, by estimator.
    pub joints: Vec<Joint>,
    /// Use of the clock by estimator; empty where positions of the games are missing.
    pub clocks: Vec<ClockUse>,
    /// Coverage of the truth by the tree's spread.
    pub spread: SpreadCoverage,
    /// Fitted estimators.
    pub fits: Vec<Fit>,
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
    /// Reads the rows twice.
    ///
    /// # Errors
    /// [`MovesLeftError::Rows`] if rows cannot be read or files overlap.
    pub fn run(&self) -> Result<StudyReport, MovesLeftError> {
        let (mut left, mut fitter, mut is_searched) = (LeftByPly::default(), Fitter::default(), false);
        for game in MergedGames::<PositionRow>::open(&self.files)? {
            for row in game? {
                left.add(row.game, row.ply, row.moves_left);
                fitter.add(&row);
                is_searched |= row.m_search_plies.is_some();
            }
        }
        let mut estimators = self.estimators.clone();
        estimators.retain(|estimator| is_searched || !estimator.uses_search());
        estimators.push(Estimator::by_ply(Arc::new(left.medians())));
        let mut sums = Accumulator::new(estimators);
        for game in MergedGames::open(&self.files)? {
            sums.add_game(&game?);
        }
        Ok(sums.report(fitter.fits()))
    }
}

/// Sums of a group and an estimator.
#[derive(Clone, Debug, Default)]
struct GroupSums {
    sums: Sums,
    count: Replicates,
    error: Replicates,
    absolute: Replicates,
    squared: Replicates,
}

/// All sums.
struct Accumulator {
    estimators: Vec<Estimator>,
    games: u64,
    positions: u64,
    groups: BTreeMap<Group, (u64, Vec<GroupSums>)>,
    joints: Vec<Joint>,
    clocks: Vec<ClockUse>,
    spread: SpreadCoverage,
    /// True if no game lacks a position.
    is_complete: bool,
}

impl Accumulator {
    fn new(estimators: Vec<Estimator>) -> Accumulator {
        let count = estimators.len();
        Accumulator {
            estimators,
            games: 0,
            positions: 0,
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
        let weights = BootstrapWeights::of(first.game);
        for (group, (positions, sums)) in game {
            let (all, cells) =
                self.groups.entry(group).or_insert_with(|| (0, vec![GroupSums::default(); sums.len()]));
            *all += positions;
            cells.iter_mut().zip(&sums).for_each(|(cell, sums)| cell.add(sums, &weights));
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

    fn report(self, fits: Vec<Fit>) -> StudyReport {
        let spearman: Vec<_> = self.joints.iter().map(Joint::spearman).collect();
        let groups = self.groups.into_iter().map(|(group, (positions, cells))| {
            let is_all = group.dimension == super::Dimension::All;
            let figures = cells.iter().enumerate().map(|(place, cell)| {
                let spearman = spearman[place].filter(|_| is_all);
                (cell.sums.count > 0.0).then(|| EstimatorFigures { spearman, ..cell.figures(&cells[0]) })
            });
            GroupFigures { figures: figures.collect(), group, positions }
        });
        StudyReport {
            games: self.games,
            positions: self.positions,
            groups: groups.collect(),
            names: self.estimators.into_iter().map(|estimator| estimator.name).collect(),
            joints: self.joints,
            clocks: if self.is_complete { self.clocks } else { Vec::new() },
            spread: self.spread,
            fits,
        }
    }
}

impl GroupSums {
    fn add(&mut self, game: &Sums, weights: &BootstrapWeights) {
        self.sums.merge(game);
        self.count.add(weights, game.count);
        self.error.add(weights, game.error);
        self.absolute.add(weights, game.absolute);
        self.squared.add(weights, game.squared);
    }

    fn mean_absolute(&self) -> ReplicatedMean<'_> {
        ReplicatedMean { sum: &self.absolute, count: &self.count }
    }

    /// Returns the figures of an estimator in a group; `first` are the sums of the estimator that others are compared with.
    fn figures(&self, first: &GroupSums) -> EstimatorFigures {
        let mean = |sum: f64, count: f64| sum / count;
        EstimatorFigures {
            ci: self.absolute.interval(&self.count, mean),
            bias_ci: self.error.interval(&self.count, mean),
            rmse_ci: self.squared.interval(&self.count, |sum, count| (sum / count).sqrt()),
            versus_first_ci: self.mean_absolute().difference(first.mean_absolute()),
            ..self.sums.figures()
        }
    }
}
