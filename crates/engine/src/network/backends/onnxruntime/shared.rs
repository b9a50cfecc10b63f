//! Lets any number of threads share the few sessions of an accelerator: one for each batch that it receives
//! at once. More would hold the weights in its memory again.

use std::fmt;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::NAME;
use super::sessions::SessionEvaluator;
use crate::network::{BackendError, EvalSlot, Evaluator};

pub(super) struct SharedEvaluators {
    most: usize,
    state: Mutex<State>,
    is_back: Condvar,
}

#[derive(Default)]
struct State {
    made: usize,
    idle: Vec<SessionEvaluator>,
}

impl fmt::Debug for SharedEvaluators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedEvaluators").field("most", &self.most).finish_non_exhaustive()
    }
}

impl SharedEvaluators {
    pub(super) fn new(most: usize) -> SharedEvaluators {
        SharedEvaluators { most, state: Mutex::default(), is_back: Condvar::new() }
    }

    /// Makes one more unless there are enough.
    pub(super) fn evaluator(
        self: &Arc<SharedEvaluators>,
        make: impl FnOnce() -> Result<SessionEvaluator, BackendError>,
    ) -> Result<Box<dyn Evaluator>, BackendError> {
        let mut state = self.state.lock();
        if state.made < self.most {
            state.idle.push(make()?);
            state.made += 1;
        }
        Ok(Box::new(SharedEvaluator(self.clone())))
    }
}

struct SharedEvaluator(Arc<SharedEvaluators>);

impl Evaluator for SharedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let SharedEvaluators { state, is_back, .. } = &*self.0;
        let mut waiting = state.lock();
        let mut evaluator = loop {
            if let Some(evaluator) = waiting.idle.pop() {
                break evaluator;
            }
            is_back.wait(&mut waiting);
        };
        drop(waiting);
        let done = (&mut evaluator as &mut dyn Evaluator).evaluate_or_fail(NAME, batch);
        state.lock().idle.push(evaluator);
        is_back.notify_one();
        done
    }
}
