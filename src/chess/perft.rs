//! Counting move paths, the test of a move generator.

use super::position::Position;

/// Number of legal move sequences of `depth` plies from `position`; 1 at depth 0.
///
/// The last ply is counted, not played.
pub fn perft(position: &Position, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let moves = position.legal_moves();
    if depth == 1 {
        return moves.len() as u64;
    }
    moves.into_iter().map(|m| perft(&position.play(m), depth - 1)).sum()
}
