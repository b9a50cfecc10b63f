//! The wrapper of every backend that is made: it measures busy time, checks that outputs are numbers, and has
//! notes on how the backend was made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};
use crate::note::Note;

#[derive(Debug)]
pub(crate) struct Instrumented {
    backend: Arc<dyn Backend>,
    busy: Arc<BusyMeter>,
    /// Taken once, before the backend's.
    notes: Mutex<Vec<Note>>,
}

impl Instrumented {
    /// `notes` precede the backend's own.
    pub fn new(backend: Arc<dyn Backend>, notes: Vec<Note>) -> Instrumented {
        let busy = Arc::new(BusyMeter::new(backend.facts().queues > 0, Instant::now()));
        Instrumented {
            backend,
            busy,
            notes: Mutex::new(notes),
        }
    }
}

impl Backend for Instrumented {
    fn facts(&self) -> &BackendInfo {
        self.backend.facts()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let evaluator = self.backend.evaluator()?;
        self.busy.counted(Instant::now()).evaluators += 1;
        let (info, busy) = (self.facts().clone(), self.busy.clone());
        Ok(Box::new(InstrumentedEvaluator {
            evaluator,
            info,
            busy,
        }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.backend
            .busy_time()
            .or_else(|| Some(self.busy.counted(Instant::now()).busy))
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.extend(self.backend.take_notes());
        notes
    }
}

pub(crate) fn with_notes(backend: Arc<dyn Backend>, notes: Vec<Note>) -> Arc<dyn Backend> {
    if notes.is_empty() {
        backend
    } else {
        Arc::new(Instrumented::new(backend, notes))
    }
}

struct InstrumentedEvaluator {
    evaluator: Box<dyn Evaluator>,
    info: BackendInfo,
    busy: Arc<BusyMeter>,
}

impl Evaluator for InstrumentedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        self.busy.counted(Instant::now()).active += 1;
        let _busy = BusyGuard(&self.busy);
        self.evaluator.evaluate(batch)?;
        EvalSlot::check_numbers(&self.info, batch)
    }
}

impl Drop for InstrumentedEvaluator {
    fn drop(&mut self) {
        self.busy.counted(Instant::now()).evaluators -= 1;
    }
}

/// Counts as an evaluation while it lives, even after a panic.
struct BusyGuard<'a>(&'a BusyMeter);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.counted(Instant::now()).active -= 1;
    }
}

/// Adds up the time in which evaluators work, seen from outside: from call to answer.
#[derive(Debug)]
struct BusyMeter {
    is_accelerator: bool,
    state: Mutex<BusyState>,
}

#[derive(Debug)]
struct BusyState {
    evaluators: u32,
    active: u32,
    /// `busy` counts up to this instant.
    until: Instant,
    busy: Duration,
}

impl BusyMeter {
    fn new(is_accelerator: bool, now: Instant) -> BusyMeter {
        let state = BusyState {
            evaluators: 0,
            active: 0,
            until: now,
            busy: Duration::ZERO,
        };
        BusyMeter {
            is_accelerator,
            state: Mutex::new(state),
        }
    }

    fn counted(&self, now: Instant) -> MutexGuard<'_, BusyState> {
        let mut state = self.state.lock();
        let passed = now.saturating_duration_since(state.until);
        state.until = state.until.max(now);
        // On a CPU each evaluator has a core.
        let share = if self.is_accelerator {
            1
        } else {
            state.evaluators.max(1)
        };
        let busy = passed * state.active.min(share) / share;
        state.busy += busy;
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{BackendConfig, create};

    const MS: Duration = Duration::from_millis(1);

    /// The busy time of two evaluators at work from 0 to 10 ms and from 6 to 16 ms.
    fn overlapping(is_accelerator: bool) -> Duration {
        let start = Instant::now();
        let meter = BusyMeter::new(is_accelerator, start);
        meter.counted(start).evaluators = 2;
        meter.counted(start).active = 1;
        meter.counted(start + 6 * MS).active = 2;
        meter.counted(start + 10 * MS).active = 1;
        meter.counted(start + 16 * MS).active = 0;
        meter.counted(start + 20 * MS).busy
    }

    #[test]
    fn cores_count_each_for_itself_and_a_device_once() {
        assert_eq!(overlapping(false), 10 * MS);
        assert_eq!(overlapping(true), 16 * MS);
    }

    /// Its last output is the number.
    #[derive(Debug)]
    struct Damaged(Arc<dyn Backend>, f32);

    impl Backend for Damaged {
        fn facts(&self) -> &BackendInfo {
            self.0.facts()
        }

        fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
            Ok(Box::new(Output(self.1)))
        }
    }

    struct Output(f32);

    impl Evaluator for Output {
        fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
            let last = batch.len() - 1;
            if self.0.is_nan() {
                batch[last].evaluation.m = self.0;
            } else {
                batch[last].logits.push(self.0);
            }
            Ok(())
        }
    }

    /// A regression: NaN from a device went into the tree.
    #[test]
    fn outputs_that_are_no_numbers_are_an_error() {
        let random = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let evaluate = |output| {
            let instrumented = Instrumented::new(Arc::new(Damaged(random.clone(), output)), Vec::new());
            instrumented
                .evaluator()
                .unwrap()
                .evaluate(&mut vec![EvalSlot::default(); 3])
        };
        assert!(evaluate(1.0).is_ok());
        for output in [f32::NAN, f32::INFINITY] {
            let error = evaluate(output).unwrap_err().to_string();
            assert_eq!(error, "random: evaluation failed: it returned NaN or infinity");
        }
    }
}
