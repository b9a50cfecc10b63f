//! `zeitnot report` of benchmarks: many runs of machines, backends and releases side by side, with their noise.
//!
//! It reads what `benchmark --json`, `benchmark --backends … --json`, `setup --auto --json` and their folders hold. Runs that searched
//! otherwise, with another network or to another limit, come into tables of their own: their speeds do not compare.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Document, threads_text};
use crate::report::{Align, Table};
use crate::tools::measure::machine::{MachineInfo, MachineNoise};
use crate::tools::{ExitStatus, Failure, Output};

/// The file that the report writes beside its pages.
pub(in crate::tools) const JSON_FILE: &str = "benchmarks.json";

/// The figures of a run that are compared.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Run {
    /// The file that it was read from.
    #[serde(skip_deserializing)]
    file: String,
    version: String,
    nps: f64,
    evaluations_per_s: f64,
    mean_batch: f64,
    device_busy: Option<f64>,
    backend: String,
    description: String,
    network: Option<String>,
    threads: usize,
    minibatch_size: usize,
    limit: String,
    #[serde(default, rename(deserialize = "positions"), skip_serializing)]
    searches: Vec<Value>,
    #[serde(skip_deserializing)]
    positions: usize,
    options: Vec<String>,
    machine: MachineInfo,
    noise: MachineNoise,
    sensors: Sensors,
    /// The share of the fastest run's nodes per second, among those that searched alike.
    #[serde(skip_deserializing)]
    share: f64,
    /// Whether the next faster run differs by no more than noise.
    #[serde(skip_deserializing)]
    is_close: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Sensors {
    nodes_per_joule: Option<f64>,
}

/// Network, limit and number of positions: what runs have in common that compare.
type Task = (String, String, usize);

#[derive(Debug, Serialize)]
struct SideBySide {
    runs: Vec<Run>,
}

/// Reports on `files` together.
pub(in crate::tools) fn report(
    files: &[PathBuf],
    out: Option<&Path>,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let mut runs = Vec::new();
    for file in files {
        runs.extend(read(file)?);
    }
    let report = SideBySide::new(runs);
    output.write(&report, &report)?;
    if let Some(folder) = out {
        report.document().write(folder, JSON_FILE, &report)?;
    }
    Ok(ExitStatus::Success)
}

fn read(file: &Path) -> Result<Vec<Run>, Failure> {
    let refuse = |reason: String| Failure::Input(format!("{}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let document: Value = serde_json::from_str(&text).map_err(|error| refuse(format!("no JSON: {error}")))?;
    let several = document.get("benchmark").unwrap_or(&document).get("runs").and_then(Value::as_array);
    // One that failed has nothing to compare.
    let reports =
        several.map(|runs| runs.iter().filter_map(|run| run.get("report")).filter(|run| !run.is_null()));
    let documents: Vec<&Value> = reports.map_or(vec![&document], Iterator::collect);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let run = |document: &Value| {
        let run: Run = serde_json::from_value(document.clone())
            .map_err(|error| refuse(format!("not what `zeitnot benchmark --json` writes: {error}")))?;
        Ok(Run {
            file: name.clone().into_owned(),
            positions: run.searches.len(),
            searches: Vec::new(),
            ..run
        })
    };
    let runs = documents.into_iter().map(run).collect::<Result<Vec<_>, Failure>>()?;
    if runs.is_empty() { Err(refuse("no run in it was measured".into())) } else { Ok(runs) }
}

impl Run {
    fn task(&self) -> Task {
        (self.network.clone().unwrap_or_default(), self.limit.clone(), self.positions)
    }

    fn cells(&self) -> [String; 12] {
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        let optional = |value: Option<f64>, text: fn(f64) -> String| value.map_or(String::new(), text);
        [
            self.machine.to_string(),
            self.backend.clone(),
            self.description.clone(),
            self.threads.to_string(),
            self.minibatch_size.to_string(),
            format!("{:.0}", self.nps),
            format!("{:.1}", 100.0 * self.noise.expected_difference),
            format!("{}{}", if self.is_close { "≈ " } else { "" }, percent(self.share)),
            format!("{:.0}", self.evaluations_per_s),
            optional(self.device_busy, |busy| format!("{:.0}", 100.0 * busy)),
            optional(self.sensors.nodes_per_joule, |rate| format!("{rate:.1}")),
            format!("{}, {}", self.version, self.file),
        ]
    }
}

impl SideBySide {
    /// Puts runs that searched alike together, the fastest first.
    fn new(runs: Vec<Run>) -> SideBySide {
        let mut groups: BTreeMap<Task, Vec<Run>> = BTreeMap::new();
        for run in runs {
            groups.entry(run.task()).or_default().push(run);
        }
        for group in groups.values_mut() {
            group.sort_by(|a, b| b.nps.total_cmp(&a.nps));
            let fastest = group.first().map_or(0.0, |run| run.nps).max(1e-9);
            let mut before: Option<(f64, f64)> = None;
            for run in group {
                run.share = run.nps / fastest;
                let noise = run.noise.expected_difference;
                run.is_close =
                    before.is_some_and(|(nps, other)| 1.0 - run.nps / nps.max(1e-9) <= noise.max(other));
                before = Some((run.nps, noise));
            }
        }
        SideBySide { runs: groups.into_values().flatten().collect() }
    }

    fn tables(&self) -> Vec<Table> {
        let groups = self.runs.chunk_by(|a, b| a.task() == b.task());
        groups.map(|group| table(&group[0].task(), group)).collect()
    }

    fn paragraphs(&self) -> Vec<String> {
        let mut machines: Vec<_> = self.runs.iter().map(|run| run.machine.to_string()).collect();
        machines.sort();
        machines.dedup();
        let count =
            |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        let runs = count(self.runs.len(), "run");
        vec![
            format!("{runs} on {}, the fastest first.", count(machines.len(), "machine")),
            "A run marked ≈ is slower than the one above by no more than two equal runs may differ by chance.".into(),
        ]
    }

    fn document(&self) -> Document {
        Document {
            title: "Benchmarks side by side",
            paragraphs: self.paragraphs(),
            code: None,
            tables: self.tables(),
            figures: {
                let row = |(number, run): (u32, &Run)| {
                    let name = format!("{number}: {}, {}", run.backend, threads_text(run.threads));
                    (name, run.nps, run.evaluations_per_s)
                };
                let rows: Vec<_> = (1..).zip(&self.runs).map(row).collect();
                vec![super::speed_plot("Speed by run, in the order of the tables", &rows)]
            },
        }
    }
}

fn table((network, limit, positions): &Task, runs: &[Run]) -> Table {
    let right = |name| (name, Align::Right);
    let columns = [
        ("machine", Align::Left),
        ("backend", Align::Left),
        ("network, device", Align::Left),
        right("threads"),
        right("batch"),
        right("nps"),
        right("± %"),
        right("of best, %"),
        right("evals/s"),
        right("busy %"),
        right("nodes/J"),
        ("release, file", Align::Left),
    ];
    let network = if network.is_empty() { "no network" } else { &network[..network.len().min(12)] };
    let mut table = Table::new(format!("{network}, {positions} positions, {limit} each"), &columns);
    for run in runs {
        table.row(run.cells());
    }
    table
}

impl fmt::Display for SideBySide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables().iter().try_for_each(|table| writeln!(f, "{table}"))?;
        self.paragraphs().iter().try_for_each(|paragraph| writeln!(f, "{paragraph}"))
    }
}
