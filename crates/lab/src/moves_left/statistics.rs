//! Figures of an estimator, as streaming sums of fixed size.
//!
//! Confidence intervals go by events, because the positions of a game and the games of an event are not
//! independent. They come from a Poisson bootstrap: in each replicate an event counts k times, k drawn from a
//! Poisson distribution of mean 1. With too few events, games take their place.

use std::collections::BTreeMap;

use itertools::Itertools;
use ndarray::Array1;
use serde::Serialize;

use super::PositionRow;
use zeitnot_engine::chance::mix;

/// Per full move, for medians and ranks.
const STEPS: f64 = 10.0;
/// Cap of errors, in steps.
const MOST_STEPS: usize = 4000;

#[derive(Clone, Debug, Default)]
struct Sums {
    count: f64,
    /// Of estimate minus truth.
    error: f64,
    absolute: f64,
    squared: f64,
    /// Sums of the truth and of its squares.
    truth: f64,
    truth_squared: f64,
    /// Counts of the absolute errors by step.
    sizes: Vec<u64>,
}

impl Sums {
    fn add(&mut self, estimate: f64, truth: f64) {
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
}

/// In full moves except `r2` and `spearman`.
#[derive(Debug, Serialize)]
pub(super) struct EstimatorFigures {
    pub(super) name: String,
    positions: u64,
    pub(super) mae: f64,
    pub(super) rmse: f64,
    /// Mean of estimate minus truth.
    pub(super) bias: f64,
    /// Of the absolute error, to a tenth.
    pub(super) median: f64,
    /// Explained share of the truth's variance, negative if worse than the mean.
    pub(super) r2: f64,
    pub(super) spearman: Option<f64>,
    pub(super) mean_left: f64,
    /// Of `mae`, 95 %. Not finite with too few units, like the next.
    pub(super) ci: Interval,
    /// Of `mae` minus the first estimator's on the same games.
    pub(super) versus_first_ci: Interval,
}

/// The point below which this share of ascending numbers n with counts lies, each spread evenly over n ± ½.
pub(super) fn quantile(counts: impl Iterator<Item = (u32, u64)> + Clone, share: f64) -> Option<f64> {
    let wanted = share * counts.clone().map(|(_, count)| count).sum::<u64>() as f64;
    let mut below = 0.0;
    for (n, count) in counts.filter(|&(_, count)| count > 0) {
        let count = count as f64;
        if below + count >= wanted {
            return Some(f64::from(n) - 0.5 + (wanted - below) / count);
        }
        below += count;
    }
    None
}

pub(super) const FEWEST_UNITS: usize = 10;

const REPLICATES: usize = 400;

/// What the bootstrap draws, and halves consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    Event,
    /// Where there are too few events.
    Game,
}

impl Unit {
    pub(super) fn of(self, row: &PositionRow) -> u64 {
        match self {
            Unit::Event => row.event,
            Unit::Game => row.game,
        }
    }

    pub(super) fn half(self, row: &PositionRow) -> usize {
        (mix(self.of(row)) & 1) as usize
    }

    pub(super) fn plural(self) -> &'static str {
        ["events", "games"][self as usize]
    }
}

/// 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    pub(super) fn is_known(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// From the 2.5 % to the 97.5 % point, shape `[REPLICATES]`.
    fn of(units: usize, values: Array1<f64>) -> Interval {
        let is_known = |value: &f64| units >= FEWEST_UNITS && value.is_finite();
        let known = values.into_iter().filter(is_known);
        let values: Vec<_> = known.sorted_by(f64::total_cmp).collect();
        let at = |share: f64| {
            let value = values.get((share * values.len() as f64) as usize);
            value.copied().unwrap_or(f64::NAN)
        };
        Interval {
            low: at(0.025),
            high: at(0.975),
        }
    }
}

/// How often a unit counts in each replicate, shape `[REPLICATES]`.
pub(super) fn bootstrap_weights(unit: u64) -> Array1<f64> {
    let mut random = fastrand::Rng::with_seed(mix(unit));
    Array1::from_shape_simple_fn(REPLICATES, || poisson(random.f64()))
}

