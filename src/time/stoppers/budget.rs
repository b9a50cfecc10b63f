//! The stopper of managers that fix a time at the start of the move.

use crate::time::facts::MoveFacts;
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// The share of the clock, less the reserve, that the wait for the first evaluation may take.
const GRACE_SHARE: f64 = 0.1;

/// Stops when a fixed budget of time is spent.
#[derive(Clone, Debug)]
pub struct BudgetLimit {
    report: MoveReport,
    grace_ms: f64,
    evaluated: bool,
}

impl BudgetLimit {
    /// Holds a move to `report.budget_ms`.
    pub fn new(facts: &MoveFacts, report: MoveReport) -> Self {
        BudgetLimit { report, grace_ms: first_evaluation_grace_ms(facts), evaluated: false }
    }
}

/// How long a search may wait for its first evaluation even if its budget is smaller, ms: a move chosen without any
/// evaluation loses games, a tenth of the clock does not, and a clock that is divided by tenths never runs out.
pub fn first_evaluation_grace_ms(facts: &MoveFacts) -> f64 {
    let (time, _) = facts.limits.game_clock().unwrap_or_default();
    (time - facts.reserve_ms).max(0.0) * GRACE_SHARE
}

impl Stopper for BudgetLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.evaluated |= stats.since_first_eval_ms.is_some();
        let deadline = self.deadline_ms()?;
        hints.limit_remaining_ms(deadline - stats.elapsed_ms);
        (stats.elapsed_ms >= deadline).then_some(StopReason::Budget)
    }

    fn deadline_ms(&self) -> Option<f64> {
        let grace = if self.evaluated { 0.0 } else { self.grace_ms };
        Some(self.report.budget_ms.max(grace))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(self.report.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::limits::GoLimits;

    fn stats(elapsed_ms: f64, since_first_eval_ms: Option<f64>) -> SearchStats {
        SearchStats { elapsed_ms, since_first_eval_ms, ..SearchStats::default() }
    }

    #[test]
    fn stops_when_the_budget_is_spent_and_tells_what_is_left() {
        let report = MoveReport { budget_ms: 100.0, ..MoveReport::default() };
        let mut budget = BudgetLimit::new(&MoveFacts::default(), report);
        let mut hints = Hints::default();
        assert_eq!(budget.should_stop(&stats(60.0, Some(1.0)), &mut hints), None);
        assert_eq!(hints.remaining_ms, 40.0);
        assert_eq!(budget.should_stop(&stats(100.0, Some(41.0)), &mut hints), Some(StopReason::Budget));
        assert_eq!(budget.deadline_ms(), Some(100.0));
    }

    #[test]
    fn waits_a_little_for_the_first_evaluation() {
        let limits = GoLimits { time_ms: Some(120.0), ..GoLimits::default() };
        let facts = MoveFacts { limits, overhead_ms: 200.0, ..MoveFacts::default() };
        let mut budget = BudgetLimit::new(&facts, MoveReport::default());
        let mut hints = Hints::default();
        // A tenth of 120 ms.
        assert_eq!(budget.deadline_ms(), Some(12.0));
        assert_eq!(budget.should_stop(&stats(10.0, None), &mut hints), None);
        assert_eq!(budget.should_stop(&stats(11.0, Some(0.1)), &mut hints), Some(StopReason::Budget));
        let mut late = BudgetLimit::new(&facts, MoveReport::default());
        assert_eq!(late.should_stop(&stats(12.0, None), &mut hints), Some(StopReason::Budget));
    }

    #[test]
    fn a_slow_network_is_waited_for_where_the_clock_has_the_time() {
        let limits = GoLimits { time_ms: Some(10_000.0), ..GoLimits::default() };
        let facts = MoveFacts { limits, overhead_ms: 200.0, ..MoveFacts::default() };
        let report = MoveReport { budget_ms: 200.0, ..MoveReport::default() };
        let mut budget = BudgetLimit::new(&facts, report);
        assert_eq!(budget.should_stop(&stats(400.0, None), &mut Hints::default()), None);
        let evaluated = stats(401.0, Some(0.5));
        assert_eq!(budget.should_stop(&evaluated, &mut Hints::default()), Some(StopReason::Budget));
    }
}
