//! The moves-left laboratory: how well estimators foresee the length of recorded games.
//!
//! [`Measurer`] writes a [`PositionRow`] for each position. [`study`] compares [`Estimator`]s with the moves
//! really left. `page` shows its findings. Used by `movesleft` and `report`.
//!
//! The head's output and `plies_left` are plies of both sides. Estimates and errors are **full moves of one
//! side**.

mod estimator_study;
mod estimators;
mod measure;
mod statistics;
mod study_page;

pub use estimator_study::study;
pub use estimators::Estimator;
pub use measure::{Measurer, Selection};

use serde::{Deserialize, Serialize};

use crate::rows::{GameKey, Row, csv_of};
use crate::run::Entry;
use zeitnot_engine::time::estimators::moves_left::MovesLeftInput;
use zeitnot_engine::time::{GamePly, Plies};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionRow {
    /// In the stream of all files, from 1. Broken and filtered games count.
    pub game: u64,
    /// Played before, of both sides.
    ply: u32,
    /// Still played, of both sides.
    plies_left: u32,
    /// Of the side to move: half of `plies_left`, rounded up.
    moves_left: u32,
    pieces: u32,
    /// 1, 0 or −1 for the side to move.
    result: Option<i32>,
    ending: String,
    /// Hash of the tag `Event`.
    event: u64,
    /// The player's own evaluation for the side to move, from the PGN.
    centipawns: Option<i32>,
    /// Win minus loss for the side to move.
    q: Option<f32>,
    /// The Moves Left Head's output.
    m_plies: Option<f32>,
    /// Visit-weighted mean of the head over a searched tree.
    m_search_plies: Option<f32>,
    /// Standard deviation of the head over that tree.
    m_spread_plies: Option<f32>,
    /// The identity of the run, empty in older rows.
    #[serde(default)]
    pub run: String,
    /// See [`VERSION`](zeitnot_engine::VERSION), empty in older rows.
    #[serde(default)]
    version: String,
}

impl Row for PositionRow {
    const KIND: &'static str = "movesleft";

    fn game(&self) -> GameKey {
        self.game.into()
    }
}

/// The table of all rows.
pub const ROWS: &str = "movesleft.csv";

/// The lines of a game's table.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasuredGame {
    pub game: u64,
    rows: String,
}

impl MeasuredGame {
    /// `None` if no position was measured.
    pub fn of(rows: &[PositionRow]) -> Option<MeasuredGame> {
        Some(MeasuredGame {
            game: rows.first()?.game,
            rows: csv_of(rows, false),
        })
    }
}

impl Entry for MeasuredGame {
    const JOURNAL: &'static str = "movesleft.jsonl";

    fn exports() -> Vec<(&'static str, String)> {
        vec![(ROWS, PositionRow::header())]
    }

    fn texts(&self) -> Vec<String> {
        vec![self.rows.clone()]
    }
}

impl PositionRow {
    /// What an estimator gets, with this M and its spread.
    fn input(&self, m: Option<f32>, m_spread: Option<f32>) -> MovesLeftInput {
        let [m, m_spread] = [m, m_spread].map(|plies| plies.map(|plies| Plies(plies.into())));
        MovesLeftInput {
            game_ply: GamePly(self.ply),
            pieces: self.pieces,
            m,
            m_spread,
        }
    }
}
