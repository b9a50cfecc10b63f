//! Groups of options, such as the engine's, or the parameters of a time manager.

use super::value::{OptionError, OptionSpec};
use crate::params::{ParamEntry, ParamError, Params};

/// A struct whose fields are options or other groups. `option_group!` declares one.
pub trait OptionGroup: Default {
    /// All options of the group in the order of their declaration.
    fn declared() -> Vec<OptionSpec>;

    /// False if the group has no such option. After an error nothing has changed.
    fn set_if_known(&mut self, name: &str, value: &str) -> Result<bool, OptionError>;

    /// The value of the option with the flag `flag` as text.
    fn text_of(&self, flag: &str) -> Option<String>;

    /// Sets what in `list` belongs to the group, and gives the rest.
    fn take(&mut self, list: &Params) -> Result<Params, ParamError> {
        let mut rest = Params::default();
        for entry in list.entries() {
            let is_known = match entry {
                ParamEntry::Value { key, value } => self.set_if_known(key, value)?,
                ParamEntry::List { .. } => false,
            };
            if !is_known {
                rest.push(entry.clone());
            }
        }
        Ok(rest)
    }

    /// Reads the group from the parameters of `owner`, which may hold nested `lists` too, and nothing else.
    fn read(mut self, owner: &str, list: &Params, lists: &[&str]) -> Result<Self, ParamError> {
        let rest = self.take(list)?;
        let names: Vec<_> = Self::declared().iter().map(|spec| spec.name).collect();
        rest.allow_only(owner, &names, lists)?;
        Ok(self)
    }
}

impl From<OptionError> for ParamError {
    fn from(error: OptionError) -> ParamError {
        match error {
            OptionError::Value {
                name: key,
                value,
                expected,
            } => ParamError::Value { key, value, expected },
            OptionError::Unknown { name, hint } => ParamError::Unknown {
                kind: "option".into(),
                name,
                valid: hint,
            },
        }
    }
}

/// The known name that differs least from `name`, if it differs by few letters only.
pub fn nearest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let (distance, best) = known
        .map(|known| (strsim::levenshtein(&name, &known.to_ascii_lowercase()), known))
        .min_by_key(|&(d, _)| d)?;
    (distance <= 1 + best.len() / 4).then_some(best)
}

