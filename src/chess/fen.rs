//! Positions from FEN and UCI text, and back to FEN.
//!
//! Reads what Lc0 reads: missing fields at the end take their defaults, castling rights come as KQkq (the outermost
//! rook, X-FEN) or as the rooks' files (Shredder-FEN), and unusual but playable material is allowed.

use std::num::NonZeroU32;

use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, FromSetup, Move, Position as _, PositionErrorKinds, Role,
    Setup,
};
use thiserror::Error;

use super::notation::MoveError;
use super::position::Position;

const OTHER_VARIANTS: &str = "it has fields of other chess variants";
/// Pieces a side may have on the board.
const MAX_PIECES: usize = 16;
/// Queens and pawns a side may have together (a game leads to 9 at most). With 12 queens, three rooks and a king the
/// best of many arrangements found by annealing has 242 moves; a [`MoveList`](super::MoveList) holds 256.
const MAX_QUEENS_AND_PAWNS: usize = 12;

/// Says why a position was refused. The text names the part that is wrong.
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
        /// The reason why the move was refused.
        source: MoveError,
    },
}

impl Position {
    /// Reads the position of a FEN.
    ///
    /// # Errors
    /// Returns [`PositionError::Syntax`] or [`PositionError::Impossible`].
    pub fn from_fen(fen: &str) -> Result<Position, PositionError> {
        let setup = setup_of(fen)?;
        chess_of(setup).map(Position::from_chess).map_err(|kinds| impossible(fen, kinds))
    }

    /// Reads a FEN as [`Position::from_fen`] does, but the side that moved last may be in check, as in Lc0.
    ///
    /// A network can evaluate such a position. Its legal moves include those that take the king, which must not be
    /// played; [`Position::parse_move`] refuses them.
    ///
    /// # Errors
    /// Fails as [`Position::from_fen`] does; also if both sides are in check, or with an en-passant square.
    pub fn from_fen_to_evaluate(fen: &str) -> Result<Position, PositionError> {
        let setup = setup_of(fen)?;
        chess_of(setup.clone())
            .or_else(|kinds| match kinds {
                PositionErrorKinds::OPPOSITE_CHECK if setup.ep_square.is_none() => chess_after_pass(setup),
                _ => Err(kinds),
            })
            .map(Position::from_chess)
            .map_err(|kinds| impossible(fen, kinds))
    }

    /// Writes the FEN, with [`Position::en_passant`] as its en-passant square; castling rights as KQkq where the rook is
    /// the outermost, else as the rook's file.
    pub fn to_fen(&self) -> String {
        let mut setup = self.chess().to_setup(EnPassantMode::Always);
        setup.ep_square = self.en_passant();
        // Standard setups lose nothing as a FEN; should one, the text is what could be written.
        Fen::try_from_setup(setup).unwrap_or_else(|lossy| lossy.ignore()).to_string()
    }
}

/// Reads the fields of a FEN and checks what shakmaty does not.
fn setup_of(fen: &str) -> Result<Setup, PositionError> {
    let syntax = |reason| PositionError::Syntax { fen: fen.to_owned(), reason };
    let setup = Fen::from_ascii(fen.as_bytes()).map_err(|error| syntax(syntax_reason(&error)))?.into_setup();
    if setup.pockets.is_some() || setup.remaining_checks.is_some() || setup.promoted.any() {
        return Err(syntax(OTHER_VARIANTS));
    }
    if !has_playable_material(&setup) {
        let reasons = vec!["a side has more than 16 pieces, or more than 12 queens and pawns together"];
        return Err(PositionError::Impossible { fen: fen.to_owned(), reasons });
    }
    Ok(setup)
}

/// Makes the position of a setup, or says what is wrong with it.
fn chess_of(setup: Setup) -> Result<Chess, PositionErrorKinds> {
    // Castling mode Chess960 includes the standard one; how moves are written is decided elsewhere.
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(shakmaty::PositionError::ignore_too_much_material)
        .or_else(shakmaty::PositionError::ignore_impossible_check)
        .map_err(|error| error.kinds())
}

/// Makes the position of a setup in which the side to move could take the king. shakmaty makes none, but it plays a
/// pass of the other side, whose check is then legal: its king is put where it stands.
fn chess_after_pass(mut setup: Setup) -> Result<Chess, PositionErrorKinds> {
    let passing = !setup.turn;
    let halfmoves = setup.halfmoves;
    setup.turn = passing;
    setup.halfmoves = halfmoves.saturating_sub(1);
    if passing.is_black() {
        setup.fullmoves = NonZeroU32::new(setup.fullmoves.get() - 1).unwrap_or(NonZeroU32::MIN);
    }
    let mut chess = chess_of(setup)?;
    let king = chess.board().king_of(passing).ok_or(PositionErrorKinds::MISSING_KING)?;
    chess.play_unchecked(Move::Normal {
        // Not `King`, which would give up castling; a pawn move sets the fifty-move counter to 0.
        role: if halfmoves == 0 { Role::Pawn } else { Role::Knight },
        from: king,
        capture: None,
        to: king,
        promotion: Some(Role::King),
    });
    Ok(chess)
}

fn impossible(fen: &str, kinds: PositionErrorKinds) -> PositionError {
    PositionError::Impossible { fen: fen.to_owned(), reasons: impossible_reasons(kinds) }
}

fn has_playable_material(setup: &Setup) -> bool {
    let board = &setup.board;
    Color::ALL.into_iter().all(|color| {
        let pieces = board.by_color(color);
        let queens_and_pawns = (board.queens() | board.pawns()) & pieces;
        pieces.count() <= MAX_PIECES && queens_and_pawns.count() <= MAX_QUEENS_AND_PAWNS
    })
}

fn syntax_reason(error: &ParseFenError) -> &'static str {
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
        ParseFenError::InvalidPocket | ParseFenError::InvalidRemainingChecks => OTHER_VARIANTS,
    }
}

fn impossible_reasons(kinds: PositionErrorKinds) -> Vec<&'static str> {
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
