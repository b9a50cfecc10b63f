//! `zeitnot doctor`: describes the machine, tries each backend for correctness and speed, and names remedies.
//! `benchmark` recommends one.
//!
//! The doctor fetches nothing. Each trial is a process of its own: a driver may crash, and a process can load
//! only one ONNX Runtime.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, slice};

use anyhow::Result;
use clap::Args;
use itertools::Itertools;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::accuracy::{Accuracy, evaluate_all};
use super::child_process::{self, ChildError};
use super::engine_args::NetworkArgs;
use crate::config_file::OF_A_BACKEND;
use crate::output::{ExitStatus, Output, eprint_message, write_json};
use crate::setup::{Machine, missing, obstacle};
use zeitnot_engine::VERSION;
use zeitnot_engine::engine;
use zeitnot_engine::network::backends::onnxruntime::finder::Library;
use zeitnot_engine::network::backends::onnxruntime::{NAME as ONNX_RUNTIME, Provider, SystemPart, finder};
use zeitnot_engine::network::backends::{self, AUTO, BackendConfig, aliases, native};
use zeitnot_engine::network::folders;
use zeitnot_engine::network::throughput::{RoundLength, SortedSamples, ThroughputMeter, encoded_positions};
use zeitnot_engine::network::weights::Model;
use zeitnot_engine::network::{Backend, BackendError};
use zeitnot_engine::options::{OptionChoice, option_choice};
use zeitnot_engine::system::vulkan;
use zeitnot_lab::report::{Table, terminal_width, write_fact_in};

const SINGLE: &str = "fp32";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Also write what was found into this file, to send in: without paths and names
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Try the backend in this process and print what was found
    #[arg(long, hide = true)]
    trial: bool,
}

/// A backend to try: the texts of `--backend` and `--backend-opts`.
#[derive(Clone)]
pub(super) struct Candidate {
    backend: String,
    options: String,
}

pub(super) fn run(args: &DoctorArgs, output: &mut Output) -> Result<ExitStatus> {
    if args.trial {
        let trial = Trial::run(&args.network)?;
        return output.write(&trial, &format_args!("{trial:?}\n"));
    }
    let options = &args.network.0.network;
    let is_asked_for = *options.backend != *AUTO;
    let machine = Machine::this();
    let candidates = if is_asked_for {
        vec![Candidate {
            options: options.backend_options.clone(),
            ..Candidate::of(&options.backend)
        }]
    } else {
        all_candidates(&machine)
    };
    let mut backends = Vec::new();
    for candidate in &candidates {
        eprint_message(format_args!("trying {}", candidate.backend));
        for report in candidate.examine(&args.network) {
            backends.push(candidate.judge_fault(report, &machine));
        }
    }
    let work = backends.iter().all(|backend| backend.works);
    let recommended = match machine.choose().chosen {
        Some((gpu, provider)) if machine.out_of_reach(gpu, provider).is_none() => Some(provider.name()),
        _ => None,
    };
    let report = DoctorReport {
        version: VERSION,
        parts: parts(&machine),
        machine,
        backends,
        recommended,
    };
    output.report(&report)?;
    if let Some(file) = &args.report {
        write_json(file, &without_paths(&report)?)?;
        eprint_message(format_args!(
            "wrote {}, which has no paths and no names: please send it in",
            file.display()
        ));
    }
    Ok(ExitStatus::of(work || !is_asked_for))
}

/// Those for NVIDIA's GPUs only where there is one.
fn all_candidates(machine: &Machine) -> Vec<Candidate> {
    let mut all = [AUTO, native::NAME, ONNX_RUNTIME].map(Candidate::of).to_vec();
    for provider in Provider::all() {
        let is_nvidia = provider.needed_part(&machine.os) == Some(SystemPart::NvidiaDriver);
        if provider == Provider::Cpu
            || provider.only_on(std::env::consts::OS, &machine.arch).is_some()
            || is_nvidia && !machine.has_nvidia()
        {
            continue;
        }
        all.push(
            match aliases::short_names().find(|&name| name == provider.name()) {
                Some(name) => Candidate::of(name),
                None => Candidate::of(&format!("{ONNX_RUNTIME}(provider={provider})")),
            },
        );
    }
    all
}

