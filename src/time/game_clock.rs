//! One side's chess clock during a game: it runs down, and is wound up by increments and periods.
//!
//! The clock does not read real time: the caller passes the time that each move used. Matches and replays keep their time with it.

use super::TimeControl;
use super::limits::GoLimits;
use super::units::Millis;

/// The clock of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameClock {
    control: TimeControl,
    left: Millis,
    given: Millis,
    movestogo: Option<u32>,
}

impl GameClock {
    /// Returns the clock before the first move of a game with this time control.
    pub fn new(control: TimeControl) -> GameClock {
        GameClock {
            control,
            left: control.time,
            given: control.time,
            movestogo: control.moves.filter(|&moves| moves > 0),
        }
    }

    /// Returns the time left; it is negative after a loss on time.
    pub fn left(&self) -> Millis {
        self.left
    }

    /// Sets the time left, for a game whose clock was recorded.
    pub fn set_left(&mut self, left: Millis) {
        self.left = left;
    }

    /// Returns all the time that the side has been given so far.
    pub fn given(&self) -> Millis {
        self.given
    }

    /// Returns the moves up to the end of the period, the next one included; `None` if there are no periods.
    pub fn movestogo(&self) -> Option<u32> {
        self.movestogo
    }

    /// Returns what `go` tells the engine that is to move.
    pub fn limits(&self) -> GoLimits {
        GoLimits {
            time: Some(self.left),
            inc: self.control.inc,
            movestogo: self.movestogo,
            ..GoLimits::default()
        }
    }

    /// Takes the time of a move off the clock. Returns false if the flag has fallen; otherwise adds the increment and, at the end of a
    /// period, the next one. The clock counts in steps of `tick`: the flag falls when a whole step too much was used.
    #[must_use = "false means that the game is lost on time"]
    pub fn press(&mut self, used: Millis, tick: Millis) -> bool {
        self.left -= used;
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

    fn give(&mut self, time: Millis) {
        self.left += time;
        self.given += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_down_and_is_wound_up_again() {
        let mut clock = GameClock::new("2/10+1".parse().unwrap());
        assert!(clock.press(Millis(4_000.0), Millis(0.0)));
        assert_eq!((clock.left(), clock.limits().movestogo), (Millis(7_000.0), Some(1)));
        assert!(clock.press(Millis(7_000.0), Millis(0.0)), "the last millisecond is in time");
        assert_eq!(
            (clock.left(), clock.movestogo(), clock.given()),
            (Millis(11_000.0), Some(2), Millis(22_000.0))
        );
        let mut by_nodes = clock;
        assert!(!clock.press(Millis(11_000.1), Millis(0.0)));
        assert!(clock.left() < Millis::ZERO);
        assert!(by_nodes.press(Millis(11_000.1), Millis(1.0)), "less than a node too much");
        assert!(!by_nodes.press(by_nodes.left() + Millis(1.0), Millis(1.0)));
    }
}
