//! Findings from the rows of replays, in any order and from any number of machines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::replay_rows::{ReplayGameRow, ReplayMoveRow, ReplayRows};
use crate::Phase;
use crate::rows::{MergedGames, RowError, files_of};

/// Covered by the mean curves.
const CURVE_MOVES: usize = 120;
/// Shown with their own curves: those with the smallest numbers.
const SAMPLE_GAMES: usize = 3;
/// For a mean.
const FEWEST_GAMES: u64 = 5;

/// Kept in whole steps of 2⁻⁶⁰, so that it does not depend on the order of the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExactMean {
    steps: i128,
    count: u64,
}

const STEPS_PER_UNIT: f64 = (1u64 << 60) as f64;

impl ExactMean {
    pub(super) fn add(&mut self, sum: f64, count: u32) {
        // NaN becomes 0, infinity the largest step.
        self.steps = self.steps.saturating_add((sum * STEPS_PER_UNIT) as i128);
        self.count += u64::from(count);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.steps as f64 / STEPS_PER_UNIT / self.count as f64)
    }
}

impl Serialize for ExactMean {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// Does not depend on the order of the games.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct ReplaySummary {
    pub(super) games: u64,
    /// Means of the columns of [`ReplayGameRow`].
    pub(super) time_used: ExactMean,
    /// Smallest clock after any move.
    pub(super) min_clock_ms: Option<f64>,
    pub(super) max_used_ms: f64,
    pub(super) losses: u64,
    pub(super) instamoves: u64,
    pub(super) nodes_cv: ExactMean,
    /// Share of all moves.
    pub(super) pruned: ExactMean,
    pub(super) pruning_saved: ExactMean,
    /// Mean absolute errors over all moves of a phase, in the order of [`Phase::ALL`].
    #[serde(rename = "moves_left_mae", serialize_with = "by_phase")]
    pub(super) moves_left: [ExactMean; 3],
}

fn by_phase<S: Serializer>(means: &[ExactMean; 3], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Phase::ALL.map(Phase::name).iter().zip(means))
}

impl ReplaySummary {
    pub(super) fn add(&mut self, game: &ReplayGameRow) {
        self.games += 1;
        self.losses += u64::from(game.lost);
        self.time_used.add(game.time_used, 1);
        if let Some(ms) = game.min_clock_ms.filter(|_| game.moves > 0) {
            self.min_clock_ms = Some(self.min_clock_ms.unwrap_or(f64::INFINITY).min(ms));
        }
        self.max_used_ms = self.max_used_ms.max(game.max_used_ms);
        self.instamoves += u64::from(game.instamoves);
        self.nodes_cv.add(game.nodes_cv, 1);
        self.pruned.add(game.pruned.into(), game.moves);
        self.pruning_saved.add(game.pruning_saved, 1);
        for (mean, (moves, error)) in self.moves_left.iter_mut().zip(game.moves_left()) {
            mean.add(error, moves);
        }
    }
}

/// Means over the games at one move number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplayCurvePoint {
    /// Before the move.
    pub(super) clock_ms: ExactMean,
    pub(super) used_ms: ExactMean,
    /// In the tree.
    pub(super) nodes: ExactMean,
    /// Absolute error of the moves left, full moves.
    pub(super) error_moves: ExactMean,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ManagerFigures {
    #[serde(rename = "name")]
    pub(super) manager: String,
    pub(super) control: String,
    #[serde(flatten)]
    pub(super) summary: ReplaySummary,
    /// By move number.
    #[serde(skip)]
    curve: Vec<ReplayCurvePoint>,
}

impl ManagerFigures {
    /// A mean by move number, where enough games have that move.
    pub(super) fn curve(&self, quantity: impl Fn(&ReplayCurvePoint) -> ExactMean) -> Vec<(f64, f64)> {
        let points = self.curve.iter().map(quantity).zip(1u32..);
        let known = points.filter(|(mean, _)| mean.count() >= FEWEST_GAMES);
        known.filter_map(|(mean, number)| Some((f64::from(number), mean.value()?))).collect()
    }
}

