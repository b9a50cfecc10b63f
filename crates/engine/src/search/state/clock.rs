//! The time of a search since `go` was read: real, or counted by the search, which simulates a device.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::network::DevicePace;
use crate::network::timetable::Timetable;

pub(crate) struct SearchClock {
    started: Instant,
    /// `None` in real time.
    counted: Option<VirtualTime>,
}

/// Time that only the search advances. One thread searches, others only look.
struct VirtualTime {
    /// Relaxed: it publishes nothing else.
    now_ns: AtomicU64,
    host_per_visit: Duration,
    timetable: Mutex<Timetable>,
}

impl SearchClock {
    pub(crate) fn start(received: Instant, pace: Option<DevicePace>) -> SearchClock {
        let counted = |pace: DevicePace| VirtualTime {
            now_ns: AtomicU64::new(0),
            host_per_visit: pace.host_per_visit,
            timetable: Mutex::new(Timetable::new(pace)),
        };
        SearchClock {
            started: received,
            counted: pace.map(counted),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.counted
            .as_ref()
            .map_or_else(|| self.started.elapsed(), VirtualTime::now)
    }

    pub(crate) fn is_real(&self) -> bool {
        self.counted.is_none()
    }

    pub(crate) fn visited(&self, visits: u32) {
        if let Some(time) = &self.counted {
            time.pass_until(time.now() + time.host_per_visit * visits);
        }
    }

    /// The time from which the answers to a batch of `positions` count.
    pub(crate) fn sent(&self, positions: u32) -> Duration {
        match &self.counted {
            Some(time) => time.timetable.lock().submit(time.now(), positions),
            None => self.elapsed(),
        }
    }

    pub(crate) fn waited_until(&self, time: Duration) {
        if let Some(virtual_time) = &self.counted {
            virtual_time.pass_until(time);
        }
    }

    pub(crate) fn device_busy(&self) -> Option<Duration> {
        self.counted
            .as_ref()
            .map(|time| time.timetable.lock().busy_until(time.now()))
    }
}

impl VirtualTime {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }

    fn pass_until(&self, time: Duration) {
        self.now_ns.fetch_max(time.as_nanos() as u64, Ordering::Relaxed);
    }
}
