//! The stopper of `stockfish`.

use crate::time::facts::MoveFacts;
use crate::time::managers::iterations::{Iteration, IterationTracker};
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::stoppers::first_evaluation_grace_ms;

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
    grace_ms: f64,
    evaluated: bool,
    iterations: IterationTracker,
    last: Option<Iteration>,
    best_move_changes: f64,
    falling: bool,
}

impl StockfishStopper {
    /// Starts a move.
    pub fn new(facts: &MoveFacts, params: StockfishParams, limits: TimeLimits) -> Self {
        StockfishStopper {
            params,
            limits,
            grace_ms: first_evaluation_grace_ms(facts),
            evaluated: false,
            iterations: IterationTracker::default(),
            last: None,
            best_move_changes: 0.0,
            falling: false,
        }
    }

    /// Optimum plus extra time for an unstable best move, within the maximum, ms.
    fn available_ms(&self) -> f64 {
        let extra = self.best_move_changes * self.limits.optimum_ms / INSTABILITY_DIVISOR;
        (self.limits.optimum_ms + extra).min(self.limits.maximum_ms)
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
        self.evaluated |= stats.since_first_eval_ms.is_some();
        let q_before = self.last.map(|last| last.q);
        self.falling = match (q_before, stats.root) {
            (Some(before), Some(root)) => root.q < before - self.params.fail_low_q,
            _ => false,
        };
        let ended = self.iterations.observe(stats);
        if let Some(iteration) = ended {
            self.finish_iteration(iteration);
        }
        let deadline_ms = self.deadline_ms()?;
        hints.limit_remaining_ms(deadline_ms - stats.elapsed_ms);
        if stats.elapsed_ms >= deadline_ms {
            return Some(StopReason::Budget);
        }
        let late = stats.elapsed_ms > LAST_ITERATION_SHARE * self.available_ms();
        (ended.is_some() && late && !self.falling).then_some(StopReason::Settled)
    }

    fn deadline_ms(&self) -> Option<f64> {
        let budget = if self.falling { self.limits.maximum_ms } else { self.available_ms() };
        let grace = if self.evaluated { 0.0 } else { self.grace_ms };
        Some(budget.max(grace))
    }

    fn report(&self) -> Option<MoveReport> {
        let budget_ms = if self.falling { self.limits.maximum_ms } else { self.available_ms() };
        Some(MoveReport {
            manager: StockfishParams::OWNER,
            budget_ms,
            average_ms: Some(self.limits.optimum_ms),
            ..MoveReport::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::RootEvaluation;

    fn stopper() -> StockfishStopper {
        let limits = TimeLimits { optimum_ms: 1_400.0, maximum_ms: 5_000.0 };
        StockfishStopper::new(&MoveFacts::default(), StockfishParams::default(), limits)
    }

    fn at(elapsed_ms: f64, nodes: u64, q: f64, best: usize) -> SearchStats {
        let mut root_visits = vec![0, 0];
        root_visits[best] = nodes as u32;
        SearchStats {
            elapsed_ms,
            since_first_eval_ms: Some(elapsed_ms),
            nodes,
            new_nodes: nodes,
            root_visits,
            root: Some(RootEvaluation { q, ..RootEvaluation::default() }),
            ..SearchStats::default()
        }
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
        assert_eq!(stopper.deadline_ms(), Some(2_400.0));
        stopper.should_stop(&at(300.0, 1_024, 0.0, 1), &mut hints);
        // 1400 + 0.8·1000
        assert_eq!(stopper.deadline_ms(), Some(2_200.0));
    }

    #[test]
    fn a_falling_score_may_use_the_maximum() {
        let mut stopper = stopper();
        let mut hints = Hints::default();
        stopper.should_stop(&at(600.0, 1_024, 0.2, 0), &mut Hints::default());
        assert_eq!(stopper.should_stop(&at(1_500.0, 1_900, 0.1, 0), &mut hints), None);
        assert_eq!(hints.remaining_ms, 3_500.0);
        assert_eq!(stopper.should_stop(&at(1_600.0, 2_000, 0.19, 0), &mut hints), Some(StopReason::Budget));
        assert_eq!(stopper.should_stop(&at(5_000.0, 4_000, -0.5, 0), &mut hints), Some(StopReason::Budget));
    }
}
