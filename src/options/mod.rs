//! Options: each one declared once, in [`settings`], with its UCI name, flag, range, default and help.
//!
//! From the declaration come the UCI `option` lines, the command-line flags, the range checks and the reference
//! that `zeitnot options` prints. Names that only Lc0 has use for are in [`elsewhere`]. Used by `engine`, `uci` and `tools`; uses those below it for defaults.

mod elsewhere;
mod flags;
mod kind;
mod settings;

pub use elsewhere::{flag_instead_of, instead_of};
pub use kind::{Kind, OptionError, OptionSpec, Value};
pub use settings::Settings;
