//! `stockfish`: Stockfish's time manager of 2013, for a search by visits.
//!
//! The clock is shared out by the importance of this move against that of those to come. The search may stop
//! after each iteration. An unstable best move gets extra time, a large change of the score the maximum.

use crate::options::option_group;
use crate::time::facts::{MoveFacts, MoverClock};
use crate::time::manager::TimeManager;
use crate::time::managers::iterations::{Iteration, IterationRule, IterationStopper};
use crate::time::parameters::Named;
use crate::time::stats::SearchStats;
use crate::time::stoppers::Stopper;

impl Named for Stockfish {
    const NAME: &'static str = "stockfish";
    const SUMMARY: &'static str =
        "Stockfish's manager of 2013: optimum and maximum time from the importance of the move.";
    type Params = Self;
}

impl TimeManager for Stockfish {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let available_ms = facts.available()?.0;
        let clock = facts.limit.mover_clock()?;
        let mut limits = self.time_limits(clock, facts);
        limits.optimum_ms = limits.optimum_ms.min(available_ms);
        limits.maximum_ms = limits.maximum_ms.min(available_ms);
        let rule = StockfishRule {
            params: *self,
            limits,
            best_move_changes: 0.0,
            fails: false,
        };
        Some(Box::new(IterationStopper::new(facts, rule)))
    }
}

const MOVE_HORIZON: u32 = 50;
/// Factor on this move's importance in the maximum.
const MAX_RATIO: f64 = 7.0;
const STEAL_RATIO: f64 = 0.33;

