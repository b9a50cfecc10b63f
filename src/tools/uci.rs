//! `zeitnot uci`: the engine itself, for GUIs.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use clap::Args;

use super::{ExitStatus, Failure};
use crate::engine::{NetworkOptions, Settings};
use crate::network::weights::{NetworkError, NetworkErrorKind, NetworkFile};
use crate::options::Visibility;
use crate::uci::Audience;

/// The size up to which a network file is read before the GUI is answered, bytes: that takes some hundredths of a second.
const MAX_CHECKED: u64 = 16 << 20;

#[derive(Debug, Args, Default)]
pub(super) struct UciArgs {
    /// Let `uci` list all options, not only those that players need; with --help the same as --help-all
    #[arg(long)]
    show_hidden: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Runs the command: speaks UCI on stdin and stdout.
pub(super) fn run(args: UciArgs) -> Result<ExitStatus, Failure> {
    if let Some(path) = args.settings.network.named_file() {
        check_file(path, &args.settings.network)?;
    }
    let audience = Audience {
        is_person: io::stdin().is_terminal() && io::stdout().is_terminal(),
        options: if args.show_hidden { Visibility::Hidden } else { Visibility::Normal },
    };
    crate::uci::run(args.settings, audience, io::stdin().lock(), io::stdout())?;
    Ok(ExitStatus::Success)
}

/// Fails if there is no file `path`, or if it is small and no network.
fn check_file(path: &Path, options: &NetworkOptions) -> Result<(), Failure> {
    let Ok(metadata) = fs::metadata(path) else {
        let path = path.display();
        return Err(Failure::Input(format!(
            "--weights: there is no file {path}; leave it out to play with a network in models/"
        )));
    };
    if metadata.len() > MAX_CHECKED {
        return Ok(());
    }
    match NetworkFile::load(path, options.heads()) {
        // Options that come later may choose another head.
        Ok(_) | Err(NetworkError { kind: NetworkErrorKind::Head { .. }, .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
