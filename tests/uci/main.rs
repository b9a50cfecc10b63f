//! Tests the engine under UCI, through its pipes.

mod clock;
#[path = "../common/mod.rs"]
mod common;
mod conversation;
mod drop_in;
mod info;
mod pondering;
mod refusals;
mod sessions;
mod startup;
#[cfg(unix)]
mod system_faults;
