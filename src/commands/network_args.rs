//! Options for network and backend in commands that evaluate without searching.

use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::engine_args::{self, EngineArgs};
use crate::output::Failure;
use crate::output::eprint_message;
use zeitnot_engine::chess::Variant;
use zeitnot_engine::engine::{self, OpenedBackend, Settings};
use zeitnot_engine::network::Backend;
use zeitnot_engine::options::Visibility;

const FLAGS: [&str; 9] = [
    "weights",
    "backend",
    "backend-opts",
    "fallback",
    "policy-head",
    "value-head",
    "input-format",
    "history-fill",
    "chess960",
];

#[derive(Clone, Debug)]
pub(crate) struct NetworkArgs {
    /// Options without a flag here keep their defaults.
    pub(crate) settings: Settings,
}

impl NetworkArgs {
    pub(crate) fn backend(&self) -> Result<Arc<dyn Backend>, Failure> {
        Ok(self.open()?.backend)
    }

    /// Opens the backend and identifies the network. Names both on stderr.
    pub(crate) fn open(&self) -> Result<OpenedBackend, Failure> {
        let opened = engine::open_backend(&self.settings.network)?;
        eprint_message(format_args!("using {}", opened.backend.info().description));
        opened.backend.take_notes().iter().for_each(eprint_message);
        Ok(opened)
    }
}

impl Args for NetworkArgs {
    fn augment_args(command: Command) -> Command {
        engine_args::with_flags(command, Visibility::Hidden, |spec| FLAGS.contains(&spec.flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        NetworkArgs::augment_args(command)
    }
}

impl FromArgMatches for NetworkArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(NetworkArgs { settings: EngineArgs::from_arg_matches(matches)?.0 })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = NetworkArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(crate) fn variant(chess960: bool) -> Variant {
    if chess960 { Variant::Chess960 } else { Variant::Standard }
}
