//! Declares options: each one once, with its type, default, range, name, flag and help.
//!
//! `option_group!` declares a group of options as a struct, where they are used. `engine` composes the groups
//! into its [`Settings`](crate::engine::Settings). From the declarations come UCI's `option` lines, the
//! flags, the range checks and what `zeitnot options` prints. Time managers, estimators and backends declare
//! their parameters likewise. Uses [`crate::params`] only.

mod group;
mod names;
mod value;

pub use group::{OptionGroup, nearest_name, option_group};
pub use names::{IGNORED_OPTIONS, OTHER_NAMES, both_names, ignored_option};
pub(crate) use names::{OtherName, own_name};
pub use value::{
    OptionChoice, OptionError, OptionKind, OptionSpec, OptionValue, Visibility, option_choice, set_if_named,
    unquoted,
};