/// Declares a group of options.
///
/// `common` or `hidden` at the end of a line is its [`Visibility`](crate::options::Visibility). An option of
/// a parameter list has one name. A field without a default is another group.
///
/// ```text
/// option_group! {
///     /// The options of the clock.
///     pub struct TimeOptions {
///         /// Time kept back from every clock, ms.
///         move_overhead: Duration = Duration::from_millis(200), in 0..=100_000, "MoveOverheadMs", "move-overhead", common;
///         /// Share of the tree that is reused after a full move, first guess.
///         init_tree_reuse: f64 = 0.5, in 0.0..=0.99, "init-tree-reuse";
///         /// The rules that end a search.
///         stoppers: StopperOptions;
///     }
/// }
/// ```
#[macro_export]
macro_rules! option_group {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $group:ident {
            $(
                $(#[doc = $help:literal])+
                $field:ident: $type:ty
                $(
                    = $default:expr, $(in $range:expr,)?
                    $name:literal $(, $flag:literal $(, $shown:ident)?)?
                )?;
            )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $group {
            $( $(#[doc = $help])+ pub $field: $type, )+
        }

        impl Default for $group {
            fn default() -> Self {
                $group { $( $field: $crate::options::option_group!(@default $type $(, $default)?), )+ }
            }
        }

        impl $crate::options::OptionGroup for $group {
            fn declared() -> Vec<$crate::options::OptionSpec> {
                let mut specs = Vec::new();
                let defaults = $group::default();
                $( $crate::options::option_group!(
                    @list specs, &defaults.$field, $type, [$($help)+]
                    $(, ($($range)?), [$name $(, $flag $(, $shown)?)?])?
                ); )+
                specs
            }

            fn set_if_known(
                &mut self,
                name: &str,
                value: &str,
            ) -> Result<bool, $crate::options::OptionError> {
                Ok(false
                    $( || $crate::options::option_group!(
                        @set self.$field, (name, value) $(, ($($range)?), [$name $(, $flag $(, $shown)?)?])?
                    ) )+)
            }

            fn text_of(&self, flag: &str) -> Option<String> {
                $( $crate::options::option_group!(@text self.$field, flag $(, [$name $(, $flag $(, $shown)?)?])?); )+
                None
            }
        }
    };

    (@default $type:ty) => { <$type>::default() };
    (@default $type:ty, $default:expr) => { $default };

    (@names [$name:literal]) => { [$name, $name] };
    (@names [$name:literal, $flag:literal $(, $shown:ident)?]) => { [$name, $flag] };

    (@visibility [$($name:literal),+]) => { $crate::options::Visibility::Normal };
    (@visibility [$($name:literal),+, common]) => { $crate::options::Visibility::Common };
    (@visibility [$($name:literal),+, hidden]) => { $crate::options::Visibility::Hidden };

    (@list $specs:ident, $default:expr, $type:ty, [$($help:literal)+]) => {
        let _: &$type = $default;
        $specs.extend(<$type as $crate::options::OptionGroup>::declared());
    };
    (@list $specs:ident, $default:expr, $type:ty, [$($help:literal)+], $range:tt, $names:tt) => {
        $specs.push($crate::options::OptionSpec::new::<$type>(
            $crate::options::option_group!(@names $names),
            $default,
            &$range,
            concat!($($help),+).trim_ascii(),
            $crate::options::option_group!(@visibility $names),
        ));
    };

    (@set $place:expr, $assignment:tt) => {{
        let (name, value) = $assignment;
        $crate::options::OptionGroup::set_if_known(&mut $place, name, value)?
    }};
    (@set $place:expr, $assignment:tt, $range:tt, $names:tt) => {
        $crate::options::set_if_named(
            &mut $place,
            $crate::options::option_group!(@names $names),
            &$range,
            $assignment,
        )?
    };

    (@text $place:expr, $asked:ident) => {
        if let Some(text) = $crate::options::OptionGroup::text_of(&$place, $asked) {
            return Some(text);
        }
    };
    (@text $place:expr, $asked:ident, $names:tt) => {
        let [_, flag] = $crate::options::option_group!(@names $names);
        if $asked == flag {
            return Some($crate::options::OptionValue::text(&$place));
        }
    };
}

pub use option_group;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{OptionKind, Visibility};

    option_group! {
        /// A group inside another.
        struct Inner {
            /// Switch it on.
            is_on: bool = true, "IsOn", "is-on", hidden;
            /// A share.
            share: f64 = 0.5, in 0.0..=1.0, "share";
        }
    }

    option_group! {
        struct Outer {
            /// The number,
            /// in all.
            count: u32 = 2, in 1..=8, "Count", "how-many";
            /// The inner one.
            inner: Inner;
        }
    }

    #[test]
    fn options_are_listed_in_order() {
        let specs = Outer::declared();
        assert_eq!(
            specs.iter().map(|spec| spec.name).collect::<Vec<_>>(),
            ["Count", "IsOn", "share"]
        );
        assert_eq!(specs[0].help, "The number, in all.");
        assert_eq!(
            [specs[0].visibility, specs[1].visibility],
            [Visibility::Normal, Visibility::Hidden]
        );
        assert_eq!(
            (&specs[0].kind, &*specs[0].default),
            (&OptionKind::Integer { min: 1, max: 8 }, "2")
        );
        assert_eq!(Outer::default().count, 2);
    }

    #[test]
    fn options_are_set_by_name_or_flag() {
        let mut outer = Outer::default();
        assert_eq!(outer.set_if_known("how-many", "8"), Ok(true));
        assert_eq!(outer.set_if_known("ison", "off"), Ok(true));
        assert_eq!(outer.set_if_known("Size", "8"), Ok(false));
        assert_eq!(
            (outer.text_of("how-many"), outer.text_of("is-on")),
            (Some("8".into()), Some("false".into()))
        );
        assert_eq!(outer.text_of("size"), None);
        let error = outer.set_if_known("Count", "9").unwrap_err();
        assert_eq!(
            error.to_string(),
            "option Count: \"9\" is not an integer from 1 to 8"
        );
        assert_eq!(outer.count, 8);
    }

    #[test]
    fn a_list_is_read_and_what_is_unknown_is_refused() {
        let read = |text: &str| Outer::default().read("outer", &Params::parse(text).unwrap(), &["list"]);
        let outer = read("how-many=3,share=0.1,list(x=1)").unwrap();
        assert_eq!((outer.count, outer.inner.share), (3, 0.1));
        let fault = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(fault("share=2"), "share=2: expected a number from 0 to 1");
        assert_eq!(
            fault("x=1"),
            "unknown parameter of outer \"x\". Valid: Count, IsOn, share, list"
        );
        assert!(fault("other(share=1)").starts_with("unknown parameter of outer \"other\""));
    }

    #[test]
    fn names_that_are_nearly_right_are_known() {
        let known = ["Threads", "CPuct"];
        assert_eq!(nearest_name("thread", known.into_iter()), Some("Threads"));
        assert_eq!(nearest_name("Hash", known.into_iter()), None);
    }
}
