//! The time of one search: real, or that of a simulated device.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of one search.
#[derive(Debug)]
pub(crate) enum SearchClock {
    /// Real time since the `go` line was read.
    Real(Instant),
    /// Time that passes only when somebody says so, nanoseconds. Relaxed: one thread searches, others only look.
    Virtual(AtomicU64),
}

impl SearchClock {
    /// Returns a clock of virtual time that stands at 0.
    pub(crate) fn new_virtual() -> SearchClock {
        SearchClock::Virtual(AtomicU64::new(0))
    }

    /// Returns the time since the search began.
    pub(crate) fn elapsed(&self) -> Duration {
        match self {
            SearchClock::Real(started) => started.elapsed(),
            SearchClock::Virtual(nanos) => Duration::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// Lets virtual time pass up to `time`, unless it is later already.
    pub(crate) fn pass_until(&self, time: Duration) {
        if let SearchClock::Virtual(nanos) = self {
            nanos.fetch_max(time.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Returns when the search began; `None` where time is virtual.
    pub(crate) fn started(&self) -> Option<Instant> {
        match self {
            SearchClock::Real(started) => Some(*started),
            SearchClock::Virtual(_) => None,
        }
    }
}
