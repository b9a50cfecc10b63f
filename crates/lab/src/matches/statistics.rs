//! What games prove: the pentanomial of pairs, Elo with its error, the sequential test, ratings.
//!
//! A pair is two games from one opening with colours swapped. Its results are not independent, so that pairs
//! are counted.

use std::collections::BTreeMap;
use std::fmt;

use itertools::Itertools;
use ndarray::{Array1, Array2, Axis};
use serde::Serialize;

use zeitnot_engine::options::{OptionChoice, OptionGroup, option_choice, option_group};
use zeitnot_engine::params::Params;

const PAIR_SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// From A's point of view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultTally {
    pub(crate) wins: u64,
    pub(crate) draws: u64,
    pub(crate) losses: u64,
    /// By half points: 0, 1, 2, 3, 4 of 4.
    pub(crate) pairs: [u64; 5],
    /// Half points of pairs with one finished game.
    open: BTreeMap<u64, u8>,
}

impl ResultTally {
    pub(crate) fn add(&mut self, pair: u64, half_points: u8) {
        match half_points {
            0 => self.losses += 1,
            1 => self.draws += 1,
            _ => self.wins += 1,
        }
        if let Some(first) = self.open.remove(&pair) {
            self.pairs[usize::from((first + half_points).min(4))] += 1;
        } else {
            self.open.insert(pair, half_points);
        }
    }

    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    pub(crate) fn pair_count(&self) -> u64 {
        self.pairs.iter().sum()
    }

    pub(crate) fn unpaired(&self) -> u64 {
        self.open.len() as u64
    }

    fn pair_moments(&self) -> Option<(f64, f64)> {
        (self.pair_count() > 0).then(|| moments(self.pairs.map(|count| count as f64)))
    }

    /// The same with the prior [`JEFFREYS`].
    fn expected_moments(&self) -> (f64, f64) {
        moments(self.pairs.map(|count| count as f64 + JEFFREYS))
    }
}

impl fmt::Display for ResultTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} ={} -{}", self.wins, self.draws, self.losses)
    }
}

/// Mean and variance of a pair's score.
fn moments(counts: [f64; 5]) -> (f64, f64) {
    let total: f64 = counts.iter().sum();
    let mean_of = |values: [f64; 5]| {
        let weighted = counts.iter().zip(values).map(|(count, value)| count * value);
        weighted.sum::<f64>() / total
    };
    let mean = mean_of(PAIR_SCORES);
    (mean, mean_of(PAIR_SCORES.map(|score| (score - mean).powi(2))))
}

/// Two-sided normal quantile.
const Z_95: f64 = 1.959_963_984_540_054;
/// Normalized Elo of one standard deviation per game: 800 / ln 10.
const NELO_PER_SIGMA: f64 = 347.435_585_522_601_3;
/// Logarithm of the odds per Elo: ln 10 / 400.
const NATURAL_PER_ELO: f64 = std::f64::consts::LN_10 / 400.0;

/// Prior count of each result: H. Jeffreys' prior for five outcomes ("An invariant form for the prior
/// probability in estimation problems", 1946).
const JEFFREYS: f64 = 0.5;

/// A's lead, with intervals of 95 %.
///
/// Logistic Elo, whose interval joins two. The usual one is the error of the mean by the scatter of the
/// pairs, without width if few pairs do not scatter. The other comes from the five results' probabilities
/// with [`JEFFREYS`]' prior, whose mean is about normal on the scale of Elo: it has a width from the first
/// pair on, but leans to equality where nearly all games are won. Together they contain the truth in 93 % of
/// matches of two pairs, and in 95 % or more from eight pairs on.
///
/// Normalized Elo measures the mean in standard deviations of a game, and so how many games prove a
/// difference (M. Van den Bergh, "Normalized Elo", 2021).
#[derive(Debug, PartialEq)]
pub(crate) struct Elo {
    pub(crate) score: f64,
    /// Infinite if all games were won or lost.
    pub(crate) elo: f64,
    /// Only an end that all points would reach is infinite.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// NaN where all pairs ended alike.
    pub(crate) nelo: f64,
    pub(crate) nelo_error: f64,
    /// Likelihood of superiority, `0..=1`.
    pub(crate) los: f64,
}