/// JSON in which each path is reduced to its file name.
fn without_paths(report: &DoctorReport) -> Result<Value> {
    let mut value = serde_json::to_value(report)?;
    let homes = ["HOME", "USERPROFILE"].into_iter().filter_map(std::env::var_os);
    let mut own: Vec<_> = homes.map(PathBuf::from).collect();
    own.extend(folders::cache());
    own.extend(folders::executable());
    shorten_paths(&mut value, &own);
    Ok(value)
}

fn shorten_paths(value: &mut Value, own: &[PathBuf]) {
    match value {
        Value::String(text) => *text = with_short_paths(text, own),
        Value::Array(values) => values.iter_mut().for_each(|value| shorten_paths(value, own)),
        Value::Object(values) => values.values_mut().for_each(|value| shorten_paths(value, own)),
        _ => {}
    }
}

/// Only the folders `own` may contain blanks.
fn with_short_paths(text: &str, own: &[PathBuf]) -> String {
    let mut text = text.to_owned();
    for folder in own.iter().filter_map(|folder| folder.to_str()) {
        if folder.len() > 1 {
            text = text.replace(folder, "/…");
        }
    }
    let mut short = String::new();
    for word in text.split_inclusive(|c: char| c.is_whitespace() || "\"'`,;()".contains(c)) {
        let is_path =
            word.starts_with(['/', '~', '\\']) || word.get(1..).is_some_and(|rest| rest.starts_with(":\\"));
        match word.rsplit_once(['/', '\\']) {
            Some((_, last)) if is_path => short += &format!("…/{last}"),
            _ => short += word,
        }
    }
    short
}

impl Candidate {
    pub(super) fn of(backend: &str) -> Candidate {
        Candidate {
            backend: backend.into(),
            options: String::new(),
        }
    }

    /// None if the texts cannot be read, which the trial will report.
    fn providers(&self) -> Vec<Provider> {
        BackendConfig::parse(&self.backend, &self.options).map_or(Vec::new(), |config| config.providers())
    }

    fn in_single_precision(&self) -> Candidate {
        let comma = if self.options.is_empty() { "" } else { "," };
        let options = format!("{}{comma}precision={SINGLE}", self.options);
        Candidate {
            options,
            ..self.clone()
        }
    }

    /// What is not installed of it, and what to do.
    pub(super) fn missing(&self) -> Option<String> {
        self.providers().into_iter().find_map(missing)
    }

    /// Tries its default precision, and single precision if that differs.
    pub(super) fn examine(&self, network: &NetworkArgs) -> Vec<BackendReport> {
        let config = BackendConfig::parse(&self.backend, &self.options);
        if config.is_ok_and(|config| !config.needs_network()) {
            return vec![self.without_figures(Verdict::ForTests, "it evaluates no network".into())];
        }
        if let Some(reason) = self.missing() {
            return vec![self.without_figures(Verdict::NotInstalled, reason)];
        }
        let default = self.try_in_child(network);
        let names_precision = self.options.contains("precision") || self.backend == AUTO;
        let tries_single = default.works && default.trial.precision != SINGLE && !names_precision;
        let mut reports = vec![default];
        if tries_single {
            reports.push(self.in_single_precision().try_in_child(network));
        }
        reports
    }

    fn try_in_child(&self, network: &NetworkArgs) -> BackendReport {
        let mut flags = network.0.changed();
        flags.retain(|(flag, _)| !OF_A_BACKEND.contains(flag));
        flags.push(("backend", self.backend.clone()));
        flags.push(("backend-opts", self.options.clone()));
        match child_process::json(&["doctor", "--trial"], flags, PATIENCE) {
            Ok(trial) => BackendReport::judged(self.backend.clone(), trial),
            Err(ChildError { message, foreign }) => BackendReport {
                foreign,
                ..self.without_figures(Verdict::Fails, message)
            },
        }
    }

    fn without_figures(&self, verdict: Verdict, remedy: String) -> BackendReport {
        BackendReport {
            backend: self.backend.clone(),
            verdict,
            remedy,
            ..BackendReport::default()
        }
    }

    /// Distinguishes a failing backend from one without hardware on this machine.
    fn judge_fault(&self, report: BackendReport, machine: &Machine) -> BackendReport {
        let mut providers = self.providers().into_iter();
        let unsuited = providers.find_map(|provider| machine.unsuited(provider));
        match (report.verdict, unsuited) {
            (Verdict::Fails | Verdict::NotInstalled, Some(reason)) => {
                self.without_figures(Verdict::NotForThisMachine, reason)
            }
            _ => report,
        }
    }
}

