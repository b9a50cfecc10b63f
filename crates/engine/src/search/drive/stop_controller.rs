//! Decides when a search ends. Workers ask the chain of stoppers after each batch, the controller when time
//! has passed.
//!
//! It sees figures only ([`SearchStats`]): whoever asks ends the search's [`Life`].
//!
//! On a busy machine threads wake late. Each tick measures by how much, and the search gets ready that much
//! earlier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::search::state::{EndReason, Life, SearchClock, SearchHints};
use crate::time::{Chain, Hints, Millis, Nps, SearchStats, StopReason};

pub(crate) struct StopController {
    chain: Mutex<Chain>,
    /// False in virtual time, which only workers advance.
    is_real_time: bool,
}

impl StopController {
    pub(crate) fn new(chain: Chain, is_real_time: bool) -> StopController {
        StopController {
            chain: Mutex::new(chain),
            is_real_time,
        }
    }

    pub(crate) fn check(
        &self,
        stats: &SearchStats,
        visits_left: u64,
        hints: &SearchHints,
    ) -> Option<EndReason> {
        let (said, reason) = self.ask(stats, visits_left, hints);
        hints
            .decisive_lead
            .store(said.decisive_lead().unwrap_or(u32::MAX), Relaxed);
        reason
    }

    /// For the controller, as time passes. Only workers leave root moves out of the race. Without a clock
    /// only they ask: in the middle of a batch the figures depend on chance.
    pub(crate) fn check_by_clock(
        &self,
        stats: &SearchStats,
        visits_left: u64,
        hints: &SearchHints,
    ) -> Option<EndReason> {
        let has_clock = self.is_real_time && self.chain.lock().deadline().is_some();
        if !has_clock {
            return None;
        }
        self.ask(stats, visits_left, hints).1
    }

    fn ask(&self, stats: &SearchStats, visits_left: u64, hints: &SearchHints) -> (Hints, Option<EndReason>) {
        let mut said = Hints::default();
        let mut chain = self.chain.lock();
        let rule = chain.should_stop(stats, &mut said);
        // A search slower than the manager's estimate must not let a batch run past the deadline.
        let rates = [said.nps, nps(stats)].into_iter().flatten();
        let nps = rates
            .map(|nps| nps.0)
            .reduce(f64::min)
            .map(Nps)
            .unwrap_or_default();
        hints.batch_cap.store(said.batch_cap(u32::MAX, nps), Relaxed);
        // Whatever the rules still wait for.
        let is_out_of_visits = visits_left == 0 && !chain.waits_for_stop;
        let ready = self.ready_in(&chain);
        let reason = if let Some(rule) = rule {
            Some(EndReason::Rule(rule))
        } else if is_out_of_visits {
            Some(EndReason::Rule(StopReason::Nodes))
        } else if ready.is_some_and(|ready| stats.elapsed >= ready.into()) {
            Some(EndReason::Deadline)
        } else {
            None
        };
        (said, reason)
    }

    pub(crate) fn ready_at(&self) -> Option<Duration> {
        self.ready_in(&self.chain.lock())
    }

    fn ready_in(&self, chain: &Chain) -> Option<Duration> {
        let deadline = chain.deadline()?.to_duration()?;
        Some(if self.is_real_time {
            deadline - WAKEUP_LATENCY.margin(deadline)
        } else {
            deadline
        })
    }

    pub(crate) fn with_chain<R>(&self, work: impl FnOnce(&mut Chain) -> R) -> R {
        work(&mut self.chain.lock())
    }

    /// Waits for the end of `life`, at most until the deadline or for `tick`. In virtual time workers watch
    /// the deadline.
    pub(crate) fn wait(&self, life: &Life, clock: &SearchClock, tick: Duration) -> Option<EndReason> {
        let ready_at = self.ready_at().filter(|_| self.is_real_time);
        let until_deadline = ready_at.map(|ready_at| ready_at.saturating_sub(clock.elapsed()));
        let timeout = until_deadline.map_or(tick, |left| left.min(tick));
        let asleep = Instant::now();
        let end = life.wait_for_end(timeout);
        if end.is_none() {
            WAKEUP_LATENCY.woke(timeout, asleep.elapsed());
        }
        end
    }
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

/// In nanoseconds.
static WAKEUP_LATENCY: WakeupLatency = WakeupLatency(AtomicU64::new(0));

/// Updates may be lost without harm.
struct WakeupLatency(AtomicU64);

impl WakeupLatency {
    fn woke(&self, asked: Duration, took: Duration) {
        let decayed = (self.0.load(Relaxed) as f64 * DECAY) as u64;
        self.0
            .store(decayed.max(took.saturating_sub(asked).as_nanos() as u64), Relaxed);
    }

    fn margin(&self, total: Duration) -> Duration {
        let latency = Duration::from_nanos(self.0.load(Relaxed));
        latency.min(MAX_MARGIN).min(total / MARGIN_DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Limit, MoveFacts, Nodes, StopperOptions, Timekeeper, manager_from};

    /// A regression: batches were sized by the manager's estimate even where the search was much slower.
    #[test]
    fn batches_are_no_larger_than_this_search_can_finish_in_time() {
        let manager = manager_from("smooth(init-nps=1e6,init-nps-weight=1e6,nps-update-rate=1e6)").unwrap();
        let limit = Limit::clock(Millis(51_500.0), Millis::ZERO);
        let facts = MoveFacts {
            limit,
            legal_moves: 20,
            ..MoveFacts::default()
        };
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
        assert_eq!(controller.check(&slow, 1_000_000, &hints), None);
        // 51.5 s for 51.5 moves, ·2/0.7: 2,357.1 ms are left, in which 100 nodes/s are 235.7 nodes. Half of
        // them are safe.
        assert_eq!(hints.batch_cap.load(Relaxed), 117);
    }

    #[test]
    fn a_search_ends_earlier_by_as_much_as_threads_wake_late() {
        let limit = Limit::movetime(Millis(1_000.0));
        let facts = MoveFacts {
            limit,
            legal_moves: 20,
            ..MoveFacts::default()
        };
        let controller = StopController::new(Chain::new(&facts, &StopperOptions::default(), None), true);
        let deadline = controller.with_chain(|chain| chain.deadline()).unwrap();
        let end_before = |ms: f64| {
            let stats = SearchStats {
                elapsed: deadline - Millis(ms),
                ..SearchStats::default()
            };
            controller.check_by_clock(&stats, 1_000, &SearchHints::default())
        };
        // Searches of other tests share it.
        WAKEUP_LATENCY.woke(Duration::ZERO, Duration::from_millis(8));
        assert_eq!(end_before(0.01), Some(EndReason::Deadline));
        assert_eq!(end_before(20.0), None, "more than the largest margin");
    }

    #[test]
    fn a_search_that_waits_for_stop_goes_on_without_visits_left() {
        let facts = MoveFacts {
            limit: Limit::Infinite,
            ..MoveFacts::default()
        };
        let controller = StopController::new(Chain::new(&facts, &StopperOptions::default(), None), true);
        let end = controller.check(&SearchStats::default(), 0, &SearchHints::default());
        assert_eq!(end, None);
    }

    #[test]
    fn a_late_wake_up_is_reckoned_with_for_a_while() {
        let ms = Duration::from_millis;
        let latency = WakeupLatency(AtomicU64::new(0));
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
