//! Exponential decay, by which all running averages here follow what is observed.

/// Moves `from` towards `to`: `to − (to − from)·2^(−x/step)` (TIME.md and Lc0's PR 1195).
///
/// `x = 0` gives `from`, `x = step` the middle, `x = 2·step` three quarters of the way. `x` and `step` have the
/// same unit. A `step` of 0 forgets at once; a negative `x` counts as 0.
pub fn decay(from: f64, to: f64, step: f64, x: f64) -> f64 {
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
