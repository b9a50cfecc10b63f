//! Tests the rules of chess: positions, histories, notation and move counts.

#[path = "../common/mod.rs"]
mod common;
mod mates;
mod perft;
mod rules;
