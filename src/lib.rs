//! Zeitnot, a UCI chess engine in the family of Leela Chess Zero.
//!
//! Modules in dependency order: each may use those below it, never those above.
//!
//! | module | job |
//! |---|---|
//! | [`tools`] | the command line's commands |
//! | [`time`] | time managers and all other rules that end a search; numbers in, verdicts out |
//! | [`network`] | network files, input planes, policy indices, backends that evaluate |
//! | [`chess`] | the rules: positions, the game so far, notation |
//! | [`params`] | the nested parameter grammar of `TimeManager` and `BackendOptions` |

#![warn(missing_docs, missing_debug_implementations)]

pub mod chess;
pub mod network;
pub mod params;
pub mod time;
pub mod tools;
