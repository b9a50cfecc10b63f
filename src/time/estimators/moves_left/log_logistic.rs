//! Moves left from the move number alone: game lengths follow a log-logistic distribution.

use crate::options::option_group;
use crate::time::parameters::Named;
use crate::time::units::GamePly;

use super::{Estimate, MovesLeftEstimate, MovesLeftInput};

option_group! {
    /// The conditional median of a log-logistic game length (Lc0's `mle-legacy`).
    #[derive(Copy)]
    pub struct LogLogistic {
        /// Median length of games, in full moves.
        midpoint: f64 = LogLogistic::MIDPOINT, lc0 45.2, in 1.0..=1000.0, "midpoint";
        /// Steepness of the distribution of game lengths around its median.
        steepness: f64 = LogLogistic::STEEPNESS, lc0 5.93, in 0.5..=100.0, "steepness";
    }
}

impl LogLogistic {
    /// The median length of games in Lc0's legacy manager, full moves.
    pub(crate) const MIDPOINT: f64 = 51.5;
    /// The steepness in Lc0's legacy manager.
    pub(crate) const STEEPNESS: f64 = 7.0;

    /// Returns the median number of full moves still to come after `ply` plies: m·(1 + 2·(k/m)^s)^(1/s) − k with
    /// k = ply/2. Always above 0.
    pub(crate) fn moves_left(&self, ply: GamePly) -> f64 {
        let LogLogistic { midpoint, steepness } = *self;
        let played = ply.as_f64() / 2.0;
        let ratio = played / midpoint;
        let power = ratio.powf(steepness);
        if power.is_infinite() {
            // Far beyond the midpoint the 1 no longer matters.
            return played * (2f64.powf(1.0 / steepness) - 1.0);
        }
        midpoint * (1.0 + 2.0 * power).powf(1.0 / steepness) - played
    }
}

impl Named for LogLogistic {
    const NAME: &'static str = "mle-legacy";
    const SUMMARY: &'static str = "The median of the remaining moves if game lengths are log-logistic: m·(1 + 2(k/m)^s)^(1/s) − k with k = ply/2.";
    type Params = LogLogistic;

    fn new(params: LogLogistic) -> Self {
        params
    }
}

impl Estimate for LogLogistic {
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        MovesLeftEstimate { moves: self.moves_left(input.game_ply), source: Self::NAME }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let curve = LogLogistic::default();
        assert_eq!(curve.moves_left(GamePly(0)), 51.5);
        // Move 51.5: 51.5·(1 + 2)^(1/7) − 51.5 = 51.5·(1.169931 − 1) = 8.7514
        assert!((curve.moves_left(GamePly(103)) - 8.7514).abs() < 1e-3);
        // Move 40: (40/51.5)^7 = 0.170645; 51.5·1.341290^(1/7) − 40 = 51.5·1.042844 − 40 = 13.7065
        assert!((curve.moves_left(GamePly(80)) - 13.7065).abs() < 1e-2);
    }

    proptest! {
        #[test]
        fn positive_and_finite(ply in 0u32..100_000, midpoint in 1.0..300.0, steepness in 0.5..50.0) {
            let left = LogLogistic { midpoint, steepness }.moves_left(GamePly(ply));
            prop_assert!(left.is_finite() && left > 0.0);
            prop_assert!(left <= midpoint.max(f64::from(ply)) * 4.0);
        }
    }
}
