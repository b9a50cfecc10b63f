//! Measures the candidates for `--backend=auto` in children of this program.
//!
//! Each candidate gets a process of its own, `zeitnot backendbench`: it loads the ONNX Runtime that it needs, and where
//! its driver crashes, the candidate is left out and the engine lives.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::network::backends::auto_backend::{
    CandidateKind, CandidateMeasurement, CandidateSpeed, Candidates, ROUND, ROUNDS,
};
use crate::network::weights::NetworkFile;
use crate::tools::child_process::{self, ChildProcess};

/// Runs `backendbench` for candidates on the processor at the same time, for GPUs one after the other.
#[derive(Clone, Copy, Debug)]
pub(in crate::tools) struct ChildProcesses;

impl CandidateMeasurement for ChildProcesses {
    fn measure(
        &self,
        network: &NetworkFile,
        Candidates { kind, names }: Candidates<'_>,
        deadline: Instant,
    ) -> Vec<CandidateSpeed> {
        let start = |name: &&'static str| {
            let mut command = backendbench(&network.path, name, kind).ok()?;
            Some((*name, ChildProcess::start(&mut command).ok()?))
        };
        let speed = |(name, child): (_, ChildProcess)| {
            let answer = child.answer_by(deadline).ok()?;
            speed_in(name, kind, &serde_json::from_str(&answer.stdout).ok()?)
        };
        if kind == CandidateKind::Gpu {
            return names.iter().filter_map(start).filter_map(speed).collect();
        }
        let children: Vec<_> = names.iter().filter_map(start).collect();
        children.into_iter().filter_map(speed).collect()
    }
}

/// Returns the command that measures `backend` with the file `network`.
fn backendbench(network: &Path, backend: &str, kind: CandidateKind) -> io::Result<Command> {
    let mut command = child_process::command()?;
    command
        .args(["backendbench", "--json"])
        .arg(format!("--batches={}", kind.batch_size()))
        .arg(format!("--threads={}", kind.threads()))
        .arg(format!("--rounds={ROUNDS}"))
        .arg(format!("--round-ms={}", ROUND.as_millis()))
        .args(["--backend", backend])
        .arg("--weights")
        .arg(network)
        .stderr(Stdio::null());
    Ok(command)
}

/// Returns the speed in a report of one batch size; by the clock on a GPU and where the system does not measure CPU time.
fn speed_in(backend: &'static str, kind: CandidateKind, report: &Value) -> Option<CandidateSpeed> {
    let row = report.get(0)?;
    let figure = |name: &str| row.get(name).and_then(Value::as_f64);
    let (nps, deviation) = figure("cpu_nps")
        .zip(figure("cpu_deviation_nps"))
        .filter(|_| kind == CandidateKind::Processor)
        .or_else(|| figure("median_nps").zip(figure("deviation_nps")))?;
    Some(CandidateSpeed { backend, nps, deviation: deviation / nps.max(1e-9) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cpu_time_counts_where_it_is_told() {
        let speed_as =
            |kind, report: &Value| speed_in("native", kind, report).map(|speed| (speed.nps, speed.deviation));
        let speed = |report: &Value| speed_as(CandidateKind::Processor, report);
        let told =
            json!([{"median_nps": 5.0, "deviation_nps": 1.0, "cpu_nps": 8.0, "cpu_deviation_nps": 2.0}]);
        assert_eq!(speed(&told), Some((8.0, 0.25)));
        assert_eq!(speed_as(CandidateKind::Gpu, &told), Some((5.0, 0.2)), "a GPU takes no CPU time");
        let untold = json!([{"median_nps": 5.0, "deviation_nps": 1.0, "cpu_nps": null}]);
        assert_eq!(speed(&untold), Some((5.0, 0.2)));
        assert_eq!(speed(&json!({"error": "no network"})), None);
    }
}
