//! The sequential probability ratio test on pairs: ends a match as soon as it has proven enough.
//!
//! The generalised test (GSPRT): the log-likelihood ratio of the two hypotheses, each with the pentanomial that fits the pairs
//! best and has the hypothesis's strength (M. Van den Bergh, "Comments on normalized Elo", 2021).

use thiserror::Error;

use super::elo::{NELO_PER_SIGMA, score_of_elo};
use super::tally::{PAIR_SCORES, ResultTally};
use crate::params::{ParamError, Params};

/// A count of 0 is replaced by this: what has not been seen is not impossible.
const UNSEEN: f64 = 1e-3;
/// Rounds of the fixed-point iteration for a given strength in standard deviations; a few are enough.
const ROUNDS: usize = 20;

/// The scale of the hypotheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EloModel {
    /// Normalized Elo.
    Normalized,
    /// Elo of the logistic curve.
    Logistic,
}

/// A test of H0, "A is stronger by `elo0`", against H1, "A is stronger by `elo1`".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    /// The strength of the hypothesis H0, Elo.
    pub elo0: f64,
    /// The strength of the hypothesis H1, Elo; larger than `elo0`.
    pub elo1: f64,
    /// Probability of accepting `elo1` where `elo0` is true.
    pub alpha: f64,
    /// Probability of accepting `elo0` where `elo1` is true.
    pub beta: f64,
    /// The scale of the hypotheses.
    pub model: EloModel,
}

/// The reason why a test was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SprtError {
    /// A parameter is unknown or out of range.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// `elo1` is not larger than `elo0`.
    #[error("elo1 must be larger than elo0, as in elo0=0,elo1=5")]
    Order,
}

/// The state of a test after some pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SprtState {
    /// Log-likelihood ratio of `elo1` to `elo0`.
    pub llr: f64,
    /// Below this `elo0` is accepted.
    pub lower: f64,
    /// Above this `elo1` is accepted.
    pub upper: f64,
}

/// The decision of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprtVerdict {
    /// H0 is accepted.
    H0,
    /// H1 is accepted.
    H1,
    /// Neither is accepted yet.
    Undecided,
}

impl Sprt {
    /// Reads `elo0=…,elo1=…[,alpha=.05][,beta=.05][,model=normalized|logistic]`.
    ///
    /// # Errors
    /// [`SprtError`] if a parameter is unknown or out of range, or `elo1` is not above `elo0`.
    pub fn parse(text: &str) -> Result<Sprt, SprtError> {
        let params = Params::parse(text)?;
        params.allow_only("sprt", &["elo0", "elo1", "alpha", "beta", "model"], &[])?;
        let model = match params.choice("model", "normalized", &["normalized", "logistic"])? {
            "logistic" => EloModel::Logistic,
            _ => EloModel::Normalized,
        };
        let sprt = Sprt {
            elo0: params.number("elo0", 0.0, -1000.0..=1000.0)?,
            elo1: params.number("elo1", 5.0, -1000.0..=1000.0)?,
            alpha: params.number("alpha", 0.05, 1e-6..=0.5)?,
            beta: params.number("beta", 0.05, 1e-6..=0.5)?,
            model,
        };
        if sprt.elo1 > sprt.elo0 { Ok(sprt) } else { Err(SprtError::Order) }
    }

    /// Returns the state of the test after these pairs.
    pub fn state(&self, tally: &ResultTally) -> SprtState {
        SprtState {
            llr: self.llr(tally),
            lower: (self.beta / (1.0 - self.alpha)).ln(),
            upper: ((1.0 - self.beta) / self.alpha).ln(),
        }
    }

    fn llr(&self, tally: &ResultTally) -> f64 {
        if tally.pair_count() == 0 {
            return 0.0;
        }
        let counts = tally.pairs.map(|n| if n == 0 { UNSEEN } else { n as f64 });
        let total: f64 = counts.iter().sum();
        let seen = counts.map(|n| n / total);
        let fit = |elo: f64| match self.model {
            EloModel::Logistic => fit_mean(&seen, score_of_elo(elo)),
            // A pair's mean scatters √2 less than a game.
            EloModel::Normalized => fit_strength(&seen, std::f64::consts::SQRT_2 * elo / NELO_PER_SIGMA),
        };
        let (fit0, fit1) = (fit(self.elo0), fit(self.elo1));
        let ratios = seen.iter().zip(fit0.iter().zip(&fit1)).map(|(p, (p0, p1))| p * (p1 / p0).ln());
        total * ratios.sum::<f64>()
    }
}

impl SprtState {
    /// Returns which hypothesis is accepted, if one is.
    pub fn verdict(&self) -> SprtVerdict {
        if self.llr >= self.upper {
            SprtVerdict::H1
        } else if self.llr <= self.lower {
            SprtVerdict::H0
        } else {
            SprtVerdict::Undecided
        }
    }
}

/// Returns the distribution with mean `mean` under which `seen` is likeliest.
fn fit_mean(seen: &[f64; 5], mean: f64) -> [f64; 5] {
    tilt(seen, &PAIR_SCORES.map(|score| score - mean))
}

/// Returns the distribution whose mean lies `strength` standard deviations above ½ under which `seen` is likeliest. The condition is
/// linear but for mean and deviation of the distribution itself, which are taken from the round before.
fn fit_strength(seen: &[f64; 5], strength: f64) -> [f64; 5] {
    let mut fitted = [0.2; 5];
    for _ in 0..ROUNDS {
        let expected = |value: [f64; 5]| value.iter().zip(&fitted).map(|(x, p)| x * p).sum::<f64>();
        let mean = expected(PAIR_SCORES);
        let sigma = expected(PAIR_SCORES.map(|score| (score - mean).powi(2))).sqrt();
        let condition = PAIR_SCORES
            .map(|score| score - 0.5 - strength * sigma * (1.0 + ((mean - score) / sigma).powi(2)) / 2.0);
        fitted = tilt(seen, &condition);
    }
    fitted
}

