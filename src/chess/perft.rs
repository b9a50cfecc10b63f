//! Counts move paths: the usual test of a move generator.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

use super::notation::Variant;
use super::position::Position;

/// The deepest count that surely fits: 218 moves to the eighth power are less than 2^64.
pub const MAX_PERFT_DEPTH: u32 = 8;

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

/// The paths from a position, and how fast they were counted.
#[derive(Clone, Debug, Serialize)]
pub struct PerftReport {
    nodes: u64,
    nps: u64,
    time_ms: u64,
    moves: Vec<MovePaths>,
}

/// The paths that begin with one move.
#[derive(Clone, Debug, Serialize)]
struct MovePaths {
    r#move: String,
    nodes: u64,
}

impl PerftReport {
    /// Counts the paths of `depth` plies from `position`, at most [`MAX_PERFT_DEPTH`]; castling is written as in `variant`.
    pub fn count(position: &Position, depth: u32, variant: Variant) -> PerftReport {
        let start = Instant::now();
        let moves: Vec<MovePaths> = match depth.checked_sub(1) {
            None => Vec::new(),
            Some(rest) => position
                .legal_moves()
                .into_iter()
                .map(|m| MovePaths {
                    r#move: position.format_move(m, variant),
                    nodes: perft(&position.play(m), rest),
                })
                .collect(),
        };
        let time = start.elapsed();
        let nodes = if depth == 0 { 1 } else { moves.iter().map(|root| root.nodes).sum() };
        let nps = (nodes as f64 / time.as_secs_f64().max(1e-9)) as u64;
        PerftReport { nodes, nps, time_ms: time.as_millis() as u64, moves }
    }
}

impl fmt::Display for PerftReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for MovePaths { r#move, nodes } in &self.moves {
            writeln!(f, "{}: {nodes}", r#move)?;
        }
        writeln!(f, "{} nodes {} nps", self.nodes, self.nps)
    }
}
