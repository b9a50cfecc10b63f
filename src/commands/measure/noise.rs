//! The machine's noise during a measurement.

use std::collections::BTreeSet;
use std::fmt;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sysinfo::System;

use super::power::{PowerReport, QUERY};
use crate::setup::allowed;
use zeitnot_engine::network::cores;
use zeitnot_engine::network::throughput::SortedSamples;
use zeitnot_engine::note::counted;
use zeitnot_engine::system::{cpu_time, nvidia_smi};

/// Fewest control measurements in a run, …
const CONTROLS: usize = 16;
/// … and the time of each.
const CONTROL_TIME: Duration = Duration::from_millis(40);
/// Rounds between two readings of the clock.
const STEP: u64 = 20_000;
/// Chance difference of two runs on a quiet machine.
const LARGEST_DIFFERENCE: f64 = 0.03;

/// Runs a fixed computation between the searches, on as many threads. Its rate shows noise.
pub(crate) struct MachineMonitor {
    threads: usize,
    controls: usize,
    /// Millions of rounds per second, all threads.
    rates: Vec<f64>,
    gpus: Vec<String>,
    /// `None` where the system does not measure it.
    others: Option<OthersMeter>,
}

impl MachineMonitor {
    pub(crate) fn start(threads: usize, searches: usize) -> MachineMonitor {
        MachineMonitor {
            threads: threads.clamp(1, cores()),
            controls: CONTROLS.div_ceil(searches + 1),
            rates: Vec::new(),
            gpus: Vec::new(),
            others: OthersMeter::start(),
        }
    }

    pub(crate) fn between_searches(&mut self) {
        if !self.rates.is_empty() {
            self.gpus.extend(nvidia_smi(QUERY));
        }
        for _ in 0..self.controls {
            let rate = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(control_rate)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or(0.0))
                    .sum::<f64>()
            });
            self.rates.push(rate / 1e6);
        }
    }

    /// `nodes` were searched in `seconds`, on these of NVIDIA's GPUs if that is known.
    pub(crate) fn finish(mut self, nodes: u64, seconds: f64, gpus: &[usize]) -> (MachineNoise, PowerReport) {
        self.between_searches();
        let others = self.others.and_then(OthersMeter::finish);
        let noise = MachineNoise {
            others,
            ..MachineNoise::of(&self.rates)
        };
        (noise, PowerReport::of(&self.gpus, gpus, nodes, seconds))
    }
}

fn control_rate() -> f64 {
    let start = Instant::now();
    let mut state = 1u64;
    let mut rounds = 0;
    while start.elapsed() < CONTROL_TIME {
        for _ in 0..STEP {
            // Knuth's linear congruential generator: each round waits for the one before.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
        }
        state = black_box(state);
        rounds += STEP;
    }
    rounds as f64 / start.elapsed().as_secs_f64()
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MachineNoise {
    /// Rate of the control: millions of its rounds per second, all threads.
    pub(crate) control_rate: f64,
    control_deviation: f64,
    controls: usize,
    /// Relative difference that 19 of 20 pairs of such runs stay below.
    pub(crate) expected_difference: f64,
    is_noisy: bool,
    /// `None` where the system does not measure it.
    #[serde(default)]
    others: Option<Others>,
}

/// Load of other programs on the processors that this one may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Others {
    busy: f64,
    of: usize,
}

/// Share of the processors that makes a machine busy.
const BUSY: f64 = 0.05;
const LOOK: Duration = Duration::from_millis(500);

impl Others {
    /// Watches the machine while this program does nothing.
    pub(crate) fn now() -> Option<Others> {
        let meter = OthersMeter::start()?;
        std::thread::sleep(LOOK);
        meter.finish()
    }

    pub(crate) fn are_busy(&self) -> bool {
        self.busy >= BUSY * self.of as f64
    }
}

