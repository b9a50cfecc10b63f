//! `alphazero`: a fixed share of what is left on the clock.

use crate::params::{ParamError, Params};
use crate::time::facts::MoveFacts;
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::declare_parameters;
use crate::time::report::MoveReport;
use crate::time::stopper::Stopper;
use crate::time::stoppers::BudgetLimit;

declare_parameters! {
    /// Parameters of `alphazero`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AlphazeroParams of "alphazero" {
        /// Percentage of the clock that each move gets.
        "alphazero-time-pct" time_pct: f64 = 12.0, within 0.0..=100.0;
    }
}

/// The manager, which remembers nothing from move to move.
#[derive(Clone, Copy, Debug)]
pub struct Alphazero {
    params: AlphazeroParams,
}

impl Alphazero {
    /// Makes a manager for one game.
    pub fn new(params: AlphazeroParams) -> Self {
        Alphazero { params }
    }
}

pub(super) fn from_params(params: &Params) -> Result<Box<dyn TimeManager>, ParamError> {
    params.allow_only(AlphazeroParams::OWNER, AlphazeroParams::NAMES, &[])?;
    Ok(Box::new(Alphazero::new(AlphazeroParams::read(params, &AlphazeroParams::default())?)))
}

impl TimeManager for Alphazero {
    fn name(&self) -> &'static str {
        AlphazeroParams::OWNER
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
    use crate::time::limits::GoLimits;
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
