//! The backend `auto`: the choice that is made for the user. This module alone decides it.
//!
//! On cores, residual towers go to `native`, which is the fastest there. For networks with an attention body and for ONNX models
//! `resolve` takes the fastest of what is installed: all candidates are measured within `PATIENCE`, in CPU time, by
//! the [`CandidateMeasurement`] in force. Where a GPU's library is at hand, the winner on all cores is then weighed against the GPU,
//! for every network. The choice is kept in the cache folder for this processor, its GPUs and the network (`remembered`). Where
//! time ran out or the figures scatter, what is kept is a guess, and the second, fourth, eighth … start from then on measures again.
//!
//! Nothing is measured where options stand beside `auto`, where it is one of several devices, or where it is the
//! fallback of a device that is not available: `make` then takes `native` where that evaluates the network, and else
//! ONNX Runtime.

mod measure;
mod remembered;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::onnxruntime::{self, DeviceOptions, Provider, Runtime, finder};
use super::{AUTO, BackendConfig, Fallback, native, native_backend, onnx_runtime_backend, with_notes};
use crate::network::weights::{Body, Model, NetworkFile};
use crate::network::{Backend, BackendError, cores};
use crate::params::Params;

pub use measure::{
    CandidateKind, CandidateMeasurement, CandidateSpeed, Candidates, InProcess, ROUND, ROUNDS, measure_with,
};
use remembered::{ChoiceFile, RememberedChoice};

/// OpenVINO's short name.
const OPENVINO: &str = "openvino";
/// The backends among which `auto` chooses; of two that are as fast it takes the first one.
const CANDIDATES: [&str; 3] = [native::NAME, onnxruntime::NAME, OPENVINO];
/// Gain for which a later candidate is taken: `native` needs no library, and its bf16 is five times nearer to fp32 than
/// OpenVINO's (mean policy KL 7e-6 against 39e-6, 256x8 encoders).
const LEAST_GAIN: f64 = 0.1;
/// The GPUs that are weighed against the cores, where their libraries are at hand. TensorRT is none: it builds for minutes.
const GPUS: [Provider; 3] = [Provider::TensorRtRtx, Provider::Cuda, Provider::WebGpu];
/// Gain for which a GPU is taken in the place of all cores: small batches, as at the begin of a search, suit it less than what is
/// measured.
const LEAST_GAIN_OF_GPU: f64 = 0.5;
/// The deviation of the rounds, as a share of their median, above which a choice counts as a guess.
const NOISY: f64 = 0.15;
/// The time within which all candidates are to be measured.
const PATIENCE: Duration = Duration::from_millis(2900);
/// The time within which GPUs are to be measured after them, which compile their kernels first. GUIs wait 15 s for an engine.
const PATIENCE_WITH_GPUS: Duration = Duration::from_secs(9);

/// The candidate to take after a measurement, with the reason.
#[derive(Clone, Debug, PartialEq)]
struct MeasuredChoice {
    backend: &'static str,
    why: String,
    is_guess: bool,
}

/// Returns `config`, or in the place of `auto` without options the backend that is fastest here with `network`.
///
/// # Errors
/// Fails only if a candidate's name does not parse; the choice itself never fails.
pub(super) fn resolve<'a>(
    config: &'a BackendConfig,
    network: Option<&NetworkFile>,
) -> Result<Cow<'a, BackendConfig>, BackendError> {
    let Some(network) = network.filter(|_| config.name == AUTO && config.options.is_empty()) else {
        return Ok(Cow::Borrowed(config));
    };
    let at_hand = GPUS.into_iter().filter(|&gpu| finder::is_at_hand(gpu));
    resolve_beside(config, network, &at_hand.map(Provider::name).collect::<Vec<_>>())
}

