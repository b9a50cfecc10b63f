//! Tests the commands of the command line, run as a user runs them.

mod basics;
mod benchmarks;
#[path = "../common/mod.rs"]
mod common;
mod networks;
