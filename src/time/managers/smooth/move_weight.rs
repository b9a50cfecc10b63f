//! The weight of a move: the amount by which it can still change the result.
//!
//! If strength grows with the logarithm of the nodes, a clock T is used best by giving each move of weight w the time
//! T·w/(w + weights of the moves ahead). A plan needs the average weight of the moves ahead relative to this one.

use crate::time::centipawns::centipawns;
use crate::time::facts::RootEvaluation;

use super::params::{MoveWeight, PlannedMoves, SmoothParams};

impl SmoothParams {
    /// Returns the average weight of the moves ahead, those of `planned`, relative to the move to be made; 1 where nothing is
    /// known of the result. `root` is its evaluation.
    pub(super) fn future_weight(&self, root: Option<RootEvaluation>, planned: &PlannedMoves) -> f64 {
        let Some(root) = root else { return 1.0 };
        match self.move_weight {
            MoveWeight::Even => 1.0,
            MoveWeight::Stakes => stakes_ahead(root, planned.share_of_game),
            MoveWeight::Open => self.open_weight_ahead(root, planned),
        }
    }

    /// Returns the average weight ahead where a move weighs as much as the chance that the game is still open then, mixed with
    /// `open-floor` of an even weight.
    ///
    /// The chance falls along a power of the part of the game that is over, from that of this move to 0 at the end. Its sum
    /// over the rest of the game is what was fitted: `open-moves` and `open-share` of the moves left.
    fn open_weight_ahead(&self, root: RootEvaluation, planned: &PlannedMoves) -> f64 {
        let part = planned.share_of_game;
        let moves_left = planned.estimate.moves / part;
        let open_moves = self.open_moves + self.open_share * moves_left;
        let of_game = (open_moves / (moves_left - 1.0).max(1.0)).clamp(LEAST_OPEN_SHARE, 1.0);
        // The mean of (1 − x)^(1/of_game − 1) for x from 0 to `part`.
        let mean = of_game * (1.0 - (1.0 - part).powf(1.0 / of_game)) / part;
        let weight = |chance: f64| self.open_floor + (1.0 - self.open_floor) * chance;
        let now = open_chance(root.q, moves_left);
        weight(now * mean) / weight(now)
    }
}

/// Least mean chance over the rest of a game, which keeps the power finite.
const LEAST_OPEN_SHARE: f64 = 0.01;

/// Returns the chance that a game is open: that it is not yet beyond 150 centipawns for good. `moves_left` are full moves to its
/// end. A logistic regression on the games that docs/time-management.md names.
fn open_chance(q: f64, moves_left: f64) -> f64 {
    const AT_150_CENTIPAWNS: f64 = 1.57;
    const BY_LOG_SCORE: f64 = -1.98;
    const BY_LOG_MOVES: f64 = 0.66;
    let score = centipawns(q.abs().min(1.0)).max(1.0) / 150.0;
    let log_odds = AT_150_CENTIPAWNS + BY_LOG_SCORE * score.ln() + BY_LOG_MOVES * (moves_left / 20.0).ln();
    1.0 / (1.0 + (-log_odds).exp())
}

