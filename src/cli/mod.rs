//! The command line and the configuration file become an [`Invocation`], which `main` runs.

mod lc0_flags;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, CommandFactory, Parser};
use itertools::Itertools;

use zeitnot_engine::VERSION;
use zeitnot_engine::engine::Settings;
use zeitnot_engine::network::discover::ENDINGS;
use zeitnot_engine::network::folders;

use crate::commands::engine_args::FLAGS_HEADING;
use crate::commands::{Command, uci};
use crate::config_file::NO_CONFIG;
use crate::output::{Output, eprint_message, tell_failure};
use lc0_flags::{Flag, Translation, translated};

/// Places common options behind each command's own in the help.
const LAST: usize = 900;

/// A UCI chess engine in the family of Leela Chess Zero.
#[derive(Debug, Parser)]
#[command(name = "zeitnot", version = VERSION, args_conflicts_with_subcommands = true, args_override_self = true)]
struct Cli {
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
    fn uci_args(&self) -> &uci::UciArgs {
        match &self.command {
            Some(Command::Uci(args)) => args,
            _ => &self.uci,
        }
    }
}

/// What the process is to do.
#[derive(Debug)]
pub struct Invocation {
    is_json: bool,
    command: Command,
    /// What was read otherwise than it was written.
    notes: Vec<String>,
}

/// Messages, and then what clap writes.
#[derive(Debug)]
pub struct Refusal {
    messages: Vec<String>,
    error: Option<clap::Error>,
}

impl Refusal {
    /// Ends the process.
    pub fn exit(self) -> ! {
        self.messages.iter().for_each(eprint_message);
        self.error
            .map_or_else(|| std::process::exit(2), |error| error.exit())
    }
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Refusal {
        Refusal {
            messages: Vec::new(),
            error: Some(error),
        }
    }
}

impl Invocation {
    /// Reads this process's command line and the configuration file. Mistakes are refused, except by the
    /// engine itself, which tells the GUI what it left out.
    pub fn of_process() -> Result<Invocation, Refusal> {
        let arguments = std::env::args_os();
        let arguments = if cfg!(windows) {
            arguments.flat_map(expanded).collect()
        } else {
            arguments.collect()
        };
        Invocation::of(arguments, folders::executable().as_deref())
    }

    fn of(arguments: Vec<OsString>, folder: Option<&Path>) -> Result<Invocation, Refusal> {
        let cli = Cli::command();
        let mut line = translated(arguments, &cli, folder).map_err(|failure| Refusal {
            messages: vec![failure.to_string()],
            error: None,
        })?;
        if line.shows_all {
            with_all_in_help(Cli::command()).try_get_matches_from(line.arguments())?;
        }
        let mut mistakes = std::mem::take(&mut line.mistakes);
        let parsed = match Cli::try_parse_from(line.arguments()) {
            Err(error) if !error.use_stderr() => return Err(error.into()),
            Err(error) if !line.plays || line.names_command(&cli) => return Err(refusal(&line, error)),
            Ok(cli) if !line.plays || cli.uci_args().add_to(&mut Settings::default()).is_ok() => cli,
            _ => {
                mistakes.extend(drop_mistakes(&mut line)?);
                Cli::try_parse_from(line.arguments())?
            }
        };
        let notes = notes(&line);
        let Cli {
            json: is_json,
            offline,
            command,
            uci,
            ..
        } = parsed;
        let mut command = command.unwrap_or(Command::Uci(uci));
        match &mut command {
            Command::Uci(args) => {
                let place = line.flags.iter().rfind(|flag| flag.name() == "weights");
                mistakes.extend(args.missing_file(place.and_then(|flag| flag.place.as_deref())));
                args.mistakes = mistakes;
            }
            Command::Setup(args) => args.is_offline = offline,
            Command::Benchmark(args) => args.config = line.config,
            _ => {}
        }
        Ok(Invocation {
            is_json,
            command,
            notes,
        })
    }

    /// The exit code. A failure is one message on stderr and code 2.
    pub fn run(self) -> u8 {
        self.notes.iter().for_each(eprint_message);
        let mut output = Output::stdout();
        output.is_json = self.is_json;
        let status = self.command.run(|| with_all_in_help(Cli::command()), &mut output);
        let status = status.and_then(|status| output.finish().map(|()| status));
        status.unwrap_or_else(|failure| tell_failure(&failure)) as u8
    }
}

