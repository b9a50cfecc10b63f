//! `zeitnot analyse`: searches every position of recorded games; writes them with comments, and a page to step through them.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;

use super::interruption::{interruption, tell_stopped};
use super::report::check_overwriting;
use super::run_id::RunId;
use crate::engine::Settings;
use crate::lab::analysis::{
    self, AnalysisError, AnalysisJournal, AnalysisRow, AnalysisSummary, Analyst, GAMES, SpendingPlan,
};
use crate::lab::pgn::{GameError, Games, RecordedGame};
use crate::lab::rows::make_folder;
use crate::time::{GoLimits, Millis, Nodes, TimeControl};
use crate::tools::measure;
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure, Output};
use crate::version::VERSION;

/// The visits per position unless the user says otherwise.
const DEFAULT_NODES: u64 = 800;

#[derive(Debug, Args)]
pub(in crate::tools) struct AnalyseArgs {
    /// Recorded games: PGN, plain or compressed (.gz, .zst, .bz2); "-" is standard input
    #[arg(required = true, value_name = "FILE.pgn")]
    pgn: Vec<PathBuf>,
    /// Visits per position [default: 800, without --movetime]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Time per position, ms
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    movetime: Option<u64>,
    /// Analyse at most N games
    #[arg(long, value_name = "N")]
    max_games: Option<usize>,
    /// Time control of games that tell none, for what the time manager would have spent: [MOVES/]SECONDS[+INCREMENT]
    #[arg(long, value_name = "TC")]
    tc: Option<TimeControl>,
    /// Write the games with comments (games.pgn) and a page to step through them (index.html) to this folder; a run that was stopped goes on there
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
    /// Writes the table; without a folder, the games have gone out one by one.
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
    let nodes = args.nodes.or_else(|| args.movetime.is_none().then_some(DEFAULT_NODES));
    let movetime = args.movetime.map(|ms| Millis(ms as f64));
    let limits = GoLimits { nodes: nodes.map(Nodes), movetime, ..GoLimits::default() };
    let settings = &args.settings;
    let manager = settings.time.time_manager.as_str().to_owned();
    let plan = SpendingPlan {
        manager: manager.clone(),
        control: args.tc,
        overhead_ms: settings.time.move_overhead.as_secs_f64() * 1e3,
    };
    let analyst = Analyst::new(measure::engine(settings)?, limits.clone());
    let backend = analyst.description();
    let mut run = AnalysisRun {
        id: run_id(args, &limits, analyst.network_sha256()),
        backend: &backend,
        args,
        analyst,
        plan,
        stop: interruption()?,
        journal: None,
        rows: Vec::new(),
        status: ExitStatus::Success,
    };
    let is_stopped = run.analyse(output)?.is_break();
    let AnalysisRun { rows, journal, status, .. } = run;
    if rows.is_empty() && !is_stopped {
        return Err(Failure::Input("no game that can be analysed is in these files".into()));
    }
    if let (Some(folder), Some(journal)) = (&args.out, journal) {
        let engine = format!("Zeitnot {VERSION}, {backend}, {}", described(&limits));
        analysis::page(&rows, &engine, &manager).write(folder)?;
        if !is_stopped {
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
    Ok(status)
}

/// Returns a hash over all that the analysis of a game depends on.
fn run_id(args: &AnalyseArgs, limits: &GoLimits, network_sha256: Option<&str>) -> String {
    let mut id = RunId::new();
    id.add_settings(&args.settings, network_sha256);
    id.add(format!("{limits:?} {:?} {:?}", args.tc, args.max_games));
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

/// A run through the games of all files.
struct AnalysisRun<'a> {
    args: &'a AnalyseArgs,
    id: String,
    backend: &'a str,
    analyst: Analyst,
    plan: SpendingPlan,
    /// Becomes true when the user stops the run.
    stop: &'a AtomicBool,
    /// With a folder, from the first game on.
    journal: Option<AnalysisJournal>,
    rows: Vec<AnalysisRow>,
    status: ExitStatus,
}

impl AnalysisRun<'_> {
    /// Analyses the games, each of which is kept or written as soon as it is done. Broken ones are named on stderr and make the status
    /// bad input. The answer is a break if the user stops the run.
    fn analyse(&mut self, output: &mut Output) -> Result<ControlFlow<()>, Failure> {
        let progress = ProgressBar::no_length();
        let mut number = 0;
        for path in &self.args.pgn {
            for game in Games::open(path).map_err(|error| Failure::Input(error.to_string()))? {
                if self.args.max_games.is_some_and(|most| self.rows.len() >= most) {
                    break;
                }
                number += 1;
                match game {
                    Ok(game) if game.moves.is_empty() => {}
                    Ok(mut game) => {
                        game.number = number;
                        let Some(row) = self.row(game, &progress)? else {
                            progress.finish_and_clear();
                            return Ok(ControlFlow::Break(()));
                        };
                        if self.args.out.is_none() {
                            output.write_ahead(&row.pgn)?;
                        }
                        self.rows.push(row);
                    }
                    Err(fatal @ GameError::Read { .. }) => return Err(Failure::Input(fatal.to_string())),
                    Err(broken) => {
                        eprint_message(format_args!("{}: {broken}", path.display()));
                        self.status = ExitStatus::BadInput;
                    }
                }
            }
        }
        progress.finish_and_clear();
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the row of a game, from the journal or newly analysed. Returns `None` if the user stops the run.
    fn row(&mut self, game: RecordedGame, progress: &ProgressBar) -> Result<Option<AnalysisRow>, Failure> {
        if let (Some(folder), None) = (&self.args.out, &self.journal) {
            self.journal = Some(AnalysisJournal::open(folder, &self.id)?);
        }
        let known = self.journal.as_mut().map(|journal| journal.known(&game)).transpose()?.flatten();
        if let Some(row) = known {
            self.analyst.add_effort(row.effort);
            return Ok(Some(row));
        }
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        progress.set_length(game.moves.len() as u64 + 1);
        progress.set_position(0);
        let analysed = self.analyst.analyse(game, &self.plan, || {
            progress.inc(1);
            if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let Some(analysed) = analysed else { return Ok(None) };
        let row = AnalysisRow::new(&self.id, &analysed, self.backend);
        if let Some(journal) = &mut self.journal {
            journal.add(&row)?;
        }
        Ok(Some(row))
    }
}

impl From<AnalysisError> for Failure {
    fn from(error: AnalysisError) -> Failure {
        Failure::Measurement(Box::new(error))
    }
}

fn described(limits: &GoLimits) -> String {
    let nodes = limits.nodes.map(|nodes| format!("{} nodes", nodes.0));
    let time = limits.movetime.map(|time| format!("{} ms", time.0));
    let texts: Vec<_> = nodes.into_iter().chain(time).collect();
    format!("{} a position", texts.join(" or "))
}
