//! Decides when a search ends. Workers ask the chain of stoppers after each batch, the controller when time
//! has passed.
//!
//! It sees figures only ([`SearchStats`]), not the search: whoever asks stops the workers.
//!
//! On a busy machine a thread that sleeps to a deadline wakes late. Each tick measures by how much, and the
//! search gets ready that much earlier.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::search::state::{SearchClock, SearchHints};
use crate::time::{Chain, Hints, Millis, Nps, SearchStats, StopReason};

/// Why a search is over, as written after `end=` in logs and recorded games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    Rule(StopReason),
    /// The GUI sent `stop`, `quit` or another `go`, or nothing was left to search.
    Stopped,
    Deadline,
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
    /// True if `bestmove` may be sent even from an open-ended chain.
    stop_requested: bool,
    /// False in virtual time, which only workers advance.
    is_real_time: bool,
}

/// Asks the chain under a lock, and wakes the controller when the search is over.
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

    /// True if the search is over.
    pub(crate) fn check(&self, stats: &SearchStats, visits_left: u64, hints: &SearchHints) -> bool {
        let (said, is_over) = self.ask(stats, visits_left, hints);
        hints.decisive_lead.store(said.decisive_lead().unwrap_or(u32::MAX), Ordering::Relaxed);
        is_over
    }

    /// Asks the chain because time has passed. Only workers leave root moves out of the race. Without a clock
    /// (`go depth`, or nodes as the clock) only they ask at all: in the middle of a batch the figures depend
    /// on chance.
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
        // A search slower than the manager's estimate must not let a batch run past the deadline.
        let rates = [said.nps, nps(stats)];
        let nps = rates.into_iter().flatten().reduce(Nps::min).unwrap_or_default();
        hints.batch_cap.store(said.batch_cap(u32::MAX, nps), Ordering::Relaxed);
        // A search that can make no more visits ends, whatever its rules still wait for.
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

    /// The first reason is kept.
    fn end(&self, mut state: MutexGuard<'_, StopState>, reason: EndReason) {
        state.end.get_or_insert(reason);
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn fail(&self) {
        self.end(self.state.lock(), EndReason::Failure);
    }

    pub(crate) fn request_stop(&self) {
        let mut state = self.state.lock();
        state.stop_requested = true;
        self.end(state, EndReason::Stopped);
    }

    pub(crate) fn end_reason(&self) -> Option<EndReason> {
        self.state.lock().end
    }

    pub(crate) fn is_stop_requested(&self) -> bool {
        self.state.lock().stop_requested
    }

    pub(crate) fn ready_at(&self) -> Option<Duration> {
        ready_at(&self.state.lock())
    }

    pub(crate) fn with_chain<R>(&self, work: impl FnOnce(&mut Chain) -> R) -> R {
        work(&mut self.state.lock().chain)
    }

    /// Waits at most until the deadline or for `tick`. After `infinite` and `ponder` only a request ends the
    /// search. Workers alone watch a deadline in virtual time.
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

fn ready_at(state: &StopState) -> Option<Duration> {
    let deadline = state.chain.deadline()?.to_duration()?;
    Some(if state.is_real_time { deadline - WAKEUP_LATENCY.margin(deadline) } else { deadline })
}

fn may_report(state: &StopState) -> bool {
    state.stop_requested || !state.chain.is_open_ended()
}

/// New nodes per second since `go`, including the wait for the first evaluation. `None` before that.
fn nps(stats: &SearchStats) -> Option<Nps> {
    stats.since_first_eval?;
    (stats.elapsed > Millis::ZERO).then(|| Nps(stats.new_nodes.as_f64() / stats.elapsed.as_secs()))
}

/// The latency falls by this factor at each prompt wake-up.
const DECAY: f64 = 0.95;
/// The largest margin before a deadline …
const MAX_MARGIN: Duration = Duration::from_millis(15);
/// … and no more than the time to the deadline divided by this.
const MARGIN_DIVISOR: u32 = 4;

static WAKEUP_LATENCY: WakeupLatency = WakeupLatency::new();

/// Updates may be lost without harm.
#[derive(Debug)]
struct WakeupLatency {
    latency_ns: AtomicU64,
}

impl WakeupLatency {
    const fn new() -> WakeupLatency {
        WakeupLatency { latency_ns: AtomicU64::new(0) }
    }

    fn woke(&self, asked: Duration, took: Duration) {
        let late_ns = took.saturating_sub(asked).as_nanos().min(u128::from(u64::MAX)) as u64;
        let decayed = (self.latency_ns.load(Ordering::Relaxed) as f64 * DECAY) as u64;
        self.latency_ns.store(late_ns.max(decayed), Ordering::Relaxed);
    }

    /// `total` is the time from the search's start to the deadline.
    fn margin(&self, total: Duration) -> Duration {
        let latency = Duration::from_nanos(self.latency_ns.load(Ordering::Relaxed));
        latency.min(MAX_MARGIN).min(total / MARGIN_DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{GoLimits, MoveFacts, Nodes, StopperOptions, Timekeeper, manager_from};

    /// A regression: batches were sized by the manager's estimate even where the search was much slower.
    #[test]
    fn batches_are_no_larger_than_this_search_can_finish_in_time() {
        let manager = manager_from("smooth(init-nps=1e6,init-nps-weight=1e6,nps-update-rate=1e6)").unwrap();
        let limits = GoLimits::clock(Millis(51_500.0), Millis::ZERO);
        let facts = MoveFacts { limits, legal_moves: 20, ..MoveFacts::default() };
        let chain = Timekeeper::new(manager, StopperOptions::default()).start_move(&facts);
        let controller = StopController::new(chain, true);
        let slow = SearchStats {
            elapsed: Millis(500.0),
            since_first_eval: Some(Millis(250.0)),
            nodes: Nodes(50),
            new_nodes: Nodes(50),
            batches: 2,
            race_visits: vec![25, 24],
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
