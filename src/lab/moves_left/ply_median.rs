//! The best function of the ply: the median of what was left, by ply.
//!
//! The median has the least mean absolute error of all functions of the ply. Each half of the games is measured with the medians of the
//! other half, so that nothing is learnt from the game that it is tried on.

use super::mix;

/// Plies that share one median, so that each rests on enough games.
const WIDTH: u32 = 4;
/// Fewer positions than this in a chunk count with the chunk before it.
const FEWEST: u64 = 30;

/// Larger numbers of plies and moves count as this: no game is so long, but rows may come from a file that anybody wrote.
const MOST: u32 = 4000;

/// Returns which half of the games a game belongs to, 0 or 1.
pub(super) fn fold(game: u64) -> usize {
    (mix(game) & 1) as usize
}

/// Counts of the moves that were left, for each chunk of plies, in two halves of the games.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftByPly {
    /// `[fold][chunk][moves left]`
    counts: [Vec<Vec<u64>>; 2],
}

impl LeftByPly {
    pub(super) fn add(&mut self, game: u64, ply: u32, moves_left: u32) {
        let chunks = &mut self.counts[fold(game)];
        let chunk = (ply.min(MOST) / WIDTH) as usize;
        if chunks.len() <= chunk {
            chunks.resize(chunk + 1, Vec::new());
        }
        let moves = moves_left.min(MOST) as usize;
        if chunks[chunk].len() <= moves {
            chunks[chunk].resize(moves + 1, 0);
        }
        chunks[chunk][moves] += 1;
    }

    /// Returns the medians, each half's from the other half.
    pub(super) fn medians(&self) -> PlyMedian {
        PlyMedian { medians: [medians(&self.counts[1]), medians(&self.counts[0])] }
    }
}

fn medians(chunks: &[Vec<u64>]) -> Vec<f64> {
    let mut medians: Vec<f64> = Vec::new();
    for counts in chunks {
        let median = if counts.iter().sum::<u64>() < FEWEST { None } else { median(counts) };
        medians.push(median.or(medians.last().copied()).unwrap_or(1.0));
    }
    medians
}

/// Returns the median of numbers of which `counts[n]` are n, spread evenly over n − ½ to n + ½; `None` without numbers.
pub(super) fn median(counts: &[u64]) -> Option<f64> {
    let half = counts.iter().sum::<u64>() as f64 / 2.0;
    let mut below = 0.0;
    for (n, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let count = count as f64;
        if below + count >= half {
            return Some(n as f64 - 0.5 + (half - below) / count);
        }
        below += count;
    }
    None
}

/// Medians by chunk of plies, for each half of the games.
#[derive(Clone, Debug)]
pub(super) struct PlyMedian {
    medians: [Vec<f64>; 2],
}

impl PlyMedian {
    /// Returns the median of the full moves left at a ply of a game.
    pub(super) fn moves_left(&self, game: u64, ply: u32) -> f64 {
        let medians = &self.medians[fold(game)];
        let chunk = (ply / WIDTH) as usize;
        medians.get(chunk).or(medians.last()).copied().unwrap_or(1.0).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_lie_between_the_halves() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[0, 0, 4]), Some(2.0));
        assert_eq!(median(&[0, 2, 2]), Some(1.5));
        assert_eq!(median(&[1, 0, 0, 2]), Some(2.75));
    }

    /// A regression: such rows asked for more memory than there is.
    #[test]
    fn numbers_beyond_all_games_cost_no_memory() {
        let mut left = LeftByPly::default();
        left.add(1, u32::MAX, u32::MAX);
        let chunks = &left.counts[fold(1)];
        assert!(chunks.len() <= 1001 && chunks[1000].len() == 4001);
    }

    #[test]
    fn a_game_is_never_tried_on_its_own_half() {
        let (zero, one) = ((1..).find(|&g| fold(g) == 0).unwrap(), (1..).find(|&g| fold(g) == 1).unwrap());
        let mut left = LeftByPly::default();
        for _ in 0..FEWEST {
            left.add(zero, 10, 50);
            left.add(one, 10, 20);
        }
        let medians = left.medians();
        assert_eq!((medians.moves_left(zero, 10), medians.moves_left(one, 9)), (20.0, 50.0));
        assert_eq!(medians.moves_left(one, 500), 50.0, "beyond all games the last one counts");
    }
}
