//! Tests the rules of chess: positions, histories, notation, move counts and endgame tables.

#[path = "../common/mod.rs"]
mod common;
mod fetch;
mod mates;
mod perft;
mod rules;
mod tables;
