//! Shared by the commands that measure speed: one search over positions with its figures ([`search_all`]),
//! the machine's noise ([`noise`]), and the page ([`write_report`]). Rounds over a backend are in
//! [`zeitnot_engine::network::throughput`].

pub(super) mod noise;
pub(super) mod power;

use std::fmt;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::output::{eprint_message, write_json};
use super::{Failure, Output};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{History, ListedPosition, Variant};
use zeitnot_engine::engine::{Engine, FinishedSearch, Settings};
use zeitnot_engine::files::{self, Lines};
use zeitnot_engine::foreign::in_our_words;
use zeitnot_engine::network::BackendInfo;
use zeitnot_engine::search::{CounterValues, SearchSummary};
use zeitnot_engine::serve::{Searcher, positions_at_once};
use zeitnot_engine::system::cpu_time;
use zeitnot_engine::time::{GoLimits, Millis, Nodes};
use zeitnot_lab::report::{Page, terminal_width, write_fact};

/// `bench`: an opening, a tactical mess, and Bratko–Kopec positions from middlegame to endgame.
pub(super) const BENCH: [&str; 10] = [
    "startpos",
    "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "fen r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 w - - 0 1",
    "fen r3r1k1/ppqb1ppp/8/4p1NQ/8/2P5/PP3PPP/R3R1K1 b - - 0 1",
    "fen rnbqkb1r/p3pppp/1p6/2ppP3/3N4/2P5/PPP1QPPP/R1B1KB1R w KQkq - 0 1",
    "fen 2q1rr1k/3bbnnp/p2p1pp1/2pPp3/PpP1P1P1/1P2BNNP/2BQ1PRK/7R b - - 0 1",
    "fen 2r2rk1/1bqnbpp1/1p1ppn1p/pP6/N1P1P3/P2B1N1P/1B2QPP1/R2R2K1 b - - 0 1",
    "fen 3r1k2/4npp1/1ppr3p/p6P/P2PPPP1/1NR5/5K2/2R5 w - - 0 1",
    "fen 8/8/1p1r1k2/p1pPN1p1/P3KnP1/1P6/8/3R4 b - - 0 1",
    "fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
];

