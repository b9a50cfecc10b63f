//! Measures how late the system wakes a thread that sleeps to a deadline.
//!
//! On a machine with more busy processes than cores a thread whose time has come waits until a core is free for it. The
//! controller measures at each of its ticks how long that takes, and is ready that much earlier for a deadline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The factor by which the latency that is reckoned with falls at each prompt wake-up.
const DECAY: f64 = 0.95;
/// The longest time that is taken off a deadline …
const MAX_MARGIN: Duration = Duration::from_millis(15);
/// … which is also no longer than the time to the deadline divided by this.
const MARGIN_DIVISOR: u32 = 4;

/// The latency of this machine, measured by all searches of the process.
pub(crate) static WAKEUP_LATENCY: WakeupLatency = WakeupLatency::new();

/// The recent delay between the time for which a thread asked to be woken and the time when it ran. Written and read by
/// controllers only; a lost update does no harm.
#[derive(Debug)]
pub(crate) struct WakeupLatency {
    latency_ns: AtomicU64,
}

impl WakeupLatency {
    const fn new() -> WakeupLatency {
        WakeupLatency { latency_ns: AtomicU64::new(0) }
    }

    /// Notes that a thread which asked to sleep for `asked` woke after `took`.
    pub(crate) fn woke(&self, asked: Duration, took: Duration) {
        let late_ns = took.saturating_sub(asked).as_nanos().min(u128::from(u64::MAX)) as u64;
        let decayed = (self.latency_ns.load(Ordering::Relaxed) as f64 * DECAY) as u64;
        self.latency_ns.store(late_ns.max(decayed), Ordering::Relaxed);
    }

    /// Returns how much earlier to be ready for a deadline that is `total` after the search's start.
    pub(crate) fn margin(&self, total: Duration) -> Duration {
        let latency = Duration::from_nanos(self.latency_ns.load(Ordering::Relaxed));
        latency.min(MAX_MARGIN).min(total / MARGIN_DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_wake_up_is_reckoned_with_for_a_while() {
        let ms = Duration::from_millis;
        let latency = WakeupLatency::new();
        assert_eq!(latency.margin(ms(1000)), ms(0));
        latency.woke(ms(10), ms(18));
        assert_eq!(latency.margin(ms(1000)), ms(8));
        assert_eq!(latency.margin(ms(20)), ms(5), "a quarter of a short search");
        latency.woke(ms(10), ms(10));
        assert_eq!(latency.margin(ms(1000)), Duration::from_micros(7600));
        latency.woke(ms(10), ms(200));
        assert_eq!(latency.margin(ms(1000)), MAX_MARGIN);
        (0..200).for_each(|_| latency.woke(ms(10), ms(10)));
        assert!(latency.margin(ms(1000)) < ms(1));
    }
}
