//! The time of a search since the `go` line was read: real, or counted by the search itself where a simulated
//! device is to be tried without waiting for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::network::DevicePace;
use crate::network::timetable::Timetable;

#[derive(Debug)]
pub(crate) struct SearchClock(Time);

#[derive(Debug)]
enum Time {
    Real(Instant),
    Virtual(VirtualTime),
}

/// Time that passes only when the search says so. One thread searches, others only look.
#[derive(Debug)]
struct VirtualTime {
    /// Relaxed: it publishes nothing else.
    now_ns: AtomicU64,
    host_per_visit: Duration,
    /// When the device is done with what it was sent.
    timetable: Mutex<Timetable>,
}

impl SearchClock {
    /// Starts at `received`, or at 0 in virtual time for a device of this `pace`.
    pub(crate) fn start(received: Instant, pace: Option<DevicePace>) -> SearchClock {
        SearchClock(match pace {
            None => Time::Real(received),
            Some(pace) => Time::Virtual(VirtualTime {
                now_ns: AtomicU64::new(0),
                host_per_visit: pace.host_per_visit,
                timetable: Mutex::new(Timetable::new(pace)),
            }),
        })
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match &self.0 {
            Time::Real(started) => started.elapsed(),
            Time::Virtual(time) => time.now(),
        }
    }

    /// Returns whether time passes by itself, so that somebody has to watch it beside the workers.
    pub(crate) fn is_real(&self) -> bool {
        matches!(self.0, Time::Real(_))
    }

    /// Takes in that so many visits were made.
    pub(crate) fn visited(&self, visits: u32) {
        if let Time::Virtual(time) = &self.0 {
            time.pass_until(time.now() + time.host_per_visit * visits);
        }
    }

    /// Takes in that a batch of `positions`, evaluated already, was sent to the device. Returns when its
    /// answers count as back.
    pub(crate) fn sent(&self, positions: u32) -> Duration {
        match &self.0 {
            Time::Real(started) => started.elapsed(),
            Time::Virtual(time) => time.timetable.lock().submit(time.now(), positions),
        }
    }

    /// Takes in that somebody waited until `time`.
    pub(crate) fn waited_until(&self, time: Duration) {
        if let Time::Virtual(virtual_time) = &self.0 {
            virtual_time.pass_until(time);
        }
    }

    /// Returns how long the device has computed so far, or `None` in real time.
    pub(crate) fn device_busy(&self) -> Option<Duration> {
        match &self.0 {
            Time::Real(_) => None,
            Time::Virtual(time) => Some(time.timetable.lock().busy_until(time.now())),
        }
    }
}

impl VirtualTime {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }

    /// Lets time pass up to `time`, unless it is later already.
    fn pass_until(&self, time: Duration) {
        self.now_ns.fetch_max(time.as_nanos() as u64, Ordering::Relaxed);
    }
}