/// Lc0's `benchmark`, which are those of Stockfish's `bench`.
pub(super) const BENCHMARK: [&str; 34] = [
    "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 10",
    "fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 11",
    "fen 4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
    "fen rq3rk1/ppp2ppp/1bnpb3/3N2B1/3NP3/7P/PPPQ1PP1/2KR3R w - - 7 14 moves d4e6",
    "fen r1bq1r1k/1pp1n1pp/1p1p4/4p2Q/4Pp2/1BNP4/PPP2PPP/3R1RK1 w - - 2 14 moves g2g4",
    "fen r3r1k1/2p2ppp/p1p1bn2/8/1q2P3/2NPQN2/PPP3PP/R4RK1 b - - 2 15",
    "fen r1bbk1nr/pp3p1p/2n5/1N4p1/2Np1B2/8/PPP2PPP/2KR1B1R w kq - 0 13",
    "fen r1bq1rk1/ppp1nppp/4n3/3p3Q/3P4/1BP1B3/PP1N2PP/R4RK1 w - - 1 16",
    "fen 4r1k1/r1q2ppp/ppp2n2/4P3/5Rb1/1N1BQ3/PPP3PP/R5K1 w - - 1 17",
    "fen 2rqkb1r/ppp2p2/2npb1p1/1N1Nn2p/2P1PP2/8/PP2B1PP/R1BQK2R b KQ - 0 11",
    "fen r1bq1r1k/b1p1npp1/p2p3p/1p6/3PP3/1B2NN2/PP3PPP/R2Q1RK1 w - - 1 16",
    "fen 3r1rk1/p5pp/bpp1pp2/8/q1PP1P2/b3P3/P2NQRPP/1R2B1K1 b - - 6 22",
    "fen r1q2rk1/2p1bppp/2Pp4/p6b/Q1PNp3/4B3/PP1R1PPP/2K4R w - - 2 18",
    "fen 4k2r/1pb2ppp/1p2p3/1R1p4/3P4/2r1PN2/P4PPP/1R4K1 b - - 3 22",
    "fen 3q2k1/pb3p1p/4pbp1/2r5/PpN2N2/1P2P2P/5PP1/Q2R2K1 b - - 4 26",
    "fen 6k1/6p1/6Pp/ppp5/3pn2P/1P3K2/1PP2P2/3N4 b - - 0 1",
    "fen 3b4/5kp1/1p1p1p1p/pP1PpP1P/P1P1P3/3KN3/8/8 w - - 0 1",
    "fen 2K5/p7/7P/5pR1/8/5k2/r7/8 w - - 0 1 moves g5g6 f3e3 g6g5 e3f3",
    "fen 8/6pk/1p6/8/PP3p1p/5P2/4KP1q/3Q4 w - - 0 1",
    "fen 7k/3p2pp/4q3/8/4Q3/5Kp1/P6b/8 w - - 0 1",
    "fen 8/2p5/8/2kPKp1p/2p4P/2P5/3P4/8 w - - 0 1",
    "fen 8/1p3pp1/7p/5P1P/2k3P1/8/2K2P2/8 w - - 0 1",
    "fen 8/pp2r1k1/2p1p3/3pP2p/1P1P1P1P/P5KR/8/8 w - - 0 1",
    "fen 8/3p4/p1bk3p/Pp6/1Kp1PpPp/2P2P1P/2P5/5B2 b - - 0 1",
    "fen 5k2/7R/4P2p/5K2/p1r2P1p/8/8/8 b - - 0 1",
    "fen 6k1/6p1/P6p/r1N5/5p2/7P/1b3PP1/4R1K1 w - - 0 1",
    "fen 1r3k2/4q3/2Pp3b/3Bp3/2Q2p2/1p1P2P1/1P2KP2/3N4 w - - 0 1",
    "fen 6k1/4pp1p/3p2p1/P1pPb3/R7/1r2P1PP/3B1P2/6K1 w - - 0 1",
    "fen 8/3p3B/5p2/5P2/p7/PP5b/k7/6K1 w - - 0 1",
    "fen 5rk1/q6p/2p3bR/1pPp1rP1/1P1Pp3/P3B1Q1/1K3P2/R7 w - - 93 90",
    "fen 4rrk1/1p1nq3/p7/2p1P1pp/3P2bp/3Q1Bn1/PPPB4/1K2R1NR w - - 40 21",
    "fen r3k2r/3nnpbp/q2pp1p1/p7/Pp1PPPP1/4BNN1/1P5P/R2Q1RK1 w kq - 0 16",
    "fen 3Qb1k1/1r2ppb1/pN1n2q1/Pp1Pp1Pr/4P2p/4BP2/4B1R1/1R5K b - - 11 40",
];

#[derive(Debug, Args)]
pub(super) struct PositionArgs {
    /// Number of the positions to search
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    num_positions: Option<u32>,
    /// Search this position only
    #[arg(long, value_name = "FEN", conflicts_with = "positions")]
    fen: Option<String>,
    /// Positions to search, one a line: FEN, EPD, or as after UCI's `position`. - is standard input [default:
    /// built-in ones, ten with bench, Lc0's 34 with benchmark]
    #[arg(long, value_name = "FILE")]
    positions: Option<PathBuf>,
}

impl PositionArgs {
    /// The positions, as after UCI's `position`, or else `default`.
    pub(super) fn or(&self, default: &[&str]) -> Result<Vec<String>, Failure> {
        let mut positions = match (&self.fen, &self.positions) {
            (Some(fen), _) => vec![format!("fen {fen}")],
            (None, Some(file)) => read(file)?,
            (None, None) => default.iter().map(ToString::to_string).collect(),
        };
        positions.truncate(self.num_positions.map_or(usize::MAX, |count| count as usize));
        Ok(positions)
    }

    pub(super) fn flags(&self) -> Vec<(&'static str, String)> {
        let count = self.num_positions.map(|count| ("num-positions", count.to_string()));
        let fen = self.fen.clone().map(|fen| ("fen", fen));
        let file = self.positions.as_ref().map(|file| ("positions", file.display().to_string()));
        [count, fen, file].into_iter().flatten().collect()
    }
}

