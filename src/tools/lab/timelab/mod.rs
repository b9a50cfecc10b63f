//! `zeitnot timelab`: tries time managers on recorded games in virtual time.
//!
//! `source` reads recorded games and `speed` the modelled engine's speed; the [laboratory](crate::lab::replay) replays the games,
//! writes rows and shows them.

mod source;
mod speed;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::run::Shard;
use crate::lab::replay::{self, EngineModel, NetworkHeads, ReplayFiles, ReplayReport, ReplayStudy, Replayer};
use crate::network::Backend;
use crate::time::{DEFAULT_MANAGER, TimeControl, manager_from};
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure, NetworkArgs, Output};

use source::GameSource;

#[derive(Debug, Args)]
pub(in crate::tools) struct TimelabArgs {
    /// Recorded games: PGN, plain or compressed (.gz, .zst, .bz2); "-" is standard input
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pgn: Vec<PathBuf>,
    /// A time manager as in the option TimeManager; may be given several times
    #[arg(long = "manager", value_name = "MANAGER", default_values = [
        DEFAULT_MANAGER, "smooth", "smooth(mle-mlh)", "smooth(blend)", "legacy", "alphazero", "simple", "stockfish", "argo",
    ])]
    managers: Vec<String>,
    /// Time controls in seconds, [MOVES/]TIME[+INCREMENT]
    #[arg(long = "tc", value_name = "TC", value_delimiter = ',', default_values = ["60+0.6", "180+2", "300+0", "40/900"])]
    controls: Vec<TimeControl>,
    /// Show the managers the recorded clocks, at the recorded time controls, in place of clocks that they run down themselves
    #[arg(long, conflicts_with = "controls")]
    recorded_clocks: bool,
    /// Speed of the modelled engine: constant, phase (faster with fewer pieces), or a file that "bench --json" wrote
    #[arg(long, value_name = "MODEL", default_value = "phase")]
    speed: String,
    /// Nodes per second of the models constant and phase
    #[arg(long, value_name = "N", default_value_t = 10_000.0, value_parser = nps)]
    nps: f64,
    /// Time that the engine keeps back of every clock, ms
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    move_overhead: u32,
    /// Let the engine ponder: the opponent takes as long for each move as the engine for its last one
    #[arg(long)]
    ponder: bool,
    /// Replay at most N games
    #[arg(long, value_name = "N")]
    max_games: Option<u64>,
    /// Leave out games in which fewer moves of one side follow the book
    #[arg(long, value_name = "N", default_value_t = 10)]
    min_moves: usize,
    /// Keep the moves of the first N games, for curves and for --out; the figures are of all games
    #[arg(long, value_name = "N", default_value_t = 100)]
    curves: u64,
    /// Replay the i-th of n parts of the games; "report" puts the parts together
    #[arg(long, value_name = "i/n")]
    shard: Option<Shard>,
    /// Write a report (index.html) and its rows (games and moves, as CSV and Parquet) to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Threads that evaluate and replay [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    #[command(flatten)]
    network: NetworkArgs,
}

fn nps(text: &str) -> Result<f64, String> {
    let nps = text.parse().ok().filter(|nps| (0.1..=1e9).contains(nps));
    nps.ok_or_else(|| "expected a number from 0.1 to 1000000000".into())
}

/// Runs the command.
pub(super) fn run(args: &TimelabArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = args.threads.map_or_else(cores, |threads| threads as usize);
    let replayer = Replayer {
        managers: &args.managers,
        controls: &args.controls,
        recorded_clocks: args.recorded_clocks,
        overhead_ms: f64::from(args.move_overhead),
        ponders: args.ponder,
        kept_games: args.curves,
        model: EngineModel { speed: speed::parse(&args.speed, args.nps)?, ..EngineModel::default() },
        threads,
    };
    let mut heads = match backend(args)? {
        Some(backend) => Some(NetworkHeads::new(&backend, &args.network.settings, threads)?),
        None => None,
    };
    check_repetitions(args)?;
    let mut files = args.out.as_deref().map(ReplayFiles::create).transpose()?;
    let (mut study, mut status) = (ReplayStudy::default(), ExitStatus::Success);
    let progress = progress_bar(args.max_games);
    let mut source = GameSource::new(args);
    loop {
        let mut chunk = source.next_chunk(&mut status)?;
        if chunk.is_empty() {
            break;
        }
        if let Some(heads) = &mut heads {
            heads.fill_in(&mut chunk)?;
        }
        for rows in replayer.replay_all(&chunk) {
            if let Some(files) = &mut files {
                files.add(&rows.game, &rows.moves)?;
            }
            study.add(rows);
        }
        progress.inc(chunk.len() as u64);
    }
    progress.finish_and_clear();
    source.tell_what_was_left_out();
    if study.managers.is_empty() && args.shard.is_none() {
        return Err(Failure::Input("no game is left to replay".into()));
    }
    if let Some(folder) = &args.out {
        if let Some(files) = files {
            files.finish()?;
        }
        replay::page(&study).write(folder)?;
    }
    let report = ReplayReport::new(&study);
    output.write(&report, &report)?;
    Ok(status)
}

/// Refuses repeated values: their games would count twice.
fn check_repetitions(args: &TimelabArgs) -> Result<(), Failure> {
    let repeated = |flag: &str, texts: Vec<String>| {
        let twice = texts.iter().enumerate().find(|(place, text)| texts[..*place].contains(text));
        match twice {
            Some((_, text)) => Err(Failure::Input(format!("--{flag} {text} is named twice; name it once"))),
            None => Ok(()),
        }
    };
    repeated("manager", args.managers.clone())?;
    repeated("tc", args.controls.iter().map(ToString::to_string).collect())
}

/// Opens the network if a manager needs it. All managers are checked on the way.
fn backend(args: &TimelabArgs) -> Result<Option<Arc<dyn Backend>>, Failure> {
    let manager =
        |text| manager_from(text).map_err(|error| Failure::Input(format!("--manager {text}: {error}")));
    let managers: Vec<_> = args.managers.iter().map(|text| manager(text)).collect::<Result<_, _>>()?;
    let is_asked = |has_moves_left| managers.iter().any(|manager| manager.asks_network(has_moves_left));
    if !is_asked(true) {
        return Ok(None);
    }
    let backend = args.network.backend()?;
    if backend.info().has_moves_left {
        return Ok(Some(backend));
    }
    eprint_message("the network has no Moves Left Head: estimators that need it go without (mle-pieces)");
    Ok(is_asked(false).then_some(backend))
}

fn progress_bar(games: Option<u64>) -> ProgressBar {
    let template = match games {
        Some(_) => "{pos} of {len} games {wide_bar} {per_sec} {eta}",
        None => "{pos} games {spinner} {per_sec}",
    };
    let bar = games.map_or_else(ProgressBar::no_length, ProgressBar::new);
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Reports on rows of several runs, such as those of shards: `zeitnot report` on files of rows of games and of moves, in any order.
///
/// # Errors
/// [`Failure`] if a file cannot be read, two of them hold the same replay, or the folder cannot be written.
pub(super) fn report(
    files: &[PathBuf],
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let study = ReplayStudy::read(files)?;
    if study.managers.is_empty() {
        return Err(Failure::Input("no game is in these files: nothing to report".into()));
    }
    if let Some(folder) = out {
        ReplayFiles::write_merged(files, folder)?;
        replay::page(&study).write(folder)?;
    }
    let report = ReplayReport::new(&study);
    output.write(&report, &report)?;
    Ok(ExitStatus::Success)
}
