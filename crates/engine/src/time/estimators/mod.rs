//! Formulas and running averages of managers.

pub mod moves_left;
mod nps;

pub use moves_left::LogLogistic;
pub(crate) use moves_left::{MovesLeftEstimate, MovesLeftEstimator, MovesLeftInput};
pub(crate) use nps::{NpsEstimator, NpsRule};

/// A share learned from move to move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LearnedShare {
    pub(crate) value: f64,
    step: f64,
    min: f64,
    max: f64,
}

impl LearnedShare {
    /// `step` average moves take it halfway to what is observed.
    pub(crate) fn new(initial: f64, step: f64, min: f64, max: f64) -> Self {
        let max = max.max(min);
        LearnedShare {
            value: initial.clamp(min, max),
            step,
            min,
            max,
        }
    }

    /// `weight` is the move's time as a multiple of the average.
    pub(crate) fn learn(&mut self, observed: f64, weight: f64) {
        if observed.is_finite() && weight.is_finite() {
            let next = decay(self.value, observed.clamp(0.0, 1.0), self.step, weight);
            self.value = next.clamp(self.min, self.max);
        }
    }
}

/// Moves `from` towards `to`: `to − (to − from)·2^(−x/step)` (Lc0's PR 1195).
///
/// A `step` of 0 forgets at once, a negative `x` counts as 0.
pub(crate) fn decay(from: f64, to: f64, step: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return from;
    }
    if step <= 0.0 {
        return to;
    }
    to - (to - from) * (-x / step).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_average_move_moves_it_by_the_rate() {
        let mut reuse = LearnedShare::new(0.5, 4.0, 0.0, 0.7);
        // One average move: 0.1 − (0.1 − 0.5)·2^(−1/4) = 0.1 + 0.4·0.840896 = 0.436359
        reuse.learn(0.1, 1.0);
        assert!((reuse.value - 0.436_359).abs() < 1e-6);
        // Four average moves take it halfway to 0.8: 0.618179
        reuse.learn(0.8, 4.0);
        assert!((reuse.value - 0.618_179).abs() < 1e-6);
        reuse.learn(1.0, 100.0);
        assert_eq!(reuse.value, 0.7, "held at its maximum");
    }

    proptest! {
        #[test]
        fn stays_in_bounds(observed in proptest::num::f64::ANY, weight in proptest::num::f64::ANY) {
            let mut share = LearnedShare::new(0.5, 3.0, 0.3, 0.9);
            share.learn(observed, weight);
            prop_assert!((0.3..=0.9).contains(&share.value));
        }
    }

    #[test]
    fn half_way_after_a_step_three_quarters_after_two() {
        assert_eq!(decay(10.0, 20.0, 4.0, 0.0), 10.0);
        assert_eq!(decay(10.0, 20.0, 4.0, 4.0), 15.0);
        assert_eq!(decay(10.0, 20.0, 4.0, 8.0), 17.5);
        assert_eq!(decay(10.0, 20.0, 4.0, 12.0), 18.75);
        assert_eq!(decay(10.0, 20.0, 0.0, 1.0), 20.0);
    }

    proptest! {
        #[test]
        fn stays_between_its_ends(
            from in -1e6..1e6, to in -1e6..1e6, step in 0.0..100.0, x in -10.0..1e4,
        ) {
            let value = decay(from, to, step, x);
            let tolerance = 1e-6;
            prop_assert!(value >= from.min(to) - tolerance && value <= from.max(to) + tolerance);
        }

        #[test]
        fn two_steps_equal_one_of_their_sum(from in -10.0..10.0, to in -10.0..10.0, a in 0.0..9.0, b in 0.0..9.0) {
            let twice = decay(decay(from, to, 3.0, a), to, 3.0, b);
            prop_assert!((twice - decay(from, to, 3.0, a + b)).abs() < 1e-9);
        }
    }
}
