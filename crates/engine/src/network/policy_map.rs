//! Policy indices: which of the 1858 policy outputs stands for which move, and where the policy heads compute
//! it.
//!
//! As the side to move sees the board (its first rank at the bottom): for every origin a1, b1, …, h8 all
//! squares, in the same order, that a queen or a knight reaches on an empty board (1792). Then for every file
//! of origin a to h, left to right, the promotions on the eighth rank to queen, rook and bishop (66). A
//! promotion to a knight is the plain move. Castling is the king taking its rook.

use super::POLICY_SIZE;
use super::encode::Transform;
use crate::chess::{Color, Move, Role, Square};

const PLAIN_MOVES: usize = 1792;
const ATTENTION_PLAIN: usize = 64 * 64;
/// Planes that [`CONVOLUTION_CELLS`] uses. Files have 80.
pub(crate) const CONVOLUTION_PLANES: usize = 73;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PolicyMove {
    pub(crate) from: Square,
    /// The rook's square for castling.
    pub(crate) to: Square,
    /// Queen, rook or bishop.
    pub(crate) promotion: Option<Role>,
}

/// By policy index.
pub(crate) static MOVES: [PolicyMove; POLICY_SIZE] = moves();

/// By policy index: the cell `plane * 64 + from` in the convolution policy head's output `[80, 8, 8]`, of
/// which 73 planes are used.
///
/// Planes 0 to 55 are the directions N, NE, E, SE, S, SW, W, NW times the distances 1 to 7. 56 to 63 are the
/// knight's jumps clockwise from NNE. 64 to 72 are the promotions left, straight on, right, each to rook,
/// bishop, queen.
pub(crate) static CONVOLUTION_CELLS: [u16; POLICY_SIZE] = cells(false);

/// By policy index: the cell in the attention policy head's output, `from * 64 + to`, and for promotions
/// `4096 + 24 * from file + 3 * to file +` 0 for queen, 1 for rook, 2 for bishop.
pub(crate) static ATTENTION_CELLS: [u16; POLICY_SIZE] = cells(true);

/// By `from * 64 + to`, `u16::MAX` where neither queen nor knight goes.
static PLAIN_INDEX: [u16; 64 * 64] = plain_index();

/// In `0..1858`, for a legal move of `color` in a position encoded with `transform`.
#[inline]
pub fn index(m: Move, color: Color, transform: Transform) -> u16 {
    let seen =
        |square: Square| transform.square(if color.is_white() { square } else { square.flip_vertical() });
    let (from, to) = (seen(m.from_square()), seen(m.to_square()));
    let piece = match m.promotion() {
        Some(Role::Queen) => 0,
        Some(Role::Rook) => 1,
        Some(Role::Bishop) => 2,
        _ => return PLAIN_INDEX[from as usize * 64 + to as usize],
    };
    // The number of the file pair: two pairs for the a-file, three for others, the first going left.
    let pair = 2 * from.file() as u16 + to.file() as u16;
    PLAIN_MOVES as u16 + 3 * pair + piece
}

const fn plain_index() -> [u16; 64 * 64] {
    let moves = moves();
    let mut indices = [u16::MAX; 64 * 64];
    let mut index = 0;
    while index < PLAIN_MOVES {
        indices[moves[index].from as usize * 64 + moves[index].to as usize] = index as u16;
        index += 1;
    }
    indices
}

const fn is_queen_or_knight_move(from: usize, to: usize) -> bool {
    let files = (from % 8).abs_diff(to % 8);
    let ranks = (from / 8).abs_diff(to / 8);
    let queen = from != to && (files == 0 || ranks == 0 || files == ranks);
    queen || files * ranks == 2
}

const fn moves() -> [PolicyMove; POLICY_SIZE] {
    const PIECES: [Role; 3] = [Role::Queen, Role::Rook, Role::Bishop];
    let mut moves = [PolicyMove { from: Square::A1, to: Square::A1, promotion: None }; POLICY_SIZE];
    let mut index = 0;
    let mut pair = 0;
    while pair < 64 * 64 {
        if is_queen_or_knight_move(pair / 64, pair % 64) {
            let (from, to) = (Square::new((pair / 64) as u32), Square::new((pair % 64) as u32));
            moves[index] = PolicyMove { from, to, promotion: None };
            index += 1;
        }
        pair += 1;
    }
    while index < POLICY_SIZE {
        let promotion = index - PLAIN_MOVES;
        // The inverse of `2 * from + to` for neighbouring files.
        let files = promotion / 3;
        let from = (files + 1) / 3;
        let to = files - 2 * from;
        moves[index] = PolicyMove {
            from: Square::new((48 + from) as u32),
            to: Square::new((56 + to) as u32),
            promotion: Some(PIECES[promotion % 3]),
        };
        index += 1;
    }
    moves
}

const fn cells(of_attention: bool) -> [u16; POLICY_SIZE] {
    let moves = moves();
    let mut cells = [0; POLICY_SIZE];
    let mut index = 0;
    while index < POLICY_SIZE {
        let m = moves[index];
        cells[index] =
            if of_attention { attention_cell(m) } else { convolution_plane(m) * 64 + m.from as u16 };
        index += 1;
    }
    cells
}

const fn convolution_plane(m: PolicyMove) -> u16 {
    let files = (m.to as i32 % 8) - (m.from as i32 % 8);
    let ranks = (m.to as i32 / 8) - (m.from as i32 / 8);
    if let Some(role) = m.promotion {
        let piece = match role {
            Role::Rook => 0,
            Role::Bishop => 1,
            _ => 2,
        };
        return (64 + (files + 1) * 3 + piece) as u16;
    }
    if (files * ranks).abs() == 2 {
        return match (files, ranks) {
            (1, 2) => 56,
            (2, 1) => 57,
            (2, -1) => 58,
            (1, -2) => 59,
            (-1, -2) => 60,
            (-2, -1) => 61,
            (-2, 1) => 62,
            _ => 63,
        };
    }
    let direction = match (files.signum(), ranks.signum()) {
        (0, 1) => 0,
        (1, 1) => 1,
        (1, 0) => 2,
        (1, -1) => 3,
        (0, -1) => 4,
        (-1, -1) => 5,
        (-1, 0) => 6,
        _ => 7,
    };
    let distance = if files == 0 { ranks.abs() } else { files.abs() };
    (direction * 7 + distance - 1) as u16
}

const fn attention_cell(PolicyMove { from, to, promotion }: PolicyMove) -> u16 {
    let (from, to) = (from as u16, to as u16);
    let piece = match promotion {
        Some(Role::Queen) => 0,
        Some(Role::Rook) => 1,
        Some(_) => 2,
        None => return from * 64 + to,
    };
    ATTENTION_PLAIN as u16 + 24 * (from % 8) + 3 * (to % 8) + piece
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_moves_is_the_inverse_of_the_index() {
        for (expected, m) in MOVES.iter().enumerate() {
            let white = Move::new(m.from, m.to, m.promotion);
            assert_eq!(usize::from(index(white, Color::White, Transform::NONE)), expected, "{m:?}");
            let black = Move::new(m.from.flip_vertical(), m.to.flip_vertical(), m.promotion);
            assert_eq!(usize::from(index(black, Color::Black, Transform::NONE)), expected, "{m:?}");
        }
    }
}
