//! The engine's options as command-line flags, of all of them or of those of network and backend.

use std::sync::Arc;

use anyhow::Result;
use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::output::eprint_message;
use zeitnot_engine::engine::{OpenedBackend, Settings, open_backend};
use zeitnot_engine::network::Backend;
use zeitnot_engine::network::weights::{HeadChoice, PolicyHeadName, ValueHeadName};
use zeitnot_engine::options::{OptionChoice, OptionKind, OptionSpec, Visibility};

/// The heading in a command's help under which the flags stand.
pub(crate) const FLAGS_HEADING: &str = "Engine options";

/// Options that commands without a search have.
const WITHOUT_SEARCH: [&str; 9] = [
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

/// The values of the options of a command that searches or does not. The others keep their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct OptionArgs<const SEARCHES: bool>(pub(crate) Settings);

pub(crate) type EngineArgs = OptionArgs<true>;
pub(crate) type NetworkArgs = OptionArgs<false>;

impl NetworkArgs {
    pub(crate) fn backend(&self) -> Result<Arc<dyn Backend>> {
        Ok(self.open()?.backend)
    }

    /// Opens the backend and identifies the network. Names both on stderr.
    pub(crate) fn open(&self) -> Result<OpenedBackend> {
        let opened = open_backend(&self.0.network)?;
        eprint_message(format_args!("using {}", opened.backend.facts().description));
        opened.backend.take_notes().iter().for_each(eprint_message);
        Ok(opened)
    }
}

/// The heads of a network's file.
#[derive(Debug, clap::Args)]
pub(crate) struct HeadArgs {
    /// Policy head: vanilla, optimistic, soft, opponent
    #[arg(long, value_name = "HEAD", value_parser = PolicyHeadName::read, default_value_t)]
    policy_head: PolicyHeadName,
    /// Value head: winner, q, st
    #[arg(long, value_name = "HEAD", value_parser = ValueHeadName::read, default_value_t)]
    value_head: ValueHeadName,
}

impl HeadArgs {
    pub(crate) fn choice(&self) -> HeadChoice {
        HeadChoice {
            policy: self.policy_head,
            value: self.value_head,
            input_format: None,
        }
    }
}

/// Reads a number of things, at least one.
pub(crate) fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

fn flag(spec: &'static OptionSpec) -> Arg {
    let check = |text: &str| {
        Settings::default()
            .set(spec.flag, text)
            .map(|()| text.to_string())
    };
    let arg = Arg::new(spec.flag)
        .long(spec.flag)
        .help(format!(
            "{} [{}, default: {}]",
            spec.help,
            spec.kind.expected(),
            spec.default
        ))
        .value_parser(check)
        .help_heading(FLAGS_HEADING);
    match spec.kind {
        OptionKind::Switch => arg
            .value_name("BOOL")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        OptionKind::Integer { .. } => arg.value_name("N").allow_negative_numbers(true),
        OptionKind::Decimal { .. } => arg.value_name("X").allow_negative_numbers(true),
        OptionKind::Choice(_) => arg.value_name("WORD"),
        OptionKind::Text | OptionKind::Button => arg.value_name("TEXT"),
    }
}

impl<const SEARCHES: bool> Args for OptionArgs<SEARCHES> {
    /// Adds the flags, but those of which `command` has an argument itself. The help shows common ones only
    /// where there are many.
    fn augment_args(command: Command) -> Command {
        let least = if SEARCHES {
            Visibility::Common
        } else {
            Visibility::Hidden
        };
        let taken: Vec<_> = command
            .get_arguments()
            .map(|arg| arg.get_id().to_string())
            .collect();
        let wanted = Settings::specs().iter().filter(|spec| {
            (SEARCHES || WITHOUT_SEARCH.contains(&spec.flag)) && !taken.iter().any(|id| id == spec.flag)
        });
        command.args(wanted.map(|spec| flag(spec).hide(spec.visibility > least)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SEARCHES: bool> FromArgMatches for OptionArgs<SEARCHES> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches).map(|()| args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for spec in Settings::specs() {
            if let Ok(Some(text)) = matches.try_get_one::<String>(spec.flag) {
                let refused = |error| clap::Error::raw(ErrorKind::ValueValidation, error);
                self.0.set(spec.flag, text).map_err(refused)?;
            }
        }
        Ok(())
    }
}
