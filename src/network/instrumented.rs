//! A backend with instruments: how busy its processors are, how large its batches should be, whether its outputs are numbers.
//!
//! The engine puts them on the backend in force, whichever it is; the search then asks [`Backend::batch_size`].

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch_size::{BatchSize, TimedBatch};
use super::busy::BusyMeter;
use super::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// A measurement of batch sizes begins at the size that the backend itself prefers, divided by this.
const FIRST_PART: usize = 4;
/// The smallest size that it begins with, where the backend does not prefer a smaller one.
const MIN_FIRST: usize = 8;

/// A backend that passes everything on to another one and measures it.
#[derive(Debug)]
pub struct Instrumented {
    backend: Arc<dyn Backend>,
    instruments: Arc<Instruments>,
}

#[derive(Debug)]
struct Instruments {
    busy: BusyMeter,
    batch_size: BatchSize,
}

impl Instrumented {
    /// Returns `backend` with instruments.
    pub fn new(backend: Arc<dyn Backend>) -> Instrumented {
        let info = backend.info();
        let preferred = info.preferred_batch.clamp(1, info.max_batch);
        let batch_size = if info.measures_batch {
            BatchSize::new((preferred / FIRST_PART).max(MIN_FIRST).min(preferred), info.max_batch)
        } else {
            BatchSize::new(preferred, preferred)
        };
        let instruments = Instruments { busy: BusyMeter::new(info.processor, Instant::now()), batch_size };
        Instrumented { backend, instruments: Arc::new(instruments) }
    }
}

impl Backend for Instrumented {
    fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let evaluator = self.backend.evaluator()?;
        self.instruments.busy.add_evaluator(Instant::now());
        let (info, instruments) = (self.info().clone(), self.instruments.clone());
        Ok(Box::new(InstrumentedEvaluator { evaluator, info, instruments }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.backend.busy_time().or_else(|| Some(self.instruments.busy.busy_time(Instant::now())))
    }

    fn batch_size(&self) -> usize {
        self.instruments.batch_size.get()
    }

    fn take_notes(&self) -> Vec<String> {
        let mut notes = self.backend.take_notes();
        notes.extend(
            self.instruments.batch_size.take_note().map(|note| format!("{}: {note}", self.info().name)),
        );
        notes
    }
}

struct InstrumentedEvaluator {
    evaluator: Box<dyn Evaluator>,
    info: BackendInfo,
    instruments: Arc<Instruments>,
}

impl Evaluator for InstrumentedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let Instruments { busy, batch_size } = &*self.instruments;
        let began = Instant::now();
        let _busy = BusyGuard::begin(busy, began);
        self.evaluator.evaluate(batch)?;
        EvalSlot::check_numbers(&self.info, batch)?;
        batch_size.record(TimedBatch { positions: batch.len(), began, ended: Instant::now() });
        Ok(())
    }
}

impl Drop for InstrumentedEvaluator {
    fn drop(&mut self) {
        self.instruments.busy.remove_evaluator(Instant::now());
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
