//! Training data: games with labels, from the sources they come from to the tables that the trainer reads.
//!
//! The way of a game: [`play`] makes it, [`blunders`] makes lines that leave it, or [`pgn`] or [`teacher`] imports it, [`record`] keeps it in few bytes, [`table`] expands it to one
//! row per position. The command `datagen` calls it; the trainer in `models/training` reads the tables. It uses the rules
//! of [`chess`](crate::chess) and, for moves that look good, an evaluator of [`network`](crate::network).

pub mod blunders;
mod bytes;
pub mod cursor;
pub mod game;
pub mod pgn;
pub mod play;
pub mod record;
pub mod table;
pub mod teacher;
pub mod uci_teacher;

use thiserror::Error;

use crate::chess::PositionError;
use crate::network::BackendError;

/// The reason why training data could not be read or written.
#[derive(Debug, Error)]
pub enum TrainingDataError {
    /// A start position that isn't one.
    #[error("a game's start: {0}")]
    Position(#[from] PositionError),
    /// A move that its position doesn't allow.
    #[error("move {text} at ply {ply} of a game is not legal: the file is damaged or of another format")]
    IllegalMove {
        /// The move.
        text: String,
        /// Plies since the start of the game.
        ply: usize,
    },
    /// The data ends early or contradicts itself.
    #[error("damaged training data at byte {offset}: {reason}")]
    Damaged {
        /// The place of the problem, in the uncompressed bytes.
        offset: usize,
        /// The problem there.
        reason: String,
    },
    /// A game that the record format has no room for.
    #[error("a game doesn't fit the record format: {0}")]
    TooLarge(String),
    /// The engine that plays and labels games failed.
    #[error("the teacher {name} {reason}")]
    Teacher {
        /// Its program.
        name: String,
        /// The problem with it.
        reason: String,
    },
    /// The network that draws moves failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The teacher thinks one side is better in all of them.
    #[error("none of {attempts} openings is balanced; give balanced ones")]
    Openings {
        /// The number of openings that were tried.
        attempts: u64,
    },
    /// No position of the games has a teacher's labels.
    #[error("a teacher has labelled no position of these games; name files that `datagen play` wrote")]
    NoLabels,
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
