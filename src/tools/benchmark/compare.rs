//! Compares a run with an earlier one, position by position.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::noise::MachineNoise;
use super::report::BenchmarkReport;
use crate::network::without_folder;
use crate::tools::Failure;

/// The output of an earlier run with `--json`. The output of `zeitnot bench --json` can be read too.
#[derive(Debug, Deserialize)]
pub(super) struct EarlierRun {
    /// The file that was read.
    #[serde(skip)]
    file: PathBuf,
    description: String,
    threads: usize,
    positions: Vec<EarlierPosition>,
    #[serde(default)]
    network: Option<String>,
    #[serde(default)]
    limit: Option<String>,
    #[serde(default)]
    noise: Option<MachineNoise>,
}

#[derive(Debug, Deserialize)]
struct EarlierPosition {
    position: String,
    nodes: u64,
    evaluations: u64,
    time_ms: f64,
}

impl EarlierRun {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Failure`] if it cannot be read or is not such a file.
    pub(super) fn read(file: &Path) -> Result<EarlierRun, Failure> {
        let input_error = |error: String| Failure::Input(format!("{}: {error}", file.display()));
        let text =
            fs::read_to_string(file).map_err(|error| input_error(format!("cannot be read: {error}")))?;
        let run: EarlierRun = serde_json::from_str(&text)
            .map_err(|error| input_error(format!("not what `zeitnot benchmark --json` writes: {error}")))?;
        Ok(EarlierRun { file: file.into(), ..run })
    }

    /// Refuses a run that searched none of `positions`.
    ///
    /// # Errors
    /// [`Failure`] if no position is common to both.
    pub(super) fn check_positions(&self, positions: &[String]) -> Result<(), Failure> {
        if self.positions.iter().any(|old| positions.contains(&old.position)) {
            return Ok(());
        }
        let text = format!("{}: holds none of the positions that are to be searched", self.file.display());
        Err(Failure::Input(text))
    }
}

/// The new run against the old one. Ratios are above 1 where the new run is faster.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Comparison {
    /// The name of the earlier run's file.
    old: String,
    /// The number of positions that both runs searched.
    positions: usize,
    /// The ratio of the nodes per second, geometric mean over the positions.
    pub(super) nps_ratio: f64,
    /// The 95 % interval of that mean, from how the positions differ.
    low: f64,
    high: f64,
    /// The ratio of the evaluations per second, in which cache hits and finished games do not count.
    evaluations_ratio: Option<f64>,
    /// The ratio of the speeds of the machine itself, by the control measurement.
    machine_ratio: Option<f64>,
    /// Other differences between the runs, because of which the ratios do not compare like with like.
    differences: Vec<String>,
    /// True if the new run is slower by more than the tolerance, and not by chance.
    pub(super) is_slower: bool,
}

impl Comparison {
    /// Compares `new` with `old`, which have positions in common. A run that is slower by up to the share `tolerance` does not count
    /// as slower.
    pub(super) fn new(new: &BenchmarkReport, old: &EarlierRun, tolerance: f64) -> Comparison {
        let (mut nps, mut evaluations) = (Vec::new(), Vec::new());
        for row in &new.positions {
            let same = old.positions.iter().find(|old| old.position == row.search.position);
            let Some(same) = same else { continue };
            let figures = &row.search.figures;
            let rate = |count: u64, ms: f64| (count as f64 / ms.max(1e-9)).max(1e-12);
            nps.push((rate(figures.nodes, figures.time_ms) / rate(same.nodes, same.time_ms)).ln());
            if figures.evaluations > 0 && same.evaluations > 0 {
                let new_rate = rate(figures.evaluations, figures.time_ms);
                evaluations.push((new_rate / rate(same.evaluations, same.time_ms)).ln());
            }
        }
        let (mean, error) = mean_and_error(&nps);
        let (low, high) = ((mean - 1.96 * error).exp(), (mean + 1.96 * error).exp());
        let machine_ratio = old.noise.as_ref().filter(|noise| noise.control_rate > 0.0);
        Comparison {
            old: old.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            positions: nps.len(),
            nps_ratio: mean.exp(),
            low,
            high,
            evaluations_ratio: (!evaluations.is_empty()).then(|| mean_and_error(&evaluations).0.exp()),
            machine_ratio: machine_ratio.map(|noise| new.noise.control_rate / noise.control_rate),
            differences: differences(new, old),
            is_slower: mean.exp() < 1.0 - tolerance && high < 1.0,
        }
    }
}

/// Returns the mean of `values` and its standard error, which is 0 for a single one.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

/// Returns what differs between the two runs beside their speed.
fn differences(new: &BenchmarkReport, old: &EarlierRun) -> Vec<String> {
    let mut differences = Vec::new();
    // Earlier versions wrote the folder too.
    let old_description = without_folder(&old.description);
    if new.description != old_description {
        differences.push(format!("backend: {} (old: {old_description})", new.description));
    }
    if new.threads != old.threads {
        differences.push(format!("threads: {} (old: {})", new.threads, old.threads));
    }
    if let Some(limit) = old.limit.as_ref().filter(|limit| **limit != new.limit) {
        differences.push(format!("limit: {} (old: {limit})", new.limit));
    }
    if new.positions.len() != old.positions.len() {
        differences.push(format!("positions: {} (old: {})", new.positions.len(), old.positions.len()));
    }
    if old.network.is_some() && new.network != old.network {
        differences.push("the network is another one".into());
    }
    differences
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { positions, nps_ratio, low, high, .. } = self;
        let old = &self.old;
        let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        write!(f, "Against {old}, over {positions} positions: {} nodes/s ", change(*nps_ratio))?;
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
        if self.is_slower {
            writeln!(f, "Slower.")?;
        }
        Ok(())
    }
}