/// Returns the distribution under which `seen` is likeliest among those in which `condition` has mean 0: `pᵢ / (1 + θ cᵢ)`, with the
/// θ that makes the mean 0.
fn tilt(seen: &[f64; 5], condition: &[f64; 5]) -> [f64; 5] {
    let (min, max) = condition.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &c| (lo.min(c), hi.max(c)));
    if min >= 0.0 || max <= 0.0 {
        // No distribution can have it; the one that was seen is as good as any.
        return *seen;
    }
    let weighted = |theta: f64| seen.iter().zip(condition).map(move |(p, c)| p * c / (1.0 + theta * c));
    // The mean falls as θ grows, from +∞ to −∞ between the poles.
    let (mut low, mut high) = (-1.0 / max, -1.0 / min);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if weighted(middle).sum::<f64>() > 0.0 { low = middle } else { high = middle }
    }
    let theta = (low + high) / 2.0;
    std::array::from_fn(|i| seen[i] / (1.0 + theta * condition[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn llr(text: &str, pairs: [u64; 5]) -> f64 {
        Sprt::parse(text).unwrap().state(&ResultTally { pairs, ..ResultTally::default() }).llr
    }

    /// fastchess publishes these in its tests of the pentanomial test, to 1 %.
    #[test]
    fn as_fastchess_has_it() {
        for (text, pairs, expected) in [
            ("elo0=0,elo1=2", [365, 16618, 36029 + 200, 16974, 390], 2.25),
            ("elo0=-1.75,elo1=0.25", [127, 4883, 10311 + 401, 5150, 104], 3.01),
            ("elo0=0.5,elo1=2.5,model=logistic", [223, 9863, 20279 + 1000, 10037, 246], -3.07),
            ("elo0=0,elo1=2,model=logistic", [871, 26175, 55003 + 980, 26678, 821], -4.98),
        ] {
            let found = llr(text, pairs);
            assert!((found - expected).abs() < 0.01 * expected.abs() + 0.005, "{text}: {found}");
        }
    }

    /// If all pairs were won, a distribution of strength t has only wins and losses of both games, `(1 + u) / 2` of them
    /// wins with `u = t / √(1 + t²)`: t = √2 · 5 / 347.44 gives 104 · ln(1 + u) = 2.0954.
    #[test]
    fn worked_by_hand() {
        let found = llr("elo0=0,elo1=5", [0, 0, 0, 0, 104]);
        assert!((found - 2.0954).abs() < 1e-3, "{found}");
    }

    #[test]
    fn bounds_and_verdicts() {
        let sprt = Sprt::parse("elo0=0,elo1=10,alpha=0.05,beta=0.1").unwrap();
        let state = |pairs| sprt.state(&ResultTally { pairs, ..ResultTally::default() });
        // ln(0.1 / 0.95), ln(0.9 / 0.05)
        let nothing = state([0; 5]);
        assert!((nothing.lower + 2.2513).abs() < 1e-4 && (nothing.upper - 2.8904).abs() < 1e-4);
        assert_eq!((nothing.llr, nothing.verdict()), (0.0, SprtVerdict::Undecided));
        assert_eq!(state([10, 200, 400, 300, 20]).verdict(), SprtVerdict::H1);
        assert_eq!(state([20, 300, 400, 200, 10]).verdict(), SprtVerdict::H0);
    }

    #[test]
    fn bad_tests_are_refused() {
        let fault = |text| Sprt::parse(text).unwrap_err().to_string();
        assert!(fault("elo0=5,elo1=5").contains("larger than elo0"));
        assert!(fault("elo2=5").contains("valid: elo0, elo1, alpha, beta, model"));
        assert!(fault("alpha=0.9").contains("from 0.000001 to 0.5"));
    }

    proptest! {
        #[test]
        fn fits_keep_what_they_are_fitted_to(
            counts in prop::array::uniform5(0u64..1000), elo in -50.0f64..50.0,
        ) {
            prop_assume!(counts.iter().sum::<u64>() > 0);
            let counts = counts.map(|n| (n as f64).max(UNSEEN));
            let total: f64 = counts.iter().sum();
            let seen = counts.map(|n| n / total);
            let moments = |p: [f64; 5]| {
                let mean: f64 = p.iter().zip(PAIR_SCORES).map(|(p, x)| p * x).sum();
                let var: f64 = p.iter().zip(PAIR_SCORES).map(|(p, x)| p * (x - mean).powi(2)).sum();
                (mean, var.sqrt())
            };
            let by_mean = fit_mean(&seen, score_of_elo(elo));
            prop_assert!((by_mean.iter().sum::<f64>() - 1.0).abs() < 1e-6);
            prop_assert!((moments(by_mean).0 - score_of_elo(elo)).abs() < 1e-6);
        }

        #[test]
        fn better_results_speak_for_the_better_hypothesis(counts in prop::array::uniform5(1u64..300)) {
            let [a, b, c, d, e] = counts;
            let better = [a, b, c, d, e + 5];
            prop_assert!(llr("elo0=0,elo1=5,model=logistic", better) > llr("elo0=0,elo1=5,model=logistic", counts));
        }
    }
}
