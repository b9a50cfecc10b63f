//! The options of the clock.

use std::time::Duration;

use super::managers::DEFAULT_MANAGER;
use crate::options::option_group;

option_group! {
    /// The options of the clock.
    pub struct TimeOptions {
        /// Time manager: name(parameter=value,…).
        time_manager: String = DEFAULT_MANAGER.into(), "TimeManager", "time-manager";
        /// Count a move's time from `go` in any case, not from the `position` before it.
        strict_timing: bool = false, "StrictTiming", "strict-timing";
        /// Share of its time that the manager `legacy` takes; another value than 1 chooses that manager.
        slowmover: f64 = 1.0, in 0.0..=100.0, "Slowmover", "slowmover";
        /// Time kept back from every clock for lag and the GUI, ms.
        move_overhead: Duration = Duration::from_millis(200), in 0..=100_000_000, "MoveOverheadMs", "move-overhead";
    }
}
