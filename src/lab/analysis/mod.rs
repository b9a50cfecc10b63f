//! Analysis of recorded games: every position is searched, every move judged.
//!
//! [`Analyst`] searches the positions of a [`RecordedGame`] and returns an [`AnalysedGame`]; `judgement` says how good a move was,
//! `spending` what a time manager would have spent on it. [`write_pgn`] writes the game with comments and variations, [`page`](fn@page)
//! one page with all games on a board. [`AnalysisJournal`] keeps a row of each game, from which a run that was stopped goes on. The command `analyse` calls this module; it uses `engine` and what lies below it.

mod analyst;
mod annotation;
mod journal;
mod judgement;
mod page;
mod spending;
mod summary;

pub use analyst::{Analyst, SearchEffort};
pub use annotation::{is_analysis, write_pgn};
pub use journal::{AnalysisError, AnalysisJournal, AnalysisRow, GAMES};
pub use judgement::Judgement;
pub use page::page;
pub use spending::SpendingPlan;
pub use summary::{AnalysisSummary, SideSummary, table};

use crate::chess::{History, Move, Position};
use crate::lab::matches::MoveScore;
use crate::lab::pgn::RecordedGame;
use crate::lab::replay::control_of;

/// A line that a search found, from the point of view of the side that moves first in it.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysedLine {
    /// Win minus loss, `-1..=1`.
    pub wl: f64,
    /// Probability of a draw.
    pub d: f64,
    /// The score.
    pub score: MoveScore,
    /// Plies to the end of the game, if the network has a Moves Left Head.
    pub moves_left: Option<f64>,
    /// The moves; none where the game is over.
    pub moves: Vec<Move>,
}

impl AnalysedLine {
    /// Returns the expected points, 0 to 1.
    pub fn points(&self) -> f64 {
        (1.0 + self.wl) / 2.0
    }
}

/// What was found of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysedPosition {
    /// The lines, the best first; at least one.
    pub lines: Vec<AnalysedLine>,
    /// Visits of the root, those kept from the position before included; 0 where the game is over.
    pub nodes: u64,
    /// New visits.
    pub new_nodes: u64,
    /// Time of the search, ms.
    pub time_ms: f64,
}

impl AnalysedPosition {
    /// Returns the best line.
    pub fn best(&self) -> &AnalysedLine {
        &self.lines[0]
    }
}

/// A recorded game with what was found of its positions.
#[derive(Clone, Debug)]
pub struct AnalysedGame {
    /// The game.
    pub recorded: RecordedGame,
    /// What was found of each position, that after the last move included.
    pub positions: Vec<AnalysedPosition>,
    /// Time that a time manager would have spent on each move, ms, where there is a clock.
    pub planned_ms: Vec<Option<f64>>,
}

impl AnalysedGame {
    /// Returns the position before each move, and the last one.
    pub fn boards(&self) -> Vec<Position> {
        let moves = self.recorded.moves.iter().map(|played| played.r#move);
        let mut boards = vec![self.recorded.start.clone()];
        moves.for_each(|played| boards.push(boards[boards.len() - 1].play(played)));
        boards
    }

    /// Returns the judgement of a move, the `ply`-th from 0.
    pub fn judgement(&self, ply: usize) -> Judgement {
        let [before, after] = [&self.positions[ply], &self.positions[ply + 1]];
        Judgement::of(self.recorded.moves[ply].r#move, before, after)
    }

    /// Returns the time that was used for a move, ms: as recorded, or by the clock before and after it.
    pub fn used_ms(&self, ply: usize) -> Option<f64> {
        let moves = &self.recorded.moves;
        let by_clock = || {
            let control = control_of(&self.recorded);
            let before = match ply.checked_sub(2) {
                Some(last) => moves[last].clock_ms?,
                None => control?.time.0,
            };
            let increment = control.map_or(0.0, |control| control.inc.0);
            Some((before + increment - moves[ply].clock_ms?).max(0.0))
        };
        moves[ply].used_ms.or_else(by_clock)
    }
}

/// Returns the game up to its start.
fn history_of(game: &RecordedGame) -> History {
    History::from_position(game.start.clone(), game.variant)
}
