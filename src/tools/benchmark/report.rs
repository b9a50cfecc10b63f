//! Writes the report of a benchmark: JSON, text, Markdown, and a page.

use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::card::Card;
use super::compare::Comparison;
use super::document::{Document, SpeedBars};
use super::machine::MachineInfo;
use super::noise::MachineNoise;
use super::page;
use super::sensors::SensorReport;
use crate::report::{Align, Table};
use crate::tools::Failure;
use crate::tools::bench::{BenchFigures, BenchRow};
use crate::tools::output::pretty_json;

/// The search of one position.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PositionResult {
    #[serde(flatten)]
    pub(super) search: BenchRow,
    /// The time from `go` to the first evaluation, ms; `None` if the search needed none.
    pub(super) first_evaluation_ms: Option<f64>,
}

/// Everything that was measured, and the machine on which it was.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BenchmarkReport {
    pub(super) version: &'static str,
    #[serde(flatten)]
    pub(super) figures: BenchFigures,
    /// The number of positions that the network evaluated per second.
    pub(super) evaluations_per_s: f64,
    /// The mean over the positions, ms.
    pub(super) first_evaluation_ms: Option<f64>,
    /// The time until the network was read and the backend ready, seconds: with what it builds or compiles once.
    pub(super) ready_s: f64,
    /// The time until the run's very first evaluation, ms: with what a device does only at its first batch.
    pub(super) first_batch_ms: Option<f64>,
    /// The CPU time of all threads while searching, seconds; not known on every system.
    pub(super) cpu_s: Option<f64>,
    /// The share of the searches' time in which the device computed; not known for every backend.
    pub(super) device_busy: Option<f64>,
    pub(super) backend: String,
    pub(super) description: String,
    /// The SHA-256 of the network's file; `None` for backends without one.
    pub(super) network: Option<String>,
    pub(super) threads: usize,
    /// The batch size in force.
    pub(super) minibatch_size: usize,
    /// The limit that ended the searches, as in "10000 ms".
    pub(super) limit: String,
    /// The options that were not at their defaults, as flags.
    pub(super) options: Vec<String>,
    pub(super) machine: MachineInfo,
    pub(super) noise: MachineNoise,
    pub(super) sensors: SensorReport,
    pub(super) comparison: Option<Comparison>,
    pub(super) positions: Vec<PositionResult>,
}

