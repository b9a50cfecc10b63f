//! `zeitnot benchmark --backends a,b,c`: the same benchmark with several backends, numbers of threads and batch sizes, in one report.
//!
//! Each run is a child of this program: one that crashes or hangs is a row with the reason, and each can load the ONNX Runtime
//! that it needs.

use std::fmt;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;
use serde_json::Value;

use super::BenchmarkArgs;
use super::document::{Document, SpeedBars};
use super::machine::MachineInfo;
use crate::params::Params;
use crate::report::{Align, Table};
use crate::tools::child_process::{self, ChildProcess, last_message};
use crate::tools::output::{eprint_message, pretty_json};
use crate::tools::{ExitStatus, Failure, Output};
use crate::version::VERSION;

/// The time of each search unless the user says otherwise, ms: many runs shall not take hours.
const MOVE_TIME_MS: i64 = 1000;
/// The time for what is built before a run, as an engine of TensorRT, beside three times its searches.
const TIME_TO_BUILD: Duration = Duration::from_secs(900);
/// The time for a run whose searches have no time of their own.
const TIME_BY_NODES: Duration = Duration::from_secs(4 * 3600);

/// What stands before the words of a library or a system in a message.
const QUOTES: [&str; 5] = [
    "onnxruntime cannot use the model",
    "evaluation failed",
    "does not load",
    "it did not answer in time",
    "crashed",
];

/// The options that ask for several runs.
#[derive(Debug, Args)]
pub(super) struct SeveralArgs {
    /// Compare these backends in one report, each in a process of its own; a precision stands with its backend, as in
    /// `native,webgpu,webgpu(precision=fp32)`. 1 s a position unless --movetime or --nodes says otherwise
    #[arg(long, value_name = "A,B,…", conflicts_with_all = ["compare", "report", "card"])]
    backends: Option<String>,
    /// With --backends: numbers of threads, each with all backends [default: what the engine chooses]
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "backends",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    thread_counts: Vec<usize>,
    /// With --backends: batch sizes, each with all backends and numbers of threads [default: what the engine chooses]
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "backends",
          value_parser = RangedU64ValueParser::<usize>::new().range(..=65536))]
    batches: Vec<usize>,
}

impl SeveralArgs {
    /// Returns whether several runs are asked for.
    pub(super) fn is_asked_for(&self) -> bool {
        self.backends.is_some()
    }
}

/// What one run is to measure; `None` is the engine's choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Manner {
    backend: String,
    threads: Option<usize>,
    batch: Option<usize>,
}

/// A run that was measured, or why it was not.
#[derive(Debug, Serialize)]
struct Run {
    #[serde(flatten)]
    manner: Manner,
    error: Option<String>,
    /// What `zeitnot benchmark --json` says.
    report: Option<Value>,
}

/// All runs.
#[derive(Debug, Serialize)]
struct SeveralReport {
    version: &'static str,
    machine: MachineInfo,
    runs: Vec<Run>,
}

/// Runs the benchmarks. Exit code 1 if one could not be measured.
pub(super) fn run(
    args: &BenchmarkArgs,
    positions: usize,
    output: &mut Output,
) -> Result<ExitStatus, Failure> {
    let set_here = ["backend", "threads", "minibatch-size"];
    if args.settings.changed().iter().any(|(flag, _)| set_here.contains(flag)) {
        let text = "--backends sets backend, threads and batch size itself: give --thread-counts and --batches instead of \
                    --threads and --minibatch-size";
        return Err(Failure::Input(text.into()));
    }
    let patience = patience(args.movetime_of_each(), positions);
    let mut runs = Vec::new();
    for manner in manners(&args.several)? {
        eprint_message(format_args!("measuring {manner}"));
        let (error, report) = match measure(args, &manner, patience) {
            Ok(report) => (None, Some(report)),
            Err(reason) => {
                eprint_message(format_args!("{manner}: {reason}"));
                (Some(in_our_words(&reason)), None)
            }
        };
        runs.push(Run { manner, error, report });
    }
    let is_complete = runs.iter().all(|run| run.error.is_none());
    let report = SeveralReport { version: VERSION, machine: MachineInfo::this(), runs };
    output.write(&report, &report)?;
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder)?;
        report.document().write(folder)?;
        fs::write(folder.join("benchmark.json"), pretty_json(&report)?)?;
    }
    Ok(if is_complete { ExitStatus::Success } else { ExitStatus::Negative })
}