/// Positions for comparing outputs, the same in each trial.
const POSITIONS: usize = 64;
/// Batch sizes to time, on cores and on devices.
const CPU_SIZES: [usize; 3] = [1, 8, 32];
const ACCELERATOR_SIZES: [usize; 3] = [1, 32, 256];
const ROUND: RoundLength = RoundLength::Time(Duration::from_millis(150));
const ROUNDS: usize = 3;
/// Sizes whose batches would take longer are skipped, s.
const LONGEST_BATCH: f64 = 2.0;
const PATIENCE: Duration = Duration::from_secs(240);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) description: String,
    #[serde(default)]
    precision: String,
    /// From the beginning to the first evaluation, including one-time builds.
    first_ms: Option<f64>,
    throughput: Vec<BatchSpeed>,
    /// How much longer a batch takes after one of another size.
    change_ms: Option<f64>,
    pub(super) q_error_max: Option<f64>,
    policy_kl_mean: Option<f64>,
    pub(super) top1_agreement: Option<f64>,
    /// What the engine would tell a GUI: devices that were tried and failed, with the remedy.
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BatchSpeed {
    batch: usize,
    nps: f64,
}

impl Trial {
    fn run(network: &NetworkArgs) -> Result<Trial> {
        let start = Instant::now();
        let tested = engine::open_backend(&network.0.network)?.backend;
        let info = tested.facts();
        let mut evaluator = tested.evaluator()?;
        let mut found = encoded_positions(0, POSITIONS, info.input_format);
        let mut expected = found.clone();
        evaluator.evaluate(&mut found[..1])?;
        let first_ms = 1e3 * start.elapsed().as_secs_f64();
        evaluate_all(slice::from_mut(&mut evaluator), &mut found, info.max_batch)?;
        drop(evaluator);

        let reference = reference(network)?;
        evaluate_all(
            &mut [reference.evaluator()?],
            &mut expected,
            reference.facts().max_batch,
        )?;
        let accuracy = Accuracy::new(&found, &expected);
        let (throughput, change_ms) = speeds(&*tested)?;
        Ok(Trial {
            description: info.description.clone(),
            precision: info.precision.clone(),
            first_ms: Some(first_ms),
            throughput,
            change_ms,
            q_error_max: Some(accuracy.q_error.max),
            policy_kl_mean: Some(accuracy.policy_kl.mean),
            top1_agreement: Some(accuracy.top1_agreement),
            notes: tested.take_notes().iter().map(ToString::to_string).collect(),
        })
    }

    fn is_right(&self) -> bool {
        let limits = if self.precision == SINGLE {
            &SINGLE_LIMITS
        } else {
            &REDUCED_LIMITS
        };
        self.q_error_max.is_some_and(|error| error <= limits.q_error_max)
            && self
                .policy_kl_mean
                .is_some_and(|divergence| divergence <= limits.policy_kl_mean)
            && self
                .top1_agreement
                .is_some_and(|share| share >= limits.top1_agreement)
    }
}

/// The native backend, or ONNX Runtime on the CPU for ONNX models.
fn reference(network: &NetworkArgs) -> Result<Arc<dyn Backend>> {
    let options = &network.0.network;
    let file = engine::load_network(options)?.network;
    let name = match file.model {
        Model::Layers(..) => "native(precision=fp32)",
        Model::Onnx(_) => "onnxruntime(provider=cpu)",
    };
    Ok(backends::create(&BackendConfig::parse(name, "")?, Some(file))?)
}