option_group! {
    /// The manager remembers nothing from move to move.
    #[derive(Copy)]
    pub(crate) struct Stockfish {
        /// Number of moves for which time is reserved on the clock.
        emergency_move_horizon: u32 = 40, in 0..=50, "emergency-move-horizon";
        /// Time that is always reserved on the clock, in milliseconds.
        emergency_base_time_ms: f64 = 60.0, in 0.0..=30_000.0, "emergency-base-time";
        /// Time that is reserved for each move within the horizon, in milliseconds.
        emergency_move_time_ms: f64 = 30.0, in 0.0..=5_000.0, "emergency-move-time";
        /// Minimum time for a move, in milliseconds.
        min_thinking_time_ms: f64 = 20.0, in 0.0..=5_000.0, "min-thinking-time";
        /// Weight of the importance of the current move, in percent. Values above 100 spend more time in the
        /// opening.
        slow_mover: f64 = 70.0, in 10.0..=1000.0, "slow-mover";
        /// Share of the count of best-move changes that remains after each iteration.
        instability_decay: f64 = 0.8, in 0.0..=0.99, "instability-decay";
        /// Fall of Q at the root since the last iteration above which the move may use its maximum time.
        fail_low_q: f64 = 0.05, in 0.0..=2.0, "fail-low-q";
        /// Rise of Q at the root since the last iteration above which the move may use its maximum time.
        fail_high_q: f64 = 0.05, in 0.0..=2.0, "fail-high-q";
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TimeLimits {
    /// In calm positions.
    optimum_ms: f64,
    /// In trouble.
    maximum_ms: f64,
}

impl Stockfish {
    fn time_limits(&self, clock: MoverClock, facts: &MoveFacts) -> TimeLimits {
        let movestogo = clock.movestogo.unwrap_or(MOVE_HORIZON);
        let game_ply = facts.game_ply.0;
        let [mut optimum_ms, mut maximum_ms] = [clock.time.0; 2];
        let mut others_importance = 0.0;
        for moves in 1..=movestogo.min(MOVE_HORIZON) {
            let time_ms = self.time_for_moves(clock, moves);
            let this = move_importance(game_ply) * self.slow_mover / 100.0;
            let optimum = (time_ms * share(1.0, 0.0, this, others_importance)).floor();
            let maximum = (time_ms * share(MAX_RATIO, STEAL_RATIO, this, others_importance)).floor();
            optimum_ms = optimum_ms.min(self.min_thinking_time_ms + optimum);
            maximum_ms = maximum_ms.min(self.min_thinking_time_ms + maximum);
            others_importance += move_importance(game_ply.saturating_add(2 * moves));
        }
        if facts.ponder_enabled {
            optimum_ms *= 1.25;
        }
        TimeLimits {
            optimum_ms: optimum_ms.min(maximum_ms),
            maximum_ms,
        }
    }

    fn time_for_moves(&self, clock: MoverClock, moves: u32) -> f64 {
        let emergency_moves = f64::from(moves.min(self.emergency_move_horizon));
        let emergency_ms = self.emergency_base_time_ms + self.emergency_move_time_ms * emergency_moves;
        (clock.time.0 + clock.inc.0 * f64::from(moves - 1) - emergency_ms).max(0.0)
    }
}

fn share(max_ratio: f64, steal_ratio: f64, this: f64, others: f64) -> f64 {
    let in_trouble = max_ratio * this / (max_ratio * this + others);
    let with_stealing = (this + steal_ratio * others) / (this + others);
    in_trouble.min(with_stealing)
}

/// Of 7,780 games of CCRL, those undecided (neither side 275 centipawns ahead) after so many plies. From
/// Stockfish's time manager of 2013 (GPL-3.0-or-later).
const UNDECIDED_GAMES: [u16; 512] = [
    7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780, 7780,
    7780, 7780, 7780, 7778, 7778, 7776, 7776, 7776, 7773, 7770, 7768, 7766, 7763, 7757, 7751, 7743, 7735,
    7724, 7713, 7696, 7689, 7670, 7656, 7627, 7605, 7571, 7549, 7522, 7493, 7462, 7425, 7385, 7350, 7308,
    7272, 7230, 7180, 7139, 7094, 7055, 7010, 6959, 6902, 6841, 6778, 6705, 6651, 6569, 6508, 6435, 6378,
    6323, 6253, 6152, 6085, 5995, 5931, 5859, 5794, 5717, 5646, 5544, 5462, 5364, 5282, 5172, 5078, 4988,
    4901, 4831, 4764, 4688, 4609, 4536, 4443, 4365, 4293, 4225, 4155, 4085, 4005, 3927, 3844, 3765, 3693,
    3634, 3560, 3479, 3404, 3331, 3268, 3207, 3146, 3077, 3011, 2947, 2894, 2828, 2776, 2727, 2676, 2626,
    2589, 2538, 2490, 2442, 2394, 2345, 2302, 2243, 2192, 2156, 2115, 2078, 2043, 2004, 1967, 1922, 1893,
    1845, 1809, 1772, 1736, 1702, 1674, 1640, 1605, 1566, 1536, 1509, 1479, 1452, 1423, 1388, 1362, 1332,
    1304, 1289, 1266, 1250, 1228, 1206, 1180, 1160, 1134, 1118, 1100, 1080, 1068, 1051, 1034, 1012, 1001,
    980, 960, 945, 934, 916, 900, 888, 878, 865, 852, 828, 807, 787, 770, 753, 744, 731, 722, 706, 700, 683,
    676, 671, 664, 652, 641, 634, 627, 613, 604, 591, 582, 568, 560, 552, 540, 534, 529, 519, 509, 495, 484,
    474, 467, 460, 450, 438, 427, 419, 410, 406, 399, 394, 387, 382, 377, 372, 366, 359, 353, 348, 343, 337,
    333, 328, 321, 315, 309, 303, 298, 293, 287, 284, 281, 277, 273, 265, 261, 255, 251, 247, 241, 240, 235,
    229, 218, 217, 213, 212, 208, 206, 197, 193, 191, 189, 185, 184, 180, 177, 172, 170, 170, 170, 166, 163,
    159, 158, 156, 155, 151, 146, 141, 138, 136, 132, 130, 128, 125, 123, 122, 118, 118, 118, 117, 115, 114,
    108, 107, 105, 105, 105, 102, 97, 97, 95, 94, 93, 91, 88, 86, 83, 80, 80, 79, 79, 79, 78, 76, 75, 72, 72,
    71, 70, 68, 65, 63, 61, 61, 59, 59, 59, 58, 56, 55, 54, 54, 52, 49, 48, 48, 48, 48, 45, 45, 45, 44, 43,
    41, 41, 41, 41, 40, 40, 38, 37, 36, 34, 34, 34, 33, 31, 29, 29, 29, 28, 28, 28, 28, 28, 28, 28, 27, 27,
    27, 27, 27, 24, 24, 23, 23, 22, 21, 20, 20, 19, 19, 19, 19, 19, 18, 18, 18, 18, 17, 17, 17, 17, 17, 16,
    16, 15, 15, 14, 14, 14, 12, 12, 11, 9, 9, 9, 9, 9, 9, 9, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
    8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 2,
    2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1,
];

/// Constant from ply 511 on.
fn move_importance(ply: u32) -> f64 {
    f64::from(UNDECIDED_GAMES[(ply as usize).min(UNDECIDED_GAMES.len() - 1)])
}

/// No new iteration begins after this share of the available time.
const LAST_ITERATION_SHARE: f64 = 0.62;
/// Each change of the best move adds the optimum divided by this.
const INSTABILITY_DIVISOR: f64 = 1.4;
/// Earlier changes of the best move are no instability.
const FIRST_STABLE_ITERATION: u32 = 5;

#[derive(Debug)]
struct StockfishRule {
    params: Stockfish,
    limits: TimeLimits,
    best_move_changes: f64,
    /// A depth search's fail low or fail high.
    fails: bool,
}

impl StockfishRule {
    fn available_ms(&self) -> f64 {
        let extra = self.best_move_changes * self.limits.optimum_ms / INSTABILITY_DIVISOR;
        (self.limits.optimum_ms + extra).min(self.limits.maximum_ms)
    }
}

impl IterationRule for StockfishRule {
    const MANAGER: &'static str = Stockfish::NAME;

    fn observe(&mut self, stats: &SearchStats, last: Option<Iteration>) {
        let Stockfish {
            fail_low_q,
            fail_high_q,
            ..
        } = self.params;
        let is_fail = |(before, now): (f64, f64)| now < before - fail_low_q || now > before + fail_high_q;
        let q = stats.root.map(|root| root.wl);
        self.fails = last.map(|last| last.q).zip(q).is_some_and(is_fail);
    }

    fn finish_iteration(&mut self, before: Option<Iteration>, ended: Iteration) {
        self.best_move_changes *= self.params.instability_decay;
        let changed = before.is_some_and(|before| before.best_move != ended.best_move);
        if changed && ended.number >= FIRST_STABLE_ITERATION {
            self.best_move_changes += 1.0;
        }
    }

    fn is_enough(&self, stats: &SearchStats, _: Iteration) -> bool {
        stats.elapsed.0 > LAST_ITERATION_SHARE * self.available_ms() && !self.fails
    }

    fn optimum_ms(&self) -> f64 {
        self.limits.optimum_ms
    }

    fn limit_ms(&self) -> f64 {
        if self.fails {
            self.limits.maximum_ms
        } else {
            self.available_ms()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Bounds, Limit};
    use crate::time::stats::Hints;
    use crate::time::stats::tests::at;
    use crate::time::stoppers::StopReason;
    use crate::time::units::{GamePly, Millis};
    use proptest::prelude::*;

    fn limits_of(
        time_ms: f64,
        inc_ms: f64,
        movestogo: Option<u32>,
        game_ply: u32,
        ponder_enabled: bool,
    ) -> TimeLimits {
        let limit = Limit::Until(Bounds {
            time: Some(Millis(time_ms)),
            inc: Millis(inc_ms),
            movestogo,
            ..Bounds::default()
        });
        let facts = MoveFacts {
            limit,
            game_ply: GamePly(game_ply),
            ponder_enabled,
            ..MoveFacts::default()
        };
        Stockfish::default().time_limits(limit.mover_clock().unwrap(), &facts)
    }

    fn time_limits(time_ms: f64, inc_ms: f64, movestogo: Option<u32>) -> TimeLimits {
        limits_of(time_ms, inc_ms, movestogo, 0, false)
    }

    #[test]
    fn moves_in_minutes() {
        // Two moves to go at ply 0, both of importance 7780. This one counts 70 % = 5446. One move: 60,000 −
        // 90 = 59,910. Two: 60,000 − 120 = 59,880. Optimum 5446/13,226 = 0.411764 → 24,656 + 20. Maximum:
        // min(38,122/45,902 = 0.830508, (5446 + 2567.4)/13,226 = 0.605882) → 36,280 + 20.
        let two = time_limits(60_000.0, 0.0, Some(2));
        assert_eq!(
            two,
            TimeLimits {
                optimum_ms: 24_676.0,
                maximum_ms: 36_300.0
            }
        );
        let one = time_limits(60_000.0, 0.0, Some(1));
        assert_eq!(
            one,
            TimeLimits {
                optimum_ms: 59_930.0,
                maximum_ms: 59_930.0
            }
        );
        // Two with an increment: 60,000 + 1,000 − 120 = 60,880 · 0.411764 = 25,068 + 20.
        assert_eq!(time_limits(60_000.0, 1_000.0, Some(2)).optimum_ms, 25_088.0);
    }

    #[test]
    fn sudden_death() {
        // 60,000 − 60 − 30·40 = 58,740. Plies 2, 4, … 98 are 49 moves: 5446/(5446 + sum).
        let sum: f64 = (1..50).map(|i| move_importance(2 * i)).sum();
        let expected = (58_740.0 * 5_446.0 / (5_446.0 + sum)).floor() + 20.0;
        assert_eq!(time_limits(60_000.0, 0.0, None).optimum_ms, expected);
        assert!((900.0..1_200.0).contains(&expected), "{expected}");
        let with = time_limits(60_000.0, 1_000.0, None);
        assert!(
            with.optimum_ms > expected + 500.0
                && with.maximum_ms > time_limits(60_000.0, 0.0, None).maximum_ms
        );
    }

    #[test]
    fn movestogo_zero_is_none_and_far_controls_are_cut() {
        assert_eq!(
            time_limits(60_000.0, 0.0, Some(0)),
            time_limits(60_000.0, 0.0, None)
        );
        assert_eq!(
            time_limits(60_000.0, 0.0, Some(500)),
            time_limits(60_000.0, 0.0, Some(50))
        );
    }

    #[test]
    fn pondering_adds_a_quarter() {
        let with = |movestogo| limits_of(60_000.0, 0.0, movestogo, 0, true).optimum_ms;
        assert_eq!(with(None), time_limits(60_000.0, 0.0, None).optimum_ms * 1.25);
        assert_eq!(with(Some(1)), 59_930.0, "never above the maximum");
    }

    #[test]
    fn an_empty_clock_gives_nothing() {
        assert_eq!(
            time_limits(0.0, 0.0, None),
            TimeLimits {
                optimum_ms: 0.0,
                maximum_ms: 0.0
            }
        );
        assert_eq!(
            time_limits(5.0, 0.0, None),
            TimeLimits {
                optimum_ms: 5.0,
                maximum_ms: 5.0
            }
        );
    }

    proptest! {
        #[test]
        fn within_the_clock_and_monotone_in_time(
            time_ms in 0.0..1e9, more_ms in 0.0..1e8, inc_ms in 0.0..1e6, game_ply in 0u32..2000,
            movestogo in proptest::option::of(0u32..200), ponder_enabled: bool,
        ) {
            let limits = |time_ms| limits_of(time_ms, inc_ms, movestogo, game_ply, ponder_enabled);
            let (less, more) = (limits(time_ms), limits(time_ms + more_ms));
            prop_assert!(0.0 <= less.optimum_ms && less.optimum_ms <= less.maximum_ms);
            prop_assert!(less.maximum_ms <= time_ms);
            prop_assert!(more.optimum_ms >= less.optimum_ms && more.maximum_ms >= less.maximum_ms);
        }
    }

    #[test]
    fn falls_from_the_opening_to_the_end() {
        assert_eq!(move_importance(0), 7780.0);
        assert_eq!(move_importance(511), 1.0);
        assert_eq!(move_importance(100_000), 1.0);
        assert!(UNDECIDED_GAMES.iter().rev().is_sorted());
    }

    fn stopper() -> IterationStopper<StockfishRule> {
        let limits = TimeLimits {
            optimum_ms: 1_400.0,
            maximum_ms: 5_000.0,
        };
        let params = Stockfish::default();
        let rule = StockfishRule {
            params,
            limits,
            best_move_changes: 0.0,
            fails: false,
        };
        IterationStopper::new(&MoveFacts::default(), rule)
    }

    #[test]
    fn an_iteration_past_62_percent_is_the_last() {
        let mut stopper = stopper();
        let mut ask = |ms, nodes| stopper.should_stop(&at(ms, nodes, 0.0, 0), &mut Hints::default());
        assert_eq!(ask(400.0, 512), None);
        assert_eq!(ask(867.0, 1_024), None, "0.62·1400 = 868");
        assert_eq!(ask(1_300.0, 1_500), None, "within an iteration");
        assert_eq!(ask(1_350.0, 2_048), Some(StopReason::Settled));
        assert_eq!(
            ask(1_400.0, 2_050),
            Some(StopReason::Budget),
            "the optimum ends a long one"
        );
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

    /// A regression: the maximum for a fail high was missing.
    #[test]
    fn a_falling_or_rising_score_may_use_the_maximum() {
        for (far, near) in [(0.1, 0.19), (0.26, 0.21)] {
            let mut stopper = stopper();
            let mut hints = Hints::default();
            let mut ask = |ms, nodes, q| stopper.should_stop(&at(ms, nodes, q, 0), &mut hints);
            assert_eq!(ask(600.0, 1_024, 0.2), None);
            assert_eq!(ask(1_500.0, 1_900, far), None);
            assert_eq!(ask(1_600.0, 2_000, near), Some(StopReason::Budget));
            assert_eq!(hints.remaining_time, Millis::ZERO);
        }
        let mut stopper = stopper();
        let mut hints = Hints::default();
        stopper.should_stop(&at(600.0, 1_024, 0.2, 0), &mut Hints::default());
        assert_eq!(
            stopper.should_stop(&at(1_500.0, 1_900, 0.26, 0), &mut hints),
            None
        );
        assert_eq!(hints.remaining_time, Millis(3_500.0));
        // The next iteration is measured by this one's score.
        assert_eq!(
            stopper.should_stop(&at(1_300.0, 2_048, 0.26, 0), &mut hints),
            None
        );
        assert_eq!(
            stopper.should_stop(&at(1_600.0, 2_100, 0.26, 0), &mut hints),
            Some(StopReason::Budget)
        );
        assert_eq!(
            stopper.should_stop(&at(5_000.0, 4_000, -0.5, 0), &mut hints),
            Some(StopReason::Budget)
        );
    }
}