/// Opens a list of positions, `-` for standard input. Stderr names ignored parts of an archive.
pub(super) fn open_positions(file: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let opened = files::open_text(file, &[".epd", ".fen"]).map_err(|error| {
        Failure::Input(format!("{}: cannot be read: {}", file.display(), in_our_words(&error)))
    })?;
    opened.notes.iter().for_each(eprint_message);
    Ok(opened.content)
}

fn read(file: &Path) -> Result<Vec<String>, Failure> {
    let name = file.display();
    let refuse = |reason: String| Failure::Input(format!("{name}: {reason}"));
    let mut positions = Vec::new();
    for line in Lines::new(BufReader::new(open_positions(file)?)) {
        let (number, line) = line.map_err(|error| refuse(error.to_string()))?;
        let Some(listed) = ListedPosition::read(&line) else { continue };
        let position = listed.map(|listed| listed.uci_position()).map_err(|error| error.to_string());
        let checked = position.and_then(|position| {
            let game = History::from_uci_position(&position, Variant::Standard);
            game.map(|_| position).map_err(|error| error.to_string())
        });
        positions.push(checked.map_err(|error| Failure::Input(format!("{name}, line {number}: {error}")))?);
    }
    if positions.is_empty() { Err(refuse("no position in it".into())) } else { Ok(positions) }
}

/// What ends each search.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// Visits per position. -1 is no limit [default without --movetime: 2000 with bench and solve, 800 with
    /// analyse]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) nodes: Option<i64>,
    /// Time per position, ms. -1 is no limit [default without --nodes: 700 with bench, 10000 with benchmark,
    /// 1000 with --backends]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(super) movetime: Option<i64>,
}

impl LimitArgs {
    pub(super) fn or(&self, default: GoLimits) -> Result<GoLimits, Failure> {
        let positive = |number: Option<i64>| number.filter(|&number| number > 0).map(i64::unsigned_abs);
        let nodes = positive(self.nodes).map(Nodes);
        let movetime = positive(self.movetime).map(|ms| Millis(ms as f64));
        let lifts_default = self.movetime.is_some() || self.nodes.is_some() && default.nodes.is_some();
        match (nodes, movetime) {
            (None, None) if lifts_default => {
                Err(Failure::Input("the searches need an end: give --nodes or --movetime above 0".into()))
            }
            (None, None) => Ok(default),
            _ => Ok(GoLimits { nodes, movetime, ..GoLimits::default() }),
        }
    }

    pub(super) fn is_default(&self) -> bool {
        self.nodes.is_none() && self.movetime.is_none()
    }
}

/// An engine whose searches end at their limit only: without smart pruning and without a GUI's overhead.
pub(super) fn engine(settings: &Settings) -> Result<Engine, Failure> {
    let mut settings = settings.clone();
    settings.stoppers.smart_pruning_factor = 0.0;
    settings.time.move_overhead = Duration::ZERO;
    let mut engine = Engine::new(settings)?;
    engine.prepare()?;
    Ok(engine)
}

/// Prints the settings in force and notes to stderr.
pub(super) fn tell(engine: &Engine) {
    engine.in_force().iter().for_each(|in_force| eprint_message(format_args!("using {in_force}")));
    engine.take_notes().iter().for_each(eprint_message);
}

