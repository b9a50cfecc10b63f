//! UCI, the protocol between chess GUIs and engines.
//!
//! `session` is the loop that reads commands and drives the [`Engine`](crate::engine::Engine); `command` parses
//! lines, `format` (with `score` and `move_stats`) writes `info` and `bestmove`, `output` hands lines over and keeps
//! the `log`, `prompt` has what a person at a terminal is shown. The session goes on whatever comes in: an error is answered with an `info string` that names it, and the old
//! state stays.

mod command;
mod format;
mod log;
mod move_stats;
mod output;
mod prompt;
mod score;
mod session;

pub use command::{GoCommand, UciCommand, UciError};
pub use prompt::Audience;
pub use session::run;