/// Resolves `auto` where `gpus` are at hand.
fn resolve_beside<'a>(
    config: &'a BackendConfig,
    network: &NetworkFile,
    gpus: &[&'static str],
) -> Result<Cow<'a, BackendConfig>, BackendError> {
    if is_tower(network) && gpus.is_empty() {
        return Ok(Cow::Borrowed(config));
    }
    let (name, why) = fastest(network, gpus);
    // Nobody has asked for a GPU: if it is gone since it was measured, the CPU will do.
    let mut chosen = BackendConfig::parse(name, "")?.with_fallback(Fallback::Cpu);
    chosen.notes = config.notes.clone();
    chosen.notes.extend(why.map(|why| format!("backend auto takes {name}: {why}")));
    Ok(Cow::Owned(chosen))
}

/// Makes `native` if it evaluates `network` and no provider is named, else ONNX Runtime, without any measurement.
///
/// # Errors
/// Fails if an option is unknown to the backend that was taken, or that backend is not available.
pub(super) fn make(network: NetworkFile, options: &Params) -> Result<Arc<dyn Backend>, BackendError> {
    if !is_for_native(&network) || options.get("provider").is_some() {
        return onnx_runtime_backend(network, options);
    }
    let (own, notes) = without_foreign(options);
    Ok(with_notes::with_notes(Arc::new(native_backend(&network, &own)?), notes))
}

/// Returns `options` without those that only ONNX Runtime has, which mean nothing to the native backend, and a note on
/// each of these.
fn without_foreign(options: &Params) -> (Params, Vec<String>) {
    let foreign = ["gpu", "threads", "cuda-graph"];
    let given = foreign.iter().filter(|key| options.get(key).is_some());
    let note = |key| {
        format!(
            "the backend's option {key} has no effect: {} evaluates on the search's threads",
            native::NAME
        )
    };
    (options.without(&foreign), given.map(note).collect())
}

/// Returns whether `network` is a residual tower. On CPUs the native backend is then the fastest.
fn is_tower(network: &NetworkFile) -> bool {
    matches!(&network.model, Model::Layers(layers, _) if matches!(layers.body, Body::Tower(_)))
}

/// Returns whether the native backend evaluates `network`.
fn is_for_native(network: &NetworkFile) -> bool {
    matches!(&network.model, Model::Layers(layers, _) if native::evaluates(layers))
}

