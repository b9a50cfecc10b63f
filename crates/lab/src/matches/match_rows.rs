//! The rows of a match: one per game, one per move.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Side;
use super::game::{GameRecord, SideLimit, Termination};
use super::record::MoveRecord;
use crate::rows::{GameFiles, Row, RowOfGame};
use crate::score::MoveScore;
use zeitnot_engine::VERSION;

#[derive(Clone, Copy, Debug)]
pub struct MatchHeader<'a> {
    /// The same on every machine. Other options or openings give another.
    pub match_id: &'a str,
    pub names: [&'a str; 2],
    pub limits: [SideLimit; 2],
}

pub type MatchRowFiles = GameFiles<MatchGameRow, MatchMoveRow>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatchGameRow {
    pub(crate) match_id: String,
    /// In the whole match, from 0, whatever the shard.
    pub(crate) game: u64,
    /// Two games with the same opening and colours swapped.
    pub(crate) pair: u64,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) a_is_white: bool,
    pub(crate) half_points: u32,
    /// See [`Termination::word`].
    pub(crate) termination: String,
    /// FEN where the engines began.
    pub(crate) opening: String,
    pub(crate) a_moves: u32,
    pub(crate) b_moves: u32,
    /// New nodes of A and B, late moves included.
    pub a_nodes: u64,
    pub b_nodes: u64,
    /// At the end, negative for a fallen flag, `None` where only nodes count.
    pub(crate) a_clock_ms: Option<f64>,
    pub(crate) b_clock_ms: Option<f64>,
    /// See [`VERSION`], empty in older rows.
    #[serde(default)]
    pub(crate) version: String,
}

impl Row for MatchGameRow {
    const KIND: &'static str = "games of a match";
}

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
    pub fn new(header: MatchHeader<'_>, game: &GameRecord) -> MatchGameRow {
        let mut row = MatchGameRow {
            match_id: header.match_id.into(),
            game: game.assignment.game,
            pair: game.assignment.pair,
            a: header.names[0].into(),
            b: header.names[1].into(),
            a_is_white: game.assignment.white == Side::A,
            half_points: game.half_points_of_a().into(),
            termination: game.end.termination.word().into(),
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

    pub(crate) fn time_losses(&self) -> [bool; 2] {
        let on_time = self.termination == Termination::TimeForfeit.word();
        [on_time && self.half_points == 0, on_time && self.half_points == 2]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatchMoveRow {
    pub(crate) match_id: String,
    pub(crate) game: u64,
    pub(crate) by_a: bool,
    /// Counts the mover's moves, from 1.
    pub(crate) number: u32,
    pub(crate) ply: u32,
    pub(crate) pieces: u32,
    /// The mover's clock after the move, with increment.
    pub(crate) clock_ms: Option<f64>,
    pub(crate) budget_ms: Option<f64>,
    /// `None` without a clock, so that rows do not depend on the machine.
    pub(crate) used_ms: Option<f64>,
    /// In the tree at the move's end.
    pub(crate) nodes: u64,
    pub(crate) new_nodes: u64,
    /// From the mover's point of view. Mates lie beyond 29,000.
    pub(crate) centipawns: Option<i32>,
    pub(crate) moves_left_plies: Option<f32>,
    /// The time manager's estimate, full moves of the mover.
    pub(crate) moves_left: Option<f64>,
    /// Full moves of the mover from here on, this one included.
    pub(crate) really_left: u32,
    pub(crate) end: String,
}

impl Row for MatchMoveRow {
    const KIND: &'static str = "moves of a match";
}

impl MatchMoveRow {
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
