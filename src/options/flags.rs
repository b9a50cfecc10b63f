//! Options as command-line flags: `Settings` can be flattened into any clap command.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::{OptionKind, OptionSpec, Settings};

impl Settings {
    /// Adds the flags of some options to `command`, for commands in which the others mean nothing.
    pub fn augment_with(command: Command, flags: &[&str]) -> Command {
        let wanted = Settings::SPECS.iter().filter(|spec| flags.contains(&spec.flag));
        command.args(wanted.map(flag))
    }
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        // A command's own argument of the same name has precedence.
        let taken: Vec<_> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let free = Settings::SPECS.iter().filter(|spec| !taken.iter().any(|id| id == spec.flag));
        command.args(free.map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Settings::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Settings::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for spec in Settings::SPECS {
            if let Ok(Some(text)) = matches.try_get_one::<String>(spec.flag) {
                self.set(spec.name, text).map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, e))?;
            }
        }
        Ok(())
    }
}

fn flag(spec: &'static OptionSpec) -> Arg {
    let arg = Arg::new(spec.flag)
        .long(spec.flag)
        .help(format!("{} [{}; default: {}]", spec.help.trim(), spec.expected(), spec.default_text()))
        .value_parser(move |text: &str| spec.parse(text).map(|_| text.to_string()))
        .help_heading("Engine options");
    match spec.kind {
        OptionKind::Switch { .. } => {
            arg.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        OptionKind::Integer { .. } => arg.value_name("N").allow_negative_numbers(true),
        OptionKind::Decimal { .. } => arg.value_name("X").allow_negative_numbers(true),
        OptionKind::Choice { .. } => arg.value_name("WORD"),
        OptionKind::Text { .. } => arg.value_name("TEXT"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Settings, clap::Error> {
        let command = Settings::augment_args(Command::new("zeitnot"));
        Settings::from_arg_matches(&command.try_get_matches_from(args)?)
    }

    #[test]
    fn flags_set_options() {
        let settings =
            parse(&["zeitnot", "--threads=3", "--show-wdl", "--cpuct", "2", "--weights", "a b.pb.gz"])
                .unwrap();
        assert_eq!((settings.threads, settings.show_wdl, settings.cpuct), (3, true, 2.0));
        assert_eq!(settings.weights_file, "a b.pb.gz");
        assert!(!parse(&["zeitnot", "--show-wdl=false"]).unwrap().show_wdl);
    }

    #[test]
    fn bad_values_are_refused_with_the_range() {
        let error = parse(&["zeitnot", "--threads=900"]).unwrap_err().to_string();
        assert!(error.contains("an integer from 0 to 256"), "{error}");
    }
}