/// Returns the average weight ahead where a move weighs as much as is at stake, `0.5..=1`; 1 for networks without draws.
///
/// Where the expected result is q, better play gains in proportion to 1 − q² (q as a logistic function of an advantage
/// has that derivative). The expected result wanders without a drift, so that the mean of q² rises evenly from q² now to that of
/// the final results, 1 − d for the probability d of a draw: the mean weight falls from 1 − q² to d.
///
/// `part` is the part of the rest of the game that is planned for: less than 1 where a time control comes before its end.
fn stakes_ahead(root: RootEvaluation, part: f64) -> f64 {
    let RootEvaluation { q, d: Some(d), .. } = root else { return 1.0 };
    let now = 1.0 - q * q;
    // d ≤ 1 − |q| ≤ 1 − q², but for rounding.
    let end = if now > 0.0 { (d / now).clamp(0.0, 1.0) } else { 1.0 };
    1.0 - (1.0 - end) * part / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::estimators::MovesLeftEstimate;
    use proptest::prelude::*;

    fn root(q: f64, d: f64) -> RootEvaluation {
        RootEvaluation { q, d: Some(d), ..RootEvaluation::default() }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn draws_keep_what_is_at_stake() {
        let weight = |q, d, part| stakes_ahead(root(q, d), part);
        // No draws: the weights ahead fall to 0, half on average; only draws: they stay.
        assert!(close(weight(0.0, 0.0, 1.0), 0.5));
        assert!(close(weight(0.0, 1.0, 1.0), 1.0));
        // q 0.6, 20 % draws: from 0.64 to 0.2, the mean 0.42 is 0.65625 of 0.64.
        assert!(close(weight(0.6, 0.2, 1.0), 0.656_25));
        // Over the first half of the way: from 0.64 to 0.42, the mean 0.53.
        assert!(close(weight(0.6, 0.2, 0.5), 0.53 / 0.64));
    }

    #[test]
    fn certain_and_unknown_results() {
        assert_eq!(stakes_ahead(root(1.0, 0.0), 1.0), 1.0);
        assert_eq!(stakes_ahead(root(-0.5, 0.9), 1.0), 1.0, "rounded figures");
        assert_eq!(stakes_ahead(RootEvaluation::default(), 1.0), 1.0, "a network without draws");
        for move_weight in [MoveWeight::Even, MoveWeight::Stakes, MoveWeight::Open] {
            let params = SmoothParams { move_weight, ..SmoothParams::default() };
            assert_eq!(params.future_weight(None, &planned(30.0, 1.0)), 1.0);
        }
    }

    fn planned(moves: f64, share_of_game: f64) -> PlannedMoves {
        PlannedMoves { estimate: MovesLeftEstimate { moves, source: "" }, share_of_game }
    }

    fn open(open_moves: f64, open_share: f64, open_floor: f64) -> SmoothParams {
        let move_weight = MoveWeight::Open;
        SmoothParams { move_weight, open_moves, open_share, open_floor, ..SmoothParams::default() }
    }

    #[test]
    fn games_are_open_for_a_part_of_their_moves() {
        let params = open(5.6, 0.4, 0.0);
        let weight = |q, moves, part| params.future_weight(Some(root(q, 0.3)), &planned(moves * part, part));
        // 5.6 + 0.4·35 = 19.6 moves of 34, whatever the evaluation.
        assert!(close(weight(0.0, 35.0, 1.0), 19.6 / 34.0));
        assert!(close(weight(0.9, 35.0, 1.0), 19.6 / 34.0));
        // 5.6 + 0.4·61 = 30 of 60, a half: the chance falls evenly, and is 3/4 over the first half of the way.
        assert!(close(weight(0.0, 61.0, 0.5), 0.75));
        assert_eq!(weight(0.0, 6.0, 1.0), 1.0, "a short rest is divided evenly");
        assert_eq!(weight(0.0, 1.0, 1.0), 1.0);
    }

    #[test]
    fn the_floor_keeps_time_for_decided_games() {
        // 21 moves, of which 10 of 20 are open: with a chance of p now, (0.1 + 0.9·p/2)/(0.1 + 0.9·p).
        let params = open(1.6, 0.4, 0.1);
        let weight = |q| params.future_weight(Some(root(q, 0.0)), &planned(21.0, 1.0));
        // At 150 centipawns log odds of 1.57 + 0.66·ln(21/20), p = 0.832326.
        let q = crate::time::centipawns::expected_result(150.0);
        assert!(close(open_chance(q, 21.0), 0.832_326), "{}", open_chance(q, 21.0));
        assert!(close(weight(-q), 0.558_886), "{}", weight(-q));
        assert!(weight(0.0) < 0.56 && weight(0.9) > 0.6 && weight(1.0) > 0.99);
    }

    proptest! {
        #[test]
        fn weights_ahead_are_positive_and_not_above_one(
            q in -1.0..=1.0, d in 0.0..=1.0, moves in 1.0..=1000.0, part in 0.001..=1.0,
            open_moves in 0.0..=1000.0, open_share in 0.0..=1.0, open_floor in 0.0..=1.0,
        ) {
            let params = open(open_moves, open_share, open_floor);
            let weight = params.future_weight(Some(root(q, d)), &planned(moves, part));
            prop_assert!(weight > 0.0 && weight <= 1.0 + 1e-9, "{}", weight);
        }
    }
}
