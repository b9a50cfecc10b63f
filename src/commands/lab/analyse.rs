//! `zeitnot analyse`: searches every position of recorded games, and writes comments and a page.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use itertools::Itertools;
use parking_lot::Mutex;
use serde::Serialize;

use super::game_args::threads;
use super::matches::judge_command;
use super::report::check_overwriting;
use super::run::{RecordedGames, RunId, Running, positions_of};
use crate::commands::engine_args::{EngineArgs, count};
use crate::commands::measure::{self, LimitArgs, limit_text};
use crate::commands::running::{Progress, engine_facts};
use crate::output::{ExitStatus, Output, Told, eprint_message};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::Color;
use zeitnot_engine::engine::{Settings, Setup};
use zeitnot_engine::network::{BackendInfo, discover};
use zeitnot_engine::note::Note;
use zeitnot_engine::serve::{Searcher, positions_at_once};
use zeitnot_engine::time::{Limit, Millis, Nodes, TimeControl};
use zeitnot_lab::LabError;
use zeitnot_lab::analysis::{
    self, AnalysedGame, AnalysisRow, AnalysisSummary, Analyst, ExternalJudge, FILES, SearchEffort,
    SpendingPlan,
};
use zeitnot_lab::pgn::{RecordedControl, RecordedGame};
use zeitnot_lab::report::Page;
use zeitnot_lab::rows::make_folder;
use zeitnot_lab::run::{Journal, Run};
use zeitnot_lab::runner::{self, Jobs};

const DEFAULT_NODES: Nodes = Nodes(800);
/// The nodes of another engine, whose nodes are cheaper as a rule.
const DEFAULT_NODES_OF_ANOTHER: Nodes = Nodes(100_000);

const MOST_NAMES: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct AnalyseArgs {
    /// Recorded games: PGN, plain or compressed (.gz, .zst, .bz2, .zip). "-" is standard input
    #[arg(required = true, value_name = "FILE.pgn")]
    pgn: Vec<PathBuf>,
    /// Let another UCI engine judge: cmd=PROGRAM, args=…, option.NAME=…, wait=SECONDS of silence.
    /// Each thread has a process of it, which gets 100000 nodes a position by default
    #[arg(long, value_name = "LIST")]
    with: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Analyse at most N games
    #[arg(long, value_name = "N")]
    max_games: Option<usize>,
    /// Positions that are searched at once [default: enough to fill a GPU's batches, or one for each thread
    /// on CPUs, or 1 with --movetime]
    #[arg(long, value_name = "N", value_parser = count().range(..=4096))]
    concurrency: Option<usize>,
    /// Time control of all games, whatever their tags say, for what the time manager would have spent:
    /// [MOVES/]SECONDS[+INCREMENT]
    #[arg(long, value_name = "TC")]
    tc: Option<TimeControl>,
    /// The player whose games these are, for the list of games [default: who plays most of them]
    #[arg(long, value_name = "NAME")]
    player: Option<String>,
    /// Write the games with comments (games.pgn) and a page to step through them (index.html) to this folder.
    /// A run that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    settings: EngineArgs,
}

#[derive(Serialize)]
struct AnalysisReport<'a> {
    version: &'static str,
    backend: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    games: Vec<&'a AnalysisSummary>,
    pgn: String,
}

