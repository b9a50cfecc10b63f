//! `zeitnot benchmark`: measures the speed of the search over many positions, for comparisons.
//!
//! It searches as `bench` does, but more [`positions`] and each for longer. Beside the figures the report names the
//! [`machine`], says how quiet it was ([`noise`], measured between the searches) and what its [`sensors`] told. The most important
//! figures make a [`card`]. On demand it [`compare`]s the run with an earlier one, or [`several`] backends with each other.

mod card;
mod compare;
mod document;
pub(super) mod machine;
mod noise;
#[cfg(feature = "lab")]
mod page;
#[cfg(not(feature = "lab"))]
#[path = "no_page.rs"]
mod page;
mod positions;
mod report;
mod sensors;
mod several;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::bench::{BenchFigures, HEAD, PositionArgs, cpu_time, search};
use super::output::OutputFormat;
use super::{ExitStatus, Failure, Output, fixed_search};
use crate::engine::{Engine, Settings};
use crate::time::{GoLimits, Millis, Nodes};
use crate::version::VERSION;
use compare::{Comparison, EarlierRun};
use machine::MachineInfo;
use noise::NoiseMeter;
use positions::POSITIONS;
use report::{BenchmarkReport, PositionResult};
use sensors::SensorLog;
use several::SeveralArgs;

/// The time of each search unless the user says otherwise, ms. It is Lc0's.
const MOVE_TIME_MS: i64 = 10_000;
/// The smallest number of control measurements in a run; see [`noise`].
const CONTROLS: usize = 16;

#[derive(Debug, Args)]
pub(super) struct BenchmarkArgs {
    /// Visits per position [default: no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    nodes: Option<i64>,
    /// Time per position, ms; -1 is no limit [default: 10000, without --nodes]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    movetime: Option<i64>,
    #[command(flatten)]
    positions: PositionArgs,
    /// Compare with an earlier run's --json; exit code 1 if this one is slower
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
    /// With --compare: the slowdown that is still accepted, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, requires = "compare")]
    tolerance: f64,
    /// Write a report to share: Markdown, or HTML or JSON by the file's ending
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Folder for the report in all forms (report.md, index.html, speed.svg, benchmark.json)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the run's most important figures as JSON, to be put beside those of other machines
    #[arg(long, value_name = "FILE.json")]
    card: Option<PathBuf>,
    #[command(flatten)]
    several: SeveralArgs,
    #[command(flatten)]
    settings: Settings,
}

impl BenchmarkArgs {
    /// Returns what ends each search.
    fn limits(&self) -> Result<GoLimits, Failure> {
        let default = if self.nodes.is_some_and(|nodes| nodes > 0) { -1 } else { MOVE_TIME_MS };
        let movetime = self.movetime.unwrap_or(default);
        let limits = GoLimits {
            nodes: self.nodes.filter(|&nodes| nodes > 0).map(|nodes| Nodes(nodes.unsigned_abs())),
            movetime: (movetime > 0).then_some(Millis(movetime as f64)),
            ..GoLimits::default()
        };
        if limits.nodes.is_none() && limits.movetime.is_none() {
            return Err(Failure::Input(
                "the searches need an end: give --nodes or --movetime above 0".into(),
            ));
        }
        Ok(limits)
    }

    /// Returns the positions to search, as after UCI's `position`.
    fn read_positions(&self) -> Result<Vec<String>, Failure> {
        self.positions.read_or(|| POSITIONS.map(String::from).into())
    }
}

/// Runs the command: measures, writes the report, and answers whether the run is slower than an earlier one.
pub(super) fn run(args: &BenchmarkArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let (limits, positions) = (args.limits()?, args.read_positions()?);
    if args.several.is_asked_for() {
        return several::run(args, positions.len(), output);
    }
    let earlier = args.compare.as_deref().map(EarlierRun::read).transpose()?;
    earlier.iter().try_for_each(|earlier| earlier.check_positions(&positions))?;
    let start = Instant::now();
    let mut engine = fixed_search::engine(&args.settings)?;
    let ready = start.elapsed();
    let mut report = measure(&mut engine, positions, &limits, output)?;
    report.ready_s = ready.as_secs_f64();
    report.options = args.settings.changed().into_iter().map(option_text).collect();
    if let Some(earlier) = earlier {
        report.comparison = Some(Comparison::new(&report, &earlier, args.tolerance / 100.0));
    }
    write(args, &report, output)?;
    let is_slower = report.comparison.as_ref().is_some_and(|comparison| comparison.is_slower);
    Ok(if is_slower { ExitStatus::Negative } else { ExitStatus::Success })
}

