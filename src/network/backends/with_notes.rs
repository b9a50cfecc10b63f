//! A backend with notes on how it came about.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::network::{Backend, BackendError, BackendInfo, Evaluator};

/// A backend that passes everything on to another one, and has notes of its own.
#[derive(Debug)]
struct WithNotes {
    backend: Arc<dyn Backend>,
    /// Taken once, before those of the backend itself.
    notes: Mutex<Vec<String>>,
}

/// Returns `backend` with `notes` that come before its own.
pub(super) fn with_notes(backend: Arc<dyn Backend>, notes: Vec<String>) -> Arc<dyn Backend> {
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

    fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        notes.extend(self.backend.take_notes());
        notes
    }
}
