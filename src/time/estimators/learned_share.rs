//! A share between 0 and 1 that is learned from move to move: tree reuse, timeuse, the best move's visits.

use super::decay::decay;

/// A running average by exponential decay, held within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedShare {
    value: f64,
    step: f64,
    min: f64,
    max: f64,
}

impl LearnedShare {
    /// Starts at `initial`; `step` average moves take it halfway to what is observed. Stays in `min..=max`.
    pub fn new(initial: f64, step: f64, min: f64, max: f64) -> Self {
        let max = max.max(min);
        LearnedShare { value: initial.clamp(min, max), step, min, max }
    }

    /// Returns the present estimate of the share.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Takes in one observation. `weight` is the move's time as a multiple of the average move time: insta-moves
    /// hardly count, long thinks count more. Observations beyond 1 count as 1.
    pub fn learn(&mut self, observed: f64, weight: f64) {
        if observed.is_finite() && weight.is_finite() {
            let next = decay(self.value, observed.clamp(0.0, 1.0), self.step, weight);
            self.value = next.clamp(self.min, self.max);
        }
    }
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
        assert!((reuse.value() - 0.436_359).abs() < 1e-6);
        // Four average moves take it halfway to 0.8: 0.618179
        reuse.learn(0.8, 4.0);
        assert!((reuse.value() - 0.618_179).abs() < 1e-6);
        reuse.learn(1.0, 100.0);
        assert_eq!(reuse.value(), 0.7, "held at its maximum");
    }

    #[test]
    fn insta_moves_hardly_count() {
        let mut reuse = LearnedShare::new(0.5, 4.0, 0.0, 0.7);
        (0..10).for_each(|_| reuse.learn(0.0, 0.001));
        // 0.5·2^(−0.01/4)
        assert!((reuse.value() - 0.499_134).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn stays_in_bounds(observed in proptest::num::f64::ANY, weight in proptest::num::f64::ANY) {
            let mut share = LearnedShare::new(0.5, 3.0, 0.3, 0.9);
            share.learn(observed, weight);
            prop_assert!((0.3..=0.9).contains(&share.value()));
        }
    }
}
