//! Optimum and maximum time of a move.

use crate::options::option_group;

use super::importance::move_importance;

/// No plan looks further ahead than this number of moves.
const MOVE_HORIZON: u32 = 50;
/// The factor by which the maximum may count this move's importance.
const MAX_RATIO: f64 = 7.0;
/// The share of the other moves' time that the maximum may steal.
const STEAL_RATIO: f64 = 0.33;

option_group! {
    /// Parameters of `stockfish`.
    #[derive(Copy)]
    pub struct StockfishParams {
        /// Number of moves for which time is kept on the clock.
        emergency_move_horizon: u32 = 40, in 0..=50, "emergency-move-horizon";
        /// Time that is always kept on the clock, ms.
        emergency_base_time_ms: f64 = 60.0, in 0.0..=30_000.0, "emergency-base-time";
        /// Time that is kept for each of the moves within the horizon, ms.
        emergency_move_time_ms: f64 = 30.0, in 0.0..=5_000.0, "emergency-move-time";
        /// Least time for a move, ms.
        min_thinking_time_ms: f64 = 20.0, in 0.0..=5_000.0, "min-thinking-time";
        /// Percentage of its importance with which this move counts; more than 100 spends more time in the opening.
        slow_mover: f64 = 70.0, in 10.0..=1000.0, "slow-mover";
        /// Share of the count of best-move changes that is left after each iteration.
        instability_decay: f64 = 0.8, in 0.0..=0.99, "instability-decay";
        /// Fall of the root's Q since the last iteration beyond which the move may use its maximum.
        fail_low_q: f64 = 0.05, in 0.0..=2.0, "fail-low-q";
        /// Rise of the root's Q since the last iteration beyond which the move may use its maximum.
        fail_high_q: f64 = 0.05, in 0.0..=2.0, "fail-high-q";
    }
}

/// The facts that the time limits depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeLimitsInput {
    /// The mover's clock, ms.
    pub time_ms: f64,
    /// Increment, ms.
    pub inc_ms: f64,
    /// Moves to the next time control; `None` or 0 without one.
    pub movestogo: Option<u32>,
    /// Plies played in the game.
    pub game_ply: u32,
    /// UCI option `Ponder`.
    pub ponder_enabled: bool,
}

/// The time that a move should take, and the time that it may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLimits {
    /// Time in calm positions, ms.
    pub optimum_ms: f64,
    /// Time when in trouble, ms.
    pub maximum_ms: f64,
}

impl TimeLimits {
    /// Returns the same limits, cut to what the clock allows, ms.
    pub fn limited_to(self, available_ms: f64) -> TimeLimits {
        TimeLimits {
            optimum_ms: self.optimum_ms.min(available_ms),
            maximum_ms: self.maximum_ms.min(available_ms),
        }
    }
}

impl StockfishParams {
    /// Returns optimum and maximum: the least over all supposed numbers of moves to go.
    pub fn time_limits(&self, input: &TimeLimitsInput) -> TimeLimits {
        let movestogo = input.movestogo.filter(|&n| n > 0).unwrap_or(MOVE_HORIZON);
        let mut optimum_ms = input.time_ms;
        let mut maximum_ms = input.time_ms;
        let mut others_importance = 0.0;
        for moves in 1..=movestogo.min(MOVE_HORIZON) {
            let time_ms = self.time_for_moves(input, moves);
            let this = move_importance(input.game_ply) * self.slow_mover / 100.0;
            let optimum = (time_ms * share(1.0, 0.0, this, others_importance)).floor();
            let maximum = (time_ms * share(MAX_RATIO, STEAL_RATIO, this, others_importance)).floor();
            optimum_ms = optimum_ms.min(self.min_thinking_time_ms + optimum);
            maximum_ms = maximum_ms.min(self.min_thinking_time_ms + maximum);
            others_importance += move_importance(input.game_ply.saturating_add(2 * moves));
        }
        if input.ponder_enabled {
            optimum_ms *= 1.25;
        }
        TimeLimits { optimum_ms: optimum_ms.min(maximum_ms), maximum_ms }
    }

    /// Returns the time that is to be shared if `moves` moves are to go, ms.
    fn time_for_moves(&self, input: &TimeLimitsInput, moves: u32) -> f64 {
        let emergency_moves = f64::from(moves.min(self.emergency_move_horizon));
        let emergency_ms = self.emergency_base_time_ms + self.emergency_move_time_ms * emergency_moves;
        (input.time_ms + input.inc_ms * f64::from(moves - 1) - emergency_ms).max(0.0)
    }
}

