//! Stands in for the laboratory's commands in a build without the feature `lab`: they are known by name, and say what is missing.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::{ExitStatus, Failure, Output};

#[derive(Debug, Subcommand)]
pub(super) enum LabCommand {
    /// Not in this build: analyses recorded games
    #[command(hide = true, alias = "analyze")]
    Analyse(AnyArgs),
    /// Not in this build: plays matches
    #[command(hide = true)]
    Match(AnyArgs),
    /// Not in this build: finds better values of options
    #[command(hide = true)]
    Tune(AnyArgs),
    /// Not in this build: replays recorded games
    #[command(hide = true)]
    Timelab(AnyArgs),
    /// Not in this build: measures moves-left estimators
    #[command(hide = true)]
    Movesleft(AnyArgs),
    /// Not in this build: puts results of several runs together
    #[command(hide = true)]
    Report(AnyArgs),
    /// Not in this build: makes training data
    #[command(hide = true)]
    Datagen(AnyArgs),
}

/// Arguments of any kind, which nobody reads.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(super) struct AnyArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl LabCommand {
    /// Refuses the command.
    ///
    /// # Errors
    /// Always fails: [`Failure::Input`] says how to get a build that has the command.
    pub(super) fn run(self, _: &mut Output) -> Result<ExitStatus, Failure> {
        Err(Failure::Input("this build has no laboratory; build with --features lab".into()))
    }
}
