//! Measures what an estimator would have done to the clock.
//!
//! One side of a game is played with a full clock and no increment: each move gets clock ÷ estimate, the rule that all managers refine.

use serde::Serialize;

/// A move is starved if it gets less than this share of an even share of the clock.
const STARVED: f64 = 1.0 / 3.0;
/// Points of a curve over the course of a game.
pub(super) const POINTS: usize = 20;
/// The fewest moves of a side that tell something about the use of a clock.
const FEWEST_MOVES: usize = 10;

/// Sums over sides of games.
#[derive(Clone, Debug, Default)]
pub struct ClockUse {
    sides: u64,
    unused: f64,
    moves: u64,
    starved: u64,
    variation: f64,
    largest: f64,
    /// Sums of the clock at k/20 of the moves.
    course: [f64; POINTS + 1],
}

/// The use of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockFigures {
    /// Sides of games.
    pub sides: u64,
    /// Share of the clock left at the end of the game, mean.
    pub unused: f64,
    /// Share of moves with less than a third of an even share (clock ÷ moves of the game).
    pub starved: f64,
    /// Coefficient of variation of the times of a game's moves, mean: 0 if all were equal.
    pub variation: f64,
    /// The longest move as a share of the clock, mean.
    pub largest: f64,
}

impl ClockUse {
    /// Plays one side's moves with these estimates, full moves, at least 1 each.
    pub(super) fn play(&mut self, estimates: &[f64]) {
        if estimates.len() < FEWEST_MOVES {
            return;
        }
        let moves = estimates.len();
        let mut clock = 1.0;
        let (mut sum, mut squares, mut largest) = (0.0, 0.0, 0.0f64);
        let mut next = 0;
        for (i, estimate) in estimates.iter().enumerate() {
            while next <= POINTS && next * moves <= i * POINTS {
                self.course[next] += clock;
                next += 1;
            }
            let used: f64 = clock / estimate.max(1.0);
            clock -= used;
            (sum, squares, largest) = (sum + used, squares + used * used, largest.max(used));
            self.starved += u64::from(used < STARVED / moves as f64);
        }
        self.course[POINTS] += clock;
        let n = moves as f64;
        self.sides += 1;
        self.moves += moves as u64;
        self.unused += clock;
        self.largest += largest;
        let mean = sum / n;
        self.variation += (squares / n - mean * mean).max(0.0).sqrt() / mean;
    }

    /// Returns the means; `None` if nothing was played.
    pub fn figures(&self) -> Option<ClockFigures> {
        let mean = |sum: f64| sum / self.sides as f64;
        (self.sides > 0).then(|| ClockFigures {
            sides: self.sides,
            unused: mean(self.unused),
            starved: self.starved as f64 / self.moves as f64,
            variation: mean(self.variation),
            largest: mean(self.largest),
        })
    }

    /// Returns the mean clock over the course of the game: `(share of the moves played, share of the clock left)`.
    pub fn course(&self) -> Vec<(f64, f64)> {
        let sides = self.sides.max(1) as f64;
        self.course.iter().enumerate().map(|(k, sum)| (k as f64 / POINTS as f64, sum / sides)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_knowledge_spends_evenly_and_all() {
        let mut clock = ClockUse::default();
        let estimates: Vec<f64> = (1..=40).rev().map(f64::from).collect();
        clock.play(&estimates);
        let figures = clock.figures().unwrap();
        assert!(
            figures.unused.abs() < 1e-12 && figures.variation < 1e-6 && figures.starved == 0.0,
            "{figures:?}"
        );
        assert!((figures.largest - 1.0 / 40.0).abs() < 1e-12);
        for (played, left) in clock.course() {
            assert!((played + left - 1.0).abs() < 1e-9, "{played} {left}");
        }
    }

    #[test]
    fn overestimates_leave_time_and_underestimates_starve_the_end() {
        let (mut high, mut low) = (ClockUse::default(), ClockUse::default());
        high.play(&[60.0; 40]);
        low.play(&[5.0; 40]);
        assert!((high.figures().unwrap().unused - (59.0f64 / 60.0).powi(40)).abs() < 1e-12);
        assert_eq!(high.figures().unwrap().starved, 0.0);
        assert!(low.figures().unwrap().starved > 0.5, "{:?}", low.figures());
        low.play(&[5.0; 3]);
        assert_eq!(low.figures().unwrap().sides, 1, "three moves are no game");
        assert_eq!(ClockUse::default().figures(), None);
    }
}
