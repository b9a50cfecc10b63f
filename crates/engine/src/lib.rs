//! The engine of Zeitnot as a library: the rules of chess, networks of the family of Leela Chess Zero, the
//! search, and its time management.
//!
//! ```
//! use zeitnot_engine::engine::{Engine, Settings};
//! use zeitnot_engine::time::Limit;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The network that comes with it, unless the option WeightsFile names another.
//! let mut engine = Engine::new(Settings::default())?;
//! engine.set_position("startpos")?;
//! let (best, _) = engine.search(Limit::nodes(100))?;
//! println!("{}", engine.position().format_move(best));
//! # assert_eq!(engine.position().format_move(best).len(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! # What to read first
//!
//! - [`engine::Engine`]: one game and its searches. [`Engine::search`](engine::Engine::search) waits for the
//!   result, [`Engine::go`](engine::Engine::go) returns at once and reports to a
//!   [`Listener`](engine::Listener).
//! - [`engine::Settings`]: all options, by UCI's names.
//!   [`Settings::for_analysis`](engine::Settings::for_analysis) has a search use its limits in full.
//! - [`time::Limit`]: nodes, a fixed time or a clock.
//! - [`chess::History`]: a game so far, its positions and moves, and their text.
//! - [`serve::Searcher`]: many positions at once.
//!
//! The examples `search`, `listener`, `evaluate`, `positions`, `backend` and `manager` show these, the last
//! two with an evaluator and a time manager of one's own.
//!
//! # What it can do
//!
//! - Search positions by PUCT on any number of threads, with proofs, contempt and Syzygy tables.
//! - Play games on a clock by six time managers, or by a [`time::TimeManager`] of one's own.
//! - Evaluate Lc0's networks and ONNX models on CPU and GPU, or by a [`network::Backend`] of one's own.
//! - Read and write positions, games' moves and networks, compressed or not, within bounds.
//! - Search many positions at once in the batches of one device.
//!
//! # What is promised
//!
//! Versions before 1.0 may change anything, and the change log says what. Errors may gain variants. `chance`,
//! `foreign`, `params` and `system` are public for the program alone: nothing is promised of them.
//!
//! # Layers
//!
//! Each module may use those below it, never those above (`tests/architecture.rs`). `ARCHITECTURE.md` shows
//! the ways through them.
//!
//! | module | job |
//! |---|---|
//! | [`serve`] | many positions searched at once, which share a device's batches |
//! | [`engine`] | ties options, network, game and search together |
//! | [`search`] | PUCT tree search on any number of threads |
//! | [`tablebase`] | Syzygy endgame tables: results of leaves, root moves that keep the best result |
//! | [`time`] | time managers and all other rules that end a search, numbers in, verdicts out |
//! | [`network`] | network files, input planes, policy indices, backends that evaluate |
//! | [`chess`] | the rules: positions, the game so far, notation |
//! | [`system`] | CPU time, huge pages, and what the system's files and tools tell of the machine |
//! | [`options`] | how options are declared: types, ranges, UCI lines, flags |
//! | [`params`] | the nested parameter grammar of `TimeManager` and `BackendOptions` |
//! | [`chance`] | numbers that are mixed the same everywhere, drawing by weights |
//! | [`files`] | people's files: what they are, their compression and encoding, their lines |
//! | [`foreign`] | what the system and libraries say of a failure, and our words for it |
//! | [`note`] | messages for people, news and errors |

// Tests may unwrap. Everything else says what went wrong.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

#[doc(hidden)]
pub mod chance;
pub mod chess;
pub mod engine;
pub mod files;
#[doc(hidden)]
pub mod foreign;
pub mod network;
pub mod note;
pub mod options;
#[doc(hidden)]
pub mod params;
pub mod search;
pub mod serve;
#[doc(hidden)]
pub mod system;
pub mod tablebase;
pub mod time;

/// The version of the program: `0.1.0` for a release. Else `0.1.0-dev-` and the commit, which debug builds
/// and sources without git leave out.
pub const VERSION: &str = env!("ZEITNOT_VERSION");

/// Tests the program in the guide to the library.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct LibraryGuide;
