//! Measures how quiet the machine was during a run.
//!
//! Between the searches a control measurement runs: always the same short computation, on as many threads as the searches
//! have. On a quiet machine its rate stays the same. The system's counters (Linux: `/proc/stat`) show in addition what other
//! programs took, and what the host of a virtual machine gave to others.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::tools::bench::cpu_time;

/// The largest share by which two runs may differ by chance on a quiet machine.
pub(super) const LARGEST_DIFFERENCE: f64 = 0.03;
/// The largest share of the machine that other programs may take.
const LARGEST_OTHER_LOAD: f64 = 0.03;
/// The largest share of the machine that the host may give to others.
const LARGEST_STEAL: f64 = 0.01;
/// The time that one control measurement takes.
const CONTROL_TIME: Duration = Duration::from_millis(40);
/// The rounds of the computation between two readings of the clock.
const STEP: u64 = 20_000;

/// The noise of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct MachineNoise {
    /// Rate of the control: millions of its rounds per second, all threads.
    pub(super) control_rate: f64,
    /// Standard deviation of the control as a share of its rate.
    pub(super) control_deviation: f64,
    /// The number of control measurements.
    pub(super) controls: usize,
    /// The share by which two runs like this may differ by chance; 19 of 20 differ by less.
    pub(super) expected_difference: f64,
    /// Share of the machine's processors that other programs took; `None` where the system does not count it.
    pub(super) other_load: Option<f64>,
    /// Share that the host of a virtual machine gave to others.
    pub(super) steal: Option<f64>,
    /// True if any of these figures is too large.
    pub(super) is_noisy: bool,
}

impl MachineNoise {
    /// Returns a phrase for each of the figures that is too large.
    pub(super) fn noise_sources(&self) -> Vec<String> {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let mut noise_sources = Vec::new();
        if self.expected_difference > LARGEST_DIFFERENCE {
            noise_sources.push(format!(
                "its speed varied by {}, so that two such runs may differ by {}",
                percent(self.control_deviation),
                percent(self.expected_difference)
            ));
        }
        if let Some(load) = self.other_load.filter(|&load| load > LARGEST_OTHER_LOAD) {
            noise_sources.push(format!("other programs took {} of it", percent(load)));
        }
        if let Some(steal) = self.steal.filter(|&steal| steal > LARGEST_STEAL) {
            noise_sources.push(format!("its host gave {} of it to others", percent(steal)));
        }
        noise_sources
    }

    /// Returns all figures in a sentence.
    pub(super) fn verdict(&self) -> String {
        match &self.noise_sources()[..] {
            [] => format!(
                "The machine was quiet: two such runs should differ by less than {:.1} %.",
                self.expected_difference * 100.0
            ),
            noise_sources => format!("The machine was noisy: {}.", noise_sources.join("; ")),
        }
    }
}

/// Measures the noise of a run.
pub(super) struct NoiseMeter {
    threads: usize,
    rates: Vec<f64>,
    start: Instant,
    own: Option<Duration>,
    machine: Option<CpuTicks>,
}

impl NoiseMeter {
    /// Begins to measure. `threads` is the number of threads of the searches.
    pub(super) fn start(threads: usize) -> NoiseMeter {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        NoiseMeter {
            threads: threads.clamp(1, cores),
            rates: Vec::new(),
            start: Instant::now(),
            own: cpu_time(),
            machine: CpuTicks::now(),
        }
    }

    /// Makes one control measurement.
    pub(super) fn control(&mut self) {
        let rates = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..self.threads).map(|_| scope.spawn(control_rate)).collect();
            handles.into_iter().map(|handle| handle.join().unwrap_or(0.0)).sum::<f64>()
        });
        self.rates.push(rates / 1e6);
    }

    /// Returns the noise since the start.
    pub(super) fn finish(self) -> MachineNoise {
        let RateSpread { mean: rate, deviation, difference } = spread(&self.rates);
        let ticks = self.machine.zip(CpuTicks::now()).and_then(|(before, after)| after.since(before));
        let own = self.own.zip(cpu_time()).map(|(before, after)| (after - before).as_secs_f64());
        let wall = self.start.elapsed().as_secs_f64();
        let other_load = ticks.zip(own).map(|(ticks, own)| {
            let own = own / (wall * ticks.processors as f64);
            (ticks.busy as f64 / ticks.all as f64 - own).max(0.0)
        });
        let mut noise = MachineNoise {
            control_rate: rate,
            control_deviation: deviation,
            controls: self.rates.len(),
            expected_difference: difference,
            other_load,
            steal: ticks.map(|ticks| ticks.steal as f64 / ticks.all as f64),
            is_noisy: false,
        };
        noise.is_noisy = !noise.noise_sources().is_empty();
        noise
    }
}

