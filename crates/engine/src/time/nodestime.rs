//! `nodestime`: node counts instead of wall-clock time.
//!
//! The first `go` of a game sets a clock of nodes (npmsec × time). Later clocks of the GUI are ignored.
//! Managers and stoppers see milliseconds (nodes ÷ npmsec).

use super::facts::{Bounds, Limit, MoveFacts};
use super::units::{Millis, Nodes};
use crate::options::option_group;

option_group! {
    /// Nodes in the place of time.
    #[derive(Copy)]
    pub struct NodesTimeOptions {
        /// Use node counts instead of wall-clock time: this many nodes count as one millisecond. With one
        /// thread of the CPU and fp32, games are then the same under any load. 0 turns this off.
        nodes_per_ms: u32 = 0, in 0..=1_000_000, "nodestime", "nodestime";
        /// Raise the rate of nodestime towards the endgame, as the speed of real engines rises.
        dynamic: bool = false, "NodestimeDynamic", "nodestime-dynamic", hidden;
    }
}

/// With fewer pieces searches get faster, as more visits end where the result is known …
const ENDGAME_PIECES: u32 = 12;
/// … by this share when only kings are left. Measured, see `docs/results/time-management.md`.
const ENDGAME_GAIN: f64 = 0.6;

impl NodesTimeOptions {
    pub(crate) fn rate(&self, pieces: u32) -> Option<NodesPerMilli> {
        let gone =
            f64::from(ENDGAME_PIECES - pieces.clamp(2, ENDGAME_PIECES)) / f64::from(ENDGAME_PIECES - 2);
        let gain = if self.dynamic {
            1.0 + ENDGAME_GAIN * gone
        } else {
            1.0
        };
        (self.nodes_per_ms > 0).then_some(NodesPerMilli(f64::from(self.nodes_per_ms) * gain))
    }
}

/// Nodes in the place of a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NodesPerMilli(pub f64);

impl NodesPerMilli {
    /// The time for which `nodes` stand.
    pub fn time_of(self, nodes: Nodes) -> Millis {
        Millis(nodes.as_f64() / self.0)
    }

    pub(crate) fn nodes_in(self, time: Millis) -> Nodes {
        Nodes((time.0 * self.0).round() as u64)
    }
}

/// In milliseconds: nodes divided by the rate of the move that used them.
#[derive(Debug, Default)]
pub(crate) struct NodeClock {
    left: Option<Millis>,
    period: Millis,
    movestogo: Option<u32>,
}

impl NodeClock {
    pub(crate) fn replace_clock(&mut self, facts: &MoveFacts) -> MoveFacts {
        let Some(gui) = facts.limit.mover_clock() else {
            return facts.clone();
        };
        if self.left.is_none() {
            self.period = gui.time;
        } else if has_new_period(self.movestogo, gui.movestogo) {
            self.add(self.period);
            if gui.movestogo.is_none() {
                // Only the GUI knows whether the rest of the game has less than a period.
                self.left = self.left.map(|left| left.min(gui.time));
            }
        }
        self.movestogo = gui.movestogo;
        let left = *self.left.get_or_insert(gui.time);
        let limit = Limit::Until(Bounds {
            time: Some(left),
            ..facts.limit.bounds()
        });
        MoveFacts {
            limit,
            elapsed: Millis::ZERO,
            ..facts.clone()
        }
    }

    pub(crate) fn press(&mut self, used: Millis, inc: Millis) {
        self.add(inc - used);
    }

    fn add(&mut self, time: Millis) {
        self.left = self.left.map(|left| (left + time).max(Millis::ZERO));
    }
}

