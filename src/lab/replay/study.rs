//! Computes the findings from the rows of replays. Rows may come in any order and from any number of machines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::replayer::ReplayRows;
use super::rows::{ReplayGameRow, ReplayMoveRow};
use super::{ExactMean, ReplaySummary};
use crate::lab::rows::{MergedGames, RowError, files_of};

/// Move numbers that the mean curves cover.
const CURVE_MOVES: usize = 120;
/// Games whose own curves are shown: those with the smallest numbers.
const SAMPLE_GAMES: usize = 3;
/// Fewest games that a mean is shown for; over fewer it is noise.
const FEWEST_GAMES: u64 = 5;

/// Means over the games at one move number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplayCurvePoint {
    /// Clock before the move, ms.
    pub(super) clock_ms: ExactMean,
    /// Time used, ms.
    pub(super) used_ms: ExactMean,
    /// Nodes in the tree.
    pub(super) nodes: ExactMean,
    /// Absolute error of the estimated moves left, full moves.
    pub(super) error_moves: ExactMean,
}

/// The figures of one manager at one time control.
#[derive(Clone, Debug)]
pub struct ManagerFigures {
    /// The time manager.
    pub manager: String,
    /// The time control.
    pub control: String,
    /// Figures over all games.
    pub summary: ReplaySummary,
    /// Means by move number.
    curve: Vec<ReplayCurvePoint>,
}

impl ManagerFigures {
    /// Returns a mean quantity by move number, where enough games have a move of that number.
    pub(super) fn curve(&self, quantity: impl Fn(&ReplayCurvePoint) -> ExactMean) -> Vec<(f64, f64)> {
        let points = self.curve.iter().map(quantity).zip(1u32..);
        let known = points.filter(|(mean, _)| mean.count() >= FEWEST_GAMES);
        known.filter_map(|(mean, number)| Some((f64::from(number), mean.value()?))).collect()
    }
}

/// The findings of replays.
#[derive(Clone, Debug, Default)]
pub struct ReplayStudy {
    /// Figures by manager and time control, in the order in which they first came.
    pub managers: Vec<ManagerFigures>,
    /// All moves of the sample games, by the game's number.
    pub samples: BTreeMap<u64, Vec<ReplayMoveRow>>,
}

impl ReplayStudy {
    /// Reads files of [`ReplayGameRow`]s and [`ReplayMoveRow`]s, in any order.
    ///
    /// # Errors
    /// [`RowError`] if a file cannot be read or two of them hold the same replay.
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

    /// Adds the rows of one game.
    pub fn add(&mut self, rows: ReplayRows) {
        self.add_game(&rows.game);
        rows.moves.into_iter().for_each(|row| self.add_move(row));
    }

    /// Adds the row of a game.
    pub fn add_game(&mut self, row: &ReplayGameRow) {
        self.figures(&row.manager, &row.control).summary.add(&row.summary());
    }

    /// Adds the row of a move.
    pub fn add_move(&mut self, row: ReplayMoveRow) {
        // Rows may come from a file that anybody wrote.
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

    /// Returns the time controls in their order.
    pub(super) fn controls(&self) -> Vec<&str> {
        let mut controls: Vec<&str> = Vec::new();
        for figures in &self.managers {
            if !controls.contains(&figures.control.as_str()) {
                controls.push(&figures.control);
            }
        }
        controls
    }

    /// Returns the figures of all managers at one time control.
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
