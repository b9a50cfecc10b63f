//! The machine on which something is measured: what it is, how quiet it was, and what its GPUs told.

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use serde::{Deserialize, Serialize};

use super::Facts;
use super::gpus::{GpuMeter, SensorReport};
use super::processors::{OthersMeter, Processors};
use zeitnot_engine::network::cores;
use zeitnot_engine::network::throughput::SortedSamples;
use zeitnot_engine::system::gpus::{Gpu, nvidia_gpus};
use zeitnot_engine::system::{self, cpu_name};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::tools) struct MachineInfo {
    pub(in crate::tools) cpu: String,
    /// The number of processors that this program may use.
    pub(in crate::tools) cores: usize,
    #[serde(default)]
    pub(in crate::tools) processors: Processors,
    /// 10⁹ bytes.
    pub(in crate::tools) memory_gb: Option<f64>,
    /// The operating system and its kernel.
    pub(in crate::tools) system: String,
    /// Name, driver and memory of each NVIDIA card.
    pub(in crate::tools) gpus: Vec<String>,
}

impl MachineInfo {
    pub(in crate::tools) fn this() -> MachineInfo {
        let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let release = file("/etc/os-release");
        let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
        MachineInfo {
            cpu: cpu_name(),
            cores: cores(),
            processors: Processors::this(),
            memory_gb: system::memory().map(|bytes| (bytes as f64 / 1e8).round() / 10.0),
            system: match file("/proc/sys/kernel/osrelease").trim() {
                "" => format!("{name}, {}", std::env::consts::ARCH),
                kernel => format!("{name}, kernel {kernel}"),
            },
            gpus: gpus(),
        }
    }

    pub(in crate::tools) fn facts(&self) -> Facts {
        let memory = self.memory_gb.map(|gb| format!(", {gb} GB")).unwrap_or_default();
        let processor = ("processor", format!("{}, {} cores{memory}", self.cpu, self.cores));
        let special = self.processors.in_words().map(|words| ("cores", words));
        let graphics = (!self.gpus.is_empty()).then(|| ("graphics", self.gpus.join("; ")));
        [processor]
            .into_iter()
            .chain(special)
            .chain(graphics)
            .chain([("system", self.system.clone())])
            .collect()
    }
}

impl fmt::Display for MachineInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = if self.cores == 1 { "core" } else { "cores" };
        write!(f, "{}, {} {cores}", self.cpu, self.cores)?;
        self.gpus.iter().try_for_each(|gpu| write!(f, ", {gpu}"))
    }
}

/// What NVIDIA's driver reports about its cards, or nothing where there is no driver.
fn gpus() -> Vec<String> {
    let cells = |gpu: &Gpu| {
        let memory = gpu.memory_mb.map(|mb| format!("{mb} MiB"));
        [gpu.name.clone(), gpu.version.clone(), memory]
            .map(|cell| cell.unwrap_or_else(|| "[N/A]".into()))
            .join(", ")
    };
    nvidia_gpus().iter().map(|gpu| format!("{} (name, driver, memory)", cells(gpu))).collect()
}

/// The smallest number of control measurements in a run …
const CONTROLS: usize = 16;
/// … and the time that each takes.
const CONTROL_TIME: Duration = Duration::from_millis(40);
/// The rounds of the control between two readings of the clock.
const STEP: u64 = 20_000;
/// The largest share by which two runs may differ by chance on a quiet machine.
const LARGEST_DIFFERENCE: f64 = 0.03;

/// Watches the machine during a run. Between the searches a control runs: always the same short computation,
/// on as many threads as the searches have. On a quiet machine its rate stays the same.
#[derive(Debug)]
pub(in crate::tools) struct MachineMonitor {
    threads: usize,
    controls: usize,
    /// Millions of the control's rounds per second, all threads.
    rates: Vec<f64>,
    gpus: GpuMeter,
    others: OthersMeter,
}

impl MachineMonitor {
    pub(in crate::tools) fn start(threads: usize, searches: usize) -> MachineMonitor {
        MachineMonitor {
            threads: threads.clamp(1, cores()),
            controls: CONTROLS.div_ceil(searches + 1),
            rates: Vec::new(),
            gpus: GpuMeter::default(),
            others: OthersMeter::start(),
        }
    }

    pub(in crate::tools) fn between_searches(&mut self) {
        if !self.rates.is_empty() {
            self.gpus.search_ended();
        }
        for _ in 0..self.controls {
            let rate = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(control_rate)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum::<f64>()
            });
            self.rates.push(rate / 1e6);
        }
    }

    /// Returns what was measured while `nodes` were searched in `seconds`.
    pub(in crate::tools) fn finish(mut self, nodes: u64, seconds: f64) -> (MachineNoise, SensorReport) {
        self.between_searches();
        let others = self.others.busy_since_last().map(Others::of);
        (MachineNoise { others, ..MachineNoise::of(&self.rates) }, self.gpus.finish(nodes, seconds))
    }
}

