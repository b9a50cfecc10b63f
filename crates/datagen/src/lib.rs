//! Training data for networks: games with labels, and the tables that the trainer in `models/training` reads.
//!
//! [`game`] imports games, [`teacher`] plays them and labels mistakes. [`record`] stores a game in few bytes,
//! [`table`] expands it to one row per position.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod game;
pub mod record;
pub mod table;
pub mod teacher;

use thiserror::Error;

use zeitnot_engine::chess::PositionError;
use zeitnot_engine::network::BackendError;
use zeitnot_lab::UciProcessError;

#[derive(Debug, Error)]
pub enum TrainingDataError {
    #[error("a game's start: {0}")]
    Position(#[from] PositionError),
    #[error("move {text} at ply {ply} of a game is not legal: the file is damaged or of another format")]
    IllegalMove { text: String, ply: usize },
    /// The data ends early or contradicts itself.
    #[error("damaged training data at byte {offset}: {reason}")]
    Damaged { offset: usize, reason: String },
    #[error("the format has no room for {0}")]
    TooLarge(&'static str),
    #[error("the teacher {0}")]
    Teacher(#[from] UciProcessError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(
        "a teacher has labelled no position of these games; name files that `zeitnot-datagen play` wrote"
    )]
    NoLabels,
}
