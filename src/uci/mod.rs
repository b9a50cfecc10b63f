//! UCI, the protocol between chess GUIs and engines.
//!
//! `session` reads commands and drives the [`Engine`](zeitnot_engine::engine::Engine). `command` parses
//! lines, `format` writes `info` and `bestmove`, `input` and `output` hand lines over, and `aside` writes the
//! log.

mod aside;
mod command;
mod format;
mod input;
mod output;
mod session;

pub use command::UciCommand;
pub use session::{Audience, run};
