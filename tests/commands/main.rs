//! Tests the commands of the command line, run as a user runs them.

mod basics;
mod benchmarks;
mod board;
#[path = "../common/mod.rs"]
mod common;
mod configuration;
#[cfg(target_os = "linux")]
mod drivers;
mod examples;
mod fetched_networks;
mod files;
mod guide;
#[cfg(unix)]
mod network_access;
mod networks;
mod serve;
mod setup;
