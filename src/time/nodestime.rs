//! `nodestime`: nodes as time. The engine plays the same game on any machine, under any load.
//!
//! At the first `go` of a game the clock becomes an clock of nodes: npmsec × time. From then on the GUI's
//! clock is ignored; every move is charged the nodes that it made, and increments are paid in. To managers and
//! stoppers the clock looks like a clock (nodes ÷ npmsec), so that all of them work under it unchanged.

use super::facts::MoveFacts;
use super::limits::GoLimits;
use crate::options::option_group;

option_group! {
    /// How nodes count as time.
    #[derive(Copy)]
    pub struct NodesTimeOptions {
        /// Nodes that count as a millisecond, so that games are the same on any machine under any load; 0 is off.
        nodes_per_ms: u32 = 0, in 0..=1_000_000, "nodestime", "nodestime";
        /// Under nodestime: the rate rises towards the endgame, as that of real engines does.
        dynamic: bool = false, "NodestimeDynamic", "nodestime-dynamic";
    }
}

/// By how much the dynamic rate has risen when only the kings are left.
const ENDGAME_GAIN: f64 = 0.5;

impl NodesTimeOptions {
    /// Nodes that pass for one millisecond with so many pieces on the board; `None` if switched off.
    pub fn rate(&self, pieces: u32) -> Option<f64> {
        let gone = f64::from(32 - pieces.clamp(2, 32)) / 30.0;
        let gain = if self.dynamic { 1.0 + ENDGAME_GAIN * gone } else { 1.0 };
        (self.nodes_per_ms > 0).then_some(f64::from(self.nodes_per_ms) * gain)
    }
}

/// The clock of one game. It is kept in ms, nodes divided by the rate of the move that spent them.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeClock {
    clock_ms: Option<f64>,
    /// What the game began with, ms; paid in again at each time control.
    period_ms: f64,
    movestogo: Option<u32>,
}

impl NodeClock {
    /// The facts with the clock in the place of the GUI's clock.
    pub fn replace_clock(&mut self, facts: &MoveFacts) -> MoveFacts {
        let Some((time_ms, _)) = facts.limits.game_clock() else { return facts.clone() };
        if self.clock_ms.is_none() {
            self.period_ms = time_ms;
        } else if has_new_period(self.movestogo, facts.limits.movestogo) {
            self.pay_in(self.period_ms);
        }
        self.movestogo = facts.limits.movestogo;
        let clock_ms = *self.clock_ms.get_or_insert(time_ms);
        let limits = GoLimits { time_ms: Some(clock_ms), ..facts.limits.clone() };
        MoveFacts { limits, elapsed_ms: 0.0, ..facts.clone() }
    }

    /// Charges a move's time (its nodes divided by its rate) and pays in the increment, ms.
    pub fn charge(&mut self, used_ms: f64, inc_ms: f64) {
        self.pay_in(inc_ms - used_ms);
    }

    fn pay_in(&mut self, ms: f64) {
        self.clock_ms = self.clock_ms.map(|clock| (clock + ms).max(0.0));
    }
}

/// True if the moves to go have become more: a time control was passed.
fn has_new_period(before: Option<u32>, now: Option<u32>) -> bool {
    matches!((before, now), (Some(before), Some(now)) if now > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(time_ms: f64, movestogo: Option<u32>) -> MoveFacts {
        let limits = GoLimits { time_ms: Some(time_ms), inc_ms: 100.0, movestogo, ..GoLimits::default() };
        MoveFacts { limits, ..MoveFacts::default() }
    }

    #[test]
    fn the_gui_is_asked_once() {
        let mut clock = NodeClock::default();
        let shown = |facts: MoveFacts| facts.limits.time_ms;
        assert_eq!(shown(clock.replace_clock(&facts(10_000.0, None))), Some(10_000.0));
        clock.charge(1_500.0, 100.0);
        assert_eq!(shown(clock.replace_clock(&facts(3.0, None))), Some(8_600.0));
        clock.charge(1e9, 100.0);
        assert_eq!(shown(clock.replace_clock(&facts(3.0, None))), Some(0.0));
    }

    #[test]
    fn each_time_control_pays_in_again() {
        let mut clock = NodeClock::default();
        clock.replace_clock(&facts(10_000.0, Some(2)));
        clock.charge(4_000.0, 0.0);
        clock.replace_clock(&facts(1.0, Some(1)));
        clock.charge(4_000.0, 0.0);
        let next = clock.replace_clock(&facts(1.0, Some(40)));
        assert_eq!(next.limits.time_ms, Some(12_000.0));
    }

    #[test]
    fn searches_without_a_clock_pass_through() {
        let mut clock = NodeClock::default();
        let infinite = MoveFacts {
            limits: GoLimits { infinite: true, ..facts(5.0, None).limits },
            ..MoveFacts::default()
        };
        assert_eq!(clock.replace_clock(&infinite), infinite);
    }

    #[test]
    fn the_dynamic_rate_rises_towards_the_endgame() {
        let fixed = NodesTimeOptions { nodes_per_ms: 10, dynamic: false };
        assert_eq!((fixed.rate(32), fixed.rate(2)), (Some(10.0), Some(10.0)));
        let dynamic = NodesTimeOptions { dynamic: true, ..fixed };
        assert_eq!(
            (dynamic.rate(32), dynamic.rate(17), dynamic.rate(2)),
            (Some(10.0), Some(12.5), Some(15.0))
        );
        assert_eq!(NodesTimeOptions::default().rate(20), None);
    }
}
