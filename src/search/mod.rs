//! The search: PUCT tree search with batches of leaves, on any number of threads.
//!
//! Five rooms, each of which uses those above it in this list only:
//! - `tree`: nodes with their values and proofs, and the memory that they lie in.
//! - `state`: what a search is given, and what its threads count. It decides nothing.
//! - `leaf`: the way of a leaf. A batch is *gathered* by the PUCT formula, and *backed up* once it is evaluated.
//! - `report`: the root at one moment, and what is read from it: the move to play, information, figures for stoppers.
//! - `drive`: the threads that gather and evaluate, and the one that watches the clock and says when the search is over.
//!
//! Called by `engine`; uses `chess`, `network` through its traits, and `time` for when to stop.

mod drive;
mod leaf;
mod report;
mod state;
mod sync;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

pub use drive::controller::SearchResult;
pub use drive::stepped::NextStep;
pub use drive::stop_controller::EndReason;
pub use drive::worker::WorkerPoolError;
pub use leaf::quota::CollisionScaling;
pub use report::info::{MoveStatsWhen, PvLine, Reporting, SearchInfo};
pub use report::move_stats::{MeanStats, MoveStats, NodeStats, RootStats};
pub use report::summary::SearchSummary;
pub use report::temperature::TemperatureParams;
pub use state::contempt::{ContemptError, ContemptMode, ContemptOptions};
pub use state::counters::CounterValues;
pub use state::noise::NoiseParams;
pub use state::params::{Exploration, FirstPlayUrgency, FpuStrategy, RootFpuStrategy, SearchParams};
pub use state::wdl::Rescale;

pub(crate) use drive::controller::{conclude, run};
pub(crate) use drive::search::{Search, SearchSpec};
pub(crate) use drive::stepped::SteppedSearch;
pub(crate) use drive::worker::WorkerPool;
pub(crate) use leaf::batch::buffer_bytes;
pub(crate) use leaf::quota::{leaves_under_way, worth_under_way};
pub(crate) use report::figures::{root_evaluation, root_visits};
pub(crate) use state::clock::SearchClock;
pub(crate) use state::context::SearchContext;
pub(crate) use state::progress::WorkerProgress;
