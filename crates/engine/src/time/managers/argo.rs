//! `argo`: ArGO's manager, which thinks longer about difficult moves.
//!
//! Each iteration updates the difficulty.
//!
//! ```text
//! limit = difficulty·f·(time − overhead + (n − 1)·inc)/(1.5·difficulty + n − 1)·scale
//! ```
//!
//! n are the moves to go, at most 40. f is 0.75 for the optimum, and 1.5 with `max-difficulty` for the
//! maximum. The scale shrinks on short clocks and with many moves to go. The search ends with the first
//! iteration past the optimum, or at a near mate.

use crate::options::option_group;
use crate::time::facts::MoveFacts;
use crate::time::manager::TimeManager;
use crate::time::managers::iterations::{Iteration, IterationRule, IterationStopper};
use crate::time::parameters::Named;
use crate::time::stats::SearchStats;
use crate::time::stoppers::Stopper;
use crate::time::units::centipawns;

impl Named for Argo {
    const NAME: &'static str = "argo";
    const SUMMARY: &'static str = "ArGO's manager: a time limit that follows the difficulty of the move.";
    type Params = Self;
}

impl TimeManager for Argo {
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>> {
        let clock = ArgoClock::new(facts)?;
        Some(Box::new(IterationStopper::new(
            facts,
            ArgoRule::new(facts, *self, clock),
        )))
    }
}

/// Most moves planned for, and the number without a time control.
const MOVES_TO_GO: u32 = 40;
const MIN_LIMIT_MS: f64 = 1.0;
const MIN_BRANCH_FACTOR: f64 = 0.75;
const MAX_BRANCH_FACTOR: f64 = 1.5;

/// Below this clock a move gets `EMERGENCY_SHARE` of it, ms.
const EMERGENCY_MS: f64 = 10_000.0;
const EMERGENCY_SHARE: f64 = 0.2;

option_group! {
    /// The manager remembers nothing from move to move.
    #[derive(Copy)]
    pub(crate) struct Argo {
        /// Maximum difficulty of a move. An ordinary move has a difficulty of 1.
        max_difficulty: f64 = 2.0, in 1.0..=100.0, "max-difficulty";
    }
}

#[derive(Clone, Copy, Debug)]
struct ArgoClock {
    main_ms: f64,
    available_ms: f64,
    inc_ms: f64,
    /// `1..=40`.
    moves: u32,
}

impl ArgoClock {
    fn new(facts: &MoveFacts) -> Option<Self> {
        let clock = facts.limit.mover_clock()?;
        Some(ArgoClock {
            main_ms: facts.clock_less_overhead()?.0,
            available_ms: facts.available()?.0,
            inc_ms: clock.inc.0,
            moves: clock.movestogo.unwrap_or(MOVES_TO_GO).min(MOVES_TO_GO),
        })
    }

    fn limit_ms(&self, difficulty: f64, branch_factor: f64) -> f64 {
        let others = f64::from(self.moves - 1);
        let total_ms = self.main_ms + others * self.inc_ms;
        let share = difficulty * branch_factor / (difficulty * MAX_BRANCH_FACTOR + others);
        // The listing never reaches its branch for less than 5 s.
        let planned_ms = if self.main_ms < EMERGENCY_MS {
            self.main_ms * EMERGENCY_SHARE
        } else {
            (share * total_ms * self.low_time_scale() * self.phase_scale()).max(MIN_LIMIT_MS)
        };
        planned_ms.min(self.available_ms)
    }

    fn low_time_scale(&self) -> f64 {
        match self.main_ms {
            ms if ms < 30_000.0 => 0.3,
            ms if ms < 60_000.0 => 0.5,
            _ => 1.0,
        }
    }

    fn phase_scale(&self) -> f64 {
        match self.moves {
            31.. => 2.0 / 3.0,
            ..10 => 4.0 / 3.0,
            _ => 1.0,
        }
    }
}

/// The difficulty changes from this iteration on.
const FIRST_RATED_ITERATION: u32 = 5;
const SCORE_DROP: f64 = 50.0;
const STABLE_SCORE: f64 = 10.0;
const FIRST_STABLE_ITERATION: u32 = 10;
const SHORT_MATE: u32 = 5;
/// A longer mate must be this much nearer than the iteration's number.
const MATE_MARGIN: u32 = 5;
/// A position is tactical with this share of tactical moves, …
const TACTICAL_SHARE: f64 = 1.0 / 3.0;
/// … with this change of the score in one iteration, centipawns, …
const TACTICAL_SWING: f64 = 100.0;
/// … or with as many changes of the best move.
const TACTICAL_CHANGES: u32 = 3;