/// Returns all combinations that are asked for.
fn manners(args: &SeveralArgs) -> Result<Vec<Manner>, Failure> {
    let text = args.backends.as_deref().unwrap_or_default();
    let listed = Params::parse(text).map_err(|error| Failure::Input(error.to_string()))?;
    let backend = |(name, options): (&str, &Params)| {
        if options.is_empty() { name.to_owned() } else { format!("{name}({options})") }
    };
    let backends: Vec<_> = listed.lists().map(backend).collect();
    if backends.is_empty() || backends.len() != listed.entries().len() {
        return Err(Failure::Input(format!(
            "--backends {text}: expected names, as in native,webgpu(precision=fp32)"
        )));
    }
    let or_choice = |numbers: &[usize]| {
        if numbers.is_empty() { vec![None] } else { numbers.iter().copied().map(Some).collect::<Vec<_>>() }
    };
    let mut manners = Vec::new();
    for backend in backends {
        for &threads in &or_choice(&args.thread_counts) {
            for &batch in &or_choice(&args.batches) {
                manners.push(Manner { backend: backend.clone(), threads, batch });
            }
        }
    }
    Ok(manners)
}

/// Measures in a process of its own.
fn measure(args: &BenchmarkArgs, manner: &Manner, patience: Duration) -> Result<Value, String> {
    let movetime = args.movetime_of_each();
    let start = || {
        let mut command = child_process::command()?;
        command.args(["benchmark", "--json"]).arg(format!("--backend={}", manner.backend));
        let mut flag = |name: &str, value: Option<String>| {
            command.args(value.map(|value| format!("--{name}={value}")));
        };
        flag("threads", manner.threads.map(|threads| threads.to_string()));
        flag("minibatch-size", manner.batch.map(|batch| batch.to_string()));
        flag("nodes", args.nodes.map(|nodes| nodes.to_string()));
        flag("movetime", movetime.map(|ms| ms.to_string()));
        for (name, value) in args.positions.flags().into_iter().chain(args.settings.changed()) {
            flag(name, Some(value));
        }
        ChildProcess::start(command.stderr(Stdio::piped()))
    };
    let child = start().map_err(|error| error.to_string())?;
    let answer = child.answer_by(Instant::now() + patience).map_err(|error| error.to_string())?;
    serde_json::from_str(&answer.stdout).map_err(|_| last_message(&answer.stderr))
}

/// Returns why a run failed and what helps, without what a library says of it and without paths of this machine.
fn in_our_words(reason: &str) -> String {
    const DOCTOR: &str = "`zeitnot doctor` tells what is missing or broken";
    let quoted = QUOTES.iter().find_map(|quote| reason.find(quote).map(|at| &reason[..at + quote.len()]));
    let is_path = |word: &&str| {
        word.trim_start_matches(['(', '"', '`']).starts_with(['/', '\\']) || word.contains(":\\")
    };
    let own = quoted.unwrap_or(reason);
    let words: Vec<&str> = own.split(' ').map(|word| if is_path(&word) { "…" } else { word }).collect();
    let text = words.join(" ");
    if quoted.is_some() { format!("{text}; {DOCTOR}") } else { text }
}

/// Returns the time within which a run must end whose searches of `positions` positions take `movetime` ms each, if they end by
/// time.
fn patience(movetime: Option<i64>, positions: usize) -> Duration {
    match movetime.filter(|&ms| ms > 0) {
        Some(ms) => TIME_TO_BUILD + Duration::from_millis(ms.unsigned_abs()) * 3 * positions as u32,
        None => TIME_BY_NODES,
    }
}

impl BenchmarkArgs {
    /// Returns the time of each search, ms, where the user has set no other limit.
    fn movetime_of_each(&self) -> Option<i64> {
        self.movetime.or_else(|| self.nodes.is_none().then_some(MOVE_TIME_MS))
    }
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.backend)?;
        self.threads.map_or(Ok(()), |threads| write!(f, ", threads {threads}"))?;
        self.batch.map_or(Ok(()), |batch| write!(f, ", batch {batch}"))
    }
}

impl Run {
    /// Returns a number of the run's report.
    fn figure(&self, path: &str) -> Option<f64> {
        self.report.as_ref()?.pointer(path)?.as_f64()
    }

    /// Returns the description of what was measured.
    fn description(&self) -> Option<&str> {
        self.report.as_ref()?.pointer("/description")?.as_str()
    }
}

impl SeveralReport {
    /// Returns the most important finding: machine, network, speed.
    fn headline(&self) -> String {
        let speed = |run: &&Run| run.figure("/nps").unwrap_or(-1.0);
        let fastest = self.runs.iter().max_by(|a, b| speed(a).total_cmp(&speed(b)));
        match fastest.and_then(|run| Some((run, run.figure("/nps")?, run.description()?))) {
            Some((Run { manner, .. }, nps, description)) => format!(
                "{nps} nodes per second on {}: {manner} is the fastest, with {description}. \
                 --backend={}, or the option Backend, sets it.",
                self.machine, manner.backend
            ),
            None => format!("Nothing could be measured on {}.", self.machine),
        }
    }

