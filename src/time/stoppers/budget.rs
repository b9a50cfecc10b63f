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

/// Stops when a fixed budget of time is spent.
#[derive(Clone, Debug)]
pub struct BudgetLimit {
    report: MoveReport,
    grace: Millis,
    evaluated: bool,
}

impl BudgetLimit {
    /// Makes the rule for `report.budget`.
    pub fn new(facts: &MoveFacts, report: MoveReport) -> Self {
        BudgetLimit { report, grace: first_evaluation_grace(facts), evaluated: false }
    }
}

/// Returns how long a search may wait for its first evaluation even if its budget is smaller. A move chosen without any
/// evaluation loses games, a tenth of the clock does not, and a clock that loses a tenth at a time never runs out.
pub fn first_evaluation_grace(facts: &MoveFacts) -> Millis {
    let clock = facts.limits.mover_clock().unwrap_or_default();
    let share = (clock.time - facts.reserve).max(Millis::ZERO) * GRACE_SHARE;
    share.max(LEAST_GRACE.min(clock.time / 2.0))
}

impl Stopper for BudgetLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.evaluated |= stats.since_first_eval.is_some();
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        (stats.elapsed >= deadline).then_some(StopReason::Budget)
    }

    fn deadline(&self) -> Option<Millis> {
        let grace = if self.evaluated { Millis::ZERO } else { self.grace };
        Some(self.report.budget.max(grace))
    }

    fn report(&self) -> Option<MoveReport> {
        Some(self.report.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