/// With the cost of a change between the two largest sizes.
fn speeds(backend: &dyn Backend) -> Result<(Vec<BatchSpeed>, Option<f64>), BackendError> {
    let sizes = if backend.facts().queues == 0 {
        CPU_SIZES
    } else {
        ACCELERATOR_SIZES
    };
    let mut meter = ThroughputMeter::new(backend, 1, None)?;
    let mut speeds: Vec<BatchSpeed> = Vec::new();
    for batch in sizes {
        let expected = speeds.last().map_or(0.0, |last| batch as f64 / last.nps);
        if expected > LONGEST_BATCH {
            break;
        }
        let mut series = meter.begin(batch, RoundLength::Batches(1))?;
        meter.measure(slice::from_mut(&mut series), ROUNDS, ROUND)?;
        speeds.push(BatchSpeed {
            batch,
            nps: SortedSamples::of(&series.nps).percentile(50.0),
        });
    }
    let change_ms = match &speeds[..] {
        [.., smaller, larger] => Some(meter.change_ms([smaller.batch, larger.batch])?),
        _ => None,
    };
    Ok((speeds, change_ms))
}

struct Limits {
    q_error_max: f64,
    /// Nats.
    policy_kl_mean: f64,
    top1_agreement: f64,
}

/// Single precision differs only in the order of additions.
const SINGLE_LIMITS: Limits = Limits {
    q_error_max: 2e-3,
    policy_kl_mean: 1e-5,
    top1_agreement: 0.98,
};
/// Half precision and bfloat16 round. A wrong layout or operator is off by tenths.
const REDUCED_LIMITS: Limits = Limits {
    q_error_max: 0.15,
    policy_kl_mean: 0.01,
    top1_agreement: 0.85,
};

option_choice! {
    pub(super) enum Verdict = Fails {
        Works = "works",
        WrongNumbers = "WRONG NUMBERS",
        Fails = "FAILS",
        NotInstalled = "not installed",
        NotForThisMachine = "not for this machine",
        ForTests = "for tests only",
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Serialize)]
struct DoctorReport {
    version: &'static str,
    machine: Machine,
    parts: Vec<Part>,
    backends: Vec<BackendReport>,
    /// The choice of `setup --auto` for this machine's GPU.
    recommended: Option<&'static str>,
}

#[derive(Default, Serialize)]
pub(super) struct BackendReport {
    pub(super) backend: String,
    pub(super) works: bool,
    pub(super) verdict: Verdict,
    /// Empty if nothing needs to be done.
    pub(super) remedy: String,
    /// A failure in the words of libraries and the system.
    foreign: String,
    #[serde(flatten)]
    pub(super) trial: Trial,
}

impl BackendReport {
    fn judged(backend: String, trial: Trial) -> BackendReport {
        let works = trial.is_right();
        let (verdict, remedy) = if works {
            (Verdict::Works, trial.notes.join("\n"))
        } else {
            let advice = "don't play with it; update the driver, and report this output";
            (Verdict::WrongNumbers, advice.into())
        };
        BackendReport {
            backend,
            works,
            verdict,
            remedy,
            trial,
            ..BackendReport::default()
        }
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, terminal_width())
    }
}

impl DoctorReport {
    fn write(&self, f: &mut impl fmt::Write, width: Option<usize>) -> fmt::Result {
        for (name, value) in self.machine.facts() {
            write_fact_in(f, name, 11, &value, width)?;
        }
        for part in &self.parts {
            let mark = if part.is_here { "✓" } else { "–" };
            write_fact_in(f, &format!("{mark} {:<24} ", part.name), 27, &part.detail, width)?;
        }
        writeln!(f)?;
        self.table().write(f, width)?;
        writeln!(f)?;
        let works = |name: &str| {
            let mut backends = self.backends.iter();
            backends.any(|backend| backend.works && backend.backend == name)
        };
        if let Some(provider) = self.recommended.filter(|name| !works(name)) {
            let text = format!("{provider} suits this machine's GPU: `zeitnot setup --auto` sets it up");
            write_fact_in(f, "", 0, &text, width)?;
        }
        for BackendReport { backend, remedy, .. } in &self.backends {
            if !remedy.is_empty() {
                for line in format!("{backend}: {remedy}").lines() {
                    write_fact_in(f, "", 0, line, width)?;
                }
            }
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let caption = "Backends: seconds to the first evaluation, evaluations per second by batch size, cost of another size, largest error of q, same best move";
        let speed = |speed: &BatchSpeed| format!("{}: {:.0}", speed.batch, speed.nps);
        let figure = |value: Option<f64>, text: fn(f64) -> String| value.map_or(String::new(), text);
        Table::of(caption, &self.backends)
            .words("backend", |BackendReport { backend, trial, .. }| {
                format!("{backend} {}", trial.precision)
            })
            .words("verdict", |backend| backend.verdict)
            .numbers("first s", |backend| {
                figure(backend.trial.first_ms, |ms| format!("{:.1}", ms / 1e3))
            })
            .words("batch: per second", |backend| {
                backend.trial.throughput.iter().map(speed).join(", ")
            })
            .numbers("change ms", |backend| {
                figure(backend.trial.change_ms, |ms| format!("{:.2}", ms.max(0.0)))
            })
            .numbers("q error", |backend| {
                figure(backend.trial.q_error_max, |error| format!("{error:.1e}"))
            })
            .numbers("same, %", |backend| {
                figure(backend.trial.top1_agreement, |share| {
                    format!("{:.1}", 100.0 * share)
                })
            })
            .table()
    }
}

#[derive(Serialize)]
struct Part {
    name: String,
    is_here: bool,
    /// Where it is, or why it is missing.
    detail: String,
}

impl Part {
    fn new(name: impl Into<String>, found: Result<String, String>) -> Part {
        Part {
            name: name.into(),
            is_here: found.is_ok(),
            detail: found.unwrap_or_else(|reason| reason),
        }
    }