impl Elo {
    pub(crate) fn of(tally: &ResultTally) -> Option<Elo> {
        let (score, variance) = tally.pair_moments()?;
        let pairs = tally.pair_count() as f64;
        let error = (variance / pairs).sqrt();
        let seen = [-1.0, 1.0].map(|sign| elo_of_score(score + sign * Z_95 * error));
        let (expected, variance_of_one) = tally.expected_moments();
        let after = pairs + JEFFREYS * PAIR_SCORES.len() as f64;
        let deviation =
            (variance_of_one / (after + 1.0)).sqrt() / (expected * (1.0 - expected) * NATURAL_PER_ELO);
        let lead = elo_of_score(expected);
        // A game's variance is twice that of a pair's mean.
        let sigma = (2.0 * variance).sqrt();
        Some(Elo {
            score,
            elo: elo_of_score(score),
            low: seen[0].min(lead - Z_95 * deviation),
            high: seen[1].max(lead + Z_95 * deviation),
            nelo: (score - 0.5) / sigma * NELO_PER_SIGMA,
            nelo_error: Z_95 * error / sigma * NELO_PER_SIGMA,
            los: 0.5 * libm::erfc(-lead / deviation / std::f64::consts::SQRT_2),
        })
    }

    pub(super) fn lead(&self, digits: usize) -> String {
        signed(self.elo, digits)
    }

    pub(super) fn interval(&self) -> String {
        format!("{} to {}", signed(self.low, 0), signed(self.high, 0))
    }

    pub(super) fn normalized(&self) -> String {
        if self.nelo.is_finite() {
            format!("{:+.1} ± {:.1}", self.nelo, self.nelo_error)
        } else {
            "–".into()
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        if self.low > 0.0 {
            Verdict::Ahead
        } else if self.high < 0.0 {
            Verdict::Behind
        } else {
            Verdict::Undecided
        }
    }
}

/// Games with their `unit`, and how many differ.
pub(crate) fn counted(games: u64, unit: &str, different: u64) -> String {
    let mut text = format!("{games}{unit}");
    if games != different {
        text += &format!(", {different} different");
    }
    text
}

fn signed(value: f64, digits: usize) -> String {
    format!("{value:+.digits$}").replace("inf", "∞")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Ahead,
    Behind,
    Undecided,
}

impl Verdict {
    pub(super) fn in_words(self, a: &str, b: &str) -> String {
        match self {
            Verdict::Ahead => format!("{a} is stronger"),
            Verdict::Behind => format!("{b} is stronger"),
            Verdict::Undecided => "undecided".into(),
        }
    }
}

/// Infinite at 0 and 1 and beyond.
fn elo_of_score(score: f64) -> f64 {
    let score = score.clamp(0.0, 1.0);
    400.0 * (score / (1.0 - score)).log10()
}

fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Replaces a count of 0: what was not seen is not impossible.
const UNSEEN: f64 = 1e-3;
/// Of a bisection. Each halves the error.
const BISECTIONS: usize = 60;

option_choice! {
    pub enum EloModel {
        /// Elo in units of the standard deviation of a game.
        Normalized = "normalized",
        /// Elo computed from the mean score.
        Logistic = "logistic",
    }
}

option_group! {
    /// A test of H0, "A is stronger by `elo0`", against H1, "A is stronger by `elo1`".
    ///
    /// The generalised test (GSPRT): the log-likelihood ratio of the two hypotheses, each with the
    /// pentanomial that fits the pairs best and has the hypothesis's strength (M. Van den Bergh, "Comments on
    /// normalized Elo", 2021).
    #[derive(Copy)]
    pub struct Sprt {
        /// Elo difference under the hypothesis H0.
        elo0: f64 = 0.0, in -1000.0..=1000.0, "elo0";
        /// Elo difference under the hypothesis H1.
        elo1: f64 = 5.0, in -1000.0..=1000.0, "elo1";
        /// Probability of accepting `elo1` when `elo0` is true.
        alpha: f64 = 0.05, in 1e-6..=0.5, "alpha";
        /// Probability of accepting `elo0` when `elo1` is true.
        beta: f64 = 0.05, in 1e-6..=0.5, "beta";
        /// Elo scale of the hypotheses.
        model: EloModel = EloModel::Normalized, "model";
    }
}

/// Its fields are the keys of the JSON document.
#[derive(Debug, Serialize)]
pub struct SprtState {
    pub(super) elo0: f64,
    pub(super) elo1: f64,
    pub(super) model: &'static str,
    /// Log-likelihood ratio of `elo1` to `elo0`.
    pub(super) llr: f64,
    /// Below this H0 is accepted, above `upper` H1.
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) verdict: SprtVerdict,
}

/// The hypothesis that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum SprtVerdict {
    H0,
    H1,
    #[serde(rename = "undecided")]
    Undecided,
}

