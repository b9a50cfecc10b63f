//! The rows behind the laboratory's figures: one per game, one per move.

use parquet_derive::ParquetRecordWriter;
use serde::{Deserialize, Serialize};

use crate::lab::replay::{GameSummary, PhaseErrors, ReplayedGame, ReplayedMove};
use crate::lab::rows::{Row, RowOfGame};

/// What a manager made of one game at one time control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub(super) struct ReplayGameRow {
    /// The game's number among those that were replayed, from 1, whatever the shard.
    pub game: u64,
    /// Whose moves were made: White's or else Black's.
    pub white: bool,
    pub manager: String,
    pub control: String,
    pub moves: u32,
    pub lost: bool,
    pub given_ms: f64,
    pub final_clock_ms: f64,
    pub time_used: f64,
    pub min_clock_ms: f64,
    pub instamoves: u32,
    pub nodes_cv: f64,
    /// Moves with an estimate of the moves left, and the sum of its errors, by phase.
    pub opening_estimates: u32,
    pub opening_error_moves: f64,
    pub middlegame_estimates: u32,
    pub middlegame_error_moves: f64,
    pub endgame_estimates: u32,
    pub endgame_error_moves: f64,
}

impl Row for ReplayGameRow {
    const KIND: &'static str = "games of timelab";
}

impl RowOfGame for ReplayGameRow {
    type Game = u64;

    fn game(&self) -> u64 {
        self.game
    }

    fn way(&self) -> String {
        format!("{} at {}", self.manager, self.control)
    }
}

/// Which cell of the laboratory a row belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayKey<'a> {
    pub game: u64,
    pub white: bool,
    pub manager: &'a str,
    pub control: &'a str,
}

impl ReplayGameRow {
    pub(super) fn new(cell: ReplayKey<'_>, game: &ReplayedGame) -> ReplayGameRow {
        let GameSummary { moves, lost, time_used, min_clock_ms, instamoves, nodes_cv, moves_left } =
            game.summary();
        let [opening, middlegame, endgame] = moves_left;
        ReplayGameRow {
            game: cell.game,
            white: cell.white,
            manager: cell.manager.to_owned(),
            control: cell.control.to_owned(),
            moves,
            lost,
            given_ms: game.given_ms,
            final_clock_ms: game.final_clock_ms,
            time_used,
            min_clock_ms,
            instamoves,
            nodes_cv,
            opening_estimates: opening.moves,
            opening_error_moves: opening.sum,
            middlegame_estimates: middlegame.moves,
            middlegame_error_moves: middlegame.sum,
            endgame_estimates: endgame.moves,
            endgame_error_moves: endgame.sum,
        }
    }

    pub(super) fn summary(&self) -> GameSummary {
        let errors = |moves, sum| PhaseErrors { moves, sum };
        GameSummary {
            moves: self.moves,
            lost: self.lost,
            time_used: self.time_used,
            min_clock_ms: self.min_clock_ms,
            instamoves: self.instamoves,
            nodes_cv: self.nodes_cv,
            moves_left: [
                errors(self.opening_estimates, self.opening_error_moves),
                errors(self.middlegame_estimates, self.middlegame_error_moves),
                errors(self.endgame_estimates, self.endgame_error_moves),
            ],
        }
    }
}

/// One move of such a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub(super) struct ReplayMoveRow {
    pub game: u64,
    pub manager: String,
    pub control: String,
    /// Counts the moves that the manager made, from 1.
    pub number: u32,
    pub ply: u32,
    pub pieces: u32,
    /// Before the move.
    pub clock_ms: f64,
    pub budget_ms: f64,
    /// Lag included.
    pub used_ms: f64,
    /// In the tree at the move's end.
    pub nodes: u64,
    pub new_nodes: u64,
    pub had_choice: bool,
    pub end: String,
    /// As estimated.
    pub moves_left: Option<f64>,
    /// As it turned out; to the time control if that came first.
    pub really_left: u32,
}

impl Row for ReplayMoveRow {
    const KIND: &'static str = "moves of timelab";
}

impl RowOfGame for ReplayMoveRow {
    type Game = u64;

    fn game(&self) -> u64 {
        self.game
    }

    fn way(&self) -> String {
        format!("{} at {}", self.manager, self.control)
    }
}

impl ReplayMoveRow {
    pub(super) fn new(cell: ReplayKey<'_>, number: u32, played: &ReplayedMove) -> ReplayMoveRow {
        ReplayMoveRow {
            game: cell.game,
            manager: cell.manager.to_owned(),
            control: cell.control.to_owned(),
            number,
            ply: played.game_ply,
            pieces: played.pieces,
            clock_ms: played.clock_ms,
            budget_ms: played.budget_ms,
            used_ms: played.used_ms,
            nodes: played.nodes,
            new_nodes: played.new_nodes,
            had_choice: played.had_choice,
            end: played.reason.to_string(),
            moves_left: played.moves_left,
            really_left: played.really_left,
        }
    }
}
