//! The CPU time that this process has taken.
//!
//! Used by whatever measures speed, so that other work on the machine does not count. At the bottom of the crate: it knows
//! no other module.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of all threads of the process so far; `None` where the system does not tell it.
pub fn cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }
    #[cfg(not(unix))]
    None
}
