//! The measurement of the candidates for `auto`: the interface to whoever does it, and the way within this process.
//!
//! A process can load only one ONNX Runtime, builds of it differ in their providers, and a driver that crashes takes its
//! process along. Whoever wants each candidate isolated from the others must start processes, and only a program knows
//! how to start itself: so a program may hand in a [`CandidateMeasurement`] of its own by [`measure_with`], as `zeitnot`
//! does. Without one, [`InProcess`] measures what this process can measure.

use std::fmt::Debug;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::super::onnxruntime::{Provider, Runtime, finder};
use super::super::{BackendConfig, make, native};
use super::OPENVINO;
use crate::network::BackendError;
use crate::network::throughput::{BatchSizeSeries, RoundLength, SortedSamples, ThroughputMeter};
use crate::network::weights::NetworkFile;

/// What candidates compute on, and so how they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateKind {
    /// The cores: in CPU time of one thread, several at the same time.
    Processor,
    /// A GPU: by the clock, with two batches in flight, one after the other.
    Gpu,
}

impl CandidateKind {
    /// Returns the positions per batch while candidates are measured. A search that has just begun has no more for a GPU.
    pub fn batch_size(self) -> usize {
        match self {
            CandidateKind::Processor => 4,
            CandidateKind::Gpu => 64,
        }
    }

    /// Returns the threads that evaluate.
    pub fn threads(self) -> usize {
        match self {
            CandidateKind::Processor => 1,
            CandidateKind::Gpu => 2,
        }
    }
}

/// Rounds of a measurement.
pub const ROUNDS: u32 = 4;
/// The length of a round.
pub const ROUND: Duration = Duration::from_millis(40);

/// Names of backends of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// What they compute on.
    pub kind: CandidateKind,
    /// Their names.
    pub names: &'a [&'static str],
}

/// The speed at which a candidate evaluates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateSpeed {
    /// The candidate's name.
    pub backend: &'static str,
    /// Evaluations per second of CPU time; per second of the clock on a GPU, and where the system does not tell CPU time.
    pub nps: f64,
    /// Standard deviation of the rounds, as a share of `nps`.
    pub deviation: f64,
}

/// Measures how fast candidates evaluate.
pub trait CandidateMeasurement: Debug + Send + Sync {
    /// Measures `candidates` with `network`, and returns by `deadline` or soon after.
    ///
    /// Candidates that fail or that could not be measured in time are left out of what it returns.
    fn measure(
        &self,
        network: &NetworkFile,
        candidates: Candidates<'_>,
        deadline: Instant,
    ) -> Vec<CandidateSpeed>;
}

/// The measurement that the program has handed in.
static MEASUREMENT: OnceLock<&'static dyn CandidateMeasurement> = OnceLock::new();

/// Makes `auto` measure its candidates by `measurement` in this process from now on. Only the first call counts.
pub fn measure_with(measurement: &'static dyn CandidateMeasurement) {
    MEASUREMENT.get_or_init(|| measurement);
}

/// Returns the measurement in force.
pub(super) fn measurement() -> &'static dyn CandidateMeasurement {
    *MEASUREMENT.get().unwrap_or(&(&InProcess as &dyn CandidateMeasurement))
}

/// Measures candidates one after the other in this process.
///
/// Those of ONNX Runtime are measured with the one library that this process can have, which stays loaded: the one with
/// the provider `openvino` where that is a candidate, for it evaluates on plain CPUs too. None is fetched for this. GPUs are not
/// measured: their libraries would stay, and a driver that crashes would end the process.
#[derive(Clone, Copy, Debug)]
pub struct InProcess;

impl CandidateMeasurement for InProcess {
    fn measure(
        &self,
        network: &NetworkFile,
        candidates: Candidates<'_>,
        deadline: Instant,
    ) -> Vec<CandidateSpeed> {
        if candidates.kind == CandidateKind::Gpu {
            return Vec::new();
        }
        let library = if candidates.names.contains(&OPENVINO) { Provider::OpenVino } else { Provider::Cpu };
        let can_run = |name: &&&'static str| **name == native::NAME || has_library(library);
        let in_time = candidates.names.iter().filter(can_run).take_while(|_| Instant::now() < deadline);
        in_time.filter_map(|name| speed_of(name, network).ok()).collect()
    }
}

/// Loads the installed library that has `provider`, and returns whether there is one.
fn has_library(provider: Provider) -> bool {
    finder::is_installed(provider) && Runtime::get(provider).is_ok()
}

/// Measures one candidate.
fn speed_of(name: &'static str, network: &NetworkFile) -> Result<CandidateSpeed, BackendError> {
    let backend = make(&BackendConfig::parse(name, "")?, Some(network.clone()))?;
    let mut meter = ThroughputMeter::new(&*backend, 1)?;
    let round = RoundLength::Time(ROUND);
    let size = CandidateKind::Processor.batch_size();
    meter.warm_up(size)?;
    let mut series = meter.begin(size, round)?;
    for _ in 0..ROUNDS {
        meter.measure_round(&mut series, round)?;
    }
    let BatchSizeSeries { nps, cpu_nps, .. } = series;
    let rates = SortedSamples::of(if cpu_nps.is_empty() { &nps } else { &cpu_nps });
    let median = rates.percentile(50.0);
    Ok(CandidateSpeed { backend: name, nps: median, deviation: rates.deviation() / median.max(1e-9) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::network::weights::HeadChoice;

    #[test]
    fn the_native_backend_is_measured_within_the_process() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets/tiny.pb.gz");
        let network = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let soon = Instant::now() + Duration::from_secs(60);
        let candidates = Candidates { kind: CandidateKind::Processor, names: &[native::NAME] };
        let speeds = InProcess.measure(&network, candidates, soon);
        assert!(
            matches!(speeds[..], [CandidateSpeed { backend: native::NAME, nps, .. }] if nps > 0.0),
            "{speeds:?}"
        );
        assert_eq!(InProcess.measure(&network, candidates, Instant::now()), [], "too late");
    }
}
