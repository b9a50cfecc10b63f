//! `zeitnot datagen blunders`: lets a UCI engine label what follows random moves in games that are labelled already.

use std::path::PathBuf;

use clap::Args;

use super::DatagenSummary;
use super::files::each_game;
use super::teaching::TeachingArgs;
use crate::lab::training::blunders::{SourceGames, play_line};
use crate::tools::Failure;

#[derive(Debug, Args)]
pub(super) struct BlundersArgs {
    /// Files of records by a teacher, also compressed (.zst), in whose games the lines begin
    #[arg(long, required = true, num_args = 1.., value_name = "RECORDS")]
    from: Vec<PathBuf>,
    #[command(flatten)]
    teaching: TeachingArgs,
}

/// Runs the step.
pub(super) fn play(args: &BlundersArgs) -> Result<DatagenSummary, Failure> {
    let mut games = Vec::new();
    each_game(&args.from, |_, game| {
        games.push(game);
        Ok(())
    })?;
    let sources = SourceGames::new(games).map_err(|error| Failure::Input(error.to_string()))?;
    let TeachingArgs { nodes, seed, .. } = args.teaching;
    args.teaching.run(|teacher, number| play_line(teacher, &sources, nodes, seed, number))
}
