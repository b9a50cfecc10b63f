//! `zeitnot report` of benchmarks: many runs of machines, backends and releases side by side, with their
//! noise.
//!
//! It reads what `benchmark --json`, `benchmark --backends … --json`, `setup --auto --json` and their folders
//! hold. Runs that searched otherwise, with another network or to another limit, come into tables of their
//! own: their speeds do not compare.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Document;
use crate::tools::measure::machine::{MachineInfo, MachineNoise};
use crate::tools::{ExitStatus, Failure, Output};
use zeitnot_lab::report::{Align, Table};

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

    fn figures(&self) -> [String; 6] {
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        let optional = |value: Option<f64>, text: fn(f64) -> String| value.map_or(String::new(), text);
        [
            format!("{:.0}", self.nps),
            format!("{:.1}", 100.0 * self.noise.expected_difference),
            format!("{}{}", if self.is_close { "≈ " } else { "" }, percent(self.share)),
            format!("{:.0}", self.evaluations_per_s),
            optional(self.device_busy, |busy| format!("{:.0}", 100.0 * busy)),
            optional(self.sensors.nodes_per_joule, |rate| format!("{rate:.1}")),
        ]
    }
}

/// What a run may differ in from others, by name.
type Trait = (&'static str, Align, fn(&Run) -> String);

/// The traits, the most telling first. The file tells runs apart that are alike in all else.
const TRAITS: [Trait; 8] = [
    ("release", Align::Left, |run| run.version.clone()),
    ("machine", Align::Left, |run| run.machine.to_string()),
    ("backend", Align::Left, |run| run.backend.clone()),
    ("network, device", Align::Left, |run| run.description.clone()),
    ("threads", Align::Right, |run| run.threads.to_string()),
    ("batch", Align::Right, |run| run.minibatch_size.to_string()),
    ("options", Align::Left, |run| run.options.join(" ")),
    ("file", Align::Left, |run| run.file.clone()),
];

/// Returns the traits in which `runs` differ, and those that all have in common. One run differs by its file.
fn traits(runs: &[Run]) -> (Vec<Trait>, Vec<Trait>) {
    let differs = |of: &Trait| runs.iter().any(|run| of.2(run) != of.2(&runs[0]));
    let (mut different, mut common): (Vec<_>, Vec<_>) = TRAITS.into_iter().partition(differs);
    if different.is_empty() {
        different.extend(common.pop());
    }
    (different, common)
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

    /// The fastest run of those that compare most, and how certain it is.
    fn key_figure(&self) -> (String, String) {
        let groups = self.runs.chunk_by(|a, b| a.task() == b.task());
        let Some(group) = groups.max_by_key(|group| group.len()) else { return Default::default() };
        let (different, _) = traits(group);
        let name = |run: &Run| name(run, &different);
        let sentence = match group {
            [best, second, ..] if second.is_close => {
                format!(
                    "by {}. Undecided: {} is slower by no more than chance may do.",
                    name(best),
                    name(second)
                )
            }
            [best, second, ..] => format!(
                "by {}, the fastest. The next one, {}, has {:.0} % of that.",
                name(best),
                name(second),
                100.0 * second.share
            ),
            [best, ..] => format!("by {}.", name(best)),
            [] => String::new(),
        };
        (format!("{:.0} nodes per second", group[0].nps), sentence)
    }

    fn document(&self) -> Document {
        Document {
            title: "Benchmarks side by side",
            key_figure: self.key_figure(),
            paragraphs: self.paragraphs(),
            code: None,
            tables: self.tables(),
            figures: {
                let (different, _) = traits(&self.runs);
                let rows =
                    self.runs.iter().map(|run| (name(run, &different), run.nps, run.evaluations_per_s));
                let rows: Vec<_> = rows.collect();
                vec![super::speed_plot("Speed by run, in the order of the tables", &rows)]
            },
        }
    }
}

/// Names a run by what it differs in.
fn name(run: &Run, different: &[Trait]) -> String {
    let parts = different.iter().map(|(_, _, value)| value(run)).filter(|value| !value.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the table of runs that compare. Its first columns are what they differ in, its caption has what
/// they have in common.
fn table((_, limit, positions): &Task, runs: &[Run]) -> Table {
    let (different, common) = traits(runs);
    let figures =
        ["nps", "± %", "of best, %", "evals/s", "busy %", "nodes/J"].map(|name| (name, Align::Right));
    let columns: Vec<_> = different.iter().map(|&(name, align, _)| (name, align)).chain(figures).collect();
    let common =
        common.iter().map(|(name, _, value)| (name, value(&runs[0]))).filter(|(_, value)| !value.is_empty());
    let common: String = common.map(|(name, value)| format!("; {name}: {value}")).collect();
    let mut table = Table::new(format!("{positions} positions, {limit} each{common}"), &columns);
    for run in runs {
        table.row(different.iter().map(|(_, _, value)| value(run)).chain(run.figures()));
    }
    table
}

impl fmt::Display for SideBySide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables().iter().try_for_each(|table| writeln!(f, "{table}"))?;
        self.paragraphs().iter().try_for_each(|paragraph| writeln!(f, "{paragraph}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(version: &str, file: &str, nps: f64) -> Run {
        let run = serde_json::json!({
            "version": version, "nps": nps, "evaluations_per_s": nps, "mean_batch": 1.0, "device_busy": null, "backend": "native",
            "description": "t1.pb.gz, 64x6", "network": "0123456789abcdef", "threads": 2, "minibatch_size": 6, "limit": "100 ms",
            "options": [], "machine": MachineInfo::default(), "noise": MachineNoise::default(), "sensors": {"nodes_per_joule": null},
        });
        Run { file: file.into(), positions: 3, ..serde_json::from_value(run).unwrap() }
    }

    /// A regression: tables were named by a hash, and the release stood last.
    #[test]
    fn what_differs_stands_first_and_what_does_not_in_the_caption() {
        let report = SideBySide::new(vec![run("1.0", "a.json", 90.0), run("2.0", "b.json", 100.0)]);
        let text = report.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].contains("network, device: t1.pb.gz, 64x6; threads: 2"), "{text}");
        assert!(!text.contains("0123456789"), "{text}");
        assert!(lines[1].starts_with("release  file "), "{text}");
        assert!(lines[3].starts_with("2.0      b.json  100"), "{text}");
        assert_eq!(report.key_figure().0, "100 nodes per second");
        let single = SideBySide::new(vec![run("1.0", "a.json", 90.0)]).to_string();
        assert!(single.lines().nth(1).unwrap().starts_with("file "), "{single}");
    }
}
