//! Positions from FEN and UCI text, and back to FEN.
//!
//! Reads what Lc0 reads: missing fields take their defaults, castling rights are KQkq (X-FEN) or the rooks'
//! files (Shredder-FEN), and unusual material and odd counters are allowed. A castling right without its
//! rook, or an impossible en-passant square, is dropped and reported.

use std::num::NonZeroU32;

use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::{
    Board, ByRole, CastlingMode, Chess, Color, EnPassantMode, FromSetup, Move, Position as _,
    PositionErrorKinds, Role, Setup,
};
use thiserror::Error;

use super::notation::MoveError;
use super::position::Position;

const OTHER_VARIANTS: &str = "it has fields of other chess variants";
/// Pieces of any kind that a side may have …
const MAX_PIECES: usize = 16;
/// … and the most moves of a side with more, each piece alone on the board.
const MAX_MOBILITY: usize = 256;
/// Queens and pawns of a side together (9 in a game). With 12 queens, three rooks and a king the best
/// arrangement found by annealing has 242 moves. A [`MoveList`](super::MoveList) holds 256.
const MAX_QUEENS_AND_PAWNS: usize = 12;

/// Why a position is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum PositionError {
    #[error("a position starts with \"startpos\" or \"fen\", not with \"{0}\"")]
    Start(String),
    #[error("bad FEN \"{fen}\": {reason}")]
    Syntax { fen: String, reason: &'static str },
    #[error("impossible position \"{fen}\": {}", .reasons.join(", "))]
    Impossible { fen: String, reasons: Vec<&'static str> },
    #[error("move {number} of the list: {source}")]
    Move { number: usize, source: MoveError },
}

impl Position {
    /// The side that moved last may be in check, as in Lc0, but its king is not taken.
    pub fn from_fen(fen: &str) -> Result<Position, PositionError> {
        read(fen).map(|(_, position)| position)
    }

    /// Also returns what was dropped from the FEN, in words.
    pub(super) fn from_fen_with_repairs(fen: &str) -> Result<(Position, Vec<&'static str>), PositionError> {
        let (setup, position) = read(fen)?;
        let mut left_out = PositionErrorKinds::empty();
        let lacks_rights = setup.castling_rights != position.castling_rights();
        left_out.set(PositionErrorKinds::INVALID_CASTLING_RIGHTS, lacks_rights);
        left_out.set(
            PositionErrorKinds::INVALID_EP_SQUARE,
            setup.ep_square != position.en_passant(),
        );
        Ok((position, impossible_reasons(left_out)))
    }

    /// For a network: legal moves may take the king of the side that moved last.
    pub fn from_fen_to_evaluate(fen: &str) -> Result<Position, PositionError> {
        read(fen).map(|(_, position)| position.with_king_to_be_taken())
    }

    /// Castling rights are KQkq for the outermost rook, else the rook's file.
    pub fn to_fen(&self) -> String {
        let mut setup = self.chess().to_setup(EnPassantMode::Always);
        setup.ep_square = self.en_passant();
        setup.fullmoves = self.move_number();
        Fen::try_from_setup(setup)
            .unwrap_or_else(|lossy| lossy.ignore())
            .to_string()
    }
}

fn read(fen: &str) -> Result<(Setup, Position), PositionError> {
    let setup = setup_of(fen)?;
    let position = match chess_of(setup.clone()) {
        Ok(chess) => Ok(Position::from_chess(chess)),
        Err(PositionErrorKinds::OPPOSITE_CHECK) if setup.ep_square.is_none() => {
            chess_after_pass(setup.clone()).map(|chess| Position::with_king_en_prise(chess, setup.fullmoves))
        }
        Err(kinds) => Err(kinds),
    };
    let impossible = |kinds| PositionError::Impossible {
        fen: fen.to_owned(),
        reasons: impossible_reasons(kinds),
    };
    Ok((setup, position.map_err(impossible)?))
}

fn tidy(fen: &str) -> String {
    let mut fields: Vec<String> = fen
        .trim_end_matches(|c: char| c == ';' || c.is_ascii_whitespace())
        .split_ascii_whitespace()
        .map(str::to_owned)
        .collect();
    // Side to move and en-passant square.
    for field in [1, 3] {
        if let Some(text) = fields.get_mut(field) {
            text.make_ascii_lowercase();
        }
    }
    for (field, least) in [(4, 0.0), (5, 1.0)] {
        let Some(text) = fields.get_mut(field) else {
            continue;
        };
        let number = text.trim_end_matches(';').parse::<f64>().ok();
        if let Some(number) = number.filter(|number| number.abs() < f64::from(u32::MAX)) {
            *text = number.trunc().max(least).to_string();
        }
    }
    fields.join(" ")
}

fn setup_of(fen: &str) -> Result<Setup, PositionError> {
    let syntax = |reason| PositionError::Syntax {
        fen: fen.to_owned(),
        reason,
    };
    let setup = Fen::from_ascii(tidy(fen).as_bytes())
        .map_err(|error| syntax(syntax_reason(&error)))?
        .into_setup();
    if setup.pockets.is_some() || setup.remaining_checks.is_some() || setup.promoted.any() {
        return Err(syntax(OTHER_VARIANTS));
    }
    if !has_playable_material(&setup) {
        let reasons = vec![
            "a side has more than 12 queens and pawns together, or so many pieces that it may have more than 256 moves",
        ];
        return Err(PositionError::Impossible {
            fen: fen.to_owned(),
            reasons,
        });
    }
    Ok(setup)
}

fn chess_of(setup: Setup) -> Result<Chess, PositionErrorKinds> {
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(shakmaty::PositionError::ignore_too_much_material)
        .or_else(shakmaty::PositionError::ignore_impossible_check)
        .or_else(shakmaty::PositionError::ignore_invalid_castling_rights)
        .or_else(shakmaty::PositionError::ignore_invalid_ep_square)
        .map_err(|error| error.kinds())
}

/// shakmaty accepts that the side not to move is in check only after a null move. The move number may be one
/// too high.
fn chess_after_pass(mut setup: Setup) -> Result<Chess, PositionErrorKinds> {
    let passing = !setup.turn;
    let halfmoves = setup.halfmoves;
    setup.turn = passing;
    setup.halfmoves = halfmoves.saturating_sub(1);
    if passing.is_black() {
        setup.fullmoves = NonZeroU32::new(setup.fullmoves.get() - 1).unwrap_or(NonZeroU32::MIN);
    }
    let mut chess = chess_of(setup)?;
    let king = chess
        .board()
        .king_of(passing)
        .ok_or(PositionErrorKinds::MISSING_KING)?;
    chess.play_unchecked(Move::Normal {
        // A king would give up castling. A pawn move sets the fifty-move counter to 0.
        role: if halfmoves == 0 { Role::Pawn } else { Role::Knight },
        from: king,
        capture: None,
        to: king,
        promotion: Some(Role::King),
    });
    Ok(chess)
}

fn has_playable_material(setup: &Setup) -> bool {
    let board = &setup.board;
    Color::ALL.into_iter().all(|color| {
        let pieces = board.by_color(color);
        let queens_and_pawns = (board.queens() | board.pawns()) & pieces;
        queens_and_pawns.count() <= MAX_QUEENS_AND_PAWNS
            && (pieces.count() <= MAX_PIECES || mobility(board, color) <= MAX_MOBILITY)
    })
}

/// Moves of a side's pieces, each on the best square of an empty board.
fn mobility(board: &Board, color: Color) -> usize {
    const MOST_MOVES: ByRole<usize> = ByRole {
        pawn: 4,
        knight: 8,
        bishop: 13,
        rook: 14,
        queen: 27,
        king: 8,
    };
    let own = board.by_color(color);
    Role::ALL
        .into_iter()
        .map(|role| (board.by_role(role) & own).count() * MOST_MOVES.get(role))
        .sum()
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
        (
            PositionErrorKinds::TOO_MANY_KINGS,
            "a side has more than one king",
        ),
        (
            PositionErrorKinds::PAWNS_ON_BACKRANK,
            "a pawn stands on the first or last rank",
        ),
        (
            PositionErrorKinds::INVALID_CASTLING_RIGHTS,
            "a castling right lacks its rook, or its king on the back rank",
        ),
        (
            PositionErrorKinds::INVALID_EP_SQUARE,
            "the en-passant square is not one that a pawn of the side that moved last has just passed",
        ),
        (
            PositionErrorKinds::OPPOSITE_CHECK,
            "both kings are in check, or that of the side that moved last beside an en-passant square",
        ),
    ];
    texts
        .into_iter()
        .filter(|(kind, _)| kinds.contains(*kind))
        .map(|(_, text)| text)
        .collect()
}
