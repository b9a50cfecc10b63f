//! `zeitnot benchmark`: measures the search's speed over many positions, for comparisons.
//!
//! It searches more positions than `bench`, each for longer, and can compare with an earlier run, or several
//! [`backends`] and settings, with [`advice`]. `setup --auto` compares a GPU with the CPU by it.

pub(super) mod advice;
pub(super) mod backends;
mod card;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::measure::noise::{MachineMonitor, MachineNoise, Others};
use super::measure::power::PowerReport;
use super::measure::{
    BENCHMARK, LimitArgs, PositionArgs, SpeedReport, claim, engine, search_all, tell, write_facts,
    write_report,
};
use crate::commands::engine_args::EngineArgs;
use crate::commands::running::Progress;
use crate::output::{ExitStatus, Facts, Output, eprint_message, read_json};
use crate::setup::Machine;
use backends::{BackendsArgs, Combination};
use zeitnot_engine::network::throughput::SortedSamples;
use zeitnot_engine::network::without_folder;
use zeitnot_engine::note::counted;
use zeitnot_engine::time::{Limit, Millis};
use zeitnot_lab::report::{Page, Table};

/// Default time of each search, as in Lc0.
const MOVE_TIME: Millis = Millis(10_000.0);

#[derive(Debug, Args)]
pub(crate) struct BenchmarkArgs {
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    positions: PositionArgs,
    /// Compare with an earlier run's --json. Exit code 1 if this one is slower
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
    /// With --compare: the slowdown that is still accepted, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, requires = "compare")]
    tolerance: f64,
    /// Folder for a report to share (index.html, benchmark.json)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    backends: BackendsArgs,
    /// The configuration file that was read, if there is one.
    #[arg(skip)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    settings: EngineArgs,
}

#[derive(Serialize)]
struct BenchmarkReport {
    #[serde(flatten)]
    speed: SpeedReport,
    /// Until network and backend are ready, with one-time builds, seconds.
    ready_s: f64,
    machine: Machine,
    noise: MachineNoise,
    sensors: PowerReport,
    comparison: Option<Comparison>,
    card: String,
}

fn warn_if_busy() {
    if let Some(others) = Others::now().filter(Others::are_busy) {
        eprint_message(format_args!(
            "the machine is busy: other programs use {others}. Close them for figures that count"
        ));
    }
}

/// Negative if the run is slower than an earlier one.
pub(super) fn run(args: &BenchmarkArgs, output: &mut Output) -> Result<ExitStatus> {
    let limit = args.limits.or(Limit::movetime(MOVE_TIME))?;
    let positions = args.positions.or(BENCHMARK)?;
    if args.backends.are_given() {
        return backends::run(args, positions.len(), output);
    }
    ensure!(
        !args.backends.write,
        "--write: name what is compared, by --backends, --thread-counts or --batches"
    );
    let earlier = match &args.compare {
        Some(file) => Some(EarlierRun::read(file, &positions)?),
        None => None,
    };
    let run = claim(args.out.as_deref(), "benchmark.json")?;
    warn_if_busy();
    let start = Instant::now();
    let mut engine = engine(&args.settings.0)?;
    let ready_s = start.elapsed().as_secs_f64();
    tell(&engine);
    let mut monitor = MachineMonitor::start(engine.threads(), positions.len());
    let mut progress = Progress::new("positions", Some(positions.len() as u64), 0).in_lines();
    let mut done = 0;
    let between = || {
        monitor.between_searches();
        progress.count(done);
        done += 1;
    };
    let speed = search_all(
        &mut engine,
        positions.clone(),
        limit,
        &args.settings.0,
        output,
        between,
    )?;
    let seconds = speed.figures.time_ms / 1e3;
    let (noise, sensors) = monitor.finish(speed.figures.nodes, seconds, &speed.info.nvidia_gpus);
    let machine = Machine::this();
    let card = card::of(&speed, &machine, &noise);
    let is_stopped = speed.positions.len() < positions.len();
    let tolerance = args.tolerance / 100.0;
    let report = BenchmarkReport {
        comparison: earlier.map(|earlier| Comparison::new(&speed, &noise, &earlier, tolerance)),
        speed,
        ready_s,
        machine,
        noise,
        sensors,
        card,
    };
    output.report(&report)?;
    write_report(run, || report.page(), &report, output)?;
    if let Some(failure) = &report.speed.failure {
        bail!("{failure}. These are the positions until then");
    }
    if is_stopped {
        eprint_message("stopped; these are the positions until then");
        return Ok(ExitStatus::Stopped);
    }
    let comparison = report.comparison.as_ref();
    Ok(ExitStatus::of(
        comparison.is_none_or(|comparison| !comparison.is_slower),
    ))
}

impl BenchmarkReport {
    fn facts(&self) -> Facts {
        let mut facts = self.speed.facts();
        facts.push(("ready", format!("after {:.2} s", self.ready_s)));
        facts.extend(self.machine.facts());
        facts.extend(self.sensors.facts());
        facts
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.noise.verdict();
        if let Some(comparison) = &self.comparison {
            remarks.push(comparison.to_string().trim().into());
        }
        remarks
    }

    fn page(&self) -> Page {
        let sentence = format!(
            "on {}, by {}, with {}.",
            self.machine,
            counted(self.speed.threads, "thread"),
            self.speed.description
        );
        let nps = format!("{} nodes per second", self.speed.figures.nps);
        let mut page = Page::new("Zeitnot benchmark").key_figure(&nps, &sentence);
        for remark in self.remarks() {
            page = page.paragraph(&remark);
        }
        let facts = Table::of("The run", self.facts())
            .words("what", |(name, _)| *name)
            .words("value", |(_, value)| value.clone())
            .table();
        let lines = format!("{}\n\n{}", self.card, self.speed.lines());
        page.table(&facts).code(&lines)
    }
}

