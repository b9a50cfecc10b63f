//! Sums over the moves of a side in a phase of a game, which the page adds up over games.

use serde::{Deserialize, Serialize};

use super::judgement::{Judgement, accuracy};
use crate::viewer::low_clock;

/// Sums over moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MoveSums {
    pub(super) moves: u32,
    /// Moves that the search would have played too.
    pub(super) best: u32,
    /// Accuracy of the moves, percent.
    pub(super) accuracy: f64,
    /// Winning chances given away, percent.
    pub(super) loss: f64,
    /// Moves that got `?!`, `?` and `??`.
    pub(super) marks: [u32; 3],
    /// Moves that seem bad, with too few visits to judge.
    pub(super) unclear: u32,
    /// Moves whose time is known, those that have a plan, and those that were made with a low clock.
    pub(super) timed: u32,
    pub(super) planned: u32,
    pub(super) low: u32,
    pub(super) used_ms: f64,
    pub(super) planned_ms: f64,
}

/// The times of a move, ms, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimesOfMove {
    pub(super) used: Option<f64>,
    pub(super) planned: Option<f64>,
    /// The clock before it.
    pub(super) clock: Option<f64>,
    /// The time that the game began with.
    pub(super) base: Option<f64>,
}

impl MoveSums {
    pub(super) fn add(&mut self, judged: Judgement, times: TimesOfMove) {
        self.moves += 1;
        self.best += u32::from(judged.is_best);
        self.accuracy += accuracy(judged.before, judged.after);
        self.loss += judged.loss();
        if let Some(mark) = judged.mark {
            self.marks[mark as usize] += 1;
        }
        self.unclear += u32::from(judged.is_unclear);
        let Some(used) = times.used else { return };
        self.timed += 1;
        self.used_ms += used;
        let is_low = times.base.zip(times.clock).is_some_and(|(base, clock)| clock < low_clock(base));
        self.low += u32::from(is_low);
        if let Some(planned) = times.planned {
            self.planned += 1;
            self.planned_ms += planned;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_where_they_are_known() {
        let judged = Judgement {
            before: 60.0,
            after: 50.0,
            mark: Some(super::super::Mark::Mistake),
            is_unclear: false,
            mate: None,
            is_best: false,
        };
        let mut sums = MoveSums::default();
        sums.add(judged, TimesOfMove::default());
        let base = Some(180_000.0);
        sums.add(judged, TimesOfMove { used: Some(9_000.0), planned: None, clock: Some(22_499.0), base });
        sums.add(judged, TimesOfMove { used: Some(9_000.0), planned: Some(900.0), clock: base, base });
        assert_eq!((sums.moves, sums.timed, sums.planned, sums.low), (3, 2, 1, 1));
        assert_eq!((sums.used_ms, sums.planned_ms, sums.loss), (18_000.0, 900.0, 30.0));
        assert_eq!(sums.marks, [0, 3, 0]);
    }
}
