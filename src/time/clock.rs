//! The one place of `time` that knows what time it is.
//!
//! The engine starts a [`Clock`] when it reads `go` and hands elapsed milliseconds to the stoppers; tests and
//! the replay use a [`ManualClock`], which moves only when told.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A source of elapsed time that never runs backwards.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since some fixed moment in the past.
    fn now_ms(&self) -> f64;
}

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    origin: Instant,
}

impl Default for RealClock {
    fn default() -> Self {
        RealClock { origin: Instant::now() }
    }
}

impl Clock for RealClock {
    fn now_ms(&self) -> f64 {
        self.origin.elapsed().as_secs_f64() * 1000.0
    }
}

/// A clock that stands still until it is advanced; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    microseconds: Arc<AtomicU64>,
}

impl ManualClock {
    /// Moves the time forward by `ms` milliseconds; negative amounts count as 0.
    pub fn advance_ms(&self, ms: f64) {
        // A single counter with no other data published through it: relaxed ordering is enough.
        self.microseconds.fetch_add((ms * 1000.0).round() as u64, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> f64 {
        self.microseconds.load(Ordering::Relaxed) as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::default();
        let other = clock.clone();
        assert_eq!(clock.now_ms(), 0.0);
        clock.advance_ms(12.5);
        clock.advance_ms(-3.0);
        assert_eq!(other.now_ms(), 12.5);
    }

    #[test]
    fn the_real_clock_does_not_run_backwards() {
        let clock = RealClock::default();
        let first = clock.now_ms();
        assert!(clock.now_ms() >= first && first >= 0.0);
    }
}
