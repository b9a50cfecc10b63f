//! `zeitnot movesleft`: measures how well moves-left estimators foresee the length of recorded games.
//!
//! Rows go into the folder of `--out`, or a temporary one. The report is computed from them.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;

use super::game_args::argument_error;
use super::run::{RecordedGames, RunId, Running, Shard, listed, origins};
use crate::commands::engine_args::{NetworkArgs, count};
use crate::commands::running::{Progress, engine_facts};
use crate::output::{ExitStatus, Facts, Output, eprint_message};
use zeitnot_engine::engine::OpenedBackend;
use zeitnot_engine::network::{Backend, cores};
use zeitnot_lab::moves_left::{Estimator, MeasuredGame, Measurer, PositionRow, ROWS, Selection, study};
use zeitnot_lab::pgn::{Ending, RecordedGame, ending};
use zeitnot_lab::report::Origin;
use zeitnot_lab::rows::{RowReader, make_folder, write_merged};
use zeitnot_lab::run::{Entry, Journal, Run};
use zeitnot_lab::runner::{self, Jobs};

/// Games that a thread takes at a time, so that its batches are full.
const CHUNK: usize = 8;

/// Bytes of rows, in table and journal, for each byte of PGN.
const ROWS_OF_TEXT: f64 = 16.6;
/// Bytes of rows of a game, some 80 positions, in both.
const ROWS_OF_A_GAME: f64 = 40_000.0;
const INFLATION: f64 = 5.0;
/// Bytes of rows that are written without being asked for.
const MOST_UNASKED: f64 = 1e9;

#[derive(Debug, Args)]
pub(crate) struct MovesLeftArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Recorded games, plain or compressed (.gz, .zst, .bz2, .zip). - is stdin
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pgn: Vec<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    estimators: EstimatorArgs,
    /// Also search each position for N nodes, from an empty tree, and try the mean of the head over the tree
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Threads that evaluate [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = count().range(..=256))]
    threads: Option<usize>,
    /// This machine's part of the games, such as 2/8. Put the parts together with `zeitnot report`
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Write report (index.html, plots as SVG) and rows (CSV) into this folder. A run that was stopped goes
    /// on there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct EstimatorArgs {
    /// An estimator to compare, as in TimeManager, such as 'mle-legacy(midpoint=45.2,steepness=5.93)'. May be
    /// repeated. The first is the one that all others are compared with
    #[arg(long, value_name = "E")]
    pub(super) estimator: Vec<String>,
}

const ESTIMATORS: [&str; 5] = [
    "mle-legacy",
    "mle-legacy(midpoint=45.2,steepness=5.93)",
    "mle-pieces",
    "mle-mlh",
    "blend(mle-mlh,mle-legacy)",
];

impl EstimatorArgs {
    fn estimators(&self) -> Result<Vec<Estimator>> {
        let usual = ESTIMATORS.map(String::from);
        let texts = if self.estimator.is_empty() {
            &usual[..]
        } else {
            &self.estimator
        };
        let mut estimators = Vec::new();
        for text in texts {
            estimators.extend(Estimator::parse(text).map_err(|error| argument_error("estimator", error))?);
        }
        Ok(estimators)
    }
}

pub(crate) fn run(args: &MovesLeftArgs, output: &mut Output) -> Result<ExitStatus> {
    // Faults in them shall not come up after hours.
    args.estimators.estimators()?;
    let mut games = RecordedGames::new(&args.pgn)?;
    tell_size(args)?;
    let opened = args.network.open()?;
    if !opened.backend.facts().has_moves_left {
        eprint_message("this network has no Moves Left Head: estimators that need it are left out");
    }
    let [id, of_rows] = run_ids(args, &opened);
    let facts = facts(args, &opened);
    let mut running = Running::begin(
        args.out.as_deref(),
        id,
        &facts,
        &[MeasuredGame::JOURNAL, ROWS, "index.html"],
        output,
    )?;
    let temporary;
    let of_no_one;
    let run = match &running.run {
        Some(run) => run,
        None => {
            temporary = tempfile::tempdir()?;
            of_no_one = Run::claim(temporary.path(), Origin::default(), &[])?;
            &of_no_one
        }
    };
    let rows = run.folder().join(ROWS);
    measure(args, &opened.backend, &mut games, run, &of_rows, running.stop)?;
    if running.is_stopped() {
        return Ok(running.end(false, games.damaged));
    }
    if let Some(run) = &mut running.run {
        let clocks = games.clocks();
        run.add_facts(clocks.map(|text| ("clocks of the games read".to_owned(), text)))?;
    }
    if args.shard.is_some() && RowReader::<PositionRow>::open(&rows)?.next().is_none() {
        eprint_message(
            "no position of this shard has passed the filters: its file has no rows, only their names",
        );
    } else {
        report(&[rows], &args.estimators, args.out.as_deref(), output)?;
    }
    Ok(running.end(true, games.damaged))
}

/// Of the run, and of its rows, which all shards share.
fn run_ids(args: &MovesLeftArgs, opened: &OpenedBackend) -> [String; 2] {
    let mut id = RunId::default();
    id.add_settings(&args.network.0, opened.network_sha256.as_deref());
    id.add(format!("{:?} {:?}", args.nodes, args.selection));
    id.add_files(&args.pgn);
    id.finish_of(args.shard)
}

