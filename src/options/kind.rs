//! What an option can be, and how its text is read.

use std::fmt::Write;

use thiserror::Error;

/// Why an option was not set. The text says what would have been right.
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
        /// What it may be.
        expected: String,
    },
}

/// The kind of an option's value, with range and default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// On or off.
    Switch {
        /// OptionValue at the start.
        default: bool,
    },
    /// A whole number.
    Integer {
        /// OptionValue at the start.
        default: i64,
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A number; UCI has no type for it and shows a string.
    Decimal {
        /// OptionValue at the start.
        default: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// One of several words.
    Choice {
        /// OptionValue at the start.
        default: &'static str,
        /// All of them.
        choices: &'static [&'static str],
    },
    /// Any text.
    Text {
        /// OptionValue at the start.
        default: &'static str,
    },
}

/// A value that has been read and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Of a [`OptionKind::Switch`].
    Switch(bool),
    /// Of a [`OptionKind::Integer`].
    Integer(i64),
    /// Of a [`OptionKind::Decimal`].
    Decimal(f64),
    /// Of a [`OptionKind::Choice`].
    Choice(&'static str),
    /// Of a [`OptionKind::Text`].
    Text(String),
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionSpec {
    /// Name in UCI's `setoption`; Lc0's where Lc0 has the option.
    pub name: &'static str,
    /// Name on the command line, without the dashes.
    pub flag: &'static str,
    /// OptionKind, range and default.
    pub kind: OptionKind,
    /// What it does.
    pub help: &'static str,
}

impl OptionSpec {
    /// Reads and checks a value.
    ///
    /// # Errors
    /// [`OptionError::Value`] if it is not of the kind or outside the range.
    pub fn parse(&self, text: &str) -> Result<OptionValue, OptionError> {
        let value = match self.kind {
            OptionKind::Switch { .. } => match text.to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" | "1" => Some(OptionValue::Switch(true)),
                "false" | "off" | "no" | "0" => Some(OptionValue::Switch(false)),
                _ => None,
            },
            OptionKind::Integer { min, max, .. } => {
                text.parse().ok().filter(|n| (min..=max).contains(n)).map(OptionValue::Integer)
            }
            OptionKind::Decimal { min, max, .. } => {
                text.parse().ok().filter(|x| (min..=max).contains(x)).map(OptionValue::Decimal)
            }
            OptionKind::Choice { choices, .. } => choices
                .iter()
                .find(|choice| choice.eq_ignore_ascii_case(text))
                .copied()
                .map(OptionValue::Choice),
            // GUIs send UCI's word for an empty string.
            OptionKind::Text { .. } if text == "<empty>" => Some(OptionValue::Text(String::new())),
            OptionKind::Text { .. } => Some(OptionValue::Text(text.into())),
        };
        value.ok_or_else(|| OptionError::Value {
            name: self.name.into(),
            value: text.into(),
            expected: self.expected(),
        })
    }

    /// What a value may be, in words.
    pub fn expected(&self) -> String {
        match self.kind {
            OptionKind::Switch { .. } => "true or false".into(),
            OptionKind::Integer { min, max, .. } => format!("an integer from {min} to {max}"),
            OptionKind::Decimal { min, max, .. } => format!("a number from {min} to {max}"),
            OptionKind::Choice { choices, .. } => format!("one of {}", choices.join(", ")),
            OptionKind::Text { .. } => "text".into(),
        }
    }

    /// The default as text; empty text stays empty.
    pub fn default_text(&self) -> String {
        match self.kind {
            OptionKind::Switch { default } => default.to_string(),
            OptionKind::Integer { default, .. } => default.to_string(),
            OptionKind::Decimal { default, .. } => default.to_string(),
            OptionKind::Choice { default, .. } | OptionKind::Text { default } => default.into(),
        }
    }

    /// The line that `uci` is answered with.
    pub fn uci_line(&self) -> String {
        let mut line = format!("option name {} type ", self.name);
        let default = self.default_text();
        // Writing to a string cannot fail.
        let _ = match self.kind {
            OptionKind::Switch { .. } => write!(line, "check default {default}"),
            OptionKind::Integer { min, max, .. } => {
                write!(line, "spin default {default} min {min} max {max}")
            }
            OptionKind::Choice { choices, .. } => {
                let vars: String = choices.iter().map(|choice| format!(" var {choice}")).collect();
                write!(line, "combo default {default}{vars}")
            }
            OptionKind::Decimal { .. } => write!(line, "string default {default}"),
            OptionKind::Text { .. } if default.is_empty() => write!(line, "string default <empty>"),
            OptionKind::Text { .. } => write!(line, "string default {default}"),
        };
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: OptionSpec = OptionSpec {
        name: "Threads",
        flag: "threads",
        kind: OptionKind::Integer { default: 2, min: 1, max: 8 },
        help: "",
    };

    #[test]
    fn values_are_checked() {
        assert_eq!(THREADS.parse("8"), Ok(OptionValue::Integer(8)));
        assert_eq!(
            THREADS.parse("9").unwrap_err().to_string(),
            "option Threads: \"9\" is not an integer from 1 to 8"
        );
        let kind = OptionKind::Decimal { default: 1.0, min: 0.0, max: 2.0 };
        let decimal = OptionSpec { kind, ..THREADS };
        assert!(decimal.parse("nan").is_err() && decimal.parse("2.1").is_err() && decimal.parse("").is_err());
        assert_eq!(decimal.parse("2"), Ok(OptionValue::Decimal(2.0)));
    }

    #[test]
    fn uci_lines() {
        assert_eq!(THREADS.uci_line(), "option name Threads type spin default 2 min 1 max 8");
        let text = OptionSpec { name: "WeightsFile", kind: OptionKind::Text { default: "" }, ..THREADS };
        assert_eq!(text.uci_line(), "option name WeightsFile type string default <empty>");
        let kind = OptionKind::Choice { default: "no", choices: &["no", "always"] };
        let choice = OptionSpec { name: "HistoryFill", kind, ..THREADS };
        assert_eq!(choice.uci_line(), "option name HistoryFill type combo default no var no var always");
    }
}
