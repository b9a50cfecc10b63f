//! `zeitnot uci`: the engine itself, for GUIs.

use std::io::{self, BufReader, IsTerminal};

use anyhow::Result;
use clap::Args;

use super::engine_args::EngineArgs;
use crate::output::{ExitStatus, leave_with_the_reader};
use crate::uci::Audience;
use zeitnot_engine::engine::{EngineError, Settings};
use zeitnot_engine::options::Visibility;

#[derive(Debug, Args)]
pub(crate) struct UciArgs {
    /// Let `uci` list all options, not only those that players need. With --help the same as --help-all
    #[arg(long)]
    show_hidden: bool,
    #[command(flatten)]
    settings: EngineArgs,
    /// Of the command line and the configuration file.
    #[arg(skip)]
    pub(crate) mistakes: Vec<String>,
}

impl UciArgs {
    /// Unless they are invalid beside those in `settings`.
    pub(crate) fn add_to(&self, settings: &mut Settings) -> Result<(), EngineError> {
        let mut joint = settings.clone();
        self.settings
            .0
            .changed()
            .iter()
            .try_for_each(|(flag, value)| joint.set(flag, value))?;
        joint.check()?;
        *settings = joint;
        Ok(())
    }

    /// `place` of the configuration file names the network.
    pub(crate) fn missing_file(&self, place: Option<&str>) -> Option<String> {
        let file = self
            .settings
            .0
            .network
            .named_file()
            .filter(|file| !file.exists())?;
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let file = file.display();
        Some(format!(
            "{place}WeightsFile: there is no file {file}. Without a network there is no bestmove"
        ))
    }
}

/// Exit code 2 if arguments were left out at the start.
pub(crate) fn run(args: UciArgs) -> Result<ExitStatus> {
    let status = if args.mistakes.is_empty() {
        ExitStatus::Success
    } else {
        ExitStatus::BadInput
    };
    let audience = Audience {
        is_person: io::stdin().is_terminal() && io::stdout().is_terminal(),
        options: if args.show_hidden {
            Visibility::Hidden
        } else {
            Visibility::Normal
        },
        mistakes: args.mistakes,
    };
    leave_with_the_reader();
    crate::uci::run(
        args.settings.0,
        audience,
        BufReader::new(io::stdin()),
        io::stdout(),
    )?;
    Ok(status)
}
