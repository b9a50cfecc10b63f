//! Tests searches: their golden trees, their options, their memory.

mod choices;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod golden_trees;
mod library;
mod memory;
mod options;
