//! What the doctor reports, as text and as JSON.

use std::fmt;

use serde::Serialize;

use super::super::benchmark::machine::MachineInfo;
use super::parts::Part;
use super::trial::BatchSpeed;
use crate::network::backends::AUTO;
use crate::report::{Align, Table};

/// The largest differences from the reference that a backend may have.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) q_error_max: f64,
    /// Nats.
    pub(super) policy_kl_mean: f64,
    pub(super) top1_agreement: f64,
}

/// In single precision only the order of additions differs.
pub(super) const SINGLE_LIMITS: Limits =
    Limits { q_error_max: 2e-3, policy_kl_mean: 1e-5, top1_agreement: 0.98 };
/// In half precision or bfloat16 figures are rounded; a wrong layout or operator is off by tenths.
pub(super) const REDUCED_LIMITS: Limits =
    Limits { q_error_max: 0.15, policy_kl_mean: 0.01, top1_agreement: 0.85 };

/// The verdict on a backend that should work and does not …
pub(super) const FAILS: &str = "FAILS";
/// … on one that is not installed, or whose driver is not …
pub(super) const NOT_INSTALLED: &str = "not installed";
/// … and on one that has nothing to compute with here.
pub(super) const NOT_FOR_THIS_MACHINE: &str = "not for this machine";

/// How many times as fast as what `auto` takes a backend must be to be named; less may be noise.
const LEAST_GAIN: f64 = 1.2;

/// Everything that the doctor found.
#[derive(Debug, Serialize)]
pub(super) struct DoctorReport {
    pub(super) machine: MachineInfo,
    /// Drivers and libraries.
    pub(super) parts: Vec<Part>,
    pub(super) backends: Vec<BackendReport>,
}

/// What was found about one backend in one precision.
#[derive(Debug, Serialize)]
pub(super) struct BackendReport {
    pub(super) backend: String,
    /// Whether it evaluates, and rightly.
    pub(super) works: bool,
    pub(super) verdict: String,
    /// What to do; empty if nothing needs to be done.
    pub(super) remedy: String,
    /// Network, library, device, precision; empty if it did not come to that.
    pub(super) description: String,
    pub(super) first_ms: Option<f64>,
    pub(super) throughput: Vec<BatchSpeed>,
    /// Evaluations per second with the best of these sizes: of the device, or of all cores if each is as fast as the one that was
    /// measured.
    pub(super) machine_nps: Option<f64>,
    pub(super) q_error_max: Option<f64>,
    pub(super) policy_kl_mean: Option<f64>,
    pub(super) top1_agreement: Option<f64>,
}

impl BackendReport {
    /// Reports on a backend that gave no figures.
    pub(super) fn without_figures(backend: String, verdict: &str, remedy: String) -> BackendReport {
        BackendReport {
            backend,
            works: false,
            verdict: verdict.into(),
            remedy,
            description: String::new(),
            first_ms: None,
            throughput: Vec::new(),
            machine_nps: None,
            q_error_max: None,
            policy_kl_mean: None,
            top1_agreement: None,
        }
    }

    fn cells(&self) -> [String; 6] {
        let speeds = self.throughput.iter().map(|speed| format!("{}: {:.0}", speed.batch, speed.nps));
        let precision = self
            .description
            .rsplit(", ")
            .find(|word| ["fp32", "fp16", "bf16"].iter().any(|precision| word.starts_with(precision)));
        [
            format!("{} {}", self.backend, precision.unwrap_or_default()),
            self.verdict.clone(),
            self.first_ms.map_or(String::new(), |ms| format!("{:.1}", ms / 1e3)),
            speeds.collect::<Vec<_>>().join(", "),
            self.q_error_max.map_or(String::new(), |error| format!("{error:.1e}")),
            self.top1_agreement.map_or(String::new(), |share| format!("{:.1}", 100.0 * share)),
        ]
    }
}

impl DoctorReport {
    /// Says which backend is faster than what `auto` takes, and how to set it; `None` where none is.
    fn advice(&self) -> Option<String> {
        let speed = |report: &&BackendReport| report.machine_nps.filter(|_| report.works).unwrap_or(0.0);
        let auto = self.backends.iter().find(|report| report.backend == AUTO).map(|report| speed(&report))?;
        let best = self.backends.iter().max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
        let gain = speed(&best) / auto;
        (auto > 0.0 && gain > LEAST_GAIN).then(|| {
            let name = &best.backend;
            format!("{name} evaluates {gain:.1} times as fast as what auto takes: --backend={name} sets it, or the option Backend")
        })
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MachineInfo { cpu, cores, memory_gb, system, gpus } = &self.machine;
        writeln!(f, "machine   {cpu}, {cores} cores")?;
        writeln!(f, "          {system}{}", memory_gb.map_or(String::new(), |gb| format!(", {gb} GB")))?;
        gpus.iter().try_for_each(|gpu| writeln!(f, "          {gpu}"))?;
        for part in &self.parts {
            writeln!(f, "{part}")?;
        }
        let mut table = Table::new(
            "Backends: seconds to the first evaluation, evaluations per second by batch size, largest error of q, same best move",
            &[
                ("backend", Align::Left),
                ("verdict", Align::Left),
                ("first s", Align::Right),
                ("batch: per second", Align::Left),
                ("q error", Align::Right),
                ("same, %", Align::Right),
            ],
        );
        for backend in &self.backends {
            table.row(backend.cells());
        }
        writeln!(f, "\n{table}")?;
        self.advice().iter().try_for_each(|advice| writeln!(f, "{advice}"))?;
        for backend in self.backends.iter().filter(|backend| !backend.remedy.is_empty()) {
            writeln!(f, "{}: {}", backend.backend, backend.remedy)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_that_is_clearly_faster_than_auto_s_choice_is_named() {
        let backend = |name: &str, nps: f64, works: bool| {
            let blank = BackendReport::without_figures(name.into(), "", String::new());
            BackendReport { works, machine_nps: Some(nps), ..blank }
        };
        let advice = |others: Vec<BackendReport>| {
            let backends = [backend(AUTO, 1000.0, true)].into_iter().chain(others).collect();
            DoctorReport { machine: MachineInfo::this(), parts: Vec::new(), backends }.advice()
        };
        let named = advice(vec![backend("native", 1100.0, true), backend("webgpu", 3000.0, true)]).unwrap();
        assert!(
            named.starts_with("webgpu evaluates 3.0 times as fast") && named.contains("--backend=webgpu")
        );
        assert_eq!(advice(vec![backend("native", 1100.0, true), backend("cuda", 9000.0, false)]), None);
    }
}