fn has_new_period(before: Option<u32>, now: Option<u32>) -> bool {
    before == Some(1) || matches!((before, now), (Some(before), Some(now)) if now > before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionGroup;

    fn facts(time: f64, movestogo: Option<u32>) -> MoveFacts {
        let limit = Limit::Until(Bounds {
            time: Some(Millis(time)),
            inc: Millis(100.0),
            movestogo,
            ..Bounds::default()
        });
        MoveFacts {
            limit,
            ..MoveFacts::default()
        }
    }

    /// A regression: the help promised the same game on any machine.
    #[test]
    fn the_help_names_the_conditions_of_the_same_game() {
        let help = NodesTimeOptions::declared()[0].help;
        let page = include_str!("../../../../docs/reference/time-management.md");
        let readme = include_str!("../../../../README.md");
        for text in [help, page, readme] {
            let names_all = |line: &str| line.contains("one thread of the CPU") && line.contains("fp32");
            assert!(text.lines().any(names_all), "{help}");
        }
    }

    #[test]
    fn the_gui_is_asked_once() {
        let mut clock = NodeClock::default();
        let shown = |facts: MoveFacts| facts.limit.bounds().time;
        assert_eq!(
            shown(clock.replace_clock(&facts(10_000.0, None))),
            Some(Millis(10_000.0))
        );
        clock.press(Millis(1_500.0), Millis(100.0));
        assert_eq!(
            shown(clock.replace_clock(&facts(3.0, None))),
            Some(Millis(8_600.0))
        );
        clock.press(Millis(1e9), Millis(100.0));
        assert_eq!(shown(clock.replace_clock(&facts(3.0, None))), Some(Millis(0.0)));
    }

    #[test]
    fn each_time_control_adds_the_period_again() {
        let mut clock = NodeClock::default();
        clock.replace_clock(&facts(10_000.0, Some(2)));
        clock.press(Millis(4_000.0), Millis(0.0));
        clock.replace_clock(&facts(1.0, Some(1)));
        clock.press(Millis(4_000.0), Millis(0.0));
        let next = clock.replace_clock(&facts(1.0, Some(40)));
        assert_eq!(next.limit.bounds().time, Some(Millis(12_000.0)));
    }

    /// A regression: periods of one move got no time.
    #[test]
    fn the_last_move_before_a_time_control_is_followed_by_a_period() {
        let play = |moves: &[(f64, Option<u32>)]| -> Vec<f64> {
            let mut clock = NodeClock::default();
            let play = |&(gui, movestogo)| {
                let shown = clock
                    .replace_clock(&facts(gui, movestogo))
                    .limit
                    .bounds()
                    .time
                    .unwrap();
                clock.press(shown * 0.9, Millis::ZERO);
                shown.0.round()
            };
            moves.iter().map(play).collect()
        };
        let one = (2_000.0, Some(1));
        assert_eq!(play(&[one, one, one]), [2_000.0, 2_200.0, 2_220.0]);
        let two = (2_000.0, Some(2));
        for none in [None, Some(0)] {
            assert_eq!(
                play(&[two, one, (9_000.0, none), (9_000.0, none)]),
                [2_000.0, 200.0, 2_020.0, 202.0]
            );
            assert_eq!(
                play(&[two, one, (500.0, none)])[2],
                500.0,
                "no more than the GUI shows"
            );
        }
    }

    #[test]
    fn searches_without_a_clock_pass_through() {
        let mut clock = NodeClock::default();
        let infinite = MoveFacts {
            limit: Limit::Infinite,
            ..MoveFacts::default()
        };
        assert_eq!(clock.replace_clock(&infinite), infinite);
    }

    #[test]
    fn the_dynamic_rate_rises_towards_the_endgame() {
        let fixed = NodesTimeOptions {
            nodes_per_ms: 10,
            dynamic: false,
        };
        assert_eq!(
            (fixed.rate(32), fixed.rate(2)),
            (Some(NodesPerMilli(10.0)), Some(NodesPerMilli(10.0)))
        );
        let dynamic = NodesTimeOptions {
            dynamic: true,
            ..fixed
        };
        assert_eq!(
            (
                dynamic.rate(32),
                dynamic.rate(12),
                dynamic.rate(7),
                dynamic.rate(2)
            ),
            (
                Some(NodesPerMilli(10.0)),
                Some(NodesPerMilli(10.0)),
                Some(NodesPerMilli(13.0)),
                Some(NodesPerMilli(16.0))
            )
        );
        assert_eq!(NodesTimeOptions::default().rate(20), None);
    }
}