pub(crate) fn run(args: &AnalyseArgs, output: &mut Output) -> Result<ExitStatus> {
    if let Some(folder) = &args.out {
        make_folder(folder)?;
        check_overwriting(&args.pgn, folder, &FILES)?;
    }
    let mut all_games = RecordedGames::new(&args.pgn)?;
    let mut is_told = args.tc.is_some();
    let tell = |game: &RecordedGame| {
        if let Some(text) = unknown_times(game)
            && !is_told
        {
            eprint_message(text);
            is_told = true;
        }
    };
    let nodes = if args.with.is_some() {
        DEFAULT_NODES_OF_ANOTHER
    } else {
        DEFAULT_NODES
    };
    let limit = args.limits.or(Limit::nodes(nodes.0))?;
    let mut judge = Judge::open(args, limit)?;
    let id = run_id(args, limit, &judge);
    let mut judged = judged_by(&judge, limit);
    if args.out.is_none() {
        eprint_message(&judged);
    }
    let most = args.max_games.unwrap_or(usize::MAX);
    let mut games = all_games.by_ref().take(most).inspect(tell);
    let ahead: Vec<_> = games.by_ref().take(judge.concurrency).collect();
    if let JudgedBy::Network(analyst) = &mut judge.by {
        analyst.get_mut().divide_games(ahead.len());
    }
    // Without a game nothing is written.
    let folder = args.out.as_deref().filter(|_| !ahead.is_empty());
    let mut told = Told::default();
    if args.tc.is_some() || ahead.iter().any(has_clock) {
        judge.foretold.iter().for_each(|note| told.tell(note));
    }
    let mut games = ahead.into_iter().chain(games);
    let mut facts = engine_facts(Some(&judge.facts), &args.settings.0);
    facts.extend(told.facts());
    let running = Running::begin(folder, id, &facts, &FILES, output)?;
    if let JudgedBy::Engine(engine) = &judge.by {
        engine.command().stop.get_or_init(|| running.stop);
    }
    let (mut journal, mut rows, known) = match &running.run {
        Some(run) => resume(run, &mut games, &judge.by)?,
        None => (None, Vec::new(), 0),
    };
    let plan = plan(&args.settings.0, args.tc);
    let mut progress = Progress::new("positions", positions_of(&args.pgn, most), known);
    progress.count(known);
    let progress = Mutex::new(progress);
    let work = |_, jobs: &Jobs<'_, _, _>| analyse(&judge, jobs, &plan, &progress);
    let mut written = Ok(());
    let threads = match judge.by {
        JudgedBy::Network(_) => 1,
        JudgedBy::Engine(_) => judge.concurrency,
    };
    let next_game = || Ok(games.next());
    runner::run(threads, running.stop, next_game, work, |row| {
        if let Some(journal) = &mut journal {
            journal.add(&row)?;
        }
        if args.out.is_none() {
            written = output.write_ahead(&row.pgn);
        }
        rows.push(row);
        Ok(if written.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    if let Some(journal) = &mut journal {
        journal.sync()?;
    }
    written?;
    progress.lock().finish();
    judged += &clocks_in_words(&all_games, args.out.is_none());
    ensure!(
        !rows.is_empty() || running.is_stopped(),
        "no game that can be analysed is in these files"
    );
    tell_unknown_player(args.player.as_deref(), &rows);
    if let Some(run) = &running.run {
        let page = analysis::page(&rows, args.player.as_deref(), &judged, &plan.manager);
        output.tell_page(page.write(run.folder())?);
    }
    for note in judge.by.take_notes() {
        told.tell(note);
    }
    let report = AnalysisReport {
        version: VERSION,
        backend: &judge.facts.description,
        notes: &told.texts,
        games: rows.iter().map(|row| &row.summary).collect(),
        pgn: rows.iter().map(|row| row.pgn.as_str()).collect(),
    };
    let text = if args.out.is_some() {
        format!("{judged}\n\n{}", analysis::table(report.games.iter().copied()))
    } else {
        // The games have gone out one by one.
        String::new()
    };
    output.write(&report, &text)?;
    Ok(running.end(false, all_games.broken + all_games.damaged))
}

/// Stderr has it as well where no page will.
fn clocks_in_words(games: &RecordedGames<'_>, is_told: bool) -> String {
    let Some(text) = games.clocks() else {
        return String::new();
    };
    if is_told {
        eprint_message(format_args!("clocks are {text}"));
    }
    format!(" Clocks are {text}.")
}

fn tell_unknown_player(player: Option<&str>, rows: &[AnalysisRow]) {
    let names: BTreeSet<_> = rows.iter().flat_map(|row| row.summary.players()).collect();
    let Some(player) = player.filter(|player| !names.contains(player)) else {
        return;
    };
    let mut told = names.iter().take(MOST_NAMES).join(", ");
    if names.len() > MOST_NAMES {
        told += &format!(" and {} more", names.len() - MOST_NAMES);
    }
    eprint_message(format_args!(
        "--player {player}: no game has such a player. There are: {told}"
    ));
}

/// Opens the journal with its games, the first ones of `games`, and counts their positions.
fn resume(
    run: &Run,
    games: &mut impl Iterator<Item = RecordedGame>,
    judge: &JudgedBy,
) -> Result<(Option<Journal<AnalysisRow>>, Vec<AnalysisRow>, u64)> {
    let mut known: Vec<AnalysisRow> = Vec::new();
    let journal = Journal::open(run, |row| {
        known.push(row);
        Ok(())
    })?;
    let mut positions = 0;
    for row in &known {
        let game = games.next();
        row.check(game.as_ref(), run.folder())?;
        positions += game.map_or(0, |game| game.moves.len() as u64 + 1);
        judge.add_effort(row.effort);
    }
    Ok((Some(journal), known, positions))
}

/// Analyses a game with the defaults and the network of `setup`. `count` gets the positions that are done,
/// and their number, and may end it.
pub(crate) fn review(
    setup: &Setup,
    settings: &Settings,
    game: RecordedGame,
    mut count: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Page> {
    let limit = Limit::nodes(DEFAULT_NODES.0);
    let searches = |backend: &BackendInfo, threads| positions_at_once(limit, backend, threads);
    let searcher = Searcher::with_network_of(setup, with_move_stats(settings), searches)?;
    let judge = Judge::of_network(searcher, limit)?;
    let judged = judged_by(&judge, limit);
    let plan = plan(settings, None);
    let JudgedBy::Network(analyst) = judge.by else {
        unreachable!("opened above")
    };
    let mut analyst = analyst.into_inner();
    analyst.divide_games(1);
    let positions = analyst.begin(0, game)?;
    for done in 1.. {
        let Some(games) = analyst.advance(&plan, || false)? else {
            break;
        };
        if let Some((_, analysed)) = games.first() {
            let row = AnalysisRow::new(analysed, &judge.facts.description);
            return Ok(analysis::page(&[row], None, &judged, &plan.manager));
        }
        count(done, positions)?;
    }
    bail!("the game has no position to analyse")
}

/// The page shows what the search looked at.
fn with_move_stats(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.info.verbose_move_stats = true;
    settings
}

struct Judge {
    /// Of an external engine its name alone.
    facts: BackendInfo,
    network_sha256: Option<String>,
    /// Games or positions that are searched at once.
    concurrency: usize,
    foretold: Vec<Note>,
    by: JudgedBy,
}

enum JudgedBy {
    /// Its searches have threads of their own.
    Network(Box<Mutex<Analyst>>),
    /// Another one, in a process for each thread.
    Engine(ExternalJudge),
}

impl JudgedBy {
    fn take_notes(&self) -> Vec<Note> {
        match self {
            JudgedBy::Network(analyst) => analyst.lock().take_notes(),
            JudgedBy::Engine(_) => Vec::new(),
        }
    }

    fn add_effort(&self, effort: SearchEffort) {
        match self {
            JudgedBy::Network(analyst) => analyst.lock().add_effort(effort),
            JudgedBy::Engine(engine) => engine.add_effort(effort),
        }
    }
}

impl Judge {
    fn of_network(searcher: Searcher, limit: Limit) -> Result<Judge> {
        let clock = Limit::clock(Millis(60_000.0), Millis::ZERO);
        let mut facts = searcher.setup.backend().facts().clone();
        // Of the network's file the name alone, as pages and games are passed on.
        facts.description = facts.description_without_folder();
        Ok(Judge {
            facts,
            foretold: searcher.setup.as_played(clock)?.0,
            network_sha256: searcher.setup.network_sha256().map(str::to_owned),
            concurrency: searcher.size.searches,
            by: JudgedBy::Network(Box::new(Mutex::new(Analyst::new(searcher, limit)))),
        })
    }

    fn open(args: &AnalyseArgs, limit: Limit) -> Result<Judge> {
        let Some(command) = &args.with else {
            let settings = with_move_stats(&args.settings.0);
            return Judge::of_network(measure::searcher(&settings, args.concurrency, limit)?, limit);
        };
        let engine = ExternalJudge::new(judge_command(command)?, limit)?;
        Ok(Judge {
            facts: BackendInfo::new("", engine.name()),
            foretold: Vec::new(),
            network_sha256: None,
            concurrency: args.concurrency.unwrap_or_else(|| threads(&args.settings.0)),
            by: JudgedBy::Engine(engine),
        })
    }
}

/// Analyses games until there are none, or the run is stopped.
fn analyse(
    judge: &Judge,
    jobs: &Jobs<'_, RecordedGame, AnalysisRow>,
    plan: &SpendingPlan,
    progress: &Mutex<Progress>,
) -> Result<(), LabError> {
    let deliver = |place, analysed: &AnalysedGame| {
        jobs.deliver(place, AnalysisRow::new(analysed, &judge.facts.description));
    };
    let mut analyst = match &judge.by {
        JudgedBy::Network(analyst) => analyst.lock(),
        JudgedBy::Engine(engine) => {
            while let Some((place, game)) = jobs.take()? {
                let is_stopped = || jobs.are_stopped();
                let Some(analysed) =
                    engine.analyse(game, plan, is_stopped, || progress.lock().count_one())?
                else {
                    break;
                };
                deliver(place, &analysed);
            }
            return Ok(());
        }
    };
    let mut is_at_end = false;
    loop {
        while !is_at_end && analyst.has_room() {
            match jobs.take()? {
                Some((place, game)) => _ = analyst.begin(place, game)?,
                None => is_at_end = true,
            }
        }
        let Some(games) = analyst.advance(plan, || jobs.are_stopped())? else {
            return Ok(());
        };
        progress.lock().count_one();
        for (place, analysed) in &games {
            deliver(*place, analysed);
        }
    }
}

fn has_clock(game: &RecordedGame) -> bool {
    game.moves.iter().any(|played| played.clock_ms.is_some())
}

fn unknown_times(game: &RecordedGame) -> Option<String> {
    let is_known = [Color::White, Color::Black]
        .iter()
        .all(|&color| RecordedControl::of(game, color).is_some());
    if !has_clock(game) || is_known || !game.notes.is_empty() {
        return None;
    }
    let why = match game.tags.get("TimeControl").unwrap_or_default().trim() {
        "" => "no time control is named".to_owned(),
        tag => format!("the time control {tag:?} is not known"),
    };
    Some(format!(
        "game {}{}: {why}, so that clocks do not tell the time that moves took; give --tc. \
         Other games of this kind are not named.",
        game.number,
        game.tags.players()
    ))
}

fn plan(settings: &Settings, control: Option<TimeControl>) -> SpendingPlan {
    let time = &settings.time;
    SpendingPlan {
        manager: time.time_manager.clone(),
        control,
        overhead_ms: time.move_overhead.as_secs_f64() * 1e3,
    }
}

fn run_id(args: &AnalyseArgs, limit: Limit, judge: &Judge) -> String {
    let mut id = RunId::default();
    id.add_settings(&args.settings.0, judge.network_sha256.as_deref());
    id.add(format!(
        "{limit:?} {:?} {:?} {:?}",
        args.tc, args.max_games, args.with
    ));
    id.add_files(&args.pgn);
    if let JudgedBy::Engine(engine) = &judge.by {
        id.add_external(engine.command());
    }
    id.finish()
}

fn judged_by(judge: &Judge, limit: Limit) -> String {
    let Judge { facts, by, .. } = judge;
    let who = match by {
        JudgedBy::Network(_) => format!("Zeitnot {VERSION} with {}", facts.description),
        JudgedBy::Engine(_) => facts.description.clone(),
    };
    let more = if discover::is_built_in(Path::new(&facts.network)) {
        " A larger network judges better: `zeitnot setup --network` fetches one."
    } else {
        ""
    };
    format!("Judged by {who}, {} a position.{more}", limit_text(limit))
}
