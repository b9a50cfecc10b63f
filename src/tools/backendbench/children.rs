//! Measures the candidates for `--backend=auto` in children of this program.
//!
//! Each candidate gets a process of its own, `zeitnot backendbench`: it loads the ONNX Runtime that it needs, and where
//! its driver crashes, the candidate is left out and the engine lives.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::network::backends::auto_backend::{
    BATCH_SIZE, CandidateMeasurement, CandidateSpeed, ROUND, ROUNDS,
};
use crate::network::folders;
use crate::network::weights::NetworkFile;

/// The time between two looks at the children.
const TICK: Duration = Duration::from_millis(20);

/// Runs `backendbench` for all candidates at the same time.
#[derive(Clone, Copy, Debug)]
pub(in crate::tools) struct ChildProcesses;

impl CandidateMeasurement for ChildProcesses {
    fn measure(
        &self,
        network: &NetworkFile,
        candidates: &[&'static str],
        deadline: Instant,
    ) -> Vec<CandidateSpeed> {
        let Ok(program) = std::env::current_exe() else { return Vec::new() };
        let start =
            |name: &&'static str| Some((*name, backendbench(&program, &network.path, name).spawn().ok()?));
        let children: Vec<_> = candidates.iter().filter_map(start).collect();
        let speed = |(name, child)| report_of(child, deadline).and_then(|report| speed_in(name, &report));
        children.into_iter().filter_map(speed).collect()
    }
}

/// Returns the command that measures `backend` with the file `network`.
fn backendbench(program: &Path, network: &Path, backend: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["backendbench", "--json"])
        .arg(format!("--batches={BATCH_SIZE}"))
        .arg(format!("--rounds={ROUNDS}"))
        .arg(format!("--round-ms={}", ROUND.as_millis()))
        .args(["--backend", backend])
        .arg("--weights")
        .arg(network)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if folders::is_offline() {
        command.env(folders::OFFLINE_VARIABLE, "1");
    }
    command
}

/// Waits for the JSON report of `child` and kills the child if it is not done at `deadline`.
fn report_of(mut child: Child, deadline: Instant) -> Option<Value> {
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(TICK);
    }
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the speed in a report of one batch size; by the clock where the system does not measure CPU time.
fn speed_in(backend: &'static str, report: &Value) -> Option<CandidateSpeed> {
    let row = report.get(0)?;
    let figure = |name: &str| row.get(name).and_then(Value::as_f64);
    let (nps, deviation) = figure("cpu_nps")
        .zip(figure("cpu_deviation_nps"))
        .or_else(|| figure("median_nps").zip(figure("deviation_nps")))?;
    Some(CandidateSpeed { backend, nps, deviation: deviation / nps.max(1e-9) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cpu_time_counts_where_it_is_told() {
        let speed = |report: &Value| speed_in("native", report).map(|speed| (speed.nps, speed.deviation));
        let told =
            json!([{"median_nps": 5.0, "deviation_nps": 1.0, "cpu_nps": 8.0, "cpu_deviation_nps": 2.0}]);
        assert_eq!(speed(&told), Some((8.0, 0.25)));
        let untold = json!([{"median_nps": 5.0, "deviation_nps": 1.0, "cpu_nps": null}]);
        assert_eq!(speed(&untold), Some((5.0, 0.2)));
        assert_eq!(speed(&json!({"error": "no network"})), None);
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let program = if cfg!(windows) { "ping" } else { "sleep" };
        let child = Command::new(program).arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        assert_eq!(report_of(child, Instant::now() + Duration::from_millis(50)), None);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
