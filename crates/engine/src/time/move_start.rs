//! The moment from which a move's time counts: the option `StrictTiming`.

use super::facts::GoLimits;
use super::units::Millis;

/// Follows the commands of the GUI to find the moment from which a move's time counts.
///
/// That is when `go` came. If it came together with `position`, the engine read it later: parsing a long
/// `position` is part of the move. What the engine did before `position` costs the move nothing, such as
/// loading a network, and neither does what it did before a `readyok` that the GUI waits for. All times count
/// from the same moment, which the caller chooses.
#[derive(Clone, Copy, Debug, Default)]
pub struct MoveStart {
    position_read_at: Option<Millis>,
}

/// The time at which a `go` line came, and at which the engine took it up after the commands before it.
#[derive(Clone, Copy, Debug)]
pub struct GoTimes {
    pub came: Millis,
    pub now: Millis,
}

impl MoveStart {
    pub fn position_read(&mut self, now: Millis) {
        self.position_read_at = Some(now);
    }

    pub fn readyok_sent(&mut self) {
        self.position_read_at = None;
    }

    /// Returns the start of the move for a `go` line. A `position` counts for one `go` only, only where a
    /// clock is running, and not where timing `is_strict`.
    pub fn go_read(&mut self, go: GoTimes, limits: &GoLimits, is_strict: bool) -> Millis {
        match self.position_read_at.take() {
            Some(position) if limits.time.is_some() && !is_strict => go.came.max(position).min(go.now),
            _ => go.now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> GoLimits {
        GoLimits { time: Some(Millis(1e4)), ..GoLimits::default() }
    }

    /// Returns the start of a move whose `position` was read at 100, and whose `go`, which came then, at 130.
    fn start(is_strict: bool, waits_for_readyok: bool, limits: &GoLimits) -> f64 {
        let mut start = MoveStart::default();
        start.position_read(Millis(100.0));
        if waits_for_readyok {
            start.readyok_sent();
        }
        start.go_read(GoTimes { came: Millis(99.0), now: Millis(130.0) }, limits, is_strict).0
    }

    #[test]
    fn what_the_engine_did_for_the_position_counts_unless_the_gui_waits() {
        assert_eq!(start(false, false, &clock()), 100.0);
        assert_eq!(start(false, true, &clock()), 130.0, "it waited for readyok");
        assert_eq!(start(true, false, &clock()), 130.0);
        assert_eq!(start(false, false, &GoLimits::default()), 130.0, "no clock is running");
    }

    /// A regression: the time in which a person looked at the board counted.
    #[test]
    fn the_time_until_go_comes_does_not_count() {
        let mut start = MoveStart::default();
        start.position_read(Millis(100.0));
        let go = GoTimes { came: Millis(9_000.0), now: Millis(9_001.0) };
        assert_eq!(start.go_read(go, &clock(), false), Millis(9_000.0));
        assert_eq!(start.go_read(go, &clock(), false), Millis(9_001.0), "a position counts for one go");
    }
}
