//! `zeitnot datagen play`: lets a UCI engine play and label games.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::DatagenSummary;
use super::files::fault;
use super::teaching::TeachingArgs;
use crate::chess::{Position, split_epd};
use crate::lab::training::play::{PlayOptions, play_game};
use crate::tools::Failure;

#[derive(Debug, Args)]
pub(super) struct PlayArgs {
    #[command(flatten)]
    teaching: TeachingArgs,
    /// Balanced start positions, one FEN or EPD a line [default: the standard position and random moves]
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
}

/// Runs the step.
pub(super) fn play(args: &PlayArgs) -> Result<DatagenSummary, Failure> {
    let openings = args.openings.as_deref().map(read_openings).transpose()?.unwrap_or_default();
    let options = PlayOptions { nodes: args.teaching.nodes, openings, seed: args.teaching.seed };
    args.teaching.run(|teacher, number| play_game(teacher, &options, number))
}

fn read_openings(path: &Path) -> Result<Vec<String>, Failure> {
    let bytes = fs::read(path).map_err(|error| fault(path, error.into()))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let openings: Vec<String> = lines
        .map(|(i, line)| {
            let (fen, _) = split_epd(line);
            match Position::from_fen(&fen) {
                Ok(_) => Ok(fen),
                Err(error) => Err(Failure::Input(format!("{} line {}: {error}", path.display(), i + 1))),
            }
        })
        .collect::<Result<_, _>>()?;
    if openings.is_empty() {
        return Err(Failure::Input(format!("{} has no openings", path.display())));
    }
    Ok(openings)
}
