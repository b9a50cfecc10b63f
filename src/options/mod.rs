//! Declares options: each one once, with its type, default, range, name, flag and help.
//!
//! `option_group!` declares a group of options as a struct, at the place where they are used. Groups may hold
//! other groups. `engine` composes the engine's options into its [`Settings`](crate::engine::Settings). From
//! the declarations come the UCI `option` lines, the command-line flags, the range checks and the reference
//! that `zeitnot options` prints. Time managers, estimators of moves left and backends declare the parameters
//! of their lists in the same way. From those declarations come the reading of the lists, the numbers that
//! `tune` may reach, and the tables of the documents. Uses [`crate::params`] only.

mod flags;
mod group;
mod names;
mod value;

pub(crate) use flags::{FLAGS_HEADING, add_flags, read_flags};
pub(crate) use group::option_group;
pub(crate) use group::{OptionGroup, nearest_name};
pub(crate) use names::{IGNORED_OPTIONS, OTHER_NAMES, OtherName, both_names, ignored_option, own_name};
pub use value::OptionChoice;
pub(crate) use value::{OptionError, OptionKind, OptionSpec, OptionValue, Visibility};
pub(crate) use value::{option_choice, set_if_named};
