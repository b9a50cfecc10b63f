//! The moment from which a move's time counts: the option `StrictTiming`.

use super::facts::GoLimits;
use super::units::Millis;

/// Follows the commands of the GUI to find the moment from which a move's time counts.
///
/// A GUI starts the clock when it sends `position` and `go` together; parsing a long `position` is then part of
/// the move. A GUI that waits for `readyok` between the two starts the clock at `go`: what the engine did to get
/// ready, such as loading a network, costs it nothing. All times count from the same moment, which the caller chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MoveStart {
    position_read_at: Option<Millis>,
}

impl MoveStart {
    /// Notes that a `position` line was read at `now`.
    pub(crate) fn position_read(&mut self, now: Millis) {
        self.position_read_at = Some(now);
    }

    /// Notes that `isready` was answered.
    pub(crate) fn readyok_sent(&mut self) {
        self.position_read_at = None;
    }

    /// Returns the start of the move for a `go` line read at `now`. A `position` counts for one `go` only, and only
    /// where a clock is running.
    pub(crate) fn go_read(&mut self, now: Millis, limits: &GoLimits, timing: Timing) -> Millis {
        match self.position_read_at.take() {
            Some(start) if limits.time.is_some() && timing == Timing::FromPosition => start.min(now),
            _ => now,
        }
    }
}

/// The option `StrictTiming`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Off: time counts from `position`, if `go` follows it without `isready` between.
    #[default]
    FromPosition,
    /// On: time counts from `go`.
    Strict,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(timing: Timing, waits_for_readyok: bool, time: Option<f64>) -> f64 {
        let time = time.map(Millis);
        let mut start = MoveStart::default();
        start.position_read(Millis(100.0));
        if waits_for_readyok {
            start.readyok_sent();
        }
        start.go_read(Millis(130.0), &GoLimits { time, ..GoLimits::default() }, timing).0
    }

    #[test]
    fn from_position_unless_the_gui_waits() {
        assert_eq!(start(Timing::FromPosition, false, Some(1e4)), 100.0);
        assert_eq!(start(Timing::FromPosition, true, Some(1e4)), 130.0, "it waited for readyok");
        assert_eq!(start(Timing::Strict, false, Some(1e4)), 130.0);
        assert_eq!(start(Timing::FromPosition, false, None), 130.0, "no clock is running");
    }

    #[test]
    fn a_position_counts_for_one_go() {
        let limits = GoLimits { time: Some(Millis(1e4)), ..GoLimits::default() };
        let mut start = MoveStart::default();
        start.position_read(Millis(100.0));
        assert_eq!(start.go_read(Millis(101.0), &limits, Timing::FromPosition), Millis(100.0));
        assert_eq!(start.go_read(Millis(9_000.0), &limits, Timing::FromPosition), Millis(9_000.0));
    }
}
