//! `zeitnot datagen blunders`: lets a UCI engine label what follows random or plausible moves in games that are labelled already.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::DatagenSummary;
use super::files::each_game;
use super::teaching::TeachingArgs;
use crate::engine::Settings;
use crate::lab::training::blunders::{DrawnMoves, SourceGames, play_line};
use crate::network::BatchEvaluator;
use crate::tools::{Failure, NetworkArgs};

#[derive(Debug, Args)]
pub(super) struct BlundersArgs {
    /// Files of records by a teacher, also compressed (.zst), in whose games the lines begin
    #[arg(long, required = true, num_args = 1.., value_name = "RECORDS")]
    from: Vec<PathBuf>,
    /// The moves to label answers to: any legal ones, or those that the network (--weights) finds plausible, mistakes
    /// preferred
    #[arg(long, value_enum, default_value_t = Moves::Random)]
    moves: Moves,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    teaching: TeachingArgs,
}

/// What [`DrawnMoves`] are drawn from.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Moves {
    Random,
    Plausible,
}

/// Runs the step.
pub(super) fn play(args: &BlundersArgs) -> Result<DatagenSummary, Failure> {
    if let Moves::Random = args.moves
        && args.network.settings != Settings::default()
    {
        let error =
            "random moves ask no network: add --moves plausible, or leave out the options of the network";
        return Err(Failure::Input(error.into()));
    }
    let mut games = Vec::new();
    each_game(&args.from, |_, game| {
        games.push(game);
        Ok(())
    })?;
    let sources = SourceGames::new(games).map_err(|error| Failure::Input(error.to_string()))?;
    let mut drawn_moves = match args.moves {
        Moves::Random => DrawnMoves::Random,
        Moves::Plausible => {
            let history_fill = args.network.settings.search.history_fill;
            DrawnMoves::Plausible(BatchEvaluator::new(&*args.network.backend()?, history_fill, 1)?)
        }
    };
    let TeachingArgs { nodes, seed, .. } = args.teaching;
    args.teaching.run(|teacher, number| play_line(teacher, &sources, &mut drawn_moves, nodes, seed, number))
}
