//! Plays a game through, with the legal moves of each position in the order that records and tables use.

use super::TrainingDataError;
use crate::chess::{History, Move, Variant};

/// A position on the way through a game.
#[derive(Clone, Debug)]
pub struct GameCursor {
    history: History,
    legal: Vec<Move>,
}

impl GameCursor {
    /// Begins a game; `None` is the standard position. FENs may have the castling rights of Chess960.
    ///
    /// # Errors
    /// [`TrainingDataError::Position`] if the FEN is not a position.
    pub fn new(start: Option<&str>) -> Result<GameCursor, TrainingDataError> {
        let history = match start {
            None => History::start(),
            Some(fen) => History::from_fen(fen, Variant::Chess960)?,
        };
        let mut replay = GameCursor { history, legal: Vec::new() };
        replay.list_moves();
        Ok(replay)
    }

    /// Returns the game so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the legal moves in ascending order of their bits. Records name moves by their place in it.
    pub fn legal_moves(&self) -> &[Move] {
        &self.legal
    }

    /// Returns the index of a move among [`Self::legal_moves`].
    ///
    /// # Errors
    /// [`TrainingDataError::IllegalMove`] if it isn't one of them.
    pub fn place_of(&self, m: Move) -> Result<u8, TrainingDataError> {
        let place = self.legal.binary_search(&m).ok().and_then(|place| u8::try_from(place).ok());
        place.ok_or_else(|| TrainingDataError::IllegalMove {
            text: format!("{m:?}"),
            ply: self.history.len() - 1,
        })
    }

    /// Plays a legal move.
    ///
    /// # Errors
    /// [`TrainingDataError::IllegalMove`] if it isn't one.
    pub fn play(&mut self, m: Move) -> Result<(), TrainingDataError> {
        self.place_of(m)?;
        self.history.push(m);
        self.list_moves();
        Ok(())
    }

    fn list_moves(&mut self) {
        self.legal.clear();
        self.legal.extend(self.history.legal_moves());
        self.legal.sort_unstable();
    }
}
