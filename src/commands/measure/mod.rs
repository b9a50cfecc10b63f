//! For commands that measure speed: searches of positions ([`search_all`]), the machine's noise ([`noise`]),
//! and the page ([`write_report`]). For backends see [`zeitnot_engine::network::throughput`].

pub(super) mod noise;
pub(super) mod power;

use std::fmt;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use itertools::Itertools;
use serde::Serialize;

use super::engine_args::count;
use super::running::{self, is_interrupted};
use crate::output::{Facts, Output, eprint_message, unreadable, write_json};
use zeitnot_engine::VERSION;
use zeitnot_engine::chance::fnv1a;
use zeitnot_engine::chess::{History, PositionLines, Variant};
use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::files::{self, Lines};
use zeitnot_engine::network::BackendInfo;
use zeitnot_engine::search::{CounterValues, Figures};
use zeitnot_engine::serve::{Searcher, positions_at_once};
use zeitnot_engine::system::cpu_time;
use zeitnot_engine::time::{Bounds, Limit, Millis, Nodes};
use zeitnot_lab::report::{Origin, Page, cut, terminal_width, write_fact};
use zeitnot_lab::run::{Run, without_folder};

/// The positions of `bench`, …
pub(super) const BENCH: &str = include_str!("bench.txt");
/// … and those of `benchmark`.
pub(super) const BENCHMARK: &str = include_str!("benchmark.txt");

#[derive(Debug, Args)]
pub(crate) struct PositionArgs {
    /// Number of the positions to search
    #[arg(long, value_name = "N", value_parser = count())]
    num_positions: Option<usize>,
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
    pub(super) fn or(&self, default: &str) -> Result<Vec<String>> {
        let mut positions = match (&self.fen, &self.positions) {
            (Some(fen), _) => vec![format!("fen {fen}")],
            (None, Some(file)) => read(&file.display().to_string(), open_positions(file)?)?,
            (None, None) => read("the built-in positions", default.as_bytes())?,
        };
        positions.truncate(self.num_positions.unwrap_or(usize::MAX));
        Ok(positions)
    }

    pub(super) fn flags(&self) -> Facts {
        let file = self.positions.as_ref();
        let flags = [
            ("num-positions", self.num_positions.map(|count| count.to_string())),
            ("fen", self.fen.clone()),
            ("positions", file.map(|file| file.display().to_string())),
        ];
        given(flags)
    }
}

/// Those with a value.
fn given(facts: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Facts {
    let given = facts.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.collect()
}

/// `-` is standard input. Stderr names ignored parts of an archive.
pub(super) fn open_positions(file: &Path) -> Result<Box<dyn Read + Send>> {
    let opened = files::open_text(file, &[".epd", ".fen"]).map_err(|error| unreadable(file, &error))?;
    opened.notes.iter().for_each(eprint_message);
    Ok(opened.content)
}

fn read(name: &str, content: impl Read) -> Result<Vec<String>> {
    let mut positions = Vec::new();
    let mut reader = PositionLines::default();
    for line in Lines::new(BufReader::new(content)) {
        let (number, line) = line.map_err(|error| anyhow!("{name}: {error}"))?;
        let Some(listed) = reader.read(&line) else {
            continue;
        };
        let wrong = |error: &dyn fmt::Display| anyhow!("{name}, line {number}: {error}");
        let position = listed.map_err(|error| wrong(&error))?.uci_position();
        History::from_uci_position(&position, Variant::Standard).map_err(|error| wrong(&error))?;
        positions.push(position);
    }
    ensure!(!positions.is_empty(), "{name}: no position in it");
    Ok(positions)
}

#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
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
    pub(super) fn or(&self, default: Limit) -> Result<Limit> {
        let positive = |number: Option<i64>| number.filter(|&number| number > 0).map(i64::unsigned_abs);
        let nodes = positive(self.nodes).map(Nodes);
        let movetime = positive(self.movetime).map(|ms| Millis(ms as f64));
        let lifts_default =
            self.movetime.is_some() || self.nodes.is_some() && default.bounds().nodes.is_some();
        match (nodes, movetime) {
            (None, None) if lifts_default => {
                bail!("the searches need an end: give --nodes or --movetime above 0")
            }
            (None, None) => Ok(default),
            _ => Ok(Limit::Until(Bounds {
                nodes,
                movetime,
                ..Bounds::default()
            })),
        }
    }

    pub(super) fn is_default(&self) -> bool {
        self.nodes.is_none() && self.movetime.is_none()
    }
}

