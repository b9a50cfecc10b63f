//! The engine of Zeitnot as a library: the rules of chess, networks of the family of Leela Chess Zero, the
//! search, and its time management.
//!
//! Load the network that comes with it, search the start position, print the best move:
//!
//! ```
//! use zeitnot_engine::engine::{Engine, Settings};
//! use zeitnot_engine::time::{GoLimits, Nodes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut engine = Engine::new(Settings::default())?;
//! engine.set_option("WeightsFile", "../../models/zeitnot-small.pb.gz")?;
//! engine.set_position("startpos")?;
//! let limits = GoLimits { nodes: Some(Nodes(100)), ..GoLimits::default() };
//! let found = engine.search(limits)?;
//! println!("{}", engine.position().format_move(found.best));
//! # assert_eq!(engine.position().format_move(found.best).len(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! [`Engine::go`](engine::Engine::go) returns at once and reports to a [`Listener`](engine::Listener)
//! instead.
//!
//! # Layers
//!
//! Modules in dependency order: each may use those below it, never those above (`tests/architecture.rs`
//! checks that). `ARCHITECTURE.md` in the repository shows the ways through them.
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

pub mod chance;
pub mod chess;
pub mod engine;
pub mod files;
pub mod foreign;
pub mod network;
pub mod note;
pub mod options;
pub mod params;
pub mod search;
pub mod serve;
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
