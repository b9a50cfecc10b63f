//! `zeitnot uci`: the engine itself, for GUIs.

use std::io;

use clap::Args;

use super::{ExitStatus, Failure};
use crate::engine::Settings;

#[derive(Debug, Args, Default)]
pub(super) struct UciArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Runs the command: speaks UCI on stdin and stdout.
///
/// # Errors
/// [`Failure`] if the command line names a network file that isn't there: a user would otherwise lose games before noticing.
pub(super) fn run(args: UciArgs) -> Result<ExitStatus, Failure> {
    if let Some(path) = args.settings.network.named_file().filter(|path| !path.exists()) {
        let path = path.display();
        return Err(Failure::Input(format!(
            "--weights: there is no file {path}; leave it out to play with a network in models/"
        )));
    }
    crate::uci::run(args.settings, io::stdin().lock(), io::stdout())?;
    Ok(ExitStatus::Success)
}
