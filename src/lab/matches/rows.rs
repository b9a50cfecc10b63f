//! The rows that a match writes: one per game and one per move.

use std::fmt;

use parquet_derive::ParquetRecordWriter;
use serde::{Deserialize, Serialize};

use super::Side;
use super::game::{GameRecord, MoveRecord, MoveScore, Termination};
use crate::lab::rows::{Row, RowOfGame};
use crate::version::VERSION;

/// The columns that all rows of a match have in common.
#[derive(Clone, Copy, Debug)]
pub struct MatchHeader<'a> {
    /// Identifies the match: the same on every machine; other options or openings give another.
    pub match_id: &'a str,
    /// The names of A and B.
    pub names: [&'a str; 2],
}

/// The row of one game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub struct MatchGameRow {
    /// Identifies the match, see [`MatchHeader::match_id`].
    pub match_id: String,
    /// The game's number in the whole match, from 0, whatever the shard.
    pub game: u64,
    /// The number of the pair: two games with the same opening and colours swapped.
    pub pair: u64,
    /// The name of A.
    pub a: String,
    /// The name of B.
    pub b: String,
    /// True if A has White.
    pub a_is_white: bool,
    /// Half points of A: 0, 1 or 2.
    pub half_points: u32,
    /// The way the game ended, see [`Termination::word`].
    pub termination: String,
    /// The position in which the engines began, as FEN.
    pub opening: String,
    /// Moves that A made.
    pub a_moves: u32,
    /// Moves that B made.
    pub b_moves: u32,
    /// New nodes that A searched, also for a move that came too late.
    pub a_nodes: u64,
    /// New nodes that B searched, also for a move that came too late.
    pub b_nodes: u64,
    /// A's clock at the end, ms, negative if its flag fell; `None` where only nodes count.
    pub a_clock_ms: Option<f64>,
    /// B's clock at the end, ms, negative if its flag fell; `None` where only nodes count.
    pub b_clock_ms: Option<f64>,
    /// The version of the program that wrote the row, see [`VERSION`]; empty in rows of before there was this column.
    #[serde(default)]
    pub version: String,
}

impl Row for MatchGameRow {
    const KIND: &'static str = "games of a match";
}

/// A game of one of several matches, in the order of the rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchGame {
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
    /// Returns the row of a finished game.
    pub fn new(header: MatchHeader<'_>, game: &GameRecord) -> MatchGameRow {
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
            version: VERSION.into(),
        };
        for (index, played) in game.moves.iter().chain(&game.late).enumerate() {
            let (moves, nodes, clock_ms) = match game.mover(index) {
                Side::A => (&mut row.a_moves, &mut row.a_nodes, &mut row.a_clock_ms),
                Side::B => (&mut row.b_moves, &mut row.b_nodes, &mut row.b_clock_ms),
            };
            *moves += u32::from(index < game.moves.len());
            *nodes += played.new_nodes;
            *clock_ms = played.clock_ms;
        }
        row
    }

    /// Says whether A, and whether B, has lost on time.
    pub fn time_losses(&self) -> [bool; 2] {
        let on_time = self.termination == Termination::TimeForfeit.word();
        [on_time && self.half_points == 0, on_time && self.half_points == 2]
    }
}

/// The row of one move of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ParquetRecordWriter)]
pub struct MatchMoveRow {
    /// Identifies the match, see [`MatchHeader::match_id`].
    pub match_id: String,
    /// The game's number in the whole match, from 0.
    pub game: u64,
    /// True if A made the move, false if B did.
    pub by_a: bool,
    /// Counts the mover's moves, from 1.
    pub number: u32,
    /// Plies of the game before the move.
    pub ply: u32,
    /// Pieces and pawns on the board before the move.
    pub pieces: u32,
    /// The mover's clock after the move, increment included, ms.
    pub clock_ms: Option<f64>,
    /// The time manager's budget, ms.
    pub budget_ms: Option<f64>,
    /// Time that the move cost the clock, ms; `None` where no clock counts, so that rows do not depend on the machine.
    pub used_ms: Option<f64>,
    /// Nodes in the tree at the move's end.
    pub nodes: u64,
    /// Those of them that were new.
    pub new_nodes: u64,
    /// The search's evaluation from the mover's point of view, centipawns; mates lie beyond 29,000.
    pub centipawns: Option<i32>,
    /// Plies to the end of the game, as the search saw it.
    pub moves_left_plies: Option<f32>,
    /// Full moves that the mover still has to make, as the time manager estimated.
    pub moves_left: Option<f64>,
    /// Full moves that the mover really made from here on, this one included.
    pub really_left: u32,
    /// The rule that ended the search.
    pub end: String,
}

impl Row for MatchMoveRow {
    const KIND: &'static str = "moves of a match";
}

impl MatchMoveRow {
    /// Returns the rows of a game's moves.
    pub fn of_game(header: MatchHeader<'_>, game: &GameRecord) -> Vec<MatchMoveRow> {
        let first = game.first_position();
        let moves = game.moves.iter().enumerate();
        let row = |(index, played): (usize, &MoveRecord)| {
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
                end: played.end.clone(),
            }
        };
        moves.map(row).collect()
    }
}
