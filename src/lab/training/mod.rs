//! Training data: games with labels, from the sources they come from to the tables that the trainer reads.
//!
//! The way of a game: [`play`] makes it, or [`pgn`] or [`teacher`] imports it, [`record`] keeps it in few bytes, [`table`] expands it to one
//! row per position. Called by the command `datagen`; the trainer in `models/training` reads the tables. Uses the rules
//! of [`chess`](crate::chess) and nothing else of the engine.

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

/// Why training data could not be read or written.
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
        /// Where, in the uncompressed bytes.
        offset: usize,
        /// What is wrong there.
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
        /// What it did.
        reason: String,
    },
    /// The teacher thinks one side is better in all of them.
    #[error("none of {attempts} openings is balanced; give balanced ones")]
    Openings {
        /// How many were tried.
        attempts: u64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
