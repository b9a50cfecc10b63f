//! The trial of one backend: how long it takes to be ready, whether its numbers are right, how fast it is.

use std::fmt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::super::accuracy::{AccuracyReport, EvaluatedBy};
use super::super::child_process::{self, ChildError, ChildProcess, last_message};
use super::super::{Failure, NetworkArgs};
use super::Candidate;
use super::report::{BackendReport, FAILS, Limits, REDUCED_LIMITS, SINGLE_LIMITS};
use crate::engine;
use crate::network::throughput::{self, RoundLength, SortedSamples, ThroughputMeter};
use crate::network::weights::Model;
use crate::network::{Backend, BackendError, Evaluator, Processor, backends, cores};

/// Positions on which numbers are compared; they are the same in each trial.
const POSITIONS: usize = 64;
/// Batch sizes whose speed is measured, on cores and on devices beside them.
const CPU_SIZES: [usize; 3] = [1, 8, 32];
const ACCELERATOR_SIZES: [usize; 3] = [1, 32, 256];
/// A round of a measurement, at least one batch.
const ROUND: RoundLength = RoundLength::Time(Duration::from_millis(150));
const ROUNDS: usize = 3;
/// A size is left out if one batch would take longer than this, s.
const LONGEST_BATCH: f64 = 2.0;
/// The time within which a trial must end.
const PATIENCE: Duration = Duration::from_secs(240);

/// What a trial found.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trial {
    description: String,
    /// Time from the beginning to the first evaluation, ms; builds what is built once.
    first_ms: f64,
    throughput: Vec<BatchSpeed>,
    machine_nps: f64,
    q_error_max: f64,
    policy_kl_mean: f64,
    top1_agreement: f64,
}

/// The speed with one batch size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BatchSpeed {
    /// Positions per batch.
    pub(super) batch: usize,
    /// Evaluations per second.
    pub(super) nps: f64,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{self:?}")
    }
}

/// Tries the backend in this process.
pub(super) fn run(network: &NetworkArgs) -> Result<Trial, Failure> {
    let start = Instant::now();
    let tested = engine::open_backend(&network.settings.network)?.backend;
    let format = tested.info().input_format;
    let mut evaluator = tested.evaluator()?;
    let mut found = throughput::encoded_positions(0, POSITIONS, format);
    let mut expected = found.clone();
    evaluator.evaluate(&mut found[..1])?;
    let first_ms = 1e3 * start.elapsed().as_secs_f64();
    evaluate_all(&mut *evaluator, &mut found, tested.info().max_batch)?;
    drop(evaluator);

    let reference = reference(network)?;
    evaluate_all(&mut *reference.evaluator()?, &mut expected, reference.info().max_batch)?;
    let accuracy = AccuracyReport::new(
        EvaluatedBy { backend: &*tested, slots: &found },
        EvaluatedBy { backend: &*reference, slots: &expected },
    );
    let throughput = speeds(&*tested)?;
    let workers = if tested.info().processor == Processor::Cpu { cores() } else { 1 };
    let best_nps = throughput.iter().map(|speed| speed.nps).fold(0.0, f64::max);
    Ok(Trial {
        description: tested.info().description.clone(),
        first_ms,
        throughput,
        machine_nps: best_nps * workers as f64,
        q_error_max: accuracy.q_error.max,
        policy_kl_mean: accuracy.policy_kl.mean,
        top1_agreement: accuracy.top1_agreement,
    })
}

fn evaluate_all(
    evaluator: &mut dyn Evaluator,
    slots: &mut [crate::network::EvalSlot],
    max_batch: usize,
) -> Result<(), BackendError> {
    slots.chunks_mut(max_batch).try_for_each(|batch| evaluator.evaluate(batch))
}

/// Makes the backend that others are compared with: the native one, or for ONNX models ONNX Runtime on the CPU.
fn reference(network: &NetworkArgs) -> Result<std::sync::Arc<dyn Backend>, Failure> {
    let options = &network.settings.network;
    let file = engine::load_network(options).map_err(engine::EngineError::from)?.network;
    let name = match file.model {
        Model::Layers(..) => "native(precision=fp32)",
        Model::Onnx(_) => "onnxruntime(provider=cpu)",
    };
    Ok(backends::create(&backends::BackendConfig::parse(name, "")?, Some(file))?)
}

