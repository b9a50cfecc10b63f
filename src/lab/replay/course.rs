//! The course of a search while its tree grows: how the score drifts, and how often the best move changes.
//!
//! The figures are of recorded searches (commit a7379f6, `scripts/course.py`): 300 positions of TCEC games, searched with
//! `models/tiny/zeitnot-tiny.pb.gz` from 8 to 16,384 nodes, looked at each time the nodes had doubled.

use super::random::ReplayRandom;

/// The course that modelled searches take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchCourse {
    /// Score and best move stay as they are at the first evaluation.
    Still,
    /// Score and best move change as in recorded searches.
    #[default]
    Recorded,
}

/// Standard deviation of the change of Q in one doubling of the nodes, …
const DRIFT: f64 = 0.017;
/// … and in those that find something, …
const JUMP: f64 = 0.085;
/// … which are this share of all. The distribution has a longer tail than a normal one.
const JUMPS: f64 = 0.08;

/// A share that falls in a straight line with the number of doublings.
#[derive(Clone, Copy, Debug)]
struct FallingShare {
    at_16_nodes: f64,
    at_16384_nodes: f64,
}

impl FallingShare {
    /// Returns the share in a tree of 2^`number` nodes; beyond the recorded ends the nearest counts.
    fn at(self, number: u32) -> f64 {
        let way = (f64::from(number.clamp(4, 14)) - 4.0) / 10.0;
        self.at_16_nodes + (self.at_16384_nodes - self.at_16_nodes) * way
    }
}

/// Share of the doublings in which another move becomes the most visited one.
const CHANGES: FallingShare = FallingShare { at_16_nodes: 0.28, at_16384_nodes: 0.11 };
/// Share of the doublings at whose end the most visited move is not the best by Q, beside those in which a new favourite has
/// yet to overtake it.
const DISAGREEMENTS: FallingShare = FallingShare { at_16_nodes: 0.12, at_16384_nodes: 0.02 };

/// Factors on the share of changes for positions in which two moves are about equally good and for others: half of the recorded
/// positions see one change at most, some see five.
const CONTESTED_FACTOR: f64 = 1.7;
const CLEAR_FACTOR: f64 = 0.53;

/// The state of one search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CourseState {
    course: SearchCourse,
    is_contested: bool,
    /// The number of the last doubling, log2 of the nodes.
    number: Option<u32>,
    /// Change of Q since the first evaluation, at the last doubling and at the next.
    drifts: [f64; 2],
    /// Change of Q since the first evaluation, now.
    pub(super) drift: f64,
    /// Index of the move that gets most of the new visits: 0 or 1.
    pub(super) favourite: usize,
    /// Index of the move with the best Q: 0 or 1; `None` where nothing is said of it.
    pub(super) best_by_q: Option<usize>,
}

impl CourseState {
    /// Returns the state before the first evaluation.
    pub(super) fn new(course: SearchCourse, is_contested: bool) -> CourseState {
        CourseState {
            course,
            is_contested,
            number: None,
            drifts: [0.0; 2],
            drift: 0.0,
            favourite: 0,
            best_by_q: None,
        }
    }

    /// Goes on to a tree of `nodes`.
    pub(super) fn advance(&mut self, nodes: u64, random: &mut ReplayRandom) {
        let (SearchCourse::Recorded, Some(number)) = (self.course, nodes.checked_ilog2()) else { return };
        let passed = self.number.replace(number).map_or(number..=number, |last| last + 1..=number);
        for number in passed {
            self.begin_doubling(number, random);
        }
        let way = (nodes as f64).log2() - f64::from(number);
        let [from, to] = self.drifts;
        self.drift = from + (to - from) * way;
    }

    /// Draws what comes to light between 2^`number` nodes and twice as many: the score goes there evenly, the favourite begins
    /// to catch up.
    fn begin_doubling(&mut self, number: u32, random: &mut ReplayRandom) {
        let deviation = if random.unit() < JUMPS { JUMP } else { DRIFT };
        self.drifts = [self.drifts[1], self.drifts[1] + deviation * random.normal()];
        let factor = if self.is_contested { CONTESTED_FACTOR } else { CLEAR_FACTOR };
        if random.unit() < factor * CHANGES.at(number + 1) {
            self.favourite = 1 - self.favourite;
        }
        let disagrees = random.unit() < DISAGREEMENTS.at(number);
        self.best_by_q = Some(if disagrees { 1 - self.favourite } else { self.favourite });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_between_the_recorded_ends() {
        assert_eq!(CHANGES.at(0), 0.28);
        assert!((CHANGES.at(9) - 0.195).abs() < 1e-12);
        assert!((CHANGES.at(30) - 0.11).abs() < 1e-12);
    }

    #[test]
    fn a_still_course_changes_nothing() {
        let mut state = CourseState::new(SearchCourse::Still, true);
        let before = state;
        state.advance(1 << 20, &mut ReplayRandom::new(1));
        assert_eq!(state, before);
    }

    /// The recorded course: in 300 positions from 64 to 16,384 nodes Q changed by more than 0.02 in 28 % of the doublings, by
    /// more than 0.1 in 1.7 %.
    #[test]
    fn scores_drift_as_recorded() {
        let mut random = ReplayRandom::new(5);
        let mut changes = Vec::new();
        for _ in 0..2_000 {
            let mut state = CourseState::new(SearchCourse::Recorded, false);
            for number in 6..=14 {
                let before = state.drift;
                state.advance(1 << number, &mut random);
                changes.push((state.drift - before).abs());
            }
        }
        let share = |least: f64| {
            let beyond = changes.iter().filter(|change| **change > least).count();
            beyond as f64 / (8.0 / 9.0 * changes.len() as f64)
        };
        assert!((0.23..0.31).contains(&share(0.02)), "{}", share(0.02));
        assert!((0.010..0.022).contains(&share(0.1)), "{}", share(0.1));
    }
}
