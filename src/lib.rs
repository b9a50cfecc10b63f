//! Zeitnot, a UCI chess engine in the family of Leela Chess Zero.
//!
//! Modules in dependency order: each may use those below it, never those above.
//!
//! | module | job |
//! |---|---|
//! | [`tools`] | the command line's commands |
//! | [`uci`] | the protocol: reads a GUI's commands, writes the engine's answers |
//! | [`lab`] | the laboratory: matches, replayed games, moves-left estimators, training data |
//! | [`engine`] | ties options, network, game and search together |
//! | [`options`] | UCI options and flags, declared once |
//! | [`search`] | PUCT tree search on any number of threads |
//! | [`tablebase`] | Syzygy endgame tables: results of leaves, root moves that keep the best result |
//! | [`time`] | time managers and all other rules that end a search; numbers in, verdicts out |
//! | [`report`] | tables, plots and pages of the commands' results |
//! | [`network`] | network files, input planes, policy indices, backends that evaluate |
//! | [`chess`] | the rules: positions, the game so far, notation |
//! | [`params`] | the nested parameter grammar of `TimeManager` and `BackendOptions` |
//! | `cpu_time` | the CPU time of this process |
//! | `huge_pages` | huge pages of memory |

// Tests may unwrap; everything else says what went wrong.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod chess;
mod cpu_time;
pub mod engine;
mod huge_pages;
pub mod lab;
pub mod network;
pub mod options;
pub mod params;
pub mod report;
pub mod search;
pub mod tablebase;
pub mod time;
pub mod tools;
pub mod uci;
