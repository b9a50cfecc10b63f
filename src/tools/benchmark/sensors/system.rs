//! The sensors that Linux shows as files: RAPL's counters of energy, hwmon's temperatures and powers, clocks, memory.
//!
//! On other systems there are no such files, and all is missing.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Found, Reading, Sensor};
use crate::proc_file;

/// The drivers of processors' temperatures, and of GPUs, by their names in hwmon.
const PROCESSORS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];
const GPUS: [&str; 3] = ["amdgpu", "i915", "xe"];

/// Finds the sensors below `root`, which is `/` but in tests.
pub(super) fn find(root: &Path) -> Found {
    let hwmon = folders_in(&root.join("sys/class/hwmon"));
    let named = |path: &PathBuf, names: &[&str]| {
        text(&path.join("name")).is_some_and(|name| names.contains(&name.as_str()))
    };
    let gpus = hwmon.iter().filter(|path| named(path, &GPUS));
    let mut missing = Vec::new();
    let packages = packages(root, &mut missing);
    let processor = Processor {
        packages,
        temperature: hwmon.iter().find(|path| named(path, &PROCESSORS)).map(|path| path.join("temp1_input")),
        root: root.into(),
        throttle_count: None,
    };
    if processor.temperature.is_none() {
        missing.push("temperature of the processor: this system shows none".into());
    }
    let mut sensors: Vec<Box<dyn Sensor>> = vec![Box::new(processor)];
    sensors.extend(gpus.map(|path| Box::new(Gpu { folder: path.clone() }) as _));
    Found { sensors, missing }
}

/// Returns the counters of energy of whole packages.
fn packages(root: &Path, missing: &mut Vec<String>) -> Vec<EnergyCounter> {
    let is_package = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("intel-rapl:").is_some_and(|number| !number.contains(':'))
    };
    let mut folders = folders_in(&root.join("sys/class/powercap"));
    folders.retain(is_package);
    if folders.is_empty() {
        missing.push("power of the processor: this system has no RAPL counters".into());
    }
    let counter = |folder: &PathBuf| {
        let file = folder.join("energy_uj");
        let Some(last) = number(&file) else {
            missing.push("power of the processor: only root can read its counters; run as root".into());
            return None;
        };
        let range = number(&folder.join("max_energy_range_uj")).unwrap_or(0.0);
        Some(EnergyCounter { file, range, last, sum: 0.0 })
    };
    folders.iter().filter_map(counter).collect()
}

/// A counter of microjoules that begins anew at its range.
#[derive(Debug)]
struct EnergyCounter {
    file: PathBuf,
    range: f64,
    last: f64,
    sum: f64,
}

impl EnergyCounter {
    /// Returns the joules since the first reading.
    fn joules(&mut self) -> f64 {
        if let Some(now) = number(&self.file) {
            let passed = now - self.last;
            self.sum += if passed < 0.0 { passed + self.range } else { passed };
            self.last = now;
        }
        self.sum / 1e6
    }
}

/// The processor, all packages together.
#[derive(Debug)]
struct Processor {
    packages: Vec<EnergyCounter>,
    temperature: Option<PathBuf>,
    root: PathBuf,
    /// What the counter of throttling showed last.
    throttle_count: Option<f64>,
}

impl Sensor for Processor {
    fn name(&self) -> String {
        "processor".into()
    }

    fn read(&mut self) -> Reading {
        let joules: Vec<_> = self.packages.iter_mut().map(EnergyCounter::joules).collect();
        let count =
            number(&self.root.join("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"));
        let throttled = count.map(|count| count > self.throttle_count.unwrap_or(count));
        self.throttle_count = count;
        Reading {
            joules: (!joules.is_empty()).then(|| joules.iter().sum()),
            watts: None,
            celsius: self.temperature.as_deref().and_then(number).map(|thousandths| thousandths / 1e3),
            mhz: self.mhz(),
            memory_mb: self.memory_mb(),
            throttled,
        }
    }
}