/// Without smart pruning and a GUI's overhead.
pub(super) fn engine(settings: &Settings) -> Result<Engine> {
    let mut engine = Engine::new(settings.clone().for_analysis())?;
    engine.prepare()?;
    Ok(engine)
}

pub(super) fn tell(engine: &Engine) {
    if let Some(in_force) = engine.in_force() {
        eprint_message(format_args!("using {in_force}"));
    }
    engine.take_notes().iter().for_each(eprint_message);
}

/// For many positions at once: `concurrency`, or as many as suit backend and limits.
pub(super) fn searcher(settings: &Settings, concurrency: Option<usize>, limit: Limit) -> Result<Searcher> {
    let searches = |backend: &BackendInfo, threads: usize| {
        concurrency.unwrap_or_else(|| positions_at_once(limit, backend, threads))
    };
    let searcher = Searcher::open(settings.clone(), searches)?;
    let told = searcher.setup.told(searcher.size.threads);
    told.iter().for_each(eprint_message);
    Ok(searcher)
}

#[derive(Clone, Default, Serialize)]
pub(super) struct SearchFigures {
    pub(super) nodes: u64,
    pub(super) nps: u64,
    pub(super) time_ms: f64,
    pub(super) evaluations: u64,
    cache_hits: u64,
    /// Visits that ended at finished games, proven nodes and in endgame tables.
    terminals: u64,
    /// Visits given up at a leaf under evaluation, not counted as nodes.
    collisions: u64,
    mean_batch: f64,
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
    fn add(&mut self, summary: &Figures) {
        self.nodes += summary.stats.new_nodes.0;
        self.time_ms += summary.stats.elapsed.0;
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

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / (self.time_ms / 1e3).max(1e-9)
    }

    /// What `threads` search threads waited for, `None` without a device.
    fn waits(&self, threads: usize) -> Option<String> {
        let waits = CounterValues {
            waited_for_device: Millis(self.waited_for_device_ms).to_duration()?,
            waited_for_tree: Millis(self.waited_for_tree_ms).to_duration()?,
            ..CounterValues::default()
        };
        waits.waits(Millis(self.time_ms), threads)
    }
}

/// Name, width and cells.
type Column = (&'static str, usize, fn(&PositionRow) -> String);

const COLUMNS: [Column; 9] = [
    ("move", 6, |row| row.best_move.clone()),
    ("nodes", 10, |row| row.figures.nodes.to_string()),
    ("nps", 10, |row| row.figures.nps.to_string()),
    ("time ms", 9, |row| format!("{:.0}", row.figures.time_ms)),
    ("evals", 10, |row| row.figures.evaluations.to_string()),
    ("cached", 10, |row| row.figures.cache_hits.to_string()),
    ("terminals", 10, |row| row.figures.terminals.to_string()),
    ("collided", 10, |row| row.figures.collisions.to_string()),
    ("batch", 8, |row| format!("{:.1}", row.figures.mean_batch)),
];
/// Narrower terminals get the first columns only.
const FEW_BELOW: usize = 120;
const FEW: usize = 4;
const FACT_INDENT: usize = 18;

/// Cuts the position at the terminal's width.
fn line_of(cell: impl Fn(&Column) -> String, position: &str, width: Option<usize>) -> String {
    let count = if width.is_some_and(|width| width < FEW_BELOW) {
        FEW
    } else {
        COLUMNS.len()
    };
    let mut line = String::new();
    for column in &COLUMNS[..count] {
        let width = column.1;
        let cell = cell(column);
        line += &if line.is_empty() {
            format!("{cell:<width$}")
        } else {
            format!("{cell:>width$}")
        };
    }
    line += "  ";
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(line.chars().count()));
    line + &cut(position, room) + "\n"
}

fn head(width: Option<usize>) -> String {
    line_of(|(name, ..)| (*name).to_owned(), "position", width)
}

#[derive(Serialize)]
pub(super) struct PositionRow {
    pub(super) position: String,
    best_move: String,
    #[serde(flatten)]
    pub(super) figures: SearchFigures,
    /// From `go`, `None` if the search needed no evaluation.
    first_evaluation_ms: Option<f64>,
    visits: Vec<MoveVisits>,
}

#[derive(Serialize)]
struct MoveVisits {
    r#move: String,
    visits: u32,
}