/// The same for many positions at once: `concurrency`, or as many as suit backend and limits.
pub(super) fn searcher(
    settings: &Settings,
    concurrency: Option<u32>,
    limits: &GoLimits,
) -> Result<Searcher, Failure> {
    let searches = |backend: &BackendInfo, threads: usize| match concurrency {
        Some(concurrency) => concurrency as usize,
        None => positions_at_once(limits, backend, threads),
    };
    let searcher = Searcher::open(settings.clone(), searches, usize::MAX)?;
    searcher.notes().iter().for_each(eprint_message);
    Ok(searcher)
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct SearchFigures {
    /// Visits.
    pub(super) nodes: u64,
    pub(super) nps: u64,
    pub(super) time_ms: f64,
    /// Visits evaluated by the network.
    pub(super) evaluations: u64,
    /// Visits evaluated from the cache.
    cache_hits: u64,
    /// Visits that ended at finished games, proven nodes and in endgame tables.
    terminals: u64,
    /// Visits given up at a leaf under evaluation, not counted as nodes.
    collisions: u64,
    /// Evaluations per batch.
    pub(super) mean_batch: f64,
    /// Memory of the final tree per visited node.
    bytes_per_node: f64,
    /// Time that search threads waited for a full device.
    waited_for_device_ms: f64,
    /// Time that they waited because the tree had nothing more to start.
    waited_for_tree_ms: f64,
    #[serde(skip)]
    device_busy_ms: Option<f64>,
    #[serde(skip)]
    batches: u64,
    #[serde(skip)]
    tree_bytes: u64,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl SearchFigures {
    fn add(&mut self, summary: &SearchSummary) {
        self.nodes += summary.new_nodes;
        self.time_ms += ms(summary.time);
        self.evaluations += summary.counts.evaluations;
        self.cache_hits += summary.counts.cache_hits;
        self.terminals += summary.counts.terminals;
        self.collisions += summary.counts.collisions;
        self.batches += summary.counts.batches;
        self.tree_bytes += summary.tree_bytes;
        self.waited_for_device_ms += ms(summary.counts.waited_for_device);
        self.waited_for_tree_ms += ms(summary.counts.waited_for_tree);
        if let Some(busy) = summary.device_busy {
            *self.device_busy_ms.get_or_insert_default() += ms(busy);
        }
        self.nps = self.per_second(self.nodes) as u64;
        self.mean_batch = self.evaluations as f64 / self.batches.max(1) as f64;
        self.bytes_per_node = self.tree_bytes as f64 / self.nodes.max(1) as f64;
    }

    pub(super) fn per_second(&self, count: u64) -> f64 {
        count as f64 / (self.time_ms / 1e3).max(1e-9)
    }

    /// What `threads` search threads waited for, `None` without a device.
    fn waits(&self, threads: usize) -> Option<String> {
        let [time, waited_for_device, waited_for_tree] =
            [self.time_ms, self.waited_for_device_ms, self.waited_for_tree_ms]
                .map(|ms| Duration::from_secs_f64(ms / 1e3));
        let waits = CounterValues { waited_for_device, waited_for_tree, ..CounterValues::default() };
        waits.waits(time, threads)
    }
}

/// Columns of [`PositionRow`] and their widths.
const HEADS: [(&str, usize); 9] = [
    ("move", 6),
    ("nodes", 10),
    ("nps", 10),
    ("time ms", 9),
    ("evals", 10),
    ("cached", 10),
    ("terminals", 10),
    ("collided", 10),
    ("batch", 8),
];
/// Narrower terminals get the first columns only.
const FEW_BELOW: usize = 120;
const FEW: usize = 4;
/// Column of the values of facts.
const FACT_INDENT: usize = 18;

/// Cuts the position at the terminal's width.
fn line_of(cells: &[String; HEADS.len()], position: &str, width: Option<usize>) -> String {
    let count = if width.is_some_and(|width| width < FEW_BELOW) { FEW } else { HEADS.len() };
    let mut line = format!("{:<width$}", cells[0], width = HEADS[0].1);
    for (cell, (_, width)) in cells.iter().zip(HEADS).take(count).skip(1) {
        line += &format!("{cell:>width$}");
    }
    line += "  ";
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(line.chars().count()));
    match position.char_indices().nth(room) {
        Some(_) => line.extend(position.chars().take(room - 1).chain(['…'])),
        None => line += position,
    }
    line + "\n"
}

fn head(width: Option<usize>) -> String {
    line_of(&HEADS.map(|(name, _)| name.to_owned()), "position", width)
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct PositionRow {
    pub(super) position: String,
    best_move: String,
    #[serde(flatten)]
    pub(super) figures: SearchFigures,
    /// From `go`, `None` if the search needed no evaluation.
    first_evaluation_ms: Option<f64>,
    /// Most visited first.
    visits: Vec<MoveVisits>,
}

#[derive(Clone, Debug, Serialize)]
struct MoveVisits {
    r#move: String,
    visits: u32,
}

pub(super) fn search(
    engine: &mut Engine,
    position: String,
    limits: &GoLimits,
) -> Result<(PositionRow, SearchSummary), Failure> {
    engine.new_game();
    engine.set_position(&position)?;
    let FinishedSearch { best, result, .. } = engine.search(limits.clone())?;
    let summary = result.summary;
    let text = |mv| engine.position().format_move(mv);
    let visited = summary.root_visits.iter().filter(|(_, visits)| *visits > 0);
    let mut visits: Vec<_> = visited.map(|&(mv, visits)| MoveVisits { r#move: text(mv), visits }).collect();
    visits.sort_by(|a, b| b.visits.cmp(&a.visits).then_with(|| a.r#move.cmp(&b.r#move)));
    let mut figures = SearchFigures::default();
    figures.add(&summary);
    let first_evaluation_ms = summary.first_evaluation.map(ms);
    Ok((PositionRow { position, best_move: text(best), figures, first_evaluation_ms, visits }, summary))
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct SpeedReport {
    pub(super) version: &'static str,
    #[serde(flatten)]
    pub(super) figures: SearchFigures,
    pub(super) evaluations_per_s: f64,
    /// Mean over the positions.
    first_evaluation_ms: Option<f64>,
    /// Until the run's very first evaluation, with what a device does only once.
    first_batch_ms: Option<f64>,
    /// All threads while searching, seconds, if the system measures it.
    cpu_s: Option<f64>,
    /// Share of the searches' time in which the device computed, if the backend measures it.
    pub(super) device_busy: Option<f64>,
    pub(super) backend: String,
    pub(super) description: String,
    /// SHA-256 of the network's file.
    pub(super) network: Option<String>,
    pub(super) threads: usize,
    pub(super) minibatch_size: usize,
    /// Batches that the device holds, or 0 if the cores evaluate.
    pub(super) queues: usize,
    /// As in "10000 ms".
    pub(super) limit: String,
    /// Options not at their defaults, as flags.
    options: Vec<String>,
    pub(super) positions: Vec<PositionRow>,
    /// FNV-1a over every root move with its visits.
    #[serde(skip)]
    pub(super) hash: u64,
}

/// Searches all positions and shows each result at once. `between` is called before every search.
pub(super) fn search_all(
    engine: &mut Engine,
    positions: Vec<String>,
    limits: &GoLimits,
    settings: &Settings,
    output: &mut Output,
    mut between: impl FnMut(),
) -> Result<SpeedReport, Failure> {
    let width = terminal_width();
    output.write_ahead(&head(width))?;
    let backend = engine.backend().cloned().ok_or_else(|| Failure::Input("no backend".into()))?;
    let (mut figures, mut rows, mut hash) = (SearchFigures::default(), Vec::new(), 0xcbf2_9ce4_8422_2325);
    let (mut wall, mut cpu, mut busy) = (Duration::ZERO, Some(Duration::ZERO), Some(Duration::ZERO));
    for position in positions {
        between();
        let before = (Instant::now(), cpu_time(), engine.busy_time());
        let (row, summary) = search(engine, position, limits)?;
        wall += before.0.elapsed();
        let add = |sum: &mut Option<Duration>, before: Option<Duration>, after: Option<Duration>| {
            *sum =
                sum.zip(before).zip(after).map(|((sum, before), after)| sum + after.saturating_sub(before));
        };
        add(&mut cpu, before.1, cpu_time());
        add(&mut busy, before.2, engine.busy_time());
        figures.add(&summary);
        for (mv, visits) in &summary.root_visits {
            for byte in mv.to_bits().to_le_bytes().into_iter().chain(visits.to_le_bytes()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        output.write_ahead(&row.line(width))?;
        rows.push(row);
    }
    let first: Vec<f64> = rows.iter().filter_map(|row| row.first_evaluation_ms).collect();
    let share = |busy: Duration| busy.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    Ok(SpeedReport {
        version: VERSION,
        evaluations_per_s: figures.per_second(figures.evaluations),
        first_evaluation_ms: (!first.is_empty()).then(|| first.iter().sum::<f64>() / first.len() as f64),
        first_batch_ms: first.first().copied(),
        cpu_s: cpu.map(|time| time.as_secs_f64()),
        device_busy: match figures.device_busy_ms {
            Some(busy) => Some(busy / figures.time_ms.max(1e-9)),
            None => busy.map(share),
        },
        description: backend.description_without_folder(),
        backend: backend.name,
        network: engine.network_sha256().map(str::to_owned),
        threads: engine.threads(),
        minibatch_size: engine.batch_size(),
        queues: backend.queues,
        limit: limit_text(limits),
        options: settings.changed().into_iter().map(option_text).collect(),
        figures,
        positions: rows,
        hash,
    })
}

/// Paths are reduced to their last part.
fn option_text((flag, value): (&str, String)) -> String {
    let name = value.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    format!("--{flag}={name}")
}

pub(super) fn limit_text(limits: &GoLimits) -> String {
    let nodes = limits.nodes.map(|nodes| format!("{nodes} nodes"));
    let time = limits.movetime.map(|ms| format!("{ms} ms"));
    nodes.into_iter().chain(time).collect::<Vec<_>>().join(" or ")
}

pub(super) type Facts = Vec<(&'static str, String)>;

impl SpeedReport {
    pub(super) fn facts(&self) -> Facts {
        let figures = &self.figures;
        let visits = (figures.evaluations + figures.cache_hits + figures.terminals).max(1) as f64;
        let share = |count: u64| format!("{count} ({:.1} %)", 100.0 * count as f64 / visits);
        let evaluations = format!("{}, {:.0} per second", share(figures.evaluations), self.evaluations_per_s);
        let cpu_time = |seconds: f64| {
            format!("{seconds:.2} s, {:.0} nodes per CPU second", figures.nodes as f64 / seconds.max(1e-9))
        };
        let after = |ms: f64| format!("after {ms:.2} ms");
        let facts = [
            ("nodes", Some(format!("{}, {} per second", figures.nodes, figures.nps))),
            ("evaluations", Some(evaluations)),
            ("cache hits", Some(share(figures.cache_hits))),
            ("terminals", Some(share(figures.terminals))),
            ("collisions", Some(format!("{} (no nodes)", figures.collisions))),
            ("mean batch", Some(format!("{:.1} positions", figures.mean_batch))),
            ("bytes per node", Some(format!("{:.1}", figures.bytes_per_node))),
            ("device busy", self.device_busy.map(|busy| format!("{:.1} %", busy * 100.0))),
            ("waited for", figures.waits(self.threads).map(|waits| waits.replace("waited for: ", ""))),
            ("first evaluation", self.first_evaluation_ms.map(after)),
            ("first batch", self.first_batch_ms.map(after)),
            ("CPU time", self.cpu_s.map(cpu_time)),
            ("backend", Some(format!("{}: {}", self.backend, self.description))),
            ("network SHA-256", self.network.clone()),
            ("threads", Some(self.threads.to_string())),
            ("limit", Some(format!("{} a position, {} positions", self.limit, self.positions.len()))),
            ("options", Some(self.options.join(" ")).filter(|options| !options.is_empty())),
            ("Zeitnot", Some(self.version.into())),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    pub(super) fn lines(&self) -> String {
        [head(None)].into_iter().chain(self.positions.iter().map(|row| row.line(None))).collect()
    }
}

pub(super) fn write_facts(f: &mut fmt::Formatter<'_>, facts: Facts) -> fmt::Result {
    facts.into_iter().try_for_each(|(name, value)| write_fact(f, name, FACT_INDENT, &value))
}

impl PositionRow {
    fn line(&self, width: Option<usize>) -> String {
        let figures = &self.figures;
        let cells = [
            self.best_move.clone(),
            figures.nodes.to_string(),
            figures.nps.to_string(),
            format!("{:.0}", figures.time_ms),
            figures.evaluations.to_string(),
            figures.cache_hits.to_string(),
            figures.terminals.to_string(),
            figures.collisions.to_string(),
            format!("{:.1}", figures.mean_batch),
        ];
        line_of(&cells, &self.position, width)
    }
}

/// Writes index.html and `data` as the file `json` into `folder`. The page names no folder, because it may be
/// passed on.
pub(super) fn write_report(
    folder: &Path,
    page: Page,
    json: &str,
    data: &impl Serialize,
) -> Result<PathBuf, Failure> {
    let origin = super::lab::run::origin(&[]).without_folders();
    let path = page.heading("How this was made").origin(&origin).write(folder)?;
    write_json(&folder.join(json), data)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::chess::{History, Variant};

    #[test]
    fn built_in_positions_are_positions() {
        for text in BENCH.into_iter().chain(BENCHMARK) {
            let history = History::from_uci_position(text, Variant::Standard).unwrap();
            assert!(!history.legal_moves().is_empty(), "{text}");
        }
    }
}
