//! What a UCI `go` command allows, for the side to move.

/// The limits of one `go`. The clock fields are those of the side to move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoLimits {
    /// `wtime` or `btime`: what the mover's clock shows, ms. May be negative in some GUIs.
    pub time_ms: Option<f64>,
    /// `winc` or `binc`: what the mover gets back after each move, ms.
    pub inc_ms: f64,
    /// `movestogo`: moves to the next time control, this one included. 0, which some GUIs send, means none.
    pub movestogo: Option<u32>,
    /// `movetime`: exactly this long, ms.
    pub movetime_ms: Option<f64>,
    /// `nodes`: visits, or playouts with `NodesAsPlayouts`.
    pub nodes: Option<u64>,
    /// `depth`, plies of average depth.
    pub depth: Option<u32>,
    /// `mate`: stop when a mate in this many moves is found.
    pub mate: Option<u32>,
    /// `infinite`: think until `stop`.
    pub infinite: bool,
    /// `ponder`: think until `ponderhit` or `stop`.
    pub ponder: bool,
}

impl GoLimits {
    /// True while the search must not end by itself: `infinite`, or `ponder` before the hit.
    pub fn is_open_ended(&self) -> bool {
        self.infinite || self.ponder
    }

    /// The mover's clock and increment, ms, where a manager has to budget: not negative, and `None` without a
    /// clock or when the search must not end by itself.
    pub fn game_clock(&self) -> Option<(f64, f64)> {
        let time = self.time_ms.filter(|_| !self.is_open_ended())?;
        Some((time.max(0.0), self.inc_ms.max(0.0)))
    }

    /// `moves` capped by `movestogo`, if that is given and above 0; never below 1.
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
        let limits = GoLimits { time_ms: Some(-5.0), inc_ms: -1.0, ..GoLimits::default() };
        assert_eq!(limits.game_clock(), Some((0.0, 0.0)));
    }

    #[test]
    fn open_ended_searches_have_no_game_clock() {
        let limits = GoLimits { time_ms: Some(1000.0), ponder: true, ..GoLimits::default() };
        assert_eq!(limits.game_clock(), None);
    }
}