#[derive(Clone, Copy, Debug)]
struct Difficulty {
    value: f64,
    max: f64,
    changes: u32,
    tactical: bool,
}

impl Difficulty {
    fn new(facts: &MoveFacts, params: Argo) -> Self {
        let mut difficulty = Difficulty {
            value: 1.0,
            max: params.max_difficulty,
            changes: 0,
            tactical: false,
        };
        if f64::from(facts.tactical_moves) > TACTICAL_SHARE * f64::from(facts.legal_moves) {
            difficulty.mark_tactical();
        }
        difficulty
    }

    fn mark_tactical(&mut self) {
        if !self.tactical {
            self.tactical = true;
            self.value = (self.value * 1.5).min(self.max);
        }
    }

    fn update(&mut self, before: &Iteration, now: &Iteration) {
        let drop = centipawns(before.q) - centipawns(now.q);
        let changed = before.best_move != now.best_move;
        if now.number >= FIRST_RATED_ITERATION {
            self.value = if drop > SCORE_DROP {
                (self.value * 1.3).min(self.max)
            } else if changed {
                (self.value * 1.2).min(1.5)
            } else {
                (self.value * 0.8).max(0.8)
            };
        }
        self.changes += u32::from(changed);
        if drop.abs() > TACTICAL_SWING || self.changes >= TACTICAL_CHANGES {
            self.mark_tactical();
        }
    }
}

#[derive(Debug)]
struct ArgoRule {
    clock: ArgoClock,
    difficulty: Difficulty,
    maximum_ms: f64,
    optimum_ms: f64,
}

impl ArgoRule {
    fn new(facts: &MoveFacts, params: Argo, clock: ArgoClock) -> Self {
        let difficulty = Difficulty::new(facts, params);
        ArgoRule {
            clock,
            difficulty,
            maximum_ms: clock.limit_ms(params.max_difficulty, MAX_BRANCH_FACTOR),
            optimum_ms: clock.limit_ms(difficulty.value, MIN_BRANCH_FACTOR),
        }
    }
}

/// Short or well within the depth of `iteration`.
fn is_mate_near(stats: &SearchStats, iteration: Iteration) -> bool {
    let given = stats.mate_in.map(|moves| (moves, (2 * moves).saturating_sub(1)));
    let got = stats.mated_in.map(|moves| (moves, 2 * moves));
    given
        .or(got)
        .is_some_and(|(moves, plies)| moves <= SHORT_MATE || plies + MATE_MARGIN <= iteration.number)
}

impl IterationRule for ArgoRule {
    const MANAGER: &'static str = Argo::NAME;

    fn finish_iteration(&mut self, before: Option<Iteration>, ended: Iteration) {
        let Some(before) = before else { return };
        self.difficulty.update(&before, &ended);
        self.optimum_ms = self.clock.limit_ms(self.difficulty.value, MIN_BRANCH_FACTOR);
        let moved = (centipawns(ended.q) - centipawns(before.q)).abs();
        let stable = before.best_move == ended.best_move && moved < STABLE_SCORE;
        if stable && ended.number >= FIRST_STABLE_ITERATION {
            self.optimum_ms *= 0.75;
        }
    }

    fn is_enough(&self, stats: &SearchStats, ended: Iteration) -> bool {
        is_mate_near(stats, ended) || stats.elapsed.0 >= self.optimum_ms
    }

    fn optimum_ms(&self) -> f64 {
        self.optimum_ms
    }

    fn limit_ms(&self) -> f64 {
        self.maximum_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Bounds, Limit};
    use crate::time::stats::Hints;
    use crate::time::stats::tests::at;
    use crate::time::stoppers::StopReason;
    use crate::time::units::Millis;
    use proptest::prelude::*;

