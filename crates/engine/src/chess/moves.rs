//! A move in 16 bits.

use std::fmt;

use arrayvec::ArrayVec;
use shakmaty::{Role, Square};

/// A chess move: `from | to << 6 | promotion << 12`, squares counted a1 = 0, b1 = 1, …, h8 = 63. Promotion 0
/// none, 1 knight, 2 bishop, 3 rook, 4 queen. Castling is the king taking its own rook, in every variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move(u16);

/// The moves of one position. No position that a FEN or a game leads to has more.
pub type MoveList = ArrayVec<Move, 256>;

impl Move {
    /// Makes a move. Castling goes to the rook's square, and a promotion is to a knight, bishop, rook or
    /// queen.
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
