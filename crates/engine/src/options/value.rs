//! The types of options: how their text is read and shown.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::time::Duration;

use thiserror::Error;

/// A value as a shell would hand it over: without quotation marks, and with the user's folder for `~` and
/// `$HOME`.
pub fn unquoted(value: &str) -> String {
    let within = |mark: char| value.trim().strip_prefix(mark)?.strip_suffix(mark);
    let plain = ['"', '\''].into_iter().find_map(within).unwrap_or(value);
    let below_home = ["~", "$HOME"]
        .into_iter()
        .find_map(|home| plain.trim_start().strip_prefix(home));
    let below_home = below_home.filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    match below_home.zip(std::env::home_dir()) {
        Some((rest, home)) => format!("{}{rest}", home.display()),
        None => plain.to_owned(),
    }
}

/// Why an option was not set, and what would have been right.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    #[error("unknown option \"{name}\"{hint}")]
    Unknown { name: String, hint: String },
    /// The value is not of the option's kind or outside its range.
    #[error("option {name}: \"{value}\" is not {expected}")]
    Value {
        name: String,
        value: String,
        expected: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum OptionKind {
    Switch,
    Integer {
        min: i64,
        max: i64,
    },
    /// A number. UCI has no type for it and shows a string.
    Decimal {
        min: f64,
        max: f64,
    },
    Choice(Vec<&'static str>),
    Text,
    /// A command rather than a value.
    Button,
}

impl OptionKind {
    /// What a value may be, in words.
    pub fn expected(&self) -> String {
        match self {
            OptionKind::Switch => "true or false".into(),
            OptionKind::Integer { min, max } => format!("an integer from {min} to {max}"),
            OptionKind::Decimal { min, max } => format!("a number from {min} to {max}"),
            OptionKind::Choice(choices) => format!("one of {}", choices.join(", ")),
            OptionKind::Text => "text".into(),
            OptionKind::Button => "no value".into(),
        }
    }
}

/// Where an option is shown. All can be set. The three are the modes of Lc0's lists: simple, normal and pro.
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
    /// Name in UCI's `setoption`, Lc0's where Lc0 has the option, or in a parameter list.
    pub name: &'static str,
    /// Name on the command line, without the dashes. The same as `name` in a parameter list.
    pub flag: &'static str,
    pub kind: OptionKind,
    /// As text, perhaps empty.
    pub default: String,
    pub help: &'static str,
    pub visibility: Visibility,
    /// The words of a choice, each with its meaning.
    pub meanings: Vec<(&'static str, &'static str)>,
}

impl OptionSpec {
    /// Describes an option of the type `T` with these `names`: in lists and on the command line.
    pub fn new<T: OptionValue>(
        [name, flag]: [&'static str; 2],
        default: &T,
        range: &T::Range,
        help: &'static str,
        visibility: Visibility,
    ) -> OptionSpec {
        let kind = T::kind(range);
        let default = default.text();
        let meanings = T::meanings();
        OptionSpec {
            name,
            flag,
            kind,
            default,
            help,
            visibility,
            meanings,
        }
    }

    /// True if `name` names this option: its UCI name in any case, or its flag.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.flag == name
    }

    /// The line that answers `uci`, with `default` in the place of the declared default.
    pub(crate) fn uci_line(&self, default: &str) -> String {
        let kind = match &self.kind {
            OptionKind::Switch => format!("check default {default}"),
            OptionKind::Integer { min, max } => format!("spin default {default} min {min} max {max}"),
            OptionKind::Choice(choices) => {
                // A default that is none of the words would be refused by GUIs.
                let other = Some(default).filter(|default| !choices.contains(default));
                let words = choices.iter().copied().chain(other);
                let vars: String = words.map(|word| format!(" var {word}")).collect();
                format!("combo default {default}{vars}")
            }
            OptionKind::Button => "button".into(),
            OptionKind::Text if default.is_empty() => "string default <empty>".into(),
            OptionKind::Decimal { .. } | OptionKind::Text => format!("string default {default}"),
        };
        format!("option name {} type {kind}", self.name)
    }
}

/// A type that an option's value can have.
pub trait OptionValue: Sized {
    /// Declared beside the default: the smallest and largest value, or `()`.
    type Range;

    fn kind(range: &Self::Range) -> OptionKind;

    /// `None` if `text` is not of the type or outside the range.
    fn parse(text: &str, range: &Self::Range) -> Option<Self>;

    fn text(&self) -> String;

    /// The words of a choice, each with its meaning, or nothing for other types.
    fn meanings() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// Sets `place` to `value` if `asked` is one of the option's `names`. True if it is.
pub fn set_if_named<T: OptionValue>(
    place: &mut T,
    names: [&'static str; 2],
    range: &T::Range,
    (asked, value): (&str, &str),
) -> Result<bool, OptionError> {
    if !names[0].eq_ignore_ascii_case(asked) && names[1] != asked {
        return Ok(false);
    }
    *place = T::parse(value, range).ok_or_else(|| {
        let expected = T::kind(range).expected();
        OptionError::Value {
            name: names[0].into(),
            value: value.into(),
            expected,
        }
    })?;
    Ok(true)
}

impl OptionValue for bool {
    type Range = ();

    fn kind((): &()) -> OptionKind {
        OptionKind::Switch
    }

    fn parse(text: &str, (): &()) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Some(true),
            "false" | "off" | "no" | "0" => Some(false),
            _ => None,
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for String {
    type Range = ();

    fn kind((): &()) -> OptionKind {
        OptionKind::Text
    }

    /// GUIs send `<empty>` for an empty string.
    fn parse(text: &str, (): &()) -> Option<String> {
        Some(if text == "<empty>" {
            String::new()
        } else {
            text.into()
        })
    }

    fn text(&self) -> String {
        self.clone()
    }
}

/// Declares an integer type. Ranges are those of UCI's `spin`, which is signed.
macro_rules! integer_value {
    ($type:ty) => {
        impl OptionValue for $type {
            type Range = RangeInclusive<i64>;

            fn kind(range: &Self::Range) -> OptionKind {
                OptionKind::Integer {
                    min: *range.start(),
                    max: *range.end(),
                }
            }

            fn parse(text: &str, range: &Self::Range) -> Option<$type> {
                // Lists of parameters may say 40.0, as Lc0's must.
                let zeros =
                    |(_, rest): &(&str, &str)| !rest.is_empty() && rest.bytes().all(|digit| digit == b'0');
                let whole = text
                    .split_once('.')
                    .filter(zeros)
                    .map_or(text, |(number, _)| number);
                let number = whole.parse().ok().filter(|number| range.contains(number))?;
                <$type>::try_from(number).ok()
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }

        /// `None` is written 0.
        impl OptionValue for Option<NonZero<$type>> {
            type Range = RangeInclusive<i64>;

            fn kind(range: &Self::Range) -> OptionKind {
                <$type>::kind(range)
            }

            fn parse(text: &str, range: &Self::Range) -> Option<Self> {
                <$type>::parse(text, range).map(NonZero::new)
            }

            fn text(&self) -> String {
                self.map_or(0, NonZero::get).to_string()
            }
        }
    };
}

integer_value!(i32);
integer_value!(u32);
integer_value!(u64);
integer_value!(usize);

/// A time is written in milliseconds.
impl OptionValue for Duration {
    type Range = RangeInclusive<i64>;

    fn kind(range: &Self::Range) -> OptionKind {
        u64::kind(range)
    }

    fn parse(text: &str, range: &Self::Range) -> Option<Duration> {
        u64::parse(text, range).map(Duration::from_millis)
    }

    fn text(&self) -> String {
        self.as_millis().to_string()
    }
}

macro_rules! decimal_value {
    ($type:ty) => {
        impl OptionValue for $type {
            type Range = RangeInclusive<f64>;

            fn kind(range: &Self::Range) -> OptionKind {
                OptionKind::Decimal {
                    min: *range.start(),
                    max: *range.end(),
                }
            }

            fn parse(text: &str, range: &Self::Range) -> Option<$type> {
                text.parse()
                    .ok()
                    .filter(|number| range.contains(number))
                    .map(|number: f64| number as $type)
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }
    };
}

decimal_value!(f32);
decimal_value!(f64);

/// An enum with a word for each variant, which `option_choice!` declares.
pub trait OptionChoice: Copy + PartialEq + 'static {
    /// All variants with their words and what these mean, as they are listed.
    const CHOICES: &'static [(&'static str, Self, &'static str)];

    /// The variant of this word, in any case of letters.
    fn from_name(name: &str) -> Option<Self> {
        Self::CHOICES
            .iter()
            .find(|(known, ..)| known.eq_ignore_ascii_case(name))
            .map(|&(_, choice, _)| choice)
    }

    /// As [`OptionChoice::from_name`], with all words in the error, for flags.
    fn read(name: &str) -> Result<Self, String> {
        let words = || {
            Self::CHOICES
                .iter()
                .map(|(word, ..)| *word)
                .collect::<Vec<_>>()
                .join(", ")
        };
        Self::from_name(name).ok_or_else(|| format!("expected one of {}", words()))
    }

    fn all() -> impl Iterator<Item = Self> {
        Self::CHOICES.iter().map(|(_, choice, _)| *choice)
    }

    fn name(self) -> &'static str {
        Self::CHOICES
            .iter()
            .find(|(_, choice, _)| *choice == self)
            .map_or("", |(name, ..)| name)
    }
}

impl<T: OptionChoice> OptionValue for T {
    type Range = ();

    fn kind((): &()) -> OptionKind {
        OptionKind::Choice(T::CHOICES.iter().map(|(name, ..)| *name).collect())
    }

    fn parse(text: &str, (): &()) -> Option<T> {
        T::from_name(text)
    }

    fn text(&self) -> String {
        self.name().into()
    }

    fn meanings() -> Vec<(&'static str, &'static str)> {
        T::CHOICES
            .iter()
            .map(|(name, _, meaning)| (*name, meaning.trim()))
            .collect()
    }
}

/// Declares an [`OptionChoice`]. `enum NodeTarget = Tree` gives it a default.
///
/// ```text
/// option_choice! {
///     /// The number that should be the same at the end of every move.
///     pub enum NodeTarget {
///         /// The nodes of the whole tree.
///         Tree = "tree",
///         /// The visits of the best move.
///         BestMove = "bestmove",
///     }
/// }
/// ```
#[macro_export]
macro_rules! option_choice {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $choice:ident $(= $default:ident)? {
            $( $(#[doc = $meaning:literal])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $choice {
            $( $(#[doc = $meaning])* $variant, )+
        }

        impl $crate::options::OptionChoice for $choice {
            const CHOICES: &'static [(&'static str, $choice, &'static str)] =
                &[$( ($word, $choice::$variant, concat!($($meaning),*)), )+];
        }
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::options::OptionChoice::name(*self))
            }
        }

        $(impl Default for $choice {
            fn default() -> Self {
                $choice::$default
            }
        })?
    };
}

pub use option_choice;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &'static str, kind: OptionKind) -> OptionSpec {
        OptionSpec {
            name,
            flag: "",
            kind,
            default: "".into(),
            help: "",
            visibility: Visibility::Normal,
            meanings: Vec::new(),
        }
    }

    #[test]
    fn a_default_of_the_command_line_stands_in_the_line() {
        let choices = OptionKind::Choice(vec!["auto", "cuda"]);
        let backend = spec("Backend", choices);
        assert_eq!(
            backend.uci_line("cuda"),
            "option name Backend type combo default cuda var auto var cuda"
        );
        assert_eq!(
            backend.uci_line("cuda(gpu=1)"),
            "option name Backend type combo default cuda(gpu=1) var auto var cuda var cuda(gpu=1)"
        );
    }

    #[test]
    fn uci_lines() {
        let threads = spec("Threads", OptionKind::Integer { min: 1, max: 8 });
        assert_eq!(
            threads.uci_line("2"),
            "option name Threads type spin default 2 min 1 max 8"
        );
        let text = spec("WeightsFile", OptionKind::Text);
        assert_eq!(
            text.uci_line(""),
            "option name WeightsFile type string default <empty>"
        );
        let choice = spec("HistoryFill", OptionKind::Choice(vec!["no", "always"]));
        assert_eq!(
            choice.uci_line("no"),
            "option name HistoryFill type combo default no var no var always"
        );
        assert_eq!(
            spec("ClearTree", OptionKind::Button).uci_line(""),
            "option name ClearTree type button"
        );
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(u32::parse("8", &(1..=8)), Some(8));
        assert_eq!(
            (u32::parse("9", &(1..=8)), u32::parse("-1", &(-5..=8))),
            (None, None)
        );
        let range = 0.0..=2.0;
        assert_eq!(
            ["nan", "2.1", "", "2"].map(|text| f64::parse(text, &range)),
            [None, None, None, Some(2.0)]
        );
    }

    #[test]
    fn zero_is_none_where_it_means_no_limit() {
        let range = 0..=8;
        let read = |text| <Option<NonZero<usize>>>::parse(text, &range);
        assert_eq!(
            (read("0"), read("3"), read("9")),
            (Some(None), Some(NonZero::new(3)), None)
        );
        assert_eq!(
            (None::<NonZero<usize>>.text(), NonZero::new(3usize).text()),
            ("0".into(), "3".into())
        );
    }

    #[test]
    fn single_precision_shows_the_digits_it_was_declared_with() {
        assert_eq!(1.745f32.text(), "1.745");
        assert_eq!(f32::parse("1.745", &(0.0..=2.0)), Some(1.745));
    }

    #[test]
    fn times_are_milliseconds() {
        assert_eq!(
            Duration::parse("200", &(0..=1000)),
            Some(Duration::from_millis(200))
        );
        assert_eq!(Duration::from_millis(200).text(), "200");
    }

    #[test]
    fn choices_are_found_by_name_in_any_case() {
        option_choice! {
            enum Fill {
                /// Nothing.
                No = "no",
                /// All.
                Always = "always",
            }
        }
        assert_eq!(
            (Fill::parse("ALWAYS", &()), Fill::parse("never", &())),
            (Some(Fill::Always), None)
        );
        assert_eq!(Fill::kind(&()), OptionKind::Choice(vec!["no", "always"]));
        assert_eq!(Fill::meanings(), [("no", "Nothing."), ("always", "All.")]);
    }
}
