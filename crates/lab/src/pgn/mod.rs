//! Recorded games: reads PGN, plain or compressed, one game after the other, and writes it.
//!
//! [`Games`] streams files of any size in bounded memory: `tokens` splits the text, `draft` makes games of
//! the tokens. Every word is understood, or the game is skipped, with a message. `comments` gives clocks and
//! evaluations, `control` the rules of the clock.

mod comments;
mod control;
mod draft;
mod ending;
mod marks;
mod tags;
mod tokens;
mod variation;
mod write;

use std::io::{self, ErrorKind, Read};
use std::path::Path;

pub use crate::error::GameError;
pub use control::RecordedControl;
pub(crate) use control::used_ms;
pub(crate) use draft::MARKS_OF_PEOPLE;
use draft::{Draft, Taken};
pub use ending::{Ending, base_seconds, ending, is_held_out};
pub use tags::Tags;
pub(crate) use tags::{ANNOTATOR, ANNOTATOR_BREAK, NEITHER_SCORES};
use tokens::Tokens;
pub(crate) use write::{commands, numbered, with_positions, written};
use zeitnot_engine::chess::{History, Move, Position, Variant};
use zeitnot_engine::files;
use zeitnot_engine::foreign::in_our_words;

#[derive(Clone, Debug, Default)]
pub struct RecordedGame {
    /// Its place in the stream, from 1. Broken games count.
    pub number: u64,
    /// `Result` is one of the standard's or `0-0`, or what follows the moves.
    pub tags: Tags,
    /// Of Black and White, as far as tags and clocks agree.
    pub controls: [Option<RecordedControl>; 2],
    /// Of its clocks and times, such as `[%clk]`.
    pub time_forms: Vec<&'static str>,
    pub notes: Vec<String>,
    pub start: Position,
    /// Standard unless the tag `Variant` says Fischer random.
    pub variant: Variant,
    pub comments: Vec<String>,
    pub moves: Vec<RecordedMove>,
    pub end: Position,
    /// Whether somebody scores, and the file was not cut off within the moves.
    pub has_result: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMove {
    pub r#move: Move,
    /// From an opening book, and not the player's choice (`{book}`).
    pub is_book: bool,
    /// The player's evaluation (`%eval`) in centipawns from the mover's point of view. A mate in n plies is
    /// 32000 − n, being mated n − 32000.
    pub centipawns: Option<i16>,
    /// The mover's clock after the move, increment included (`%clk`), ms.
    pub clock_ms: Option<f64>,
    /// Time spent on the move (`%emt`), ms.
    pub used_ms: Option<f64>,
    /// What people wrote behind the move, apart from the fields above.
    pub comments: Vec<String>,
    /// People's marks behind the move, by their numbers (NAG).
    pub marks: Vec<u8>,
    /// The variations behind the move, without their outer brackets.
    pub variations: Vec<String>,
}

impl RecordedMove {
    fn new(played: Move) -> RecordedMove {
        RecordedMove {
            r#move: played,
            is_book: false,
            centipawns: None,
            clock_ms: None,
            used_ms: None,
            comments: Vec::new(),
            marks: Vec::new(),
            variations: Vec::new(),
        }
    }
}

impl RecordedGame {
    /// The start, to which the moves can be added.
    pub(crate) fn history(&self) -> History {
        History::from_position(self.start.clone(), self.variant)
    }
}

/// The games of a stream, in their order. It ends after [`GameError::Read`]. After [`GameError::Broken`] it
/// goes on.
///
/// ```
/// use zeitnot_lab::pgn::{GameError, Games};
/// let text = "[Result \"*\"]\n\n1. e4 {[%clk 0:01:00]} e5 *\n\n[Result \"*\"]\n\n1. e5 *\n\n[Result \"*\"]\n\n1. d4 *\n";
/// let games: Vec<_> = Games::new("text", text.as_bytes()).collect();
/// assert_eq!(games[0].as_ref().unwrap().moves[0].clock_ms, Some(60_000.0));
/// assert!(matches!(games[1], Err(GameError::Broken { number: 2, .. })));
/// assert_eq!(games[2].as_ref().unwrap().number, 3);
/// ```
pub struct Games<'a> {
    name: String,
    pub notes: Vec<String>,
    tokens: Tokens<'a>,
    number: u64,
    ended: bool,
}

impl<'a> Games<'a> {
    /// Reads the games of a file, plain or compressed by gzip, Zstandard, bzip2 or zip. `-` is stdin.
    ///
    /// # Errors
    /// [`GameError::Read`] if it cannot be opened, or is no text.
    pub fn open(path: &Path) -> Result<Games<'static>, GameError> {
        let name = path.display().to_string();
        // Positions in an archive are opened, to say that they are no games.
        let error = match files::open_text(path, &[".pgn", ".epd", ".fen"]) {
            Ok(file) if file.name.ends_with(".epd") || file.name.ends_with(".fen") => {
                let advice = "holds positions, not games; `zeitnot solve` and `zeitnot eval` read it";
                io::Error::new(ErrorKind::InvalidInput, format!("{} {advice}", file.name))
            }
            Ok(file) => {
                return Ok(Games {
                    notes: file.notes,
                    ..Games::new(name, file.content)
                });
            }
            Err(error) => error,
        };
        Err(GameError::Read { name, error })
    }

    /// Reads the games of uncompressed text. `name` is for messages.
    pub fn new(name: impl Into<String>, text: impl Read + Send + 'a) -> Games<'a> {
        Games {
            name: name.into(),
            notes: Vec::new(),
            tokens: Tokens::new(Box::new(text)),
            number: 0,
            ended: false,
        }
    }
}

impl Iterator for Games<'_> {
    type Item = Result<RecordedGame, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut draft = Draft::new(self.number + 1);
        while let Some(token) = self.tokens.next() {
            match draft.take(token) {
                Taken::Inside => {
                    // What follows the result on the same line may be a tag.
                    self.tokens.may_be_tag |= draft.is_over();
                    continue;
                }
                Taken::Last => {}
                Taken::Next => self.tokens.give_back(),
            }
            return Some(self.finish(draft));
        }
        if draft.is_over() {
            return Some(self.finish(draft));
        }
        self.ended = true;
        match self.tokens.error.take() {
            None if draft.is_empty() => None,
            None => Some(self.finish(draft)),
            Some(mut error) => {
                if !draft.is_empty() {
                    let words = in_our_words(&error);
                    error = io::Error::other(format!("{words}, within game {}", self.number + 1));
                }
                Some(Err(GameError::Read {
                    name: self.name.clone(),
                    error,
                }))
            }
        }
    }
}

impl Games<'_> {
    fn finish(&mut self, draft: Draft) -> Result<RecordedGame, GameError> {
        self.number += 1;
        let players = draft.game.tags.players();
        draft.finish(self.ended).map_err(|reason| GameError::Broken {
            number: self.number,
            players,
            reason,
        })
    }
}

#[cfg(test)]
mod tests;
