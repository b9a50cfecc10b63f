//! The kinds of options, and their descriptions for people and GUIs.

use std::fmt::Write;

use thiserror::Error;

/// The reasons why an option was not set. The text says what would have been right.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionError {
    /// No option has that name.
    #[error("unknown option \"{name}\"{hint}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The nearest known name, as a sentence, or nothing.
        hint: String,
    },
    /// The value is not of the option's kind or outside its range.
    #[error("option {name}: \"{value}\" is not {expected}")]
    Value {
        /// The option's UCI name.
        name: String,
        /// The value as given.
        value: String,
        /// The values that it may have.
        expected: String,
    },
}

/// The kind of an option's value, with range and default.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionKind {
    /// A switch that is on or off.
    Switch {
        /// Value at the start.
        default: bool,
    },
    /// A whole number.
    Integer {
        /// Value at the start.
        default: i64,
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A number; UCI has no type for it and shows a string.
    Decimal {
        /// Value at the start.
        default: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// One of several words.
    Choice {
        /// Value at the start.
        default: &'static str,
        /// All of them.
        choices: Vec<&'static str>,
    },
    /// Any text.
    Text {
        /// Value at the start.
        default: String,
    },
    /// A command rather than a value.
    Button,
}

/// Where an option is shown. All can be set, shown or not. The three are the modes of Lc0's lists: simple, normal and pro.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Visibility {
    /// In `--help` too.
    Common,
    /// In the answer to `uci`, and in `--help-all`.
    #[default]
    Normal,
    /// In the answer to `uci` under `--show-hidden`, and in `--help-all`.
    Hidden,
}

/// One option, as it is shown in lists.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    /// Name in UCI's `setoption`; Lc0's where Lc0 has the option.
    pub name: &'static str,
    /// Name on the command line, without the dashes.
    pub flag: &'static str,
    /// Kind, range and default.
    pub kind: OptionKind,
    /// A sentence on what it does.
    pub help: &'static str,
    /// Where it is shown.
    pub visibility: Visibility,
}

impl OptionSpec {
    /// Returns true if `name` names this option: its UCI name in any case, or its flag.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.flag == name
    }

    /// Returns the error for a `value` that this option cannot have.
    pub fn refuse(&self, value: &str) -> OptionError {
        OptionError::Value { name: self.name.into(), value: value.into(), expected: self.expected() }
    }

    /// Returns what a value may be, in words.
    pub fn expected(&self) -> String {
        match &self.kind {
            OptionKind::Switch { .. } => "true or false".into(),
            OptionKind::Integer { min, max, .. } => format!("an integer from {min} to {max}"),
            OptionKind::Decimal { min, max, .. } => format!("a number from {min} to {max}"),
            OptionKind::Choice { choices, .. } => format!("one of {}", choices.join(", ")),
            OptionKind::Text { .. } => "text".into(),
            OptionKind::Button => "no value".into(),
        }
    }

    /// Returns the default as text; empty text stays empty.
    pub fn default_text(&self) -> String {
        match &self.kind {
            OptionKind::Switch { default } => default.to_string(),
            OptionKind::Integer { default, .. } => default.to_string(),
            OptionKind::Decimal { default, .. } => default.to_string(),
            OptionKind::Choice { default, .. } => (*default).into(),
            OptionKind::Text { default } => default.clone(),
            OptionKind::Button => String::new(),
        }
    }

    /// Returns the line that answers `uci`, with `default` in the place of the declared default.
    pub fn uci_line(&self, default: &str) -> String {
        let mut line = format!("option name {} type ", self.name);
        // Writing to a string cannot fail.
        let _ = match &self.kind {
            OptionKind::Switch { .. } => write!(line, "check default {default}"),
            OptionKind::Integer { min, max, .. } => {
                write!(line, "spin default {default} min {min} max {max}")
            }
            OptionKind::Choice { choices, .. } => {
                // A default that is none of the words would be refused by GUIs.
                let other = Some(default).filter(|default| !choices.contains(default));
                let words = choices.iter().copied().chain(other);
                let vars: String = words.map(|word| format!(" var {word}")).collect();
                write!(line, "combo default {default}{vars}")
            }
            OptionKind::Button => write!(line, "button"),
            OptionKind::Text { .. } if default.is_empty() => write!(line, "string default <empty>"),
            OptionKind::Decimal { .. } | OptionKind::Text { .. } => write!(line, "string default {default}"),
        };
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &'static str, kind: OptionKind) -> OptionSpec {
        OptionSpec { name, flag: "", kind, help: "", visibility: Visibility::Normal }
    }

    fn uci_line(name: &'static str, kind: OptionKind) -> String {
        let spec = spec(name, kind);
        spec.uci_line(&spec.default_text())
    }

    #[test]
    fn a_default_of_the_command_line_stands_in_the_line() {
        let choices = OptionKind::Choice { default: "auto", choices: vec!["auto", "cuda"] };
        let backend = spec("Backend", choices);
        assert_eq!(backend.uci_line("cuda"), "option name Backend type combo default cuda var auto var cuda");
        assert_eq!(
            backend.uci_line("cuda(gpu=1)"),
            "option name Backend type combo default cuda(gpu=1) var auto var cuda var cuda(gpu=1)"
        );
    }

    #[test]
    fn uci_lines() {
        let threads = OptionKind::Integer { default: 2, min: 1, max: 8 };
        assert_eq!(uci_line("Threads", threads), "option name Threads type spin default 2 min 1 max 8");
        let text = OptionKind::Text { default: String::new() };
        assert_eq!(uci_line("WeightsFile", text), "option name WeightsFile type string default <empty>");
        let choice = OptionKind::Choice { default: "no", choices: vec!["no", "always"] };
        assert_eq!(
            uci_line("HistoryFill", choice),
            "option name HistoryFill type combo default no var no var always"
        );
        assert_eq!(uci_line("ClearTree", OptionKind::Button), "option name ClearTree type button");
    }
}
