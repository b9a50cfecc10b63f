//! A move in 16 bits, and how it is written: UCI and standard algebraic notation.

use std::fmt;

use arrayvec::ArrayVec;
use shakmaty::san::{San, SanPlus};
use shakmaty::{CastlingSide, File, Role, Square};
use thiserror::Error;

use super::position::Position;

/// A chess move: `from | to << 6 | promotion << 12`, squares counted a1 = 0, b1 = 1, …, h8 = 63; promotion 0 none,
/// 1 knight, 2 bishop, 3 rook, 4 queen. Castling is the king taking its own rook, in every variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move(u16);

/// The moves of one position. No position that a FEN or a game leads to has more.
pub type MoveList = ArrayVec<Move, 256>;

impl Move {
    /// Makes a move. Castling goes to the rook's square, and a promotion is to a knight, bishop, rook or queen.
    pub const fn new(from: Square, to: Square, promotion: Option<Role>) -> Move {
        let promotion = match promotion {
            Some(Role::Knight) => 1,
            Some(Role::Bishop) => 2,
            Some(Role::Rook) => 3,
            Some(Role::Queen) => 4,
            Some(Role::Pawn | Role::King) | None => 0,
        };
        Move(from as u16 | (to as u16) << 6 | promotion << 12)
    }

    /// Returns the square that the move starts from.
    pub const fn from_square(self) -> Square {
        Square::new((self.0 & 63) as u32)
    }

    /// Returns the square that the move goes to: the rook's square for castling.
    pub const fn to_square(self) -> Square {
        Square::new((self.0 >> 6 & 63) as u32)
    }

    /// Returns the piece that a pawn is promoted to.
    pub const fn promotion(self) -> Option<Role> {
        match self.0 >> 12 {
            1 => Some(Role::Knight),
            2 => Some(Role::Bishop),
            3 => Some(Role::Rook),
            4 => Some(Role::Queen),
            _ => None,
        }
    }

    /// Returns the 16 bits that [`Move::from_bits`] takes back.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// Returns the move with these bits. Every value is some move, though not a legal one.
    pub const fn from_bits(bits: u16) -> Move {
        Move(bits)
    }

    pub(super) fn from_shakmaty(m: shakmaty::Move) -> Move {
        match m {
            // By far the most.
            shakmaty::Move::Normal { from, to, promotion, .. } => Move::new(from, to, promotion),
            // Only Crazyhouse's drops have no square of origin, and shakmaty's `Chess` generates none.
            _ => Move::new(m.from().unwrap_or(m.to()), m.to(), None),
        }
    }
}

impl fmt::Debug for Move {
    /// Writes the move as in Chess960: `e2e4`, `e1h1`, `a7a8q`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from_square(), self.to_square())?;
        self.promotion().map_or(Ok(()), |role| write!(f, "{}", role.char()))
    }
}

/// Tells how castling is written. The rules are the same: standard chess is one start position of Chess960.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The king's two steps: `e1g1`.
    #[default]
    Standard,
    /// The king takes its own rook: `e1h1`.
    Chess960,
}

/// Says why a move was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum MoveError {
    #[error("\"{0}\" is not a move in UCI notation (such as e2e4 or e7e8q)")]
    Syntax(String),
    #[error("\"{0}\" is not a move in algebraic notation (such as Nf3, exd5 or O-O)")]
    San(String),
    #[error("{text} is not legal in \"{fen}\"")]
    Illegal { text: String, fen: String },
}

impl Position {
    /// Reads a legal move in UCI notation, in small letters or capitals.
    ///
    /// Castling is taken in either notation whatever the variant. A promotion without a piece is one to a knight,
    /// as in Lc0.
    ///
    /// # Errors
    /// Fails if the text is not a move, or the move is not legal.
    pub fn parse_move(&self, uci: &str) -> Result<Move, MoveError> {
        let (from, to, promotion) = squares_of(uci).ok_or_else(|| MoveError::Syntax(uci.to_owned()))?;
        let written = Move::new(from, to, promotion);
        let knight_promotion = Move::new(from, to, promotion.or(Some(Role::Knight)));
        let castling = self.castling_of_king_steps(from, to).filter(|_| promotion.is_none());
        let legal = self.legal_moves();
        // Only a position made by `Position::from_fen_to_evaluate` offers the king.
        let king = self.board().king_of(!self.turn());
        [Some(written), Some(knight_promotion), castling]
            .into_iter()
            .flatten()
            .find(|m| legal.contains(m) && Some(m.to_square()) != king)
            .ok_or_else(|| MoveError::Illegal { text: uci.to_owned(), fen: self.to_fen() })
    }

    /// Reads a legal move in standard algebraic notation, as in PGN: `Nf3`, `exd5`, `O-O`, `e8=Q+`.
    pub(crate) fn parse_san(&self, san: &str) -> Result<Move, MoveError> {
        let written = San::from_ascii(san.trim_end_matches(['+', '#']).as_bytes())
            .map_err(|_| MoveError::San(san.to_owned()))?;
        let illegal = |_| MoveError::Illegal { text: san.to_owned(), fen: self.to_fen() };
        written.to_move(self.chess()).map(Move::from_shakmaty).map_err(illegal)
    }

    /// Writes `m`, which must be legal in this position, in UCI notation.
    ///
    /// In [`Variant::Standard`] castling is the king's two steps; where king or rook stand elsewhere than in
    /// standard chess, the king takes the rook all the same, since other notation would be ambiguous.
    pub fn format_move(&self, m: Move, variant: Variant) -> String {
        let (from, to) = (m.from_square(), m.to_square());
        let own = self.board().by_color(self.turn());
        let standard_castling = variant == Variant::Standard
            && own.contains(to)
            && from.file() == File::E
            && matches!(to.file(), File::A | File::H);
        if standard_castling {
            return format!("{from}{}", CastlingSide::from_king_side(from < to).king_to(self.turn()));
        }
        format!("{m:?}")
    }

    /// Writes `m`, which must be legal in this position, in standard algebraic notation, with its `+` or `#`.
    pub(crate) fn format_san(&self, m: Move) -> String {
        self.to_shakmaty(m)
            .map(|m| SanPlus::from_move(self.chess().clone(), m).to_string())
            .unwrap_or_default()
    }

    /// Finds the castling that takes a king from `from` to `to`. One step is a plain king move.
    fn castling_of_king_steps(&self, from: Square, to: Square) -> Option<Move> {
        let king = self.board().king_of(self.turn())?;
        let side = CastlingSide::from_king_side(from < to);
        let steps = from.file().distance(to.file());
        if king != from || to != side.king_to(self.turn()) || steps < 2 {
            return None;
        }
        Some(Move::new(from, self.castling_rook(self.turn(), side)?, None))
    }
}

fn squares_of(uci: &str) -> Option<(Square, Square, Option<Role>)> {
    let bytes = uci.to_ascii_lowercase().into_bytes();
    let from = Square::from_ascii(bytes.get(0..2)?).ok()?;
    let to = Square::from_ascii(bytes.get(2..4)?).ok()?;
    let promotion = match bytes.get(4..)? {
        [] => None,
        [b'n'] => Some(Role::Knight),
        [b'b'] => Some(Role::Bishop),
        [b'r'] => Some(Role::Rook),
        [b'q'] => Some(Role::Queen),
        _ => return None,
    };
    Some((from, to, promotion))
}