/// Inverts the distribution function at `uniform`, for mean 1.
fn poisson(uniform: f64) -> f64 {
    let mut k = 0.0;
    let mut probability = (-1.0f64).exp();
    let mut sum = probability;
    while uniform > sum && k < 12.0 {
        k += 1.0;
        probability /= k;
        sum += probability;
    }
    k
}

#[derive(Clone, Debug)]
pub(super) struct GroupSums {
    sums: Sums,
    /// Positions and absolute errors, shape `[REPLICATES]`.
    counts: Array1<f64>,
    absolutes: Array1<f64>,
}

impl Default for GroupSums {
    fn default() -> Self {
        GroupSums {
            sums: Sums::default(),
            counts: Array1::zeros(REPLICATES),
            absolutes: Array1::zeros(REPLICATES),
        }
    }
}

/// Of two mean absolute errors on the same games, full moves.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    pub(super) difference: f64,
    pub(super) ci: Interval,
}

impl GroupSums {
    /// Adds estimates and truths of a game.
    pub(super) fn add_game(&mut self, game: impl Iterator<Item = (f64, f64)>, weights: &Array1<f64>) {
        let Sums { count, absolute, .. } = self.sums;
        for (estimate, truth) in game {
            self.sums.add(estimate, truth);
        }
        self.counts.scaled_add(self.sums.count - count, weights);
        self.absolutes.scaled_add(self.sums.absolute - absolute, weights);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sums.count == 0.0
    }

    fn mae(&self) -> f64 {
        self.sums.absolute / self.sums.count
    }

    pub(super) fn minus(&self, other: &GroupSums, units: usize) -> Difference {
        Difference {
            difference: self.mae() - other.mae(),
            ci: Interval::of(units, self.replicated_mae() - other.replicated_mae()),
        }
    }

    /// All but the rank correlation. `first` is the baseline's.
    pub(super) fn figures(&self, name: &str, first: &GroupSums, units: usize) -> EstimatorFigures {
        let Sums {
            count,
            error,
            squared,
            truth,
            truth_squared,
            ref sizes,
            ..
        } = self.sums;
        let median = quantile((0..).zip(sizes.iter().copied()), 0.5).unwrap_or(f64::NAN);
        EstimatorFigures {
            name: name.to_owned(),
            positions: count as u64,
            mae: self.mae(),
            rmse: (squared / count).sqrt(),
            bias: error / count,
            median: median.max(0.0) / STEPS,
            r2: 1.0 - squared / (truth_squared - truth * truth / count),
            spearman: None,
            mean_left: truth / count,
            ci: Interval::of(units, self.replicated_mae()),
            versus_first_ci: self.minus(first, units).ci,
        }
    }

    fn replicated_mae(&self) -> Array1<f64> {
        &self.absolutes / &self.counts
    }
}

/// Of an estimate whose truths are told.
const FEWEST_POSITIONS: u64 = 20;

/// Joint counts of estimate and truth, in steps of the estimate.
#[derive(Clone, Debug, Default)]
pub(super) struct Joint {
    counts: BTreeMap<(u32, u32), u64>,
}

impl Joint {
    pub(super) fn add(&mut self, estimate: f64, truth: u32) {
        let step = (estimate * STEPS).round() as u32;
        *self.counts.entry((step, truth)).or_default() += 1;
    }

    /// The truth's 10 %, 50 % and 90 % points by the estimate, in full moves, where there are enough
    /// positions.
    pub(super) fn truths(&self) -> Vec<(f64, [f64; 3])> {
        let mut by_estimate: BTreeMap<u32, BTreeMap<u32, u64>> = BTreeMap::new();
        for (&(step, truth), &count) in &self.counts {
            let truths = by_estimate.entry(step / STEPS as u32).or_default();
            *truths.entry(truth).or_default() += count;
        }
        by_estimate.retain(|_, truths| truths.values().sum::<u64>() >= FEWEST_POSITIONS);
        let points = by_estimate.into_iter().filter_map(|(moves, truths)| {
            let at = |share| quantile(truths.iter().map(|(&truth, &count)| (truth, count)), share);
            Some((f64::from(moves) + 0.5, [at(0.1)?, at(0.5)?, at(0.9)?]))
        });
        points.collect()
    }

