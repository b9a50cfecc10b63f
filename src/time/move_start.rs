//! When a move's clock began to run: the option `StrictTiming`.

use super::limits::GoLimits;

/// Follows the conversation with the GUI to the moment from which a move's time counts.
///
/// A GUI starts the clock when it sends `position` and `go` together; parsing a long `position` is then part of
/// the move. A GUI that waits for `readyok` between the two starts the clock at `go`: what the engine did to get
/// ready, such as loading a network, costs it nothing. All times are those of one [`super::Clock`], ms.
#[derive(Clone, Copy, Debug, Default)]
pub struct MoveStart {
    position_ms: Option<f64>,
}

impl MoveStart {
    /// A `position` line was read at `now_ms`.
    pub fn position_read(&mut self, now_ms: f64) {
        self.position_ms = Some(now_ms);
    }

    /// `isready` was answered.
    pub fn readyok_sent(&mut self) {
        self.position_ms = None;
    }

    /// The start of the move for a `go` line read at `now_ms`. A `position` counts for one `go` only, and only
    /// where a clock is running.
    pub fn go_read(&mut self, now_ms: f64, limits: &GoLimits, timing: Timing) -> f64 {
        match self.position_ms.take() {
            Some(start_ms) if limits.time_ms.is_some() && timing == Timing::FromPosition => {
                start_ms.min(now_ms)
            }
            _ => now_ms,
        }
    }
}

/// The option `StrictTiming`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Off: time counts from `position`, if `go` follows it without `isready` between.
    #[default]
    FromPosition,
    /// On: time counts from `go`.
    Strict,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(timing: Timing, waits_for_readyok: bool, time_ms: Option<f64>) -> f64 {
        let mut start = MoveStart::default();
        start.position_read(100.0);
        if waits_for_readyok {
            start.readyok_sent();
        }
        start.go_read(130.0, &GoLimits { time_ms, ..GoLimits::default() }, timing)
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
        let limits = GoLimits { time_ms: Some(1e4), ..GoLimits::default() };
        let mut start = MoveStart::default();
        start.position_read(100.0);
        assert_eq!(start.go_read(101.0, &limits, Timing::FromPosition), 100.0);
        assert_eq!(start.go_read(9_000.0, &limits, Timing::FromPosition), 9_000.0);
    }
}
