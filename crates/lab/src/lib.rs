//! The laboratory of Zeitnot: measurements with many games. The engine does without it.
//!
//! Each measurement has the games that it reads or plays, the *rows* that it writes, the *study* that is
//! computed from rows, and the *page* that shows it.
//!
//! # Layers
//!
//! A module uses those below its row only (`tests/architecture.rs`).
//!
//! | module | job |
//! |---|---|
//! | [`tuning`] | comparisons of option values by matches |
//! | [`analysis`] | the moves of recorded games |
//! | `matches` | games of two engines, and what they prove |
//! | [`replay`] | time managers on whole games in virtual time |
//! | [`moves_left`] | moves-left estimators on recorded games |
//! | `viewer` | the page's board and graphs |
//! | `move_rows` | the row of a played move, its curves |
//! | `score` | the scales of evaluations: pawns, winning chances |
//! | `uci_process` | external engines |
//! | [`report`] | tables, plots and pages |
//! | [`runner`] | jobs in order on threads |
//! | [`pgn`] | recorded games |
//! | [`run`] | who owns the folder of a run, and the journal in it |
//! | [`rows`] | CSV files, and how the rows of several machines are put together |
//! | [`alone`] | files that one process alone writes |
//! | `phase` | what opening, middlegame and endgame are |
//! | `error` | why a measurement could not be made |

// Tests may unwrap. Everything else says what went wrong.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod alone;
pub mod analysis;
mod error;
pub mod matches;
pub mod move_rows;
pub mod moves_left;
pub mod pgn;
mod phase;
pub mod replay;
pub mod report;
pub mod rows;
pub mod run;
pub mod runner;
mod score;
pub mod tuning;
mod uci_process;
mod viewer;

pub use error::{GameError, LabError, RowError, UciProcessError};
pub use phase::Phase;
pub use score::MoveScore;
pub use uci_process::{EngineLog, ExternalCommand, ExternalEngine, ExternalGame, InfoLine, latest_lines};
pub use viewer::live_page;
