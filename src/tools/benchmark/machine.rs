//! Describes the machine on which a figure was measured: processor, memory, system, graphics cards and their driver.

use std::fmt;
use std::fs;
use std::num::NonZero;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::proc_file;

/// The description of a machine, as far as the system gives one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::tools) struct MachineInfo {
    /// The processor's name.
    pub(in crate::tools) cpu: String,
    /// The number of processors that this program may use.
    pub(in crate::tools) cores: usize,
    /// The memory, 10⁹ bytes.
    pub(in crate::tools) memory_gb: Option<f64>,
    /// The operating system and its kernel.
    pub(in crate::tools) system: String,
    /// Name, driver and memory of each NVIDIA card.
    pub(in crate::tools) gpus: Vec<String>,
}

impl MachineInfo {
    /// Describes this machine.
    pub(in crate::tools) fn this() -> MachineInfo {
        MachineInfo {
            cpu: cpu_name().unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map_or(1, NonZero::get),
            memory_gb: memory_gb(),
            system: system(),
            gpus: gpus(),
        }
    }
}

impl fmt::Display for MachineInfo {
    /// Writes what computes, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = if self.cores == 1 { "core" } else { "cores" };
        write!(f, "{}, {} {cores}", self.cpu, self.cores)?;
        self.gpus.iter().try_for_each(|gpu| write!(f, ", {gpu}"))
    }
}

fn cpu_name() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    proc_file::value(&info, "model name").or_else(|| proc_file::value(&info, "Model")).map(Into::into)
}

fn memory_gb() -> Option<f64> {
    let bytes = proc_file::bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")?;
    Some((bytes as f64 / 1e8).round() / 10.0)
}

fn system() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    match fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(kernel) => format!("{name}, kernel {}", kernel.trim()),
        Err(_) => format!("{name}, {}", std::env::consts::ARCH),
    }
}

/// Returns what NVIDIA's driver reports about its cards; nothing where there is no driver.
fn gpus() -> Vec<String> {
    let query = ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"];
    match Command::new("nvidia-smi").args(query).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().map(|line| format!("{} (name, driver, memory)", line.trim())).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_tells_its_processor_and_cores() {
        let machine = MachineInfo::this();
        assert!(!machine.cpu.is_empty() && machine.cores >= 1 && !machine.system.is_empty());
    }
}
