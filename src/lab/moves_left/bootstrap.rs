//! Confidence intervals by games: positions of one game are not independent.
//!
//! A Poisson bootstrap: in each of many replicates every game counts k times, k drawn from a Poisson distribution of mean 1 by the game's number.
//! Nothing has to be kept of the games, and the draws are the same on every machine.

use serde::Serialize;

use super::mix;

/// Replicates.
const REPLICATES: usize = 400;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Not known.
    pub(super) const NONE: Interval = Interval { low: f64::NAN, high: f64::NAN };

    /// From the 2.5 % to the 97.5 % point of replicates.
    fn of(mut values: Vec<f64>) -> Interval {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get((share * values.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        Interval { low: at(0.025), high: at(0.975) }
    }
}

/// How often each game counts in each replicate.
#[derive(Debug)]
pub(super) struct BootstrapWeights(Vec<f64>);

impl BootstrapWeights {
    pub(super) fn of(game: u64) -> BootstrapWeights {
        let mut random = fastrand::Rng::with_seed(mix(game));
        BootstrapWeights((0..REPLICATES).map(|_| poisson(random.f64())).collect())
    }
}

/// A draw from the Poisson distribution of mean 1 by its distribution function.
fn poisson(uniform: f64) -> f64 {
    let (mut k, mut probability) = (0.0, (-1.0f64).exp());
    let mut sum = probability;
    while uniform > sum && k < 12.0 {
        k += 1.0;
        probability /= k;
        sum += probability;
    }
    k
}

/// A sum over positions in each replicate.
#[derive(Clone, Debug)]
pub(super) struct Replicates(Vec<f64>);

impl Default for Replicates {
    fn default() -> Self {
        Replicates(vec![0.0; REPLICATES])
    }
}

impl Replicates {
    /// Adds a game's sum.
    pub(super) fn add(&mut self, weights: &BootstrapWeights, sum: f64) {
        for (replicate, weight) in self.0.iter_mut().zip(&weights.0) {
            *replicate += weight * sum;
        }
    }

    /// The interval of `statistic(this, other)`.
    pub(super) fn interval(&self, other: &Replicates, statistic: impl Fn(f64, f64) -> f64) -> Interval {
        Interval::of(self.0.iter().zip(&other.0).map(|(&a, &b)| statistic(a, b)).collect())
    }

    /// The interval of the difference of two means, this and another one, each a sum and a count.
    pub(super) fn difference(&self, count: &Replicates, other: (&Replicates, &Replicates)) -> Interval {
        let means = self.0.iter().zip(&count.0).map(|(sum, count)| sum / count);
        let others = other.0.0.iter().zip(&other.1.0).map(|(sum, count)| sum / count);
        Interval::of(means.zip(others).map(|(a, b)| a - b).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_a_mean_have_the_width_that_theory_says() {
        // 2,000 games of one position each, half 0 and half 10: deviation 5, standard error 5/√2000 = 0.112.
        let (mut sums, mut counts) = (Replicates::default(), Replicates::default());
        for game in 0..2000 {
            let weights = BootstrapWeights::of(game);
            sums.add(&weights, if game % 2 == 0 { 0.0 } else { 10.0 });
            counts.add(&weights, 1.0);
        }
        let interval = sums.interval(&counts, |sum, count| sum / count);
        let width = (interval.high - interval.low) / (2.0 * 1.96 * 0.112);
        assert!((0.85..1.15).contains(&width), "{interval:?}");
        assert!(interval.low < 5.0 && interval.high > 5.0);
        let difference = sums.difference(&counts, (&sums, &counts));
        assert_eq!((difference.low, difference.high), (0.0, 0.0));
    }

    #[test]
    fn weights_have_mean_and_variance_one_and_never_change() {
        let draws: Vec<f64> = (0..200).flat_map(|game| BootstrapWeights::of(game).0).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        assert_eq!(BootstrapWeights::of(7).0, BootstrapWeights::of(7).0);
    }
}
