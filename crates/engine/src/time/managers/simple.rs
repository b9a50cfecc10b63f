//! `simple`, the shortest manager that learns.
//!
//! ```text
//! budget = (time − overhead)·((base-pct + ply·ply-pct)/100 + time-factor·inc/time)·bonus + saved
//! ```
//!
//! The bonus is 1 + opening-bonus-pct/100 at the game's first move, else 1. Saved is what the previous move
//! left of its budget.

use crate::options::option_group;
use crate::time::facts::MoveFacts;
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::Named;
use crate::time::report::MoveReport;
use crate::time::stoppers::{BudgetLimit, Stopper};
use crate::time::units::Millis;

option_group! {
    /// Parameters of `simple`.
    #[derive(Copy)]
    pub(crate) struct SimpleParams {
        /// Percentage of the clock that a move receives at ply 0.
        base_pct: f64 = 1.4, in 0.01..=100.0, "base-pct";
        /// Percentage of the clock that is added for each ply played.
        ply_pct: f64 = 0.049, in 0.0..=1.0, "ply-pct";
        /// Factor on increment ÷ clock, which is added to the share of the clock.
        time_factor: f64 = 1.5, in 0.0..=100.0, "time-factor";
        /// Extra time for the first move of the game, as a percentage of its budget.
        opening_bonus_pct: f64 = 0.0, in 0.0..=1000.0, "opening-bonus-pct";
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Simple {
    params: SimpleParams,
    saved_ms: f64,
}

impl From<SimpleParams> for Simple {
    fn from(params: SimpleParams) -> Self {
        Simple {
            params,
            saved_ms: 0.0,
        }
    }
}

impl Named for Simple {
    const NAME: &'static str = "simple";
    const SUMMARY: &'static str = "A share of the clock that grows with the move number and the increment.";
    type Params = SimpleParams;
}

impl TimeManager for Simple {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let clock_ms = facts.clock_less_overhead()?.0;
        let clock = facts.limit.mover_clock()?;
        let (time_ms, inc_ms) = (clock.time.0, clock.inc.0);
        let SimpleParams {
            base_pct,
            ply_pct,
            time_factor,
            opening_bonus_pct,
        } = self.params;
        let inc_ratio = if time_ms > 0.0 { inc_ms / time_ms } else { 0.0 };
        let share = (base_pct + facts.game_ply.as_f64() * ply_pct) / 100.0 + time_factor * inc_ratio;
        let bonus = if facts.first_move {
            1.0 + opening_bonus_pct / 100.0
        } else {
            1.0
        };
        let planned_ms = clock_ms * share * bonus + std::mem::take(&mut self.saved_ms);
        let budget = Millis(planned_ms).min(facts.available()?);
        let report = MoveReport {
            manager: Self::NAME,
            budget,
            ..MoveReport::default()
        };
        Some(Box::new(BudgetLimit::new(facts, report)))
    }

    fn finish_move(&mut self, outcome: &MoveOutcome) {
        self.saved_ms = (outcome.report.budget.0 - outcome.used.0).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::Limit;
    use crate::time::units::GamePly;

    fn facts(time_ms: f64, inc_ms: f64, game_ply: u32) -> MoveFacts {
        let limit = Limit::clock(Millis(time_ms), Millis(inc_ms));
        MoveFacts {
            limit,
            overhead: Millis(200.0),
            game_ply: GamePly(game_ply),
            ..MoveFacts::default()
        }
    }

    fn budget(manager: &mut Simple, facts: &MoveFacts) -> f64 {
        manager.start_move(facts).unwrap().report().unwrap().budget.0
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn by_hand() {
        let mut manager = Simple::from(SimpleParams::default());
        // (1.4 + 20·0.049)/100 + 1.5·600/60,000 = 0.0238 + 0.015 = 0.0388 of 59,800
        assert!(close(budget(&mut manager, &facts(60_000.0, 600.0, 20)), 2_320.24));
        assert!(close(budget(&mut manager, &facts(60_000.0, 0.0, 0)), 837.2));
        assert_eq!(budget(&mut manager, &facts(0.0, 100.0, 0)), 0.0);
        assert_eq!(
            budget(&mut manager, &facts(300.0, 5_000.0, 0)),
            100.0,
            "never beyond the clock"
        );
    }

    #[test]
    fn the_first_move_may_get_a_bonus() {
        let mut manager = Simple::from(SimpleParams {
            opening_bonus_pct: 50.0,
            ..SimpleParams::default()
        });
        let first = MoveFacts {
            first_move: true,
            ..facts(60_000.0, 0.0, 0)
        };
        assert!(close(budget(&mut manager, &first), 837.2 * 1.5));
    }

    #[test]
    fn what_a_move_saves_goes_to_the_next_one_only() {
        let mut manager = Simple::from(SimpleParams::default());
        let report = MoveReport {
            budget: Millis(800.0),
            ..MoveReport::default()
        };
        manager.finish_move(&MoveOutcome {
            used: Millis(300.0),
            report,
            ..MoveOutcome::default()
        });
        assert!(close(budget(&mut manager, &facts(60_000.0, 0.0, 0)), 1_337.2));
        assert!(close(budget(&mut manager, &facts(60_000.0, 0.0, 0)), 837.2));
    }
}
