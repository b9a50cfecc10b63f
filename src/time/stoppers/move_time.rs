//! The limit of `go movetime`.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::units::Millis;

/// Share of `movetime` that the way to the GUI keeps at least, however long the first evaluation takes.
const LEAST_OVERHEAD: f64 = 0.1;

/// Stops after a fixed time. Where no evaluation is there to choose a move by, it waits for one for nearly all of
/// `movetime`, but not longer: the GUI may count a later answer as a loss.
#[derive(Clone, Copy, Debug)]
pub struct MoveTimeLimit {
    limit: Millis,
    patience: Millis,
    is_evaluated: bool,
}

impl MoveTimeLimit {
    /// Makes the rule for a `movetime`, of which `overhead` is kept for the way to the GUI.
    ///
    /// The overhead takes at most half of it, so that `movetime 100` with the usual overhead of 200 ms is
    /// still a search.
    pub fn new(movetime: Millis, overhead: Millis) -> Self {
        let limit = (movetime - overhead).max(movetime / 2.0).max(Millis::ZERO);
        let patience = limit.max(movetime - overhead.min(movetime * LEAST_OVERHEAD));
        MoveTimeLimit { limit, patience, is_evaluated: false }
    }
}

impl Stopper for MoveTimeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        self.is_evaluated |= stats.root.is_some() || stats.since_first_eval.is_some();
        let deadline = self.deadline()?;
        hints.limit_remaining_time(deadline - stats.elapsed);
        (stats.elapsed >= deadline).then_some(StopReason::MoveTime)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(if self.is_evaluated { self.limit } else { self.patience })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the deadline of a search whose root is evaluated.
    fn deadline(movetime: f64, overhead: f64) -> Option<Millis> {
        let mut stopper = MoveTimeLimit::new(Millis(movetime), Millis(overhead));
        stopper.should_stop(&evaluated(0.0), &mut Hints::default());
        stopper.deadline()
    }

    fn evaluated(elapsed: f64) -> SearchStats {
        let (elapsed, since_first_eval) = (Millis(elapsed), Some(Millis(0.0)));
        SearchStats { elapsed, since_first_eval, ..SearchStats::default() }
    }

    #[test]
    fn the_overhead_is_kept_back_once() {
        assert_eq!(deadline(1000.0, 200.0), Some(Millis(800.0)));
        assert_eq!(deadline(100.0, 200.0), Some(Millis(50.0)));
        assert_eq!(deadline(-1.0, 200.0), Some(Millis(0.0)));
    }

    /// A regression: with the usual overhead half of a short `movetime` was left unused while the first evaluation was under
    /// way, and a move was played without any.
    #[test]
    fn the_first_evaluation_is_waited_for() {
        let mut stopper = MoveTimeLimit::new(Millis(300.0), Millis(200.0));
        let mut hints = Hints::default();
        assert_eq!(stopper.deadline(), Some(Millis(270.0)));
        let waiting = |elapsed| SearchStats { elapsed: Millis(elapsed), ..SearchStats::default() };
        assert_eq!(stopper.should_stop(&waiting(269.0), &mut hints), None);
        assert_eq!(stopper.should_stop(&evaluated(269.5), &mut hints), Some(StopReason::MoveTime));
        let mut stopper = MoveTimeLimit::new(Millis(300.0), Millis(200.0));
        assert_eq!(stopper.should_stop(&waiting(270.0), &mut hints), Some(StopReason::MoveTime));
        let none = MoveTimeLimit::new(Millis(-1.0), Millis(200.0));
        assert_eq!(none.deadline(), Some(Millis(0.0)));
    }

    #[test]
    fn stops_at_the_limit_not_before() {
        let mut stopper = MoveTimeLimit::new(Millis(1000.0), Millis(0.0));
        let mut hints = Hints::default();
        let at = |elapsed| SearchStats { elapsed: Millis(elapsed), ..SearchStats::default() };
        assert_eq!(stopper.should_stop(&at(999.9), &mut hints), None);
        assert_eq!(stopper.should_stop(&at(1000.0), &mut hints), Some(StopReason::MoveTime));
    }
}
