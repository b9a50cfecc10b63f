//! Why a measurement could not be made. It stands below all that fails, so that who hands an error on need
//! not know its source.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use zeitnot_engine::engine::EngineError;
use zeitnot_engine::foreign::in_our_words;
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

/// What is wrong with a file of rows, or with a folder of a run.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RowError(pub(crate) String);

impl RowError {
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> RowError {
        move |error| RowError::of(path, in_our_words(&error))
    }

    pub(crate) fn ended(path: &Path) -> impl FnOnce(io::Error) -> RowError {
        let kept = "what was written before is kept, and the same command goes on from there";
        move |error| RowError::of(path, format_args!("{}; {kept}", in_our_words(&error)))
    }

    pub(crate) fn of(path: &Path, text: impl fmt::Display) -> RowError {
        RowError(format!("{}: {text}", path.display()))
    }
}

#[derive(Debug, Error)]
pub enum GameError {
    #[error("game {number}{players} is skipped: {reason}")]
    Broken {
        number: u64,
        /// ` (players)`, empty if they are not known.
        players: String,
        reason: String,
    },
    #[error("{name}: {}", in_our_words(error))]
    Read { name: String, error: io::Error },
}

#[derive(Clone, Debug, Error)]
#[error("{name} {reason}")]
pub struct UciProcessError {
    pub name: String,
    /// What it did, as in "has ended".
    pub reason: String,
}