/// Returns the candidate to take for `network`, and the reason if there was a choice.
fn fastest(network: &NetworkFile, gpus: &[&'static str]) -> (&'static str, Option<String>) {
    let usual = if is_for_native(network) { native::NAME } else { onnxruntime::NAME };
    if Runtime::in_use().is_some() {
        return match usual {
            onnxruntime::NAME if finder::is_installed(Provider::OpenVino) => {
                (OPENVINO, Some("it is installed".into()))
            }
            _ => (usual, None),
        };
    }
    let file = ChoiceFile::of(network, gpus);
    let guessed = match file.read() {
        Some(RememberedChoice { backend, guessed: 0 }) => {
            return (backend, Some("it was the fastest here when they were measured".into()));
        }
        Some(RememberedChoice { backend, guessed }) if !(guessed + 1).is_power_of_two() => {
            file.write(RememberedChoice { backend, guessed: guessed + 1 });
            return (backend, Some("a guess; a later start will measure again".into()));
        }
        Some(RememberedChoice { guessed, .. }) => guessed,
        None => 0,
    };
    let possible = if is_tower(network) { vec![usual] } else { possible_candidates(usual) };
    if possible.len() + gpus.len() < 2 {
        return (usual, None);
    }
    let measure = |kind, names: &[&'static str], patience| {
        measure::measurement().measure(network, Candidates { kind, names }, Instant::now() + patience)
    };
    let speeds = measure(CandidateKind::Processor, &possible, PATIENCE);
    let mut choice = choose(&possible, &speeds);
    if !gpus.is_empty() {
        let of_gpus = measure(CandidateKind::Gpu, gpus, PATIENCE_WITH_GPUS);
        let speed = speeds.iter().find(|speed| speed.backend == choice.backend);
        let on_cores = speed.map_or(0.0, |speed| speed.nps * cores() as f64);
        choice = weigh(&choice, on_cores, (gpus, &of_gpus));
    }
    let MeasuredChoice { backend, why, is_guess } = choice;
    file.write(RememberedChoice { backend, guessed: if is_guess { guessed + 1 } else { 0 } });
    (backend, Some(why))
}

/// Returns the usual candidate, and those whose libraries are installed.
fn possible_candidates(usual: &'static str) -> Vec<&'static str> {
    let is_possible = |name: &&str| match *name {
        native::NAME => usual == native::NAME,
        OPENVINO => finder::is_installed(Provider::OpenVino),
        name => name == usual || finder::is_installed(Provider::Cpu),
    };
    CANDIDATES.into_iter().filter(is_possible).collect()
}

/// Returns the fastest of the `possible` candidates with the reason; the usual one, if that was not measured in time.
fn choose(possible: &[&'static str], speeds: &[CandidateSpeed]) -> MeasuredChoice {
    let usual = usual(possible);
    let mut best: Option<&CandidateSpeed> = None;
    for speed in speeds {
        if best.is_none_or(|best| speed.nps > best.nps * (1.0 + LEAST_GAIN)) {
            best = Some(speed);
        }
    }
    let Some(best) = best.filter(|_| speeds.iter().any(|speed| speed.backend == usual)) else {
        let why = "that is usual for this processor; measuring took too long, a later start will try again";
        return MeasuredChoice { backend: usual, why: why.into(), is_guess: true };
    };
    let mut why = format!("{:.0} positions per CPU second", best.nps);
    for other in speeds.iter().filter(|other| other.backend != best.backend) {
        why += &format!(", {:.0} with {}", other.nps, other.backend);
    }
    let is_late = speeds.len() < possible.len();
    let is_noisy = speeds.iter().any(|speed| speed.deviation > NOISY);
    why += match (is_late, is_noisy) {
        (true, _) => "; not all were measured in time, a later start will try again",
        (false, true) => "; the machine was noisy, a later start will measure again",
        (false, false) => "",
    };
    MeasuredChoice { backend: best.backend, why, is_guess: is_late || is_noisy }
}

/// Returns the fastest GPU if it is so much faster than `cpu`, which evaluates `on_cores` positions a second on all cores, that it
/// is taken; else `cpu`. Without a measurement of both that is a guess.
fn weigh(
    cpu: &MeasuredChoice,
    on_cores: f64,
    (gpus, speeds): (&[&'static str], &[CandidateSpeed]),
) -> MeasuredChoice {
    let mut why = format!("{on_cores:.0} positions a second with {} on all cores", cpu.backend);
    for gpu in gpus {
        match speeds.iter().find(|speed| speed.backend == *gpu) {
            Some(speed) => why += &format!(", {:.0} with {gpu}", speed.nps),
            None => why += &format!(", {gpu} not measured in time (zeitnot doctor says whether it works)"),
        }
    }
    let best = speeds.iter().max_by(|a, b| a.nps.total_cmp(&b.nps));
    let is_worth_it =
        |speed: &&CandidateSpeed| on_cores > 0.0 && speed.nps > on_cores * (1.0 + LEAST_GAIN_OF_GPU);
    let is_late = speeds.len() < gpus.len();
    let is_noisy = speeds.iter().any(|speed| speed.deviation > NOISY);
    MeasuredChoice {
        backend: best.filter(is_worth_it).map_or(cpu.backend, |speed| speed.backend),
        why,
        is_guess: cpu.is_guess || is_late || is_noisy,
    }
}

/// Returns the candidate that is most often the fastest of the `possible` ones.
fn usual(possible: &[&'static str]) -> &'static str {
    let options = Params::default().with("provider", OPENVINO);
    let has_bfloat16 = || DeviceOptions::parse(&options).is_ok_and(|device| device.precision == "bf16");
    match possible.first().copied().unwrap_or(onnxruntime::NAME) {
        onnxruntime::NAME if possible.contains(&OPENVINO) && has_bfloat16() => OPENVINO,
        first => first,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::network::weights::HeadChoice;

    #[test]
    fn the_fastest_one_is_taken_if_all_were_measured() {
        let speed = |backend, nps| CandidateSpeed { backend, nps, deviation: 0.02 };
        let speeds = [speed("native", 234.0), speed("onnxruntime", 117.2), speed("openvino", 240.4)];
        let choice = choose(&CANDIDATES, &speeds);
        let why = "234 positions per CPU second, 117 with onnxruntime, 240 with openvino".to_owned();
        assert_eq!(choice, MeasuredChoice { backend: "native", why, is_guess: false }, "3 % are no reason");
        let faster = [speeds[0], speeds[1], speed("openvino", 270.0)];
        assert_eq!(choose(&CANDIDATES, &faster).backend, "openvino");
        let noisy = [speeds[0], CandidateSpeed { deviation: 0.3, ..speeds[1] }, speeds[2]];
        assert!(choose(&CANDIDATES, &noisy).is_guess);
        let late = choose(&CANDIDATES, &speeds[1..]);
        assert_eq!((late.backend, late.is_guess), ("native", true));
        let part = choose(&CANDIDATES, &[faster[0], faster[2]]);
        assert_eq!((part.backend, part.is_guess), ("openvino", true));
    }

    #[test]
    fn a_gpu_must_be_much_faster_than_all_cores() {
        let cpu = MeasuredChoice { backend: "native", why: String::new(), is_guess: false };
        let speed = |backend, nps| CandidateSpeed { backend, nps, deviation: 0.02 };
        let weighed = |gpus: &[&'static str], speeds: &[CandidateSpeed]| {
            let choice = weigh(&cpu, 1000.0, (gpus, speeds));
            (choice.backend, choice.is_guess)
        };
        assert_eq!(weighed(&["webgpu"], &[speed("webgpu", 1400.0)]), ("native", false));
        assert_eq!(weighed(&["webgpu"], &[speed("webgpu", 1600.0)]), ("webgpu", false));
        let both = [speed("cuda", 9000.0), speed("webgpu", 5000.0)];
        assert_eq!(weighed(&["cuda", "webgpu"], &both), ("cuda", false));
        assert_eq!(weighed(&["cuda", "webgpu"], &both[1..]), ("webgpu", true));
        assert_eq!(weighed(&["webgpu"], &[]), ("native", true));
        assert_eq!(
            weigh(&cpu, 0.0, (&["cuda"], &both[..1])).backend,
            "native",
            "the cores were not measured"
        );
        let why = weigh(&cpu, 1000.0, (&["cuda", "webgpu"], &both[..1])).why;
        assert!(
            why.starts_with("1000 positions a second with native on all cores, 9000 with cuda, webgpu not"),
            "{why}"
        );
    }

    #[test]
    fn towers_and_options_leave_nothing_to_measure() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets/tiny.pb.gz");
        let tower = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let auto = BackendConfig::parse(AUTO, "").unwrap();
        assert_eq!(*resolve_beside(&auto, &tower, &[]).unwrap(), auto);
        let with_options = BackendConfig::parse(AUTO, "threads=1").unwrap();
        assert_eq!(*resolve(&with_options, Some(&tower)).unwrap(), with_options);
        assert_eq!(*resolve(&auto, None).unwrap(), auto);
    }

    #[test]
    fn options_of_onnx_runtime_are_no_obstacle_where_the_native_backend_is_chosen() {
        let (own, notes) = without_foreign(&Params::parse("threads=2,precision=fp32,gpu=0").unwrap());
        assert_eq!(own, Params::parse("precision=fp32").unwrap());
        assert_eq!(notes.len(), 2);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets/tiny.pb.gz");
        let network = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let backend = make(network, &Params::parse("threads=2").unwrap()).unwrap();
        assert_eq!((backend.info().name.as_str(), backend.take_notes().len()), (native::NAME, 1));
    }
}