fn control_rate() -> f64 {
    let start = Instant::now();
    let (mut state, mut rounds) = (1u64, 0);
    while start.elapsed() < CONTROL_TIME {
        for _ in 0..STEP {
            // Knuth's linear congruential generator: each round waits for the one before.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        }
        state = black_box(state);
        rounds += STEP;
    }
    rounds as f64 / start.elapsed().as_secs_f64()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::tools) struct MachineNoise {
    /// Rate of the control: millions of its rounds per second, all threads.
    pub(in crate::tools) control_rate: f64,
    /// Standard deviation of the control as a share of its rate.
    control_deviation: f64,
    controls: usize,
    /// The share by which two runs like this may differ: by chance, as independent samples do, or as the two
    /// halves of this one do, whichever is more. 19 of 20 differ by less.
    pub(in crate::tools) expected_difference: f64,
    pub(in crate::tools) is_noisy: bool,
    /// What other programs did meanwhile, where the system tells it.
    #[serde(default)]
    pub(in crate::tools) others: Option<Others>,
}

/// What other programs take of the processors that this one may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::tools) struct Others {
    /// The number of processors that they keep busy, as a mean.
    busy: f64,
    of: usize,
}

/// The share of the processors from which on other programs make a machine a busy one.
const BUSY: f64 = 0.05;
/// The time for which the processors are watched before a measurement.
const LOOK: Duration = Duration::from_millis(500);

impl Others {
    fn of(busy: f64) -> Others {
        Others { busy, of: cores() }
    }

    /// Looks at the machine while this program does nothing. `None` where the system does not tell.
    pub(in crate::tools) fn now() -> Option<Others> {
        let mut meter = OthersMeter::start();
        std::thread::sleep(LOOK);
        meter.busy_since_last().map(Others::of)
    }

    pub(in crate::tools) fn are_busy(&self) -> bool {
        self.busy >= BUSY * self.of as f64
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processors = if self.of == 1 { "processor" } else { "processors" };
        write!(f, "{:.1} of {} {processors}", self.busy.min(self.of as f64), self.of)
    }
}

impl MachineNoise {
    fn of(rates: &[f64]) -> MachineNoise {
        let all = SortedSamples::of(rates);
        let rate = all.mean();
        let deviation = all.deviation() / rate.max(1e-9);
        let (first, second) = rates.split_at(rates.len() / 2);
        let [first, second] = [first, second].map(|half| SortedSamples::of(half).mean());
        let drift = (first - second).abs() / rate.max(1e-9);
        let chance = 1.96 * std::f64::consts::SQRT_2 * deviation / (rates.len().max(1) as f64).sqrt();
        let expected_difference = if rates.len() < 2 { 0.0 } else { chance.max(drift) };
        MachineNoise {
            control_rate: rate,
            control_deviation: deviation,
            controls: rates.len(),
            expected_difference,
            is_noisy: expected_difference > LARGEST_DIFFERENCE,
            others: None,
        }
    }

    /// Says how noisy the machine was, and what other work it had.
    pub(in crate::tools) fn verdict(&self) -> Vec<String> {
        let (deviation, difference) = (100.0 * self.control_deviation, 100.0 * self.expected_difference);
        let noise = if self.is_noisy {
            format!(
                "The machine was noisy ({deviation:.1} %): two such runs may differ by {difference:.1} %."
            )
        } else {
            format!("The machine was quiet: two such runs should differ by less than {difference:.1} %.")
        };
        let others = self.others.filter(Others::are_busy);
        let others = others.map(|others| format!("Other programs used {others} meanwhile."));
        [noise].into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_machine_is_quiet_and_others_are_not() {
        let quiet = MachineNoise::of(&[100.0, 101.0, 99.0, 100.0, 100.5, 99.5, 100.0, 100.0]);
        assert!(quiet.expected_difference < 0.01 && quiet.verdict()[0].contains("quiet"), "{quiet:?}");
        let drifting = MachineNoise::of(&[100.0, 100.0, 100.0, 90.0, 90.0, 90.0]);
        assert!(drifting.expected_difference > 0.1 && drifting.is_noisy, "{drifting:?}");
        let varying = MachineNoise::of(&[90.0, 110.0]);
        assert_eq!(varying.control_rate, 100.0);
        assert!((varying.control_deviation - 0.02f64.sqrt()).abs() < 1e-9);
        let verdict = varying.verdict().concat();
        assert!(verdict.starts_with("The machine was noisy (14.1 %): two such runs may differ"), "{verdict}");
        assert_eq!(MachineNoise::of(&[5.0]).expected_difference, 0.0);
        let with = |busy: f64| {
            let others = Some(Others { busy, of: 16 });
            MachineNoise { others, ..varying.clone() }.verdict()
        };
        assert_eq!(with(0.7).len(), 1);
        assert_eq!(with(0.9)[1], "Other programs used 0.9 of 16 processors meanwhile.");
    }

    #[test]
    fn a_monitor_counts_its_controls() {
        let mut monitor = MachineMonitor::start(1, 15);
        monitor.between_searches();
        let (noise, sensors) = monitor.finish(100, 1.0);
        assert!(noise.controls == 2 && noise.control_rate > 0.0);
        assert!(sensors.joules.is_some() || !sensors.missing.is_empty(), "{sensors:?}");
    }
}
