//! Declares options: each one once, with its type, default, range, name, flag and help.
//!
//! `option_group!` declares a group of options as a struct, at the place where they are used. `engine`
//! composes the groups into its [`Settings`](crate::engine::Settings). From the declarations come the UCI
//! `option` lines, the command-line flags, the range checks and the reference that `zeitnot options` prints.
//! Time managers, estimators of moves left and backends declare the parameters of their lists in the same
//! way. Uses [`crate::params`] only.

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
