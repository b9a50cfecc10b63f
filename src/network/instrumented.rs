//! A backend with instruments: how busy its processors are, whether its outputs are numbers.
//!
//! The engine puts them on the backend in force, whichever it is.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::busy::BusyMeter;
use super::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// A backend that passes everything on to another one and measures it.
#[derive(Debug)]
pub struct Instrumented {
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

    fn take_notes(&self) -> Vec<String> {
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
