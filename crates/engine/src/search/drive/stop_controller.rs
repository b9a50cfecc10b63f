//! Decides when a search ends: runs the chain of stoppers, for the workers after each batch and for the
//! controller when the clock says so.
//!
//! It sees numbers only ([`SearchStats`]), not the search: whoever asks it stops the workers if it says so.
//!
//! On a machine with more busy processes than cores a thread that sleeps to a deadline waits until a core is
//! free for it. So it is measured at each of the controller's ticks how late the system wakes it, and the
//! search is ready that much earlier.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::search::state::{SearchClock, SearchHints};
use crate::time::{Chain, Hints, Millis, Nps, SearchStats, StopReason};

/// The reason why a search is over. Its text stands after `end=` in logs and recorded games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// A rule of the chain said so.
    Rule(StopReason),
    /// The GUI sent `stop`, `quit` or another `go`, or nothing was left to search.
    Stopped,
    /// The clock's deadline was reached with a batch still in flight.
    Deadline,
    /// The backend or the tree gave up.
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

#[derive(Debug)]
struct StopState {
    chain: Chain,
    end: Option<EndReason>,
    /// True if `bestmove` may go out even where the chain is open ended.
    stop_requested: bool,
    /// True if the clock goes on while nobody searches.
    is_real_time: bool,
}

/// Asks the chain of stoppers, and wakes the controller when the search is over. One lock is held while the
/// chain thinks.
#[derive(Debug)]
pub(crate) struct StopController {
    state: Mutex<StopState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wake {
    End(EndReason),
    Tick,
}

impl StopController {
    pub(crate) fn new(chain: Chain, is_real_time: bool) -> StopController {
        StopController {
            state: Mutex::new(StopState { chain, end: None, stop_requested: false, is_real_time }),
            changed: Condvar::new(),
        }
    }

    /// Asks the chain with fresh figures and puts what it says to the workers into `hints`. Returns whether
    /// the search is over.
    pub(crate) fn check(&self, stats: &SearchStats, visits_left: u64, hints: &SearchHints) -> bool {
        let (said, is_over) = self.ask(stats, visits_left, hints);
        hints.decisive_lead.store(said.decisive_lead().unwrap_or(u32::MAX), Ordering::Relaxed);
        is_over
    }

    /// Asks the chain as [`StopController::check`] does, but because time has passed. Which root moves are
    /// searched stays as it is: that only workers decide, when a batch is backed up. Where no clock runs, as
    /// under `go depth` or where nodes are the clock, only they ask at all: in the middle of a batch the
    /// figures depend on chance.
    pub(crate) fn check_by_clock(&self, stats: &SearchStats, visits_left: u64, hints: &SearchHints) -> bool {
        let has_clock = {
            let state = self.state.lock();
            state.chain.deadline().is_some() && state.is_real_time
        };
        has_clock && self.ask(stats, visits_left, hints).1
    }

    fn ask(&self, stats: &SearchStats, visits_left: u64, hints: &SearchHints) -> (Hints, bool) {
        let mut said = Hints::default();
        let mut state = self.state.lock();
        let reason = state.chain.should_stop(stats, &mut said);
        // An estimate that this search does not live up to would let a batch run past the deadline.
        let rates = [said.nps, nps(stats)];
        let nps = rates.into_iter().flatten().reduce(Nps::min).unwrap_or_default();
        hints.batch_cap.store(said.batch_cap(u32::MAX, nps), Ordering::Relaxed);
        // A rule that no visits can fulfil must not keep a search from ending that can make no more.
        let is_out_of_visits = visits_left == 0 && !state.chain.is_open_ended();
        let reason = reason.or(is_out_of_visits.then_some(StopReason::Nodes));
        let reason = reason.map(EndReason::Rule).or_else(|| {
            let ready = ready_at(&state)?;
            (stats.elapsed >= ready.into()).then_some(EndReason::Deadline)
        });
        let is_over = reason.is_some() || state.end.is_some();
        if let Some(reason) = reason {
            self.end(state, reason);
        }
        (said, is_over)
    }