impl fmt::Display for SprtVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl SprtState {
    pub fn is_decided(&self) -> bool {
        self.verdict != SprtVerdict::Undecided
    }

    pub(super) fn in_words(&self, a: &str, b: &str) -> String {
        let SprtState {
            elo0,
            elo1,
            model,
            verdict,
            ..
        } = self;
        match verdict {
            SprtVerdict::H1 => {
                format!("{a} is better than {b}, by {elo1} {model} Elo rather than by {elo0}.")
            }
            SprtVerdict::H0 => {
                format!("{a} is not {elo1} {model} Elo better than {b}: {elo0} is the likelier difference.")
            }
            SprtVerdict::Undecided => "These games prove neither.".into(),
        }
    }
}

impl fmt::Display for SprtState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SprtState {
            llr,
            lower,
            upper,
            verdict,
            ..
        } = self;
        write!(f, "LLR {llr:.2} in [{lower:.2}, {upper:.2}]: {verdict}")
    }
}

impl Sprt {
    pub fn parse(text: &str) -> Result<Sprt, String> {
        let read = Params::parse(text).and_then(|params| Sprt::default().read("sprt", &params, &[]));
        let sprt = read.map_err(|error| error.to_string())?;
        if sprt.elo1 <= sprt.elo0 {
            return Err("elo1 must be larger than elo0, as in elo0=0,elo1=5".into());
        }
        Ok(sprt)
    }

