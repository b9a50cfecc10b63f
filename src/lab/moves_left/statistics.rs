//! Figures of an estimator: sums that stream, in memory that does not grow with the games.

use std::collections::BTreeMap;

use serde::Serialize;

use super::bootstrap::Interval;
use super::ply_median::median;

/// Steps per full move in which medians and ranks are counted.
const STEPS: f64 = 10.0;
/// Larger errors are counted as this, in steps.
const MOST_STEPS: usize = 4000;

/// Sums over positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) count: f64,
    /// Sum of the errors, estimate minus truth.
    pub(super) error: f64,
    /// Sum of the absolute errors.
    pub(super) absolute: f64,
    /// Sum of the squared errors.
    pub(super) squared: f64,
    /// Sums of the truth and of its squares.
    truth: f64,
    truth_squared: f64,
    /// Counts of the absolute errors by step.
    sizes: Vec<u64>,
}

impl Sums {
    pub(super) fn add(&mut self, estimate: f64, truth: f64) {
        let error = estimate - truth;
        self.count += 1.0;
        self.error += error;
        self.absolute += error.abs();
        self.squared += error * error;
        self.truth += truth;
        self.truth_squared += truth * truth;
        let step = ((error.abs() * STEPS).round() as usize).min(MOST_STEPS);
        if self.sizes.len() <= step {
            self.sizes.resize(step + 1, 0);
        }
        self.sizes[step] += 1;
    }

    /// Adds the sums of other positions.
    pub(super) fn merge(&mut self, other: &Sums) {
        self.count += other.count;
        self.error += other.error;
        self.absolute += other.absolute;
        self.squared += other.squared;
        self.truth += other.truth;
        self.truth_squared += other.truth_squared;
        if self.sizes.len() < other.sizes.len() {
            self.sizes.resize(other.sizes.len(), 0);
        }
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Returns the figures, without those that the bootstrap and ranks give.
    pub(super) fn figures(&self) -> EstimatorFigures {
        let mean = |sum: f64| sum / self.count;
        let scatter = self.truth_squared - self.truth * self.truth / self.count;
        EstimatorFigures {
            positions: self.count as u64,
            mae: mean(self.absolute),
            rmse: mean(self.squared).sqrt(),
            bias: mean(self.error),
            median: median(&self.sizes).unwrap_or(f64::NAN).max(0.0) / STEPS,
            r2: 1.0 - self.squared / scatter,
            spearman: None,
            mean_left: mean(self.truth),
            ci: Interval::NONE,
            bias_ci: Interval::NONE,
            rmse_ci: Interval::NONE,
            versus_first_ci: Interval::NONE,
        }
    }
}

/// The quality of an estimator, in full moves except `r2` and `spearman`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EstimatorFigures {
    /// Positions that it estimated.
    pub positions: u64,
    /// Mean absolute error.
    pub mae: f64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean of estimate minus truth: above 0 it thinks that games last longer than they do.
    pub bias: f64,
    /// Median absolute error, to a tenth.
    pub median: f64,
    /// Share of the truth's variance that it explains; below 0 it is worse than the mean.
    pub r2: f64,
    /// Rank correlation of estimate and truth; only for all positions.
    pub spearman: Option<f64>,
    /// Mean of the moves that were really left.
    pub mean_left: f64,
    /// 95 % confidence interval of `mae`; not finite where units are too few, as are those below.
    pub ci: Interval,
    /// 95 % confidence interval of `bias`.
    pub bias_ci: Interval,
    /// 95 % confidence interval of `rmse`.
    pub rmse_ci: Interval,
    /// That of `mae` minus the first estimator's `mae` on the same games: below 0 this one is better.
    pub versus_first_ci: Interval,
}

/// Counts of estimate and truth together, in steps of the estimate.
#[derive(Clone, Debug, Default)]
pub struct Joint {
    counts: BTreeMap<(u32, u32), u64>,
}

impl Joint {
    pub(super) fn add(&mut self, estimate: f64, truth: u32) {
        *self.counts.entry(((estimate * STEPS).round() as u32, truth)).or_default() += 1;
    }

