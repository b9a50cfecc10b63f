//! The best function of the ply: the median of what was left, by ply.
//!
//! The median has the least mean absolute error of all functions of the ply. Each half of the events is measured with the medians of
//! the other half, so that nothing is learnt from the games that it is tried on.

use super::bootstrap::Unit;
use super::rows::PositionRow;

/// Plies that share one median, so that each rests on enough games.
const WIDTH: u32 = 4;
/// Fewer positions than this in a chunk count with the chunk before it.
const FEWEST: u64 = 30;
/// The fewest games of each half from which medians are worth comparing with: chance adds 0.2 moves to their error then.
const FEWEST_GAMES: u64 = 100;

/// Larger numbers of plies and moves count as this: no game is so long, but rows may come from a file that anybody wrote.
const MOST: u32 = 4000;

/// Counts of the moves that were left, for each chunk of plies, in two halves.
#[derive(Clone, Debug)]
pub(super) struct LeftByPly {
    unit: Unit,
    games: [u64; 2],
    /// `[half][chunk][moves left]`
    counts: [Vec<Vec<u64>>; 2],
}

impl LeftByPly {
    /// Returns counts of nothing, for halves of these units.
    pub(super) fn new(unit: Unit) -> LeftByPly {
        LeftByPly { unit, games: [0; 2], counts: [Vec::new(), Vec::new()] }
    }

    /// Counts the positions of a game.
    pub(super) fn add_game(&mut self, rows: &[PositionRow]) {
        let Some(first) = rows.first() else { return };
        let half = self.unit.half(first);
        self.games[half] += 1;
        let chunks = &mut self.counts[half];
        for row in rows {
            let chunk = (row.ply.min(MOST) / WIDTH) as usize;
            if chunks.len() <= chunk {
                chunks.resize(chunk + 1, Vec::new());
            }
            let moves = row.moves_left.min(MOST) as usize;
            if chunks[chunk].len() <= moves {
                chunks[chunk].resize(moves + 1, 0);
            }
            chunks[chunk][moves] += 1;
        }
    }

    /// Returns the medians, each half's from the other half.
    ///
    /// # Errors
    /// Says what is missing where the games are too few.
    pub(super) fn medians(&self) -> Result<PlyMedian, String> {
        let [first, second] = self.games;
        let medians = medians(&self.counts[1]).zip(medians(&self.counts[0]));
        let medians = medians.filter(|_| first.min(second) >= FEWEST_GAMES);
        let (of_first, of_second) = medians.ok_or_else(|| {
            format!(
                "\"best by ply\" is left out: it needs {FEWEST_GAMES} games in each half of the {}, and there are {first} and {second}",
                self.unit.plural()
            )
        })?;
        Ok(PlyMedian { unit: self.unit, medians: [of_first, of_second] })
    }
}

/// Returns the median of each chunk, with thin ones as those before them; `None` if all are thin.
fn medians(chunks: &[Vec<u64>]) -> Option<Vec<f64>> {
    let own = |counts: &Vec<u64>| median(counts).filter(|_| counts.iter().sum::<u64>() >= FEWEST);
    let mut last = chunks.iter().find_map(own)?;
    let medians = chunks.iter().map(|counts| {
        last = own(counts).unwrap_or(last);
        last
    });
    Some(medians.collect())
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

/// Medians by chunk of plies, for each half; neither is empty.
#[derive(Clone, Debug)]
pub(super) struct PlyMedian {
    unit: Unit,
    medians: [Vec<f64>; 2],
}

impl PlyMedian {
    /// Returns the median of the full moves left at the ply of a position.
    pub(super) fn moves_left(&self, row: &PositionRow) -> f64 {
        let medians = &self.medians[self.unit.half(row)];
        let chunk = (row.ply / WIDTH) as usize;
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

    fn row(event: u64, ply: u32, moves_left: u32) -> PositionRow {
        PositionRow { event, ply, moves_left, ..PositionRow::default() }
    }

    /// Returns an event of each half.
    fn events() -> [u64; 2] {
        [0, 1].map(|half| (1..).find(|&event| Unit::Event.half(&row(event, 0, 1)) == half).unwrap())
    }

    /// A regression: such rows asked for more memory than there is.
    #[test]
    fn numbers_beyond_all_games_cost_no_memory() {
        let mut left = LeftByPly::new(Unit::Event);
        left.add_game(&[row(events()[0], u32::MAX, u32::MAX)]);
        assert!(left.counts[0].len() <= 1001 && left.counts[0][1000].len() == 4001);
    }

    #[test]
    fn an_event_is_never_tried_on_its_own_half() {
        let [zero, one] = events();
        let mut left = LeftByPly::new(Unit::Event);
        for _ in 0..FEWEST_GAMES {
            left.add_game(&[row(zero, 10, 50)]);
            left.add_game(&[row(one, 10, 20)]);
        }
        let medians = left.medians().unwrap();
        let at = |event, ply| medians.moves_left(&row(event, ply, 0));
        assert_eq!((at(zero, 10), at(one, 9)), (20.0, 50.0));
        assert_eq!(at(one, 500), 50.0, "beyond all games the last one counts");
        assert_eq!(at(one, 0), 50.0, "before all games the first one counts");
    }

    /// A regression: where games were few all was taken to last one more move, which is no best function of anything.
    #[test]
    fn few_games_have_no_best_function_of_the_ply() {
        let [zero, one] = events();
        let mut left = LeftByPly::new(Unit::Event);
        assert!(left.medians().is_err());
        for _ in 0..FEWEST_GAMES {
            left.add_game(&[row(zero, 10, 50)]);
        }
        (0..6).for_each(|_| left.add_game(&[row(one, 10, 20)]));
        let note = left.medians().unwrap_err();
        assert!(
            note.contains("100 games in each half of the events") && note.ends_with("100 and 6"),
            "{note}"
        );
    }
}
