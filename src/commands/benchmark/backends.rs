//! Compares backends, numbers of threads and batch sizes in one report: `zeitnot benchmark --backends a,b,c`,
//! `--thread-counts` and `--batches`.
//!
//! Each run is a child process: a crash or hang becomes a row, and each can load its own ONNX Runtime.

use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;
use serde_json::Value;

use super::BenchmarkArgs;
use super::advice::{Advice, Measured, Sample};
use crate::commands::child_process;
use crate::commands::doctor::{Candidate, Verdict};
use crate::commands::engine_args::count;
use crate::commands::measure::{claim, write_report};
use crate::commands::running::{is_interrupted, quoted};
use crate::config_file::WritableConfig;
use crate::output::{ExitStatus, Output, eprint_message};
use crate::setup::Machine;
use zeitnot_engine::VERSION;
use zeitnot_engine::params::Params;
use zeitnot_lab::report::{Page, Plot, Table};

const MOVE_TIME_MS: i64 = 1000;
/// For builds before a run, beside three times its searches.
const TIME_TO_BUILD: Duration = Duration::from_secs(900);
/// For a run limited by nodes.
const TIME_BY_NODES: Duration = Duration::from_secs(4 * 3600);

#[derive(Debug, Default, Args)]
pub(crate) struct BackendsArgs {
    /// Compare these backends in one report, each in a process of its own. A precision stands with its
    /// backend, as in `native,webgpu,webgpu(precision=fp32)`. 1 s a position unless --movetime or --nodes
    /// says otherwise
    #[arg(long, value_name = "A,B,…", conflicts_with_all = ["compare", "backend"])]
    backends: Option<String>,
    /// Compare these numbers of threads, each with all backends. Without --backends beside the settings in
    /// force
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "compare",
          value_parser = count().range(..=256))]
    thread_counts: Vec<usize>,
    /// Compare these batch sizes, each with all backends and numbers of threads. Without --backends beside
    /// the settings in force
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "compare",
          value_parser = RangedU64ValueParser::<usize>::new().range(..=65536))]
    batches: Vec<usize>,
    /// Recommend nothing after a comparison of settings
    #[arg(long)]
    no_advice: bool,
    /// Put the settings that a comparison recommends into zeitnot.config, which engine and commands read
    #[arg(long, conflicts_with = "no_advice")]
    pub(super) write: bool,
}

/// One run's settings. `None` is the engine's choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Combination {
    pub(crate) backend: String,
    pub(super) threads: Option<usize>,
    pub(super) batch: Option<usize>,
}

#[derive(Serialize)]
struct Run {
    #[serde(flatten)]
    combination: Combination,
    error: Option<String>,
    /// The output of `zeitnot benchmark --json`.
    report: Option<Value>,
}

/// The first backend is the one in force.
#[derive(Serialize)]
pub(crate) struct BackendsReport {
    version: &'static str,
    machine: Machine,
    runs: Vec<Run>,
    /// Absent with --no-advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<Advice>,
}

/// Exit code 1 if one could not be measured.
pub(super) fn run(args: &BenchmarkArgs, positions: usize, output: &mut Output) -> Result<ExitStatus> {
    let movetime = args
        .limits
        .movetime
        .or_else(|| args.limits.nodes.is_none().then_some(MOVE_TIME_MS));
    let patience = match movetime.filter(|&ms| ms > 0) {
        Some(ms) => TIME_TO_BUILD + Duration::from_millis(ms.unsigned_abs()) * 3 * positions as u32,
        None => TIME_BY_NODES,
    };
    // Before anything is measured.
    let config = if args.backends.write {
        Some(WritableConfig::open(args.config.as_deref())?)
    } else {
        None
    };
    let run = claim(args.out.as_deref(), "benchmark.json")?;
    super::warn_if_busy();
    let mut flags = args.settings.0.changed();
    flags.extend(args.positions.flags());
    flags.extend(args.limits.nodes.map(|nodes| ("nodes", nodes.to_string())));
    flags.extend(movetime.map(|ms| ("movetime", ms.to_string())));
    let combinations = args.backends.combinations(&args.settings.0.network.backend)?;
    let mut report = BackendsReport::measure(combinations, &flags, patience)?;
    let is_stopped = is_interrupted()?;
    report.advice = report.advice.filter(|_| !args.backends.no_advice && !is_stopped);
    let written = match (&mut report.advice, &config) {
        (Some(advice), Some(config)) => advice.write(config),
        _ => Ok(true),
    };
    output.report(&report)?;
    write_report(run, || report.page(), &report, output)?;
    if is_stopped {
        eprint_message("stopped; these are the backends until then");
        return Ok(ExitStatus::Stopped);
    }
    let is_complete = report.runs.iter().all(|run| run.error.is_none());
    Ok(ExitStatus::of(written? && is_complete))
}

impl BackendsArgs {
    pub(super) fn are_given(&self) -> bool {
        self.backends.is_some() || !self.thread_counts.is_empty() || !self.batches.is_empty()
    }

