//! The command line: the arguments, those of Lc0 too, and the configuration file. `main` parses [`Cli`] and
//! calls [`Cli::run`].

mod lc0_flags;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, CommandFactory, Parser};

use zeitnot_engine::VERSION;
use zeitnot_engine::network::folders;

use crate::commands::engine_args::FLAGS_HEADING;
use crate::commands::{Command, uci};
use crate::output::{ExitStatus, Output, OutputFormat, STOPPED, eprint_message};

/// Places common options behind each command's own in the help.
const LAST: usize = 900;

/// A UCI chess engine in the family of Leela Chess Zero.
#[derive(Debug, Parser)]
#[command(name = "zeitnot", version = VERSION, args_conflicts_with_subcommands = true, args_override_self = true)]
pub struct Cli {
    /// Write JSON to stdout instead of text
    #[arg(long, global = true, display_order = LAST)]
    json: bool,
    /// Let `setup` fetch nothing from the network. The environment variable ZEITNOT_OFFLINE=1 means the same.
    /// Other commands never do
    #[arg(long, global = true, display_order = LAST)]
    offline: bool,
    /// Print help with all options of the engine
    #[arg(long, global = true, action = ArgAction::Help, display_order = LAST)]
    help_all: Option<bool>,
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    uci: uci::UciArgs,
}

impl Cli {
    /// Reads this process's command line, possibly Lc0's, and the configuration file. Mistakes end the
    /// process with a message, except for the engine itself, which tells the GUI what it left out.
    pub fn of_process() -> Cli {
        let folder = folders::executable();
        let arguments: Vec<_> = std::env::args_os().collect();
        let arguments =
            if cfg!(windows) { arguments.into_iter().flat_map(expanded).collect() } else { arguments };
        match lc0_flags::translated(arguments, folder.as_deref()) {
            Ok(translation) => {
                let mut parsed = Cli::parse_translated(&translation);
                // Help and version come without notes.
                let is_message = parsed.as_ref().err().is_some_and(|error| !error.use_stderr());
                if !is_message {
                    let mistakes = parsed.as_mut().map_or(&[][..], |cli| &cli.uci_mut().mistakes);
                    translation
                        .notes
                        .iter()
                        .chain(&translation.config_note(mistakes))
                        .for_each(eprint_message);
                }
                parsed.unwrap_or_else(|error| {
                    if let Some(hint) = hint_for_file(&error) {
                        eprint_message(hint);
                        std::process::exit(2)
                    }
                    let wrong_line = if is_message { None } else { translation.wrong_line() };
                    let Some((place, error)) = wrong_line else { error.exit() };
                    eprint_message(place);
                    error.exit()
                })
            }
            Err(failure) => {
                eprint_message(failure);
                std::process::exit(2)
            }
        }
    }

    fn parse_translated(translation: &lc0_flags::Translation) -> Result<Cli, clap::Error> {
        if translation.shows_all {
            with_all_in_help(Cli::command()).try_get_matches_from(translation.arguments())?;
        }
        let mut parsed = Cli::try_parse_from(translation.arguments());
        if let Ok(Cli { command: Some(Command::Benchmark(args)), .. }) = &mut parsed {
            args.config = translation.config_path();
        }
        if !translation.plays {
            return parsed;
        }
        let (mut cli, mut mistakes) = match parsed {
            Ok(cli) if cli.wrong_option().is_none() => (cli, translation.config_mistakes()),
            _ => translation.parse_what_is_right()?,
        };
        let uci = cli.uci_mut();
        mistakes.extend(uci.missing_file(|name, value| translation.place_of(name, value)));
        uci.mistakes = mistakes;
        Ok(cli)
    }

    fn uci_mut(&mut self) -> &mut uci::UciArgs {
        match &mut self.command {
            Some(Command::Uci(args)) => args,
            _ => &mut self.uci,
        }
    }

    /// An option of the engine with an invalid value. Other commands report their own.
    fn wrong_option(&self) -> Option<String> {
        match &self.command {
            Some(Command::Uci(args)) => args.wrong_option(),
            None => self.uci.wrong_option(),
            Some(_) => None,
        }
    }

    /// A failure is one message on stderr and exit code 2.
    pub fn run(self) -> ExitCode {
        let mut output = Output::stdout(if self.json { OutputFormat::Json } else { OutputFormat::Text });
        let mut command = self.command.unwrap_or(Command::Uci(self.uci));
        if let Command::Setup(args) = &mut command {
            args.is_offline = self.offline;
        }
        let status = command.run(|| with_all_in_help(Cli::command()), &mut output);
        match status.and_then(|status| output.finish().map(|()| status)) {
            Ok(ExitStatus::Success) => ExitCode::SUCCESS,
            Ok(ExitStatus::Negative) => ExitCode::from(1),
            Ok(ExitStatus::BadInput) => ExitCode::from(2),
            Ok(ExitStatus::Stopped) => ExitCode::from(STOPPED),
            Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
            Err(failure) => {
                eprint_message(failure);
                ExitCode::from(2)
            }
        }
    }
}