impl Processor {
    /// Returns the mean clock of the cores.
    fn mhz(&self) -> Option<f64> {
        let cores = folders_in(&self.root.join("sys/devices/system/cpu"));
        let clocks = cores.iter().filter_map(|core| number(&core.join("cpufreq/scaling_cur_freq")));
        let told = || {
            let info = fs::read_to_string(self.root.join("proc/cpuinfo")).unwrap_or_default();
            let value = |line: &str| line.strip_prefix("cpu MHz")?.split_once(':')?.1.trim().parse().ok();
            info.lines().filter_map(value).collect::<Vec<f64>>()
        };
        mean(&clocks.map(|kilohertz| kilohertz / 1e3).collect::<Vec<_>>()).or_else(|| mean(&told()))
    }

    /// Returns the memory that this program holds.
    fn memory_mb(&self) -> Option<f64> {
        let status = fs::read_to_string(self.root.join("proc/self/status")).ok()?;
        Some(proc_file::bytes(&status, "VmRSS")? as f64 / 1e6)
    }
}

/// A GPU of AMD's or Intel's, by its folder in hwmon.
#[derive(Debug)]
struct Gpu {
    folder: PathBuf,
}

impl Sensor for Gpu {
    fn name(&self) -> String {
        format!("GPU ({})", text(&self.folder.join("name")).unwrap_or_default())
    }

    fn read(&mut self) -> Reading {
        let file = |name: &str| number(&self.folder.join(name));
        let millionths = |value: Option<f64>| value.map(|value| value / 1e6);
        Reading {
            joules: millionths(file("energy1_input")),
            watts: millionths(file("power1_average").or_else(|| file("power1_input"))),
            celsius: file("temp1_input").map(|thousandths| thousandths / 1e3),
            mhz: millionths(file("freq1_input")),
            memory_mb: millionths(file("device/mem_info_vram_used")),
            throttled: None,
        }
    }
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn text(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

fn number(file: &Path) -> Option<f64> {
    text(file)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, content: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn files_of_the_system_become_readings() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let rapl = "sys/class/powercap/intel-rapl:0";
        for (file, content) in [
            ("sys/class/hwmon/hwmon0/name", "k10temp\n"),
            ("sys/class/hwmon/hwmon0/temp1_input", "61500\n"),
            ("sys/class/hwmon/hwmon1/name", "amdgpu\n"),
            ("sys/class/hwmon/hwmon1/power1_average", "42000000\n"),
            ("sys/class/hwmon/hwmon1/freq1_input", "1800000000\n"),
            ("sys/class/hwmon/hwmon1/device/mem_info_vram_used", "512000000\n"),
            (&format!("{rapl}/energy_uj"), "9000000\n"),
            (&format!("{rapl}/max_energy_range_uj"), "10000000\n"),
            ("sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n"),
            ("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n"),
            ("proc/self/status", "Name:\tx\nVmRSS:\t  1000 kB\n"),
        ] {
            write(root, file, content);
        }
        let Found { mut sensors, missing } = find(root);
        assert_eq!((sensors.len(), missing), (2, Vec::new()));
        let first = sensors[0].read();
        assert_eq!((first.joules, first.celsius, first.mhz), (Some(0.0), Some(61.5), Some(2500.0)));
        assert_eq!((first.memory_mb, first.throttled), (Some(1.024), Some(false)));
        let gpu = sensors[1].read();
        assert_eq!(
            (sensors[1].name().as_str(), gpu.watts, gpu.mhz),
            ("GPU (amdgpu)", Some(42.0), Some(1800.0))
        );
        assert_eq!((gpu.memory_mb, gpu.joules), (Some(512.0), None));

        // The counter has begun anew, and the clock was held down.
        write(root, &format!("{rapl}/energy_uj"), "500000");
        write(root, "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "9");
        let second = sensors[0].read();
        assert_eq!((second.joules, second.throttled), (Some(1.5), Some(true)));
    }

    #[test]
    fn what_is_not_told_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let Found { mut sensors, missing } = find(folder.path());
        assert!(missing[0].contains("no RAPL counters") && missing[1].contains("temperature"), "{missing:?}");
        assert_eq!(sensors[0].read(), Reading::default());
    }
}
