//! Batches on their way from the threads that search to the threads of devices, and back.
//!
//! The positions themselves travel, so that no thread ever refers to another one's memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam::channel::Sender;

use crate::network::EvalSlot;

/// Positions that somebody waits for.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) slots: Vec<EvalSlot>,
    /// Where they stand in the batch that they are of.
    pub(super) start: usize,
    pub(super) back: Sender<Return>,
}

/// Positions that are back.
#[derive(Debug)]
pub(super) struct Return {
    pub(super) slots: Vec<EvalSlot>,
    pub(super) start: usize,
    /// False if the device failed, or is gone; the positions are then as they were sent.
    pub(super) is_evaluated: bool,
}

impl Errand {
    /// Sends the positions back.
    pub(super) fn finish(self, is_evaluated: bool) {
        let Errand { slots, start, back } = self;
        // Who waits no more has no use for them.
        let _ = back.send(Return { slots, start, is_evaluated });
    }
}

/// Errands in the order of their arrival, for `servers` threads. Without servers nothing is accepted.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    errands: VecDeque<Errand>,
    servers: usize,
    is_closed: bool,
}

impl Queue {
    /// A queue that so many threads are going to serve; each must [`leave`](Queue::leave) once.
    pub(super) fn new(servers: usize) -> Queue {
        let state = State { errands: VecDeque::new(), servers, is_closed: false };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an errand; where nobody serves it comes back at once.
    pub(super) fn push(&self, errand: Errand) {
        let mut state = self.state();
        if state.servers == 0 {
            drop(state);
            return errand.finish(false);
        }
        state.errands.push_back(errand);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for an errand and takes it, with those behind it as long as all have at most `positions` together.
    /// `None` when the queue is closed or the server is no longer `fit`.
    pub(super) fn take(&self, positions: usize, fit: impl Fn() -> bool) -> Option<Vec<Errand>> {
        let idle = |state: &mut State| state.errands.is_empty() && !state.is_closed && fit();
        let mut state = self.changed.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed || !fit() {
            return None;
        }
        let mut taken: Vec<_> = state.errands.pop_front().into_iter().collect();
        let mut count: usize = taken.iter().map(|errand| errand.slots.len()).sum();
        while let Some(next) = state.errands.front() {
            count += next.slots.len();
            if count > positions {
                break;
            }
            taken.extend(state.errands.pop_front());
        }
        Some(taken)
    }

    /// A server leaves. The last one sends back what is still there.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        state.servers -= 1;
        let left = if state.servers == 0 { std::mem::take(&mut state.errands) } else { VecDeque::new() };
        drop(state);
        // Servers of the same device must see that it is no longer fit.
        self.changed.notify_all();
        left.into_iter().for_each(|errand| errand.finish(false));
    }

    /// Tells all servers to leave.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}
