//! The rows of a match: one per game, one per move.

use serde::{Deserialize, Serialize};

use super::Side;
use super::game::{GameRecord, PlayedMove, Termination};
use crate::move_rows::MoveRow;
use crate::rows::{GameFiles, GameKey, Row};
use zeitnot_engine::VERSION;

pub type MatchRowFiles = GameFiles<MatchGameRow, MoveRow>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatchGameRow {
    /// The same on every machine. Other options or openings give another.
    pub(crate) match_id: String,
    /// In the whole tournament, from 0, whatever the shard.
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
    /// Of start and moves, those of the opening included. Empty in older rows.
    #[serde(default)]
    pub(crate) moves_hash: String,
    /// See [`VERSION`], empty in older rows.
    #[serde(default)]
    pub(crate) version: String,
}

impl Row for MatchGameRow {
    const KIND: &'static str = "games of a match";

    fn game(&self) -> GameKey {
        GameKey { match_id: self.match_id.clone(), game: self.game }
    }
}

impl MatchGameRow {
    pub(super) fn new(match_id: &str, game: &GameRecord) -> MatchGameRow {
        let [a, b] = game.contenders.each_ref().map(|contender| contender.name.clone());
        let mut row = MatchGameRow {
            match_id: match_id.into(),
            game: game.assignment.game,
            pair: game.assignment.pair(),
            a,
            b,
            a_is_white: game.assignment.white == Side::A,
            half_points: game.half_points_of_a().into(),
            termination: game.end.termination.word().into(),
            opening: game.history.position(game.first_position()).to_fen(),
            version: VERSION.into(),
            moves_hash: game.hash(),
            ..MatchGameRow::default()
        };
        for (index, played) in game.moves.iter().chain(&game.late).enumerate() {
            let (moves, nodes, clock_ms) = match game.mover(index) {
                Side::A => (&mut row.a_moves, &mut row.a_nodes, &mut row.a_clock_ms),
                Side::B => (&mut row.b_moves, &mut row.b_nodes, &mut row.b_clock_ms),
            };
            *moves += u32::from(index < game.moves.len());
            *nodes += played.row.new_nodes;
            *clock_ms = played.clock_ms;
        }
        row
    }

    /// Whether A, or B, has lost on time.
    pub(crate) fn time_losses(&self) -> [bool; 2] {
        self.losses_by(&[Termination::TimeForfeit])
    }

    /// Whether A, or B, has lost by an illegal move or a crash.
    pub(super) fn faults(&self) -> [bool; 2] {
        self.losses_by(&[Termination::IllegalMove, Termination::Disconnection])
    }

    fn losses_by(&self, ways: &[Termination]) -> [bool; 2] {
        [0, 2]
            .map(|points| points == self.half_points && ways.iter().any(|way| way.word() == self.termination))
    }
}

pub(super) fn rows_of_moves(match_id: &str, game: &GameRecord) -> Vec<MoveRow> {
    let row = |(index, played): (usize, &PlayedMove)| MoveRow {
        match_id: match_id.into(),
        game: game.assignment.game,
        control: game.contenders[game.mover(index).index()].limit.to_string(),
        // Without a clock rows do not depend on the machine.
        used_ms: played.row.clock_ms.and(played.row.used_ms),
        really_left: (game.moves.len() - index).div_ceil(2) as u32,
        ..played.row.clone()
    };
    game.moves.iter().enumerate().map(row).collect()
}
