//! Games between two engines, many at once in one process, and what they prove.
//!
//! [`play`](fn@play) takes two [teams](crate::engine::EngineSetup), [`Openings`] and [`MatchRules`], and hands out finished games in the
//! order of their numbers. The way of a game: the `schedule` gives it an opening and its colours; a thread of `play` takes it
//! along with many others and evaluates the positions of all of them in one batch, but for those that `shared_eval_cache` knows; `game` plays it, with `limit` and
//! `adjudication`; `pgn` writes it down; `statistics` add games up. With fixed nodes or under `nodestime` a game depends on
//! its number and the seed alone, not on how many others run beside it.
//! Called by the command `match`; uses `engine` and what lies below.

mod adjudication;
mod game;
mod limit;
mod openings;
mod pgn;
mod play;
mod schedule;
mod shared_eval_cache;
pub mod statistics;

pub use adjudication::{Adjudication, DrawRule, WinRule};
pub use game::{GameOutcome, GameRecord, MatchRules, MoveRecord, MoveScore, Termination};
pub use limit::SideLimit;
pub use openings::{Opening, Openings, OpeningsError};
pub use pgn::{PgnTags, write_pgn};
pub use play::{MatchConfig, play};
pub use schedule::{GameAssignment, Schedule};

use thiserror::Error;

use crate::engine::EngineError;
use crate::network::BackendError;

/// Index of a team or of what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first engine, whose point of view results are from.
    A,
    /// The second engine.
    B,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }

    /// 0 or 1, for arrays of two.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Why games cannot go on.
#[derive(Debug, Error)]
pub enum MatchError {
    /// An engine refuses to play.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A network could not be evaluated.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The system starts no thread to play games on.
    #[error("the system starts no thread to play games on: {0}")]
    Thread(std::io::Error),
    /// A thread that plays games died.
    #[error("a thread that plays games panicked; this is a bug, please report it")]
    Panic,
}
