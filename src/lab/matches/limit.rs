//! The limit of a side's thinking in a match: a fixed number of visits, or a clock.
//!
//! The player says what a move costs the clock: real time, or nodes under `nodestime`.

use std::fmt;

use crate::time::{GameClock, GoLimits, Millis, Nodes, TimeControl};

/// The limit of what a side may spend on its moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SideLimit {
    /// This many visits for every move.
    Nodes(u64),
    /// A clock.
    Clock(TimeControl),
}

impl fmt::Display for SideLimit {
    /// Writes a time control as in PGN, or `N nodes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideLimit::Nodes(nodes) => write!(f, "{nodes} nodes"),
            SideLimit::Clock(control) => control.fmt(f),
        }
    }
}

/// The rest of a side's limit during a game.
#[derive(Clone, Copy, Debug)]
pub(super) enum SideBudget {
    /// This many visits for every move.
    Nodes(u64),
    /// The time on its clock.
    Clock(GameClock),
}

impl SideBudget {
    /// Returns what the side has at the start of a game.
    pub(super) fn new(limit: SideLimit) -> SideBudget {
        match limit {
            SideLimit::Nodes(nodes) => SideBudget::Nodes(nodes),
            SideLimit::Clock(control) => SideBudget::Clock(GameClock::new(control)),
        }
    }

    /// Returns what `go` tells the side.
    pub(super) fn limits(&self) -> GoLimits {
        match self {
            SideBudget::Nodes(nodes) => GoLimits { nodes: Some(Nodes(*nodes)), ..GoLimits::default() },
            SideBudget::Clock(clock) => clock.limits(),
        }
    }

    /// Takes a move's time off the clock, if there is one. Returns false if the flag has fallen.
    pub(super) fn press(&mut self, used: Millis, tick: Millis) -> bool {
        match self {
            SideBudget::Nodes(_) => true,
            SideBudget::Clock(clock) => clock.press(used, tick),
        }
    }

    /// Returns the time left, ms; `None` where only nodes count.
    pub(super) fn left_ms(&self) -> Option<f64> {
        match self {
            SideBudget::Nodes(_) => None,
            SideBudget::Clock(clock) => Some(clock.left().0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_nodes_know_no_clock() {
        let mut budget = SideBudget::new(SideLimit::Nodes(100));
        assert!(budget.press(Millis(1e9), Millis::ZERO));
        assert_eq!((budget.left_ms(), budget.limits().nodes), (None, Some(Nodes(100))));
    }
}
