//! The machine and this process as the system describes them.

pub mod allocator;
pub mod gpus;
pub(crate) mod huge_pages;
pub(crate) mod threads;
pub mod tool;
pub mod vulkan;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use sysinfo::{
    CpuRefreshKind, MemoryRefreshKind, Process, ProcessRefreshKind, ProcessesToUpdate, System,
    get_current_pid,
};

/// Of all threads of this process so far.
pub fn cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Some(Duration::new(
            time.tv_sec.try_into().ok()?,
            time.tv_nsec.try_into().ok()?,
        ))
    }
    #[cfg(not(unix))]
    of_this_process(|process| Duration::from_millis(process.accumulated_cpu_time()))
}

fn of_this_process<T>(read: impl Fn(&Process) -> T) -> Option<T> {
    let mut system = System::new().ok()?;
    let own = get_current_pid().ok()?;
    let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), false, wanted);
    system.process(own).map(read)
}

pub fn cpu_name() -> String {
    let brand = || {
        let mut system = System::new().ok()?;
        system.refresh_cpu_list(CpuRefreshKind::nothing());
        Some(system.cpus().first()?.brand().trim().to_owned())
    };
    brand()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| std::env::consts::ARCH.into())
}

pub fn name() -> String {
    let name = System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.into());
    let kernel = System::kernel_version().map(|version| format!(", kernel {version}"));
    format!("{name}{}", kernel.unwrap_or_default())
}

/// The name of the machine in its network, or "this machine".
pub fn host_name() -> String {
    System::host_name().unwrap_or_else(|_| "this machine".into())
}

/// The distribution of Linux and those that it is like. Elsewhere the system alone.
pub fn distributions() -> Vec<String> {
    [System::distribution_id()]
        .into_iter()
        .chain(System::distribution_id_like())
        .collect()
}

pub fn memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    Some(system.total_memory()).filter(|&bytes| bytes > 0)
}

/// The bytes that the system grants this process: the limit of its control groups, the machine's memory, or
/// half of what is left of its address space. Threads have the other half.
pub(crate) fn memory_limit() -> Option<u64> {
    let group = of_this_process(|process| Some(process.cgroup_limits()?.total_memory)).flatten();
    group
        .into_iter()
        .chain(memory())
        .chain(address_space_left().map(|left| left / 2))
        .min()
}

/// Threads with such stacks that fit beside [`memory_limit`], at least one.
pub(crate) fn most_threads(stack: usize) -> usize {
    let fitting = |left: u64| (left / 2 / stack as u64).max(1);
    address_space_left().map_or(usize::MAX, |left| fitting(left) as usize)
}

/// `None` without a limit (`ulimit -v`).
fn address_space_left() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let limit = getrlimit(Resource::As).current?;
        let taken = of_this_process(Process::virtual_memory).unwrap_or(0);
        Some(limit.saturating_sub(taken))
    }
    #[cfg(not(unix))]
    None
}

pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // Without it the usual limit holds.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                ..limit
            },
        );
    }
}

/// What a tool writes, if it is there, succeeds and writes anything.
pub(crate) fn told(program: &str, arguments: &[&str]) -> Option<String> {
    let output = tool::output_within(Command::new(program).args(arguments), tool::TOOL_PATIENCE).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Asks NVIDIA's driver, which answers with a line for each GPU.
pub fn nvidia_smi(query: &str) -> Option<String> {
    told(
        "nvidia-smi",
        &[&format!("--query-gpu={query}"), "--format=csv,noheader"],
    )
}

/// Names under which Python 3 may be installed, best first.
pub const PYTHONS: &[&str] = if cfg!(windows) {
    &["py", "python", "python3"]
} else {
    &["python3", "python"]
};

pub(crate) fn entries_named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut paths = entries(folder);
    paths.retain(|path| {
        path.file_name()
            .is_some_and(|name| is_wanted(&name.to_string_lossy()))
    });
    paths
}

/// What lies in a folder, in order.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_and_memory() {
        assert!(memory_limit().is_some_and(|bytes| bytes > 100_000_000 && bytes <= memory().unwrap()));
        assert!(
            cpu_name().chars().any(char::is_alphabetic) && name().contains(", kernel "),
            "{}",
            name()
        );
        assert!(cpu_time().is_some());
    }
}