    /// Spearman's rank correlation. Ties share their mean rank.
    pub(super) fn spearman(&self) -> Option<f64> {
        let mut by_estimate = BTreeMap::new();
        let mut by_truth = BTreeMap::new();
        for (&(step, truth), &count) in &self.counts {
            *by_estimate.entry(step).or_insert(0u64) += count;
            *by_truth.entry(truth).or_insert(0u64) += count;
        }
        let estimate_ranks = ranks(&by_estimate);
        let truth_ranks = ranks(&by_truth);
        let middle = by_truth.values().sum::<u64>() as f64 / 2.0;
        let mut product = 0.0;
        let mut squares = 0.0;
        let mut truth_squares = 0.0;
        for (&(step, truth), &count) in &self.counts {
            let (a, b) = (estimate_ranks[&step] - middle, truth_ranks[&truth] - middle);
            product += a * b * count as f64;
            squares += a * a * count as f64;
            truth_squares += b * b * count as f64;
        }
        Some(product / (squares * truth_squares).sqrt()).filter(|rho| rho.is_finite())
    }
}

fn ranks(counts: &BTreeMap<u32, u64>) -> BTreeMap<u32, f64> {
    let mut below = 0.0;
    let rank = |(&value, &count): (&u32, &u64)| {
        let rank = below + count as f64 / 2.0;
        below += count as f64;
        (value, rank)
    };
    counts.iter().map(rank).collect()
}

/// Shares of positions whose truth (plies) lay within the tree's spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct SpreadCoverage {
    pub(super) positions: u64,
    /// Error of at most one spread: 0.68 for normal errors.
    pub(super) within_one: f64,
    /// At most two: 0.95.
    pub(super) within_two: f64,
}

impl SpreadCoverage {
    pub(super) fn add(&mut self, m: f64, spread: f64, plies_left: f64) {
        let error = (m - plies_left).abs();
        let n = self.positions as f64;
        let mean = |old: f64, is_within: bool| (old * n + f64::from(is_within)) / (n + 1.0);
        self.within_one = mean(self.within_one, error <= spread);
        self.within_two = mean(self.within_two, error <= 2.0 * spread);
        self.positions += 1;
    }
}

/// A move is starved below this fraction of an even share of the clock.
const STARVED: f64 = 1.0 / 3.0;
const POINTS: usize = 20;
const FEWEST_MOVES: usize = 10;

#[derive(Clone, Debug, Default)]
pub(super) struct ClockUse {
    sides: u64,
    unused: f64,
    moves: u64,
    starved: u64,
    variation: f64,
    largest: f64,
    /// Clock at k/20 of the moves.
    curve: [f64; POINTS + 1],
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ClockFigures {
    /// The estimator's.
    pub(super) name: String,
    sides: u64,
    pub(super) unused: f64,
    /// Share of starved moves (even share: clock ÷ moves of the game).
    pub(super) starved: f64,
    pub(super) variation: f64,
    pub(super) largest: f64,
}

impl ClockUse {
    /// One side's moves with these estimates, full moves, at least 1 each.
    pub(super) fn play(&mut self, estimates: &[f64]) {
        if estimates.len() < FEWEST_MOVES {
            return;
        }
        let moves = estimates.len();
        let n = moves as f64;
        let mut clock = 1.0;
        let mut sum = 0.0;
        let mut squares = 0.0;
        let mut largest = 0.0f64;
        let mut next = 0;
        for (i, estimate) in estimates.iter().enumerate() {
            while next <= POINTS && next * moves <= i * POINTS {
                self.curve[next] += clock;
                next += 1;
            }
            let used: f64 = clock / estimate.max(1.0);
            clock -= used;
            sum += used;
            squares += used * used;
            largest = largest.max(used);
            self.starved += u64::from(used < STARVED / n);
        }
        self.curve[POINTS] += clock;
        self.sides += 1;
        self.moves += moves as u64;
        self.unused += clock;
        self.largest += largest;
        let mean = sum / n;
        self.variation += (squares / n - mean * mean).max(0.0).sqrt() / mean;
    }

    pub(super) fn figures(&self, name: &str) -> Option<ClockFigures> {
        let sides = self.sides as f64;
        (self.sides > 0).then(|| ClockFigures {
            name: name.to_owned(),
            sides: self.sides,
            unused: self.unused / sides,
            starved: self.starved as f64 / self.moves as f64,
            variation: self.variation / sides,
            largest: self.largest / sides,
        })
    }

