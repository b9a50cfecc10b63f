//! Ratings of many players from the matches between them.

use ndarray::{Array1, Array2, Axis};

use super::elo::{NATURAL_PER_ELO, Z_95};
use super::tally::ResultTally;

/// Most rounds of Newton's method; a handful is enough.
const ROUNDS: usize = 100;
/// Steps below this, in natural units, end the search.
const PRECISION: f64 = 1e-10;
/// The longest step, in natural units: far from the solution the curve is too flat to be trusted.
const LONGEST_STEP: f64 = 2.0;

/// A match between two of the players.
#[derive(Clone, Copy, Debug)]
pub struct MatchResult<'a> {
    /// The indices of A and B among the players.
    pub players: [usize; 2],
    /// Its games.
    pub tally: &'a ResultTally,
}

/// The strength of a player among all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Elo; the mean of all players is 0.
    pub elo: f64,
    /// Half the length of its interval of 95 %.
    pub elo_error: f64,
    /// Games in complete pairs.
    pub games: u64,
    /// Points per game.
    pub score: f64,
}

/// The result of a match in pairs.
struct PairStats {
    players: [usize; 2],
    pairs: f64,
    score: f64,
    /// The variance of the points per game of a pair.
    variance: f64,
}

/// Returns the ratings of `players` players under which the results are likeliest, if points follow the logistic curve; `None` if the
/// matches don't hang together, or there are none.
///
/// Errors come from the scatter of the pairs, not from the curve (the sandwich of P. J. Huber, 1967), so that draws and openings
/// that favour one side narrow them as they do in [`Elo`](super::Elo). A match won or lost to nothing counts one drawn pair more: no
/// finite rating explains it.
pub fn ratings(players: usize, results: &[MatchResult<'_>]) -> Option<Vec<Rating>> {
    let evidence: Vec<PairStats> = results.iter().filter_map(PairStats::of).collect();
    if players == 0 || !is_connected(players, &evidence) {
        return None;
    }
    let mut strength = Array1::<f64>::zeros(players);
    for _ in 0..ROUNDS {
        let step = inverse(information(&strength, &evidence))?.dot(&gradient(&strength, &evidence));
        let longest = step.iter().fold(0.0f64, |longest, x| longest.max(x.abs()));
        strength.scaled_add((LONGEST_STEP / longest).min(1.0), &step);
        if longest < PRECISION {
            break;
        }
    }
    let inverse = inverse(information(&strength, &evidence))?;
    let covariance = inverse.dot(&scatter(players, &evidence)).dot(&inverse);
    let mean = strength.mean()?;
    let rating = |player: usize| {
        let (mut pairs, mut points) = (0, 0.0);
        for MatchResult { players, tally } in results {
            let side = players.iter().position(|&other| other == player);
            // As they were played, without the pair that the fit may add.
            if let (Some(side), Some((score, _))) = (side, tally.pair_moments()) {
                pairs += tally.pair_count();
                points += tally.pair_count() as f64 * if side == 0 { score } else { 1.0 - score };
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

impl PairStats {
    fn of(result: &MatchResult<'_>) -> Option<PairStats> {
        let (score, _) = result.tally.pair_moments()?;
        let mut tally = result.tally.clone();
        if score == 0.0 || score == 1.0 {
            tally.pairs[2] += 1;
        }
        let (score, variance) = tally.pair_moments()?;
        Some(PairStats { players: result.players, pairs: tally.pair_count() as f64, score, variance })
    }

    /// Returns the points per game that A is expected to score, by the logistic curve.
    fn expected(&self, strength: &Array1<f64>) -> f64 {
        let [a, b] = self.players;
        1.0 / (1.0 + (strength[b] - strength[a]).exp())
    }
}

/// Says whether every player can be compared with every other, through others if need be.
fn is_connected(players: usize, evidence: &[PairStats]) -> bool {
    let mut reached = vec![false; players];
    reached[0] = true;
    // Each round reaches further, or no round does.
    for _ in 0..players {
        for PairStats { players: [a, b], .. } in evidence {
            let either = reached[*a] || reached[*b];
            (reached[*a], reached[*b]) = (either, either);
        }
    }
    reached.into_iter().all(|reached| reached)
}

fn gradient(strength: &Array1<f64>, evidence: &[PairStats]) -> Array1<f64> {
    let mut gradient = Array1::zeros(strength.len());
    for match_ in evidence {
        let [a, b] = match_.players;
        let surplus = match_.pairs * (match_.score - match_.expected(strength));
        gradient[a] += surplus;
        gradient[b] -= surplus;
    }
    gradient
}

/// Returns the curvature of the likelihood, shape `[players, players]`. A constant is added in the direction that no match can
/// measure, all players stronger alike.
fn information(strength: &Array1<f64>, evidence: &[PairStats]) -> Array2<f64> {
    let players = strength.len();
    let mut information = Array2::from_elem((players, players), 1.0 / players as f64);
    for match_ in evidence {
        let expected = match_.expected(strength);
        add_difference(&mut information, match_.players, match_.pairs * expected * (1.0 - expected));
    }
    information
}

/// Returns the covariance of the gradient that the scatter of the pairs gives, shape `[players, players]`.
fn scatter(players: usize, evidence: &[PairStats]) -> Array2<f64> {
    let mut scatter = Array2::zeros((players, players));
    for match_ in evidence {
        add_difference(&mut scatter, match_.players, match_.pairs * match_.variance);
    }
    scatter
}

fn add_difference(matrix: &mut Array2<f64>, [a, b]: [usize; 2], weight: f64) {
    matrix[(a, a)] += weight;
    matrix[(b, b)] += weight;
    matrix[(a, b)] -= weight;
    matrix[(b, a)] -= weight;
}

/// Returns the inverse of a positive definite matrix by Gauss and Jordan, without pivoting. Returns `None` where rounding has made
/// it indefinite.
fn inverse(mut matrix: Array2<f64>) -> Option<Array2<f64>> {
    let size = matrix.len_of(Axis(0));
    let mut inverse = Array2::eye(size);
    for pivot in 0..size {
        let scale = matrix[(pivot, pivot)];
        if scale.is_nan() || scale <= 0.0 {
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
    use super::super::Elo;
    use super::*;

    fn tally(pairs: [u64; 5]) -> ResultTally {
        ResultTally { pairs, ..ResultTally::default() }
    }

    /// Between two players there is nothing to weigh: the difference is that of the match, and so is its error.
    #[test]
    fn two_players_are_as_far_apart_as_their_match_says() {
        let games = tally([34, 54, 63, 64, 75]);
        let found = ratings(2, &[MatchResult { players: [0, 1], tally: &games }]).unwrap();
        let elo = Elo::of(&games).unwrap();
        assert!((found[0].elo - found[1].elo - elo.elo).abs() < 1e-6, "{found:?}");
        assert!((found[0].elo + found[1].elo).abs() < 1e-6, "{found:?}");
        // Each is off by half of what the difference is off by; the interval of the match is not quite symmetric.
        assert!((2.0 * found[0].elo_error - elo.elo_error).abs() < 0.2, "{found:?} {elo:?}");
        assert_eq!((found[0].games, found[1].games), (580, 580));
        assert!((found[0].score + found[1].score - 1.0).abs() < 1e-12);
    }

    /// A beats B by 3:1 and B beats C by 3:1; with 9:1 between A and C, the odds multiply and all three agree.
    #[test]
    fn odds_multiply() {
        let (three, nine) = (tally([0, 0, 20, 0, 20]), tally([0, 0, 8, 0, 32]));
        let chain =
            [MatchResult { players: [0, 1], tally: &three }, MatchResult { players: [1, 2], tally: &three }];
        let round = [chain[0], chain[1], MatchResult { players: [0, 2], tally: &nine }];
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
        let results =
            [MatchResult { players: [0, 1], tally: &all }, MatchResult { players: [1, 2], tally: &some }];
        let found = ratings(3, &results).unwrap();
        // One drawn pair beside nine: 19 of 20 points.
        assert!((found[0].elo - found[1].elo - 400.0 * 19f64.log10()).abs() < 1e-6, "{found:?}");
        assert!(found.iter().all(|rating| rating.elo_error.is_finite()));
        // A regression: the drawn pair counted as played.
        assert_eq!((found[0].games, found[0].score), (18, 1.0));
        assert_eq!((found[1].games, found[1].score), (36, 0.25));
    }

    #[test]
    fn players_who_never_met_are_not_compared() {
        let games = tally([1, 2, 3, 2, 1]);
        let apart =
            [MatchResult { players: [0, 1], tally: &games }, MatchResult { players: [2, 3], tally: &games }];
        assert_eq!(ratings(4, &apart), None);
        assert_eq!(ratings(0, &[]), None);
        let empty = ResultTally::default();
        assert_eq!(ratings(2, &[MatchResult { players: [0, 1], tally: &empty }]), None);
    }
}