    /// Ends the search. Of several reasons the first one is kept.
    fn end(&self, mut state: MutexGuard<'_, StopState>, reason: EndReason) {
        state.end.get_or_insert(reason);
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn fail(&self) {
        self.end(self.state.lock(), EndReason::Failure);
    }

    /// Ends the search because of `stop`, and lets `bestmove` go out also after `infinite` and `ponder`.
    pub(crate) fn request_stop(&self) {
        let mut state = self.state.lock();
        state.stop_requested = true;
        self.end(state, EndReason::Stopped);
    }

    pub(crate) fn end_reason(&self) -> Option<EndReason> {
        self.state.lock().end
    }

    /// Returns whether `stop` has come, or what counts as it.
    pub(crate) fn is_stop_requested(&self) -> bool {
        self.state.lock().stop_requested
    }

    /// Returns when the search must end by the clock, from its start, or `None` if no clock limits it.
    pub(crate) fn ready_at(&self) -> Option<Duration> {
        ready_at(&self.state.lock())
    }

    pub(crate) fn with_chain<R>(&self, work: impl FnOnce(&mut Chain) -> R) -> R {
        work(&mut self.state.lock().chain)
    }

    /// Waits until the search is over, but not past the deadline nor longer than `tick`.
    /// After `infinite` and `ponder` the search is over only when someone says so.
    /// A deadline in time that the search counts is watched by the workers alone.
    pub(crate) fn wait(&self, clock: &SearchClock, tick: Duration) -> Wake {
        let mut state = self.state.lock();
        let ready_at = ready_at(&state).filter(|_| state.is_real_time);
        let until_deadline = ready_at.map(|ready_at| ready_at.saturating_sub(clock.elapsed()));
        let timeout = until_deadline.map_or(tick, |left| left.min(tick));
        let asleep = Instant::now();
        let goes_on = |state: &mut StopState| state.end.is_none() || !may_report(state);
        let waited = self.changed.wait_while_for(&mut state, goes_on, timeout);
        if waited.timed_out() {
            WAKEUP_LATENCY.woke(timeout, asleep.elapsed());
        }
        match state.end {
            Some(reason) if may_report(&state) => Wake::End(reason),
            _ => Wake::Tick,
        }
    }
}

/// Returns when the search must end by the clock: at the deadline, less what the system may take to wake us.
fn ready_at(state: &StopState) -> Option<Duration> {
    let deadline = state.chain.deadline()?.to_duration()?;
    Some(if state.is_real_time { deadline - WAKEUP_LATENCY.margin(deadline) } else { deadline })
}

fn may_report(state: &StopState) -> bool {
    state.stop_requested || !state.chain.is_open_ended()
}

/// Returns the new nodes per second since `go`, the wait for the first evaluation included, or `None` before
/// that is back.
fn nps(stats: &SearchStats) -> Option<Nps> {
    stats.since_first_eval?;
    (stats.elapsed > Millis::ZERO).then(|| Nps(stats.new_nodes.as_f64() / stats.elapsed.as_secs()))
}

/// The factor by which the latency that is reckoned with falls at each prompt wake-up.
const DECAY: f64 = 0.95;
/// The longest time that is taken off a deadline …
const MAX_MARGIN: Duration = Duration::from_millis(15);
/// … which is also no longer than the time to the deadline divided by this.
const MARGIN_DIVISOR: u32 = 4;

/// The latency of this machine, measured by all searches of the process.
static WAKEUP_LATENCY: WakeupLatency = WakeupLatency::new();

/// The recent delay between the time for which a thread asked to be woken and the time when it ran. A lost
/// update does no harm.
#[derive(Debug)]
struct WakeupLatency {
    latency_ns: AtomicU64,
}

impl WakeupLatency {
    const fn new() -> WakeupLatency {
        WakeupLatency { latency_ns: AtomicU64::new(0) }
    }

    /// Notes that a thread which asked to sleep for `asked` woke after `took`.
    fn woke(&self, asked: Duration, took: Duration) {
        let late_ns = took.saturating_sub(asked).as_nanos().min(u128::from(u64::MAX)) as u64;
        let decayed = (self.latency_ns.load(Ordering::Relaxed) as f64 * DECAY) as u64;
        self.latency_ns.store(late_ns.max(decayed), Ordering::Relaxed);
    }

    /// Returns how much earlier to be ready for a deadline that is `total` after the search's start.
    fn margin(&self, total: Duration) -> Duration {
        let latency = Duration::from_nanos(self.latency_ns.load(Ordering::Relaxed));
        latency.min(MAX_MARGIN).min(total / MARGIN_DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{GoLimits, MoveFacts, Nodes, StopperOptions, Timekeeper, manager_from};

    /// A regression: batches were sized by the manager's estimate of the speed, also where the search was
    /// much slower.
    #[test]
    fn batches_are_no_larger_than_this_search_can_finish_in_time() {
        let manager = manager_from("smooth(init-nps=1e6,init-nps-weight=1e6,nps-update-rate=1e6)").unwrap();
        let limits = GoLimits { time: Some(Millis(51_500.0)), ..GoLimits::default() };
        let facts = MoveFacts { limits, legal_moves: 20, ..MoveFacts::default() };
        let chain = Timekeeper::new(manager, StopperOptions::default()).start_move(&facts);
        let controller = StopController::new(chain, true);
        let slow = SearchStats {
            elapsed: Millis(500.0),
            since_first_eval: Some(Millis(250.0)),
            nodes: Nodes(50),
            new_nodes: Nodes(50),
            batches: 2,
            root_visits: vec![25, 24],
            ..SearchStats::default()
        };
        let hints = SearchHints::default();
        assert!(!controller.check(&slow, 1_000_000, &hints));
        // 51.5 s for 51.5 moves, ·2/0.7: 2,357.1 ms are left, in which 100 nodes/s are 235.7 nodes. Half of
        // them are safe.
        assert_eq!(hints.batch_cap.load(Ordering::Relaxed), 117);
    }

    #[test]
    fn a_late_wake_up_is_reckoned_with_for_a_while() {
        let ms = Duration::from_millis;
        let latency = WakeupLatency::new();
        assert_eq!(latency.margin(ms(1000)), ms(0));
        latency.woke(ms(10), ms(18));
        assert_eq!(latency.margin(ms(1000)), ms(8));
        assert_eq!(latency.margin(ms(20)), ms(5), "a quarter of a short search");
        latency.woke(ms(10), ms(10));
        assert_eq!(latency.margin(ms(1000)), Duration::from_micros(7600));
        latency.woke(ms(10), ms(200));
        assert_eq!(latency.margin(ms(1000)), MAX_MARGIN);
        (0..200).for_each(|_| latency.woke(ms(10), ms(10)));
        assert!(latency.margin(ms(1000)) < ms(1));
    }
}
