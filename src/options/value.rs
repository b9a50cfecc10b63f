//! The types that an option's value can have, and how their text is read.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::OptionKind;

/// A type that an option's value can have.
pub trait OptionValue: Sized {
    /// The part that is declared beside the default: the smallest and largest value, or `()` where there are none.
    type Range;

    /// Returns the kind that is shown for an option of this type.
    fn kind(default: &Self, range: &Self::Range) -> OptionKind;

    /// Reads a value. Returns `None` if `text` is not of the type or outside the range.
    fn parse(text: &str, range: &Self::Range) -> Option<Self>;

    /// Returns the value as [`OptionValue::parse`] reads it.
    fn text(&self) -> String;
}

impl OptionValue for bool {
    type Range = ();

    fn kind(&default: &bool, (): &()) -> OptionKind {
        OptionKind::Switch { default }
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

    fn kind(default: &String, (): &()) -> OptionKind {
        OptionKind::Text { default: default.clone() }
    }

    /// Takes any text. GUIs send UCI's word `<empty>` for an empty string.
    fn parse(text: &str, (): &()) -> Option<String> {
        Some(if text == "<empty>" { String::new() } else { text.into() })
    }

    fn text(&self) -> String {
        self.clone()
    }
}

/// Declares an integer type; ranges are those of UCI's `spin`, which is signed.
macro_rules! integer_value {
    ($type:ty) => {
        impl OptionValue for $type {
            type Range = RangeInclusive<i64>;

            fn kind(&default: &$type, range: &Self::Range) -> OptionKind {
                OptionKind::Integer { default: default as i64, min: *range.start(), max: *range.end() }
            }

            fn parse(text: &str, range: &Self::Range) -> Option<$type> {
                let number = text.parse().ok().filter(|number| range.contains(number))?;
                <$type>::try_from(number).ok()
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }

        /// `None` is written 0.
        impl OptionValue for Option<NonZero<$type>> {
            type Range = RangeInclusive<i64>;

            fn kind(default: &Self, range: &Self::Range) -> OptionKind {
                <$type>::kind(&default.map_or(0, NonZero::get), range)
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

integer_value!(u32);
integer_value!(u64);
integer_value!(usize);

/// A time is written in milliseconds.
impl OptionValue for Duration {
    type Range = RangeInclusive<i64>;

    fn kind(default: &Duration, range: &Self::Range) -> OptionKind {
        u64::kind(&(default.as_millis() as u64), range)
    }

    fn parse(text: &str, range: &Self::Range) -> Option<Duration> {
        u64::parse(text, range).map(Duration::from_millis)
    }

    fn text(&self) -> String {
        self.as_millis().to_string()
    }
}

impl OptionValue for f64 {
    type Range = RangeInclusive<f64>;

    fn kind(&default: &f64, range: &Self::Range) -> OptionKind {
        OptionKind::Decimal { default, min: *range.start(), max: *range.end() }
    }

    fn parse(text: &str, range: &Self::Range) -> Option<f64> {
        text.parse().ok().filter(|number| range.contains(number))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for f32 {
    type Range = RangeInclusive<f64>;

    /// Shows the default in the digits in which it is declared.
    fn kind(default: &f32, range: &Self::Range) -> OptionKind {
        let default = default.text().parse().unwrap_or_else(|_| f64::from(*default));
        f64::kind(&default, range)
    }

    fn parse(text: &str, range: &Self::Range) -> Option<f32> {
        f64::parse(text, range).map(|number| number as f32)
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// An enum whose variants are the words that an option may be.
pub trait OptionChoice: Copy + PartialEq + 'static {
    /// All variants with their names, in the order in which they are listed.
    const CHOICES: &'static [(&'static str, Self)];

    /// Returns the variant of this name, in any case of letters.
    fn from_name(name: &str) -> Option<Self> {
        Self::CHOICES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, choice)| choice)
    }

    /// Returns the variant's name.
    fn name(self) -> &'static str {
        Self::CHOICES.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

impl<T: OptionChoice> OptionValue for T {
    type Range = ();

    fn kind(default: &T, (): &()) -> OptionKind {
        let choices = T::CHOICES.iter().map(|(name, _)| *name).collect();
        OptionKind::Choice { default: default.name(), choices }
    }

    fn parse(text: &str, (): &()) -> Option<T> {
        T::from_name(text)
    }

    fn text(&self) -> String {
        self.name().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_checked() {
        assert_eq!(u32::parse("8", &(1..=8)), Some(8));
        assert_eq!((u32::parse("9", &(1..=8)), u32::parse("-1", &(-5..=8))), (None, None));
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
        assert_eq!((read("0"), read("3"), read("9")), (Some(None), Some(NonZero::new(3)), None));
        assert_eq!((None::<NonZero<usize>>.text(), NonZero::new(3usize).text()), ("0".into(), "3".into()));
    }

    #[test]
    fn single_precision_shows_the_digits_it_was_declared_with() {
        let OptionKind::Decimal { default, .. } = f32::kind(&1.745, &(0.0..=2.0)) else { panic!() };
        assert_eq!(default, 1.745);
        assert_eq!(f32::parse("1.745", &(0.0..=2.0)), Some(1.745));
    }

    #[test]
    fn times_are_milliseconds() {
        assert_eq!(Duration::parse("200", &(0..=1000)), Some(Duration::from_millis(200)));
        assert_eq!(Duration::from_millis(200).text(), "200");
    }

    #[test]
    fn choices_are_found_by_name_in_any_case() {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Fill {
            No,
            Always,
        }
        impl OptionChoice for Fill {
            const CHOICES: &'static [(&'static str, Fill)] = &[("no", Fill::No), ("always", Fill::Always)];
        }
        assert_eq!((Fill::parse("ALWAYS", &()), Fill::parse("never", &())), (Some(Fill::Always), None));
        assert_eq!(
            Fill::kind(&Fill::No, &()),
            OptionKind::Choice { default: "no", choices: vec!["no", "always"] }
        );
    }
}