/// Writes the report in all forms that `args` ask for.
fn write(args: &BenchmarkArgs, report: &BenchmarkReport, output: &mut Output) -> Result<(), Failure> {
    output.write(report, report)?;
    if let Some(file) = &args.report {
        report.write_file(file)?;
    }
    if let Some(folder) = &args.out {
        report.write_files(folder)?;
    }
    if let Some(file) = &args.card {
        report.write_card(file)?;
    }
    Ok(())
}

/// Searches all positions and measures the noise between them. Text output shows each position as soon as it is done.
fn measure(
    engine: &mut Engine,
    positions: Vec<String>,
    limits: &GoLimits,
    output: &mut Output,
) -> Result<BenchmarkReport, Failure> {
    let is_text = output.format() == OutputFormat::Text;
    if is_text {
        output.write(&(), &HEAD)?;
    }
    let controls = CONTROLS.div_ceil(positions.len() + 1);
    let mut meter = NoiseMeter::start(engine.threads());
    let mut sensors = SensorLog::start();
    let (mut total, mut rows, mut searching) = (BenchFigures::default(), Vec::new(), Searching::default());
    for position in positions {
        (0..controls).for_each(|_| meter.control());
        let before = Searching::so_far(engine);
        let (search, result) = search(engine, position, limits.clone())?;
        let after = Searching::so_far(engine);
        sensors.searched(before.wall, after.wall);
        searching.add(before, after);
        total.add(&result.summary);
        if is_text {
            output.write(&(), &search)?;
            output.flush()?;
        }
        let first = result.summary.first_evaluation;
        rows.push(PositionResult { search, first_evaluation_ms: first.map(|time| time.as_secs_f64() * 1e3) });
    }
    (0..controls).for_each(|_| meter.control());
    let seconds = total.time_ms / 1e3;
    let first: Vec<f64> = rows.iter().filter_map(|row| row.first_evaluation_ms).collect();
    let backend = engine.backend().cloned().ok_or_else(|| Failure::Input("no backend".into()))?;
    Ok(BenchmarkReport {
        version: VERSION,
        evaluations_per_s: total.evaluations as f64 / seconds.max(1e-9),
        ready_s: 0.0,
        first_batch_ms: first.first().copied(),
        minibatch_size: engine.batch_size(),
        sensors: sensors.finish(total.nodes),
        first_evaluation_ms: (!first.is_empty()).then(|| first.iter().sum::<f64>() / first.len() as f64),
        cpu_s: searching.cpu.map(|time| time.as_secs_f64()),
        device_busy: total.virtual_busy(&backend).or_else(|| {
            searching.busy.map(|busy| busy.as_secs_f64() / searching.wall.as_secs_f64().max(1e-9))
        }),
        figures: total,
        description: backend.description_without_folder(),
        backend: backend.name,
        network: engine.network_sha256().map(str::to_owned),
        threads: engine.threads(),
        limit: limit_text(limits),
        options: Vec::new(),
        machine: MachineInfo::this(),
        noise: meter.finish(),
        comparison: None,
        positions: rows,
    })
}

/// The time spent in searches: by the clock, by all threads, by the device.
#[derive(Default)]
struct Searching {
    wall: Duration,
    cpu: Option<Duration>,
    busy: Option<Duration>,
}

/// The readings of the clocks at one moment.
struct Clocks {
    wall: Instant,
    cpu: Option<Duration>,
    busy: Option<Duration>,
}

impl Searching {
    /// Reads the clocks.
    fn so_far(engine: &Engine) -> Clocks {
        Clocks { wall: Instant::now(), cpu: cpu_time(), busy: engine.busy_time() }
    }

    /// Adds the time from `before` to `after`.
    fn add(&mut self, before: Clocks, after: Clocks) {
        let add = |sum: &mut Option<Duration>, before: Option<Duration>, after: Option<Duration>| {
            let passed = before.zip(after).map(|(before, after)| after.saturating_sub(before));
            *sum = passed.map(|passed| sum.unwrap_or_default() + passed);
        };
        self.wall += after.wall - before.wall;
        add(&mut self.cpu, before.cpu, after.cpu);
        add(&mut self.busy, before.busy, after.busy);
    }
}

/// Returns an option as a flag; of a path its last part alone.
fn option_text((flag, value): (&str, String)) -> String {
    let name = value.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    format!("--{flag}={name}")
}

/// Returns what ended the searches, in words.
fn limit_text(limits: &GoLimits) -> String {
    let nodes = limits.nodes.map(|nodes| format!("{nodes} nodes"));
    let time = limits.movetime.map(|ms| format!("{ms} ms"));
    nodes.into_iter().chain(time).collect::<Vec<_>>().join(" or ")
}
