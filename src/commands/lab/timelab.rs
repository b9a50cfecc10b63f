//! `zeitnot timelab`: tries time managers on recorded games in virtual time.
//!
//! The [laboratory](zeitnot_lab::replay) replays the games, writes rows and shows them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use clap::{Args, ValueEnum};

use super::run::{RecordedGames, RunId, Running, Shard, listed, origins};
use crate::commands::engine_args::{NetworkArgs, count};
use crate::commands::measure;
use crate::commands::running::{Progress, engine_facts};
use crate::output::{ExitStatus, Output, eprint_message};
use zeitnot_engine::network::{Backend, cores};
use zeitnot_engine::time::{DEFAULT_MANAGER, Limit, Millis, TimeControl, manager_from};
use zeitnot_lab::replay::{
    self, ClockSource, EngineModel, GameToReplay, NetworkHeads, ReplayFiles, ReplayOptions, ReplayRows,
    ReplayStudy, Replayer, Speed,
};
use zeitnot_lab::runner::{self, Jobs};

/// Under `phase`, as with small networks on a CPU.
const ENDGAME_SPEED: f64 = 1.6;
/// Games that a thread takes at a time, so that its batches are full.
const CHUNK: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct TimelabArgs {
    /// Recorded games: PGN, plain or compressed (.gz, .zst, .bz2, .zip). "-" is standard input [default: the
    /// built-in sample]
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pgn: Vec<PathBuf>,
    /// A time manager as in the option TimeManager. May be given several times [default: the default manager,
    /// and with --pgn eight others]
    #[arg(long = "manager", value_name = "MANAGER")]
    managers: Vec<String>,
    /// Time controls in seconds, [MOVES/]TIME[+INCREMENT]
    #[arg(long = "tc", value_name = "TC", value_delimiter = ',', default_values = ["60+0.6", "180+2", "300+0", "40/900"])]
    controls: Vec<TimeControl>,
    /// Show the managers the recorded clocks, at the recorded time controls, in place of clocks that they run
    /// down themselves
    #[arg(long, conflicts_with = "controls")]
    recorded_clocks: bool,
    /// Speed of the modelled engine: the same throughout the game, or faster with fewer pieces
    #[arg(long, value_name = "MODEL", default_value = "phase")]
    speed: SpeedModel,
    /// Nodes per second with all pieces on the board [default: 10000, and without --pgn the speed of this
    /// machine]
    #[arg(long, value_name = "N", value_parser = nps)]
    nps: Option<f64>,
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
    /// Keep the moves of the first N games, for curves and for --out. The figures are of all games
    #[arg(long, value_name = "N", default_value_t = 100)]
    curves: u64,
    /// Replay the i-th of n parts of the games. "report" puts the parts together
    #[arg(long, value_name = "i/n")]
    shard: Option<Shard>,
    /// Write a report (index.html) and its rows (games and moves, as CSV) to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Threads that evaluate and replay [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = count().range(..=256))]
    threads: Option<usize>,
    #[command(flatten)]
    network: NetworkArgs,
}

/// By default beside [`DEFAULT_MANAGER`].
const OTHER_MANAGERS: [&str; 8] = [
    "smooth",
    "smooth(mle-mlh)",
    "smooth(blend)",
    "legacy",
    "alphazero",
    "simple",
    "stockfish",
    "argo",
];
const USUAL_NPS: f64 = 10_000.0;
const MEASURING_TIME: Millis = Millis(2_000.0);

impl TimelabArgs {
    fn managers(&self) -> Vec<String> {
        if !self.managers.is_empty() {
            return self.managers.clone();
        }
        let mut managers = vec![DEFAULT_MANAGER.to_owned()];
        if !self.pgn.is_empty() {
            managers.extend(OTHER_MANAGERS.map(str::to_owned));
        }
        managers
    }

