//! What NVIDIA's driver tells of its GPUs during the searches: power, temperature, clock, memory.

use std::fmt;

use serde::Serialize;

use super::Facts;
use zeitnot_engine::system::nvidia_smi;

const QUERY: &str = "name,power.draw,temperature.gpu,clocks.gr,memory.used";

/// Reads the driver as each search ends. Power is then the mean of the last second, as the driver has it.
#[derive(Debug, Default)]
pub(super) struct GpuMeter {
    gpus: Vec<GpuLog>,
}

#[derive(Debug, Default)]
struct GpuLog {
    name: String,
    /// Power, temperature, clock and memory at the end of each search: W, °C, MHz, MiB.
    readings: Vec<[Option<f64>; 4]>,
}

impl GpuMeter {
    pub(super) fn search_ended(&mut self) {
        self.read(&nvidia_smi(QUERY).unwrap_or_default());
    }

    /// Takes in the driver's answer: a line for each GPU, such as `NVIDIA H100, 310.52 W, 54, 1980 MHz, 1233
    /// MiB`.
    fn read(&mut self, answer: &str) {
        for (index, line) in answer.lines().enumerate() {
            let mut fields = line.split(',').map(str::trim);
            if index == self.gpus.len() {
                let name = format!("GPU {index} ({})", fields.clone().next().unwrap_or_default());
                self.gpus.push(GpuLog { name, readings: Vec::new() });
            }
            fields.next();
            let mut figure = || fields.next()?.split(' ').next()?.parse().ok();
            self.gpus[index].readings.push([figure(), figure(), figure(), figure()]);
        }
    }

    /// Returns what was told while `nodes` were searched in `seconds`.
    pub(super) fn finish(self, nodes: u64, seconds: f64) -> SensorReport {
        let reports = self.gpus.into_iter().map(|gpu| gpu.report(seconds)).collect();
        SensorReport::new(reports, nodes, seconds)
    }
}

impl GpuLog {
    fn report(self, seconds: f64) -> GpuReport {
        let told = |figure: usize| self.readings.iter().filter_map(move |reading| reading[figure]);
        let mean = |figure| {
            let count = told(figure).count();
            (count > 0).then(|| told(figure).sum::<f64>() / count as f64)
        };
        GpuReport {
            joules: mean(0).map(|watts| watts * seconds),
            celsius_max: told(1).reduce(f64::max),
            mhz_mean: mean(2),
            memory_mb_max: told(3).reduce(f64::max).map(|mebibytes| mebibytes * 1.048_576),
            name: self.name,
        }
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::tools) struct SensorReport {
    /// Energy of all GPUs that tell it, during the searches.
    pub(super) joules: Option<f64>,
    /// Mean power of these GPUs during the searches.
    pub(super) watts: Option<f64>,
    pub(in crate::tools) nodes_per_joule: Option<f64>,
    devices: Vec<GpuReport>,
    /// What this system does not tell, and why.
    pub(super) missing: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct GpuReport {
    pub(super) name: String,
    pub(super) joules: Option<f64>,
    pub(super) celsius_max: Option<f64>,
    pub(super) mhz_mean: Option<f64>,
    pub(super) memory_mb_max: Option<f64>,
}

impl SensorReport {
    fn new(devices: Vec<GpuReport>, nodes: u64, seconds: f64) -> SensorReport {
        let joules = devices.iter().filter_map(|device| device.joules).reduce(|a, b| a + b);
        let joules = joules.filter(|&joules| joules > 0.0);
        let missing = joules.is_none().then(|| "energy: no GPU tells it".into()).into_iter().collect();
        SensorReport {
            joules,
            watts: joules.map(|joules| joules / seconds.max(1e-9)),
            nodes_per_joule: joules.map(|joules| nodes as f64 / joules),
            devices,
            missing,
        }
    }

    pub(in crate::tools) fn facts(&self) -> Facts {
        let mut facts = Vec::new();
        if let (Some(joules), Some(watts), Some(rate)) = (self.joules, self.watts, self.nodes_per_joule) {
            facts.push(("energy", format!("{joules:.0} J, {watts:.1} W, {rate:.1} nodes per joule")));
        }
        facts.extend(self.devices.iter().map(|device| ("sensors", device.to_string())));
        facts.extend((!self.missing.is_empty()).then(|| ("not told", self.missing.join("; "))));
        facts
    }
}

impl fmt::Display for GpuReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.celsius_max.map(|celsius| format!("up to {celsius:.0} °C")),
            self.mhz_mean.map(|mhz| format!("{mhz:.0} MHz")),
            self.memory_mb_max.map(|memory| format!("up to {memory:.0} MB")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        write!(
            f,
            "{}: {}",
            self.name,
            if parts.is_empty() { "tells nothing".into() } else { parts.join(", ") }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_counts_while_searches_last() {
        let mut meter = GpuMeter::default();
        meter.read("d, 10.00 W, 54, 1500 MHz, 1000 MiB\ne, [N/A], [N/A], [N/A], [N/A]");
        meter.read("d, 20.00 W, 50, 500 MHz, 1000 MiB\ne, [N/A], [N/A], [N/A], [N/A]");
        let report = meter.finish(60, 2.0);
        let shown = [report.joules, report.watts, report.nodes_per_joule];
        assert_eq!(shown, [Some(30.0), Some(15.0), Some(2.0)]);
        let (first, second) = (&report.devices[0], &report.devices[1]);
        assert_eq!((first.mhz_mean, second.mhz_mean), (Some(1000.0), None));
        let facts = report.facts();
        assert_eq!(facts[0].1, "30 J, 15.0 W, 2.0 nodes per joule");
        assert_eq!(facts[1].1, "GPU 0 (d): up to 54 °C, 1000 MHz, up to 1049 MB");
        assert_eq!(facts[2].1, "GPU 1 (e): tells nothing");
    }
}
