//! A backend with something to say about how it came about.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::network::{Backend, BackendError, BackendInfo, Evaluator};

/// See the module.
#[derive(Debug)]
struct WithNotes {
    backend: Arc<dyn Backend>,
    /// Told once, before what the backend itself has to tell.
    notes: Mutex<Vec<String>>,
}

/// `backend` with `notes` that come before its own.
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
