//! `zeitnot perft`: counts the paths of legal moves of a length, which tests the move generator.

use clap::Args;

use super::{ExitStatus, Failure, Output};
use crate::chess::{MAX_PERFT_DEPTH, PerftReport, Position};

#[derive(Debug, Args)]
pub(super) struct PerftArgs {
    /// Plies to look ahead
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_PERFT_DEPTH)))]
    depth: u32,
    /// The position [default: the start position]
    #[arg(num_args = 0.., value_name = "FEN")]
    fen: Vec<String>,
    /// Write castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

/// Runs the command: counts and writes the result.
pub(super) fn run(args: &PerftArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let position = if args.fen.is_empty() {
        Position::start()
    } else {
        Position::from_fen(&args.fen.join(" ")).map_err(|error| Failure::Input(error.to_string()))?
    };
    let count = PerftReport::count(&position, args.depth, super::variant(args.chess960));
    output.write(&count, &count)?;
    Ok(ExitStatus::Success)
}
