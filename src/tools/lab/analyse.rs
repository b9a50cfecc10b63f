//! `zeitnot analyse`: searches every position of recorded games; writes them with comments, and a page to step through them.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;

use super::report::check_overwriting;
use crate::engine::Settings;
use crate::lab::analysis::{self, AnalysedGame, AnalysisSummary, Analyst, SpendingPlan, write_pgn};
use crate::lab::pgn::{GameError, Games};
use crate::lab::rows::make_folder;
use crate::report::Table;
use crate::time::{GoLimits, Millis, Nodes, TimeControl};
use crate::tools::fixed_search;
use crate::tools::output::eprint_message;
use crate::tools::{ExitStatus, Failure, Output};
use crate::version::VERSION;

/// The name of the file with the games in the folder of `--out`.
const GAMES: &str = "games.pgn";
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
    /// Write the games with comments (games.pgn) and a page to step through them (index.html) to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

/// The result. Its fields are the keys of the JSON document.
#[derive(Serialize)]
struct AnalysisReport {
    version: &'static str,
    backend: String,
    games: Vec<AnalysisSummary>,
    /// The games with comments, where they are not written to a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgn: Option<String>,
}

impl fmt::Display for AnalysisReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pgn {
            Some(pgn) => f.write_str(pgn),
            None => self.table().fmt(f),
        }
    }
}

impl AnalysisReport {
    fn table(&self) -> Table {
        analysis::table(&self.games)
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
    let mut analyst = Analyst::new(fixed_search::engine(settings)?, limits.clone());
    let backend = analyst.description();
    let (games, status) = analyse(args, &mut analyst, &plan)?;
    if games.is_empty() {
        return Err(Failure::Input("no game that can be analysed is in these files".into()));
    }
    let mut pgn = Vec::new();
    match &args.out {
        Some(folder) => {
            let engine = format!("Zeitnot {VERSION}, {backend}, {}", described(&limits));
            analysis::page(&games, &engine, &manager).write(folder)?;
            write_games(&folder.join(GAMES), &games, &backend)?;
        }
        None => games.iter().try_for_each(|game| write_pgn(&mut pgn, game, &backend))?,
    }
    let report = AnalysisReport {
        version: VERSION,
        backend,
        games: games.iter().map(AnalysisSummary::of).collect(),
        pgn: args.out.is_none().then(|| String::from_utf8_lossy(&pgn).into_owned()),
    };
    output.write(&report, &report)?;
    Ok(status)
}

/// Makes the folder, and refuses one with games that are to be read or that no analysis has written.
fn check_folder(args: &AnalyseArgs, folder: &Path) -> Result<(), Failure> {
    make_folder(folder)?;
    check_overwriting(&args.pgn, folder, &[GAMES, "index.html"])?;
    let path = folder.join(GAMES);
    let is_other = path.metadata().is_ok_and(|file| file.len() > 0) && !analysis::is_analysis(&path);
    if is_other {
        return Err(Failure::Input(format!(
            "{}: no analysis has written this; name another --out",
            path.display()
        )));
    }
    Ok(())
}

/// Analyses the games of all files. Broken ones are named on stderr and make the status bad input.
fn analyse(
    args: &AnalyseArgs,
    analyst: &mut Analyst,
    plan: &SpendingPlan,
) -> Result<(Vec<AnalysedGame>, ExitStatus), Failure> {
    let (mut games, mut status) = (Vec::new(), ExitStatus::Success);
    let progress = ProgressBar::no_length();
    let mut number = 0;
    for path in &args.pgn {
        for game in Games::open(path).map_err(|error| Failure::Input(error.to_string()))? {
            if args.max_games.is_some_and(|most| games.len() >= most) {
                break;
            }
            number += 1;
            match game {
                Ok(game) if game.moves.is_empty() => {}
                Ok(mut game) => {
                    game.number = number;
                    progress.set_length(game.moves.len() as u64 + 1);
                    progress.set_position(0);
                    games.push(analyst.analyse(game, plan, || progress.inc(1))?);
                }
                Err(fatal @ GameError::Read { .. }) => return Err(Failure::Input(fatal.to_string())),
                Err(broken) => {
                    eprint_message(format_args!("{}: {broken}", path.display()));
                    status = ExitStatus::BadInput;
                }
            }
        }
    }
    progress.finish_and_clear();
    Ok((games, status))
}

fn described(limits: &GoLimits) -> String {
    let nodes = limits.nodes.map(|nodes| format!("{} nodes", nodes.0));
    let time = limits.movetime.map(|time| format!("{} ms", time.0));
    let texts: Vec<_> = nodes.into_iter().chain(time).collect();
    format!("{} a position", texts.join(" or "))
}

fn write_games(path: &Path, games: &[AnalysedGame], backend: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let mut games = games.iter();
    games.try_for_each(|game| write_pgn(&mut file, game, backend)).and_then(|()| file.flush()).map_err(failed)
}