pub(super) fn search(engine: &mut Engine, position: String, limit: Limit) -> Result<(PositionRow, Figures)> {
    ensure!(!is_interrupted()?, "stopped by Ctrl-C");
    engine.new_game();
    engine.set_position(&position)?;
    let (best, outcome) = engine.search(limit)?;
    let summary = outcome.figures;
    let text = |mv| engine.position().format_move(mv);
    let visits = summary.visits().into_iter().map(|(mv, visits)| MoveVisits {
        r#move: text(mv),
        visits,
    });
    let mut figures = SearchFigures::default();
    figures.add(&summary);
    let row = PositionRow {
        position,
        best_move: text(best),
        figures,
        first_evaluation_ms: summary.counts.first_evaluation.map(ms),
        visits: visits.collect(),
    };
    Ok((row, summary))
}

#[derive(Serialize)]
pub(super) struct SpeedReport {
    pub(super) version: &'static str,
    #[serde(flatten)]
    pub(super) figures: SearchFigures,
    evaluations_per_s: f64,
    first_evaluation_ms: Option<f64>,
    /// Until the run's very first evaluation, with what a device does only once.
    first_batch_ms: Option<f64>,
    /// All threads while searching, seconds, if the system measures it.
    cpu_s: Option<f64>,
    /// Share of the time in which the device computed, if measured.
    device_busy: Option<f64>,
    pub(super) backend: String,
    pub(super) description: String,
    #[serde(skip)]
    pub(super) info: BackendInfo,
    pub(super) network: Option<String>,
    pub(super) threads: usize,
    pub(super) minibatch_size: usize,
    /// Batches that the device holds, or 0 if the cores evaluate.
    queues: usize,
    pub(super) limit: String,
    /// Options not at their defaults, as flags.
    options: Vec<String>,
    pub(super) positions: Vec<PositionRow>,
    /// What ended the measurement before the last position.
    #[serde(skip)]
    pub(super) failure: Option<String>,
    /// FNV-1a over every root move with its visits.
    #[serde(skip)]
    pub(super) hash: u64,
}

/// Shows each result at once, and calls `between` before every search. After Ctrl-C and a failure the report
/// has the positions until then. Figures of two backends are not added up.
pub(super) fn search_all(
    engine: &mut Engine,
    positions: Vec<String>,
    limit: Limit,
    settings: &Settings,
    output: &mut Output,
    mut between: impl FnMut(),
) -> Result<SpeedReport> {
    let width = terminal_width();
    output.write_ahead(&head(width))?;
    let backend = engine.backend().cloned().context("no backend")?;
    let mut figures = SearchFigures::default();
    let mut rows = Vec::new();
    let mut hashed = Vec::new();
    let mut wall = Duration::ZERO;
    let mut cpu = Some(Duration::ZERO);
    let mut busy = Some(Duration::ZERO);
    let mut failure = None;
    for position in positions {
        between();
        if is_interrupted()? && !rows.is_empty() {
            break;
        }
        let began = Instant::now();
        let cpu_before = cpu_time();
        let busy_before = engine.busy_time();
        let searched = search(engine, position, limit).and_then(|searched| {
            let description = &backend.description;
            let in_force = engine.backend_in_force();
            ensure!(
                in_force.is_some_and(|info| info.description == *description),
                "another backend has taken the place of {description}"
            );
            Ok(searched)
        });
        let (row, summary) = match searched {
            Ok(searched) => searched,
            Err(error) if rows.is_empty() => return Err(error),
            Err(error) => {
                failure = Some(format!("{error:#}"));
                break;
            }
        };
        wall += began.elapsed();
        let more = |sum: Option<Duration>, before: Option<Duration>, after: Option<Duration>| {
            Some(sum? + after?.saturating_sub(before?))
        };
        cpu = more(cpu, cpu_before, cpu_time());
        busy = more(busy, busy_before, engine.busy_time());
        figures.add(&summary);
        for (mv, visits) in &summary.visits_by_move {
            hashed.extend(mv.to_bits().to_le_bytes().into_iter().chain(visits.to_le_bytes()));
        }
        output.write_ahead(&row.line(width))?;
        rows.push(row);
    }
    let first: Vec<f64> = rows.iter().filter_map(|row| row.first_evaluation_ms).collect();
    let share = |busy: Duration| busy.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    let options = settings.changed().into_iter();
    let options = options.map(|(flag, value)| without_folder(&format!("--{flag}={value}")));
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
        backend: backend.name.clone(),
        network: engine.network_sha256().map(str::to_owned),
        threads: engine.threads(),
        minibatch_size: engine.batch_size(),
        queues: backend.queues,
        info: backend,
        limit: limit_text(limit),
        options: options.collect(),
        figures,
        positions: rows,
        failure,
        hash: fnv1a(hashed.into_iter().map(u64::from)),
    })
}