impl BenchmarkReport {
    /// Returns the names and values of the facts about the run.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let MachineInfo { cpu, cores, memory_gb, system, gpus } = &self.machine;
        let figures = &self.figures;
        let visits = (figures.evaluations + figures.cache_hits + figures.terminals).max(1) as f64;
        let share = |count: u64| format!("{count} ({:.1} %)", 100.0 * count as f64 / visits);
        let memory = memory_gb.map(|gb| format!(", {gb} GB")).unwrap_or_default();
        let mut facts = vec![
            ("nodes", format!("{}, {} per second", figures.nodes, figures.nps)),
            (
                "evaluations",
                format!("{}, {:.0} per second", share(figures.evaluations), self.evaluations_per_s),
            ),
            ("cache hits", share(figures.cache_hits)),
            ("terminals", share(figures.terminals)),
            ("collisions", format!("{} (no nodes)", figures.collisions)),
            ("mean batch", format!("{:.1} positions", figures.mean_batch)),
        ];
        let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
        add("device busy", self.device_busy.map(|busy| format!("{:.1} %", busy * 100.0)));
        add("waited for", figures.waits(self.threads).map(|waits| waits.replace("waited for: ", "")));
        add("first evaluation", self.first_evaluation_ms.map(|ms| format!("after {ms:.2} ms")));
        add("ready", Some(format!("after {:.2} s", self.ready_s)));
        add("first batch", self.first_batch_ms.map(|ms| format!("after {ms:.2} ms")));
        add("CPU time", self.cpu_s.map(|seconds| format!("{seconds:.2} s")));
        add("backend", Some(format!("{}: {}", self.backend, self.description)));
        add("network SHA-256", self.network.clone());
        add("threads", Some(self.threads.to_string()));
        add("limit", Some(format!("{} a position, {} positions", self.limit, self.positions.len())));
        add("options", (!self.options.is_empty()).then(|| self.options.join(" ")));
        add("processor", Some(format!("{cpu}, {cores} cores{memory}")));
        add("graphics", (!gpus.is_empty()).then(|| gpus.join("; ")));
        add("system", Some(system.clone()));
        add("Zeitnot", Some(self.version.into()));
        facts.extend(self.sensors.facts());
        facts
    }

    /// Returns sentences about the noise of the run and the comparison with an earlier one.
    fn remarks(&self) -> Vec<String> {
        let comparison = self.comparison.as_ref().map(|comparison| comparison.to_string().trim().to_owned());
        [self.noise.verdict()].into_iter().chain(comparison).collect()
    }

    /// Returns the facts about the run as a table.
    fn fact_table(&self) -> Table {
        let mut table = Table::new("The run", &[("what", Align::Left), ("value", Align::Left)]);
        for (name, value) in self.facts() {
            table.row([name.into(), value]);
        }
        table
    }

    /// Returns the searches as a table, one row per position.
    fn position_table(&self) -> Table {
        let right = |name| (name, Align::Right);
        let columns = [
            right("#"),
            ("move", Align::Left),
            right("nodes"),
            right("nodes/s"),
            right("evaluations"),
            right("cached"),
            right("terminals"),
            right("collisions"),
            right("batch"),
            right("first ms"),
            ("position", Align::Left),
        ];
        let mut table = Table::new("The positions", &columns);
        for (index, row) in self.positions.iter().enumerate() {
            let BenchRow { position, best_move, figures, .. } = &row.search;
            table.row([
                (index + 1).to_string(),
                best_move.clone(),
                figures.nodes.to_string(),
                figures.nps.to_string(),
                figures.evaluations.to_string(),
                figures.cache_hits.to_string(),
                figures.terminals.to_string(),
                figures.collisions.to_string(),
                format!("{:.1}", figures.mean_batch),
                row.first_evaluation_ms.map(|ms| format!("{ms:.2}")).unwrap_or_default(),
                position.clone(),
            ]);
        }
        table
    }

    /// Returns what Markdown and the page say.
    fn document(&self) -> Document {
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        let headline = format!(
            "{} nodes per second on {}, by {threads}, with {}.",
            self.figures.nps, self.machine, self.description
        );
        let rate = |count: u64, figures: &BenchFigures| count as f64 / (figures.time_ms / 1e3).max(1e-9);
        let figures = || self.positions.iter().map(|row| &row.search.figures);
        Document {
            title: "Zeitnot benchmark",
            paragraphs: [headline].into_iter().chain(self.remarks()).collect(),
            card: Some(Card::of(self).to_string()),
            tables: vec![self.fact_table(), self.position_table()],
            speeds: SpeedBars {
                title: "Speed by position",
                names: (1..=self.positions.len()).map(|number| number.to_string()).collect(),
                nodes: figures().map(|found| rate(found.nodes, found)).collect(),
                evaluations: figures().map(|found| rate(found.evaluations, found)).collect(),
            },
        }
    }

    /// Writes the report into one file: HTML if it is named so, JSON likewise, else Markdown.
    pub(super) fn write_file(&self, file: &Path) -> Result<(), Failure> {
        let ending = file.extension().map(|ending| ending.to_ascii_lowercase());
        let text = match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("html" | "htm") => page::html(&self.document())?,
            Some("json") => pretty_json(self)?,
            _ => self.document().to_markdown(),
        };
        write_text(file, &text)
    }

    /// Writes the card as JSON.
    pub(super) fn write_card(&self, file: &Path) -> Result<(), Failure> {
        write_text(file, &pretty_json(&Card::of(self))?)
    }

    /// Writes `benchmark.json`, `card.json`, `report.md` and, in a build with the laboratory, `speed.svg` and `index.html` into `folder`, which
    /// is made if need be.
    pub(super) fn write_files(&self, folder: &Path) -> Result<(), Failure> {
        fs::create_dir_all(folder)?;
        self.document().write(folder)?;
        self.write_card(&folder.join("card.json"))?;
        fs::write(folder.join("benchmark.json"), pretty_json(self)?)?;
        Ok(())
    }
}

/// Writes a file that the user has named.
fn write_text(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text)
        .map_err(|error| Failure::Input(format!("{}: cannot be written: {error}", file.display())))
}

impl fmt::Display for BenchmarkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('\n')?;
        for (name, value) in self.facts() {
            writeln!(f, "{name:<17} {value}")?;
        }
        f.write_char('\n')?;
        for remark in self.remarks() {
            writeln!(f, "{remark}")?;
        }
        writeln!(f, "{}", Card::of(self))?;
        writeln!(f, "{} nodes {} nps", self.figures.nodes, self.figures.nps)
    }
}
