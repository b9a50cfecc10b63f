//! All that the search knows of a network: [`Backend`] and [`Evaluator`].

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::backend_error::BackendError;
use super::backend_info::BackendInfo;
use super::eval_slot::EvalSlot;
use crate::note::Note;

/// Whether a backend still evaluates.
#[derive(Clone, Debug)]
pub enum Health {
    /// As far as known.
    Good,
    /// No batch has come back for so long, which is far longer than usual.
    Silent(Duration),
    /// It has failed, and another backend evaluates in its place.
    Replaced(Arc<dyn Backend>),
    /// It has failed for this reason, and nothing evaluates in its place.
    Lost(String),
}

/// A network on a device, shared by all threads.
pub trait Backend: Send + Sync + Debug {
    /// The same for its whole life.
    fn facts(&self) -> &BackendInfo;

    /// An evaluator for one thread, with its own session and buffers. Fails if the device has no room for it.
    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError>;

    /// Time that its processors have computed since it was made, the mean over cores. `None` if it doesn't
    /// know.
    fn busy_time(&self) -> Option<Duration> {
        None
    }

    fn health(&self) -> Health {
        Health::Good
    }

    /// Takes the new notes for people, such as on failed devices.
    fn take_notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// Evaluates batches, for the thread that owns it.
pub trait Evaluator: Send {
    /// Evaluates all slots of `batch` (1 to [`BackendInfo::max_batch`]) and fills their outputs. Blocks.
    /// After an error the outputs are undefined.
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError>;
}

impl dyn Evaluator + '_ {
    /// A panic of `backend` is a failure like others.
    pub(crate) fn evaluate_or_fail(
        &mut self,
        backend: &str,
        batch: &mut [EvalSlot],
    ) -> Result<(), BackendError> {
        catch_unwind(AssertUnwindSafe(|| self.evaluate(batch))).unwrap_or_else(|_| {
            Err(BackendError::Evaluation {
                backend: backend.into(),
                reason: "it panicked".into(),
            })
        })
    }
}

/// A backend, or why there is none.
pub(crate) type Made = Result<Arc<dyn Backend>, BackendError>;
