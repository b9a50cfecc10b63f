//! Time management: decides how long to think about each move of a game.
//!
//! The engine holds a [`Timekeeper`] for each game. At `go` it takes what is known of the move
//! ([`MoveFacts`]) and makes a [`Chain`] of stoppers, the [`TimeManager`]'s own among them. The search
//! asks the chain again and again with fresh [`SearchStats`] and reads the [`Hints`]. When the move is made, the
//! manager is told the [`MoveOutcome`] and learns from it.
//!
//! Everything here is pure: nothing reads the machine's clock. Elapsed times and statistics come in as numbers, so that every rule
//! can be tested and replayed without waiting. This module knows nothing of tree, network or chess; it uses [`crate::params`] and
//! [`crate::options`] only. Times, nodes, rates and plies cross its border in the types of [`units`].
//!
//! | file | what it holds |
//! |---|---|
//! | `units` | milliseconds, nodes, nodes per second and plies, each in a type of its own |
//! | `limits`, `facts`, `stats` | what comes in: the `go` command, what is known of the move, the running statistics |
//! | `stopper`, `stoppers/`, `smart_pruning` | the trait and the rules that end a search |
//! | `chain`, `timekeeper` | the rules in their order; one game's state around them |
//! | `manager`, `managers/` | the trait, and one file per time manager |
//! | `centipawns` | scores for expected results |
//! | `nodestime` | nodes in the place of time, under every manager |
//! | `lag` | what a move costs the clock beyond the time that the engine measured |
//! | `move_start` | the moment from which a move's time counts |
//! | `estimators/` | moves left and other quantities that managers guess and learn |
//! | `time_control`, `game_clock` | time controls as people write them, and the clock of one side during a game |
//! | `report` | one line per move for logs: what the budget was computed from |
//! | `options` | the UCI options of the clock |
//! | `parameters`, `documentation` | how managers and estimators declare their parameters, and the tables made from that |

mod centipawns;
mod chain;
pub mod documentation;
pub mod estimators;
mod facts;
mod game_clock;
mod lag;
mod limits;
mod manager;
pub mod managers;
mod move_start;
mod nodestime;
mod options;
pub mod parameters;
mod report;
pub mod smart_pruning;
mod stats;
mod stopper;
pub mod stoppers;
mod time_control;
mod timekeeper;
pub mod units;

pub use centipawns::{centipawns, expected_result};
pub use chain::{Chain, StopperOptions};
pub use facts::{MoveFacts, RootEvaluation};
pub use game_clock::GameClock;
pub use limits::{GoLimits, MoverClock};
pub use manager::{MoveOutcome, TimeManager};
pub use managers::{DEFAULT_MANAGER, manager_from, manager_with_slowmover, number_at};
pub use move_start::{MoveStart, Timing};
pub use nodestime::{NodesPerMilli, NodesTimeOptions};
pub use options::{ManagerChoice, TimeOptions};
pub use report::MoveReport;
pub use stats::{Hints, MostVisits, SearchStats};
pub use stopper::{StopReason, Stopper};
pub use time_control::{NoTimeControl, TimeControl};
pub use timekeeper::{SearchEnd, Timekeeper};
pub use units::{ExpectedNodes, GamePly, Millis, Nodes, Nps, Plies};