/// The keys of the JSON form are a contract. The text form is a table for each time control.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplayStudy {
    /// By manager and time control, in the order of appearance.
    pub(super) managers: Vec<ManagerFigures>,
    /// All moves of the sample games, by number.
    #[serde(skip)]
    pub(super) samples: BTreeMap<u64, Vec<ReplayMoveRow>>,
}

impl ReplayStudy {
    /// Reads rows of games and moves, in any order. Two files with the same replay are an error.
    pub fn read(files: &[PathBuf]) -> Result<ReplayStudy, RowError> {
        let mut study = ReplayStudy::default();
        for game in MergedGames::<ReplayGameRow>::open(&files_of::<ReplayGameRow>(files)?)? {
            game?.iter().for_each(|row| study.add_game(row));
        }
        for game in MergedGames::<ReplayMoveRow>::open(&files_of::<ReplayMoveRow>(files)?)? {
            game?.into_iter().for_each(|row| study.add_move(row));
        }
        Ok(study)
    }

    pub fn add(&mut self, (game, moves): ReplayRows) {
        self.add_game(&game);
        moves.into_iter().for_each(|row| self.add_move(row));
    }

    pub(super) fn add_game(&mut self, row: &ReplayGameRow) {
        self.figures(&row.manager, &row.control).summary.add(row);
    }

    pub(super) fn add_move(&mut self, row: ReplayMoveRow) {
        // Rows may come from any file.
        let index = (row.number as usize).saturating_sub(1);
        if let Some(point) = self.figures(&row.manager, &row.control).curve.get_mut(index) {
            point.clock_ms.add(row.clock_ms, 1);
            point.used_ms.add(row.used_ms, 1);
            point.nodes.add(row.nodes as f64, 1);
            if let Some(estimate) = row.moves_left {
                point.error_moves.add((estimate - f64::from(row.really_left)).abs(), 1);
            }
        }
        self.samples.entry(row.game).or_default().push(row);
        if self.samples.len() > SAMPLE_GAMES {
            self.samples.pop_last();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    pub(super) fn controls(&self) -> Vec<&str> {
        distinct(self.managers.iter().map(|figures| figures.control.as_str()))
    }

    /// The managers, in the order in which they first came.
    pub(super) fn names(&self) -> Vec<&str> {
        distinct(self.managers.iter().map(|figures| figures.manager.as_str()))
    }

    pub(super) fn at<'a>(&'a self, control: &'a str) -> impl Iterator<Item = &'a ManagerFigures> {
        self.managers.iter().filter(move |figures| figures.control == control)
    }

    fn figures(&mut self, manager: &str, control: &str) -> &mut ManagerFigures {
        let known =
            self.managers.iter().position(|figures| figures.manager == manager && figures.control == control);
        let place = known.unwrap_or_else(|| {
            self.managers.push(ManagerFigures {
                manager: manager.to_owned(),
                control: control.to_owned(),
                summary: ReplaySummary::default(),
                curve: vec![ReplayCurvePoint::default(); CURVE_MOVES],
            });
            self.managers.len() - 1
        });
        &mut self.managers[place]
    }
}

/// Each text once, in the order in which they first came.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = Vec::new();
    texts.for_each(|text| {
        if !known.contains(&text) {
            known.push(text)
        }
    });
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin() * 10f64.powi(i % 9)).collect();
        let mean = |values: &mut dyn Iterator<Item = &f64>| {
            values.fold(ExactMean::default(), |mut mean, &value| {
                mean.add(value, 1);
                mean
            })
        };
        assert_eq!(mean(&mut values.iter()), mean(&mut values.iter().rev()));
        let plain = values.iter().sum::<f64>() / 1000.0;
        assert!((mean(&mut values.iter()).value().unwrap() - plain).abs() < 1e-6);
        assert_eq!(ExactMean::default().value(), None);
    }
}
