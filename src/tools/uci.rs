//! `zeitnot uci`: the engine itself, for GUIs.

use std::io;

use clap::Args;

use super::{Failure, Verdict};
use crate::options::Settings;

#[derive(Debug, Args, Default)]
pub(super) struct UciArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Runs the command: speaks UCI on stdin and stdout.
pub(super) fn run(args: UciArgs) -> Result<Verdict, Failure> {
    crate::uci::run(args.settings, io::stdin().lock(), io::stdout())?;
    Ok(Verdict::Yes)
}
