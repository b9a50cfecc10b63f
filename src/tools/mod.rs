//! The commands: each has a file, or a folder where it is larger. `lab` holds the laboratory, `measure` what
//! speed measurements share. `main` parses [`Cli`] and calls [`Cli::run`].
//!
//! A command reads its arguments, calls the library, and writes its result to [`Output`]: to stdout as text,
//! or as JSON with `--json`. Messages go to stderr. Progress bars, tables and files live here and nowhere
//! below.

mod accuracy;
mod backendbench;
mod bench;
mod benchmark;
mod child_process;
mod config_file;
mod convert;
mod describenet;
mod doctor;
mod eval;
mod fetch_network;
mod lab;
mod lc0_flags;
mod measure;
mod network_args;
mod output;
mod reference;
mod serve;
mod setup;
mod solve;
mod uci;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use zeitnot_engine::VERSION;
use zeitnot_engine::chess::Variant;
use zeitnot_engine::network::folders;
use zeitnot_engine::options::FLAGS_HEADING;

pub(crate) use network_args::NetworkArgs;
pub(crate) use output::{Failure, Output};
use output::{OutputFormat, eprint_message};

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

#[derive(Debug, Subcommand)]
enum Command {
    /// Play: speak UCI on stdin and stdout (the default)
    #[command(after_help = "Example: zeitnot --threads=2 --weights=network.pb.gz")]
    Uci(uci::UciArgs),
    /// Search ten positions and report the speed
    #[command(after_help = "Example: zeitnot bench --threads=1")]
    Bench(bench::BenchArgs),
    /// Search many positions for long, and report speed, machine and noise
    #[command(after_help = "Example: zeitnot benchmark --out speed")]
    Benchmark(benchmark::BenchmarkArgs),
    /// Measure how fast a backend evaluates, by batch size
    #[command(after_help = "Example: zeitnot backendbench --backend=native")]
    Backendbench(backendbench::BackendbenchArgs),
    /// Measure how far a backend's evaluations are from those of another
    #[command(after_help = "Example: zeitnot accuracy --backend=webgpu")]
    Accuracy(accuracy::AccuracyArgs),
    /// Search the positions of a test suite and report which were solved, and how soon
    #[command(after_help = "Example: zeitnot solve suite.epd --movetime 1000")]
    Solve(solve::SolveArgs),
    /// Analyse many positions at once, asked and answered in JSON lines on stdin and stdout or on a port
    #[command(after_help = "Example: zeitnot serve --threads=2")]
    Serve(serve::ServeArgs),
    /// Set a GPU up (--auto), fetch a stronger network (--network), or find or fetch ONNX Runtime
    #[command(after_help = "Example: zeitnot setup --auto")]
    Setup(setup::SetupArgs),
    /// Say what this machine has, try every backend on it, and name remedies
    #[command(after_help = "Example: zeitnot doctor")]
    Doctor(doctor::DoctorArgs),
    /// Evaluate positions with the network alone
    #[command(after_help = "Example: zeitnot eval \"startpos moves e2e4\"")]
    Eval(eval::EvalArgs),
    /// Describe a network file
    #[command(after_help = "Example: zeitnot describenet network.pb.gz")]
    Describenet(describenet::DescribeArgs),
    /// Write a network as an ONNX model
    #[command(after_help = "Example: zeitnot convert network.pb.gz --output network.onnx")]
    Convert(convert::ConvertArgs),
    /// Put an ONNX model into a network file of Lc0's format, as Lc0's mode of this name does
    Onnx2leela(convert::Onnx2leelaArgs),
    /// Count the move paths of a length from a position
    #[command(after_help = "Example: zeitnot perft 5")]
    Perft(eval::PerftArgs),
    #[command(flatten)]
    Lab(lab::LabCommand),
    /// List the engine's options, with their ranges and what they do
    #[command(after_help = "Example: zeitnot options CPuct")]
    Options(reference::OptionsArgs),
    /// Write completions of this command line for a shell
    #[command(after_help = "Example: zeitnot completions bash")]
    Completions(reference::CompletionsArgs),
    /// Write the manual page
    #[command(after_help = "Example: zeitnot man | man -l -")]
    Man(reference::ManArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Exit code 0.
    Success,
    /// The answer is no, such as a failed comparison: exit code 1.
    Negative,
    /// Bad input was named on stderr, the rest is done: exit code 2.
    BadInput,
    /// The user has stopped it: exit code [`STOPPED`].
    Stopped,
}

/// The exit code of what Ctrl-C ends, as shells have it.
pub(crate) const STOPPED: u8 = 130;

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
        let status = command.run(&mut output);
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

impl Command {
    fn run(self, output: &mut Output) -> Result<ExitStatus, Failure> {
        match self {
            Command::Uci(args) => uci::run(args),
            Command::Bench(args) => bench::run(&args, output),
            Command::Benchmark(args) => benchmark::run(&args, output),
            Command::Backendbench(args) => backendbench::run(&args, output),
            Command::Accuracy(args) => accuracy::run(&args, output),
            Command::Solve(args) => solve::run(&args, output),
            Command::Serve(args) => serve::run(args),
            Command::Setup(args) => setup::run(&args, output),
            Command::Doctor(args) => doctor::run(&args, output),
            Command::Eval(args) => eval::run(&args, output),
            Command::Describenet(args) => describenet::run(&args, output),
            Command::Convert(args) => convert::run(&args, output),
            Command::Onnx2leela(args) => convert::onnx2leela(&args, output),
            Command::Perft(args) => eval::perft(&args, output),
            Command::Lab(command) => command.run(output),
            Command::Options(args) => reference::options(&args, output),
            Command::Completions(args) => reference::completions(&args, output),
            Command::Man(args) => reference::man(&args, output),
        }
    }
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

fn variant(chess960: bool) -> Variant {
    if chess960 { Variant::Chess960 } else { Variant::Standard }
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