/// Makes a control measurement on this thread. Returns its rounds per second.
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

/// The spread of a series of rates.
#[derive(Debug, Default, PartialEq)]
struct RateSpread {
    mean: f64,
    /// The standard deviation as a share of the mean.
    deviation: f64,
    /// The share of the mean by which the means of two such series may differ: by chance, as independent samples do, or as
    /// the two halves of this one do, whichever is more.
    difference: f64,
}

fn spread(rates: &[f64]) -> RateSpread {
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let all = mean(rates);
    if rates.len() < 2 || all <= 0.0 {
        return RateSpread { mean: all, ..RateSpread::default() };
    }
    let count = rates.len() as f64;
    let variance = rates.iter().map(|rate| (rate - all).powi(2)).sum::<f64>() / (count - 1.0);
    let deviation = variance.sqrt() / all;
    let (first, second) = rates.split_at(rates.len() / 2);
    let drift = (mean(first) - mean(second)).abs() / all;
    let chance = 1.96 * std::f64::consts::SQRT_2 * deviation / count.sqrt();
    RateSpread { mean: all, deviation, difference: chance.max(drift) }
}

/// The time that all processors have spent since the system's start, in the system's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CpuTicks {
    all: u64,
    busy: u64,
    steal: u64,
    processors: usize,
}

impl CpuTicks {
    /// Reads the counters; `None` where the system has none.
    fn now() -> Option<CpuTicks> {
        CpuTicks::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Reads the text of `/proc/stat`.
    fn parse(stat: &str) -> Option<CpuTicks> {
        let mut lines = stat.lines();
        let numbers = lines.next()?.strip_prefix("cpu ")?.split_ascii_whitespace().map(str::parse);
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted among the users.
        let &[user, nice, system, idle, iowait, irq, softirq, steal, ..] = &numbers[..] else { return None };
        let busy = user + nice + system + irq + softirq;
        let processors = lines.take_while(|line| line.starts_with("cpu")).count();
        Some(CpuTicks { all: busy + idle + iowait + steal, busy, steal, processors })
    }

    /// Returns the time spent since `before`; `None` if nothing was counted.
    fn since(self, before: CpuTicks) -> Option<CpuTicks> {
        let all = self.all.checked_sub(before.all).filter(|&all| all > 0 && self.processors > 0)?;
        let (busy, steal) = (self.busy.checked_sub(before.busy)?, self.steal.saturating_sub(before.steal));
        Some(CpuTicks { all, busy, steal, processors: self.processors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_counters_are_read() {
        let before = CpuTicks::parse("cpu  10 0 5 100 5 0 0 0 0 0\ncpu0 1\ncpu1 1\nintr 5\n").unwrap();
        let after = CpuTicks::parse("cpu  40 0 5 150 5 0 0 20 0 0\ncpu0 1\ncpu1 1\nintr 5\n").unwrap();
        let passed = after.since(before).unwrap();
        assert_eq!(passed, CpuTicks { all: 100, busy: 30, steal: 20, processors: 2 });
        assert_eq!(CpuTicks::parse("cpu 1 2\n"), None);
        assert_eq!(before.since(before), None);
    }

    #[test]
    fn a_steady_machine_is_quiet_and_others_are_not() {
        let quiet = spread(&[100.0, 101.0, 99.0, 100.0, 100.5, 99.5, 100.0, 100.0]);
        assert!(quiet.difference < 0.01, "{quiet:?}");
        let drifting = spread(&[100.0, 100.0, 100.0, 90.0, 90.0, 90.0]);
        assert!(drifting.difference > 0.1, "{drifting:?}");
        let RateSpread { mean, deviation, difference } = spread(&[90.0, 110.0]);
        assert_eq!(mean, 100.0);
        assert!((deviation - 0.02f64.sqrt()).abs() < 1e-9 && difference > LARGEST_DIFFERENCE);
    }

    #[test]
    fn every_complaint_is_named() {
        let noise = MachineNoise {
            control_deviation: 0.2,
            expected_difference: 0.1,
            other_load: Some(0.5),
            steal: Some(0.02),
            ..MachineNoise::default()
        };
        assert_eq!(
            noise.verdict(),
            "The machine was noisy: its speed varied by 20.0 %, so that two such runs may differ by 10.0 %; \
             other programs took 50.0 % of it; its host gave 2.0 % of it to others."
        );
        assert!(MachineNoise::default().verdict().contains("quiet"));
    }

    #[test]
    fn a_meter_counts_its_controls() {
        let mut meter = NoiseMeter::start(1);
        (0..3).for_each(|_| meter.control());
        let noise = meter.finish();
        assert!(noise.controls == 3 && noise.control_rate > 0.0);
    }
}
