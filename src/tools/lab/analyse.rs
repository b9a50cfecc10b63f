//! `zeitnot analyse`: searches every position of recorded games, and writes them with comments, and a page
//! that tells what happened.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;
use indicatif::ProgressBar;
use parking_lot::Mutex;
use serde::Serialize;

use super::report::check_overwriting;
use super::run::{RecordedGames, RunId, interruption, origin, tell_stopped};
use crate::tools::measure::{self, LimitArgs, limit_text};
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure, Output};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::Color;
use zeitnot_engine::engine::Settings;
use zeitnot_engine::time::{GoLimits, Nodes, TimeControl};
use zeitnot_lab::analysis::{
    self, AnalysisJournal, AnalysisRow, AnalysisSummary, Analyst, GAMES, KnownGames, SpendingPlan,
};
use zeitnot_lab::pgn::{RecordedControl, RecordedGame};
use zeitnot_lab::report::Origin;
use zeitnot_lab::rows::make_folder;
use zeitnot_lab::runner::{self, Jobs, Next};

/// The visits per position unless the user says otherwise.
const DEFAULT_NODES: Nodes = Nodes(800);

/// A game, and its row if an earlier part of the run has analysed it.
type Job = (RecordedGame, Option<AnalysisRow>);
/// A row, and whether it is new.
type AnalysedRow = (AnalysisRow, bool);

#[derive(Debug, Args)]
pub(in crate::tools) struct AnalyseArgs {
    /// Recorded games: PGN, plain or compressed (.gz, .zst, .bz2, .zip). "-" is standard input
    #[arg(required = true, value_name = "FILE.pgn")]
    pgn: Vec<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Analyse at most N games
    #[arg(long, value_name = "N")]
    max_games: Option<usize>,
    /// Positions that are searched at once [default: enough to fill a GPU's batches, or one for each thread
    /// on CPUs, or 1 with --movetime]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    concurrency: Option<u32>,
    /// Time control of all games, whatever their tags say, for what the time manager would have spent:
    /// [MOVES/]SECONDS[+INCREMENT]
    #[arg(long, value_name = "TC")]
    tc: Option<TimeControl>,
    /// Write the games with comments (games.pgn) and a page to step through them (index.html) to this folder.
    /// A run that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

/// The result. Its fields are the keys of the JSON document.
#[derive(Serialize)]
struct AnalysisReport<'a> {
    version: &'static str,
    backend: String,
    games: Vec<&'a AnalysisSummary>,
    /// The games with comments, where they are not written to a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgn: Option<String>,
}

