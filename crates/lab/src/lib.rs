//! The laboratory of Zeitnot: measurements with many games. The engine does without it.
//!
//! Each measurement has the games that it reads or plays, the *rows* that it writes, the *study* that is
//! computed from rows, and the *page* that shows it. [`Phase`] says what opening, middlegame and endgame are,
//! and [`LabError`] why a measurement could not be made. The commands `analyse`, `match`, `tune`, `timelab`,
//! `movesleft` and `report` call these modules.
//!
//! # Layers
//!
//! A module uses those below its row only (`tests/architecture.rs`).
//!
//! | module | job |
//! |---|---|
//! | [`tuning`] | comparisons of option values by matches |
//! | [`analysis`] | the moves of recorded games |
//! | `matches` | games of two engines, and what they prove |
//! | [`replay`] | time managers on whole games in virtual time |
//! | [`moves_left`] | moves-left estimators on recorded games |
//! | `viewer` | the page's board and graphs |
//! | `move_rows` | the row of a played move, its curves |
//! | `score` | the scales of evaluations: pawns, winning chances |
//! | `uci_process` | external engines |
//! | [`report`] | tables, plots and pages |
//! | [`runner`] | jobs in order on threads |
//! | [`pgn`] | recorded games |
//! | [`run`] | who owns the folder of a run, and the journal in it |
//! | [`rows`] | CSV files, and how the rows of several machines are put together |

// Tests may unwrap. Everything else says what went wrong.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod analysis;
pub mod matches;
pub mod move_rows;
pub mod moves_left;
pub mod pgn;
pub mod replay;
pub mod report;
pub mod rows;
pub mod run;
pub mod runner;
mod score;
pub mod tuning;
mod uci_process;
mod viewer;

use std::path::PathBuf;

use thiserror::Error;

pub use pgn::GameError;
pub use rows::RowError;
pub use score::MoveScore;
pub use uci_process::{
    EngineLog, ExternalCommand, ExternalEngine, ExternalGame, InfoLine, UciProcessError, latest_lines,
};
use zeitnot_engine::engine::EngineError;
use zeitnot_engine::network::BackendError;

#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    External(#[from] UciProcessError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Games(#[from] GameError),
    #[error(transparent)]
    Rows(#[from] RowError),
    /// More games than the rules of the match allow were lost by disconnection.
    #[error(
        "external engines have failed in {0} games, and the match ends (--recover N allows more); the games so far are kept with --out"
    )]
    TooManyFailures(u64),
    #[error("the system starts no thread to work on: {0}")]
    Thread(std::io::Error),
    #[error("a thread panicked; this is a bug, please report it")]
    Panic,
    #[error("{}: holds {what}; choose another --out, or the same options", path.display())]
    OtherRun { path: PathBuf, what: &'static str },
}

/// A phase of a game, by the pieces and pawns on the board, kings included, as every measurement and document
/// means it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// 25 pieces or more.
    Opening,
    /// 13 to 24 pieces.
    Middlegame,
    /// 12 pieces or fewer.
    Endgame,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::Opening, Phase::Middlegame, Phase::Endgame];

    pub fn of(pieces: u32) -> Phase {
        match pieces {
            25.. => Phase::Opening,
            13..25 => Phase::Middlegame,
            _ => Phase::Endgame,
        }
    }

    pub fn name(self) -> &'static str {
        ["opening", "middlegame", "endgame"][self as usize]
    }
}
