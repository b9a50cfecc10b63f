//! The stopper of managers that fix a time at the start of the move.

use crate::time::facts::MoveFacts;
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::units::Millis;

/// Share of the clock, less the reserve, that the wait for the first evaluation may take …
const GRACE_SHARE: f64 = 0.1;
/// … but on a clock that is nearly empty up to this, if that is not more than half of it: a tenth would be over before any
/// thread has begun.
const LEAST_GRACE: Millis = Millis(5.0);

/// Lets a search go on beyond its budget until its first evaluation is back. A move chosen without any evaluation loses games, a
/// tenth of the clock does not, and a clock that loses a tenth at a time never runs out. Where an earlier search has evaluated the
/// root, only a budget of next to nothing is exceeded.
#[derive(Clone, Copy, Debug)]
pub struct FirstEvaluationWait {
    grace: Millis,
    is_over: bool,
}

impl FirstEvaluationWait {
    /// Begins to wait.
    pub fn new(facts: &MoveFacts) -> Self {
        let clock = facts.limits.mover_clock().unwrap_or_default();
        let least = LEAST_GRACE.min(clock.time / 2.0);
        let share = (clock.time - facts.reserve).max(Millis::ZERO) * GRACE_SHARE;
        let grace = if facts.root.is_some() { least } else { share.max(least) };
        FirstEvaluationWait { grace, is_over: false }
    }

    /// Ends the wait if an evaluation has come back.
    pub fn observe(&mut self, stats: &SearchStats) {
        self.is_over |= stats.since_first_eval.is_some();
    }

    /// Returns whether an evaluation has come back.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns when a search ends that has `budget`.
    pub fn extend(&self, budget: Millis) -> Millis {
        if self.is_over { budget } else { budget.max(self.grace) }
    }
}

/// Stops when a fixed budget of time is spent.
#[derive(Clone, Debug)]
pub struct BudgetLimit {
    report: MoveReport,
    wait: FirstEvaluationWait,
}

impl BudgetLimit {
    /// Makes the rule for `report.budget`.
    pub fn new(facts: &MoveFacts, report: MoveReport) -> Self {
        BudgetLimit { report, wait: FirstEvaluationWait::new(facts) }
    }
}

impl Stopper for BudgetLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.wait.observe(stats);
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        (stats.elapsed >= deadline).then_some(StopReason::Budget)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(self.wait.extend(self.report.budget))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(self.report.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::RootEvaluation;
    use crate::time::limits::GoLimits;

    fn stats(elapsed: f64, since_first_eval: Option<f64>) -> SearchStats {
        let (elapsed, since_first_eval) = (Millis(elapsed), since_first_eval.map(Millis));
        SearchStats { elapsed, since_first_eval, ..SearchStats::default() }
    }

    #[test]
    fn stops_when_the_budget_is_spent_and_tells_what_is_left() {
        let report = MoveReport { budget: Millis(100.0), ..MoveReport::default() };
        let mut budget = BudgetLimit::new(&MoveFacts::default(), report);
        let mut hints = Hints::default();
        assert_eq!(budget.should_stop(&stats(60.0, Some(1.0)), &mut hints), None);
        assert_eq!(hints.remaining_time, Millis(40.0));
        assert_eq!(budget.should_stop(&stats(100.0, Some(41.0)), &mut hints), Some(StopReason::Budget));
        assert_eq!(budget.deadline(), Some(Millis(100.0)));
    }

    #[test]
    fn waits_a_tenth_of_the_clock_for_the_first_evaluation() {
        let limits = GoLimits { time: Some(Millis(120.0)), ..GoLimits::default() };
        let facts = MoveFacts { limits, overhead: Millis(200.0), ..MoveFacts::default() };
        let mut budget = BudgetLimit::new(&facts, MoveReport::default());
        let mut hints = Hints::default();
        // A tenth of 120 ms.
        assert_eq!(budget.deadline(), Some(Millis(12.0)));
        assert_eq!(budget.should_stop(&stats(10.0, None), &mut hints), None);
        assert_eq!(budget.should_stop(&stats(11.0, Some(0.1)), &mut hints), Some(StopReason::Budget));
        let mut late = BudgetLimit::new(&facts, MoveReport::default());
        assert_eq!(late.should_stop(&stats(12.0, None), &mut hints), Some(StopReason::Budget));
    }

    /// A regression: a move whose tree was kept waited up to a tenth of the clock for a batch, too.
    #[test]
    fn a_root_that_is_evaluated_already_is_not_waited_for() {
        let deadline = |budget: f64| {
            let limits = GoLimits { time: Some(Millis(6_000.0)), ..GoLimits::default() };
            let facts = MoveFacts { limits, root: Some(RootEvaluation::default()), ..MoveFacts::default() };
            let report = MoveReport { budget: Millis(budget), ..MoveReport::default() };
            let mut stopper = BudgetLimit::new(&facts, report);
            assert_eq!(stopper.should_stop(&stats(4.0, None), &mut Hints::default()), None);
            stopper.deadline()
        };
        assert_eq!(deadline(89.0), Some(Millis(89.0)));
        assert_eq!(deadline(0.0), Some(LEAST_GRACE));
    }

    #[test]
    fn a_slow_network_is_waited_for_where_the_clock_has_the_time() {
        let limits = GoLimits { time: Some(Millis(10_000.0)), ..GoLimits::default() };
        let facts = MoveFacts { limits, overhead: Millis(200.0), ..MoveFacts::default() };
        let report = MoveReport { budget: Millis(200.0), ..MoveReport::default() };
        let mut budget = BudgetLimit::new(&facts, report);
        assert_eq!(budget.should_stop(&stats(400.0, None), &mut Hints::default()), None);
        let evaluated = stats(401.0, Some(0.5));
        assert_eq!(budget.should_stop(&evaluated, &mut Hints::default()), Some(StopReason::Budget));
    }
}
