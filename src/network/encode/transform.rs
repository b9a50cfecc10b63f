//! The orientation in which canonical formats show a board.

use crate::chess::{Bitboard, Position, Square};

/// Files a to d.
const LEFT_HALF: Bitboard = Bitboard(0x0f0f_0f0f_0f0f_0f0f);
/// Ranks 5 to 8.
const UPPER_HALF: Bitboard = Bitboard(0xffff_ffff_0000_0000);
/// h2, g3, h3, f4, g4, h4: above the diagonal from h1 to a8.
const UPPER_TRIANGLE: Bitboard = Bitboard(0xe0c0_8000);
/// h1, g2, f3, e4.
const DIAGONAL: Bitboard = Bitboard(0x1020_4080);

/// A symmetry of the board: files mirrored, then ranks mirrored, then reflected over the diagonal from h1 to a8, each
/// or not. Takes squares as the side to move sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transform(u8);

impl Transform {
    /// Leaves the board as it is.
    pub const NONE: Transform = Transform(0);
    const FLIP_FILES: u8 = 1;
    const FLIP_RANKS: u8 = 2;
    const TRANSPOSE: u8 = 4;

    /// Returns Lc0's number for it: 1 for mirrored files, 2 for mirrored ranks, 4 for the reflection, added up.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Returns the transform that brings our king to files e to h and, if there are no pawns, to ranks 1 to 4 and below
    /// the diagonal. With a castling right left, on either side, the board stays as it is.
    pub(super) fn of(position: &Position) -> Transform {
        if position.castling_rights().any() {
            return Transform::NONE;
        }
        let board = position.board();
        let us = position.turn();
        let mut transform = Transform::NONE;
        let seen = |squares: Bitboard| if us.is_white() { squares } else { squares.flip_vertical() };
        let king = seen(board.kings() & board.by_color(us));
        if (king & LEFT_HALF).any() {
            transform.0 |= Transform::FLIP_FILES;
        }
        if board.pawns().any() {
            return transform;
        }
        if (king & UPPER_HALF).any() {
            transform.0 |= Transform::FLIP_RANKS;
        }
        let king = transform.bitboard(king);
        // On the diagonal the first of these sets that is not its own reflection decides.
        let sets = [
            board.occupied(),
            board.by_color(us),
            board.kings(),
            board.queens(),
            board.rooks(),
            board.knights(),
            board.bishops(),
        ];
        let reflection_is_smaller = || {
            let set = sets.into_iter().map(|set| transform.bitboard(seen(set)));
            let mut reflected = set.map(|set| (set, set.flip_anti_diagonal()));
            reflected.find(|(set, other)| set != other).is_some_and(|(set, other)| other.0 < set.0)
        };
        if (king & UPPER_TRIANGLE).any() || ((king & DIAGONAL).any() && reflection_is_smaller()) {
            transform.0 |= Transform::TRANSPOSE;
        }
        transform
    }

    /// Returns the transformed squares.
    pub fn bitboard(self, mut squares: Bitboard) -> Bitboard {
        if self.has(Transform::FLIP_FILES) {
            squares = squares.flip_horizontal();
        }
        if self.has(Transform::FLIP_RANKS) {
            squares = squares.flip_vertical();
        }
        if self.has(Transform::TRANSPOSE) {
            squares = squares.flip_anti_diagonal();
        }
        squares
    }

    /// Returns the square to which `square` goes.
    #[inline]
    pub fn square(self, mut square: Square) -> Square {
        if self.has(Transform::FLIP_FILES) {
            square = square.flip_horizontal();
        }
        if self.has(Transform::FLIP_RANKS) {
            square = square.flip_vertical();
        }
        if self.has(Transform::TRANSPOSE) {
            square = square.flip_anti_diagonal();
        }
        square
    }

    fn has(self, part: u8) -> bool {
        self.0 & part != 0
    }
}
