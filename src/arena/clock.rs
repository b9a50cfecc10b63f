//! How much a side may think: fixed nodes, or a clock that the game itself keeps.
//!
//! What a move costs the clock comes from the player: real time, or nodes under `nodestime`.

use std::fmt;

use crate::time::GoLimits;
use crate::time::replay::TimeControl;

/// What a side may spend on its moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many visits for every move.
    Nodes(u64),
    /// A clock.
    Clock(TimeControl),
}

impl fmt::Display for Pace {
    /// A time control as in PGN, or `N nodes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::Nodes(nodes) => write!(f, "{nodes} nodes"),
            Pace::Clock(control) => control.fmt(f),
        }
    }
}

/// One side's clock during a game.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideClock {
    pace: Pace,
    left_ms: f64,
    movestogo: Option<u32>,
}

impl SideClock {
    pub(super) fn new(pace: Pace) -> SideClock {
        let (left_ms, movestogo) = match pace {
            Pace::Nodes(_) => (f64::INFINITY, None),
            Pace::Clock(control) => (control.time_ms, control.moves),
        };
        SideClock { pace, left_ms, movestogo }
    }

    /// What `go` says to the side.
    pub(super) fn limits(&self) -> GoLimits {
        match self.pace {
            Pace::Nodes(nodes) => GoLimits { nodes: Some(nodes), ..GoLimits::default() },
            Pace::Clock(control) => GoLimits {
                time_ms: Some(self.left_ms),
                inc_ms: control.inc_ms,
                movestogo: self.movestogo,
                ..GoLimits::default()
            },
        }
    }

    /// Takes a move's time off; false if the flag has fallen. Else increment and next period are added. The clock counts in
    /// steps of `tick_ms`: it has fallen when a whole step too much was used.
    pub(super) fn press(&mut self, used_ms: f64, tick_ms: f64) -> bool {
        let Pace::Clock(control) = self.pace else { return true };
        self.left_ms -= used_ms;
        if self.left_ms <= -tick_ms && self.left_ms < 0.0 {
            return false;
        }
        self.left_ms = (self.left_ms + control.inc_ms).max(0.0);
        match self.movestogo {
            Some(1) => {
                self.movestogo = control.moves;
                self.left_ms += control.time_ms;
            }
            Some(left) => self.movestogo = Some(left - 1),
            None => {}
        }
        true
    }

    /// What it shows, ms; `None` where only nodes count.
    pub(super) fn left_ms(&self) -> Option<f64> {
        matches!(self.pace, Pace::Clock(_)).then_some(self.left_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_down_and_is_wound_up_again() {
        let mut clock = SideClock::new(Pace::Clock("2/10+1".parse().unwrap()));
        assert!(clock.press(4_000.0, 0.0));
        assert_eq!((clock.left_ms(), clock.limits().movestogo), (Some(7_000.0), Some(1)));
        assert!(clock.press(7_000.0, 0.0), "the last millisecond is in time");
        assert_eq!((clock.left_ms(), clock.limits().movestogo), (Some(11_000.0), Some(2)));
        let mut by_nodes = clock;
        assert!(!clock.press(11_000.1, 0.0));
        assert!(by_nodes.press(11_000.1, 1.0), "less than a node too much");
        assert!(!by_nodes.press(by_nodes.left_ms().unwrap() + 1.0, 1.0));
    }

    #[test]
    fn fixed_nodes_know_no_clock() {
        let mut clock = SideClock::new(Pace::Nodes(100));
        assert!(clock.press(1e9, 0.0));
        assert_eq!((clock.left_ms(), clock.limits().nodes), (None, Some(100)));
    }
}
