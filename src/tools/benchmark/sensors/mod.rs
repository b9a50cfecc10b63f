//! What the machine's sensors tell during a run: power, temperature, clock, throttling and memory of processor and GPUs.
//!
//! A thread reads them some times a second ([`SensorLog`]); [`report`] sums up. [`system`] reads the files of Linux, [`nvml`] asks
//! NVIDIA's driver. What a system does not tell is named with the reason, never guessed.

#[cfg(feature = "lab")]
mod nvml;
#[cfg(not(feature = "lab"))]
#[path = "no_nvml.rs"]
mod nvml;
mod report;
mod system;

use std::fmt::Debug;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(super) use report::SensorReport;

/// The time between two readings.
const PERIOD: Duration = Duration::from_millis(250);

/// What a device told at one moment; `None` is what it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reading {
    /// Energy since some moment before the run.
    joules: Option<f64>,
    watts: Option<f64>,
    celsius: Option<f64>,
    mhz: Option<f64>,
    /// Memory in use, 10⁶ bytes: of a GPU that of all programs, of the processor this program's.
    memory_mb: Option<f64>,
    /// Whether heat or power holds the clock down.
    throttled: Option<bool>,
}

/// A device with sensors.
trait Sensor: Debug + Send {
    /// Returns the device's name and the source of what is read.
    fn name(&self) -> String;
    fn read(&mut self) -> Reading;
}

/// The readings of one device, with the time since the log's start, s.
#[derive(Debug)]
struct Series {
    name: String,
    readings: Vec<(f64, Reading)>,
}

/// The sensors that were found, and sentences about those that were not.
#[derive(Debug, Default)]
struct Found {
    sensors: Vec<Box<dyn Sensor>>,
    missing: Vec<String>,
}

/// Reads all sensors until it is finished.
#[derive(Debug)]
pub(super) struct SensorLog {
    start: Instant,
    missing: Vec<String>,
    /// Dropped to end the thread.
    stop: Sender<()>,
    reader: JoinHandle<Vec<Series>>,
    /// The searches, s since the start.
    searches: Vec<(f64, f64)>,
}

impl SensorLog {
    /// Begins to read.
    pub(super) fn start() -> SensorLog {
        let mut found = system::find(Path::new("/"));
        let of_nvidia = nvml::find();
        found.sensors.extend(of_nvidia.sensors);
        found.missing.extend(of_nvidia.missing);
        let start = Instant::now();
        let (stop, stopped) = channel::<()>();
        let mut sensors = found.sensors;
        let reader = thread::spawn(move || {
            let mut series: Vec<_> =
                sensors.iter().map(|sensor| Series { name: sensor.name(), readings: Vec::new() }).collect();
            loop {
                for (sensor, series) in sensors.iter_mut().zip(&mut series) {
                    let reading = sensor.read();
                    series.readings.push((start.elapsed().as_secs_f64(), reading));
                }
                if stopped.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    return series;
                }
            }
        });
        SensorLog { start, missing: found.missing, stop, reader, searches: Vec::new() }
    }

    /// Notes that a search ran from `begin` to `end`: only then energy counts.
    pub(super) fn searched(&mut self, begin: Instant, end: Instant) {
        let seconds = |moment: Instant| moment.saturating_duration_since(self.start).as_secs_f64();
        self.searches.push((seconds(begin), seconds(end)));
    }

    /// Returns what was told while `nodes` were searched.
    pub(super) fn finish(self, nodes: u64) -> SensorReport {
        drop(self.stop);
        let series = self.reader.join().unwrap_or_default();
        SensorReport::new(&series, &self.searches, self.missing, nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_ends_and_tells_what_this_machine_tells() {
        let mut log = SensorLog::start();
        let begin = Instant::now();
        thread::sleep(Duration::from_millis(20));
        log.searched(begin, Instant::now());
        let report = log.finish(100);
        assert!(!report.devices.is_empty() || !report.missing.is_empty(), "{report:?}");
    }
}
