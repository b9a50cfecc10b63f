//! Lets time managers and moves-left estimators declare the parameters that they take.
//!
//! `declare_parameters!` takes each parameter once: field, type, default, values of presets, name, range and help. From
//! that come a struct, its defaults, the reading of a list such as `simple(base-pct=2)` with messages that name what is
//! valid, and the tables of `docs/time-management.md` (see [`super::documentation`]). `declare_choice!` does the same
//! for parameters that are one of several words.

use std::ops::RangeInclusive;

use crate::params::{ParamError, Params};

/// The numbers that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    /// The smallest one.
    pub min: f64,
    /// The largest one.
    pub max: f64,
    /// True if they must be whole.
    pub is_integer: bool,
}

/// A declared parameter as text, for documentation and tuning.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Its name in a parameter list.
    pub name: &'static str,
    /// The value that it has where neither the list nor a preset gives one.
    pub default: String,
    /// Values that presets give it, where they are not the default.
    pub presets: Vec<(Preset, String)>,
    /// The values that are accepted.
    pub allowed: String,
    /// The same as a range, for numbers.
    pub range: Option<NumberRange>,
    /// A sentence or two on what it does.
    pub help: String,
}

impl ParameterSpec {
    /// Returns the value under `preset`.
    pub fn value_under(&self, preset: Preset) -> &str {
        let given = self.presets.iter().find(|(of, _)| *of == preset);
        given.map_or(&self.default, |(_, value)| value)
    }
}

/// A type that a parameter may have.
pub trait ParameterValue: Copy {
    /// The description of the values that are accepted.
    type Allowed;

    /// Reads the value of `name` from `params`, or returns `default` where it is not given.
    ///
    /// # Errors
    /// Returns [`ParamError::Value`] if the value has the wrong form or is not allowed.
    fn read(params: &Params, name: &str, default: Self, allowed: &Self::Allowed) -> Result<Self, ParamError>;

    /// Returns the accepted values as text.
    fn allowed_text(allowed: &Self::Allowed) -> String;

    /// Returns the accepted values as a range; `None` where they are no numbers.
    fn range(_allowed: &Self::Allowed) -> Option<NumberRange> {
        None
    }

    /// Returns the value as it is written in a parameter list.
    fn text(self) -> String;

    /// Returns what the help of the type itself adds to the help of a parameter; empty for numbers.
    fn type_help() -> String {
        String::new()
    }
}

impl ParameterValue for f64 {
    type Allowed = RangeInclusive<f64>;

    fn read(
        params: &Params,
        name: &str,
        default: f64,
        range: &RangeInclusive<f64>,
    ) -> Result<f64, ParamError> {
        params.number(name, default, range.clone())
    }

    fn allowed_text(range: &RangeInclusive<f64>) -> String {
        let bound = |value: f64| if value >= 1e6 { format!("{value:e}") } else { value.to_string() };
        format!("{} to {}", bound(*range.start()), bound(*range.end()))
    }

    fn range(range: &RangeInclusive<f64>) -> Option<NumberRange> {
        Some(NumberRange { min: *range.start(), max: *range.end(), is_integer: false })
    }

    fn text(self) -> String {
        self.to_string()
    }
}

impl ParameterValue for u32 {
    type Allowed = RangeInclusive<u32>;

    fn read(
        params: &Params,
        name: &str,
        default: u32,
        range: &RangeInclusive<u32>,
    ) -> Result<u32, ParamError> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        params.integer(name, default.into(), range).map(|value| value as u32)
    }

    fn allowed_text(range: &RangeInclusive<u32>) -> String {
        format!("integers, {} to {}", range.start(), range.end())
    }

    fn range(range: &RangeInclusive<u32>) -> Option<NumberRange> {
        Some(NumberRange { min: (*range.start()).into(), max: (*range.end()).into(), is_integer: true })
    }

    fn text(self) -> String {
        self.to_string()
    }
}

/// A parameter that is one of several words; `declare_choice!` implements it.
pub trait Choice: Copy + 'static {
    /// The choices with their words and what they mean, in the order of their documentation.
    const CHOICES: &'static [(Self, &'static str, &'static str)];

    /// Returns the word for the choice.
    fn word(self) -> &'static str;
}

impl<C: Choice> ParameterValue for C {
    type Allowed = ();

    fn read(params: &Params, name: &str, default: C, (): &()) -> Result<C, ParamError> {
        let words: Vec<_> = C::CHOICES.iter().map(|(_, word, _)| *word).collect();
        let word = params.choice(name, default.word(), &words)?;
        Ok(C::CHOICES.iter().find(|(_, known, _)| *known == word).map_or(default, |(choice, ..)| *choice))
    }

