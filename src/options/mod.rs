//! Options: each one declared once, in [`settings`], with its UCI name, flag, range, default and help.
//!
//! From the declaration come the UCI `option` lines, the command-line flags, the range checks and the reference
//! that `zeitnot options` prints. Names that only Lc0 has use for are in [`lc0_ignored`]. Used by `engine`, `uci` and `tools`; uses those below it for defaults.

mod flags;
mod kind;
mod lc0_ignored;
mod settings;

pub use kind::{OptionError, OptionKind, OptionSpec, OptionValue};
pub use lc0_ignored::{ignored_flag, ignored_option};
pub use settings::Settings;
