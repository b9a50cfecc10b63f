//! Requests on their way from the threads that search to the threads of devices, and the responses to them.
//!
//! The positions themselves travel, so that no thread ever refers to another one's memory. All of a queue's state lies
//! behind one lock; a condition variable wakes device threads when it changes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam::channel::Sender;

use crate::network::EvalSlot;

/// Positions to evaluate, for which a search thread waits.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) slots: Vec<EvalSlot>,
    /// The place of the first of them in the batch to which they belong.
    pub(super) start: usize,
    /// The channel for the response.
    pub(super) back: Sender<Response>,
}

/// The positions of a request that come back.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) slots: Vec<EvalSlot>,
    /// The `start` of the request.
    pub(super) start: usize,
    /// False if the device failed, or is gone; the positions are then as they were sent.
    pub(super) is_evaluated: bool,
}

impl Request {
    /// Sends the positions back.
    pub(super) fn answer(self, is_evaluated: bool) {
        let Request { slots, start, back } = self;
        // A search thread that waits no more has no use for them.
        let _ = back.send(Response { slots, start, is_evaluated });
    }
}

/// Requests in the order of their arrival, for a number of device threads. Without these nothing is accepted.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState {
    requests: VecDeque<Request>,
    /// Device threads that still serve the queue.
    device_threads: usize,
    is_closed: bool,
}

impl Queue {
    /// Returns a queue that `device_threads` threads are going to serve; each must [`leave`](Queue::leave) once.
    pub(super) fn new(device_threads: usize) -> Queue {
        let state = QueueState { requests: VecDeque::new(), device_threads, is_closed: false };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request; where no thread serves the queue it comes back at once.
    pub(super) fn push(&self, request: Request) {
        let mut state = self.state();
        if state.device_threads == 0 {
            drop(state);
            return request.answer(false);
        }
        state.requests.push_back(request);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for a request and takes it, with those behind it as long as all have at most `positions` together.
    /// Returns `None` when the queue is closed or the device of the calling thread is no longer `alive`.
    pub(super) fn take(&self, positions: usize, alive: impl Fn() -> bool) -> Option<Vec<Request>> {
        let waits = |state: &mut QueueState| state.requests.is_empty() && !state.is_closed && alive();
        let mut state = self.changed.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed || !alive() {
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

    /// Tells the queue that a device thread leaves. The last one sends back the requests that are left.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        state.device_threads -= 1;
        let is_last = state.device_threads == 0;
        let left = if is_last { std::mem::take(&mut state.requests) } else { VecDeque::new() };
        drop(state);
        // Other threads of the same device must see that it is no longer alive.
        self.changed.notify_all();
        left.into_iter().for_each(|request| request.answer(false));
    }

    /// Makes all device threads leave.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}