    fn combinations(&self, in_force: &str) -> Result<Vec<Combination>> {
        let text = self.backends.as_deref().unwrap_or(in_force);
        let listed = Params::parse(text)?;
        let backends: Vec<_> = listed.lists().collect();
        ensure!(
            !backends.is_empty() && backends.len() == listed.entries().len(),
            "--backends {text}: expected names, as in native,webgpu(precision=fp32)"
        );
        let mut combinations = Vec::new();
        if self.backends.is_none() {
            combinations.push(Combination::of(in_force));
        }
        for (name, options) in backends {
            let backend = if options.is_empty() {
                name.to_owned()
            } else {
                format!("{name}({options})")
            };
            for threads in or_choice(&self.thread_counts) {
                for batch in or_choice(&self.batches) {
                    combinations.push(Combination {
                        backend: backend.clone(),
                        threads,
                        batch,
                    });
                }
            }
        }
        Ok(combinations)
    }
}

/// The numbers named, or else the engine's choice.
fn or_choice(numbers: &[usize]) -> Vec<Option<usize>> {
    if numbers.is_empty() {
        vec![None]
    } else {
        numbers.iter().copied().map(Some).collect()
    }
}

impl Combination {
    pub(crate) fn of(backend: &str) -> Combination {
        Combination {
            backend: backend.into(),
            ..Combination::default()
        }
    }

    fn run(self, flags: &[(&str, String)], patience: Duration) -> Run {
        eprint_message(format_args!("measuring {self}"));
        let mut all = flags.to_vec();
        // Of flags of one name the last counts.
        all.push(("backend", self.backend.clone()));
        all.extend(self.threads.map(|threads| ("threads", threads.to_string())));
        all.extend(self.batch.map(|batch| ("minibatch-size", batch.to_string())));
        let (report, error) = match child_process::json(&["benchmark"], all, patience) {
            Ok(report) => (Some(report), None),
            Err(failure) => {
                eprint_message(format_args!("{self}: {}", failure.message));
                let backend = &self.backend;
                // A library's message may name a folder of the user.
                let error = match Candidate::of(backend).missing() {
                    Some(missing) => format!("{}: {missing}", Verdict::NotInstalled),
                    None => format!("failed: `zeitnot doctor --backend {}` tells why", quoted(backend)),
                };
                (None, Some(error))
            }
        };
        Run {
            combination: self,
            error,
            report,
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.backend)?;
        if let Some(threads) = self.threads {
            write!(f, ", threads {threads}")?;
        }
        if let Some(batch) = self.batch {
            write!(f, ", batch {batch}")?;
        }
        Ok(())
    }
}

impl Run {
    fn figure(&self, path: &str) -> Option<f64> {
        self.report.as_ref()?.pointer(path)?.as_f64()
    }

    fn measured(&self) -> Option<Measured<'_>> {
        let number = |path: &str| self.figure(path).map(|number| number as usize);
        let threads = number("/threads")?;
        let queues = number("/queues")?;
        let sample = |row: &Value| {
            let figure = |name: &str| row.get(name).and_then(Value::as_f64);
            let nps = figure("nodes")? / (figure("time_ms")? / 1e3).max(1e-9);
            Some(Sample::new(nps, figure("mean_batch")?, threads, queues))
        };
        let rows = self.report.as_ref()?.get("positions")?.as_array()?;
        Some(Measured {
            setting: &self.combination,
            samples: rows.iter().filter_map(sample).collect(),
            drift: self.figure("/noise/expected_difference")?,
        })
    }

    fn description(&self) -> &str {
        let description = || self.report.as_ref()?.pointer("/description")?.as_str();
        self.error.as_deref().or_else(description).unwrap_or_default()
    }
}

impl BackendsReport {
    /// Each for at most `patience`, with the same `flags`, until Ctrl-C.
    pub(crate) fn measure(
        combinations: Vec<Combination>,
        flags: &[(&str, String)],
        patience: Duration,
    ) -> Result<BackendsReport> {
        let mut runs = Vec::new();
        for combination in combinations {
            runs.push(combination.run(flags, patience));
            if is_interrupted()? {
                // A terminal's Ctrl-C ends the child, too.
                runs.pop_if(|run: &mut Run| run.error.is_some());
                break;
            }
        }
        let advice = Advice::of_measured(&runs.iter().filter_map(Run::measured).collect::<Vec<_>>());
        Ok(BackendsReport {
            version: VERSION,
            machine: Machine::this(),
            runs,
            advice: Some(advice),
        })
    }

    /// Clearly better than the first, or else the first.
    pub(crate) fn best(&self) -> &str {
        self.advice.as_ref().map_or("", Advice::backend)
    }

    fn advice_lines(&self) -> String {
        self.advice.as_ref().map(Advice::to_string).unwrap_or_default()
    }

    /// Nodes per second, `None` if it was not measured.
    pub(crate) fn nps(&self, backend: &str) -> Option<f64> {
        self.runs
            .iter()
            .find(|run| run.combination.backend == backend)?
            .figure("/nps")
    }

