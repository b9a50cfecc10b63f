//! `alphazero`: a fixed share of what is left on the clock.

use crate::options::option_group;
use crate::time::facts::MoveFacts;
use crate::time::manager::MoveReport;
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::Named;
use crate::time::stoppers::BudgetLimit;
use crate::time::stoppers::Stopper;

option_group! {
    /// Parameters of `alphazero`.
    #[derive(Copy)]
    pub(crate) struct AlphazeroParams {
        /// Percentage of the clock that each move receives.
        time_pct: f64 = 12.0, in 0.0..=100.0, "alphazero-time-pct";
    }
}

/// The manager, which remembers nothing from move to move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alphazero {
    params: AlphazeroParams,
}

impl Named for Alphazero {
    const NAME: &'static str = "alphazero";
    const SUMMARY: &'static str = "A fixed percentage of the clock.";
    type Params = AlphazeroParams;

    fn new(params: AlphazeroParams) -> Self {
        Alphazero { params }
    }
}

impl TimeManager for Alphazero {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let budget = (facts.clock_less_overhead()? * self.params.time_pct / 100.0).min(facts.available()?);
        let report = MoveReport { manager: self.name(), budget, ..MoveReport::default() };
        Some(Box::new(BudgetLimit::new(facts, report)))
    }

    fn finish_move(&mut self, _: &MoveOutcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::GoLimits;
    use crate::time::units::Millis;

    #[test]
    fn twelve_percent_of_the_clock_less_the_overhead() {
        let budget = |time_ms: f64| {
            let limits = GoLimits { time: Some(Millis(time_ms)), inc: Millis(500.0), ..GoLimits::default() };
            let facts = MoveFacts { limits, overhead: Millis(200.0), ..MoveFacts::default() };
            let stopper = Alphazero::new(AlphazeroParams::default()).start_move(&facts).unwrap();
            stopper.report().unwrap().budget.0
        };
        assert_eq!(budget(60_200.0), 7_200.0);
        assert_eq!(budget(100.0), 0.0);
    }
}
