//! The options that say how the clock is used.

use std::time::Duration;

use super::managers::DEFAULT_MANAGER;
use crate::options::option_group;

option_group! {
    /// How the clock is used.
    pub struct TimeOptions {
        /// How the clock is used: name(parameter=value,…).
        time_manager: String = DEFAULT_MANAGER.into(), "TimeManager", "time-manager";
        /// A move's time counts from `go` in any case, not from the `position` before it.
        strict_timing: bool = false, "StrictTiming", "strict-timing";
        /// Share of its time that the manager `legacy` takes; another value than 1 chooses that manager.
        slowmover: f64 = 1.0, in 0.0..=100.0, "Slowmover", "slowmover";
        /// Kept back from every clock for lag and the GUI, ms.
        move_overhead: Duration = Duration::from_millis(200), in 0..=100_000_000, "MoveOverheadMs", "move-overhead";
    }
}
