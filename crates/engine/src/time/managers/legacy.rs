//! `legacy`, Lc0's default manager.
//!
//! ```text
//! budget = (1 + bonus)·max(0, T − S)/ML + immediate-use·S
//! ```
//!
//! T is the time to the control with its increments, S the time that earlier moves spared, ML the moves left
//! by `mle-legacy`. The game's first move has the bonus first-move-bonus + book-ply-bonus·min(12, ply).
//! `slowmover` multiplies the first term if it is below 1, or if the product exceeds 200 ms.

use crate::options::option_group;
use crate::time::estimators::LogLogistic;
use crate::time::facts::MoveFacts;
use crate::time::manager::{MoveOutcome, TimeManager};
use crate::time::parameters::Named;
use crate::time::report::MoveReport;
use crate::time::stoppers::{BudgetLimit, Stopper};
use crate::time::units::{GamePly, Millis};

/// The first move's bonus stops growing here.
const MAX_BOOK_PLIES: GamePly = GamePly(12);
/// `Slowmover` above 1 has no effect below this.
const SLOWMOVER_FROM_MS: f64 = 200.0;

option_group! {
    /// Parameters of `legacy`.
    #[derive(Copy)]
    pub(crate) struct LegacyParams {
        /// Factor on every budget. Values above 1 have no effect on moves that stay shorter than 200 ms.
        slowmover: f64 = 1.0, in 0.0..=100.0, "slowmover";
        /// Median length of games in the estimate of moves left, in full moves.
        midpoint_move: f64 = LogLogistic::MIDPOINT, in 1.0..=1000.0, "midpoint-move";
        /// Steepness of the distribution of game lengths around its median.
        steepness: f64 = LogLogistic::STEEPNESS, in 0.5..=100.0, "steepness";
        /// Share of the saved time that the next move receives.
        immediate_use: f64 = 1.0, in 0.0..=1.0, "immediate-use";
        /// Extra time for the first move of the game, as a share of its budget.
        first_move_bonus: f64 = 1.8, in 0.0..=1000.0, "first-move-bonus";
        /// Extra time for the first move for each ply played from a book, as a share of its budget. At most
        /// 12 plies count.
        book_ply_bonus: f64 = 0.25, in 0.0..=1000.0, "book-ply-bonus";
    }
}

#[derive(Debug)]
pub(crate) struct Legacy {
    params: LegacyParams,
    /// Budgeted minus used over the game, negative after overdrafts.
    spared_ms: f64,
}

impl From<LegacyParams> for Legacy {
    fn from(params: LegacyParams) -> Self {
        Legacy {
            params,
            spared_ms: 0.0,
        }
    }
}

impl Named for Legacy {
    const NAME: &'static str = "legacy";
    const SUMMARY: &'static str =
        "Lc0's default: the clock divided by the moves left, plus the time that earlier moves saved.";
    type Params = LegacyParams;
}

impl Legacy {
    fn first_move_factor(&self, facts: &MoveFacts) -> f64 {
        if !facts.first_move {
            return 1.0;
        }
        let book_plies = facts.game_ply.min(MAX_BOOK_PLIES).as_f64();
        1.0 + self.params.first_move_bonus + self.params.book_ply_bonus * book_plies
    }

    /// Applies `Slowmover`, whose surplus comes out of the spared time.
    fn slow_down(&mut self, ms: f64) -> f64 {
        let slowed = ms * self.params.slowmover;
        if self.params.slowmover < 1.0 || slowed > SLOWMOVER_FROM_MS {
            self.spared_ms -= slowed - ms;
            return slowed;
        }
        ms
    }
}

impl TimeManager for Legacy {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let available = facts.available()?;
        let clock = facts.limit.mover_clock()?;
        let LegacyParams {
            midpoint_move: midpoint,
            steepness,
            ..
        } = self.params;
        let estimate = LogLogistic { midpoint, steepness }.moves_left(facts.game_ply);
        let moves_left = clock.cap_moves_left(estimate);
        let spared_ms = self.spared_ms.max(0.0);
        let immediate_ms = spared_ms * self.params.immediate_use;
        self.spared_ms -= immediate_ms;

