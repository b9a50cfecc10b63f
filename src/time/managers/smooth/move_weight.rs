//! The weight of a move: the amount by which it can still change the result.
//!
//! If strength grows with the logarithm of the nodes, a clock T is used best by giving each move of weight w the time
//! T·w/(w + weights of the moves ahead). A plan needs the average weight of the moves ahead relative to this one.

use crate::time::facts::RootEvaluation;

use super::params::{MoveWeight, SmoothParams};

impl SmoothParams {
    /// Returns the average weight of the moves ahead relative to the move to be made, whose evaluation is `root`; 1 where nothing is
    /// known of the result. `part` is as in [`stakes_ahead`].
    pub(super) fn future_weight(&self, root: Option<RootEvaluation>, part: f64) -> f64 {
        let Some(root) = root else { return 1.0 };
        match self.move_weight {
            MoveWeight::Even => 1.0,
            MoveWeight::Stakes => stakes_ahead(root, part),
        }
    }
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
    }

    proptest! {
        #[test]
        fn weights_ahead_are_positive_and_not_above_one(q in -1.0..=1.0, d in 0.0..=1.0, part in 0.001..=1.0) {
            let weight = stakes_ahead(root(q, d), part);
            prop_assert!(weight > 0.0 && weight <= 1.0 + 1e-9, "{}", weight);
        }
    }
}