    /// The clock left by the share of the moves played, percent.
    pub(super) fn curve(&self) -> impl Iterator<Item = (f64, f64)> {
        let sides = self.sides.max(1) as f64;
        let points = self.curve.iter().enumerate();
        points.map(move |(k, sum)| (100.0 * (k as f64 / POINTS as f64), 100.0 * (sum / sides)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let mut sums = GroupSums::default();
        let game = [(10.0, 12.0), (20.0, 16.0), (30.0, 30.0), (41.0, 40.0)];
        sums.add_game(game.into_iter(), &bootstrap_weights(1));
        let figures = sums.figures("", &sums, 1);
        // Errors −2, 4, 0, 1. Truth's mean 24.5, squares 144 + 256 + 900 + 1600 = 2900, scatter 2900 − 98²/4
        // = 499.
        assert_eq!((figures.mae, figures.bias, figures.mean_left), (1.75, 0.75, 24.5));
        assert_eq!(figures.rmse, 5.25f64.sqrt());
        assert!((figures.r2 - (1.0 - 21.0 / 499.0)).abs() < 1e-12);
        assert!((1.0..=2.0).contains(&figures.median), "{}", figures.median);
    }

    #[test]
    fn rank_correlation_of_order_and_of_its_reverse() {
        let joint = |pairs: &[(f64, u32)]| {
            let mut joint = Joint::default();
            pairs
                .iter()
                .for_each(|&(estimate, truth)| joint.add(estimate, truth));
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

    #[test]
    fn intervals_of_a_mean_have_the_width_that_theory_says() {
        // 2,000 games of one position each, half 0 and half 10: standard error 5/√2000 = 0.112.
        let mut all = GroupSums::default();
        for game in 0..2000 {
            let estimate = if game % 2 == 0 { 0.0 } else { 10.0 };
            all.add_game([(estimate, 0.0)].into_iter(), &bootstrap_weights(game));
        }
        let interval = all.figures("", &all, 2000).ci;
        let width = (interval.high - interval.low) / (2.0 * 1.96 * 0.112);
        assert!((0.85..1.15).contains(&width), "{interval:?}");
        assert!(interval.low < 5.0 && interval.high > 5.0);
        assert_eq!(all.minus(&all, 2000).ci, Interval { low: 0.0, high: 0.0 });
        assert!(!all.figures("", &all, FEWEST_UNITS - 1).ci.is_known());
    }

    #[test]
    fn weights_have_mean_and_variance_one_and_never_change() {
        let draws: Vec<f64> = (0..200).flat_map(bootstrap_weights).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(
            (mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.04,
            "{mean} {variance}"
        );
        assert_eq!(bootstrap_weights(7), bootstrap_weights(7));
    }

    #[test]
    fn perfect_knowledge_spends_evenly_and_all() {
        let mut clock = ClockUse::default();
        let estimates: Vec<f64> = (1..=40).rev().map(f64::from).collect();
        clock.play(&estimates);
        let figures = clock.figures("").unwrap();
        assert!(
            figures.unused.abs() < 1e-12 && figures.variation < 1e-6 && figures.starved == 0.0,
            "{figures:?}"
        );
        assert!((figures.largest - 1.0 / 40.0).abs() < 1e-12);
        for (played, left) in clock.curve() {
            assert!((played + left - 100.0).abs() < 1e-7, "{played} {left}");
        }
    }

    #[test]
    fn overestimates_leave_time_and_underestimates_starve_the_end() {
        let (mut high, mut low) = (ClockUse::default(), ClockUse::default());
        high.play(&[60.0; 40]);
        low.play(&[5.0; 40]);
        assert!((high.figures("").unwrap().unused - (59.0f64 / 60.0).powi(40)).abs() < 1e-12);
        assert_eq!(high.figures("").unwrap().starved, 0.0);
        assert!(low.figures("").unwrap().starved > 0.5, "{:?}", low.figures(""));
        low.play(&[5.0; 3]);
        assert_eq!(low.figures("").unwrap().sides, 1, "three moves are no game");
        assert_eq!(ClockUse::default().figures(""), None);
    }
}
