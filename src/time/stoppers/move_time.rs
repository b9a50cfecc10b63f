//! The limit of `go movetime`.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};
use crate::time::units::Millis;

/// Stops after a fixed time.
#[derive(Clone, Copy, Debug)]
pub struct MoveTimeLimit {
    limit: Millis,
}

impl MoveTimeLimit {
    /// Makes the rule for a `movetime`, of which `overhead` is kept for the way to the GUI.
    ///
    /// The overhead takes at most half of it, so that `movetime 100` with the usual overhead of 200 ms is
    /// still a search.
    pub fn new(movetime: Millis, overhead: Millis) -> Self {
        MoveTimeLimit { limit: (movetime - overhead).max(movetime / 2.0).max(Millis::ZERO) }
    }
}

impl Stopper for MoveTimeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        hints.limit_remaining_time(self.limit - stats.elapsed);
        (stats.elapsed >= self.limit).then_some(StopReason::MoveTime)
    }

    fn deadline(&self) -> Option<Millis> {
        Some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_is_kept_back_once() {
        assert_eq!(MoveTimeLimit::new(Millis(1000.0), Millis(200.0)).deadline(), Some(Millis(800.0)));
        assert_eq!(MoveTimeLimit::new(Millis(100.0), Millis(200.0)).deadline(), Some(Millis(50.0)));
        assert_eq!(MoveTimeLimit::new(Millis(-1.0), Millis(200.0)).deadline(), Some(Millis(0.0)));
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
