//! NVIDIA's GPUs, through the driver's management library.

use std::fmt;
use std::sync::Arc;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::{Found, Reading, Sensor};

/// One GPU.
struct NvidiaGpu {
    library: Arc<Nvml>,
    index: u32,
    name: String,
}

impl fmt::Debug for NvidiaGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NvidiaGpu").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns why the driver shows no GPUs, and what helps.
fn cause_and_remedy(error: &NvmlError) -> &'static str {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => {
            "their driver is not installed, which only a machine with such a GPU needs"
        }
        NvmlError::DriverNotLoaded => "their driver is not loaded: restart the machine",
        NvmlError::LibRmVersionMismatch => {
            "the driver and its library are of different versions: restart the machine"
        }
        NvmlError::NoPermission => "this user may not reach the driver: ask for access to its devices",
        _ => "their driver does not answer: `nvidia-smi` tells why",
    }
}

/// Finds the GPUs that the driver shows to this process.
pub(super) fn find() -> Found {
    let library = match Nvml::init() {
        Ok(library) => Arc::new(library),
        Err(error) => {
            let missing = vec![format!("NVIDIA's GPUs: {}", cause_and_remedy(&error))];
            return Found { sensors: Vec::new(), missing };
        }
    };
    let count = library.device_count().unwrap_or(0);
    let gpu = |index| {
        let name = library.device_by_index(index).and_then(|device| device.name()).ok()?;
        let gpu = NvidiaGpu { library: Arc::clone(&library), index, name };
        Some(Box::new(gpu) as Box<dyn Sensor>)
    };
    Found { sensors: (0..count).filter_map(gpu).collect(), missing: Vec::new() }
}

impl Sensor for NvidiaGpu {
    fn name(&self) -> String {
        format!("GPU {} ({})", self.index, self.name)
    }

    fn read(&mut self) -> Reading {
        self.library.device_by_index(self.index).map(|device| reading(&device)).unwrap_or_default()
    }
}

fn reading(device: &Device<'_>) -> Reading {
    let held_down = ThrottleReasons::SW_POWER_CAP
        | ThrottleReasons::HW_SLOWDOWN
        | ThrottleReasons::SW_THERMAL_SLOWDOWN
        | ThrottleReasons::HW_THERMAL_SLOWDOWN
        | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
    Reading {
        joules: device.total_energy_consumption().ok().map(|millijoules| millijoules as f64 / 1e3),
        watts: device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
        celsius: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
        mhz: device.clock_info(Clock::Graphics).ok().map(f64::from),
        memory_mb: device.memory_info().ok().map(|memory| memory.used as f64 / 1e6),
        throttled: device.current_throttle_reasons().ok().map(|reasons| reasons.intersects(held_down)),
    }
}
