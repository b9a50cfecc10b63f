//! Zeitnot, a UCI chess engine in the family of Leela Chess Zero.
//!
//! Modules in dependency order: each may use those below it, never those above.
//!
//! | module | job |
//! |---|---|
//! | [`tools`] | the command line's commands |
//! | [`uci`] | the protocol: reads a GUI's commands, writes the engine's answers |
//! | [`arena`] | games between two engines, many at once, and what they prove |
//! | [`lab`] | moves-left estimators against recorded games |
//! | [`engine`] | ties options, network, game and search together |
//! | [`options`] | UCI options and flags, declared once |
//! | [`search`] | PUCT tree search on any number of threads |
//! | [`tablebase`] | Syzygy endgame tables: results of leaves, root moves that keep the best result |
//! | [`time`] | time managers and all other rules that end a search; numbers in, verdicts out |
//! | [`report`] | tables, plots, pages and rows of the commands' results |
//! | [`training`] | games with labels, and the tables that networks are trained on |
//! | [`pgn`] | recorded games, one after the other, from files of any size |
//! | [`network`] | network files, input planes, policy indices, backends that evaluate |
//! | [`chess`] | the rules: positions, the game so far, notation |
//! | [`params`] | the nested parameter grammar of `TimeManager` and `BackendOptions` |
//! | `pages` | large pages of memory |

#![warn(missing_docs, missing_debug_implementations)]

pub mod arena;
pub mod chess;
pub mod engine;
pub mod lab;
pub mod network;
pub mod options;
mod pages;
pub mod params;
pub mod pgn;
pub mod report;
pub mod search;
pub mod tablebase;
pub mod time;
pub mod tools;
pub mod training;
pub mod uci;
