//! `zeitnot perft`: counts the paths of legal moves of a length, which tests the move generator.

use std::fmt;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::{ExitStatus, Failure, Output};
use crate::chess::{Position, perft};

/// The deepest search whose count surely fits: 218 moves to the eighth power are less than 2^64.
const MAX_DEPTH: i64 = 8;

#[derive(Debug, Args)]
pub(super) struct PerftArgs {
    /// Plies to look ahead
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MAX_DEPTH))]
    depth: u32,
    /// The position [default: the start position]
    #[arg(num_args = 0.., value_name = "FEN")]
    fen: Vec<String>,
    /// Write castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

/// The paths from a position, and how fast they were counted.
#[derive(Serialize)]
struct PerftResult {
    nodes: u64,
    nps: u64,
    time_ms: u64,
    moves: Vec<PerftMove>,
}

/// The paths that begin with one move.
#[derive(Serialize)]
struct PerftMove {
    r#move: String,
    nodes: u64,
}

impl fmt::Display for PerftResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PerftMove { r#move, nodes } in &self.moves {
            writeln!(f, "{}: {nodes}", r#move)?;
        }
        writeln!(f, "{} nodes {} nps", self.nodes, self.nps)
    }
}

/// Runs the command: counts and writes the result.
pub(super) fn run(args: &PerftArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let position = if args.fen.is_empty() {
        Position::start()
    } else {
        Position::from_fen(&args.fen.join(" ")).map_err(|error| Failure::Input(error.to_string()))?
    };
    let count = count(&position, args);
    output.write(&count, &count)?;
    Ok(ExitStatus::Success)
}

/// Counts the paths from `position`.
fn count(position: &Position, args: &PerftArgs) -> PerftResult {
    let variant = super::variant(args.chess960);
    let start = Instant::now();
    let moves: Vec<PerftMove> = match args.depth.checked_sub(1) {
        None => Vec::new(),
        Some(rest) => position
            .legal_moves()
            .into_iter()
            .map(|m| PerftMove {
                r#move: position.format_move(m, variant),
                nodes: perft(&position.play(m), rest),
            })
            .collect(),
    };
    let time = start.elapsed();
    let nodes = if args.depth == 0 { 1 } else { moves.iter().map(|root| root.nodes).sum() };
    let nps = (nodes as f64 / time.as_secs_f64().max(1e-9)) as u64;
    PerftResult { nodes, nps, time_ms: time.as_millis() as u64, moves }
}
