//! How late the system wakes a thread that sleeps to a deadline.
//!
//! On a machine with more busy processes than cores a thread whose time has come waits until a core is free for it. The
//! controller sees at each of its ticks how long that takes, and is ready so much earlier for a deadline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Share of an old lateness that is still feared after another prompt waking.
const MEMORY: f64 = 0.95;
/// The most that is taken off a deadline …
const MAX_MARGIN: Duration = Duration::from_millis(15);
/// … and the largest share of the time to it, one in so many.
const MARGIN_PART: u32 = 4;

/// One for the process: what is measured is the machine.
pub(super) static WAKEUP_LATENCY: WakeupLatency = WakeupLatency::new();

/// The lateness of late. Written and read by controllers only; a lost update does no harm.
#[derive(Debug)]
pub(super) struct WakeupLatency {
    lateness_ns: AtomicU64,
}

impl WakeupLatency {
    const fn new() -> WakeupLatency {
        WakeupLatency { lateness_ns: AtomicU64::new(0) }
    }

    /// A thread that wanted to sleep for `asked` woke after `took`.
    pub(super) fn woke(&self, asked: Duration, took: Duration) {
        let late = took.saturating_sub(asked).as_nanos().min(u128::from(u64::MAX)) as u64;
        let feared = (self.lateness_ns.load(Ordering::Relaxed) as f64 * MEMORY) as u64;
        self.lateness_ns.store(late.max(feared), Ordering::Relaxed);
    }

    /// How much earlier to be ready for a deadline that is `total` after the search's start.
    pub(super) fn margin(&self, total: Duration) -> Duration {
        let lateness = Duration::from_nanos(self.lateness_ns.load(Ordering::Relaxed));
        lateness.min(MAX_MARGIN).min(total / MARGIN_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_waking_is_feared_for_a_while() {
        let ms = Duration::from_millis;
        let waking = WakeupLatency::new();
        assert_eq!(waking.margin(ms(1000)), ms(0));
        waking.woke(ms(10), ms(18));
        assert_eq!(waking.margin(ms(1000)), ms(8));
        assert_eq!(waking.margin(ms(20)), ms(5), "a quarter of a short search");
        waking.woke(ms(10), ms(10));
        assert_eq!(waking.margin(ms(1000)), Duration::from_micros(7600));
        waking.woke(ms(10), ms(200));
        assert_eq!(waking.margin(ms(1000)), MAX_MARGIN);
        (0..200).for_each(|_| waking.woke(ms(10), ms(10)));
        assert!(waking.margin(ms(1000)) < ms(1));
    }
}