    fn listed(name: &str, found: Vec<String>, otherwise: &str) -> Part {
        let found = if found.is_empty() {
            Err(otherwise.into())
        } else {
            Ok(found.join(", "))
        };
        Part::new(name, found)
    }

    fn onnx_runtime() -> Part {
        let (plain, refused) = finder::look_for(Provider::Cpu);
        let (with_cuda, _) = finder::look_for(Provider::Cuda);
        let mut found = Vec::new();
        for Library {
            path,
            version,
            source,
        } in plain.into_iter().chain(with_cuda)
        {
            found.push(format!("{version} {} ({source})", path.display()));
        }
        found.dedup();
        let mut part = Part::listed(
            "ONNX Runtime",
            found,
            "none is installed; `zeitnot setup` fetches it",
        );
        for reason in refused {
            part.detail += &format!("; refused: {reason}");
        }
        part
    }

    fn plugin(provider: Provider) -> Part {
        let (library, _) = finder::look_for(provider);
        let beside = library.as_ref().and_then(|library| library.path.parent());
        let plugin = provider.plugin();
        let file = plugin.and_then(|plugin| finder::plugin_file(plugin, beside));
        let found = match file {
            Some(file) => Ok(file.display().to_string()),
            None => Err(format!(
                "not installed; `zeitnot setup --provider {provider}` fetches it"
            )),
        };
        Part::new(format!("plugin {provider}"), found)
    }

    fn of_system(name: &str, provider: Provider) -> Part {
        match obstacle(provider) {
            None => Part::new(name, Ok("loads".into())),
            Some(error) => Part::new(name, Err(error.to_string())),
        }
    }

