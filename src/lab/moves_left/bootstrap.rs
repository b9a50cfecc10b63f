//! Confidence intervals by events: neither positions of one game nor games of one event are independent.
//!
//! A Poisson bootstrap: in each of many replicates every event counts k times, k drawn from a Poisson distribution of mean 1.
//! Nothing has to be kept of the games, and the draws are the same on every machine. Where there are too few events, games
//! take their place.

use ndarray::{Array1, Zip};
use serde::Serialize;

use super::mix;
use super::rows::PositionRow;

/// The fewest units from which an interval comes: with fewer their scatter is not known.
pub(super) const FEWEST_UNITS: usize = 10;

/// The number of replicates.
const REPLICATES: usize = 400;

/// What counts as one observation: the unit that the bootstrap draws, and of which halves are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// All games of an event.
    Event,
    /// A game, where there are too few events.
    Game,
}

impl Unit {
    /// Returns the identity of the unit that a position belongs to.
    pub(super) fn of(self, row: &PositionRow) -> u64 {
        match self {
            Unit::Event => row.event,
            Unit::Game => row.game,
        }
    }

    /// Returns which half of the units a position belongs to, 0 or 1.
    pub(super) fn half(self, row: &PositionRow) -> usize {
        (mix(self.of(row)) & 1) as usize
    }

    /// Returns the name of several.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Unit::Event => "events",
            Unit::Game => "games",
        }
    }
}

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// An interval that is not known.
    pub(super) const NONE: Interval = Interval { low: f64::NAN, high: f64::NAN };

    /// Says whether there is one.
    pub(super) fn is_known(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Returns the interval from the 2.5 % to the 97.5 % point of a statistic's values in the replicates, shape `[REPLICATES]`.
    fn of(values: Array1<f64>) -> Interval {
        let mut values = values.to_vec();
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get((share * values.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        Interval { low: at(0.025), high: at(0.975) }
    }
}

/// The number of times that a unit counts in each replicate, shape `[REPLICATES]`.
#[derive(Debug)]
pub(super) struct BootstrapWeights(Array1<f64>);

impl BootstrapWeights {
    /// Draws the weights of the unit with this identity.
    pub(super) fn of(unit: u64) -> BootstrapWeights {
        let mut random = fastrand::Rng::with_seed(mix(unit));
        BootstrapWeights(Array1::from_shape_simple_fn(REPLICATES, || poisson(random.f64())))
    }
}

/// Draws from the Poisson distribution of mean 1 by inverting its distribution function at `uniform`.
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

/// A sum over positions in each replicate, shape `[REPLICATES]`.
#[derive(Clone, Debug)]
pub(super) struct Replicates(Array1<f64>);

/// The sums of a quantity and of its positions, from which comes its mean in each replicate.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicatedMean<'a> {
    pub(super) sum: &'a Replicates,
    pub(super) count: &'a Replicates,
}

impl ReplicatedMean<'_> {
    /// Returns the interval of the difference between this mean and another one.
    pub(super) fn difference(self, other: ReplicatedMean<'_>) -> Interval {
        Interval::of(&self.sum.0 / &self.count.0 - &other.sum.0 / &other.count.0)
    }
}

impl Default for Replicates {
    fn default() -> Self {
        Replicates(Array1::zeros(REPLICATES))
    }
}

impl Replicates {
    /// Adds a game's sum.
    pub(super) fn add(&mut self, weights: &BootstrapWeights, sum: f64) {
        self.0.scaled_add(sum, &weights.0);
    }

    /// Returns the interval of `statistic(this, other)`.
    pub(super) fn interval(&self, other: &Replicates, statistic: impl Fn(f64, f64) -> f64) -> Interval {
        Interval::of(Zip::from(&self.0).and(&other.0).map_collect(|&a, &b| statistic(a, b)))
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
        let mean = ReplicatedMean { sum: &sums, count: &counts };
        let difference = mean.difference(mean);
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
