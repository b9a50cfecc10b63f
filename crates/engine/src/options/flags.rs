//! Options as command-line flags.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

use super::{OptionError, OptionKind, OptionSpec, Visibility};

/// The heading in a command's help under which the flags stand.
pub const FLAGS_HEADING: &str = "Engine options";

/// Adds a flag for each of `specs` to `command`, unless it has an argument of that name itself. The help
/// shows those up to `least` in visibility.
pub(crate) fn add_flags(
    command: Command,
    specs: impl Iterator<Item = &'static OptionSpec>,
    least: Visibility,
    check: fn(&OptionSpec, &str) -> Result<(), OptionError>,
) -> Command {
    let taken: Vec<_> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    let free = specs.filter(|spec| !taken.iter().any(|id| id == spec.flag));
    command.args(free.map(|spec| flag(spec, check).hide(spec.visibility > least)))
}

/// Hands the options that stand on the command line to `set`, with their values.
///
/// # Errors
/// Fails if `set` refuses one.
pub(crate) fn read_flags(
    matches: &ArgMatches,
    specs: &[OptionSpec],
    mut set: impl FnMut(&OptionSpec, &str) -> Result<(), OptionError>,
) -> Result<(), clap::Error> {
    for spec in specs {
        if let Ok(Some(text)) = matches.try_get_one::<String>(spec.flag) {
            set(spec, text).map_err(|error| clap::Error::raw(ErrorKind::ValueValidation, error))?;
        }
    }
    Ok(())
}

fn flag(spec: &'static OptionSpec, check: fn(&OptionSpec, &str) -> Result<(), OptionError>) -> Arg {
    let arg = Arg::new(spec.flag)
        .long(spec.flag)
        .help(format!("{} [{}, default: {}]", spec.help, spec.kind.expected(), spec.default))
        .value_parser(move |text: &str| check(spec, text).map(|()| text.to_string()))
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
