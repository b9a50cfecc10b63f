//! Policy indices: which of the 1858 policy outputs stands for which move, and where the policy heads compute
//! it.
//!
//! As the side to move sees the board (its first rank at the bottom): for every origin a1, b1, …, h8 all
//! squares, in the same order, that a queen or a knight reaches on an empty board (1792). Then for every file
//! of origin a to h, left to right, the promotions on the eighth rank to queen, rook and bishop (66). A
//! promotion to a knight is the plain move. Castling is the king taking its rook.

use std::sync::LazyLock;

use super::encode::Transform;
use crate::chess::{Color, Move, Role, Square};

/// Moves to which a network gives a policy.
pub const POLICY_SIZE: usize = 1858;
const PLAIN_MOVES: u16 = 1792;
/// Pieces to which the attention policy promotes: queen, rook, bishop.
pub(crate) const PROMOTIONS: usize = 3;
/// Of the attention policy: one for each square, and those of promotions for each file.
pub(crate) const QUERIES: usize = 64 + 8 * PROMOTIONS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PolicyMove {
    pub(crate) from: Square,
    /// The rook's square for castling.
    pub(crate) to: Square,
    /// Queen, rook or bishop.
    pub(crate) promotion: Option<Role>,
}

/// By policy index.
pub(crate) static MOVES: LazyLock<Vec<PolicyMove>> = LazyLock::new(|| {
    let pairs = (0..64).flat_map(|from| (0..64).map(move |to| (from, to)));
    let plain = pairs
        .filter(|&(from, to)| is_queen_or_knight_move(from, to))
        .map(|pair| (pair, None));
    let files =
        (0..8).flat_map(|from: u32| (from.saturating_sub(1)..=(from + 1).min(7)).map(move |to| (from, to)));
    let promotions = files.flat_map(|(from, to)| {
        [Role::Queen, Role::Rook, Role::Bishop].map(|role| ((48 + from, 56 + to), Some(role)))
    });
    let new = |((from, to), promotion)| PolicyMove {
        from: Square::new(from),
        to: Square::new(to),
        promotion,
    };
    plain.chain(promotions).map(new).collect()
});

/// By policy index: the cell `plane * 64 + from` in the convolution policy head's output `[80, 8, 8]`, of
/// which 73 planes are used.
///
/// Planes 0 to 55 are the directions N, NE, E, SE, S, SW, W, NW times the distances 1 to 7. 56 to 63 are the
/// knight's jumps clockwise from NNE. 64 to 72 are the promotions left, straight on, right, each to rook,
/// bishop, queen.
pub(crate) static CONVOLUTION_CELLS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    const DIRECTIONS: [(i32, i32); 8] = [
        (0, 1),
        (1, 1),
        (1, 0),
        (1, -1),
        (0, -1),
        (-1, -1),
        (-1, 0),
        (-1, 1),
    ];
    const JUMPS: [(i32, i32); 8] = [
        (1, 2),
        (2, 1),
        (2, -1),
        (1, -2),
        (-1, -2),
        (-2, -1),
        (-2, 1),
        (-1, 2),
    ];
    let slides = DIRECTIONS
        .iter()
        .flat_map(|(files, ranks)| (1..=7).map(move |n| (n * files, n * ranks)));
    let steps: Vec<_> = slides.chain(JUMPS).collect();
    let cell = |m: &PolicyMove| {
        let (from, to) = (m.from as i32, m.to as i32);
        let (files, ranks) = (to % 8 - from % 8, to / 8 - from / 8);
        let plane = match piece(m.promotion) {
            Some(piece) => 64 + (files + 1) as usize * 3 + usize::from(piece + 2) % 3,
            None => steps.iter().take_while(|&&step| step != (files, ranks)).count(),
        };
        plane as u16 * 64 + from as u16
    };
    MOVES.iter().map(cell).collect()
});

/// By policy index: the cell in the attention policy head's output, `88 * query + to`. The query is the
/// square from where, and for promotions `64 + 3 * from file +` 0 for queen, 1 for rook, 2 for bishop.
pub(crate) static ATTENTION_CELLS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let cell = |m: &PolicyMove| {
        let (from, to) = (m.from as u16, m.to as u16);
        let promotion = |piece| 64 + PROMOTIONS as u16 * (from % 8) + piece;
        piece(m.promotion).map_or(from, promotion) * QUERIES as u16 + to
    };
    MOVES.iter().map(cell).collect()
});

/// By `from * 64 + to`, `u16::MAX` where neither queen nor knight goes.
static PLAIN_INDEX: [u16; 64 * 64] = plain_index();

/// In `0..1858`, for a legal move of `color` in a position encoded with `transform`.
#[inline]
pub fn index(m: Move, color: Color, transform: Transform) -> u16 {
    let seen = |square: Square| {
        transform.square(if color.is_white() {
            square
        } else {
            square.flip_vertical()
        })
    };
    let (from, to) = (seen(m.from_square()), seen(m.to_square()));
    match piece(m.promotion()) {
        None => PLAIN_INDEX[from as usize * 64 + to as usize],
        // The number of the file pair: two pairs for the a-file, three for others, the first going left.
        Some(piece) => PLAIN_MOVES + 3 * (2 * from.file() as u16 + to.file() as u16) + piece,
    }
}

/// The number of what a pawn becomes. Knights have none.
#[inline]
pub(crate) fn piece(promotion: Option<Role>) -> Option<u16> {
    match promotion? {
        Role::Queen => Some(0),
        Role::Rook => Some(1),
        Role::Bishop => Some(2),
        _ => None,
    }
}

const fn plain_index() -> [u16; 64 * 64] {
    let mut indices = [u16::MAX; 64 * 64];
    let mut index = 0;
    let mut pair = 0;
    while pair < 64 * 64 {
        if is_queen_or_knight_move(pair as u32 / 64, pair as u32 % 64) {
            indices[pair] = index;
            index += 1;
        }
        pair += 1;
    }
    indices
}

const fn is_queen_or_knight_move(from: u32, to: u32) -> bool {
    let files = (from % 8).abs_diff(to % 8);
    let ranks = (from / 8).abs_diff(to / 8);
    let queen = from != to && (files == 0 || ranks == 0 || files == ranks);
    queen || files * ranks == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_moves_is_the_inverse_of_the_index() {
        for (expected, m) in MOVES.iter().enumerate() {
            let white = Move::new(m.from, m.to, m.promotion);
            assert_eq!(
                usize::from(index(white, Color::White, Transform::NONE)),
                expected,
                "{m:?}"
            );
            let black = Move::new(m.from.flip_vertical(), m.to.flip_vertical(), m.promotion);
            assert_eq!(
                usize::from(index(black, Color::Black, Transform::NONE)),
                expected,
                "{m:?}"
            );
        }
    }
}