    /// Returns `(estimate, truth, positions)`, the first two in full moves.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        self.counts
            .iter()
            .map(|(&(step, truth), &count)| (f64::from(step) / STEPS, f64::from(truth), count as f64))
    }

    /// Returns Spearman's rank correlation; equal numbers share their mean rank.
    pub(super) fn spearman(&self) -> Option<f64> {
        let (mut by_estimate, mut by_truth) = (BTreeMap::new(), BTreeMap::new());
        for (&(step, truth), &count) in &self.counts {
            *by_estimate.entry(step).or_insert(0u64) += count;
            *by_truth.entry(truth).or_insert(0u64) += count;
        }
        let (estimate_ranks, truth_ranks) = (ranks(&by_estimate), ranks(&by_truth));
        let middle = by_truth.values().sum::<u64>() as f64 / 2.0;
        let (mut product, mut squares, mut truth_squares) = (0.0, 0.0, 0.0);
        for (&(step, truth), &count) in &self.counts {
            let (a, b) = (estimate_ranks[&step] - middle, truth_ranks[&truth] - middle);
            product += a * b * count as f64;
            squares += a * a * count as f64;
            truth_squares += b * b * count as f64;
        }
        Some(product / (squares * truth_squares).sqrt()).filter(|rho| rho.is_finite())
    }
}

/// Returns the mean rank of each number, counted from 0.
fn ranks(counts: &BTreeMap<u32, u64>) -> BTreeMap<u32, f64> {
    let mut below = 0.0;
    let rank = |(&value, &count): (&u32, &u64)| {
        let rank = below + count as f64 / 2.0;
        below += count as f64;
        (value, rank)
    };
    counts.iter().map(rank).collect()
}

/// Shares of positions whose truth lay within the spread that the searched tree gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpreadCoverage {
    /// Positions with a spread.
    pub positions: u64,
    /// Share of them whose error was at most one spread; 0.68 if errors were normal and the spread their deviation.
    pub within_one: f64,
    /// Share with at most two; 0.95.
    pub within_two: f64,
}

impl SpreadCoverage {
    /// Counts a position; all in plies.
    pub(super) fn add(&mut self, m: f64, spread: f64, plies_left: f64) {
        let error = (m - plies_left).abs();
        let n = self.positions as f64;
        let mean = |old: f64, is_within: bool| (old * n + f64::from(is_within)) / (n + 1.0);
        self.within_one = mean(self.within_one, error <= spread);
        self.within_two = mean(self.within_two, error <= 2.0 * spread);
        self.positions += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let mut sums = Sums::default();
        for (estimate, truth) in [(10.0, 12.0), (20.0, 16.0), (30.0, 30.0), (41.0, 40.0)] {
            sums.add(estimate, truth);
        }
        let figures = sums.figures();
        // Errors −2, 4, 0, 1; truth's mean 24.5, squares 144 + 256 + 900 + 1600 = 2900, scatter 2900 − 98²/4 = 499.
        assert_eq!((figures.mae, figures.bias, figures.mean_left), (1.75, 0.75, 24.5));
        assert_eq!(figures.rmse, 5.25f64.sqrt());
        assert!((figures.r2 - (1.0 - 21.0 / 499.0)).abs() < 1e-12);
        assert!((1.0..=2.0).contains(&figures.median), "{}", figures.median);
    }

    #[test]
    fn rank_correlation_of_order_and_of_its_reverse() {
        let joint = |pairs: &[(f64, u32)]| {
            let mut joint = Joint::default();
            pairs.iter().for_each(|&(estimate, truth)| joint.add(estimate, truth));
            joint.spearman()
        };
        assert_eq!(joint(&[(1.0, 10), (5.0, 11), (50.0, 12)]), Some(1.0));
        assert_eq!(joint(&[(3.0, 10), (2.0, 11), (1.0, 12)]), Some(-1.0));
        // Ranks 1.5 1.5 3 and 1 2 3: 0.866.
        assert!((joint(&[(1.0, 1), (1.0, 2), (2.0, 3)]).unwrap() - 0.75f64.sqrt()).abs() < 1e-12);
        assert_eq!(joint(&[(1.0, 1), (1.0, 2)]), None, "one rank only");
    }

    #[test]
    fn spreads_count_what_they_cover() {
        let mut spread = SpreadCoverage::default();
        for left in [10.0, 15.0, 29.0, 100.0] {
            spread.add(10.0, 10.0, left);
        }
        assert_eq!((spread.within_one, spread.within_two), (0.5, 0.75));
    }
}
