//! Elo differences with their errors, from pairs.

use super::tally::ResultTally;

/// 95 % of a normal distribution lie within this many standard deviations of its mean.
pub(super) const Z_95: f64 = 1.959_963_984_540_054;
/// Normalized Elo of one standard deviation per game: 800 / ln 10.
pub(super) const NELO_PER_SIGMA: f64 = 347.435_585_522_601_3;
/// The logarithm of the odds that an Elo of 1 is: ln 10 / 400.
pub(super) const NATURAL_PER_ELO: f64 = std::f64::consts::LN_10 / 400.0;

/// The difference in strength by which A leads, with errors of 95 %.
///
/// Elo is that of the logistic curve. Normalized Elo measures the mean in standard deviations of a game, so that it says how
/// many games are needed to prove a difference (M. Van den Bergh, "Normalized Elo", 2021).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elo {
    /// Points per game.
    pub score: f64,
    /// Standard error of the score.
    pub score_error: f64,
    /// Elo; infinite if all games were won or lost.
    pub elo: f64,
    /// Half the length of its interval.
    pub elo_error: f64,
    /// Normalized Elo; not a number where all pairs ended alike.
    pub nelo: f64,
    /// Half the length of its interval.
    pub nelo_error: f64,
    /// Likelihood of superiority, `0..=1`: how likely such a result is if A is the stronger one.
    pub los: f64,
}

impl Elo {
    /// Computes the difference that pairs show; `None` without pairs.
    pub fn of(tally: &ResultTally) -> Option<Elo> {
        let (score, variance) = tally.pair_moments()?;
        let pairs = tally.pair_count() as f64;
        let error = (variance / pairs).sqrt();
        let [low, high] = [-1.0, 1.0].map(|sign| elo_of_score(score + sign * Z_95 * error));
        // A pair has two games: the variance of a game is twice that of their mean.
        let sigma = (2.0 * variance).sqrt();
        Some(Elo {
            score,
            score_error: error,
            elo: elo_of_score(score),
            elo_error: (high - low) / 2.0,
            nelo: (score - 0.5) / sigma * NELO_PER_SIGMA,
            nelo_error: Z_95 * error / sigma * NELO_PER_SIGMA,
            los: if error > 0.0 { normal_cdf((score - 0.5) / error) } else { los_of_certain(score) },
        })
    }
}

fn los_of_certain(score: f64) -> f64 {
    if score > 0.5 {
        1.0
    } else if score < 0.5 {
        0.0
    } else {
        0.5
    }
}

/// Returns the Elo difference of points per game; infinite at 0 and 1 and beyond.
fn elo_of_score(score: f64) -> f64 {
    let score = score.clamp(0.0, 1.0);
    400.0 * (score / (1.0 - score)).log10()
}

/// Returns the points per game of an Elo difference.
pub(super) fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elo(pairs: [u64; 5]) -> Elo {
        Elo::of(&ResultTally { pairs, ..ResultTally::default() }).unwrap()
    }

    fn near(value: f64, expected: f64, tolerance: f64) -> bool {
        (value - expected).abs() < tolerance
    }

    /// fastchess publishes these in its tests of the pentanomial model, to 1 %.
    #[test]
    fn as_fastchess_has_it() {
        for (pairs, expected_elo, elo_error, nelo, nelo_error, los) in [
            ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 57.94, 28.28, 1.0),
            ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, -9.17, 10.96, 0.0505),
            ([7895, 8757, 5485 + 200, 568, 9999], -21.04, 2.95, -19.01, 2.65, 0.0),
        ] {
            let found = elo(pairs);
            assert!(near(found.elo, expected_elo, 0.02), "{found:?}");
            assert!(near(found.elo_error, elo_error, 0.02), "{found:?}");
            assert!(near(found.nelo, nelo, 0.02), "{found:?}");
            assert!(near(found.nelo_error, nelo_error, 0.02), "{found:?}");
            assert!(near(found.los, los, 1e-4), "{found:?}");
        }
    }

    /// Two pairs of 1 point, one of 1.5: mean 7/12, variance 1/72, by hand.
    #[test]
    fn worked_by_hand() {
        let found = elo([0, 0, 2, 1, 0]);
        assert!(near(found.score, 7.0 / 12.0, 1e-12));
        assert!(near(found.score_error, (1.0f64 / 72.0 / 3.0).sqrt(), 1e-12));
        // −400 log10(5/7)
        assert!(near(found.elo, 58.451, 1e-3));
        // (1/12) / (1/6) standard deviations
        assert!(near(found.nelo, 173.718, 1e-3));
    }

    #[test]
    fn certain_results_are_infinite_and_equal_ones_nothing() {
        assert_eq!(Elo::of(&ResultTally::default()), None);
        let all_won = elo([0, 0, 0, 0, 9]);
        assert_eq!((all_won.elo, all_won.los), (f64::INFINITY, 1.0));
        let all_drawn = elo([0, 0, 9, 0, 0]);
        assert_eq!((all_drawn.elo, all_drawn.elo_error, all_drawn.los), (0.0, 0.0, 0.5));
        assert!(all_drawn.nelo.is_nan());
    }
}