/// Returns this move's share of the time, if its importance is `this` and that of the moves after it `others`.
fn share(max_ratio: f64, steal_ratio: f64, this: f64, others: f64) -> f64 {
    let in_trouble = max_ratio * this / (max_ratio * this + others);
    let with_stealing = (this + steal_ratio * others) / (this + others);
    in_trouble.min(with_stealing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time_limits(time_ms: f64, inc_ms: f64, movestogo: Option<u32>) -> TimeLimits {
        let input = TimeLimitsInput { time_ms, inc_ms, movestogo, ..TimeLimitsInput::default() };
        StockfishParams::default().time_limits(&input)
    }

    #[test]
    fn moves_in_minutes() {
        // Two moves to go at ply 0, both of importance 7780; this one counts 70 % = 5446. One move: 60,000 − 90
        // = 59,910, all of it. Two: 60,000 − 120 = 59,880; optimum 5446/13,226 = 0.411764 → 24,656 + 20;
        // maximum: min(38,122/45,902 = 0.830508, (5446 + 2567.4)/13,226 = 0.605882) → 36,280 + 20.
        let two = time_limits(60_000.0, 0.0, Some(2));
        assert_eq!(two, TimeLimits { optimum_ms: 24_676.0, maximum_ms: 36_300.0 });
        let one = time_limits(60_000.0, 0.0, Some(1));
        assert_eq!(one, TimeLimits { optimum_ms: 59_930.0, maximum_ms: 59_930.0 });
    }

    #[test]
    fn moves_in_minutes_with_increment() {
        // Two: 60,000 + 1,000 − 120 = 60,880 · 0.411764 = 25,068 + 20
        assert_eq!(time_limits(60_000.0, 1_000.0, Some(2)).optimum_ms, 25_088.0);
    }

    #[test]
    fn sudden_death() {
        // 50 moves from ply 0: 60,000 − 60 − 30·40 = 58,740; the importance of plies 2, 4, … 98 adds up to
        // 49 moves; the share of this one is 5446/(5446 + sum).
        let sum: f64 = (1..50).map(|i| move_importance(2 * i)).sum();
        let expected = (58_740.0 * 5_446.0 / (5_446.0 + sum)).floor() + 20.0;
        assert_eq!(time_limits(60_000.0, 0.0, None).optimum_ms, expected);
        assert!((900.0..1_200.0).contains(&expected), "{expected}");
    }

    #[test]
    fn sudden_death_with_increment() {
        let plain = time_limits(60_000.0, 0.0, None);
        let with = time_limits(60_000.0, 1_000.0, None);
        assert!(with.optimum_ms > plain.optimum_ms + 500.0 && with.maximum_ms > plain.maximum_ms);
    }

    #[test]
    fn movestogo_zero_is_none_and_far_controls_are_cut() {
        assert_eq!(time_limits(60_000.0, 0.0, Some(0)), time_limits(60_000.0, 0.0, None));
        assert_eq!(time_limits(60_000.0, 0.0, Some(500)), time_limits(60_000.0, 0.0, Some(50)));
    }

    #[test]
    fn pondering_adds_a_quarter() {
        let input = TimeLimitsInput { time_ms: 60_000.0, ponder_enabled: true, ..TimeLimitsInput::default() };
        let with = StockfishParams::default().time_limits(&input);
        assert_eq!(with.optimum_ms, time_limits(60_000.0, 0.0, None).optimum_ms * 1.25);
        let last = TimeLimitsInput { movestogo: Some(1), ..input };
        assert_eq!(
            StockfishParams::default().time_limits(&last).optimum_ms,
            59_930.0,
            "never above the maximum"
        );
    }

    #[test]
    fn an_empty_clock_gives_nothing() {
        assert_eq!(time_limits(0.0, 0.0, None), TimeLimits { optimum_ms: 0.0, maximum_ms: 0.0 });
        assert_eq!(time_limits(5.0, 0.0, None), TimeLimits { optimum_ms: 5.0, maximum_ms: 5.0 });
    }

    proptest! {
        #[test]
        fn within_the_clock_and_monotone_in_time(
            time_ms in 0.0..1e9, more_ms in 0.0..1e8, inc_ms in 0.0..1e6, game_ply in 0u32..2000,
            movestogo in proptest::option::of(0u32..200), ponder_enabled: bool,
        ) {
            let input = TimeLimitsInput { time_ms, inc_ms, movestogo, game_ply, ponder_enabled };
            let params = StockfishParams::default();
            let less = params.time_limits(&input);
            let more = params.time_limits(&TimeLimitsInput { time_ms: time_ms + more_ms, ..input });
            prop_assert!(0.0 <= less.optimum_ms && less.optimum_ms <= less.maximum_ms);
            prop_assert!(less.maximum_ms <= time_ms);
            prop_assert!(more.optimum_ms >= less.optimum_ms && more.maximum_ms >= less.maximum_ms);
        }
    }
}