    /// Returns what Markdown and the page say.
    fn document(&self) -> Document {
        let measured: Vec<&Run> = self.runs.iter().filter(|run| run.report.is_some()).collect();
        let figures = |path| measured.iter().filter_map(|run| run.figure(path)).collect();
        let mut told =
            Table::new("What ran, or why it did not", &[("run", Align::Left), ("what", Align::Left)]);
        for run in &self.runs {
            let what = run.error.as_deref().or(run.description()).unwrap_or_default();
            told.row([run.manner.to_string(), what.to_owned()]);
        }
        Document {
            title: "Backends compared",
            paragraphs: vec![self.headline()],
            card: None,
            tables: vec![self.table(), told],
            speeds: SpeedBars {
                title: "Speed by backend",
                names: measured.iter().map(|run| run.manner.to_string()).collect(),
                nodes: figures("/nps"),
                evaluations: figures("/evaluations_per_s"),
            },
        }
    }

    fn table(&self) -> Table {
        let right = |name| (name, Align::Right);
        let columns = [
            ("backend", Align::Left),
            right("threads"),
            right("batch"),
            right("nps"),
            right("evals/s"),
            right("mean batch"),
            right("busy %"),
            right("ready s"),
            right("first ms"),
            right("W"),
            right("nodes/J"),
            right("± %"),
        ];
        let mut table = Table::new("Backends compared; batch is the size in force", &columns);
        for run in &self.runs {
            let figure = |path: &str, factor: f64, digits: usize| {
                run.figure(path).map_or(String::new(), |value| format!("{:.digits$}", value * factor))
            };
            table.row([
                run.manner.backend.clone(),
                figure("/threads", 1.0, 0),
                figure("/minibatch_size", 1.0, 0),
                if run.error.is_some() { "FAILS".into() } else { figure("/nps", 1.0, 0) },
                figure("/evaluations_per_s", 1.0, 0),
                figure("/mean_batch", 1.0, 1),
                figure("/device_busy", 100.0, 0),
                figure("/ready_s", 1.0, 2),
                figure("/first_batch_ms", 1.0, 1),
                figure("/sensors/watts", 1.0, 1),
                figure("/sensors/nodes_per_joule", 1.0, 1),
                figure("/noise/expected_difference", 100.0, 1),
            ]);
        }
        table
    }
}

impl fmt::Display for SeveralReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n{}", self.headline(), self.table())?;
        for run in &self.runs {
            let what = run.error.as_deref().or(run.description()).unwrap_or_default();
            writeln!(f, "{}: {what}", run.manner)?;
        }
        let missing =
            self.runs.iter().find_map(|run| run.report.as_ref()?.pointer("/sensors/missing")?.as_array());
        for reason in missing.into_iter().flatten().filter_map(Value::as_str) {
            writeln!(f, "not told: {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::BackendError;
    use crate::network::backends::onnxruntime::{LibraryError, Provider};
    use crate::tools::child_process::ChildError;

    fn args(backends: &str) -> SeveralArgs {
        SeveralArgs { backends: Some(backends.into()), thread_counts: vec![1, 2], batches: vec![8] }
    }

    #[test]
    fn every_backend_is_combined_with_every_number_of_threads() {
        let texts = |backends: &str| {
            manners(&args(backends)).unwrap().iter().map(Manner::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            texts("native,webgpu(precision=fp32,gpu=1)"),
            [
                "native, threads 1, batch 8",
                "native, threads 2, batch 8",
                "webgpu(precision=fp32,gpu=1), threads 1, batch 8",
                "webgpu(precision=fp32,gpu=1), threads 2, batch 8",
            ]
        );
        let choice = SeveralArgs { thread_counts: Vec::new(), batches: Vec::new(), ..args("random") };
        assert_eq!(
            manners(&choice).unwrap(),
            [Manner { backend: "random".into(), threads: None, batch: None }]
        );
        for wrong in ["", "native,precision=fp32", "native("] {
            assert!(manners(&args(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_failure_is_told_in_our_words_without_a_library_s_message_or_a_path() {
        let raw = "Status(status=8): node Conv_7 at C:\\ort\\conv.cc:12 in /home/me/net.onnx";
        let (backend, reason) = ("onnxruntime".to_owned(), raw.to_owned());
        let errors = [
            BackendError::Model { backend: backend.clone(), reason: reason.clone() }.to_string(),
            BackendError::NotAvailable(Box::new(BackendError::Evaluation { backend, reason })).to_string(),
            BackendError::Library(LibraryError::NotRegistered {
                provider: Provider::WebGpu,
                path: "/home/me/libort.so".into(),
                reason: raw.to_owned(),
            })
            .to_string(),
            ChildError::Late.to_string(),
        ];
        for error in errors {
            let told = in_our_words(&error);
            assert!(told.contains("`zeitnot doctor`"), "{told}");
            assert!(!["Status", "Conv_7", "home", "ort\\"].iter().any(|word| told.contains(word)), "{told}");
        }
        let own = "the NVIDIA driver (libcuda.so.1) is missing: install it, see https://nvidia.com/drivers";
        assert_eq!(in_our_words(own), own);
        assert_eq!(in_our_words("/home/me/a.pb.gz: no network"), "… no network");
    }
}
