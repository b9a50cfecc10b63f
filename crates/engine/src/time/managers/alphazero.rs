//! `alphazero`: a fixed share of what is left on the clock.

use crate::options::option_group;
use crate::time::facts::MoveFacts;
use crate::time::manager::TimeManager;
use crate::time::parameters::Named;
use crate::time::report::MoveReport;
use crate::time::stoppers::{BudgetLimit, Stopper};

option_group! {
    #[derive(Copy)]
    pub(crate) struct Alphazero {
        /// Percentage of the clock that each move receives.
        time_pct: f64 = 12.0, in 0.0..=100.0, "alphazero-time-pct";
    }
}

impl Named for Alphazero {
    const NAME: &'static str = "alphazero";
    const SUMMARY: &'static str = "A fixed percentage of the clock.";
    type Params = Self;
}

impl TimeManager for Alphazero {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let budget = (facts.clock_less_overhead()? * self.time_pct / 100.0).min(facts.available()?);
        let report = MoveReport {
            manager: Self::NAME,
            budget,
            ..MoveReport::default()
        };
        Some(Box::new(BudgetLimit::new(facts, report)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::Limit;
    use crate::time::units::Millis;

    #[test]
    fn twelve_percent_of_the_clock_less_the_overhead() {
        let budget = |time_ms: f64| {
            let limit = Limit::clock(Millis(time_ms), Millis(500.0));
            let facts = MoveFacts {
                limit,
                overhead: Millis(200.0),
                ..MoveFacts::default()
            };
            let stopper = Alphazero::default().start_move(&facts).unwrap();
            stopper.report().unwrap().budget.0
        };
        assert_eq!(budget(60_200.0), 7_200.0);
        assert_eq!(budget(100.0), 0.0);
    }
}