pub(super) fn limit_text(limit: Limit) -> String {
    let bounds = limit.bounds();
    let nodes = bounds.nodes.map(|nodes| format!("{nodes} nodes"));
    let time = bounds.movetime.map(|ms| format!("{ms} ms"));
    nodes.into_iter().chain(time).join(" or ")
}

impl SpeedReport {
    pub(super) fn facts(&self) -> Facts {
        let figures = &self.figures;
        let visits = (figures.evaluations + figures.cache_hits + figures.terminals).max(1) as f64;
        let share = |count: u64| format!("{count} ({:.1} %)", 100.0 * count as f64 / visits);
        let evaluations = format!(
            "{}, {:.0} per second",
            share(figures.evaluations),
            self.evaluations_per_s
        );
        let cpu_time = |seconds: f64| {
            format!(
                "{seconds:.2} s, {:.0} nodes per CPU second",
                figures.nodes as f64 / seconds.max(1e-9)
            )
        };
        let after = |ms: f64| format!("after {ms:.2} ms");
        let facts = [
            (
                "nodes",
                Some(format!("{}, {} per second", figures.nodes, figures.nps)),
            ),
            ("evaluations", Some(evaluations)),
            ("cache hits", Some(share(figures.cache_hits))),
            ("terminals", Some(share(figures.terminals))),
            ("collisions", Some(format!("{} (no nodes)", figures.collisions))),
            ("mean batch", Some(format!("{:.1} positions", figures.mean_batch))),
            ("bytes per node", Some(format!("{:.1}", figures.bytes_per_node))),
            (
                "device busy",
                self.device_busy.map(|busy| format!("{:.1} %", busy * 100.0)),
            ),
            ("waited for", figures.waits(self.threads)),
            ("first evaluation", self.first_evaluation_ms.map(after)),
            ("first batch", self.first_batch_ms.map(after)),
            ("CPU time", self.cpu_s.map(cpu_time)),
            ("backend", Some(format!("{}: {}", self.backend, self.description))),
            ("network SHA-256", self.network.clone()),
            ("threads", Some(self.threads.to_string())),
            (
                "limit",
                Some(format!(
                    "{} a position, {} positions",
                    self.limit,
                    self.positions.len()
                )),
            ),
            (
                "options",
                Some(self.options.join(" ")).filter(|options| !options.is_empty()),
            ),
            ("Zeitnot", Some(self.version.into())),
        ];
        given(facts)
    }

    pub(super) fn lines(&self) -> String {
        let rows = self.positions.iter().map(|row| row.line(None));
        [head(None)].into_iter().chain(rows).collect()
    }
}

pub(super) fn write_facts(f: &mut fmt::Formatter<'_>, facts: Facts) -> fmt::Result {
    for (name, value) in facts {
        write_fact(f, name, FACT_INDENT, &value)?;
    }
    Ok(())
}

impl PositionRow {
    fn line(&self, width: Option<usize>) -> String {
        line_of(|(.., cell)| cell(self), &self.position, width)
    }
}

/// Before anything is measured. `json` is the file for the data.
pub(super) fn claim(folder: Option<&Path>, json: &str) -> Result<Option<Run>> {
    let origin = Origin {
        run: json.into(),
        ..running::origin::<&str>(&[]).without_folders()
    };
    let claim = |folder| Run::claim(folder, origin, &[json, "index.html"]);
    Ok(folder.map(claim).transpose()?)
}

/// Writes nothing without a run. The page names no folder, because it may be passed on.
pub(super) fn write_report(
    run: Option<Run>,
    page: impl FnOnce() -> Page,
    data: &impl Serialize,
    output: &mut Output,
) -> Result<()> {
    let Some(run) = run else { return Ok(()) };
    write_json(&run.folder().join(&run.origin().run), data)?;
    output.tell_page(page().origins([run.origin()]).write(run.folder())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::chess::{History, Variant};

    #[test]
    fn built_in_positions_are_positions() {
        for (content, count) in [(BENCH, 10), (BENCHMARK, 34)] {
            let positions = read("", content.as_bytes()).unwrap();
            assert_eq!(positions.len(), count);
            for text in positions {
                let history = History::from_uci_position(&text, Variant::Standard).unwrap();
                assert!(!history.legal_moves().is_empty(), "{text}");
            }
        }
    }
}
