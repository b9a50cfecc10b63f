//! A move in 16 bits.

use std::fmt;

use arrayvec::ArrayVec;
use shakmaty::{Role, Square};

/// `from | to << 6 | promotion << 12`, squares counted a1 = 0, b1 = 1, …, h8 = 63. Promotion 0 none, 1
/// knight, 2 bishop, 3 rook, 4 queen. Castling is the king taking its own rook, in every variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move(u16);

/// No position that a FEN or a game leads to has more moves.
pub type MoveList = ArrayVec<Move, 256>;

impl Move {
    /// Castling goes to the rook's square.
    pub const fn new(from: Square, to: Square, promotion: Option<Role>) -> Move {
        let promotion = match promotion {
            Some(role @ (Role::Knight | Role::Bishop | Role::Rook | Role::Queen)) => role as u16 - 1,
            _ => 0,
        };
        Move(from as u16 | (to as u16) << 6 | promotion << 12)
    }

    /// The square of the piece that moves.
    pub const fn from_square(self) -> Square {
        Square::new((self.0 & 63) as u32)
    }

    /// The square to which it moves. For castling that of the rook.
    pub const fn to_square(self) -> Square {
        Square::new((self.0 >> 6 & 63) as u32)
    }

    /// The piece that a pawn becomes.
    pub const fn promotion(self) -> Option<Role> {
        match self.0 >> 12 {
            1 => Some(Role::Knight),
            2 => Some(Role::Bishop),
            3 => Some(Role::Rook),
            4 => Some(Role::Queen),
            _ => None,
        }
    }

    /// The move in 16 bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// Every value is a move, though perhaps not a legal one.
    pub const fn from_bits(bits: u16) -> Move {
        Move(bits)
    }

    pub(super) fn from_shakmaty(m: shakmaty::Move) -> Move {
        match m {
            shakmaty::Move::Normal {
                from, to, promotion, ..
            } => Move::new(from, to, promotion),
            // Only Crazyhouse's drops have no origin, and shakmaty's `Chess` generates none.
            _ => Move::new(m.from().unwrap_or(m.to()), m.to(), None),
        }
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from_square(), self.to_square())?;
        self.promotion()
            .map_or(Ok(()), |role| write!(f, "{}", role.char()))
    }
}

/// How castling is written. The rules are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The king's two steps: `e1g1`.
    #[default]
    Standard,
    /// The king takes its own rook: `e1h1`.
    Chess960,
}

impl Variant {
    /// By a switch such as the option `UCI_Chess960`.
    pub fn of_chess960(is_chess960: bool) -> Variant {
        if is_chess960 {
            Variant::Chess960
        } else {
            Variant::Standard
        }
    }
}
