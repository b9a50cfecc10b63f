//! The moment from which a move's time counts: the option `StrictTiming`.

use super::facts::Limit;
use super::units::Millis;

/// Finds the start of a move's time from the GUI's commands.
///
/// That is when `go` came, or with a clock the `position` before it, whose parsing counts. Work before these
/// or an awaited `readyok` does not. The caller chooses the origin of all times.
#[derive(Clone, Copy, Debug, Default)]
pub struct MoveStart {
    position_read_at: Option<Millis>,
}

/// When a `go` came, and when it was obeyed.
#[derive(Clone, Copy, Debug)]
pub struct GoTimes {
    /// When it was read.
    pub came: Millis,
    /// When the search begins.
    pub now: Millis,
}

impl MoveStart {
    /// Notes that a position was read at `now`.
    pub fn position_read(&mut self, now: Millis) {
        self.position_read_at = Some(now);
    }

    /// Notes that `readyok` was sent.
    pub fn readyok_sent(&mut self) {
        self.position_read_at = None;
    }

    /// A `position` counts for one `go` only, with a clock, unless timing `is_strict`.
    pub fn go_read(&mut self, go: GoTimes, limit: Limit, is_strict: bool) -> Millis {
        match self.position_read_at.take() {
            Some(position) if limit.after_ponder_hit().bounds().time.is_some() && !is_strict => {
                go.came.max(position).min(go.now)
            }
            _ => go.now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Limit {
        Limit::clock(Millis(1e4), Millis::ZERO)
    }

    /// `position` read at 100, `go` came then and was taken up at 130.
    fn start(is_strict: bool, waits_for_readyok: bool, limit: Limit) -> f64 {
        let mut start = MoveStart::default();
        start.position_read(Millis(100.0));
        if waits_for_readyok {
            start.readyok_sent();
        }
        start
            .go_read(
                GoTimes {
                    came: Millis(99.0),
                    now: Millis(130.0),
                },
                limit,
                is_strict,
            )
            .0
    }

    #[test]
    fn what_the_engine_did_for_the_position_counts_unless_the_gui_waits() {
        assert_eq!(start(false, false, clock()), 100.0);
        assert_eq!(start(false, true, clock()), 130.0, "it waited for readyok");
        assert_eq!(start(true, false, clock()), 130.0);
        assert_eq!(start(false, false, Limit::Infinite), 130.0, "no clock is running");
    }

    /// A regression: the time a person took before `go` counted.
    #[test]
    fn the_time_until_go_comes_does_not_count() {
        let mut start = MoveStart::default();
        start.position_read(Millis(100.0));
        let go = GoTimes {
            came: Millis(9_000.0),
            now: Millis(9_001.0),
        };
        assert_eq!(start.go_read(go, clock(), false), Millis(9_000.0));
        assert_eq!(
            start.go_read(go, clock(), false),
            Millis(9_001.0),
            "a position counts for one go"
        );
    }
}
