//! Tests the laboratory: matches, tuning, time managers and moves-left estimators over recorded games.

mod analysis;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod hostile_names;
#[cfg(unix)]
mod interrupts;
mod matches;
mod moves_left;
mod overwriting;
mod pages;
mod round_trip;
mod runs;
mod time_lab;
mod tournaments;
mod tuning;
mod wild;
mod wild_files;
