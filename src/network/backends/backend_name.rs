//! The value of the option `Backend`: a backend's name, perhaps with parameters in parentheses. GUIs are offered the names;
//! the text itself is read by [`config`](super::config).

use std::ops::Deref;

use super::{AUTO, aliases, names};
use crate::options::{OptionKind, OptionValue};

/// The text of the option `Backend`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendName(String);

impl Default for BackendName {
    fn default() -> BackendName {
        BackendName(AUTO.into())
    }
}

impl From<&str> for BackendName {
    fn from(text: &str) -> BackendName {
        BackendName(text.into())
    }
}

impl Deref for BackendName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl OptionValue for BackendName {
    type Range = ();

    /// Lists Lc0's names too: its users' settings have them.
    fn kind(_: &BackendName, (): &()) -> OptionKind {
        let choices = names().chain(aliases::all_names()).collect();
        OptionKind::Choice { default: AUTO, choices }
    }

    /// Takes any text: its grammar is checked when the option is set, with a message of its own.
    fn parse(text: &str, (): &()) -> Option<BackendName> {
        Some(text.into())
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::BackendConfig;
    use super::*;

    #[test]
    fn every_name_that_is_offered_is_taken() {
        let OptionKind::Choice { default, choices } = BackendName::kind(&BackendName::default(), &()) else {
            panic!("no combo")
        };
        assert_eq!(*BackendName::default(), *default);
        for name in choices {
            BackendConfig::parse(name, "").unwrap();
        }
    }
}
