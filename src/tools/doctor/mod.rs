//! `zeitnot doctor`: what this machine has, which backends work on it, how fast and how right they are, and what would help.
//!
//! Nothing is fetched. Each backend is tried in a process of its own (`trial`), since a driver that crashes would take this one
//! along, and since a process can have but one ONNX Runtime. `parts` looks for drivers and libraries.

mod parts;
mod report;
mod trial;

use clap::Args;

use super::benchmark::machine::MachineInfo;
use super::output::eprint_message;
use super::{ExitStatus, Failure, NetworkArgs, Output};
use crate::network::backends::onnxruntime::{NAME as ONNX_RUNTIME, Provider, finder};
use crate::network::backends::{AUTO, BackendConfig, aliases, native};
use report::{BackendReport, DoctorReport, FAILS, NOT_FOR_THIS_MACHINE, NOT_INSTALLED};

/// The word of a description that says that a backend computes in single precision.
const SINGLE: &str = "fp32";

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Try the backend in this process and print what was found
    #[arg(long, hide = true)]
    trial: bool,
}

/// A backend to try.
#[derive(Clone, Debug)]
struct Candidate {
    /// The texts of `--backend` and `--backend-opts`.
    backend: String,
    options: String,
}

/// Runs the command. Exit code 1 if a backend was asked for and does not work.
pub(super) fn run(args: &DoctorArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    if args.trial {
        let trial = trial::run(&args.network)?;
        output.write(&trial, &trial)?;
        return Ok(ExitStatus::Success);
    }
    let options = &args.network.settings.network;
    let is_asked_for = *options.backend != *AUTO;
    let candidates = if is_asked_for {
        vec![Candidate { backend: options.backend.to_string(), options: options.backend_options.clone() }]
    } else {
        all_candidates()
    };
    let machine = MachineInfo::this();
    let mut backends = Vec::new();
    for candidate in &candidates {
        eprint_message(format_args!("trying {}", candidate.backend));
        let reports = examine(candidate, &args.network).into_iter();
        backends.extend(reports.map(|report| suited(report, candidate, &machine)));
    }
    let works = backends.iter().all(|backend| backend.works);
    let report = DoctorReport { machine, parts: parts::all(), backends };
    output.write(&report, &report)?;
    Ok(if is_asked_for && !works { ExitStatus::Negative } else { ExitStatus::Success })
}

/// Returns `auto`, and every backend that could evaluate networks on this system.
fn all_candidates() -> Vec<Candidate> {
    let is_of_system = |provider: &Provider| match provider {
        Provider::Cpu => false,
        Provider::CoreMl => cfg!(target_os = "macos"),
        Provider::DirectMl => cfg!(windows),
        Provider::MiGraphX => cfg!(target_os = "linux"),
        _ => !cfg!(target_os = "macos") || *provider == Provider::WebGpu,
    };
    let name = |provider: Provider| match aliases::short_names().find(|&name| name == provider.name()) {
        Some(name) => name.to_owned(),
        None => format!("{ONNX_RUNTIME}(provider={provider})"),
    };
    let own = [AUTO, native::NAME, ONNX_RUNTIME].map(str::to_owned);
    let all = own.into_iter().chain(Provider::ALL.into_iter().filter(is_of_system).map(name));
    all.map(|backend| Candidate { backend, options: String::new() }).collect()
}

/// Tries a backend in its default precision, and in single precision if that is another one.
fn examine(candidate: &Candidate, network: &NetworkArgs) -> Vec<BackendReport> {
    if let Some(reason) = candidate.providers().into_iter().find_map(missing) {
        return vec![BackendReport::without_figures(candidate.backend.clone(), NOT_INSTALLED, reason)];
    }
    let default = trial::in_child(candidate, network);
    let is_single = default.description.contains(SINGLE);
    let names_precision = candidate.options.contains("precision") || candidate.backend == AUTO;
    let mut reports = vec![default];
    if reports[0].works && !is_single && !names_precision {
        reports.push(trial::in_child(&candidate.in_single_precision(), network));
    }
    reports
}

/// Tells a backend that should work and does not from one that has nothing to compute with on this machine.
fn suited(report: BackendReport, candidate: &Candidate, machine: &MachineInfo) -> BackendReport {
    if ![FAILS, NOT_INSTALLED].contains(&&*report.verdict) {
        return report;
    }
    let devices = parts::device_files();
    let unsuited = |provider| parts::unsuited(provider, &machine.cpu, &devices);
    match candidate.providers().into_iter().find_map(unsuited) {
        Some(reason) => BackendReport::without_figures(report.backend, NOT_FOR_THIS_MACHINE, reason),
        None => report,
    }
}

/// Returns why `provider` cannot be tried, with a remedy.
fn missing(provider: Provider) -> Option<String> {
    if let Some(obstacle) = finder::obstacle(provider) {
        return Some(obstacle.to_string());
    }
    if finder::is_installed(provider) {
        return None;
    }
    Some(match provider {
        Provider::MiGraphX => {
            "not installed; put an ONNX Runtime that is built with it beside the program".into()
        }
        _ => format!("not installed; `zeitnot setup --provider {provider}` fetches it"),
    })
}

impl Candidate {
    /// Returns the providers of ONNX Runtime that it asks for, under whatever name; none if the texts cannot be read, which
    /// the trial will say.
    fn providers(&self) -> Vec<Provider> {
        BackendConfig::parse(&self.backend, &self.options).map_or(Vec::new(), |config| config.providers())
    }

    fn in_single_precision(&self) -> Candidate {
        let comma = if self.options.is_empty() { "" } else { "," };
        let options = format!("{}{comma}precision={SINGLE}", self.options);
        Candidate { options, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_is_added_to_the_options() {
        let plain = Candidate { backend: "webgpu".into(), options: String::new() };
        assert_eq!(plain.in_single_precision().options, "precision=fp32");
        let second = Candidate { options: "gpu=1".into(), ..plain };
        assert_eq!(second.in_single_precision().options, "gpu=1,precision=fp32");
    }

    #[test]
    fn every_system_has_auto_the_native_backend_and_onnx_runtime_first() {
        let candidates = all_candidates();
        let names: Vec<_> = candidates.iter().map(|candidate| candidate.backend.as_str()).collect();
        assert_eq!(names[..3], ["auto", "native", "onnxruntime"]);
        assert!(names.contains(&"webgpu"));
        assert_eq!(candidates[1].providers(), []);
        assert_eq!(candidates[2].providers(), [Provider::Cpu]);
    }
}