struct OthersMeter {
    system: System,
    /// Empty means all.
    processors: BTreeSet<usize>,
    start: Instant,
    /// CPU time of this program at the start.
    own: Duration,
}

impl OthersMeter {
    fn start() -> Option<OthersMeter> {
        let mut system = System::new().ok()?;
        system.refresh_cpu_usage();
        let processors = allowed(Path::new("/"));
        Some(OthersMeter {
            system,
            processors,
            start: Instant::now(),
            own: cpu_time()?,
        })
    }

    /// Load of others since the start, including time taken by a virtual machine's host.
    fn finish(mut self) -> Option<Others> {
        self.system.refresh_cpu_usage();
        let number = |name: &str| name.strip_prefix("cpu").and_then(|number| number.parse().ok());
        let is_ours = |name| number(name).is_none_or(|number| self.processors.contains(&number));
        let ours = self
            .system
            .cpus()
            .iter()
            .filter(|cpu| self.processors.is_empty() || is_ours(cpu.name()));
        let used: f64 = ours.map(|cpu| f64::from(cpu.usage()) / 100.0).sum();
        let own = cpu_time()?.saturating_sub(self.own).as_secs_f64();
        let busy = used - own / self.start.elapsed().as_secs_f64().max(1e-9);
        Some(Others {
            busy: busy.max(0.0),
            of: cores(),
        })
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Others { busy, of } = *self;
        write!(f, "{:.1} of {}", busy.min(of as f64), counted(of, "processor"))
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
        let chance = 1.96 * std::f64::consts::SQRT_2 * all.error() / rate.max(1e-9);
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

    pub(crate) fn verdict(&self) -> Vec<String> {
        let difference = 100.0 * self.expected_difference;
        let mut verdict = vec![if self.is_noisy {
            format!(
                "The machine was noisy ({:.1} %): two such runs may differ by {difference:.1} %.",
                100.0 * self.control_deviation
            )
        } else {
            format!("The machine was quiet: two such runs should differ by less than {difference:.1} %.")
        }];
        if let Some(others) = self.others.filter(Others::are_busy) {
            verdict.push(format!("Other programs used {others} meanwhile."));
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_machine_is_quiet_and_others_are_not() {
        let quiet = MachineNoise::of(&[100.0, 101.0, 99.0, 100.0, 100.5, 99.5, 100.0, 100.0]);
        assert!(
            quiet.expected_difference < 0.01 && quiet.verdict()[0].contains("quiet"),
            "{quiet:?}"
        );
        let drifting = MachineNoise::of(&[100.0, 100.0, 100.0, 90.0, 90.0, 90.0]);
        assert!(
            drifting.expected_difference > 0.1 && drifting.is_noisy,
            "{drifting:?}"
        );
        let varying = MachineNoise::of(&[90.0, 110.0]);
        assert_eq!(varying.control_rate, 100.0);
        assert!((varying.control_deviation - 0.02f64.sqrt()).abs() < 1e-9);
        let verdict = varying.verdict().concat();
        assert!(
            verdict.starts_with("The machine was noisy (14.1 %): two such runs may differ"),
            "{verdict}"
        );
        assert_eq!(MachineNoise::of(&[5.0]).expected_difference, 0.0);
        let with = |busy: f64| {
            let others = Some(Others { busy, of: 16 });
            MachineNoise {
                others,
                ..varying.clone()
            }
            .verdict()
        };
        assert_eq!(with(0.7).len(), 1);
        assert_eq!(
            with(0.9)[1],
            "Other programs used 0.9 of 16 processors meanwhile."
        );
    }

    #[test]
    fn a_monitor_counts_its_controls() {
        let mut monitor = MachineMonitor::start(1, 15);
        monitor.between_searches();
        let (noise, _) = monitor.finish(100, 1.0, &[]);
        assert!(noise.controls == 2 && noise.control_rate > 0.0);
        assert!(noise.others.is_some(), "{noise:?}");
    }
}