    fn allowed_text((): &()) -> String {
        let words: Vec<_> = C::CHOICES.iter().map(|(_, word, _)| format!("`{word}`")).collect();
        words.join(", ")
    }

    fn text(self) -> String {
        self.word().to_owned()
    }

    fn type_help() -> String {
        let choices: Vec<_> = C::CHOICES
            .iter()
            .map(|(_, word, help)| format!("`{word}`: {}", help.trim().trim_end_matches('.')))
            .collect();
        format!(" {}.", choices.join("; "))
    }
}

/// Declares an enum whose variants are the words that a parameter accepts.
macro_rules! declare_choice {
    (
        $(#[$meta:meta])*
        $vis:vis enum $Enum:ident {
            $( $(#[doc = $help:literal])+ $Variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Enum {
            $( $(#[doc = $help])+ $Variant, )+
        }

        impl $crate::time::parameters::Choice for $Enum {
            const CHOICES: &'static [(Self, &'static str, &'static str)] =
                &[$( ($Enum::$Variant, $word, concat!($($help),+)), )+];

            fn word(self) -> &'static str {
                match self {
                    $( $Enum::$Variant => $word, )+
                }
            }
        }
    };
}

/// Declares a struct of parameters: `"name" field: type = default, within range, preset Name: value;`, with the help of each as
/// its docstring. Choices have no range.
macro_rules! declare_parameters {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Params:ident of $owner:literal {
            $(
                $(#[doc = $help:literal])+
                $name:literal $field:ident: $type:ty = $default:expr
                    $(, within $allowed:expr)? $(, preset $Preset:ident: $value:expr)*;
            )+
        }
    ) => {
        $(#[$meta])*
        $vis struct $Params {
            $( $(#[doc = $help])+ pub $field: $type, )+
        }

        impl $Params {
            /// The name of the time manager or estimator that takes these parameters.
            pub const OWNER: &'static str = $owner;
            /// The names of the parameters, in the order of their documentation.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the values of `preset`.
            pub fn preset(preset: $crate::time::parameters::Preset) -> Self {
                $Params { $( $field: preset.pick(
                    $default,
                    &[$( ($crate::time::parameters::Preset::$Preset, $value) ),*],
                ), )+ }
            }

            /// Reads the parameters that stand in `params`; the others are as in `base`.
            ///
            /// # Errors
            /// Returns a [`ParamError`](crate::params::ParamError) if a value has the wrong form or is out of range.
            pub fn read(
                params: &$crate::params::Params,
                base: &Self,
            ) -> Result<Self, $crate::params::ParamError> {
                use $crate::time::parameters::ParameterValue;
                Ok($Params {
                    $( $field: <$type>::read(
                        params,
                        $name,
                        base.$field,
                        &declare_parameters!(@allowed $($allowed)?),
                    )?, )+
                })
            }

            /// Describes the parameters.
            pub fn specs() -> Vec<$crate::time::parameters::ParameterSpec> {
                use $crate::time::parameters::{ParameterSpec, ParameterValue};
                let default = $Params::default();
                vec![$( ParameterSpec {
                    name: $name,
                    default: default.$field.text(),
                    presets: vec![$( (
                        $crate::time::parameters::Preset::$Preset,
                        $Params::preset($crate::time::parameters::Preset::$Preset).$field.text(),
                    ) ),*],
                    allowed: <$type>::allowed_text(&declare_parameters!(@allowed $($allowed)?)),
                    range: <$type>::range(&declare_parameters!(@allowed $($allowed)?)),
                    help: concat!($($help),+).trim().to_owned() + &<$type>::type_help(),
                }, )+]
            }
        }

        impl Default for $Params {
            fn default() -> Self {
                $Params::preset($crate::time::parameters::Preset::Pr1195)
            }
        }
    };
    (@allowed) => { () };
    (@allowed $allowed:expr) => { $allowed };
}

pub(in crate::time) use {declare_choice, declare_parameters};

declare_choice! {
    /// The origin of the values that the other parameters of `smooth` have where they are not given.
    pub enum Preset {
        /// The values that Lc0's pull request 1195 documents.
        Pr1195 = "pr1195",
        /// The values of today's Lc0, with its reserve of time.
        Lc0 = "lc0",
    }
}

impl Preset {
    /// Returns the value that `given` has for this preset, or `default` if it has none.
    pub(in crate::time) fn pick<T: Copy>(self, default: T, given: &[(Preset, T)]) -> T {
        given.iter().find(|(preset, _)| *preset == self).map_or(default, |(_, value)| *value)
    }
}
