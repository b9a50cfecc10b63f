//! The search: PUCT tree search with batches of leaves, on any number of threads.
//!
//! The way of one leaf: a `worker` *gathers* a batch of leaves (`gather`, by the formula in `select`, within the bounds in
//! `quota`), sends it to its `device`, and *backs up* policies and values of the oldest one that is back (`backup`). After
//! each batch the `stop_controller` asks the
//! stoppers; the `controller` watches the clock and reports (`info`, `move_stats`); `best_move` decides.
//! What all threads of a search share lies in `shared`: the `context`, which never changes, the `root_policy`, the
//! `visit_budget`, the `counters` and the `worker_progress`. All figures of a running search come from one
//! `root_snapshot`.
//! Searches whose owner provides the thread and the evaluations go step by step (`stepped`).
//! `contempt` and `wdl` change the network's values on their way into the tree, if options say so.
//! Called by `engine`; uses `chess`, `network` through its traits, and `time` for when to stop.

mod backup;
mod batch;
mod best_move;
mod clock;
mod contempt;
mod context;
mod controller;
mod counters;
mod device;
mod gather;
mod info;
mod move_stats;
mod noise;
mod params;
mod prefetch;
mod proof;
mod quota;
mod root_policy;
mod root_snapshot;
mod select;
mod shared;
mod stats;
mod stepped;
mod stop_controller;
mod summary;
mod sync;
mod temperature;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod visit_budget;
mod wakeup_latency;
mod wdl;
mod worker;
mod worker_progress;

pub use contempt::{ContemptError, ContemptMode, ContemptOptions};
pub use controller::SearchResult;
pub use counters::CounterValues;
pub use info::{MoveStatsWhen, PvLine, Reporting, SearchInfo};
pub use move_stats::{MeanStats, MoveStats, NodeStats, RootStats};
pub use noise::NoiseParams;
pub use params::{Exploration, FirstPlayUrgency, FpuStrategy, RootFpuStrategy, SearchParams};
pub use quota::CollisionScaling;
pub(crate) use quota::{leaves_under_way, worth_under_way};
pub use stepped::NextStep;
pub use stop_controller::EndReason;
pub use summary::SearchSummary;
pub use temperature::TemperatureParams;
pub use wdl::Rescale;

pub(crate) use batch::buffer_bytes;
pub(crate) use clock::SearchClock;
pub(crate) use context::SearchContext;
pub(crate) use controller::{conclude, run};
pub(crate) use shared::{Search, SearchSpec};
pub(crate) use stats::{root_evaluation, root_visits};
pub(crate) use stepped::SteppedSearch;
pub(crate) use worker::WorkerPool;
pub use worker::WorkerPoolError;
pub(crate) use worker_progress::WorkerProgress;
