//! The lag that the clock shows: what a move costs beyond the time that the engine measured.
//!
//! A GUI's clock runs on while lines wait in pipes and processes wait for a processor. From one `go` to the next our
//! clock should have lost the time that we used and gained the increment; what is missing is lag. `MoveOverheadMs` is
//! the lag to expect; larger lag is measured here.

use super::units::Millis;

/// Share of the largest lag that is kept after another move without lag.
const DECAY: f64 = 0.9;
/// A clock that lost more than this was set by hand or belongs to another game: that is not lag.
const MAX_LAG: Millis = Millis(500.0);

/// Measures the lag of one game.
#[derive(Clone, Copy, Debug, Default)]
pub struct LagMeter {
    /// The time that the clock should show at the next `go`.
    expected: Option<Millis>,
    lag: Millis,
}

impl LagMeter {
    /// Compares the clock at `go` with what it should show.
    pub fn clock_read(&mut self, time: Millis) {
        // A time control that was passed has added time, so that no lag shows.
        if let Some(expected) = self.expected.take() {
            let missing = expected - time;
            let seen = if missing <= MAX_LAG { missing } else { Millis::ZERO };
            self.lag = seen.max(self.lag * DECAY);
        }
    }

    /// Notes that a search without a clock begins: what the clock loses meanwhile is no lag.
    pub fn clock_is_unwatched(&mut self) {
        self.expected = None;
    }

    /// Notes that a move was made which began at clock `time` and took `used`.
    pub fn move_made(&mut self, time: Millis, used: Millis, inc: Millis) {
        self.expected = Some(time - used + inc);
    }

    /// Returns the lag to expect for one move: the largest of the recent ones, of which old ones count less and less.
    pub fn lag(&self) -> Millis {
        self.lag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_what_the_clock_lost_beyond_our_use() {
        let mut meter = LagMeter::default();
        meter.clock_read(Millis(1000.0));
        assert_eq!(meter.lag(), Millis(0.0));
        // 1000 − 40 + 10 should be left, 958 are: 12 ms were lost on the way.
        meter.move_made(Millis(1000.0), Millis(40.0), Millis(10.0));
        meter.clock_read(Millis(958.0));
        assert_eq!(meter.lag(), Millis(12.0));
        // A prompt move: the old lag counts a little less.
        meter.move_made(Millis(958.0), Millis(8.0), Millis(10.0));
        meter.clock_read(Millis(960.0));
        assert!((meter.lag().0 - 10.8).abs() < 1e-9);
        // A new time control.
        meter.move_made(Millis(960.0), Millis(10.0), Millis(0.0));
        meter.clock_read(Millis(60_950.0));
        assert!((meter.lag().0 - 9.72).abs() < 1e-9);
    }

    #[test]
    fn a_clock_that_was_set_by_hand_is_no_lag() {
        let mut meter = LagMeter::default();
        meter.move_made(Millis(60_000.0), Millis(100.0), Millis(0.0));
        meter.clock_read(Millis(30_000.0));
        assert_eq!(meter.lag(), Millis(0.0));
    }

    /// A regression: a short analysis between two moves counted as lag.
    #[test]
    fn what_a_search_without_a_clock_takes_is_no_lag() {
        let mut meter = LagMeter::default();
        meter.move_made(Millis(60_000.0), Millis(100.0), Millis(0.0));
        meter.clock_is_unwatched();
        meter.clock_read(Millis(59_500.0));
        assert_eq!(meter.lag(), Millis(0.0));
    }

    #[test]
    fn moves_that_we_did_not_budget_show_nothing() {
        let mut meter = LagMeter::default();
        meter.clock_read(Millis(1000.0));
        meter.clock_read(Millis(500.0));
        assert_eq!(meter.lag(), Millis(0.0));
    }
}
