//! Batches on their way from the threads that search to the threads of devices, and back.
//!
//! The positions themselves travel, so that no thread ever refers to another one's memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam::channel::Sender;

use crate::network::EvalSlot;

/// Positions that somebody waits for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) slots: Vec<EvalSlot>,
    /// Where they stand in the batch that they are of.
    pub(super) start: usize,
    pub(super) back: Sender<Response>,
}

/// Positions that are back.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) slots: Vec<EvalSlot>,
    pub(super) start: usize,
    /// False if the device failed, or is gone; the positions are then as they were sent.
    pub(super) is_evaluated: bool,
}

impl Request {
    /// Sends the positions back.
    pub(super) fn finish(self, is_evaluated: bool) {
        let Request { slots, start, back } = self;
        // Who waits no more has no use for them.
        let _ = back.send(Response { slots, start, is_evaluated });
    }
}

/// Requests in the order of their arrival, for `device_threads` threads. Without device_threads nothing is accepted.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState {
    requests: VecDeque<Request>,
    device_threads: usize,
    is_closed: bool,
}

impl Queue {
    /// A queue that so many threads are going to serve; each must [`leave`](Queue::leave) once.
    pub(super) fn new(device_threads: usize) -> Queue {
        let state = QueueState { requests: VecDeque::new(), device_threads, is_closed: false };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request; where nobody serves it comes back at once.
    pub(super) fn push(&self, request: Request) {
        let mut state = self.state();
        if state.device_threads == 0 {
            drop(state);
            return request.finish(false);
        }
        state.requests.push_back(request);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for a request and takes it, with those behind it as long as all have at most `positions` together.
    /// `None` when the queue is closed or the device_thread is no longer `fit`.
    pub(super) fn take(&self, positions: usize, fit: impl Fn() -> bool) -> Option<Vec<Request>> {
        let idle = |state: &mut QueueState| state.requests.is_empty() && !state.is_closed && fit();
        let mut state = self.changed.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed || !fit() {
            return None;
        }
        let mut taken: Vec<_> = state.requests.pop_front().into_iter().collect();
        let mut count: usize = taken.iter().map(|request| request.slots.len()).sum();
        while let Some(next) = state.requests.front() {
            count += next.slots.len();
            if count > positions {
                break;
            }
            taken.extend(state.requests.pop_front());
        }
        Some(taken)
    }

    /// A device_thread leaves. The last one sends back what is still there.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        state.device_threads -= 1;
        let left =
            if state.device_threads == 0 { std::mem::take(&mut state.requests) } else { VecDeque::new() };
        drop(state);
        // Servers of the same device must see that it is no longer fit.
        self.changed.notify_all();
        left.into_iter().for_each(|request| request.finish(false));
    }

    /// Tells all device_threads to leave.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}
