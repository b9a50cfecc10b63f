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
use crate::network::backends::AUTO;
use crate::network::backends::onnxruntime::{NAME as ONNX_RUNTIME, Provider, finder};
use report::{BackendReport, DoctorReport};

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

/// A backend to try, as the user would name it.
#[derive(Clone, Debug)]
struct Candidate {
    backend: String,
    options: String,
    /// The provider of ONNX Runtime, if it is one.
    provider: Option<Provider>,
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
        let provider = Provider::named(&options.backend);
        vec![Candidate {
            backend: options.backend.to_string(),
            options: options.backend_options.clone(),
            provider,
        }]
    } else {
        all_candidates()
    };
    let mut backends = Vec::new();
    for candidate in &candidates {
        eprint_message(format_args!("trying {}", candidate.backend));
        backends.extend(examine(candidate, &args.network));
    }
    let works = backends.iter().all(|backend| backend.works);
    let report = DoctorReport { machine: MachineInfo::this(), parts: parts::all(), backends };
    output.write(&report, &report)?;
    Ok(if is_asked_for && !works { ExitStatus::Negative } else { ExitStatus::Success })
}

/// Returns every backend that could evaluate networks on this system.
fn all_candidates() -> Vec<Candidate> {
    let is_of_system = |provider: &Provider| match provider {
        Provider::Cpu => false,
        Provider::CoreMl => cfg!(target_os = "macos"),
        Provider::DirectMl => cfg!(windows),
        Provider::MiGraphX => cfg!(target_os = "linux"),
        _ => !cfg!(target_os = "macos") || *provider == Provider::WebGpu,
    };
    let own = ["native", ONNX_RUNTIME].map(|name| Candidate {
        backend: name.into(),
        options: String::new(),
        provider: (name == ONNX_RUNTIME).then_some(Provider::Cpu),
    });
    let of_provider = |provider: Provider| Candidate {
        backend: format!("{ONNX_RUNTIME}(provider={provider})"),
        options: String::new(),
        provider: Some(provider),
    };
    own.into_iter().chain(Provider::ALL.into_iter().filter(is_of_system).map(of_provider)).collect()
}

/// Tries a backend in its default precision, and in single precision if that is another one.
fn examine(candidate: &Candidate, network: &NetworkArgs) -> Vec<BackendReport> {
    if let Some(reason) = candidate.provider.and_then(missing) {
        return vec![BackendReport::missing(candidate.name(), reason)];
    }
    let default = trial::in_child(candidate, network);
    let is_single = default.description.contains(SINGLE);
    let names_precision = candidate.options.contains("precision");
    let mut reports = vec![default];
    if reports[0].works && !is_single && !names_precision {
        reports.push(trial::in_child(&candidate.in_single_precision(), network));
    }
    reports
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
    /// Returns the name for people: that of the provider, if it is one.
    fn name(&self) -> String {
        match self.provider {
            Some(Provider::Cpu) | None => self.backend.clone(),
            Some(provider) => provider.to_string(),
        }
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
        let plain = Candidate { backend: "webgpu".into(), options: String::new(), provider: None };
        assert_eq!(plain.in_single_precision().options, "precision=fp32");
        let second = Candidate { options: "gpu=1".into(), ..plain };
        assert_eq!(second.in_single_precision().options, "gpu=1,precision=fp32");
    }

    #[test]
    fn every_system_has_the_native_backend_and_onnx_runtime_first() {
        let names: Vec<_> = all_candidates().iter().map(Candidate::name).collect();
        assert_eq!(names[..2], ["native", "onnxruntime"]);
        assert!(names.contains(&"webgpu".to_owned()));
    }
}
