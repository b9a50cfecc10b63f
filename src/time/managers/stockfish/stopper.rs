//! The stopper of `stockfish`: it holds a move between its optimum and its maximum.

use crate::time::facts::MoveFacts;
use crate::time::managers::iterations::{Iteration, IterationTracker};
use crate::time::parameters::Named;
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::stoppers::FirstEvaluationWait;
use crate::time::units::Millis;

use super::limits::{StockfishParams, TimeLimits};

/// An iteration that ends later than this share of the available time is the last one.
const LAST_ITERATION_SHARE: f64 = 0.62;
/// Extra time per change of the best move: the optimum divided by this.
const INSTABILITY_DIVISOR: f64 = 1.4;
/// Changes of the best move before this iteration are no sign of instability.
const FIRST_STABLE_ITERATION: u32 = 5;

/// Holds a move to its limits.
#[derive(Clone, Debug)]
pub struct StockfishStopper {
    params: StockfishParams,
    limits: TimeLimits,
    wait: FirstEvaluationWait,
    iterations: IterationTracker,
    last: Option<Iteration>,
    best_move_changes: f64,
    /// True while the score is far from that of the last iteration: the fail low or fail high of a search by depth.
    fails: bool,
}

impl StockfishStopper {
    /// Starts a move.
    pub fn new(facts: &MoveFacts, params: StockfishParams, limits: TimeLimits) -> Self {
        StockfishStopper {
            params,
            limits,
            wait: FirstEvaluationWait::new(facts),
            iterations: IterationTracker::default(),
            last: None,
            best_move_changes: 0.0,
            fails: false,
        }
    }

    /// Returns the optimum plus extra time for an unstable best move, within the maximum, ms.
    fn available_ms(&self) -> f64 {
        let extra = self.best_move_changes * self.limits.optimum_ms / INSTABILITY_DIVISOR;
        (self.limits.optimum_ms + extra).min(self.limits.maximum_ms)
    }

    /// Returns the time that the move may take: the maximum while the score falls or rises much, otherwise what is available, ms.
    fn budget_ms(&self) -> f64 {
        if self.fails { self.limits.maximum_ms } else { self.available_ms() }
    }

    fn finish_iteration(&mut self, iteration: Iteration) {
        self.best_move_changes *= self.params.instability_decay;
        let changed = self.last.is_some_and(|last| last.best_move != iteration.best_move);
        if changed && iteration.number >= FIRST_STABLE_ITERATION {
            self.best_move_changes += 1.0;
        }
        self.last = Some(iteration);
    }
}

impl Stopper for StockfishStopper {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.wait.observe(stats);
        let q_before = self.last.map(|last| last.q);
        self.fails = match (q_before, stats.root) {
            (Some(before), Some(root)) => {
                root.q < before - self.params.fail_low_q || root.q > before + self.params.fail_high_q
            }
            _ => false,
        };
        let ended = self.iterations.observe(stats);
        if let Some(iteration) = ended {
            self.finish_iteration(iteration);
        }
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        if stats.elapsed >= deadline {
            return Some(StopReason::Budget);
        }
        let late = stats.elapsed.0 > LAST_ITERATION_SHARE * self.available_ms();
        (ended.is_some() && late && !self.fails).then_some(StopReason::Settled)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(self.wait.extend(Millis(self.budget_ms())))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(MoveReport {
            manager: super::Stockfish::NAME,
            budget: Millis(self.budget_ms()),
            average: Some(Millis(self.limits.optimum_ms)),
            ..MoveReport::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::stats::tests::at;

    fn stopper() -> StockfishStopper {
        let limits = TimeLimits { optimum_ms: 1_400.0, maximum_ms: 5_000.0 };
        StockfishStopper::new(&MoveFacts::default(), StockfishParams::default(), limits)
    }

    #[test]
    fn an_iteration_past_62_percent_is_the_last() {
        let mut stopper = stopper();
        let mut ask = |ms, nodes| stopper.should_stop(&at(ms, nodes, 0.0, 0), &mut Hints::default());
        assert_eq!(ask(400.0, 512), None);
        assert_eq!(ask(867.0, 1_024), None, "0.62·1400 = 868");
        assert_eq!(ask(1_300.0, 1_500), None, "within an iteration");
        assert_eq!(ask(1_350.0, 2_048), Some(StopReason::Settled));
    }

    #[test]
    fn the_optimum_ends_a_long_iteration() {
        let mut stopper = stopper();
        let mut ask = |ms, nodes| stopper.should_stop(&at(ms, nodes, 0.0, 0), &mut Hints::default());
        assert_eq!(ask(700.0, 1_100), None);
        assert_eq!(ask(1_400.0, 2_000), Some(StopReason::Budget));
    }

    #[test]
    fn an_unstable_best_move_gets_more_time() {
        let mut stopper = stopper();
        let mut hints = Hints::default();
        stopper.should_stop(&at(100.0, 256, 0.0, 0), &mut hints);
        stopper.should_stop(&at(200.0, 512, 0.0, 1), &mut hints);
        // 1400 + 1·1400/1.4
        assert_eq!(stopper.deadline(), Some(Millis(2_400.0)));
        stopper.should_stop(&at(300.0, 1_024, 0.0, 1), &mut hints);
        // 1400 + 0.8·1000
        assert_eq!(stopper.deadline(), Some(Millis(2_200.0)));
    }

    #[test]
    fn a_falling_score_may_use_the_maximum() {
        let mut stopper = stopper();
        let mut hints = Hints::default();
        stopper.should_stop(&at(600.0, 1_024, 0.2, 0), &mut Hints::default());
        assert_eq!(stopper.should_stop(&at(1_500.0, 1_900, 0.1, 0), &mut hints), None);
        assert_eq!(hints.remaining_time, Millis(3_500.0));
        assert_eq!(stopper.should_stop(&at(1_600.0, 2_000, 0.19, 0), &mut hints), Some(StopReason::Budget));
        assert_eq!(stopper.should_stop(&at(5_000.0, 4_000, -0.5, 0), &mut hints), Some(StopReason::Budget));
    }

    /// A regression: the maximum that the listing gives for a fail high was missing.
    #[test]
    fn a_rising_score_may_use_the_maximum() {
        let mut stopper = stopper();
        let mut hints = Hints::default();
        stopper.should_stop(&at(600.0, 1_024, 0.2, 0), &mut Hints::default());
        assert_eq!(stopper.should_stop(&at(1_500.0, 1_900, 0.26, 0), &mut hints), None);
        assert_eq!(hints.remaining_time, Millis(3_500.0));
        // No iteration that ends so is the last one; the next measures by this one's score.
        assert_eq!(stopper.should_stop(&at(1_300.0, 2_048, 0.26, 0), &mut hints), None);
        assert_eq!(stopper.should_stop(&at(1_600.0, 2_100, 0.26, 0), &mut hints), Some(StopReason::Budget));
    }
}
