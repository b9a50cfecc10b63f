//! Lag that the clock shows: what a move costs beyond the time that the engine saw itself use.
//!
//! A GUI's clock runs on while lines wait in pipes and processes wait for a processor. From one `go` to the next our
//! clock should have lost what we used and gained the increment; what is missing is lag. `MoveOverheadMs` says
//! what to expect of it; a host that is slower than that is noticed here.

/// How much of an old lag is still feared after another move without one.
const MEMORY: f64 = 0.9;
/// A clock that lost more than this was set by hand, or is not ours: that is no lag, ms.
const MAX_LAG_MS: f64 = 500.0;

/// Measures the lag of one game.
#[derive(Clone, Copy, Debug, Default)]
pub struct LagMeter {
    /// What the clock should show at the next `go`, ms.
    expected_ms: Option<f64>,
    lag_ms: f64,
}

impl LagMeter {
    /// The clock at `go`, ms.
    pub fn clock_read(&mut self, time_ms: f64) {
        // A time control that was passed has added time: no lag to be seen.
        if let Some(expected_ms) = self.expected_ms.take() {
            let missing_ms = expected_ms - time_ms;
            let seen_ms = if missing_ms <= MAX_LAG_MS { missing_ms } else { 0.0 };
            self.lag_ms = seen_ms.max(self.lag_ms * MEMORY);
        }
    }

    /// A move was made that began at clock `time_ms` and took `used_ms`.
    pub fn move_made(&mut self, time_ms: f64, used_ms: f64, inc_ms: f64) {
        self.expected_ms = Some(time_ms - used_ms + inc_ms);
    }

    /// The lag to reckon with for one move, ms: the largest of late, old ones counting less and less.
    pub fn lag_ms(&self) -> f64 {
        self.lag_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_what_the_clock_lost_beyond_our_use() {
        let mut meter = LagMeter::default();
        meter.clock_read(1000.0);
        assert_eq!(meter.lag_ms(), 0.0);
        // 1000 − 40 + 10 should be left, 958 are: 12 ms were lost on the way.
        meter.move_made(1000.0, 40.0, 10.0);
        meter.clock_read(958.0);
        assert_eq!(meter.lag_ms(), 12.0);
        // A prompt move: the old lag is feared a little less.
        meter.move_made(958.0, 8.0, 10.0);
        meter.clock_read(960.0);
        assert!((meter.lag_ms() - 10.8).abs() < 1e-9);
        // A new time control.
        meter.move_made(960.0, 10.0, 0.0);
        meter.clock_read(60_950.0);
        assert!((meter.lag_ms() - 9.72).abs() < 1e-9);
    }

    #[test]
    fn a_clock_that_was_set_by_hand_is_no_lag() {
        let mut meter = LagMeter::default();
        meter.move_made(60_000.0, 100.0, 0.0);
        meter.clock_read(30_000.0);
        assert_eq!(meter.lag_ms(), 0.0);
    }

    #[test]
    fn moves_that_we_did_not_budget_show_nothing() {
        let mut meter = LagMeter::default();
        meter.clock_read(1000.0);
        meter.clock_read(500.0);
        assert_eq!(meter.lag_ms(), 0.0);
    }
}
