//! The card of a run: a few figures as one JSON object and one line, always the same, so that those of many machines can stand
//! side by side. It names no folder of the user's.

use std::fmt;

use serde::Serialize;

use super::report::BenchmarkReport;

/// The number of the card's form; it grows when a key changes its meaning.
const FORM: u32 = 1;

/// A run in a few figures.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Card {
    zeitnot_card: u32,
    version: &'static str,
    nps: u64,
    evaluations_per_s: f64,
    mean_batch: f64,
    device_busy: Option<f64>,
    /// Seconds until the backend was ready.
    ready_s: f64,
    first_batch_ms: Option<f64>,
    watts: Option<f64>,
    nodes_per_joule: Option<f64>,
    backend: String,
    /// Kernels, or library, device and precision.
    computes: String,
    /// The SHA-256 of the network's file.
    network: Option<String>,
    threads: usize,
    minibatch_size: usize,
    limit: String,
    positions: usize,
    options: Vec<String>,
    cpu: String,
    cores: usize,
    gpus: Vec<String>,
    system: String,
    /// The share by which two runs like this may differ by chance.
    expected_difference: f64,
    is_noisy: bool,
}

impl Card {
    pub(super) fn of(report: &BenchmarkReport) -> Card {
        let report = report.clone();
        let computes = without_network(&report.description, report.network.is_some());
        Card {
            zeitnot_card: FORM,
            version: report.version,
            nps: report.figures.nps,
            evaluations_per_s: report.evaluations_per_s,
            mean_batch: report.figures.mean_batch,
            device_busy: report.device_busy,
            ready_s: report.ready_s,
            first_batch_ms: report.first_batch_ms,
            watts: report.sensors.watts,
            nodes_per_joule: report.sensors.nodes_per_joule,
            computes,
            backend: report.backend,
            network: report.network,
            threads: report.threads,
            minibatch_size: report.minibatch_size,
            limit: report.limit,
            positions: report.positions.len(),
            options: report.options,
            cpu: report.machine.cpu,
            cores: report.machine.cores,
            gpus: report.machine.gpus,
            system: report.machine.system,
            expected_difference: report.noise.expected_difference,
            is_noisy: report.noise.is_noisy,
        }
    }
}

/// Returns `description` without the name of the network's file, with which it begins if it `has_network`.
fn without_network(description: &str, has_network: bool) -> String {
    let ends = [", ", " on "].map(|separator| description.find(separator).map(|at| at + separator.len()));
    let end = ends.into_iter().flatten().min().filter(|_| has_network);
    description[end.unwrap_or(0)..].to_owned()
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network.as_ref().map_or("none", |hash| &hash[..hash.len().min(12)]);
        let noise = if self.is_noisy {
            "noisy".into()
        } else {
            format!("±{:.1} %", 100.0 * self.expected_difference)
        };
        let busy = self.device_busy.map_or("–".into(), |busy| format!("{:.0} %", 100.0 * busy));
        let energy = self.nodes_per_joule.map_or("–".into(), |rate| format!("{rate:.1}"));
        let machine = if self.gpus.is_empty() { &self.cpu } else { &self.gpus[0] };
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        write!(
            f,
            "zeitnot card {FORM} | {} nps {noise} | {:.0} evals/s | batch {:.1} | busy {busy} | {energy} nodes/J | {}, {} {threads} | \
             net {network} | {} x {} | {machine} x{} | {}",
            self.nps,
            self.evaluations_per_s,
            self.mean_batch,
            self.computes,
            self.threads,
            self.positions,
            self.limit,
            self.cores,
            self.version
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_does_not_name_the_network_by_its_file() {
        assert_eq!(
            without_network("net.pb.gz on ONNX Runtime 1.31.1, webgpu on device 0, fp16", true),
            "ONNX Runtime 1.31.1, webgpu on device 0, fp16"
        );
        assert_eq!(without_network("a.pb.gz, 6 blocks, fp32", true), "6 blocks, fp32");
        let material = "material, uniform policy, no network";
        assert_eq!(without_network(material, false), material);
    }
}
