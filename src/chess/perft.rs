//! Counts move paths: the usual test of a move generator.

use super::position::Position;

/// Counts the legal move sequences of `depth` plies from `position`; there is 1 at depth 0.
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