/// Measures the speed of three batch sizes, less those that would take too long.
fn speeds(backend: &dyn Backend) -> Result<Vec<BatchSpeed>, BackendError> {
    let sizes = match backend.info().processor {
        Processor::Cpu => CPU_SIZES,
        Processor::Accelerator => ACCELERATOR_SIZES,
    };
    let mut meter = ThroughputMeter::new(backend, 1)?;
    let mut speeds: Vec<BatchSpeed> = Vec::new();
    for size in sizes {
        let expected = speeds.last().map_or(0.0, |last| size as f64 / last.nps);
        if expected > LONGEST_BATCH {
            break;
        }
        let mut series = meter.begin(size, RoundLength::Batches(1))?;
        for _ in 0..ROUNDS {
            meter.measure_round(&mut series, ROUND)?;
        }
        speeds.push(BatchSpeed { batch: size, nps: SortedSamples::of(&series.nps).percentile(50.0) });
    }
    Ok(speeds)
}

/// Tries `candidate` in a process of its own.
pub(super) fn in_child(candidate: &Candidate, network: &NetworkArgs) -> BackendReport {
    match answer_of_child(candidate, network) {
        Ok(trial) => judged(candidate.backend.clone(), trial),
        Err(reason) => BackendReport::without_figures(candidate.backend.clone(), FAILS, reason),
    }
}

fn answer_of_child(candidate: &Candidate, network: &NetworkArgs) -> Result<Trial, String> {
    let options = &network.settings.network;
    let start = || {
        let mut command = child_process::command()?;
        command
            .args(["doctor", "--trial", "--json"])
            .arg(format!("--backend={}", candidate.backend))
            .arg(format!("--backend-opts={}", candidate.options))
            .arg(format!("--weights={}", options.weights_file))
            .arg(format!("--policy-head={}", options.policy_head))
            .arg(format!("--value-head={}", options.value_head))
            .stderr(Stdio::piped());
        ChildProcess::start(&mut command)
    };
    let child = start().map_err(|error| error.to_string())?;
    let answer = child.answer_by(Instant::now() + PATIENCE).map_err(|error| match error {
        ChildError::Late => format!("did not answer within {} s", PATIENCE.as_secs()),
        error => error.to_string(),
    })?;
    serde_json::from_str(&answer.stdout).map_err(|_| last_message(&answer.stderr))
}

/// Returns the report on a backend that has answered, with a verdict on its numbers.
fn judged(name: String, trial: Trial) -> BackendReport {
    let limits: &Limits =
        if trial.description.contains(super::SINGLE) { &SINGLE_LIMITS } else { &REDUCED_LIMITS };
    let is_right = trial.q_error_max <= limits.q_error_max
        && trial.policy_kl_mean <= limits.policy_kl_mean
        && trial.top1_agreement >= limits.top1_agreement;
    BackendReport {
        backend: name,
        works: is_right,
        verdict: if is_right { "works".into() } else { "WRONG NUMBERS".into() },
        remedy: if is_right {
            String::new()
        } else {
            "don't play with it; update the driver, and report this output".into()
        },
        description: trial.description,
        first_ms: Some(trial.first_ms),
        throughput: trial.throughput,
        machine_nps: Some(trial.machine_nps),
        q_error_max: Some(trial.q_error_max),
        policy_kl_mean: Some(trial.policy_kl_mean),
        top1_agreement: Some(trial.top1_agreement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(description: &str, q_error_max: f64) -> Trial {
        let throughput = vec![BatchSpeed { batch: 1, nps: 100.0 }];
        let description = description.to_owned();
        Trial {
            description,
            first_ms: 1.0,
            throughput,
            machine_nps: 100.0,
            q_error_max,
            policy_kl_mean: 1e-7,
            top1_agreement: 1.0,
        }
    }

    #[test]
    fn numbers_that_are_off_are_no_working_backend() {
        assert!(judged("cuda".into(), trial("cuda, fp32", 1e-5)).works);
        assert!(judged("cuda".into(), trial("cuda, fp16", 0.02)).works);
        let wrong = judged("cuda".into(), trial("cuda, fp32", 0.02));
        assert_eq!((wrong.works, wrong.verdict.as_str()), (false, "WRONG NUMBERS"));
        assert!(!judged("cuda".into(), trial("cuda, fp16", f64::NAN)).works, "nothing is right about NaN");
    }
}