fn facts(args: &MovesLeftArgs, opened: &OpenedBackend) -> Facts {
    let sample = match args.selection.sample {
        None | Some(1) => "every position".to_owned(),
        Some(sample) => format!("one position in {sample}"),
    };
    let mut facts = engine_facts(Some(opened.backend.facts()), &args.network.0);
    facts.extend([
        ("games", listed(&args.pgn)),
        ("sample", sample),
        (
            "search",
            args.nodes
                .map_or("none".into(), |nodes| format!("{nodes} nodes a position")),
        ),
    ]);
    facts
}

/// Writes the rows of chosen `games` behind those in the folder of `run`. `id` is common to all shards.
fn measure(
    args: &MovesLeftArgs,
    backend: &Arc<dyn Backend>,
    games: &mut RecordedGames<'_>,
    run: &Run,
    id: &str,
    stop: &AtomicBool,
) -> Result<()> {
    let mut last = 0;
    let mut journal = Journal::open(run, |game: MeasuredGame| {
        last = game.game;
        Ok(())
    })?;
    let selection = &args.selection;
    let threads = args.threads.unwrap_or_else(cores);
    let shard = args.shard.unwrap_or_default();
    let most = selection.max_games.map_or(usize::MAX, |most| most as usize);
    let mut broken_off = 0;
    let counted = games
        .by_ref()
        .inspect(|game| broken_off += u64::from(ending(game) == Ending::Broken));
    let mut chosen = counted
        .filter(|game| selection.takes_game(game))
        .take(most)
        .filter(|game| game.number > last && shard.takes(game.number - 1));
    let chunk = if args.nodes.is_some() { 1 } else { CHUNK };
    let measure = |_, jobs: &Jobs<'_, RecordedGame, Vec<PositionRow>>| {
        let mut measurer = Measurer::new(selection, backend, &args.network.0, args.nodes)?;
        jobs.do_in_chunks(chunk, |games| measurer.measure(&games, || jobs.are_stopped()))
    };
    let mut progress = Progress::new("games", args.selection.max_games, 0);
    let begun = Instant::now();
    let mut measured = 0;
    let mut positions = 0;
    let rates = |games: u64, positions: usize| {
        let rate = |count: f64| count / begun.elapsed().as_secs_f64().max(1e-3);
        format!(
            "{:.1} games/s, {:.0} positions/s",
            rate(games as f64),
            rate(positions as f64)
        )
    };
    let next_game = || Ok(chosen.next());
    runner::run(threads, stop, next_game, measure, |mut game| {
        game.iter_mut().for_each(|row| id.clone_into(&mut row.run));
        if let Some(measured) = MeasuredGame::of(&game) {
            journal.add(&measured)?;
        }
        measured += 1;
        positions += game.len();
        progress.show(measured, rates(measured, positions));
        Ok(ControlFlow::Continue(()))
    })?;
    progress.finish();
    journal.sync()?;
    let clocks = match games.clocks() {
        Some(text) => format!("; clocks are {text}"),
        None => String::new(),
    };
    eprint_message(format_args!(
        "{measured} games, {} ({} games read, {} broken, {broken_off} unfinished or broken off{clocks})",
        rates(measured, positions),
        games.read,
        games.broken
    ));
    Ok(())
}

fn tell_size(args: &MovesLeftArgs) -> Result<()> {
    let mut text = 0.0;
    for path in &args.pgn {
        let name = path.to_string_lossy();
        let is_packed = [".gz", ".zst", ".bz2", ".zip"]
            .iter()
            .any(|end| name.ends_with(end));
        let bytes = path.metadata().map_or(0, |file| file.len()) as f64;
        text += if is_packed { INFLATION * bytes } else { bytes };
    }
    let all = match args.selection.max_games {
        Some(most) => (most as f64 * ROWS_OF_A_GAME).min(ROWS_OF_TEXT * text),
        None => ROWS_OF_TEXT * text,
    };
    let shards = args.shard.unwrap_or_default().count;
    let size = all / (args.selection.sample.unwrap_or(1) * shards) as f64;
    ensure!(
        size <= MOST_UNASKED || args.selection.sample.is_some(),
        "the rows of these games would take some {:.1} GB: --sample {} takes one position in so many, --sample 1 \
         all of them",
        size / 1e9,
        (size / MOST_UNASKED).ceil() * 4.0
    );
    if size > 1e6 {
        eprint_message(format_args!(
            "the rows of these games will take some {:.0} MB",
            size / 1e6
        ));
    }
    Ok(())
}

pub(super) fn report(
    files: &[PathBuf],
    args: &EstimatorArgs,
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let report = study(files, args.estimators()?)?;
    ensure!(
        report.totals.positions > 0,
        "no position has passed the filters: nothing to report"
    );
    // The folder is whole even if nobody reads what is printed.
    if let Some(folder) = out {
        make_folder(folder)?;
        let rows = folder.join(ROWS);
        if files != [rows.as_path()] {
            write_merged::<PositionRow>(files, &rows)?;
        }
        output.tell_page(report.write_page(&origins(files), folder)?);
    }
    output.write(&report.to_json(), &report)
}
