//! Reads recorded games: PGN, plain or compressed, one game after the other.
//!
//! [`Games`] streams files of any size in bounded memory. A game that cannot be played through is reported with its number
//! and skipped. Comments give clocks (`%clk`, `%emt`), evaluations (`%eval`) and book moves. `training` and the commands that
//! measure on recorded games use this module; it uses the rules of [`chess`](crate::chess) and nothing else of the engine.

mod comment;
mod reader;
pub(in crate::lab) mod writing;

pub use reader::Games;

use std::io;

use thiserror::Error;

use crate::chess::{Move, Position, Variant};

/// The tag of the result.
const RESULT: &str = "Result";

/// A game as it was recorded.
#[derive(Clone, Debug)]
pub struct RecordedGame {
    /// Its place in the stream, from 1; broken games count.
    pub number: u64,
    /// The tags, in their order; without a tag `Result` the result that follows the moves is the last one.
    pub tags: Tags,
    /// The position before the first move.
    pub start: Position,
    /// Standard unless the tag `Variant` says Fischer random.
    pub variant: Variant,
    /// The moves, all legal.
    pub moves: Vec<RecordedMove>,
    /// The position after the last move.
    pub end: Position,
    /// True if the game was played to an end: its moves or its tag `Result` have a result other than `*`, and the file was not cut
    /// off within its moves.
    pub has_result: bool,
}

/// A move and what its comments say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedMove {
    /// The move.
    pub r#move: Move,
    /// True if the move is from an opening book and not the player's choice (`{book}`).
    pub is_book: bool,
    /// The player's evaluation (`%eval`) in centipawns from the mover's point of view; a mate in n plies is 32000 − n,
    /// being mated n − 32000.
    pub centipawns: Option<i16>,
    /// The mover's clock after the move, increment included (`%clk`), ms.
    pub clock_ms: Option<f64>,
    /// Time spent on the move (`%emt`), ms.
    pub used_ms: Option<f64>,
}

impl RecordedMove {
    fn new(played: Move) -> RecordedMove {
        RecordedMove { r#move: played, is_book: false, centipawns: None, clock_ms: None, used_ms: None }
    }
}

/// The tags of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    pairs: Vec<(String, String)>,
}

impl Tags {
    /// Returns the value of the first tag of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the result in the tag `Result`, from White's point of view: 1, 0 or −1; `None` for `*` and where there is none.
    pub fn result(&self) -> Option<i8> {
        match self.get(RESULT)? {
            "1-0" => Some(1),
            "0-1" => Some(-1),
            "1/2-1/2" => Some(0),
            _ => None,
        }
    }

    /// Returns all tags, name and value, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn push(&mut self, name: String, value: String) {
        self.pairs.push((name, value));
    }
}

/// The reason why there is no game.
#[derive(Debug, Error)]
pub enum GameError {
    /// This game is broken; those after it can be read.
    #[error("game {number} is skipped: {reason}")]
    Broken {
        /// Its place in the stream, from 1.
        number: u64,
        /// The problem with it.
        reason: String,
    },
    /// The stream ends here.
    #[error("{name}: {error}")]
    Read {
        /// The file's name.
        name: String,
        /// The error of the system, the decompressor or the PGN parser.
        error: io::Error,
    },
}
