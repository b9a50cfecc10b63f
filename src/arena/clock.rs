//! How much a side may think: fixed nodes, or a clock that the game itself keeps.
//!
//! What a move costs the clock comes from the player: real time, or nodes under `nodestime`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::time::GoLimits;

/// What a side may spend on its moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many visits for every move.
    Nodes(u64),
    /// A clock: base time and increment, ms, and the moves of a period (`None`: the whole game).
    Clock {
        /// Time for the game or each period, ms.
        base_ms: f64,
        /// Added after each move, ms.
        inc_ms: f64,
        /// Moves after which the base time is added again.
        moves: Option<u32>,
    },
}

/// Why a time control was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "\"{0}\" is no time control; write SECONDS, SECONDS+INCREMENT or MOVES/SECONDS+INCREMENT, such as 60+0.6"
)]
pub struct PaceError(String);

impl FromStr for Pace {
    type Err = PaceError;

    /// Reads a time control.
    fn from_str(text: &str) -> Result<Pace, PaceError> {
        parse(text).ok_or_else(|| PaceError(text.into()))
    }
}

fn parse(text: &str) -> Option<Pace> {
    let (moves, time) = match text.split_once('/') {
        Some((moves, time)) => (Some(moves.parse().ok().filter(|&n: &u32| n > 0)?), time),
        None => (None, text),
    };
    let (base, inc) = time.split_once('+').unwrap_or((time, "0"));
    let ms = |text: &str| {
        let seconds: f64 = text.parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0).then_some(seconds * 1000.0)
    };
    let (base_ms, inc_ms) = (ms(base)?, ms(inc)?);
    (base_ms > 0.0).then_some(Pace::Clock { base_ms, inc_ms, moves })
}

impl fmt::Display for Pace {
    /// As in PGN's tag `TimeControl`, in seconds; `N nodes` for fixed nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Pace::Nodes(nodes) => write!(f, "{nodes} nodes"),
            Pace::Clock { base_ms, inc_ms, moves } => {
                if let Some(moves) = moves {
                    write!(f, "{moves}/")?;
                }
                write!(f, "{}", base_ms / 1000.0)?;
                if inc_ms > 0.0 {
                    write!(f, "+{}", inc_ms / 1000.0)?;
                }
                Ok(())
            }
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
            Pace::Clock { base_ms, moves, .. } => (base_ms, moves),
        };
        SideClock { pace, left_ms, movestogo }
    }

    /// What `go` says to the side.
    pub(super) fn limits(&self) -> GoLimits {
        match self.pace {
            Pace::Nodes(nodes) => GoLimits { nodes: Some(nodes), ..GoLimits::default() },
            Pace::Clock { inc_ms, .. } => GoLimits {
                time_ms: Some(self.left_ms),
                inc_ms,
                movestogo: self.movestogo,
                ..GoLimits::default()
            },
        }
    }

    /// Takes a move's time off; false if the flag has fallen. Else increment and next period are added. The clock counts in
    /// steps of `tick_ms`: it has fallen when a whole step too much was used.
    pub(super) fn press(&mut self, used_ms: f64, tick_ms: f64) -> bool {
        let Pace::Clock { base_ms, inc_ms, moves } = self.pace else { return true };
        self.left_ms -= used_ms;
        if self.left_ms <= -tick_ms && self.left_ms < 0.0 {
            return false;
        }
        self.left_ms = (self.left_ms + inc_ms).max(0.0);
        match self.movestogo {
            Some(1) => {
                self.movestogo = moves;
                self.left_ms += base_ms;
            }
            Some(left) => self.movestogo = Some(left - 1),
            None => {}
        }
        true
    }

    /// What it shows, ms; `None` where only nodes count.
    pub(super) fn left_ms(&self) -> Option<f64> {
        matches!(self.pace, Pace::Clock { .. }).then_some(self.left_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_are_read_and_written() {
        for (text, base_ms, inc_ms, moves) in [
            ("60", 60_000.0, 0.0, None),
            ("60+0.6", 60_000.0, 600.0, None),
            ("40/120+1", 120_000.0, 1000.0, Some(40)),
        ] {
            let pace: Pace = text.parse().unwrap();
            assert_eq!(pace, Pace::Clock { base_ms, inc_ms, moves });
            assert_eq!(pace.to_string(), text);
        }
        for text in ["", "x", "0", "-1", "1+", "0/60", "60+-1", "inf"] {
            let error = text.parse::<Pace>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"{text}\" is no time control")), "{error}");
        }
    }

    #[test]
    fn a_clock_runs_down_and_is_wound_up_again() {
        let mut clock = SideClock::new("2/10+1".parse().unwrap());
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
