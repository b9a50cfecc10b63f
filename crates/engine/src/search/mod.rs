//! The search: PUCT tree search with batches of leaves, on any number of threads.
//!
//! Five rooms, each of which uses those above it only:
//! - `tree`: nodes with their values and proofs, and their memory.
//! - `state`: what a search is given, and what its threads count. It decides nothing.
//! - `leaf`: the way of a leaf. A batch is *gathered* by the PUCT formula, and *backed up* once it is
//!   evaluated.
//! - `report`: what is read from the root at one moment: the move to play, information, figures for stoppers.
//! - `drive`: the threads that gather and evaluate, and the one that watches the clock and ends the search.
//!
//! Called by `engine`. Uses `chess`, `network` through its traits, and `time` for when to stop.

mod drive;
mod leaf;
mod report;
mod state;
mod sync;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

pub use drive::{NextStep, Outcome, STACK_BYTES, WorkerPoolError};
pub use report::{Figures, LineValue, MeanStats, MoveStats, NodeStats, PvLine, RootStats, SearchInfo};
pub use state::{
    CollisionScaling, ContemptMode, ContemptOptions, CounterValues, EndReason, Exploration, FirstPlayUrgency,
    FpuStrategy, MoveStatsWhen, NoiseParams, Reporting, Rescale, RootFpuStrategy, SearchParams,
    TemperatureParams,
};

pub(crate) use drive::{News, PACE_WAIT, Search, SteppedSearch, WorkerPool, conclude, run, watch};
pub(crate) use leaf::buffer_bytes;
pub use leaf::worth_under_way;
pub(crate) use report::root_evaluation;
pub(crate) use state::{Life, SearchClock, SearchContext, Stage};
