//! Training data for networks: games with labels, and the tables that the trainer in `models/training` reads.
//!
//! [`labelled_games`] imports games, or a [`teacher`] plays them and labels lines that leave them by
//! mistakes. [`record`] keeps a game in few bytes, and [`table`] expands it to one row per position. The
//! program `zeitnot-datagen` calls all of it.

// Tests may unwrap. Everything else says what went wrong.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod game;
pub mod labelled_games;
pub mod record;
pub mod table;
pub mod teacher;

use thiserror::Error;

use zeitnot_engine::chess::PositionError;
use zeitnot_engine::network::BackendError;
use zeitnot_lab::UciProcessError;

/// The reason why training data could not be read or made.
#[derive(Debug, Error)]
pub enum TrainingDataError {
    /// A start position that isn't one.
    #[error("a game's start: {0}")]
    Position(#[from] PositionError),
    /// A move that its position doesn't allow.
    #[error("move {text} at ply {ply} of a game is not legal: the file is damaged or of another format")]
    IllegalMove { text: String, ply: usize },
    /// The data ends early or contradicts itself.
    #[error("damaged training data at byte {offset}: {reason}")]
    Damaged { offset: usize, reason: String },
    /// A game or table that the format has no room for.
    #[error("the format has no room for {0}")]
    TooLarge(&'static str),
    /// The engine that plays and labels games failed.
    #[error("the teacher {0}")]
    Teacher(#[from] UciProcessError),
    /// The network that draws moves failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// No position of the games has a teacher's labels.
    #[error(
        "a teacher has labelled no position of these games; name files that `zeitnot-datagen play` wrote"
    )]
    NoLabels,
}
