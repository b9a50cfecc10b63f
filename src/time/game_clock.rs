//! One side's chess clock during a game: it runs down, and is wound up by increments and periods.
//!
//! The clock knows no real time: whoever plays the game says what each move used. Matches and replays keep their time with it.

use super::TimeControl;
use super::limits::GoLimits;

/// The clock of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameClock {
    control: TimeControl,
    left_ms: f64,
    given_ms: f64,
    movestogo: Option<u32>,
}

impl GameClock {
    /// Returns the clock before the first move of a game with this time control.
    pub fn new(control: TimeControl) -> GameClock {
        GameClock {
            control,
            left_ms: control.time_ms,
            given_ms: control.time_ms,
            movestogo: control.moves.filter(|&moves| moves > 0),
        }
    }

    /// Returns the time left, ms; it is negative after a loss on time.
    pub fn left_ms(&self) -> f64 {
        self.left_ms
    }

    /// Sets the time left, ms, for a game whose clock was recorded.
    pub fn set_left_ms(&mut self, left_ms: f64) {
        self.left_ms = left_ms;
    }

    /// Returns all the time that the side has been given so far, ms.
    pub fn given_ms(&self) -> f64 {
        self.given_ms
    }

    /// Returns the moves up to the end of the period, the next one included; `None` if there are no periods.
    pub fn movestogo(&self) -> Option<u32> {
        self.movestogo
    }

    /// Returns what `go` tells the engine that is to move.
    pub fn limits(&self) -> GoLimits {
        GoLimits {
            time_ms: Some(self.left_ms),
            inc_ms: self.control.inc_ms,
            movestogo: self.movestogo,
            ..GoLimits::default()
        }
    }

    /// Takes the time of a move off the clock. Returns false if the flag has fallen; otherwise adds the increment and, at the end of a
    /// period, the next one. The clock counts in steps of `tick_ms`: the flag falls when a whole step too much was used.
    #[must_use = "false means that the game is lost on time"]
    pub fn press(&mut self, used_ms: f64, tick_ms: f64) -> bool {
        self.left_ms -= used_ms;
        if self.left_ms <= -tick_ms && self.left_ms < 0.0 {
            return false;
        }
        self.give(self.control.inc_ms);
        self.left_ms = self.left_ms.max(0.0);
        match self.movestogo {
            Some(1) => {
                self.movestogo = self.control.moves;
                self.give(self.control.time_ms);
            }
            Some(moves) => self.movestogo = Some(moves - 1),
            None => {}
        }
        true
    }

    fn give(&mut self, ms: f64) {
        self.left_ms += ms;
        self.given_ms += ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_down_and_is_wound_up_again() {
        let mut clock = GameClock::new("2/10+1".parse().unwrap());
        assert!(clock.press(4_000.0, 0.0));
        assert_eq!((clock.left_ms(), clock.limits().movestogo), (7_000.0, Some(1)));
        assert!(clock.press(7_000.0, 0.0), "the last millisecond is in time");
        assert_eq!((clock.left_ms(), clock.movestogo(), clock.given_ms()), (11_000.0, Some(2), 22_000.0));
        let mut by_nodes = clock;
        assert!(!clock.press(11_000.1, 0.0));
        assert!(clock.left_ms() < 0.0);
        assert!(by_nodes.press(11_000.1, 1.0), "less than a node too much");
        assert!(!by_nodes.press(by_nodes.left_ms() + 1.0, 1.0));
    }
}
