//! Time management: how long to think about each move of a game.
//!
//! A game's [`Timekeeper`] turns the [`MoveFacts`] into a [`Chain`] of stoppers, the [`TimeManager`]'s own
//! among them. The search asks the chain with fresh [`SearchStats`] and reads the [`Hints`]. After the move,
//! the manager learns from the [`MoveOutcome`].
//!
//! Nothing here reads the machine's clock: times come in as numbers, so that every rule can be tested and
//! replayed. The module uses [`crate::params`] and [`crate::options`] only. Quantities have the types of
//! [`units`].
//!
//! Each file uses those above it only (`tests/architecture.rs`):
//!
//! | file | what it holds |
//! |---|---|
//! | `units` | milliseconds, nodes, nodes per second and plies, each in a type of its own, scores for expected results |
//! | `parameters` | how managers and estimators are registered |
//! | `facts` | what comes in at the start: the `go` command and what is known of the move |
//! | `report` | what people are told of a move |
//! | `stats` | what comes in meanwhile: the running statistics, with the hints that one rule gives the next |
//! | `stoppers` | the trait and the rules that end a search by one limit each |
//! | `smart_pruning` | the rule that reads the hints of all others |
//! | `estimators/` | moves left and other quantities that managers guess and learn |
//! | `nodestime` | nodes in the place of time, under every manager |
//! | `chain` | all rules of a search in their order |
//! | `manager` | the trait of managers, with the outcome of a move |
//! | `managers/` | one file per time manager |
//! | `timekeeper` | one game's state around its manager, with what moves cost beyond the time measured |
//! | `move_start` | the moment from which a move's time counts |
//! | `game_clock` | time controls as people write them, and the clock of one side during a game |

#![warn(missing_docs)]

mod chain;
pub mod estimators;
mod facts;
mod game_clock;
mod manager;
pub mod managers;
mod move_start;
mod nodestime;
pub mod parameters;
mod report;
pub mod smart_pruning;
mod stats;
pub mod stoppers;
mod timekeeper;
pub mod units;

pub use chain::{Chain, StopperOptions};
pub use facts::{Bounds, Limit, MoveFacts, RootEvaluation};
pub use game_clock::{GameClock, NoTimeControl, TimeControl};
pub use manager::{MoveOutcome, TimeManager};
pub(crate) use managers::TimeOptions;
pub use managers::{DEFAULT_MANAGER, manager_from, spelled_out};
pub use move_start::{GoTimes, MoveStart};
pub use nodestime::{NodesPerMilli, NodesTimeOptions};
pub use report::MoveReport;
pub use stats::{Hints, SearchStats};
pub use stoppers::{BudgetLimit, StopReason, Stopper};
pub use timekeeper::{SearchEnd, Timekeeper};
pub(crate) use units::expected_result;
pub use units::{GamePly, Millis, Nodes, Nps, Plies, centipawns};
