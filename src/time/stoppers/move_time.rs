//! `go movetime`.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// Stops after a fixed time.
#[derive(Clone, Copy, Debug)]
pub struct MoveTimeLimit {
    limit_ms: f64,
}

impl MoveTimeLimit {
    /// Stops in time for a `movetime` of `movetime_ms` with `overhead_ms` for the way to the GUI.
    ///
    /// The overhead takes at most half of it, so that `movetime 100` with the usual overhead of 200 ms is
    /// still a search.
    pub fn new(movetime_ms: f64, overhead_ms: f64) -> Self {
        MoveTimeLimit { limit_ms: (movetime_ms - overhead_ms).max(movetime_ms / 2.0).max(0.0) }
    }
}

impl Stopper for MoveTimeLimit {
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason> {
        hints.limit_remaining_ms(self.limit_ms - stats.elapsed_ms);
        (stats.elapsed_ms >= self.limit_ms).then_some(StopReason::MoveTime)
    }

    fn deadline_ms(&self) -> Option<f64> {
        Some(self.limit_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_is_kept_back_once() {
        assert_eq!(MoveTimeLimit::new(1000.0, 200.0).deadline_ms(), Some(800.0));
        assert_eq!(MoveTimeLimit::new(100.0, 200.0).deadline_ms(), Some(50.0));
        assert_eq!(MoveTimeLimit::new(-1.0, 200.0).deadline_ms(), Some(0.0));
    }

    #[test]
    fn stops_at_the_limit_not_before() {
        let mut stopper = MoveTimeLimit::new(1000.0, 0.0);
        let mut hints = Hints::default();
        let at = |elapsed_ms| SearchStats { elapsed_ms, ..SearchStats::default() };
        assert_eq!(stopper.should_stop(&at(999.9), &mut hints), None);
        assert_eq!(stopper.should_stop(&at(1000.0), &mut hints), Some(StopReason::MoveTime));
    }
}
