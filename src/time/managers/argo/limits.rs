//! Time limits of `argo`: from the clock, the difficulty and the branch factor.

use crate::options::option_group;
use crate::time::facts::MoveFacts;

/// Moves to go where the time control has none, and the most that are planned for.
const MOVES_TO_GO: u32 = 40;
/// Least time limit, ms.
const MIN_LIMIT_MS: f64 = 1.0;
/// Branch factor for the optimal time.
pub const MIN_BRANCH_FACTOR: f64 = 0.75;
/// Branch factor for the maximal time.
pub const MAX_BRANCH_FACTOR: f64 = 1.5;

/// Below this clock a move gets `EMERGENCY_SHARE` of it, ms.
const EMERGENCY_MS: f64 = 10_000.0;
const EMERGENCY_SHARE: f64 = 0.2;
/// Below this clock a move gets `CRITICAL_LIMIT_MS`, ms.
const CRITICAL_MS: f64 = 5_000.0;
const CRITICAL_LIMIT_MS: f64 = 10.0;

option_group! {
    /// Parameters of `argo`.
    #[derive(Copy)]
    pub struct ArgoParams {
        /// Largest difficulty that a move can have; an ordinary move has 1.
        max_difficulty: f64 = 2.0, in 1.0..=100.0, "max-difficulty";
    }
}

/// The clock of a move as `argo` sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArgoClock {
    /// The clock less the overhead, ms.
    pub main_ms: f64,
    /// Time that the clock allows for one move, ms.
    pub available_ms: f64,
    /// Increment, ms.
    pub inc_ms: f64,
    /// Moves to go, `1..=40`.
    pub moves: u32,
}

impl ArgoClock {
    /// Returns the clock at the start of a move; `None` where no clock limits the move.
    pub fn new(facts: &MoveFacts) -> Option<Self> {
        let inc_ms = facts.limits.mover_clock()?.inc.0;
        let movestogo = facts.limits.movestogo.filter(|&n| n > 0).unwrap_or(MOVES_TO_GO);
        Some(ArgoClock {
            main_ms: facts.clock_less_overhead()?.0,
            available_ms: facts.available()?.0,
            inc_ms,
            moves: movestogo.min(MOVES_TO_GO),
        })
    }

    /// Returns the time limit for a move of `difficulty`, ms, never more than the clock allows.
    pub fn limit_ms(&self, difficulty: f64, branch_factor: f64) -> f64 {
        self.planned_ms(difficulty, branch_factor).min(self.available_ms)
    }

    fn planned_ms(&self, difficulty: f64, branch_factor: f64) -> f64 {
        // The listing asks for less than 10 s before it asks for less than 5 s and so never gets there.
        if self.main_ms < CRITICAL_MS {
            return CRITICAL_LIMIT_MS;
        }
        if self.main_ms < EMERGENCY_MS {
            return self.main_ms * EMERGENCY_SHARE;
        }
        let others = f64::from(self.moves - 1);
        let total_ms = self.main_ms + others * self.inc_ms;
        let share = difficulty * branch_factor / (difficulty * MAX_BRANCH_FACTOR + others);
        let limit_ms = share * total_ms * self.low_time_scale() * self.phase_scale();
        limit_ms.max(MIN_LIMIT_MS)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::limits::GoLimits;
    use crate::time::units::Millis;
    use proptest::prelude::*;

    fn clock(main_ms: f64, inc_ms: f64, moves: u32) -> ArgoClock {
        ArgoClock { main_ms, available_ms: main_ms, inc_ms, moves }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn four_kinds_of_time_control() {
        // 1·0.75·100,000/(1.5 + 39)·2/3 = 1,234.567901
        assert!(close(clock(100_000.0, 0.0, 40).limit_ms(1.0, MIN_BRANCH_FACTOR), 1_234.567_901));
        // … of 100,000 + 39·1,000
        assert!(close(clock(100_000.0, 1_000.0, 40).limit_ms(1.0, MIN_BRANCH_FACTOR), 1_716.049_383));
        // 20 moves to go: 75,000/(1.5 + 19)
        assert!(close(clock(100_000.0, 0.0, 20).limit_ms(1.0, MIN_BRANCH_FACTOR), 3_658.536_585));
        // … of 100,000 + 19·1,000
        assert!(close(clock(100_000.0, 1_000.0, 20).limit_ms(1.0, MIN_BRANCH_FACTOR), 4_353.658_537));
    }

    #[test]
    fn the_maximum_is_for_difficult_moves() {
        // 2·1.5·100,000/(3 + 19)
        assert!(close(clock(100_000.0, 0.0, 20).limit_ms(2.0, MAX_BRANCH_FACTOR), 13_636.363_636));
        // One move to go: all of it, and 4/3, but not more than there is.
        assert!(close(clock(100_000.0, 0.0, 1).limit_ms(2.0, MAX_BRANCH_FACTOR), 100_000.0));
    }

    #[test]
    fn low_clocks_are_scaled_down() {
        // 20 moves to go, 1.5 + 19 = 20.5; half below 60 s, 0.3 below 30 s.
        assert!(close(clock(50_000.0, 0.0, 20).limit_ms(1.0, 0.75), 914.634_146));
        assert!(close(clock(20_000.0, 0.0, 20).limit_ms(1.0, 0.75), 219.512_195));
        // Less than 10 to go: 0.75·20,000/(1.5 + 4)·0.3·4/3
        assert!(close(clock(20_000.0, 0.0, 5).limit_ms(1.0, 0.75), 1_090.909_091));
    }

    /// The critical branch is never reached in ArGO's listing.
    #[test]
    fn emergency_and_critical_clocks() {
        assert!(close(clock(9_000.0, 0.0, 40).limit_ms(1.0, 0.75), 1_800.0));
        assert_eq!(clock(4_999.0, 0.0, 40).limit_ms(2.0, 1.5), 10.0);
        assert_eq!(clock(4.0, 0.0, 40).limit_ms(2.0, 1.5), 4.0);
        assert_eq!(clock(0.0, 0.0, 40).limit_ms(2.0, 1.5), 0.0);
    }

    #[test]
    fn forty_moves_at_most() {
        let moves = |movestogo| {
            let limits = GoLimits { time: Some(Millis(1.0)), movestogo, ..GoLimits::default() };
            ArgoClock::new(&MoveFacts { limits, ..MoveFacts::default() }).unwrap().moves
        };
        assert_eq!((moves(None), moves(Some(0)), moves(Some(99)), moves(Some(3))), (40, 40, 40, 3));
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
}
