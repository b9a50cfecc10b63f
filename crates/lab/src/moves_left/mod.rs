//! The moves-left laboratory: how well estimators foresee the length of recorded games.
//!
//! [`Measurer`] writes a [`PositionRow`] for each position of a game, with what the network says of it.
//! [`Study`] reads rows and compares [`Estimator`]s with the moves that were really left. `page` shows its
//! findings. All figures come from rows, in the order of the games' numbers, so that rows of many machines
//! give the very figures of one. The commands `movesleft` and `report` use it.
//!
//! Units: what the head says and `plies_left` are plies of both sides. All estimates and errors are **full
//! moves of one side**.

mod estimator_study;
mod estimators;
mod measure;
mod statistics;
mod study_page;

pub use estimator_study::Study;
pub use estimators::{Estimator, MovesLeftSource};
pub use measure::{Measurer, Selection};

use serde::{Deserialize, Serialize};

use crate::rows::{Row, RowOfGame};
use zeitnot_engine::time::GamePly;
pub use zeitnot_engine::time::Plies;
use zeitnot_engine::time::estimators::moves_left::MovesLeftInput;

/// A position of a recorded game, what was really left of it, and what the network says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionRow {
    /// The game's number in the stream of all files, from 1. Broken and filtered games count.
    pub game: u64,
    /// Plies played before this position, of both sides.
    pub(crate) ply: u32,
    /// Plies that were still played, of both sides.
    pub(crate) plies_left: u32,
    /// Full moves that the side to move still made: half of `plies_left`, rounded up.
    pub(crate) moves_left: u32,
    /// Pieces and pawns on the board, kings included.
    pub(crate) pieces: u32,
    /// 1, 0 or −1 for the side to move, or none for unknown results.
    pub(crate) result: Option<i32>,
    pub(crate) ending: String,
    /// A hash of the tag `Event`, which tells events apart.
    pub(crate) event: u64,
    /// The player's own evaluation in centipawns for the side to move, where the PGN has it.
    pub(crate) centipawns: Option<i32>,
    /// The network's win minus loss for the side to move.
    pub(crate) q: Option<f32>,
    /// The Moves Left Head's output for the position, plies.
    pub(crate) m_plies: Option<f32>,
    /// Visit-weighted mean of the head over a searched tree, plies.
    pub(crate) m_search_plies: Option<f32>,
    /// Standard deviation of the head over that tree, plies.
    pub(crate) m_spread_plies: Option<f32>,
    /// The estimate of `mle-legacy` with its defaults, full moves.
    pub(crate) legacy_moves: f32,
    /// The estimate of `mle-pieces` with its defaults, full moves.
    pub(crate) pieces_moves: f32,
    /// The estimate of `mle-mlh` with its defaults for `m_plies`, full moves.
    pub(crate) mlh_moves: Option<f32>,
    /// The version of the program that wrote the row, see [`VERSION`](zeitnot_engine::VERSION), empty in rows
    /// of before there was this column.
    #[serde(default)]
    pub(crate) version: String,
}

impl Row for PositionRow {
    const KIND: &'static str = "movesleft";
}

impl PositionRow {
    /// What estimators may look at, with the head's raw output for M.
    fn input(&self) -> MovesLeftInput {
        MovesLeftInput {
            game_ply: GamePly(self.ply),
            pieces: self.pieces,
            m: self.m_plies.map(|m| Plies(m.into())),
            m_spread: None,
        }
    }

    /// The same with M and its spread after the search.
    fn searched_input(&self) -> MovesLeftInput {
        MovesLeftInput {
            m: self.m_search_plies.map(|m| Plies(m.into())),
            m_spread: self.m_spread_plies.map(|spread| Plies(spread.into())),
            ..self.input()
        }
    }
}

impl RowOfGame for PositionRow {
    type Game = u64;

    fn game(&self) -> u64 {
        self.game
    }
}
