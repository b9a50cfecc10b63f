//! The commands: each has a file, or a folder where it is larger. They use those before them in this list
//! only (`tests/architecture.rs` checks that). The first four are no commands:
//!
//! - `engine_args`: the engine's options as flags
//! - `running`: progress, Ctrl-C, and how a result came about
//! - `child_process`: a command of this program in a process of its own
//! - `measure`: searches of many positions, their figures, the machine's noise
//! - `accuracy`
//! - `doctor`
//! - `benchmark`
//! - `setup`
//! - `backendbench`
//! - `bench`
//! - `convert`
//! - `describenet`
//! - `eval`
//! - `lab`
//! - `board`
//! - `reference`
//! - `serve`
//! - `solve`
//! - `uci`
//!
//! A command reads its arguments, calls the library, and writes its result to [`Output`]. Messages go to
//! stderr. Progress bars, tables and files live here and nowhere below.

mod accuracy;
mod backendbench;
mod bench;
pub(crate) mod benchmark;
mod board;
mod child_process;
mod convert;
mod describenet;
mod doctor;
pub(crate) mod engine_args;
mod eval;
mod lab;
mod measure;
mod reference;
mod running;
mod serve;
pub(crate) mod setup;
mod solve;
pub(crate) mod uci;

use anyhow::Result;
use clap::Subcommand;

use crate::output::{ExitStatus, Output};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    /// Analyse in the browser: each position that one goes to is searched
    #[command(after_help = "Example: zeitnot board game.pgn")]
    Board(board::BoardArgs),
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
    /// Analyse recorded games: what should have been played, and where the time went, as comments and a page
    #[command(
        visible_alias = "analyze",
        after_help = "Example: zeitnot analyse game.pgn --nodes 2000 --out analysis"
    )]
    Analyse(Box<lab::analyse::AnalyseArgs>),
    /// Play engine A against engine B, many games at once, and say which is stronger
    #[command(
        after_help = "Example: zeitnot match --games 100 --nodes 200 --a name=new,CPuct=2 --b name=old --out match1"
    )]
    Match(Box<lab::matches::MatchArgs>),
    /// Compare values of many options at once, by games of the engine against itself
    #[command(
        after_help = "Example: zeitnot tune --params 'CPuct=1.7|2' --games 2000 --nodes 100 --out tune1"
    )]
    Tune(Box<lab::tune::TuneArgs>),
    /// Replay recorded games through time managers, in virtual time
    #[command(after_help = "Example: zeitnot timelab --manager legacy --tc 180+2")]
    Timelab(Box<lab::timelab::TimelabArgs>),
    /// Measure moves-left estimators on recorded games
    #[command(after_help = "Example: zeitnot movesleft --pgn games.pgn")]
    Movesleft(Box<lab::movesleft::MovesLeftArgs>),
    /// Put the results of several runs together, such as those of shards
    #[command(after_help = "Example: zeitnot report shard1/games.csv shard2/games.csv --out report")]
    Report(lab::report::ReportArgs),
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

impl Command {
    /// `whole` makes the description of the command line, all options shown.
    pub(crate) fn run(self, whole: fn() -> clap::Command, output: &mut Output) -> Result<ExitStatus> {
        use Command::{Analyse, Benchmark, Match, Movesleft, Report, Serve, Timelab, Tune, Uci};
        let ends_itself = matches!(
            self,
            Uci(_)
                | Serve(_)
                | Benchmark(_)
                | Analyse(_)
                | Match(_)
                | Tune(_)
                | Timelab(_)
                | Movesleft(_)
                | Report(_)
        );
        if !ends_itself {
            running::end_on_interruption()?;
        }
        match self {
            Command::Uci(args) => uci::run(args),
            Command::Bench(args) => bench::run(&args, output),
            Command::Benchmark(args) => benchmark::run(&args, output),
            Command::Backendbench(args) => backendbench::run(&args, output),
            Command::Accuracy(args) => accuracy::run(&args, output),
            Command::Solve(args) => solve::run(&args, output),
            Command::Serve(args) => serve::run(args),
            Command::Board(args) => board::run(args, output),
            Command::Setup(args) => setup::run(&args, output),
            Command::Doctor(args) => doctor::run(&args, output),
            Command::Eval(args) => eval::run(&args, output),
            Command::Describenet(args) => describenet::run(&args, output),
            Command::Convert(args) => convert::run(&args, output),
            Command::Onnx2leela(args) => convert::onnx2leela(&args, output),
            Command::Perft(args) => eval::perft(&args, output),
            Command::Analyse(args) => lab::analyse::run(&args, output),
            Command::Match(args) => lab::matches::run(&args, output),
            Command::Tune(args) => lab::tune::run(&args, output),
            Command::Timelab(args) => lab::timelab::run(&args, output),
            Command::Movesleft(args) => lab::movesleft::run(&args, output),
            Command::Report(args) => lab::report::run(&args, output),
            Command::Options(args) => reference::options(&args, output),
            Command::Completions(args) => reference::completions(&args, whole(), output),
            Command::Man(args) => reference::man(&args, whole(), output),
        }
    }
}
