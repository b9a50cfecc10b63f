//! The life of a search: it runs, ends for a reason, is answered, and its last worker leaves.
//!
//! All changes under one lock with one condition variable, except the flag that workers read before every
//! descent.

use std::fmt;
use std::time::Duration;

use crate::search::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use crate::search::sync::{Condvar, Mutex, MutexGuard};
use crate::time::StopReason;

/// Why a search is over, as written after `end=` in logs and recorded games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// A rule of time or nodes.
    Rule(StopReason),
    /// The GUI sent `stop`, `quit` or another `go`, or nothing was left to search.
    Stopped,
    /// The clock.
    Deadline,
    /// An error of the backend, or a panic.
    Failure,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::Rule(rule) => rule.fmt(f),
            EndReason::Stopped => f.write_str("stopped"),
            EndReason::Deadline => f.write_str("deadline"),
            EndReason::Failure => f.write_str("failure"),
        }
    }
}

/// Each stage follows the one above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Running,
    /// By the first reason. Workers may still search until the root is evaluated, and an open-ended search
    /// waits for `stop`.
    Ending(EndReason),
    /// The answer is out or about to be, or nobody waits for one. Batches may still be under way.
    Answered,
    /// No worker touches the tree any more.
    Drained,
}

impl Stage {
    pub(crate) fn is_answered(self) -> bool {
        matches!(self, Stage::Answered | Stage::Drained)
    }
}

pub(crate) struct Life {
    /// Workers leave. Relaxed: it publishes nothing, and may be seen a little later.
    dismissed: AtomicBool,
    /// How often workers were called back, who then come no more. Relaxed, as `dismissed`.
    recalls: AtomicU32,
    waits_for_stop: bool,
    state: Mutex<LifeState>,
    changed: Condvar,
}

struct LifeState {
    stage: Stage,
    /// Whether `stop` came, which open-ended searches wait for.
    stop_requested: bool,
    workers: usize,
    /// Threads that wait for the next epoch.
    waiting: usize,
    /// Grows with every change of this state, and with every batch that has been backed up.
    epoch: u64,
    failure: Option<String>,
}

impl LifeState {
    fn end(&mut self, reason: EndReason) {
        if self.stage == Stage::Running {
            self.stage = Stage::Ending(reason);
        }
    }

    fn was_told_to_stop(&self) -> bool {
        self.stop_requested || self.stage.is_answered()
    }
}

impl Life {
    /// Only `stop` ends an open-ended search.
    pub(crate) fn new(waits_for_stop: bool) -> Life {
        Life {
            dismissed: AtomicBool::new(false),
            recalls: AtomicU32::new(0),
            waits_for_stop,
            state: Mutex::new(LifeState {
                stage: Stage::Running,
                stop_requested: false,
                workers: 0,
                waiting: 0,
                epoch: 0,
                failure: None,
            }),
            changed: Condvar::default(),
        }
    }

    /// Wakes all who wait, the controller too.
    fn change<R>(&self, change: impl FnOnce(&mut LifeState) -> R) -> R {
        let mut state = self.state.lock();
        let result = change(&mut state);
        state.epoch += 1;
        if state.stage == Stage::Answered && state.workers == 0 {
            state.stage = Stage::Drained;
        }
        drop(state);
        self.changed.notify_all();
        result
    }

    /// Ends the search if there is a `reason`. True if it is over, now or before.
    pub(crate) fn end_if(&self, reason: Option<EndReason>) -> bool {
        if let Some(reason) = reason {
            self.change(|state| state.end(reason));
        }
        self.stage() != Stage::Running
    }

    pub(crate) fn request_stop(&self) {
        self.change(|state| {
            state.stop_requested = true;
            state.end(EndReason::Stopped);
        });
    }

    pub(crate) fn fail(&self, failure: String) {
        self.change(|state| {
            state.failure.get_or_insert(failure);
            state.end(EndReason::Failure);
        });
        self.dismiss();
    }

    pub(crate) fn dismiss(&self) {
        self.dismissed.store(true, Relaxed);
        self.change(|_| ());
    }

    #[inline]
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.load(Relaxed)
    }

    #[inline]
    pub(crate) fn recalls(&self) -> u32 {
        self.recalls.load(Relaxed)
    }

    /// Calls the workers back, even those to come, and waits until they have left. Others may go on.
    pub(crate) fn recall(&self) {
        self.recalls.fetch_add(1, Relaxed);
        self.change(|_| ());
        self.wait_for_workers(Duration::MAX);
    }

    /// Claims the answer. False if it is out, or if nobody waits for it.
    pub(crate) fn answer(&self) -> bool {
        self.dismissed.store(true, Relaxed);
        self.change(|state| {
            let is_first = !state.stage.is_answered();
            if is_first {
                state.stage = Stage::Answered;
            }
            is_first
        })
    }

    pub(crate) fn wait_for_end(&self, timeout: Duration) -> Option<EndReason> {
        let due = |state: &LifeState| match state.stage {
            Stage::Running => None,
            Stage::Ending(reason) => (state.stop_requested || !self.waits_for_stop).then_some(reason),
            Stage::Answered | Stage::Drained => Some(EndReason::Stopped),
        };
        let mut state = self.state.lock();
        self.changed
            .wait_while_for(&mut state, |state| due(state).is_none(), timeout);
        due(&state)
    }

    pub(crate) fn stage(&self) -> Stage {
        self.state.lock().stage
    }

    /// Told to stop, or answered.
    pub(crate) fn was_told_to_stop(&self) -> bool {
        self.state.lock().was_told_to_stop()
    }

    pub(crate) fn still_waits_for_stop(&self) -> bool {
        self.waits_for_stop && !self.was_told_to_stop()
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    /// Lets a worker in who was sent for after so many `recalls`, unless dismissed. True asks for
    /// [`Life::leave`].
    pub(crate) fn try_enter(&self, recalls: u32) -> bool {
        let mut state = self.state.lock();
        // Both are set before the lock is taken: whoever is let in is counted before that.
        let may_enter = !self.is_dismissed() && self.recalls() == recalls;
        state.workers += usize::from(may_enter);
        may_enter
    }

    /// For a worker, who has ended all its visits.
    pub(crate) fn leave(&self) {
        self.change(|state| state.workers -= 1);
    }

    /// Begins the next epoch.
    pub(crate) fn count_batch(&self) {
        let mut state = self.state.lock();
        state.epoch += 1;
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    pub(crate) fn wait_for_change(&self, seen: u64, timeout: Duration) {
        drop(self.wait_while(timeout, |state| state.epoch == seen));
    }

    pub(crate) fn wait_for_workers_unless_stopped(&self, timeout: Duration) {
        drop(self.wait_while(timeout, |state| state.workers > 0 && !state.was_told_to_stop()));
    }

    /// True once no worker is left, which must have been dismissed or called back.
    pub(crate) fn wait_for_workers(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, |state| state.workers > 0).workers == 0
    }

    fn wait_while(
        &self,
        timeout: Duration,
        must_wait: impl Fn(&LifeState) -> bool,
    ) -> MutexGuard<'_, LifeState> {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.changed
            .wait_while_for(&mut state, |state| must_wait(state), timeout);
        state.waiting -= 1;
        state
    }
}