impl fmt::Display for AnalysisReport<'_> {
    /// Writes the table. Without a folder, the games have gone out one by one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pgn {
            Some(_) => Ok(()),
            None => analysis::table(self.games.iter().copied()).fmt(f),
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &AnalyseArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    if let Some(folder) = &args.out {
        check_folder(args, folder)?;
    }
    let mut all_games = RecordedGames::new(&args.pgn)?;
    let mut untold = UntoldTimes { is_told: args.tc.is_some() };
    let limits = args.limits.or(GoLimits { nodes: Some(DEFAULT_NODES), ..GoLimits::default() })?;
    let searcher = measure::searcher(&args.settings, args.concurrency, &limits)?;
    let mut analyst = Analyst::new(searcher, limits.clone());
    let (backend, id) = (analyst.description(), run_id(args, &limits, analyst.network_sha256()));
    let most = args.max_games.unwrap_or(usize::MAX);
    let mut games = all_games.by_ref().take(most).inspect(|game| untold.look_at(game));
    let ahead: Vec<_> = games.by_ref().take(analyst.concurrency()).collect();
    analyst.divide_games(ahead.len());
    // Without a game nothing is written.
    let folder = args.out.as_deref().filter(|_| !ahead.is_empty());
    let mut games = ahead.into_iter().chain(games);
    let (mut journal, mut known) = match folder {
        Some(folder) => {
            Origin { run: id.clone(), ..origin(&[]) }.claim(folder)?;
            let (journal, known) = AnalysisJournal::open(folder, &id)?;
            (Some(journal), known)
        }
        None => (None, KnownGames::default()),
    };
    let next = || {
        let Some(game) = games.next() else { return Ok(Next::End) };
        let row = known.next(&game)?;
        Ok(Next::Job((game, row)))
    };
    let analyst = Mutex::new(analyst);
    let plan = plan(args);
    let progress = ProgressBar::new(0);
    let work = |_, jobs: &Jobs<'_, Job, AnalysedRow>| {
        let analyst = &mut *analyst.lock();
        let mut is_at_end = false;
        loop {
            while !is_at_end && analyst.has_room() {
                match jobs.take()? {
                    Next::Job((place, (game, None))) => {
                        progress.inc_length(analyst.begin(place, game)? as u64);
                    }
                    Next::Job((place, (_, Some(row)))) => {
                        analyst.add_effort(row.effort);
                        jobs.deliver(place, (row, false));
                    }
                    Next::Later | Next::End => is_at_end = true,
                }
            }
            let Some(games) = analyst.advance(&plan, || jobs.are_stopped())? else { return Ok(()) };
            progress.inc(1);
            for (place, analysed) in games {
                jobs.deliver(place, (AnalysisRow::new(&id, &analysed, &backend), true));
            }
        }
    };
    let stop = interruption()?;
    let (mut rows, mut written) = (Vec::new(), Ok(()));
    // The searches have threads of their own.
    runner::run(1, stop, next, work, |(row, is_new)| {
        if let Some(journal) = journal.as_mut().filter(|_| is_new) {
            journal.add(&row)?;
        }
        if args.out.is_none() {
            written = output.write_ahead(&row.pgn);
        }
        rows.push(row);
        Ok(if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    written?;
    progress.finish_and_clear();
    let is_stopped = stop.load(Ordering::Relaxed);
    if rows.is_empty() && !is_stopped {
        return Err(Failure::Input("no game that can be analysed is in these files".into()));
    }
    if let (Some(folder), Some(journal)) = (folder, journal) {
        let engine = format!("Zeitnot {VERSION}, {backend}, {} a position", limit_text(&limits));
        analysis::page(&rows, &engine, &plan.manager).write(folder)?;
        if !is_stopped {
            known.check_all_met()?;
            journal.finish()?;
        }
    }
    let report = AnalysisReport {
        version: VERSION,
        backend,
        games: rows.iter().map(|row| &row.summary).collect(),
        pgn: args.out.is_none().then(|| rows.iter().map(|row| row.pgn.as_str()).collect()),
    };
    output.write(&report, &report)?;
    if is_stopped {
        tell_stopped(args.out.is_some());
    }
    Ok(if all_games.broken + all_games.damaged > 0 { ExitStatus::BadInput } else { ExitStatus::Success })
}

/// Says once why times are left out.
struct UntoldTimes {
    is_told: bool,
}

impl UntoldTimes {
    fn look_at(&mut self, game: &RecordedGame) {
        let has_clocks = game.moves.iter().any(|played| played.clock_ms.is_some());
        let is_known =
            [Color::White, Color::Black].iter().all(|&color| RecordedControl::of(game, color).is_some());
        if has_clocks && !is_known && game.notes.is_empty() && !std::mem::replace(&mut self.is_told, true) {
            let why = match game.tags.get("TimeControl").map(str::trim).filter(|tag| !tag.is_empty()) {
                Some(tag) => format!("the time control {tag:?} is not known"),
                None => "no time control is named".to_owned(),
            };
            eprint_message(format_args!(
                "game {}{}: {why}, so that clocks do not tell the time that moves took; give --tc. \
                 Other games of this kind are not named.",
                game.number,
                game.tags.players()
            ));
        }
    }
}

fn plan(args: &AnalyseArgs) -> SpendingPlan {
    let time = &args.settings.time;
    SpendingPlan {
        manager: time.time_manager.as_str().to_owned(),
        control: args.tc,
        overhead_ms: time.move_overhead.as_secs_f64() * 1e3,
    }
}

/// Returns a hash over all that the analysis of a game depends on.
fn run_id(args: &AnalyseArgs, limits: &GoLimits, network_sha256: Option<&str>) -> String {
    let mut id = RunId::new();
    id.add_settings(&args.settings, network_sha256);
    id.add(format!("{limits:?} {:?} {:?}", args.tc, args.max_games));
    id.add_files(&args.pgn);
    id.finish()
}

/// Makes the folder, and refuses one with games that are to be read or that no analysis has written.
fn check_folder(args: &AnalyseArgs, folder: &Path) -> Result<(), Failure> {
    make_folder(folder)?;
    check_overwriting(&args.pgn, folder, &[GAMES, "index.html"])?;
    let path = folder.join(GAMES);
    // The first game of an unfinished one may be half written.
    let is_other = !AnalysisJournal::is_in(folder)
        && path.metadata().is_ok_and(|file| file.len() > 0)
        && !analysis::is_analysis(&path);
    if is_other {
        return Err(Failure::Input(format!(
            "{}: no analysis has written this; name another --out",
            path.display()
        )));
    }
    Ok(())
}