    fn nps(&self) -> Result<f64> {
        match self.nps {
            Some(nps) => Ok(nps),
            None if !self.pgn.is_empty() => Ok(USUAL_NPS),
            None => {
                let mut engine = measure::engine(&self.network.0)?;
                let limit = Limit::movetime(MEASURING_TIME);
                let stats = engine.search(limit)?.1.figures.stats;
                Ok((stats.new_nodes.as_f64() / stats.elapsed.as_secs()).max(1.0))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SpeedModel {
    Constant,
    Phase,
}

fn nps(text: &str) -> Result<f64, String> {
    let nps = text.parse().ok().filter(|nps| (0.1..=1e9).contains(nps));
    nps.ok_or_else(|| "expected a number from 0.1 to 1000000000".into())
}

pub(crate) fn run(args: &TimelabArgs, output: &mut Output) -> Result<ExitStatus> {
    let managers = args.managers();
    let backend = backend(args, &managers)?;
    check_repetitions(args, &managers)?;
    let nps = args.nps()?;
    let speed = match args.speed {
        SpeedModel::Constant => Speed::constant(nps),
        SpeedModel::Phase => Speed {
            opening: nps,
            endgame: ENDGAME_SPEED * nps,
        },
    };
    let [id, of_rows] = run_ids(args, &managers);
    let replayer = Replayer {
        run: &of_rows,
        managers: &managers,
        controls: &args.controls,
        kept_games: args.curves,
        options: ReplayOptions {
            clock_source: if args.recorded_clocks {
                ClockSource::Recorded
            } else {
                ClockSource::Running
            },
            model: EngineModel {
                speed,
                ..EngineModel::default()
            },
            overhead_ms: f64::from(args.move_overhead),
            ponders: args.ponder,
            ..ReplayOptions::default()
        },
    };
    let (mut games, names) = match &args.pgn[..] {
        [] => (RecordedGames::sample(), "the built-in sample".into()),
        files => (RecordedGames::new(files)?, listed(files)),
    };
    let mut accepted = 0;
    let mut left_out = 0;
    let accept = |game| {
        let game = GameToReplay::new(accepted + 1, game, args.min_moves)
            .filter(|game| !args.recorded_clocks || game.recorded_control().is_some());
        match &game {
            Some(_) => accepted += 1,
            None => left_out += 1,
        }
        game
    };
    let most = args.max_games.map_or(usize::MAX, |most| most as usize);
    let shard = args.shard.unwrap_or_default();
    let mut chosen = games
        .by_ref()
        .filter_map(accept)
        .take(most)
        .filter(|game| shard.takes(game.number - 1));
    let mut facts = engine_facts(backend.as_ref().map(|backend| backend.facts()), &args.network.0);
    facts.extend([("games", names), ("speed", format!("{nps:.0} nodes per second"))]);
    let written = ["games.csv", "moves.csv", "index.html"];
    let mut running = Running::begin(args.out.as_deref(), id, &facts, &written, output)?;
    let mut files = match &running.run {
        Some(run) => Some(ReplayFiles::create(run.folder())?),
        None => None,
    };
    let mut study = ReplayStudy::default();
    let mut progress = Progress::new("games", args.max_games, 0);
    let replay = |_, jobs: &Jobs<'_, GameToReplay, Vec<ReplayRows>>| {
        let settings = &args.network.0;
        let mut heads = match &backend {
            Some(backend) => Some(NetworkHeads::new(&**backend, settings)?),
            None => None,
        };
        jobs.do_in_chunks(CHUNK, |mut games| {
            if let Some(heads) = &mut heads {
                heads.fill_in(&mut games)?;
            }
            Ok(games.iter().map(|game| replayer.replay(game)).collect())
        })
    };
    let next_game = || Ok(chosen.next());
    let threads = args.threads.unwrap_or_else(cores);
    runner::run(threads, running.stop, next_game, replay, |replayed| {
        progress.count_one();
        for rows in replayed {
            if let Some(files) = &mut files {
                files.add(&rows.0, &rows.1)?;
            }
            study.add(rows);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    progress.finish();
    if running.is_stopped() {
        eprint_message("stopped; the same command begins anew");
        return Ok(ExitStatus::Stopped);
    }
    if left_out > 0 {
        let clocks = if args.recorded_clocks {
            ", or without clocks and one known time control"
        } else {
            ""
        };
        eprint_message(format_args!(
            "{left_out} games left out: too short, unfinished, ended by an accident{clocks}"
        ));
    }
    let clocks = games.clocks();
    if let Some(text) = &clocks {
        eprint_message(format_args!("the clocks of the games are {text}"));
    }
    ensure!(
        !study.is_empty() || args.shard.is_some(),
        "no game is left to replay"
    );
    if let (Some(run), Some(files)) = (&mut running.run, &mut files) {
        run.add_facts(clocks.map(|text| ("clocks".to_owned(), text)))?;
        files.publish()?;
        output.tell_page(replay::page(&study).origins([run.origin()]).write(run.folder())?);
    }
    if args.pgn.is_empty() {
        eprint_message(format_args!(
            "the games are the built-in sample, the speed {nps:.0} nodes per second"
        ));
    }
    output.write(&study, &study)?;
    Ok(running.end(true, games.broken + games.damaged))
}

/// Of the run, and of its rows, which all shards share.
fn run_ids(args: &TimelabArgs, managers: &[String]) -> [String; 2] {
    let TimelabArgs {
        controls,
        nps,
        speed,
        recorded_clocks,
        move_overhead,
        ponder,
        ..
    } = args;
    let mut id = RunId::default();
    id.add_settings(&args.network.0, None);
    id.add(format!(
        "{managers:?} {controls:?} {nps:?} {speed:?} {recorded_clocks} {move_overhead} {ponder}"
    ));
    id.add(format!("{:?} {:?}", args.min_moves, args.max_games));
    id.add_files(&args.pgn);
    id.finish_of(args.shard)
}

fn check_repetitions(args: &TimelabArgs, managers: &[String]) -> Result<()> {
    let controls: Vec<_> = args.controls.iter().map(ToString::to_string).collect();
    for (flag, texts) in [("manager", managers), ("tc", &controls)] {
        let mut known = BTreeSet::new();
        for text in texts {
            ensure!(known.insert(text), "--{flag} {text} is named twice; name it once");
        }
    }
    Ok(())
}

fn backend(args: &TimelabArgs, managers: &[String]) -> Result<Option<Arc<dyn Backend>>> {
    let manager = |text: &String| manager_from(text).map_err(|error| anyhow!("--manager {text}: {error}"));
    let managers: Vec<_> = managers.iter().map(manager).collect::<Result<_>>()?;
    let is_asked = |has_moves_left| {
        managers
            .iter()
            .any(|manager| manager.asks_network(has_moves_left))
    };
    if !is_asked(true) {
        return Ok(None);
    }
    let backend = args.network.backend()?;
    if backend.facts().has_moves_left {
        return Ok(Some(backend));
    }
    eprint_message("the network has no Moves Left Head: estimators that need it go without (mle-pieces)");
    Ok(is_asked(false).then_some(backend))
}

pub(super) fn report(files: &[PathBuf], out: Option<&Path>, output: &mut Output) -> Result<ExitStatus> {
    let study = ReplayStudy::read(files)?;
    ensure!(!study.is_empty(), "no game is in these files: nothing to report");
    if let Some(folder) = out {
        ReplayFiles::write_merged(files, folder)?;
        output.tell_page(replay::page(&study).origins(&origins(files)).write(folder)?);
    }
    output.report(&study)
}