    fn clock(main_ms: f64, inc_ms: f64, moves: u32) -> ArgoClock {
        ArgoClock {
            main_ms,
            available_ms: main_ms,
            inc_ms,
            moves,
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    /// A regression: moves below 5 s got 10 ms.
    #[test]
    fn limits_by_hand() {
        for (main_ms, inc_ms, moves, difficulty, branch_factor, expected) in [
            // 1·0.75·100,000/(1.5 + 39)·2/3. … of 100,000 + 39·1,000
            (100_000.0, 0.0, 40, 1.0, MIN_BRANCH_FACTOR, 1_234.567_901),
            (100_000.0, 1_000.0, 40, 1.0, MIN_BRANCH_FACTOR, 1_716.049_383),
            // 20 moves to go: 75,000/(1.5 + 19). … of 100,000 + 19·1,000
            (100_000.0, 0.0, 20, 1.0, MIN_BRANCH_FACTOR, 3_658.536_585),
            (100_000.0, 1_000.0, 20, 1.0, MIN_BRANCH_FACTOR, 4_353.658_537),
            // The maximum for difficult moves: 2·1.5·100,000/(3 + 19).
            (100_000.0, 0.0, 20, 2.0, MAX_BRANCH_FACTOR, 13_636.363_636),
            // One move to go: all of it, and 4/3, capped by the clock.
            (100_000.0, 0.0, 1, 2.0, MAX_BRANCH_FACTOR, 100_000.0),
            // 20 moves to go, 1.5 + 19 = 20.5. Half below 60 s, 0.3 below 30 s.
            (50_000.0, 0.0, 20, 1.0, 0.75, 914.634_146),
            (20_000.0, 0.0, 20, 1.0, 0.75, 219.512_195),
            // Less than 10 to go: 0.75·20,000/(1.5 + 4)·0.3·4/3
            (20_000.0, 0.0, 5, 1.0, 0.75, 1_090.909_091),
            (9_000.0, 0.0, 40, 1.0, 0.75, 1_800.0),
            (4_999.0, 0.0, 40, 2.0, 1.5, 999.8),
            (0.0, 0.0, 40, 2.0, 1.5, 0.0),
        ] {
            let limit = clock(main_ms, inc_ms, moves).limit_ms(difficulty, branch_factor);
            assert!(
                close(limit, expected),
                "{main_ms} {inc_ms} {moves}: {limit} for {expected}"
            );
        }
    }

    #[test]
    fn forty_moves_at_most() {
        let moves = |movestogo| {
            let limit = Limit::Until(Bounds {
                time: Some(Millis(1.0)),
                movestogo,
                ..Bounds::default()
            });
            ArgoClock::new(&MoveFacts {
                limit,
                ..MoveFacts::default()
            })
            .unwrap()
            .moves
        };
        assert_eq!(
            (moves(None), moves(Some(0)), moves(Some(99)), moves(Some(3))),
            (40, 40, 40, 3)
        );
    }

    proptest! {
        #[test]
        fn within_the_clock(
            main_ms in 0.0..1e9, inc_ms in 0.0..1e6, moves in 1u32..=40, difficulty in 0.8..100.0,
        ) {
            for branch_factor in [MIN_BRANCH_FACTOR, MAX_BRANCH_FACTOR] {
                let limit = clock(main_ms, inc_ms, moves).limit_ms(difficulty, branch_factor);
                prop_assert!(limit >= 0.0 && limit <= main_ms);
            }
        }
    }

    /// 120 s, 20 moves to go: optimum 0.75·120,000/(1.5 + 19) = 4,390.2 ms at difficulty 1, maximum
    /// 3·120,000/(3 + 19) = 16,363.6 ms.
    fn stopper() -> IterationStopper<ArgoRule> {
        let clock = ArgoClock {
            main_ms: 120_000.0,
            available_ms: 120_000.0,
            inc_ms: 0.0,
            moves: 20,
        };
        let facts = MoveFacts::default();
        IterationStopper::new(&facts, ArgoRule::new(&facts, Argo::default(), clock))
    }

    fn difficulty_after(iterations: &[(u64, f64, usize)]) -> f64 {
        let mut stopper = stopper();
        for &(nodes, q, best) in iterations {
            stopper.should_stop(&at(1.0, nodes, q, best), &mut Hints::default());
        }
        stopper.rule.difficulty.value
    }

    #[test]
    fn difficulty_follows_score_and_best_move() {
        for (iterations, expected) in [
            // Q 0.5 is 89 cp, 0.2 is 29 cp: a drop of 60.
            (&[(32, 0.5, 0), (64, 0.2, 0)][..], 1.3),
            (&[(32, 0.5, 0), (64, 0.5, 1)], 1.2),
            (&[(32, 0.5, 0), (64, 0.5, 0)], 0.8),
            (&[(32, 0.5, 0), (64, 0.5, 0), (128, 0.5, 0)], 0.8),
            (&[(8, 0.5, 0), (16, 0.2, 1)], 1.0),
            // 1.3 · 1.2 = 1.56, but changes do not lift it beyond 1.5.
            (&[(32, 0.5, 0), (64, 0.2, 0), (128, 0.2, 1)], 1.5),
            // Tactical: a swing from 1.5 pawns to −0.9: ×1.3, then ×1.5, at most 2.
            (&[(32, 0.66, 0), (64, -0.5, 0)], 1.95),
            // Three changes: 1.2, 1.44, 1.5 and then ×1.5, at most 2.
            (&[(32, 0.0, 0), (64, 0.0, 1), (128, 0.0, 0), (256, 0.0, 1)], 2.0),
        ] {
            assert!(
                (difficulty_after(iterations) - expected).abs() < 1e-9,
                "{iterations:?}"
            );
        }
    }

    #[test]
    fn tactical_positions_are_difficult_once() {
        let clock = ArgoClock {
            main_ms: 120_000.0,
            available_ms: 120_000.0,
            inc_ms: 0.0,
            moves: 20,
        };
        let facts = MoveFacts {
            legal_moves: 30,
            tactical_moves: 11,
            ..MoveFacts::default()
        };
        assert_eq!(
            ArgoRule::new(&facts, Argo::default(), clock).difficulty.value,
            1.5
        );
        let calm = MoveFacts {
            tactical_moves: 10,
            ..facts
        };
        assert_eq!(ArgoRule::new(&calm, Argo::default(), clock).difficulty.value, 1.0);
    }

    #[test]
    fn stops_at_an_iterations_end_past_the_optimum() {
        let mut stopper = stopper();
        let mut ask = |ms, nodes| stopper.should_stop(&at(ms, nodes, 0.0, 0), &mut Hints::default());
        assert_eq!(ask(1_000.0, 128), None);
        // Stable: difficulty 0.8, optimum 0.6·120,000/(1.2 + 19) = 3,564.4 ms
        assert_eq!(ask(3_500.0, 256), None);
        assert_eq!(ask(3_600.0, 500), None, "within an iteration");
        assert_eq!(ask(3_700.0, 512), Some(StopReason::Settled));
        assert_eq!(ask(16_364.0, 600), Some(StopReason::Budget));
    }

    #[test]
    fn long_stability_saves_a_quarter() {
        let mut stopper = stopper();
        let mut ask = |ms, nodes| stopper.should_stop(&at(ms, nodes, 0.0, 0), &mut Hints::default());
        assert_eq!(ask(1_000.0, 1_024), None);
        // 3,564.4 · 0.75 = 2,673.3
        assert_eq!(ask(2_600.0, 2_048), None);
        assert_eq!(ask(2_700.0, 4_096), Some(StopReason::Settled));
    }

    /// A regression: mates within the depth less 5 did not end a search.
    #[test]
    fn a_mate_well_within_the_depth_ends_the_search() {
        let ask = |mate_in, mated_in, nodes| {
            let mut stopper = stopper();
            let mate = SearchStats {
                mate_in,
                mated_in,
                ..at(1.0, nodes, 1.0, 0)
            };
            stopper.should_stop(&mate, &mut Hints::default())
        };
        // A mate in 6 is 11 plies away, one against us 12: from iterations 16 and 17 on.
        assert_eq!(ask(Some(6), None, 1 << 15), None);
        assert_eq!(ask(Some(6), None, 1 << 16), Some(StopReason::Settled));
        assert_eq!(ask(None, Some(6), 1 << 16), None);
        assert_eq!(ask(None, Some(6), 1 << 17), Some(StopReason::Settled));
        assert_eq!(ask(None, None, 1 << 17), None);
        assert_eq!(ask(Some(6), None, 64), None);
        assert_eq!(ask(Some(5), None, 128), Some(StopReason::Settled));
    }
}