        let total_ms = (facts.time_to_control(moves_left)?.0 - spared_ms).max(0.0);
        let average_ms = total_ms / moves_left;
        let planned_ms = self.slow_down(average_ms * self.first_move_factor(facts)) + immediate_ms;
        let report = MoveReport {
            manager: Self::NAME,
            budget: Millis(planned_ms).min(available),
            average: Some(Millis(average_ms)),
            moves_left: Some(moves_left),
            moves_left_source: Some(LogLogistic::NAME),
            ..MoveReport::default()
        };
        Some(Box::new(BudgetLimit::new(facts, report)))
    }

    fn finish_move(&mut self, outcome: &MoveOutcome) {
        self.spared_ms += (outcome.report.budget - outcome.used).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Bounds, Limit};

    fn facts(time_ms: f64, inc_ms: f64, movestogo: Option<u32>) -> MoveFacts {
        let limit = Limit::Until(Bounds {
            time: Some(Millis(time_ms)),
            inc: Millis(inc_ms),
            movestogo,
            ..Bounds::default()
        });
        MoveFacts {
            limit,
            overhead: Millis(200.0),
            ..MoveFacts::default()
        }
    }

    fn budget(manager: &mut Legacy, facts: &MoveFacts) -> f64 {
        manager.start_move(facts).unwrap().report().unwrap().budget.0
    }

    fn default_budget(facts: &MoveFacts) -> f64 {
        budget(&mut Legacy::from(LegacyParams::default()), facts)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn four_kinds_of_time_control() {
        assert!(close(
            default_budget(&facts(60_000.0, 0.0, None)),
            59_800.0 / 51.5
        ));
        assert!(close(
            default_budget(&facts(60_000.0, 600.0, None)),
            (59_800.0 + 600.0 * 50.5) / 51.5
        ));
        assert!(close(
            default_budget(&facts(60_000.0, 0.0, Some(40))),
            59_800.0 / 40.0
        ));
        assert!(close(
            default_budget(&facts(60_000.0, 600.0, Some(40))),
            (59_800.0 + 600.0 * 39.0) / 40.0
        ));
    }

    #[test]
    fn the_first_move_out_of_a_book_gets_a_bonus() {
        let first = |game_ply| MoveFacts {
            first_move: true,
            game_ply: GamePly(game_ply),
            ..facts(51_700.0, 0.0, Some(50))
        };
        // 51,500/50 = 1030. ·(1 + 1.8). With 8 book plies ·(1 + 1.8 + 2), never more than 12 plies.
        assert!(close(default_budget(&first(0)), 1030.0 * 2.8));
        let at = |ply| LogLogistic::default().moves_left(GamePly(ply)).min(50.0);
        assert!(close(default_budget(&first(8)), 51_500.0 / at(8) * 4.8));
        assert!(close(default_budget(&first(60)), 51_500.0 / at(60) * 5.8));
    }

    #[test]
    fn spared_time_goes_into_the_next_move() {
        let mut manager = Legacy::from(LegacyParams::default());
        let report = MoveReport {
            budget: Millis(1000.0),
            ..MoveReport::default()
        };
        let outcome = MoveOutcome {
            used: Millis(400.0),
            report,
            ..MoveOutcome::default()
        };
        manager.finish_move(&outcome);
        // 600 ms were spared: (59,800 − 600)/40 + 600 = 2080.
        assert!(close(
            budget(&mut manager, &facts(60_000.0, 0.0, Some(40))),
            2080.0
        ));
        // They are spent: 59,800/40 = 1495.
        assert!(close(
            budget(&mut manager, &facts(60_000.0, 0.0, Some(40))),
            1495.0
        ));
    }

    #[test]
    fn slowmover_scales_and_pays_back() {
        let params = LegacyParams {
            slowmover: 2.0,
            ..LegacyParams::default()
        };
        let mut manager = Legacy::from(params);
        assert!(close(
            budget(&mut manager, &facts(40_200.0, 0.0, Some(40))),
            2000.0
        ));
        assert!(close(manager.spared_ms, -1000.0));
        // 40 ms · 2 stay below 200 ms: no effect.
        assert!(close(
            budget(&mut Legacy::from(params), &facts(1_800.0, 0.0, Some(40))),
            40.0
        ));
        let fast = LegacyParams {
            slowmover: 0.5,
            ..LegacyParams::default()
        };
        assert!(close(
            budget(&mut Legacy::from(fast), &facts(1_800.0, 0.0, Some(40))),
            20.0
        ));
    }
}
