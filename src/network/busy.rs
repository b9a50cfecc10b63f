//! A meter of how busy a backend's processors are, as seen from outside: by when its evaluators are asked and when they
//! answer.
//!
//! [`super::instrumented`] uses it for backends that don't know it themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Processor;

/// Adds up the time for which evaluators are at work.
#[derive(Debug)]
pub(super) struct BusyMeter {
    processor: Processor,
    state: Mutex<BusyState>,
}

#[derive(Debug)]
struct BusyState {
    /// Evaluators that exist, and how many of them are at work.
    evaluators: u32,
    active: u32,
    /// The instant up to which `busy` counts.
    until: Instant,
    busy: Duration,
}

impl BusyState {
    /// Counts the time until `now`.
    fn count(&mut self, processor: Processor, now: Instant) {
        let passed = now.saturating_duration_since(self.until);
        self.until = self.until.max(now);
        self.busy += match processor {
            // Each evaluator has a core for itself.
            Processor::Cpu => passed * self.active / self.evaluators.max(1),
            // All share one device.
            Processor::Accelerator => passed * self.active.min(1),
        };
    }
}

impl BusyMeter {
    pub(super) fn new(processor: Processor, now: Instant) -> BusyMeter {
        let state = BusyState { evaluators: 0, active: 0, until: now, busy: Duration::ZERO };
        BusyMeter { processor, state: Mutex::new(state) }
    }

    fn counted(&self, now: Instant) -> MutexGuard<'_, BusyState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count(self.processor, now);
        state
    }

    pub(super) fn add_evaluator(&self, now: Instant) {
        self.counted(now).evaluators += 1;
    }

    pub(super) fn remove_evaluator(&self, now: Instant) {
        self.counted(now).evaluators -= 1;
    }

    /// Counts an evaluator that has been asked.
    pub(super) fn begin(&self, now: Instant) {
        self.counted(now).active += 1;
    }

    /// Counts an evaluator that has answered.
    pub(super) fn end(&self, now: Instant) {
        self.counted(now).active -= 1;
    }

    /// Returns the busy time until `now`: on a CPU the mean over all evaluators, on an accelerator the time in which it
    /// had at least one batch.
    pub(super) fn busy_time(&self, now: Instant) -> Duration {
        self.counted(now).busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Returns the busy time of two evaluators: one at work from 0 to 10 ms, the other from 6 to 16 ms.
    fn overlapping(processor: Processor) -> Duration {
        let start = Instant::now();
        let meter = BusyMeter::new(processor, start);
        (0..2).for_each(|_| meter.add_evaluator(start));
        meter.begin(start);
        meter.begin(start + 6 * MS);
        meter.end(start + 10 * MS);
        meter.end(start + 16 * MS);
        meter.busy_time(start + 20 * MS)
    }

    #[test]
    fn cores_count_each_for_itself_and_a_device_once() {
        assert_eq!(overlapping(Processor::Cpu), 10 * MS);
        assert_eq!(overlapping(Processor::Accelerator), 16 * MS);
    }
}
