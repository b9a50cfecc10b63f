//! Backends around a backend. One has instruments: how busy the processors are, whether the outputs are
//! numbers. The engine puts them on the backend in force, whichever it is. The other has notes on how the
//! backend came about.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Processor};
use crate::note::Note;

/// A backend that passes everything on to another one and measures it.
#[derive(Debug)]
pub(crate) struct Instrumented {
    backend: Arc<dyn Backend>,
    busy: Arc<BusyMeter>,
}

impl Instrumented {
    /// Returns `backend` with instruments.
    pub fn new(backend: Arc<dyn Backend>) -> Instrumented {
        let busy = Arc::new(BusyMeter::new(backend.info().processor, Instant::now()));
        Instrumented { backend, busy }
    }
}

impl Backend for Instrumented {
    fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let evaluator = self.backend.evaluator()?;
        self.busy.add_evaluator(Instant::now());
        let (info, busy) = (self.info().clone(), self.busy.clone());
        Ok(Box::new(InstrumentedEvaluator { evaluator, info, busy }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.backend.busy_time().or_else(|| Some(self.busy.busy_time(Instant::now())))
    }

    fn take_notes(&self) -> Vec<Note> {
        self.backend.take_notes()
    }
}

struct InstrumentedEvaluator {
    evaluator: Box<dyn Evaluator>,
    info: BackendInfo,
    busy: Arc<BusyMeter>,
}

impl Evaluator for InstrumentedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let _busy = BusyGuard::begin(&self.busy, Instant::now());
        self.evaluator.evaluate(batch)?;
        EvalSlot::check_numbers(&self.info, batch)
    }
}

impl Drop for InstrumentedEvaluator {
    fn drop(&mut self) {
        self.busy.remove_evaluator(Instant::now());
    }
}

/// An evaluation that is counted as long as this lives, also if it panics.
struct BusyGuard<'a>(&'a BusyMeter);

impl BusyGuard<'_> {
    fn begin(busy: &BusyMeter, now: Instant) -> BusyGuard<'_> {
        busy.begin(now);
        BusyGuard(busy)
    }
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.end(Instant::now());
    }
}

/// Adds up the time for which evaluators are at work, as seen from outside: by when they are asked and when
/// they answer.
#[derive(Debug)]
struct BusyMeter {
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
    fn new(processor: Processor, now: Instant) -> BusyMeter {
        let state = BusyState { evaluators: 0, active: 0, until: now, busy: Duration::ZERO };
        BusyMeter { processor, state: Mutex::new(state) }
    }

    fn counted(&self, now: Instant) -> MutexGuard<'_, BusyState> {
        let mut state = self.state.lock();
        state.count(self.processor, now);
        state
    }

    fn add_evaluator(&self, now: Instant) {
        self.counted(now).evaluators += 1;
    }

    fn remove_evaluator(&self, now: Instant) {
        self.counted(now).evaluators -= 1;
    }

    /// Counts an evaluator that has been asked.
    fn begin(&self, now: Instant) {
        self.counted(now).active += 1;
    }

    /// Counts an evaluator that has answered.
    fn end(&self, now: Instant) {
        self.counted(now).active -= 1;
    }

    /// Returns the busy time until `now`: on a CPU the mean over all evaluators, on an accelerator the time
    /// in which it had at least one batch.
    fn busy_time(&self, now: Instant) -> Duration {
        self.counted(now).busy
    }
}

/// A backend that passes everything on to another one, and has notes of its own.
#[derive(Debug)]
struct WithNotes {
    backend: Arc<dyn Backend>,
    /// Taken once, before those of the backend itself.
    notes: Mutex<Vec<Note>>,
}

/// Returns `backend` with `notes` that come before its own.
pub(crate) fn with_notes(backend: Arc<dyn Backend>, notes: Vec<Note>) -> Arc<dyn Backend> {
    if notes.is_empty() { backend } else { Arc::new(WithNotes { backend, notes: Mutex::new(notes) }) }
}

impl Backend for WithNotes {
    fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        self.backend.evaluator()
    }

    fn busy_time(&self) -> Option<Duration> {
        self.backend.busy_time()
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.extend(self.backend.take_notes());
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{BackendConfig, create};

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

    /// A device whose last output is what it says.
    #[derive(Debug)]
    struct Damaged(Arc<dyn Backend>, f32);

    impl Backend for Damaged {
        fn info(&self) -> &BackendInfo {
            self.0.info()
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
            let instrumented = Instrumented::new(Arc::new(Damaged(random.clone(), output)));
            instrumented.evaluator().unwrap().evaluate(&mut vec![EvalSlot::default(); 3])
        };
        assert!(evaluate(1.0).is_ok());
        for output in [f32::NAN, f32::INFINITY] {
            let error = evaluate(output).unwrap_err().to_string();
            assert_eq!(error, "random: evaluation failed: it returned NaN or infinity");
        }
    }
}
