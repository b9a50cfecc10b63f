//! A backend with gauges on it: how busy its processors are, and how large its batches should be.
//!
//! The engine puts them on the backend in force, whichever it is; the search then asks [`Backend::batch_size`].

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch_size::BatchSize;
use super::busy::BusyMeter;
use super::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// Where a measurement of batch sizes begins, as a part of the size that the backend itself prefers.
const FIRST_PART: usize = 4;
/// The smallest size that it begins with, where the backend does not prefer a smaller one.
const MIN_FIRST: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Gauged {
    backend: Arc<dyn Backend>,
    gauges: Arc<Gauges>,
}

#[derive(Debug)]
struct Gauges {
    busy: BusyMeter,
    batch_size: BatchSize,
}

impl Gauged {
    /// Puts gauges on `backend`.
    pub fn new(backend: Arc<dyn Backend>) -> Gauged {
        let info = backend.info();
        let preferred = info.preferred_batch.clamp(1, info.max_batch);
        let batch_size = match info.measures_batch {
            true => BatchSize::new((preferred / FIRST_PART).max(MIN_FIRST).min(preferred), info.max_batch),
            false => BatchSize::new(preferred, preferred),
        };
        let gauges = Gauges { busy: BusyMeter::new(info.processor, Instant::now()), batch_size };
        Gauged { backend, gauges: Arc::new(gauges) }
    }
}

impl Backend for Gauged {
    fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let evaluator = self.backend.evaluator()?;
        self.gauges.busy.add_evaluator(Instant::now());
        Ok(Box::new(GaugedEvaluator { evaluator, gauges: self.gauges.clone() }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.backend.busy_time().or_else(|| Some(self.gauges.busy.busy_time(Instant::now())))
    }

    fn batch_size(&self) -> usize {
        self.gauges.batch_size.get()
    }

    fn take_notes(&self) -> Vec<String> {
        let mut notes = self.backend.take_notes();
        notes.extend(self.gauges.batch_size.take_note().map(|note| format!("{}: {note}", self.info().name)));
        notes
    }
}

struct GaugedEvaluator {
    evaluator: Box<dyn Evaluator>,
    gauges: Arc<Gauges>,
}

impl Evaluator for GaugedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let Gauges { busy, batch_size } = &*self.gauges;
        let began = Instant::now();
        let _at_work = AtWork::begin(busy, began);
        self.evaluator.evaluate(batch)?;
        batch_size.record(batch.len(), (began, Instant::now()));
        Ok(())
    }
}

impl Drop for GaugedEvaluator {
    fn drop(&mut self) {
        self.gauges.busy.remove_evaluator(Instant::now());
    }
}

/// An evaluation that is counted as long as this lives, also if it panics.
struct AtWork<'a>(&'a BusyMeter);

impl AtWork<'_> {
    fn begin(busy: &BusyMeter, now: Instant) -> AtWork<'_> {
        busy.begin(now);
        AtWork(busy)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.end(Instant::now());
    }
}
