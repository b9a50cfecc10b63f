//! The engine's options as command-line flags.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use zeitnot_engine::engine::Settings;
use zeitnot_engine::options::{OptionKind, OptionSpec, Visibility};

/// The heading in a command's help under which the flags stand.
pub(crate) const FLAGS_HEADING: &str = "Engine options";

/// The values of all options, from flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineArgs(pub(crate) Settings);

/// Adds a flag for each option that `is_wanted`, unless `command` has an argument of that name itself. The
/// help shows those up to `least` in visibility.
pub(crate) fn with_flags(
    command: Command,
    least: Visibility,
    is_wanted: impl Fn(&OptionSpec) -> bool,
) -> Command {
    let taken: Vec<_> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    let free =
        Settings::specs().iter().filter(|spec| is_wanted(spec) && !taken.iter().any(|id| id == spec.flag));
    command.args(free.map(|spec| flag(spec).hide(spec.visibility > least)))
}

fn flag(spec: &'static OptionSpec) -> Arg {
    let check = |text: &str| Settings::default().set(spec.flag, text).map(|()| text.to_string());
    let arg = Arg::new(spec.flag)
        .long(spec.flag)
        .help(format!("{} [{}, default: {}]", spec.help, spec.kind.expected(), spec.default))
        .value_parser(check)
        .help_heading(FLAGS_HEADING);
    match spec.kind {
        OptionKind::Switch => {
            arg.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        OptionKind::Integer { .. } => arg.value_name("N").allow_negative_numbers(true),
        OptionKind::Decimal { .. } => arg.value_name("X").allow_negative_numbers(true),
        OptionKind::Choice(_) => arg.value_name("WORD"),
        OptionKind::Text | OptionKind::Button => arg.value_name("TEXT"),
    }
}

impl Args for EngineArgs {
    fn augment_args(command: Command) -> Command {
        with_flags(command, Visibility::Common, |_| true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        EngineArgs::augment_args(command)
    }
}

impl FromArgMatches for EngineArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = EngineArgs::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
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
