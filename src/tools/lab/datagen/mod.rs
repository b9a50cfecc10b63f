//! `zeitnot datagen`: makes training data: plays or imports labelled games, and expands them to the trainer's tables.

mod blunders;
mod files;
mod import;
mod play;
mod table;
mod teaching;

use std::fmt;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::lab::training::game::LabelledGame;
use crate::tools::{ExitStatus, Failure, Output};

#[derive(Debug, Args)]
pub(in crate::tools) struct DatagenArgs {
    #[command(subcommand)]
    step: DatagenStep,
}

#[derive(Debug, Subcommand)]
enum DatagenStep {
    /// Let a UCI engine play and label games, and write them as records
    ///
    /// Once a game is decided, half the nodes per move do.
    Play(play::PlayArgs),
    /// Let a UCI engine label what follows random or plausible moves in games that it has labelled
    Blunders(Box<blunders::BlundersArgs>),
    /// Read labelled games and write them as records, at most 12 bytes per position
    Import(import::ImportArgs),
    /// Expand records to tables, one row per position, for models/training/train.py
    Table(table::TableArgs),
}

#[derive(Debug, Default, Serialize)]
struct DatagenSummary {
    games: usize,
    skipped: usize,
    positions: usize,
    held_out_positions: usize,
}

impl DatagenSummary {
    fn count(&mut self, game: &LabelledGame) {
        self.games += 1;
        self.positions += game.plies.len();
        self.held_out_positions += if game.held_out { game.plies.len() } else { 0 };
    }
}

impl fmt::Display for DatagenSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DatagenSummary { games, skipped, positions, held_out_positions } = self;
        writeln!(
            f,
            "{games} games ({skipped} skipped), {positions} positions, {held_out_positions} of them held out"
        )
    }
}

/// Runs the command.
pub(super) fn run(args: &DatagenArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let summary = match &args.step {
        DatagenStep::Play(args) => play::play(args)?,
        DatagenStep::Blunders(args) => blunders::play(args)?,
        DatagenStep::Import(args) => import::import(args)?,
        DatagenStep::Table(args) => table::expand(args)?,
    };
    output.write(&summary, &summary)?;
    Ok(ExitStatus::Success)
}