/// Takes out and returns the mistakes: flags that are wrong alone or with those before them. A GUI that gets
/// no answer reports a crash. Fails for help and version.
fn drop_mistakes(line: &mut Translation) -> Result<Vec<String>, clap::Error> {
    let mut mistakes = Vec::new();
    let mut settings = Settings::default();
    for flag in std::mem::take(&mut line.flags) {
        let wrong = match Cli::try_parse_from(line.with([&flag])) {
            Ok(cli) => cli
                .uci_args()
                .add_to(&mut settings)
                .err()
                .map(|error| error.to_string()),
            Err(error) if !error.use_stderr() => return Err(error),
            Err(error) => Some(reason_of(&error)),
        };
        match (wrong, &flag.place) {
            (None, _) => line.flags.push(flag),
            (Some(reason), None) => mistakes.push(format!("{reason}. It is left out")),
            (Some(reason), Some(place)) => mistakes.push(format!("{place}: {reason}. It is left out")),
        }
    }
    Ok(mistakes)
}

/// With its place if a line of the configuration file is wrong.
fn refusal(line: &Translation, error: clap::Error) -> Refusal {
    // Help comes whatever the file holds.
    let own = Cli::try_parse_from(line.with(line.flags.iter().filter(|flag| flag.place.is_none())));
    if let Some(help) = own.err().filter(|error| !error.use_stderr()) {
        return help.into();
    }
    let mut messages = notes(line);
    if let Some(hint) = hint_for_file(&error) {
        messages.push(hint);
        return Refusal {
            messages,
            error: None,
        };
    }
    for flag in &line.flags {
        let Some(place) = &flag.place else { continue };
        let parsed = Cli::try_parse_from([&["zeitnot".into()], &flag.words[..]].concat());
        if let Some(error) = parsed.err().filter(clap::Error::use_stderr) {
            messages.push(format!("{place}:"));
            return Refusal {
                messages,
                error: Some(error),
            };
        }
    }
    Refusal {
        messages,
        error: Some(error),
    }
}

/// Also the options that the configuration file sets.
fn notes(line: &Translation) -> Vec<String> {
    let mut notes = line.notes.clone();
    let of_config = line.flags.iter().filter(|flag| flag.place.is_some());
    let names = of_config.map(Flag::name).join(", ");
    if let Some(path) = &line.config
        && !names.is_empty()
    {
        let path = path.display();
        notes.push(format!(
            "options from the configuration file {path}: {names} ({NO_CONFIG} leaves it out)"
        ));
    }
    notes
}

fn reason_of(error: &clap::Error) -> String {
    if let Some(reason) = std::error::Error::source(error) {
        return reason.to_string();
    }
    let text = error.to_string();
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
    if let Some(new) = lc0_flags::replacement(what) {
        return format!("{what} ({new} has replaced it)");
    }
    match lines.find_map(|line| line.trim().strip_prefix("tip: ")) {
        Some(tip) => format!("{what} ({tip})"),
        None => what.into(),
    }
}

/// What a file is for, by its ending: it may have been dropped on the program.
const FILES: [(&[&str], &str); 3] = [
    (
        &[".pgn", ".pgn.gz", ".pgn.zst", ".pgn.bz2"],
        "holds games. `zeitnot analyse FILE --out analysis` analyses them",
    ),
    (
        &ENDINGS,
        "is a network. `zeitnot --weights=FILE` plays with it, `zeitnot describenet FILE` describes it",
    ),
    (
        &[".epd", ".fen"],
        "holds positions. `zeitnot eval FILE` evaluates them, `zeitnot solve FILE` solves a test suite",
    ),
];

fn hint_for_file(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(file)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let name = file.to_lowercase();
    let (_, text) = FILES
        .iter()
        .find(|(endings, _)| endings.iter().any(|ending| name.ends_with(ending)))?;
    let quoted = if file.contains(char::is_whitespace) {
        format!("{file:?}")
    } else {
        file.clone()
    };
    Some(format!("{file} {}", text.replace("FILE", &quoted)))
}

