//! The rows that a replay writes: one per game and one per move.

use parquet_derive::ParquetRecordWriter;
use serde::{Deserialize, Serialize};

use super::{GameSummary, PhaseErrors, ReplayedGame, ReplayedMove};
use crate::lab::rows::{Row, RowOfGame};
use crate::version::VERSION;

/// The row of one game under one manager at one time control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub struct ReplayGameRow {
    /// The game's number among those that were replayed, from 1, whatever the shard.
    pub game: u64,
    /// True if White's moves were made, false if Black's.
    pub white: bool,
    /// The time manager, as in the option `TimeManager`.
    pub manager: String,
    /// The time control, or `recorded`.
    pub control: String,
    /// Moves made.
    pub moves: u32,
    /// True if the game was lost on time.
    pub lost: bool,
    /// All the time that the clock was given, ms.
    pub given_ms: f64,
    /// The clock at the end, ms.
    pub final_clock_ms: f64,
    /// See [`GameSummary::time_used`].
    pub time_used: f64,
    /// See [`GameSummary::min_clock_ms`].
    pub min_clock_ms: Option<f64>,
    /// See [`GameSummary::instamoves`].
    pub instamoves: u32,
    /// See [`GameSummary::nodes_cv`].
    pub nodes_cv: f64,
    /// See [`GameSummary::pruned`].
    pub pruned: u32,
    /// See [`GameSummary::pruning_saved`].
    pub pruning_saved: f64,
    /// Moves of the opening with an estimate of the moves left.
    pub opening_estimates: u32,
    /// Sum of the absolute errors of those estimates, full moves.
    pub opening_error_moves: f64,
    /// Moves of the middlegame with an estimate of the moves left.
    pub middlegame_estimates: u32,
    /// Sum of the absolute errors of those estimates, full moves.
    pub middlegame_error_moves: f64,
    /// Moves of the endgame with an estimate of the moves left.
    pub endgame_estimates: u32,
    /// Sum of the absolute errors of those estimates, full moves.
    pub endgame_error_moves: f64,
    /// The version of the program that wrote the row, see [`VERSION`]; empty in rows of before there was this column.
    #[serde(default)]
    pub version: String,
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

/// The columns that all rows of a replay have in common.
#[derive(Clone, Copy, Debug)]
pub struct ReplayKey<'a> {
    /// The game's number, from 1.
    pub game: u64,
    /// True if White's moves are made.
    pub white: bool,
    /// The time manager.
    pub manager: &'a str,
    /// The time control.
    pub control: &'a str,
}

impl ReplayGameRow {
    /// Returns the row of a replayed game.
    pub fn new(key: ReplayKey<'_>, game: &ReplayedGame) -> ReplayGameRow {
        let summary = game.summary();
        let [opening, middlegame, endgame] = summary.moves_left;
        ReplayGameRow {
            game: key.game,
            white: key.white,
            manager: key.manager.to_owned(),
            control: key.control.to_owned(),
            moves: summary.moves,
            lost: summary.lost,
            given_ms: game.given_ms,
            final_clock_ms: game.final_clock_ms,
            time_used: summary.time_used,
            min_clock_ms: summary.min_clock_ms,
            instamoves: summary.instamoves,
            nodes_cv: summary.nodes_cv,
            pruned: summary.pruned,
            pruning_saved: summary.pruning_saved,
            opening_estimates: opening.moves,
            opening_error_moves: opening.sum,
            middlegame_estimates: middlegame.moves,
            middlegame_error_moves: middlegame.sum,
            endgame_estimates: endgame.moves,
            endgame_error_moves: endgame.sum,
            version: VERSION.into(),
        }
    }

    /// Returns the figures of the game.
    pub fn summary(&self) -> GameSummary {
        let errors = |moves, sum| PhaseErrors { moves, sum };
        GameSummary {
            moves: self.moves,
            lost: self.lost,
            time_used: self.time_used,
            min_clock_ms: self.min_clock_ms,
            instamoves: self.instamoves,
            nodes_cv: self.nodes_cv,
            pruned: self.pruned,
            pruning_saved: self.pruning_saved,
            moves_left: [
                errors(self.opening_estimates, self.opening_error_moves),
                errors(self.middlegame_estimates, self.middlegame_error_moves),
                errors(self.endgame_estimates, self.endgame_error_moves),
            ],
        }
    }
}

/// The row of one move of a replayed game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub struct ReplayMoveRow {
    /// The game's number among those that were replayed, from 1.
    pub game: u64,
    /// The time manager, as in the option `TimeManager`.
    pub manager: String,
    /// The time control, or `recorded`.
    pub control: String,
    /// Counts the moves that the manager made, from 1.
    pub number: u32,
    /// Plies of the game before the move.
    pub ply: u32,
    /// Pieces and pawns on the board before the move.
    pub pieces: u32,
    /// The clock before the move, ms.
    pub clock_ms: f64,
    /// The manager's budget, as last revised, ms.
    pub budget_ms: f64,
    /// Time that the move cost the clock, lag included, ms.
    pub used_ms: f64,
    /// Nodes in the tree at the move's end.
    pub nodes: u64,
    /// Those of them that were new.
    pub new_nodes: u64,
    /// True if there was more than one legal move.
    pub had_choice: bool,
    /// The rule that ended the search.
    pub end: String,
    /// Full moves left as the manager estimated.
    pub moves_left: Option<f64>,
    /// Full moves really left, or those to the time control if that came first.
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
    /// Returns the row of a replayed move, the `number`-th of the manager, from 1.
    pub fn new(key: ReplayKey<'_>, number: u32, played: &ReplayedMove) -> ReplayMoveRow {
        ReplayMoveRow {
            game: key.game,
            manager: key.manager.to_owned(),
            control: key.control.to_owned(),
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
