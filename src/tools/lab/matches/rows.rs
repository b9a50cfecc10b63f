//! The rows behind a match: one per game, one per move.

use std::fmt;

use parquet_derive::ParquetRecordWriter;
use serde::{Deserialize, Serialize};

use crate::lab::matches::{GameRecord, MoveScore, Side, Termination};
use crate::lab::rows::{Row, RowOfGame};

/// Who plays, for rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchHeader<'a> {
    /// The same for all rows of a match, on every machine; other options or openings give another.
    pub(super) match_id: &'a str,
    /// Names of A and B.
    pub(super) names: [&'a str; 2],
}

/// One game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub(super) struct MatchGameRow {
    pub match_id: String,
    /// In the whole match, from 0, whatever the shard.
    pub game: u64,
    /// Two games with the same opening.
    pub pair: u64,
    pub a: String,
    pub b: String,
    pub a_is_white: bool,
    /// Of A: 0, 1 or 2.
    pub half_points: u32,
    pub termination: String,
    /// Where the engines began.
    pub opening: String,
    pub a_moves: u32,
    pub b_moves: u32,
    /// New ones.
    pub a_nodes: u64,
    pub b_nodes: u64,
    /// At the end.
    pub a_clock_ms: Option<f64>,
    pub b_clock_ms: Option<f64>,
}

impl Row for MatchGameRow {
    const KIND: &'static str = "games of a match";
}

/// A game of one of several matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MatchGame {
    match_id: String,
    game: u64,
}

impl fmt::Display for MatchGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the match {}", self.game, self.match_id)
    }
}

impl RowOfGame for MatchGameRow {
    type Game = MatchGame;

    fn game(&self) -> MatchGame {
        MatchGame { match_id: self.match_id.clone(), game: self.game }
    }
}

impl RowOfGame for MatchMoveRow {
    type Game = MatchGame;

    fn game(&self) -> MatchGame {
        MatchGame { match_id: self.match_id.clone(), game: self.game }
    }
}

impl MatchGameRow {
    pub(super) fn new(header: MatchHeader<'_>, game: &GameRecord) -> MatchGameRow {
        let mut row = MatchGameRow {
            match_id: header.match_id.into(),
            game: game.assignment.game,
            pair: game.assignment.pair,
            a: header.names[0].into(),
            b: header.names[1].into(),
            a_is_white: game.assignment.white == Side::A,
            half_points: game.half_points_of_a().into(),
            termination: game.termination.word().into(),
            opening: game.history.position(game.first_position()).to_fen(),
            a_moves: 0,
            b_moves: 0,
            a_nodes: 0,
            b_nodes: 0,
            a_clock_ms: None,
            b_clock_ms: None,
        };
        for (index, played) in game.moves.iter().enumerate() {
            let (moves, nodes, clock_ms) = match game.mover(index) {
                Side::A => (&mut row.a_moves, &mut row.a_nodes, &mut row.a_clock_ms),
                Side::B => (&mut row.b_moves, &mut row.b_nodes, &mut row.b_clock_ms),
            };
            *moves += 1;
            *nodes += played.new_nodes;
            *clock_ms = played.clock_ms;
        }
        row
    }

    /// Has A, or B, lost on time?
    pub(super) fn time_losses(&self) -> [bool; 2] {
        let on_time = self.termination == Termination::TimeForfeit.word();
        [on_time && self.half_points == 0, on_time && self.half_points == 2]
    }
}

/// One move of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub(super) struct MatchMoveRow {
    pub match_id: String,
    pub game: u64,
    /// Made by A, or else by B.
    pub by_a: bool,
    /// Counts the mover's moves, from 1.
    pub number: u32,
    /// Of the game, from 0, before the move.
    pub ply: u32,
    pub pieces: u32,
    /// After the move, increment included.
    pub clock_ms: Option<f64>,
    pub budget_ms: Option<f64>,
    /// `None` where no clock counts, so that rows do not depend on the machine.
    pub used_ms: Option<f64>,
    /// In the tree at the move's end.
    pub nodes: u64,
    pub new_nodes: u64,
    /// From the mover's view; mates beyond 29,000.
    pub centipawns: Option<i32>,
    /// To the end of the game, as the search saw it.
    pub moves_left_plies: Option<f32>,
    /// Of the mover, as the manager reckoned.
    pub moves_left: Option<f64>,
    /// As it turned out, this one included.
    pub really_left: u32,
    /// What ended the search.
    pub end: String,
}

impl Row for MatchMoveRow {
    const KIND: &'static str = "moves of a match";
}

impl MatchMoveRow {
    /// The rows of a game's moves.
    pub(super) fn of_game(header: MatchHeader<'_>, game: &GameRecord) -> Vec<MatchMoveRow> {
        let first = game.first_position();
        let moves = game.moves.iter().enumerate();
        let row = |(index, played): (usize, &crate::lab::matches::MoveRecord)| {
            let before = game.history.position(first + index);
            MatchMoveRow {
                match_id: header.match_id.into(),
                game: game.assignment.game,
                by_a: game.mover(index) == Side::A,
                number: index as u32 / 2 + 1,
                ply: before.game_ply(),
                pieces: before.piece_count() as u32,
                clock_ms: played.clock_ms,
                budget_ms: played.budget_ms,
                used_ms: played.clock_ms.map(|_| played.used_ms),
                nodes: played.nodes,
                new_nodes: played.new_nodes,
                centipawns: played.score.map(MoveScore::centipawns),
                moves_left_plies: played.moves_left,
                moves_left: played.managers_moves_left,
                really_left: (game.moves.len() - index).div_ceil(2) as u32,
                end: played.end.to_string(),
            }
        };
        moves.map(row).collect()
    }
}