    pub fn state(&self, tally: &ResultTally) -> SprtState {
        let &Sprt {
            elo0,
            elo1,
            alpha,
            beta,
            model,
        } = self;
        let llr = self.llr(tally);
        let lower = (beta / (1.0 - alpha)).ln();
        let upper = ((1.0 - beta) / alpha).ln();
        let verdict = if llr >= upper {
            SprtVerdict::H1
        } else if llr <= lower {
            SprtVerdict::H0
        } else {
            SprtVerdict::Undecided
        };
        SprtState {
            elo0,
            elo1,
            model: model.name(),
            llr,
            lower,
            upper,
            verdict,
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
        let [fit0, fit1] = [self.elo0, self.elo1].map(fit);
        let ratio = |i: usize| seen[i] * (fit1[i] / fit0[i]).ln();
        total * (0..seen.len()).map(ratio).sum::<f64>()
    }
}

fn fit_mean(seen: &[f64; 5], mean: f64) -> [f64; 5] {
    tilt(seen, &PAIR_SCORES.map(|score| score - mean)).unwrap_or(*seen)
}

/// Places at which the scatter is looked for. The likelihood has few hills.
const SCATTERS: i32 = 40;
/// The likeliest distribution for `seen` whose mean lies `strength` standard deviations above ½.
///
/// With a pair's lead a, its score less ½, this means: mean(a) = u √mean(a²), where u is the strength t over
/// √(1 + t²). Where the scatter √mean(a²) is r, the condition is linear: mean(a) = u (mean(a²) + r²) / 2r.
/// For that [`tilt`] knows the likeliest distribution. Wanted are those r which are also its scatter. There
/// may be several, far from what was seen: the likeliest counts.
fn fit_strength(seen: &[f64; 5], strength: f64) -> [f64; 5] {
    let u = strength / strength.hypot(1.0);
    if u == 0.0 {
        return fit_mean(seen, 0.5);
    }
    let leads = PAIR_SCORES.map(|score| score - 0.5);
    let fit = |scatter: f64| {
        let linear = leads.map(|a| a - u * (a * a + scatter * scatter) / (2.0 * scatter));
        tilt(seen, &linear)
    };
    // No distribution fits where the condition is below 0 for all leads: at small scatters, and between those
    // that ¼ and ½ allow. A little above, it is nearly all one lead, which is larger than the scatter.
    let is_too_small = |scatter: f64| {
        let scatter_of = |fit: [f64; 5]| {
            let squares = fit.into_iter().zip(leads).map(|(p, a)| p * a * a);
            squares.sum::<f64>().sqrt()
        };
        fit(scatter).is_none_or(|fit| scatter_of(fit) > scatter)
    };
    let least = leads[3] * u.abs() / (1.0 + (1.0 - u * u).sqrt());
    let place = |i: i32| least * (leads[4] / least).powf(f64::from(i) / f64::from(SCATTERS));
    let brackets = (0..=SCATTERS).map(place).tuple_windows();
    let brackets = brackets.filter(|&(low, high)| is_too_small(low) && !is_too_small(high));
    let fits = brackets.filter_map(|(low, high)| fit(bisected(low, high, is_too_small)));
    let likelihood = |fit: &[f64; 5]| seen.iter().zip(fit).map(|(p, q)| p * q.ln()).sum::<f64>();
    let best = fits.max_by(|a, b| likelihood(a).total_cmp(&likelihood(b)));
    best.unwrap_or(*seen)
}

/// Where `is_below` turns false between `low`, where it is true, and `high`.
fn bisected(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The likeliest distribution in which `condition` has mean 0: `pᵢ / (1 + θ cᵢ)`. `None` if it is not above 0
/// for some results and below for others.
fn tilt(seen: &[f64; 5], condition: &[f64; 5]) -> Option<[f64; 5]> {
    let (&min, &max) = condition.iter().minmax().into_option()?;
    if min >= 0.0 || max <= 0.0 {
        return None;
    }
    let tilted = |theta: f64| std::array::from_fn(|i| seen[i] / (1.0 + theta * condition[i]));
    // The mean falls as θ grows, from +∞ to −∞ between the poles.
    let is_above = |theta: f64| {
        let fitted: [f64; 5] = tilted(theta);
        fitted.iter().zip(condition).map(|(p, c)| p * c).sum::<f64>() > 0.0
    };
    Some(tilted(bisected(-1.0 / max, -1.0 / min, is_above)))
}

/// Drawn pairs added to a match won to nothing. Half a one leaves the loser below whoever made a single draw
/// in as many games.
const DRAWN: f64 = 0.5;
/// Of Newton's method. A handful is enough.
const NEWTON_ROUNDS: usize = 100;
/// Smaller steps end the rounds, natural units.
const PRECISION: f64 = 1e-10;
/// Natural units. Far from the solution the curve is too flat to be trusted.
const LONGEST_STEP: f64 = 2.0;

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Rating {
    /// With mean 0 over all players, and half the 95 % interval.
    pub(crate) elo: f64,
    pub(crate) elo_error: f64,
    /// In complete pairs.
    pub(crate) games: u64,
    pub(crate) score: f64,
}

/// The likeliest ratings on the logistic curve, of results with the places of A and B. `None` without
/// matches, or if they are not connected.
///
/// Errors come from the scatter of the pairs, not from the curve (the sandwich of P. J. Huber, 1967), so that
/// draws and one-sided openings narrow them as in [`Elo`]. A match won to nothing has no finite rating, and
/// counts [`DRAWN`] more pairs.
pub(crate) fn ratings(players: usize, results: &[([usize; 2], &ResultTally)]) -> Option<Vec<Rating>> {
    let played: Vec<_> = results
        .iter()
        .filter(|(_, tally)| tally.pair_count() > 0)
        .collect();
    if played.is_empty() {
        return None;
    }
    let of_matches = |value: fn(&ResultTally) -> f64| -> Array1<f64> {
        played.iter().map(|(_, tally)| value(tally)).collect()
    };
    let drawn = of_matches(|tally| match tally.pair_moments() {
        Some((0.0 | 1.0, _)) => DRAWN,
        _ => 0.0,
    });
    let pairs = of_matches(|tally| tally.pair_count() as f64) + &drawn;
    let points = of_matches(|tally| {
        let points = tally.pairs.iter().zip(PAIR_SCORES);
        points.map(|(&pairs, score)| pairs as f64 * score).sum()
    });
    let score = (points + 0.5 * drawn) / &pairs;
    let variance = of_matches(|tally| tally.expected_moments().1);
    // A's strength less B's, of each match. Shape [matches, players].
    let differences = Array2::from_shape_fn((played.len(), players), |(number, player)| {
        let [a, b] = played[number].0.map(|side| f64::from(side == player));
        a - b
    });
    let weighted = |weights: Array1<f64>| {
        differences
            .t()
            .dot(&(&weights.insert_axis(Axis(1)) * &differences))
    };
    // No match measures the direction in which all players are stronger alike: it gets a constant.
    let inverse_at = |expected: &Array1<f64>| {
        inverse(weighted(&pairs * expected * (1.0 - expected)) + 1.0 / players as f64)
    };
    let expected_at =
        |strength: &Array1<f64>| differences.dot(strength).mapv(|lead| 1.0 / (1.0 + (-lead).exp()));
    let mut strength = Array1::<f64>::zeros(players);
    for _ in 0..NEWTON_ROUNDS {
        let expected = expected_at(&strength);
        let step = inverse_at(&expected)?.dot(&differences.t().dot(&(&pairs * (&score - &expected))));
        let longest = step.iter().fold(0.0, |longest: f64, x| longest.max(x.abs()));
        strength.scaled_add((LONGEST_STEP / longest).min(1.0), &step);
        if longest < PRECISION {
            break;
        }
    }
    let inverse = inverse_at(&expected_at(&strength))?;
    let covariance = inverse.dot(&weighted(&pairs * &variance)).dot(&inverse);
    let mean = strength.mean()?;
    let rating = |player: usize| {
        let mut pairs = 0;
        let mut points = 0.0;
        // Without the pair that the fit may add.
        for ([a, b], tally) in &played {
            if let Some((score, _)) = tally.pair_moments()
                && (player == *a || player == *b)
            {
                let own = if player == *a { score } else { 1.0 - score };
                pairs += tally.pair_count();
                points += tally.pair_count() as f64 * own;
            }
        }
        Rating {
            elo: (strength[player] - mean) / NATURAL_PER_ELO,
            elo_error: Z_95 * covariance[(player, player)].max(0.0).sqrt() / NATURAL_PER_ELO,
            games: 2 * pairs,
            score: points / pairs as f64,
        }
    };
    Some((0..players).map(rating).collect())
}

/// A smaller share of the diagonal's largest element is no pivot: players cannot be compared.
const LEAST_PIVOT: f64 = 1e-12;

/// Gauss and Jordan without pivoting, for positive definite matrices. `None` for others.
pub(crate) fn inverse(mut matrix: Array2<f64>) -> Option<Array2<f64>> {
    let size = matrix.len_of(Axis(0));
    let least = LEAST_PIVOT * matrix.diag().iter().fold(0.0, |most: f64, x| most.max(*x));
    let mut inverse = Array2::eye(size);
    for pivot in 0..size {
        let scale = matrix[(pivot, pivot)];
        if scale.is_nan() || scale <= least {
            return None;
        }
        for side in [&mut matrix, &mut inverse] {
            side.row_mut(pivot).mapv_inplace(|x| x / scale);
        }
        for row in (0..size).filter(|&row| row != pivot) {
            let factor = matrix[(row, pivot)];
            for side in [&mut matrix, &mut inverse] {
                let eliminated = side.row(pivot).to_owned();
                side.row_mut(row).scaled_add(-factor, &eliminated);
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(pairs: [u64; 5]) -> ResultTally {
        ResultTally {
            pairs,
            ..ResultTally::default()
        }
    }

    #[test]
    fn pairs_are_found_in_any_order() {
        let mut tally = ResultTally::default();
        for (pair, half_points) in [(7, 2), (1, 0), (7, 1), (2, 2), (1, 0), (2, 2), (9, 1)] {
            tally.add(pair, half_points);
        }
        assert_eq!((tally.wins, tally.draws, tally.losses), (3, 2, 2));
        assert_eq!(tally.pairs, [1, 0, 0, 1, 1]);
        assert_eq!((tally.games(), tally.pair_count(), tally.unpaired()), (7, 3, 1));
    }

    fn elo(pairs: [u64; 5]) -> Elo {
        Elo::of(&tally(pairs)).unwrap()
    }

    /// From fastchess' tests, to 1 %. Its interval is the usual one.
    #[test]
    fn elo_is_as_fastchess_has_it() {
        for (pairs, expected_elo, elo_error, nelo, nelo_error, los) in [
            ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 57.94, 28.28, 1.0),
            ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, -9.17, 10.96, 0.0505),
            (
                [7895, 8757, 5485 + 200, 568, 9999],
                -21.04,
                2.95,
                -19.01,
                2.65,
                0.0,
            ),
        ] {
            let found = elo(pairs);
            let figures = [found.elo, found.nelo, found.nelo_error, 100.0 * found.los];
            let expected = [expected_elo, nelo, nelo_error, 100.0 * los];
            assert!(
                figures
                    .iter()
                    .zip(expected)
                    .all(|(found, by)| (found - by).abs() < 0.02),
                "{found:?}"
            );
            let width = (found.high - found.low) / 2.0 / elo_error;
            assert!((0.998..1.015).contains(&width), "{found:?}");
        }
    }

    #[test]
    fn results_that_are_all_alike_are_not_certain() {
        assert_eq!(Elo::of(&ResultTally::default()), None);
        let all_won = elo([0, 0, 0, 0, 9]);
        assert_eq!(
            (all_won.elo, all_won.high, all_won.verdict()),
            (f64::INFINITY, f64::INFINITY, Verdict::Ahead)
        );
        assert!(
            (100.0..110.0).contains(&all_won.low) && (0.99..1.0).contains(&all_won.los),
            "{all_won:?}"
        );
        let all_drawn = elo([0, 0, 9, 0, 0]);
        assert_eq!((all_drawn.elo, all_drawn.los), (0.0, 0.5));
        assert!(
            all_drawn.nelo.is_nan() && all_drawn.low < -60.0 && all_drawn.high > 60.0,
            "{all_drawn:?}"
        );
        // A regression: four games gave "−190.8 ± 0.0 (95 %), LOS 0.00 %".
        let four_games = elo([0, 2, 0, 0, 0]);
        assert!((four_games.elo + 190.8).abs() < 0.1 && four_games.verdict() == Verdict::Undecided);
        assert!(
            (four_games.low + 256.0).abs() < 1.0 && (four_games.high - 99.0).abs() < 1.0,
            "{four_games:?}"
        );
        assert!((0.15..0.25).contains(&four_games.los), "{four_games:?}");
    }

    /// Probability that the interval contains the true Elo.
    fn coverage(probability: [f64; 5], pairs: u64) -> f64 {
        fn add(
            seen: &mut [u64; 5],
            place: usize,
            left: u64,
            probability: &[f64; 5],
            weight: f64,
            truth: f64,
        ) -> f64 {
            if place == 4 {
                seen[4] = left;
                let found = elo(*seen);
                let is_in = found.low <= truth && truth <= found.high;
                return if is_in {
                    weight * probability[4].powi(left as i32)
                } else {
                    0.0
                };
            }
            let (mut sum, mut choices) = (0.0, 1.0);
            for count in 0..=left {
                seen[place] = count;
                let weight = weight * choices * probability[place].powi(count as i32);
                sum += add(seen, place + 1, left - count, probability, weight, truth);
                choices *= (left - count) as f64 / (count + 1) as f64;
            }
            sum
        }
        let mean: f64 = probability
            .iter()
            .zip(PAIR_SCORES)
            .map(|(p, score)| p * score)
            .sum();
        add(&mut [0; 5], 0, pairs, &probability, 1.0, elo_of_score(mean))
    }

    #[test]
    fn intervals_of_few_pairs_contain_the_truth_as_often_as_they_say() {
        for probability in [
            [0.1, 0.2, 0.4, 0.2, 0.1],
            [0.02, 0.12, 0.72, 0.12, 0.02],
            [0.2, 0.1, 0.4, 0.1, 0.2],
            [0.05, 0.15, 0.35, 0.3, 0.15],
            [0.01, 0.04, 0.2, 0.35, 0.4],
            [0.002, 0.008, 0.03, 0.1, 0.86],
        ] {
            for (pairs, least) in [(2, 0.93), (4, 0.93), (8, 0.95), (15, 0.95)] {
                let covered = coverage(probability, pairs);
                assert!(covered >= least, "{probability:?}, {pairs} pairs: {covered}");
            }
        }
    }

    fn llr(text: &str, pairs: [u64; 5]) -> f64 {
        Sprt::parse(text).unwrap().state(&tally(pairs)).llr
    }

    /// From fastchess' tests, to 1 %.
    #[test]
    fn the_test_is_as_fastchess_has_it() {
        for (text, pairs, expected) in [
            ("elo0=0,elo1=2", [365, 16618, 36029 + 200, 16974, 390], 2.25),
            ("elo0=-1.75,elo1=0.25", [127, 4883, 10311 + 401, 5150, 104], 3.01),
            (
                "elo0=0.5,elo1=2.5,model=logistic",
                [223, 9863, 20279 + 1000, 10037, 246],
                -3.07,
            ),
            (
                "elo0=0,elo1=2,model=logistic",
                [871, 26175, 55003 + 980, 26678, 821],
                -4.98,
            ),
            // If all pairs were won, a distribution of strength t has `(1 + u) / 2` wins with `u = t / √(1 +
            // t²)`, else losses: t = √2 · 5 / 347.44 gives 104 · ln(1 + u).
            ("elo0=0,elo1=5", [0, 0, 0, 0, 104], 2.0954),
        ] {
            let found = llr(text, pairs);
            assert!(
                (found - expected).abs() < 0.01 * expected.abs() + 0.005,
                "{text}: {found}"
            );
        }
    }

    #[test]
    fn bounds_and_verdicts() {
        let sprt = Sprt::parse("elo0=0,elo1=10,alpha=0.05,beta=0.1").unwrap();
        let state = |pairs| sprt.state(&tally(pairs));
        // ln(0.1 / 0.95), ln(0.9 / 0.05)
        let nothing = state([0; 5]);
        assert!((nothing.lower + 2.2513).abs() < 1e-4 && (nothing.upper - 2.8904).abs() < 1e-4);
        assert_eq!((nothing.llr, nothing.verdict), (0.0, SprtVerdict::Undecided));
        assert_eq!(state([10, 200, 400, 300, 20]).verdict, SprtVerdict::H1);
        assert_eq!(state([20, 300, 400, 200, 10]).verdict, SprtVerdict::H0);
    }

    /// Counts of zero, too, as shares.
    fn shares(counts: [u64; 5]) -> [f64; 5] {
        let counts = counts.map(|n| (n as f64).max(UNSEEN));
        counts.map(|n| n / counts.iter().sum::<f64>())
    }

    fn strength(p: &[f64; 5]) -> f64 {
        let (mean, variance) = moments(*p);
        (mean - 0.5) / variance.sqrt()
    }

    fn log_likelihood(seen: &[f64; 5], p: &[f64; 5]) -> f64 {
        seen.iter().zip(p).map(|(seen, p)| seen * p.ln()).sum()
    }

    /// From a damped iteration that begins at what was seen, which ends for these.
    #[test]
    fn tables_with_most_pairs_drawn_are_as_another_computation_has_them() {
        let drawn = [0, 3, 291, 6, 0];
        for (elo1, expected) in [
            (5, 0.29203),
            (20, 0.41504),
            (30, -0.25218),
            (50, -4.14509),
            (70, -12.03647),
        ] {
            let found = llr(&format!("elo0=0,elo1={elo1}"), drawn);
            assert!((found - expected).abs() < 1e-4, "{elo1}: {found}");
        }
        // A regression: from 240 on the fit was what had been seen, so that any lead was proof.
        for (elo1, most) in [(230, -160.0), (240, -170.0), (300, -240.0), (1000, -700.0)] {
            let found = llr(&format!("elo0=0,elo1={elo1}"), drawn);
            assert!(found < most, "{elo1}: {found}");
        }
    }

    proptest! {
        #[test]
        fn fits_keep_what_they_are_fitted_to(
            counts in prop::array::uniform5(0u64..1000), elo in -900.0f64..900.0,
        ) {
            prop_assume!(counts.iter().sum::<u64>() > 0);
            let by_mean = fit_mean(&shares(counts), score_of_elo(elo));
            prop_assert!((by_mean.iter().sum::<f64>() - 1.0).abs() < 1e-6);
            prop_assert!((moments(by_mean).0 - score_of_elo(elo)).abs() < 1e-6);
            let by_strength = fit_strength(&shares(counts), elo / 250.0);
            prop_assert!((by_strength.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{by_strength:?}");
            prop_assert!((strength(&by_strength) - elo / 250.0).abs() < 1e-3, "{by_strength:?}");
        }

        /// Against distributions drawn at random, and moved towards all wins or all losses until they have
        /// the strength.
        #[test]
        fn no_distribution_of_a_strength_is_likelier_than_the_fit(
            counts in prop::array::uniform5(0u64..300), wanted in -2.0f64..2.0, seed: u64,
        ) {
            prop_assume!(counts.iter().sum::<u64>() > 0);
            let seen = shares(counts);
            let fitted = fit_strength(&seen, wanted);
            let mut random = fastrand::Rng::with_seed(seed);
            for round in 0..100 {
                // From far away to close by.
                let scale = 0.5f64.powi(round % 12);
                let near = fitted.map(|p| p * (scale * 8.0 * (random.f64() - 0.5)).exp());
                let near = near.map(|p| p / near.iter().sum::<f64>());
                let end = if strength(&near) < wanted { 4 } else { 0 };
                let mixed = |share: f64| {
                    let mut mixed = near.map(|p| (1.0 - share) * p);
                    mixed[end] += share;
                    mixed
                };
                let share = bisected(0.0, 1.0, |share| (strength(&mixed(share)) < wanted) == (end == 4));
                let other = mixed(share);
                prop_assume!((strength(&other) - wanted).abs() < 1e-6);
                let gain = log_likelihood(&seen, &other) - log_likelihood(&seen, &fitted);
                prop_assert!(gain < 1e-6, "{fitted:?} {other:?} {gain}");
            }
        }

        /// The ratio falls as H1 rises beyond what was seen, and rises up to that.
        #[test]
        fn hypotheses_further_from_what_was_seen_are_less_likely(
            counts in prop::array::uniform5(0u64..300), first in -900.0f64..900.0, step in 1.0f64..200.0,
        ) {
            prop_assume!(counts.iter().sum::<u64>() > 0);
            let scale = std::f64::consts::SQRT_2 / NELO_PER_SIGMA;
            let seen = shares(counts);
            let of = |elo: f64| log_likelihood(&seen, &fit_strength(&seen, scale * elo));
            let (near, far) = (of(first), of(first + step));
            let observed = strength(&seen) / scale;
            if first >= observed {
                prop_assert!(far <= near + 1e-9, "{near} {far}");
            } else if first + step <= observed {
                prop_assert!(near <= far + 1e-9, "{near} {far}");
            }
        }

        #[test]
        fn better_results_speak_for_the_better_hypothesis(counts in prop::array::uniform5(1u64..300)) {
            let [a, b, c, d, e] = counts;
            let better = [a, b, c, d, e + 5];
            prop_assert!(llr("elo0=0,elo1=5,model=logistic", better) > llr("elo0=0,elo1=5,model=logistic", counts));
        }
    }

    #[test]
    fn two_players_are_as_far_apart_as_their_match_says() {
        let games = tally([34, 54, 63, 64, 75]);
        let found = ratings(2, &[([0, 1], &games)]).unwrap();
        let elo = Elo::of(&games).unwrap();
        assert!((found[0].elo - found[1].elo - elo.elo).abs() < 1e-6, "{found:?}");
        assert!((found[0].elo + found[1].elo).abs() < 1e-6, "{found:?}");
        // Each error is half the difference's. The match's interval is not quite symmetric.
        assert!(
            (2.0 * found[0].elo_error - (elo.high - elo.low) / 2.0).abs() < 0.4,
            "{found:?} {elo:?}"
        );
        assert_eq!((found[0].games, found[1].games), (580, 580));
        assert!((found[0].score + found[1].score - 1.0).abs() < 1e-12);
    }

    /// By 3:1 each, so that A beats C by 9:1.
    #[test]
    fn odds_multiply() {
        let (three, nine) = (tally([0, 0, 20, 0, 20]), tally([0, 0, 8, 0, 32]));
        let chain = [([0, 1], &three), ([1, 2], &three)];
        let round = [chain[0], chain[1], ([0, 2], &nine)];
        let step = 400.0 * 3f64.log10();
        for results in [&chain[..], &round[..]] {
            let found = ratings(3, results).unwrap();
            for (rating, expected) in found.iter().zip([step, 0.0, -step]) {
                assert!((rating.elo - expected).abs() < 1e-6, "{found:?}");
            }
        }
        let errors = [&chain[..], &round[..]].map(|results| ratings(3, results).unwrap()[0].elo_error);
        assert!(errors[1] < errors[0], "more games, smaller errors: {errors:?}");
    }

    #[test]
    fn whoever_won_all_gets_a_finite_rating() {
        let (all, some) = (tally([0, 0, 0, 0, 9]), tally([1, 2, 3, 2, 1]));
        let found = ratings(3, &[([0, 1], &all), ([1, 2], &some)]).unwrap();
        // Half a drawn pair beside nine: 37 of 38 points.
        assert!(
            (found[0].elo - found[1].elo - 400.0 * 37f64.log10()).abs() < 1e-6,
            "{found:?}"
        );
        assert!(found.iter().all(|rating| rating.elo_error.is_finite()));
        // A regression: the drawn pair counted as played.
        assert_eq!((found[0].games, found[0].score), (18, 1.0));
        assert_eq!((found[1].games, found[1].score), (36, 0.25));
    }

    /// A regression: who lost both games of a pair was level with who drew one of them.
    #[test]
    fn whoever_scored_nothing_is_below_whoever_drew_once() {
        for pairs in [1, 2, 5, 40] {
            let (nothing, one_draw) = (tally([pairs, 0, 0, 0, 0]), tally([pairs - 1, 1, 0, 0, 0]));
            let found = ratings(3, &[([0, 2], &nothing), ([1, 2], &one_draw)]).unwrap();
            assert!(found[0].elo < found[1].elo - 1.0, "{pairs}: {found:?}");
        }
    }

    #[test]
    fn players_who_never_met_are_not_compared() {
        let games = tally([1, 2, 3, 2, 1]);
        assert_eq!(ratings(4, &[([0, 1], &games), ([2, 3], &games)]), None);
        assert_eq!(ratings(0, &[]), None);
        assert_eq!(ratings(2, &[([0, 1], &ResultTally::default())]), None);
    }
}
