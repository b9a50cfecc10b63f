//! The search: PUCT tree search with batches of leaves, on any number of threads.
//!
//! The way of one leaf: a worker *gathers* a batch of leaves (`gather`, by the formula in `select`), has the
//! backend evaluate it, and *backs up* edges and values (`backup`). After each batch the `referee` asks the
//! stoppers; the `controller` reports (`info`, `move_stats`) and watches the clock; `best_move` decides.
//! Searches whose owner brings thread and evaluations himself go step by step (`stepwise`).
//! `contempt` and `wdl` change the network's values on their way into the tree, if options say so.
//! Called by `engine`; uses `chess`, `network` through its traits, and `time` for when to stop.

mod backup;
mod batch;
mod best_move;
mod contempt;
mod controller;
mod gather;
mod info;
mod job;
mod move_stats;
mod noise;
mod params;
mod prefetch;
mod punctuality;
mod quota;
mod referee;
mod select;
mod stats;
mod stepwise;
mod summary;
mod temperature;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod wdl;
mod worker;

pub use contempt::{ContemptError, ContemptParams, advantage_over};
pub use controller::SearchResult;
pub use info::{Line, MoveStatsWhen, Reporting, SearchInfo, centipawns};
pub use move_stats::{MeanStats, MoveStats, NodeStats, RootStats};
pub use noise::NoiseParams;
pub use params::{Exploration, FirstPlayUrgency, SearchParams};
pub use quota::CollisionScaling;
pub use referee::EndReason;
pub use stepwise::Step;
pub use summary::Summary;
pub use temperature::TemperatureParams;
pub use wdl::Rescale;

pub(crate) use batch::buffer_bytes;
pub(crate) use controller::{conclude, run};
pub(crate) use job::{Job, JobSpec};
pub(crate) use stats::{collect as collect_stats, root_evaluation, root_visits};
pub(crate) use stepwise::Stepwise;
pub(crate) use worker::WorkerPool;
