//! The progress of a search's workers: how many take part, what they have brought back, and whether they are to leave.
//!
//! The stop flag is read before every descent and is an atomic of its own; everything else changes once per batch and lies
//! under one lock, with a condition variable for those who wait for a change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The progress of a search's workers.
#[derive(Debug, Default)]
pub(crate) struct WorkerProgress {
    /// True if the workers are to leave. Relaxed: it publishes nothing, and being seen a little later does no harm.
    stop: AtomicBool,
    state: Mutex<ProgressState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ProgressState {
    /// Workers that are in this search.
    workers: usize,
    /// Threads that wait for a change.
    waiting: usize,
    /// A number that changes whenever a batch has been backed up or a worker leaves.
    epoch: u64,
    /// Time from the start to the end of the first evaluation.
    first_evaluation: Option<Duration>,
    /// The reason why the backend gave up, if it did.
    failure: Option<String>,
}

impl WorkerProgress {
    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change, counts it as the next epoch, and wakes those who wait for one: nobody, as a rule, and then the system
    /// is not asked.
    fn change(&self, change: impl FnOnce(&mut ProgressState)) {
        let mut state = self.state();
        change(&mut state);
        state.epoch += 1;
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    /// Waits until `must_wait` is no longer true of the state, or `timeout` has passed.
    fn wait_while(
        &self,
        timeout: Duration,
        must_wait: impl Fn(&ProgressState) -> bool,
    ) -> MutexGuard<'_, ProgressState> {
        let mut state = self.state();
        state.waiting += 1;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |state| must_wait(state))
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Asks all workers to leave. They finish the batch they are in.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.change(|_| ());
    }

    /// Returns whether the workers have been asked to leave.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Notes that a batch was backed up, `elapsed` after the start of the search.
    pub(crate) fn batch_done(&self, elapsed: impl FnOnce() -> Duration) {
        self.change(|state| {
            state.first_evaluation.get_or_insert_with(elapsed);
        });
    }

    /// Keeps the reason why the search cannot go on; of several the first one is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.state().failure.get_or_insert(reason);
    }

    /// Returns why the search could not go on, if it could not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    /// Returns the time from the start until the first evaluation was back, if it is.
    pub(crate) fn first_evaluation(&self) -> Option<Duration> {
        self.state().first_evaluation
    }

    /// Returns the present epoch, for [`WorkerProgress::wait_for_change`].
    pub(crate) fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// Waits until the epoch is no longer `seen` or `timeout` has passed.
    pub(crate) fn wait_for_change(&self, seen: u64, timeout: Duration) {
        drop(self.wait_while(timeout, |state| state.epoch == seen));
    }

    /// Lets a worker in unless the search has been stopped; returns whether it is in. It must then call
    /// [`WorkerProgress::leave`]. Once a stopped search is idle, it stays so.
    pub(crate) fn try_enter(&self) -> bool {
        let mut state = self.state();
        // The flag is set before `stop` takes the lock: whoever is let in here is counted before that.
        let may_enter = !self.is_stopped();
        state.workers += usize::from(may_enter);
        may_enter
    }

    /// Notes that a worker leaves; it holds no visits under way any more.
    pub(crate) fn leave(&self) {
        self.change(|state| state.workers -= 1);
    }

    /// Returns whether no worker is in this search.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().workers == 0
    }

    /// Waits until no worker is in this search, or `timeout` has passed. The search must have been stopped.
    pub(crate) fn wait_idle(&self, timeout: Duration) {
        self.wait_idle_unless(timeout, || false);
    }

    /// Waits as [`WorkerProgress::wait_idle`] does, but no longer than until `is_urgent`, which is asked again after
    /// [`WorkerProgress::stop`].
    pub(crate) fn wait_idle_unless(&self, timeout: Duration, is_urgent: impl Fn() -> bool) {
        drop(self.wait_while(timeout, |state| state.workers > 0 && !is_urgent()));
    }
}