impl fmt::Display for BenchmarkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        write_facts(f, self.facts())?;
        writeln!(f)?;
        let figures = &self.speed.figures;
        writeln!(f, "{} nodes {} nps", figures.nodes, figures.nps)?;
        for remark in self.remarks() {
            writeln!(f, "{remark}")?;
        }
        writeln!(f, "{}", self.card)
    }
}

/// What `zeitnot benchmark --json` or `zeitnot bench --json` wrote.
#[derive(Deserialize)]
struct EarlierRun {
    #[serde(skip)]
    file: PathBuf,
    description: String,
    threads: usize,
    positions: Vec<EarlierPosition>,
    network: Option<String>,
    limit: Option<String>,
    noise: Option<MachineNoise>,
}

#[derive(Deserialize)]
struct EarlierPosition {
    position: String,
    nodes: u64,
    evaluations: u64,
    time_ms: f64,
}

impl EarlierRun {
    fn read(file: &Path, positions: &[String]) -> Result<EarlierRun> {
        let run: EarlierRun = read_json(file, "not what `zeitnot benchmark --json` writes")?;
        let has_any = run.positions.iter().any(|old| positions.contains(&old.position));
        ensure!(
            has_any,
            "{}: holds none of the positions that are to be searched",
            file.display()
        );
        Ok(EarlierRun {
            file: file.into(),
            ..run
        })
    }
}

/// Position by position. Ratios above 1 mean that the new run is faster.
#[derive(Serialize)]
struct Comparison {
    old: String,
    positions: usize,
    nps_ratio: f64,
    /// 95 % interval of that mean, from the scatter of positions.
    low: f64,
    high: f64,
    evaluations_ratio: Option<f64>,
    machine_ratio: Option<f64>,
    /// Other differences that make the ratios unfair.
    differences: Vec<String>,
    /// Slower by more than the tolerance, and not by chance.
    is_slower: bool,
}

impl Comparison {
    /// The runs have positions in common.
    fn new(new: &SpeedReport, noise: &MachineNoise, old: &EarlierRun, tolerance: f64) -> Comparison {
        let mut nps = Vec::new();
        let mut evaluations = Vec::new();
        let rate = |count: u64, ms: f64| (count as f64 / ms.max(1e-9)).max(1e-12);
        for row in &new.positions {
            let same = old.positions.iter().find(|old| old.position == row.position);
            let Some(same) = same else { continue };
            let ratio = |new: u64, old: u64| (rate(new, row.figures.time_ms) / rate(old, same.time_ms)).ln();
            nps.push(ratio(row.figures.nodes, same.nodes));
            if row.figures.evaluations > 0 && same.evaluations > 0 {
                evaluations.push(ratio(row.figures.evaluations, same.evaluations));
            }
        }
        let ratios = SortedSamples::of(&nps);
        let mean = ratios.mean();
        let error = ratios.error();
        let high = (mean + 1.96 * error).exp();
        let file = old.file.file_name().unwrap_or_default();
        let machine = old.noise.as_ref().filter(|noise| noise.control_rate > 0.0);
        let has_evaluations = !evaluations.is_empty();
        Comparison {
            old: file.to_string_lossy().into_owned(),
            positions: nps.len(),
            nps_ratio: mean.exp(),
            low: (mean - 1.96 * error).exp(),
            high,
            evaluations_ratio: has_evaluations.then(|| SortedSamples::of(&evaluations).mean().exp()),
            machine_ratio: machine.map(|old| noise.control_rate / old.control_rate),
            differences: differences(new, old),
            is_slower: mean.exp() < 1.0 - tolerance && high < 1.0,
        }
    }
}

fn differences(new: &SpeedReport, old: &EarlierRun) -> Vec<String> {
    let limit = old.limit.as_ref().unwrap_or(&new.limit);
    let mut differences = Vec::new();
    for (name, new, old) in [
        // Earlier versions wrote the folder too.
        (
            "backend",
            new.description.clone(),
            without_folder(&old.description),
        ),
        ("threads", new.threads.to_string(), old.threads.to_string()),
        ("limit", new.limit.clone(), limit.clone()),
        (
            "positions",
            new.positions.len().to_string(),
            old.positions.len().to_string(),
        ),
    ] {
        if new != old {
            differences.push(format!("{name}: {new} (old: {old})"));
        }
    }
    if old.network.is_some() && new.network != old.network {
        differences.push("the network is another one".into());
    }
    differences
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison {
            old,
            positions,
            nps_ratio,
            low,
            high,
            ..
        } = self;
        let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        write!(
            f,
            "Against {old}, over {positions} positions: {} nodes/s ",
            change(*nps_ratio)
        )?;
        write!(f, "(95 %: {} to {})", change(*low), change(*high))?;
        if let Some(ratio) = self.evaluations_ratio {
            write!(f, ", {} evaluations/s", change(ratio))?;
        }
        writeln!(f, ".")?;
        if let Some(ratio) = self.machine_ratio {
            writeln!(f, "The machine itself, by the control: {}.", change(ratio))?;
        }
        for difference in &self.differences {
            writeln!(f, "Not the same: {difference}.")?;
        }
        f.write_str(if self.is_slower { "Slower.\n" } else { "" })
    }
}
