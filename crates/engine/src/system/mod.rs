//! What the system tells of the machine and of this process: CPU time, what its tools write, its GPUs, and
//! Linux's files like `/proc/cpuinfo`, which hold lines of a key, a colon and a value.

pub mod gpus;
pub(crate) mod huge_pages;
pub mod vulkan;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
#[cfg(windows)]
use windows_sys::Win32::System::SystemInformation::GetPhysicallyInstalledSystemMemory;

/// The CPU time of all threads of this process so far, so that other work on the machine does not count, or
/// `None` where the system does not tell it.
pub fn cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }
    #[cfg(not(unix))]
    None
}

/// Returns what a tool of the system writes, if it is there, succeeds and writes anything.
pub(crate) fn told(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Asks NVIDIA's driver, which answers with a line for each GPU.
pub fn nvidia_smi(query: &str) -> Option<String> {
    told("nvidia-smi", &[&format!("--query-gpu={query}"), "--format=csv,noheader"])
}

/// Names under which Python 3 may be installed, best first.
pub const PYTHONS: &[&str] =
    if cfg!(windows) { &["py", "python", "python3"] } else { &["python3", "python"] };

/// Returns the name of the processor, or its kind where the system has no name for it.
pub fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = match env::consts::OS {
        "macos" => told("sysctl", &["-n", "machdep.cpu.brand_string"]),
        "windows" => env::var("PROCESSOR_IDENTIFIER").ok(),
        _ => value(&info, "model name").or_else(|| value(&info, "Model")).map(str::to_owned),
    };
    name.unwrap_or_else(|| env::consts::ARCH.into())
}

/// The machine's memory, bytes, or `None` where the system does not tell it.
pub fn memory() -> Option<u64> {
    #[cfg(windows)]
    {
        let mut kilobytes = 0;
        // SAFETY: the system writes one number, and only there.
        let is_known = unsafe { GetPhysicallyInstalledSystemMemory(&raw mut kilobytes) } != 0;
        is_known.then(|| kilobytes * 1024)
    }
    #[cfg(not(windows))]
    if cfg!(target_os = "macos") {
        told("sysctl", &["-n", "hw.memsize"])?.parse().ok()
    } else {
        bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")
    }
}

/// Returns what lies in a folder, in order. Nothing lies in one that is not there.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The value of the first line that begins with `key`.
pub fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

/// The value of the first line that begins with `key`, a size in kB, in bytes.
pub(crate) fn bytes(text: &str, key: &str) -> Option<u64> {
    value(text, key)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_behind_colons() {
        assert_eq!(value("a: 1\nmodel name\t: X 9\n", "model name"), Some("X 9"));
        assert_eq!(value("a: 1", "b"), None);
        assert_eq!(bytes("Name:\tx\nVmRSS:\t  1000 kB\n", "VmRSS"), Some(1_024_000));
        assert_eq!(bytes("VmRSS: much", "VmRSS"), None);
    }
}
