//! Time controls as people write them: `60+0.6`, `300`, `40/900`, in seconds.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::units::Millis;

/// A time control. Written and read as `[moves/]seconds[+increment]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeControl {
    /// Time for the game, or for each period.
    pub time: Millis,
    /// Increment.
    pub inc: Millis,
    /// Moves per period; `None` for the whole game.
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
            (0.0..=1e9).contains(&seconds).then_some(Millis::from_secs(seconds)).ok_or_else(error)
        };
        let (moves, rest) = match text.split_once('/') {
            Some((moves, rest)) => (Some(moves.parse().ok().filter(|&n| n > 0).ok_or_else(error)?), rest),
            None => (None, text),
        };
        let (time, inc) = rest.split_once('+').unwrap_or((rest, "0"));
        let control = TimeControl { time: millis(time)?, inc: millis(inc)?, moves };
        if control.time > Millis::ZERO { Ok(control) } else { Err(error()) }
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
    fn read_and_written() {
        let control = |time, inc, moves| TimeControl { time: Millis(time), inc: Millis(inc), moves };
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
        for text in ["", "x", "0/60", "-1", "60+", "60+nan", "0", "40/7200:20/3600", "inf"] {
            let error = text.parse::<TimeControl>().unwrap_err().to_string();
            assert!(error.contains("60+0.6"), "{text}: {error}");
        }
    }
}