/// Expands `*` and `?`, which shells of Windows leave to programs.
fn expanded(argument: OsString) -> Vec<OsString> {
    let text = argument
        .to_str()
        .filter(|text| !text.starts_with('-') && text.contains(['*', '?']));
    // Brackets stand for themselves.
    let files = text
        .and_then(|text| glob::glob(&text.replace('[', "[[]")).ok())
        .into_iter()
        .flatten();
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

    fn invocation(folder: &Path, line: &str) -> Result<Invocation, Refusal> {
        Invocation::of(line.split(' ').map(OsString::from).collect(), Some(folder))
    }

    #[test]
    fn the_engine_names_and_leaves_out_its_mistakes_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        for (config, line, expected) in [
            ("", "zeitnot", &[][..]),
            ("", "zeitnot --threads 2 --cpuct=2 --show-hidden", &[]),
            (
                "",
                "zeitnot --no-such --threads=x -t 1",
                &["'--no-such'", "option Threads"],
            ),
            (
                "",
                "zeitnot uci --cpuct=1 --time-manager=nobody(",
                &["is missing"],
            ),
            ("", "zeitnot --cpuct", &["a value is required"]),
            ("", "zeitnot --time-manager=smooth --slowmover=2.2", &["lowmover"]),
            (
                "",
                "zeitnot --backend=native --backend-opts=kernel=portable --no-such",
                &["'--no-such'"],
            ),
            (
                "threads=0.5\n",
                "zeitnot --cpuct=2",
                &["zeitnot.config, line 1: option Threads"],
            ),
            ("threads=0.5\n", "zeitnot --threads=2", &[]),
            ("threads 2\n", "zeitnot", &["zeitnot.config, line 1: "]),
            (
                "weights=no.pb.gz\n",
                "zeitnot",
                &["zeitnot.config, line 1: WeightsFile: there is no file no.pb.gz"],
            ),
            (
                "weights=no.pb.gz\n",
                "zeitnot -w none.pb.gz",
                &["WeightsFile: there is no file none.pb.gz"],
            ),
        ] {
            std::fs::write(folder.path().join("zeitnot.config"), config).unwrap();
            let Command::Uci(args) = invocation(folder.path(), line).unwrap().command else {
                panic!("{line}")
            };
            let found = &args.mistakes;
            assert_eq!(found.len(), expected.len(), "{line}: {found:?}");
            assert!(
                found
                    .iter()
                    .zip(expected)
                    .all(|(found, part)| found.contains(part)),
                "{line}: {found:?}"
            );
        }
    }

    #[test]
    fn other_commands_refuse_a_line_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("zeitnot.config"), "threads=1\ncpuct=x\n").unwrap();
        for (line, messages, kind) in [
            ("zeitnot bench", 2, Some(clap::error::ErrorKind::ValueValidation)),
            (
                "zeitnot bench --no-config --no-such",
                0,
                Some(clap::error::ErrorKind::UnknownArgument),
            ),
            (
                "zeitnot --threads=1 bench",
                2,
                Some(clap::error::ErrorKind::ValueValidation),
            ),
            (
                "zeitnot --no-config --threads=1 bench",
                0,
                Some(clap::error::ErrorKind::ArgumentConflict),
            ),
            (
                "zeitnot bench --help",
                0,
                Some(clap::error::ErrorKind::DisplayHelp),
            ),
            ("zeitnot selfplay", 1, None),
            ("zeitnot game.pgn", 1, None),
        ] {
            let refusal = invocation(folder.path(), line).unwrap_err();
            let found = refusal.error.as_ref().map(clap::Error::kind);
            assert_eq!(
                (refusal.messages.len(), found),
                (messages, kind),
                "{line}: {refusal:?}"
            );
        }
        let bench = invocation(folder.path(), "zeitnot bench --cpuct=2 --json").unwrap();
        assert_eq!((bench.is_json, bench.notes.len()), (true, 1), "{:?}", bench.notes);
    }

    #[test]
    fn a_file_in_the_place_of_a_command_is_told_what_to_type() {
        let hint = |file: &str| hint_for_file(&Cli::try_parse_from(["zeitnot", file]).unwrap_err());
        assert!(
            hint("my game.PGN")
                .unwrap()
                .contains("`zeitnot analyse \"my game.PGN\" --out analysis`")
        );
        assert!(
            hint("a/net.pb.gz")
                .unwrap()
                .contains("`zeitnot --weights=a/net.pb.gz`")
        );
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
                starts
                    .into_iter()
                    .flatten()
                    .next()
                    .unwrap_or_else(|| panic!("{name} {flag}: {help}"))
            };
            let own = command.get_arguments().filter(|arg| {
                let id = arg.get_id();
                !arg.is_hide_set()
                    && arg.get_help_heading().is_none()
                    && !["json", "offline", "help_all", "help"]
                        .iter()
                        .any(|name| id == name)
            });
            for long in own
                .filter(|arg| arg.get_short().is_none())
                .filter_map(clap::Arg::get_long)
            {
                assert!(place(&format!("--{long}")) < place("--json"), "{name}: {help}");
            }
            let example = help.contains(&format!(
                "\n\nExample: zeitnot {}",
                if name == "uci" { "" } else { name }
            ));
            assert!(
                example || matches!(name, "help" | "datagen" | "onnx2leela"),
                "{name}: {help}"
            );
        }
    }

    #[test]
    fn the_help_is_short_unless_all_is_asked_for() {
        let help = |command: clap::Command| command.term_width(100).render_help().to_string();
        let (plain, all) = (help(Cli::command()), help(with_all_in_help(Cli::command())));
        assert!(plain.lines().count() < 75, "{plain}");
        for (flag, is_plain) in [
            ("--threads ", true),
            ("--help-all", true),
            ("--cpuct ", false),
            ("--temperature ", false),
        ] {
            assert_eq!(
                (plain.contains(flag), all.contains(flag)),
                (is_plain, true),
                "{flag}"
            );
        }
    }
}