    pub(crate) fn speeds(&self) -> Vec<String> {
        let speed = |run: &Run| Some(format!("{}: {} nps", run.combination, run.figure("/nps")?));
        self.runs.iter().filter_map(speed).collect()
    }

    fn headline(&self) -> (String, String) {
        let measured = self
            .runs
            .iter()
            .filter_map(|run| Some((run, run.figure("/nps")?)));
        match measured.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((run, nps)) => (
                format!("{nps} nodes per second"),
                format!(
                    "on {}: {} is the fastest, with {}.",
                    self.machine,
                    run.combination,
                    run.description()
                ),
            ),
            None => (
                "Nothing".into(),
                format!("could be measured on {}.", self.machine),
            ),
        }
    }

    fn lines(&self) -> String {
        let line = |run: &Run| {
            let card = run.report.as_ref().and_then(|report| report["card"].as_str());
            match card {
                Some(card) => format!("{card}\n"),
                None => format!("{}: {}\n", run.combination, run.description()),
            }
        };
        self.runs.iter().map(line).collect()
    }

    fn page(&self) -> Page {
        let (figure, sentence) = self.headline();
        let page = Page::new("Backends compared").key_figure(&figure, &sentence);
        let lines = format!("{}{}\n", self.lines(), self.advice_lines());
        page.plot(&self.bars(), "").table(&self.table()).code(&lines)
    }

    fn bars(&self) -> Plot {
        let mut plot = Plot::new("Speed", "run", "nodes per second").y_from(0.0);
        for (number, run) in (1u32..).zip(&self.runs) {
            if let Some(nps) = run.figure("/nps") {
                let sides = [-0.4, 0.4].map(|side| (f64::from(number) + side, [0.0, nps]));
                plot = plot.band(&format!("{number}: {}", run.combination), sides);
            }
        }
        plot
    }

    fn table(&self) -> Table {
        let figure = |path: &'static str, factor: f64, digits: usize| {
            move |run: &&Run| {
                run.figure(path)
                    .map_or(String::new(), |value| format!("{:.digits$}", value * factor))
            }
        };
        let nps = figure("/nps", 1.0, 0);
        Table::of("Backends compared; batch is the size in force", &self.runs)
            .words("backend", |run| run.combination.backend.clone())
            .numbers("threads", figure("/threads", 1.0, 0))
            .numbers("batch", figure("/minibatch_size", 1.0, 0))
            .numbers("nps", |run| {
                if run.error.is_some() {
                    "FAILS".into()
                } else {
                    nps(run)
                }
            })
            .numbers("evals/s", figure("/evaluations_per_s", 1.0, 0))
            .numbers("mean batch", figure("/mean_batch", 1.0, 1))
            .numbers("busy %", figure("/device_busy", 100.0, 0))
            .numbers("ready s", figure("/ready_s", 1.0, 2))
            .numbers("first ms", figure("/first_batch_ms", 1.0, 1))
            .numbers("W", figure("/sensors/watts", 1.0, 1))
            .numbers("nodes/J", figure("/sensors/nodes_per_joule", 1.0, 1))
            .numbers("± %", figure("/noise/expected_difference", 100.0, 1))
            .table()
    }
}

impl fmt::Display for BackendsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figure, sentence) = self.headline();
        writeln!(
            f,
            "{figure} {sentence}\n\n{}{}{}",
            self.table(),
            self.lines(),
            self.advice_lines()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_is_combined_with_every_number_of_threads() {
        let args = |backends: &str, thread_counts: &[usize], batches: &[usize]| BackendsArgs {
            backends: Some(backends.into()),
            thread_counts: thread_counts.into(),
            batches: batches.into(),
            ..BackendsArgs::default()
        };
        let all = args("native,webgpu(precision=fp32,gpu=1)", &[1, 2], &[8])
            .combinations("auto")
            .unwrap();
        assert_eq!(
            all.iter().map(Combination::to_string).collect::<Vec<_>>(),
            [
                "native, threads 1, batch 8",
                "native, threads 2, batch 8",
                "webgpu(precision=fp32,gpu=1), threads 1, batch 8",
                "webgpu(precision=fp32,gpu=1), threads 2, batch 8",
            ]
        );
        let choice = Combination {
            backend: "random".into(),
            threads: None,
            batch: None,
        };
        assert_eq!(args("random", &[], &[]).combinations("auto").unwrap(), [choice]);
        let beside = BackendsArgs {
            backends: None,
            ..args("", &[], &[6, 12])
        }
        .combinations("auto")
        .unwrap();
        assert_eq!(
            beside.iter().map(Combination::to_string).collect::<Vec<_>>(),
            ["auto", "auto, batch 6", "auto, batch 12"]
        );
        for wrong in ["", "native,precision=fp32", "native("] {
            assert!(args(wrong, &[], &[]).combinations("auto").is_err(), "{wrong}");
        }
    }
}
