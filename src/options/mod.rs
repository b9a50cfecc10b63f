//! Declares options: each one once, with its type, default, range, UCI name, flag and help.
//!
//! `option_group!` declares a group of options as a struct, at the place where they are used; groups may hold other groups.
//! `engine` composes all of them into its [`Settings`](crate::engine::Settings). From the declarations come the UCI `option`
//! lines, the command-line flags, the range checks and the reference that `zeitnot options` prints. `lc0_ignored` has the
//! options that only Lc0 has use for, `other_names` the second names of ours. Uses nothing else of this program.

mod flags;
mod group;
mod kind;
mod lc0_ignored;
mod other_names;
mod value;

pub use flags::{FLAGS_HEADING, add_flags, read_flags};
pub(crate) use group::option_group;
pub use group::{OptionGroup, nearest_name};
pub use kind::{OptionError, OptionKind, OptionSpec, Visibility};
pub use lc0_ignored::{IGNORED_OPTIONS, ignored_option};
pub use other_names::{OTHER_NAMES, OtherName, both_names, own_name};
pub use value::{OptionChoice, OptionValue};