/// What a file is for, by its ending: it may have been dropped on the program.
const FILES: [(&[&str], &str); 3] = [
    (
        &[".pgn", ".pgn.gz", ".pgn.zst", ".pgn.bz2"],
        "holds games. `zeitnot analyse FILE --out analysis` analyses them",
    ),
    (
        &[".pb.gz", ".pb", ".onnx"],
        "is a network. `zeitnot --weights=FILE` plays with it, `zeitnot describenet FILE` describes it",
    ),
    (
        &[".epd", ".fen"],
        "holds positions. `zeitnot eval FILE` evaluates them, `zeitnot solve FILE` solves a test suite",
    ),
];

/// Says what to type for a file that was given in the place of a command.
fn hint_for_file(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let name = file.to_lowercase();
    let (_, text) = FILES.iter().find(|(endings, _)| endings.iter().any(|ending| name.ends_with(ending)))?;
    let quoted = if file.contains(char::is_whitespace) { format!("{file:?}") } else { file.clone() };
    Some(format!("{file} {}", text.replace("FILE", &quoted)))
}

/// Expands `*` and `?`, which shells of Windows leave to programs.
fn expanded(argument: OsString) -> Vec<OsString> {
    let text = argument.to_str().filter(|text| !text.starts_with('-') && text.contains(['*', '?']));
    // Brackets stand for themselves.
    let files = text.and_then(|text| glob::glob(&text.replace('[', "[[]")).ok()).into_iter().flatten();
    let files: Vec<_> = files.flatten().map(PathBuf::into_os_string).collect();
    if files.is_empty() { vec![argument] } else { files }
}

fn with_all_in_help(command: clap::Command) -> clap::Command {
    let shown = |arg: clap::Arg| match arg.get_help_heading() {
        Some(FLAGS_HEADING) => arg.hide(false),
        _ => arg,
    };
    command.mut_args(shown).mut_subcommands(with_all_in_help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).into_os_string();
        for name in ["b [1].csv", "a.csv", "c.txt"] {
            std::fs::write(path(name), "").unwrap();
        }
        assert_eq!(expanded(path("*.csv")), [path("a.csv"), path("b [1].csv")]);
        assert_eq!(expanded(path("b [1].?sv")), [path("b [1].csv")]);
        for word in ["none*.csv", "--fen=*", "a.csv"] {
            assert_eq!(expanded(word.into()), [word], "{word}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_command_is_told_what_to_type() {
        let hint = |file: &str| hint_for_file(&Cli::try_parse_from(["zeitnot", file]).unwrap_err());
        assert!(hint("my game.PGN").unwrap().contains("`zeitnot analyse \"my game.PGN\" --out analysis`"));
        assert!(hint("a/net.pb.gz").unwrap().contains("`zeitnot --weights=a/net.pb.gz`"));
        assert_eq!(hint("benhc"), None);
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_commands_own_flags_come_first_and_an_example_last() {
        let mut all = Cli::command();
        all.build();
        for command in all.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let help = command.clone().term_width(100).render_help().to_string();
            let name = command.get_name();
            let place = |flag: &str| {
                let starts = [' ', '\n'].map(|end| help.find(&format!("\n      {flag}{end}")));
                starts.into_iter().flatten().next().unwrap_or_else(|| panic!("{name} {flag}: {help}"))
            };
            let own = command.get_arguments().filter(|arg| {
                let id = arg.get_id();
                !arg.is_hide_set()
                    && arg.get_help_heading().is_none()
                    && !["json", "offline", "help_all", "help"].iter().any(|name| id == name)
            });
            for long in own.filter(|arg| arg.get_short().is_none()).filter_map(clap::Arg::get_long) {
                assert!(place(&format!("--{long}")) < place("--json"), "{name}: {help}");
            }
            let example =
                help.contains(&format!("\n\nExample: zeitnot {}", if name == "uci" { "" } else { name }));
            assert!(example || matches!(name, "help" | "datagen" | "onnx2leela"), "{name}: {help}");
        }
    }

    #[test]
    fn the_help_is_short_unless_all_is_asked_for() {
        let help = |command: clap::Command| command.term_width(100).render_help().to_string();
        let (plain, all) = (help(Cli::command()), help(with_all_in_help(Cli::command())));
        assert!(plain.lines().count() < 75, "{plain}");
        for (flag, is_plain) in
            [("--threads ", true), ("--help-all", true), ("--cpuct ", false), ("--temperature ", false)]
        {
            assert_eq!((plain.contains(flag), all.contains(flag)), (is_plain, true), "{flag}");
        }
    }
}
