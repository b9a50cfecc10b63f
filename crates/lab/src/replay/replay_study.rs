//! Findings from rows of replays, in any order.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::replay_rows::{ReplayGameRow, ReplayRows};
use crate::Phase;
use crate::move_rows::{Curves, ExactMean, MoveRow};
use crate::rows::{MergedGames, RowError, files_of};

/// Does not depend on the order of the games.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct ReplaySummary {
    pub(super) games: u64,
    /// Means of the columns of [`ReplayGameRow`].
    pub(super) time_used: ExactMean,
    pub(super) min_clock_ms: Option<f64>,
    pub(super) max_used_ms: f64,
    pub(super) losses: u64,
    pub(super) instamoves: u64,
    pub(super) nodes_cv: ExactMean,
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

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ManagerFigures {
    #[serde(rename = "name")]
    pub(super) manager: String,
    pub(super) control: String,
    #[serde(flatten)]
    pub(super) summary: ReplaySummary,
    #[serde(skip)]
    pub(super) curves: Curves,
}

/// The keys of the JSON form are a contract.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplayStudy {
    /// By manager and time control, in the order of appearance.
    pub(super) managers: Vec<ManagerFigures>,
}

impl ReplayStudy {
    /// Two files with the same replay are an error.
    pub fn read(files: &[PathBuf]) -> Result<ReplayStudy, RowError> {
        let mut study = ReplayStudy::default();
        for game in MergedGames::<ReplayGameRow>::open(&files_of::<ReplayGameRow>(files)?)? {
            game?.iter().for_each(|row| study.add_game(row));
        }
        for game in MergedGames::<MoveRow>::open(&files_of::<MoveRow>(files)?)? {
            game?.iter().for_each(|row| study.add_move(row));
        }
        Ok(study)
    }

    pub fn add(&mut self, (game, moves): ReplayRows) {
        self.add_game(&game);
        moves.iter().for_each(|row| self.add_move(row));
    }

    pub(super) fn add_game(&mut self, row: &ReplayGameRow) {
        self.figures(&row.manager, &row.control).summary.add(row);
    }

    pub(super) fn add_move(&mut self, row: &MoveRow) {
        self.figures(&row.player, &row.control).curves.add(row);
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
                ..ManagerFigures::default()
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
