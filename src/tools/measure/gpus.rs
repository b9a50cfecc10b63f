//! What NVIDIA's driver tells of its GPUs during the searches: energy, temperature, clock, memory.

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::machine::{GpuReport, SensorReport};

/// The driver, with the GPUs that it shows to this process.
#[derive(Debug)]
pub(super) struct GpuMeter {
    driver: Result<Nvml, NvmlError>,
    gpus: Vec<GpuLog>,
}

#[derive(Debug, Default)]
struct GpuLog {
    name: String,
    /// The counter of energy when the present search began.
    began_at: Option<f64>,
    /// Energy of all searches so far.
    joules: Option<f64>,
    readings: Vec<Reading>,
}

/// What a GPU tells at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    /// Energy since some moment before the run.
    joules: Option<f64>,
    celsius: Option<f64>,
    mhz: Option<f64>,
    /// Memory in use by all programs, 10⁶ bytes.
    memory_mb: Option<f64>,
}

impl GpuMeter {
    pub(super) fn start() -> GpuMeter {
        let driver = Nvml::init();
        let name = |driver: &Nvml, index| driver.device_by_index(index).and_then(|device| device.name()).ok();
        let names = driver.iter().flat_map(|driver| {
            (0..driver.device_count().unwrap_or(0)).map(|index| name(driver, index).unwrap_or_default())
        });
        let named = |(index, name)| GpuLog { name: format!("GPU {index} ({name})"), ..GpuLog::default() };
        let gpus = names.enumerate().map(named).collect();
        GpuMeter { driver, gpus }
    }

    pub(super) fn search_begins(&mut self) {
        self.each(|gpu, reading| gpu.began_at = reading.joules);
    }

    pub(super) fn search_ended(&mut self) {
        self.each(GpuLog::ended);
    }

    fn each(&mut self, read: impl Fn(&mut GpuLog, Reading)) {
        let Ok(driver) = &self.driver else { return };
        for (index, gpu) in (0..).zip(&mut self.gpus) {
            read(gpu, driver.device_by_index(index).map(|device| reading(&device)).unwrap_or_default());
        }
    }

    /// Returns what was told while `nodes` were searched in `seconds`.
    pub(super) fn finish(self, nodes: u64, seconds: f64) -> SensorReport {
        let missing = self.driver.err().map(|error| format!("NVIDIA's GPUs: {}", cause_and_remedy(&error)));
        SensorReport::new(self.gpus.into_iter().map(GpuLog::report).collect(), missing, nodes, seconds)
    }
}

impl GpuLog {
    fn ended(&mut self, reading: Reading) {
        let spent = self.began_at.take().zip(reading.joules).map(|(before, now)| now - before);
        self.joules = spent.map(|spent| self.joules.unwrap_or(0.0) + spent).or(self.joules);
        self.readings.push(reading);
    }

    fn report(self) -> GpuReport {
        let told = |figure: fn(&Reading) -> Option<f64>| self.readings.iter().filter_map(figure);
        let clocks: Vec<_> = told(|reading| reading.mhz).collect();
        GpuReport {
            joules: self.joules,
            celsius_max: told(|reading| reading.celsius).reduce(f64::max),
            memory_mb_max: told(|reading| reading.memory_mb).reduce(f64::max),
            mhz_mean: (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64),
            name: self.name,
        }
    }
}

/// Why the driver shows no GPUs, and what helps.
fn cause_and_remedy(error: &NvmlError) -> &'static str {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => {
            "their driver is not installed, which only a machine with such a GPU needs"
        }
        NvmlError::DriverNotLoaded | NvmlError::LibRmVersionMismatch => {
            "their driver is not loaded or of another version: restart the machine"
        }
        _ => "their driver does not answer: `nvidia-smi` tells why",
    }
}

fn reading(device: &Device<'_>) -> Reading {
    Reading {
        joules: device.total_energy_consumption().ok().map(|millijoules| millijoules as f64 / 1e3),
        celsius: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
        mhz: device.clock_info(Clock::Graphics).ok().map(f64::from),
        memory_mb: device.memory_info().ok().map(|memory| memory.used as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_counts_within_searches() {
        let mut gpu = GpuLog { name: "d".into(), ..GpuLog::default() };
        for (before, after, mhz) in
            [(Some(100.0), 110.0, 1500.0), (Some(200.0), 220.0, 1000.0), (None, 999.0, 500.0)]
        {
            gpu.began_at = before;
            gpu.ended(Reading { joules: Some(after), mhz: Some(mhz), ..Reading::default() });
        }
        let silent = GpuLog { name: "e".into(), ..GpuLog::default() };
        let report = SensorReport::new(vec![gpu.report(), silent.report()], None, 60, 2.0);
        let shown = [report.joules, report.watts, report.nodes_per_joule];
        assert_eq!(shown, [Some(30.0), Some(15.0), Some(2.0)]);
        let (first, second) = (&report.devices[0], &report.devices[1]);
        assert_eq!((first.mhz_mean, second.mhz_mean), (Some(1000.0), None));
        let facts = report.facts();
        assert_eq!(facts[0].1, "30 J, 15.0 W, 2.0 nodes per joule");
        assert_eq!(facts[2].1, "e: tells nothing");
    }
}
