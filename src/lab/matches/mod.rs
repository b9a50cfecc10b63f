//! Matches: games between two engines, many at once in one process, and what they prove.
//!
//! [`play`](fn@play) takes two engines ([`Team`]), [`Openings`] and [`MatchRules`], and hands out finished
//! games in the order of their numbers. The way of a game: `schedule` gives it an opening and its colours (`game_source` is the
//! seam for runs that decide on the way who plays, such as [`tuning`](crate::lab::tuning)); a thread of `play`
//! takes it along with many others and evaluates the positions of all of them in one batch, except those that
//! `shared_eval_cache` knows; `game` plays it, with `limit` and `adjudication`; `foreign` lets engines of others play. With fixed nodes or under `nodestime` a game
//! depends on its number and the seed alone, not on how many others run beside it.
//!
//! Then `pgn_writer` and `rows` say what is written of a game, and `row_files` writes it; `summary`, `study` and `ranking` compute
//! results from the rows with [`statistics`], `pruning` the part that smart pruning had; `page` shows them. The commands `match` and `report` call this module; it uses
//! `engine` and what lies below it.

mod adjudication;
mod foreign;
mod game;
mod game_source;
mod limit;
mod openings;
mod page;
mod pgn_writer;
mod play;
mod pruning;
mod ranking;
mod row_files;
mod rows;
mod schedule;
mod shared_eval_cache;
pub mod statistics;
mod study;
mod summary;

pub use adjudication::{Adjudication, DrawRule, WinRule};
pub use foreign::{ForeignCommand, ForeignEngine};
pub use game::{GameOutcome, GameRecord, MatchRules, MoveRecord, MoveScore, Termination};
pub use game_source::{GameSource, NextGame, PlannedGame, ScheduledGames};
pub use limit::SideLimit;
pub use openings::{Opening, Openings, OpeningsError};
pub use page::{page, pruning_table, table};
pub(in crate::lab) use pgn_writer::eval_of_white;
pub use pgn_writer::{PgnTags, write_pgn};
pub use play::{MatchConfig, play};
pub use pruning::PruningCounts;
pub use ranking::Ranking;
pub use row_files::{MatchFiles, columns};
pub use rows::{MatchGame, MatchGameRow, MatchHeader, MatchMoveRow};
pub use schedule::{GameAssignment, Schedule};
pub use study::MatchStudy;
pub use summary::{MatchCounts, MatchSummary, RunSpeed};

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::engine::{EngineError, EngineSetup};
use crate::lab::UciProcessError;
use crate::lab::rows::RowError;
use crate::network::BackendError;

/// An engine that plays a match.
#[derive(Clone, Debug)]
pub enum Team {
    /// This one, with its options.
    Own(Arc<EngineSetup>),
    /// One of others, under UCI.
    Foreign(Arc<ForeignEngine>),
}

/// One of the two engines of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first engine, whose point of view results are from.
    A,
    /// The second engine.
    B,
}

impl Side {
    /// Returns the other one.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }

    /// Returns 0 for A and 1 for B, for arrays of two.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// The reason why a match cannot be played, go on, or be written down.
#[derive(Debug, Error)]
pub enum MatchError {
    /// An engine refuses to play.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An engine of others fails.
    #[error(transparent)]
    Foreign(#[from] UciProcessError),
    /// A network could not be evaluated.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The system starts no thread to play games on.
    #[error("the system starts no thread to play games on: {0}")]
    Thread(std::io::Error),
    /// A thread that plays games died.
    #[error("a thread that plays games panicked; this is a bug, please report it")]
    Panic,
    /// Files could not be read or written.
    #[error(transparent)]
    Rows(#[from] RowError),
    /// The folder holds another match.
    #[error("{}: holds the games of another match or shard; choose another --out, or the same options", folder.display())]
    OtherMatch {
        /// The folder.
        folder: PathBuf,
    },
    /// A file has fewer games than the rows beside it name.
    #[error(
        "{}: lacks many games that games.csv beside it has; bring it back as it was, or begin anew in another --out",
        path.display()
    )]
    MissingGames {
        /// The file.
        path: PathBuf,
    },
    /// A file has games, and no rows beside it say which.
    #[error(
        "{}: has games of which no games.csv is beside it; bring that back, or choose another --out",
        path.display()
    )]
    MissingRows {
        /// The file.
        path: PathBuf,
    },
}
