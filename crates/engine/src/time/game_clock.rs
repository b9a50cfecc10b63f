//! A side's chess clock. The caller passes the time of each move.

use std::fmt;
use std::str::FromStr;

use super::facts::{Bounds, Limit};
use super::units::Millis;
use thiserror::Error;

/// The clock of one side during a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameClock {
    control: TimeControl,
    left: Millis,
    given: Millis,
    movestogo: Option<u32>,
}

impl GameClock {
    /// A clock at the start of a game.
    pub fn new(control: TimeControl) -> GameClock {
        GameClock {
            control,
            left: control.time,
            given: control.time,
            movestogo: control.moves.filter(|&moves| moves > 0),
        }
    }

    /// Negative after a loss on time.
    pub fn left(&self) -> Millis {
        self.left
    }

    /// Sets the time left.
    pub fn set_left(&mut self, left: Millis) {
        self.left = left;
    }

    /// All time given to the side so far.
    pub fn given(&self) -> Millis {
        self.given
    }

    /// To the end of the period, the next one included.
    pub fn movestogo(&self) -> Option<u32> {
        self.movestogo
    }

    /// The `go` of the next move.
    pub fn limit(&self) -> Limit {
        Limit::Until(Bounds {
            time: Some(self.left),
            inc: self.control.inc,
            movestogo: self.movestogo,
            ..Bounds::default()
        })
    }

    /// Subtracts a move's time. False if the flag has fallen, otherwise adds the increment and a period where
    /// one ends. The flag falls a whole `tick` below zero.
    #[must_use = "false means that the game is lost on time"]
    pub fn press(&mut self, used: Millis, tick: Millis) -> bool {
        self.left = self.left - used;
        if self.left <= Millis::ZERO - tick && self.left < Millis::ZERO {
            return false;
        }
        self.give(self.control.inc);
        self.left = self.left.max(Millis::ZERO);
        match self.movestogo {
            Some(1) => {
                self.movestogo = self.control.moves;
                self.give(self.control.time);
            }
            Some(moves) => self.movestogo = Some(moves - 1),
            None => {}
        }
        true
    }

    /// Begins another period of the time control.
    pub fn enter_period(&mut self, next: TimeControl) {
        self.give(next.time - self.control.time);
        self.control = next;
        self.movestogo = next.moves.filter(|&moves| moves > 0);
    }

    fn give(&mut self, time: Millis) {
        self.left += time;
        self.given += time;
    }
}

/// `[moves/]seconds[+increment]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeControl {
    /// For the game or each period.
    pub time: Millis,
    /// Time gained with each move.
    pub inc: Millis,
    /// Per period.
    pub moves: Option<u32>,
}

/// A text that is no time control.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "\"{0}\" is no time control: expected seconds, with an increment or moves if any, as in 60+0.6, 300 or 40/900"
)]
pub struct NoTimeControl(String);

impl FromStr for TimeControl {
    type Err = NoTimeControl;

    fn from_str(text: &str) -> Result<TimeControl, NoTimeControl> {
        let error = || NoTimeControl(text.to_owned());
        let millis = |seconds: &str| {
            let seconds: f64 = seconds.parse().map_err(|_| error())?;
            (0.0..=1e9)
                .contains(&seconds)
                .then_some(Millis::from_secs(seconds))
                .ok_or_else(error)
        };
        let (moves, rest) = match text.split_once('/') {
            Some((moves, rest)) => (
                Some(moves.parse().ok().filter(|&n| n > 0).ok_or_else(error)?),
                rest,
            ),
            None => (None, text),
        };
        let (time, inc) = rest.split_once('+').unwrap_or((rest, "0"));
        let control = TimeControl {
            time: millis(time)?,
            inc: millis(inc)?,
            moves,
        };
        if control.time > Millis::ZERO {
            Ok(control)
        } else {
            Err(error())
        }
    }
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(moves) = self.moves {
            write!(f, "{moves}/")?;
        }
        write!(f, "{}", self.time.as_secs())?;
        if self.inc > Millis::ZERO || self.moves.is_none() {
            write!(f, "+{}", self.inc.as_secs())
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_down_and_is_wound_up_again() {
        let mut clock = GameClock::new("2/10+1".parse().unwrap());
        assert!(clock.press(Millis(4_000.0), Millis(0.0)));
        assert_eq!(
            (clock.left(), clock.limit().bounds().movestogo),
            (Millis(7_000.0), Some(1))
        );
        assert!(
            clock.press(Millis(7_000.0), Millis(0.0)),
            "the last millisecond is in time"
        );
        assert_eq!(
            (clock.left(), clock.movestogo(), clock.given()),
            (Millis(11_000.0), Some(2), Millis(22_000.0))
        );
        let mut by_nodes = clock;
        assert!(!clock.press(Millis(11_000.1), Millis(0.0)));
        assert!(clock.left() < Millis::ZERO);
        assert!(
            by_nodes.press(Millis(11_000.1), Millis(1.0)),
            "less than a node too much"
        );
        assert!(!by_nodes.press(by_nodes.left() + Millis(1.0), Millis(1.0)));
    }

    #[test]
    fn a_period_follows_another_one() {
        let mut clock = GameClock::new("1/10+1".parse().unwrap());
        assert!(clock.press(Millis(4_000.0), Millis(0.0)));
        clock.enter_period("30".parse().unwrap());
        assert_eq!(
            (clock.left(), clock.movestogo(), clock.given()),
            (Millis(37_000.0), None, Millis(41_000.0))
        );
    }

    #[test]
    fn read_and_written() {
        let control = |time, inc, moves| TimeControl {
            time: Millis(time),
            inc: Millis(inc),
            moves,
        };
        for (text, expected) in [
            ("60+0.6", control(60_000.0, 600.0, None)),
            ("300+0", control(300_000.0, 0.0, None)),
            ("40/900", control(900_000.0, 0.0, Some(40))),
            ("40/7200+30", control(7_200_000.0, 30_000.0, Some(40))),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string(), text);
        }
        assert_eq!("300".parse(), Ok(control(300_000.0, 0.0, None)));
    }

    #[test]
    fn errors_say_what_is_expected() {
        for text in [
            "",
            "x",
            "0/60",
            "-1",
            "60+",
            "60+nan",
            "0",
            "40/7200:20/3600",
            "inf",
        ] {
            let error = text.parse::<TimeControl>().unwrap_err().to_string();
            assert!(error.contains("60+0.6"), "{text}: {error}");
        }
    }
}