    fn vulkan_drivers() -> Part {
        let drivers = vulkan::drivers().iter().map(ToString::to_string).collect();
        let mut part = Part::listed("Vulkan drivers", drivers, "none is registered");
        if let Some(old) = vulkan::outdated() {
            part.is_here = false;
            part.detail += &format!("; {old}");
        }
        part
    }
}

fn parts(machine: &Machine) -> Vec<Part> {
    let mut parts = vec![Part::onnx_runtime()];
    let candidates = all_candidates(machine);
    let providers: Vec<_> = candidates.iter().flat_map(Candidate::providers).collect();
    for provider in providers.iter().filter(|provider| provider.is_plugin()) {
        parts.push(Part::plugin(*provider));
    }
    if providers.contains(&Provider::Cuda) {
        parts.push(Part::of_system("NVIDIA driver", Provider::Cuda));
    }
    if cfg!(target_os = "linux") {
        parts.push(Part::of_system("Vulkan loader", Provider::WebGpu));
        parts.push(Part::vulkan_drivers());
        let devices = machine.devices.iter().flatten();
        parts.push(Part::listed(
            "GPU devices",
            devices.map(|path| path.display().to_string()).collect(),
            "there is none in /dev; in a container start that with access to the GPU",
        ));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(backend: &str, precision: &str, q_error_max: f64) -> BackendReport {
        let trial = Trial {
            precision: precision.into(),
            q_error_max: Some(q_error_max),
            policy_kl_mean: Some(1e-7),
            top1_agreement: Some(1.0),
            ..Trial::default()
        };
        BackendReport::judged(backend.into(), trial)
    }

    #[test]
    fn numbers_that_are_off_are_no_working_backend() {
        assert!(report("cuda", "fp32", 1e-5).works);
        assert!(report("cuda", "fp16", 0.02).works);
        let wrong = report("cuda", "fp32", 0.02);
        assert_eq!((wrong.works, wrong.verdict), (false, Verdict::WrongNumbers));
        assert!(
            !report("cuda", "fp16", f64::NAN).works,
            "nothing is right about NaN"
        );
    }

    /// A regression: `auto` worked, and no word of the GPU that it had tried before.
    #[test]
    fn what_the_engine_tried_and_failed_is_told() {
        let notes = vec!["ERROR: NVIDIA's driver is too old".to_owned()];
        let trial = Trial {
            notes,
            ..report(AUTO, "fp32", 0.0).trial
        };
        assert_eq!(
            BackendReport::judged(AUTO.into(), trial).remedy,
            "ERROR: NVIDIA's driver is too old"
        );
    }

    #[test]
    fn the_report_fits_the_terminal() {
        let cpu = "A Processor With A Name That Is Longer Than Most, 64-Core, And Than Some Lines";
        let machine = Machine {
            cpu: cpu.into(),
            ..Machine::default()
        };
        let part = Part::new(
            "CUDA",
            Err("no library of it is in any of the folders that the loader looks into on this system".into()),
        );
        let mut broken = report("webgpu", "fp16", 0.0);
        broken.remedy = "install the driver of the maker, then run this again to see whether it is found\nor take another".into();
        let backends = vec![report(AUTO, "fp32", 0.0), broken];
        let doctor = DoctorReport {
            version: VERSION,
            machine,
            parts: vec![part],
            backends,
            recommended: None,
        };
        for width in [60, 80, 120] {
            let mut text = String::new();
            doctor.write(&mut text, Some(width)).unwrap();
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}: {text}"
            );
            assert!(text.contains("or take another"), "{text}");
        }
    }

    #[test]
    fn a_report_to_send_in_has_no_paths() {
        let own = [PathBuf::from("/home/Jane Doe")];
        for (text, expected) in [
            ("loads", "loads"),
            (
                "Debian GNU/Linux 12, kernel 6.1",
                "Debian GNU/Linux 12, kernel 6.1",
            ),
            (
                "1.31.1 /home/Jane Doe/.cache/x/libonnxruntime.so (in the cache)",
                "1.31.1 …/libonnxruntime.so (in the cache)",
            ),
            (
                "'/usr/lib/a.so' and C:\\Users\\jane\\b.dll; ~/c",
                "'…/a.so' and …/b.dll; …/c",
            ),
            ("/dev/dri/renderD128, /dev/nvidia0", "…/renderD128, …/nvidia0"),
        ] {
            assert_eq!(with_short_paths(text, &own), expected);
        }
    }

    #[test]
    fn single_precision_is_added_to_the_options() {
        let plain = Candidate::of("webgpu");
        assert_eq!(plain.in_single_precision().options, "precision=fp32");
        let second = Candidate {
            options: "gpu=1".into(),
            ..plain
        };
        assert_eq!(second.in_single_precision().options, "gpu=1,precision=fp32");
    }

    #[test]
    fn every_system_has_auto_the_native_backend_and_onnx_runtime_first() {
        let mut machine = Machine::this();
        machine.gpus.clear();
        machine.devices = None;
        let candidates = all_candidates(&machine);
        let names: Vec<_> = candidates
            .iter()
            .map(|candidate| candidate.backend.as_str())
            .collect();
        assert_eq!(names[..3], ["auto", "native", "onnxruntime"]);
        assert!(names.contains(&"webgpu"));
        assert!(
            !names.iter().any(|name| ["cuda", "tensorrt-rtx"].contains(name)),
            "{names:?}"
        );
        machine.devices = Some(vec!["/dev/nvidia0".into()]);
        let with_nvidia = all_candidates(&machine).len();
        assert_eq!(
            with_nvidia,
            names.len() + if cfg!(target_os = "macos") { 0 } else { 2 }
        );
        assert_eq!(candidates[1].providers(), []);
        assert_eq!(candidates[2].providers(), [Provider::Cpu]);
    }
}
