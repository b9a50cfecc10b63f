//! Positions from FEN and UCI text, and back to FEN.
//!
//! Reads what Lc0 reads: missing fields at the end take their defaults, castling rights come as KQkq (the outermost
//! rook, X-FEN) or as the rooks' files (Shredder-FEN), and unusual but playable material is allowed.

use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, FromSetup, PositionErrorKinds, Setup};
use thiserror::Error;

use super::notation::MoveError;
use super::position::Position;

/// Pieces a side may have on the board.
const MAX_PIECES: usize = 16;
/// Queens and pawns a side may have together: what a game can lead to. With more, a position could come to have more
/// legal moves than a [`MoveList`](super::MoveList) holds.
const MAX_QUEENS_AND_PAWNS: usize = 9;

/// Why a position was refused. The text names the faulty part.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PositionError {
    /// The text after `position` starts with neither `startpos` nor `fen`.
    #[error("a position starts with \"startpos\" or \"fen\", not with \"{0}\"")]
    Start(String),
    /// A field of the FEN cannot be read.
    #[error("bad FEN \"{fen}\": {reason}")]
    Syntax {
        /// The text as given.
        fen: String,
        /// The field and what it must be.
        reason: &'static str,
    },
    /// The FEN can be read but the position cannot occur.
    #[error("impossible position \"{fen}\": {}", .reasons.join("; "))]
    Impossible {
        /// The text as given.
        fen: String,
        /// All that is wrong with it.
        reasons: Vec<&'static str>,
    },
    /// A move of the list is not legal where it stands.
    #[error("move {number} of the list: {source}")]
    Move {
        /// Its place in the list, from 1.
        number: usize,
        /// What is wrong with it.
        source: MoveError,
    },
}

impl Position {
    /// The position of a FEN.
    ///
    /// # Errors
    /// [`PositionError::Syntax`] or [`PositionError::Impossible`].
    pub fn from_fen(fen: &str) -> Result<Position, PositionError> {
        let syntax = |reason| PositionError::Syntax { fen: fen.to_owned(), reason };
        let setup = Fen::from_ascii(fen.as_bytes()).map_err(|error| syntax(fault_of(&error)))?.into_setup();
        if setup.pockets.is_some() || setup.remaining_checks.is_some() || setup.promoted.any() {
            return Err(syntax("it has fields of other chess variants"));
        }
        let impossible = |reasons| PositionError::Impossible { fen: fen.to_owned(), reasons };
        if !has_playable_material(&setup) {
            return Err(impossible(vec![
                "a side has more than 16 pieces, or more than 9 queens and pawns together",
            ]));
        }
        // Castling mode Chess960 includes the standard one; how moves are written is decided elsewhere.
        let chess = Chess::from_setup(setup, CastlingMode::Chess960)
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .or_else(shakmaty::PositionError::ignore_impossible_check)
            .map_err(|error| impossible(reasons_of(error.kinds())))?;
        Ok(Position::from_chess(chess))
    }

    /// The FEN, with [`Position::en_passant`] as its en-passant square; castling rights as KQkq where the rook is
    /// the outermost, else as the rook's file.
    pub fn to_fen(&self) -> String {
        use shakmaty::Position as _;
        let mut setup = self.chess().to_setup(EnPassantMode::Always);
        setup.ep_square = self.en_passant();
        // Standard setups lose nothing as a FEN; should one, the text is what could be written.
        Fen::try_from_setup(setup).unwrap_or_else(|lossy| lossy.ignore()).to_string()
    }
}

fn has_playable_material(setup: &Setup) -> bool {
    let board = &setup.board;
    Color::ALL.into_iter().all(|color| {
        let pieces = board.by_color(color);
        let queens_and_pawns = (board.queens() | board.pawns()) & pieces;
        pieces.count() <= MAX_PIECES && queens_and_pawns.count() <= MAX_QUEENS_AND_PAWNS
    })
}

fn fault_of(error: &ParseFenError) -> &'static str {
    match error {
        ParseFenError::InvalidFen => "it is empty or has too many fields",
        ParseFenError::InvalidBoard => {
            "field 1 (board) must be eight ranks of eight squares, divided by '/', of the letters PNBRQKpnbrqk and \
             the digits 1-8"
        }
        ParseFenError::InvalidTurn => "field 2 (side to move) must be w or b",
        ParseFenError::InvalidCastling => {
            "field 3 (castling) must be '-', letters of KQkq, or files of rooks (at most two a side)"
        }
        ParseFenError::InvalidEpSquare => "field 4 (en passant) must be '-' or a square",
        ParseFenError::InvalidHalfmoveClock => "field 5 (fifty-move counter) must be a number",
        ParseFenError::InvalidFullmoves => "field 6 (move number) must be a number",
        ParseFenError::InvalidPocket | ParseFenError::InvalidRemainingChecks => {
            "it has fields of other chess variants"
        }
    }
}

fn reasons_of(kinds: PositionErrorKinds) -> Vec<&'static str> {
    let texts = [
        (PositionErrorKinds::EMPTY_BOARD, "the board is empty"),
        (PositionErrorKinds::MISSING_KING, "a king is missing"),
        (PositionErrorKinds::TOO_MANY_KINGS, "a side has more than one king"),
        (PositionErrorKinds::PAWNS_ON_BACKRANK, "a pawn stands on the first or last rank"),
        (
            PositionErrorKinds::INVALID_CASTLING_RIGHTS,
            "a castling right lacks its rook, or its king on the back rank",
        ),
        (
            PositionErrorKinds::INVALID_EP_SQUARE,
            "the en-passant square is not one that a pawn of the side that moved last has just passed",
        ),
        (PositionErrorKinds::OPPOSITE_CHECK, "the side that moved last is in check"),
    ];
    texts.into_iter().filter(|(kind, _)| kinds.contains(*kind)).map(|(_, text)| text).collect()
}
