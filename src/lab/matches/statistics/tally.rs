//! Counts of games and of pairs.

use std::collections::BTreeMap;

/// Points per game of a pair, from none of two to two of two.
pub const PAIR_SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Results from A's point of view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultTally {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Pairs by half points: 0, 1, 2, 3, 4 of 4.
    pub pairs: [u64; 5],
    /// Half points of pairs of which one game is known.
    pub(super) open: BTreeMap<u64, u8>,
}

impl ResultTally {
    /// Adds a game of pair `pair` with 0, 1 or 2 half points for A.
    pub fn add(&mut self, pair: u64, half_points: u8) {
        match half_points {
            0 => self.losses += 1,
            1 => self.draws += 1,
            _ => self.wins += 1,
        }
        match self.open.remove(&pair) {
            Some(first) => self.pairs[usize::from((first + half_points).min(4))] += 1,
            None => drop(self.open.insert(pair, half_points)),
        }
    }

    /// Returns the number of games.
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Returns the number of complete pairs.
    pub fn pair_count(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// Returns the number of games whose partner is missing.
    pub fn unpaired(&self) -> u64 {
        self.open.len() as u64
    }

    /// Returns the points of A.
    pub fn points(&self) -> f64 {
        self.wins as f64 + self.draws as f64 / 2.0
    }

    /// Returns mean and variance of the points per game of a pair; `None` without pairs.
    pub(super) fn pair_moments(&self) -> Option<(f64, f64)> {
        let count = self.pair_count() as f64;
        let mean_of = |value: &dyn Fn(f64) -> f64| {
            let weighted = self.pairs.iter().zip(PAIR_SCORES).map(|(&n, score)| n as f64 * value(score));
            weighted.sum::<f64>() / count
        };
        let mean = mean_of(&|score| score);
        let variance = mean_of(&|score| (score - mean).powi(2));
        (count > 0.0).then_some((mean, variance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_in_any_order() {
        let mut tally = ResultTally::default();
        for (pair, half_points) in [(7, 2), (1, 0), (7, 1), (2, 2), (1, 0), (2, 2), (9, 1)] {
            tally.add(pair, half_points);
        }
        assert_eq!((tally.wins, tally.draws, tally.losses), (3, 2, 2));
        assert_eq!(tally.pairs, [1, 0, 0, 1, 1]);
        assert_eq!((tally.games(), tally.pair_count(), tally.unpaired()), (7, 3, 1));
        assert_eq!(tally.points(), 4.0);
    }
}
