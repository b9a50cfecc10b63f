//! The options of the clock.

use std::time::Duration;

use super::managers::DEFAULT_MANAGER;
use crate::options::{OptionKind, OptionValue, option_group};

/// The time manager that the user names, or the default where nobody has named one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagerChoice {
    named: Option<String>,
}

impl ManagerChoice {
    /// Returns the manager that the user has named, be it the default; `None` if the option was left alone.
    pub fn named(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// Returns the manager with its parameters.
    pub fn as_str(&self) -> &str {
        self.named().unwrap_or(DEFAULT_MANAGER)
    }
}

impl OptionValue for ManagerChoice {
    type Range = ();

    fn kind(default: &ManagerChoice, (): &()) -> OptionKind {
        OptionKind::Text { default: default.text() }
    }

    fn parse(text: &str, range: &()) -> Option<ManagerChoice> {
        Some(ManagerChoice { named: Some(String::parse(text, range)?) })
    }

    fn text(&self) -> String {
        self.as_str().into()
    }
}

option_group! {
    /// The options of the clock.
    pub struct TimeOptions {
        /// Time manager: name(parameter=value,…).
        time_manager: ManagerChoice = ManagerChoice::default(), "TimeManager", "time-manager", common;
        /// Count a move's time from `go` in any case, not from the `position` before it.
        strict_timing: bool = false, "StrictTiming", "strict-timing", hidden;
        /// Share of its time that the manager `legacy` takes; another value than 1 chooses that manager.
        slowmover: f64 = 1.0, in 0.0..=100.0, "Slowmover", "slowmover", hidden;
        /// Time kept back from every clock for lag and the GUI, ms.
        move_overhead: Duration = Duration::from_millis(200), in 0..=100_000_000, "MoveOverheadMs", "move-overhead", common;
    }
}
