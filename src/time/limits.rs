//! The limits that a UCI `go` command sets, for the side to move.

use super::units::{Millis, Nodes};

/// The limits of one `go`. The clock fields are those of the side to move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoLimits {
    /// `wtime` or `btime`: the time on the mover's clock. Some GUIs send negative times.
    pub time: Option<Millis>,
    /// `winc` or `binc`: the time that is added to the mover's clock after each move.
    pub inc: Millis,
    /// `movestogo`: moves to the next time control, this one included. 0, which some GUIs send, means that there is none.
    pub movestogo: Option<u32>,
    /// `movetime`: the time that the search is to take.
    pub movetime: Option<Millis>,
    /// `nodes`: visits in the tree, or playouts of this search with `NodesAsPlayouts`.
    pub nodes: Option<Nodes>,
    /// `depth`: average depth, plies.
    pub depth: Option<u32>,
    /// `mate`: the search stops when it has found a mate in this many moves.
    pub mate: Option<u32>,
    /// `infinite`: the search goes on until `stop`.
    pub infinite: bool,
    /// `ponder`: the search goes on until `ponderhit` or `stop`.
    pub ponder: bool,
}

/// The clock of the side to move, as a manager plans with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoverClock {
    /// The time left, not negative.
    pub time: Millis,
    /// The increment, not negative.
    pub inc: Millis,
}

impl GoLimits {
    /// Returns true while the search must not end by itself: after `infinite`, and after `ponder` before `ponderhit`.
    pub fn is_open_ended(&self) -> bool {
        self.infinite || self.ponder
    }

    /// Returns the mover's clock where a manager has to budget; `None` without a clock or while the search must not end by
    /// itself.
    pub fn mover_clock(&self) -> Option<MoverClock> {
        let time = self.time.filter(|_| !self.is_open_ended())?;
        Some(MoverClock { time: time.max(Millis::ZERO), inc: self.inc.max(Millis::ZERO) })
    }

    /// Returns `moves` capped by `movestogo`, if that is given and above 0; never less than 1.
    pub fn cap_moves_left(&self, moves: f64) -> f64 {
        let cap = self.movestogo.filter(|&n| n > 0).map_or(f64::INFINITY, f64::from);
        moves.min(cap).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn movestogo_caps_and_zero_means_none() {
        let with = |movestogo| GoLimits { movestogo, ..GoLimits::default() }.cap_moves_left(30.0);
        assert_eq!(with(None), 30.0);
        assert_eq!(with(Some(0)), 30.0);
        assert_eq!(with(Some(7)), 7.0);
        assert_eq!(GoLimits::default().cap_moves_left(0.2), 1.0);
    }

    #[test]
    fn negative_clocks_count_as_empty() {
        let limits = GoLimits { time: Some(Millis(-5.0)), inc: Millis(-1.0), ..GoLimits::default() };
        assert_eq!(limits.mover_clock(), Some(MoverClock::default()));
    }

    #[test]
    fn open_ended_searches_have_no_clock() {
        let limits = GoLimits { time: Some(Millis(1000.0)), ponder: true, ..GoLimits::default() };
        assert_eq!(limits.mover_clock(), None);
    }
}
