//! UCI, the protocol between chess GUIs and engines.
//!
//! `session` is the loop that reads commands and drives the [`Engine`](zeitnot_engine::engine::Engine).
//! `command` parses lines, `format` writes `info` and `bestmove`, `input` and `output` hand lines over, and
//! `output` keeps the log. The session goes on whatever comes in: an error is answered with an `info string`
//! that names it, and the old state stays.

mod command;
mod format;
mod input;
mod output;
mod session;

pub use command::UciCommand;
pub use session::{Audience, run};
