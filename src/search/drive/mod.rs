//! What makes a search go: its threads, its device, and the end.
//!
//! A `worker` gathers batches, sends them to its `device`, and takes in the oldest one that is back. After each batch the
//! `stop_controller` asks the stoppers. The `controller` watches the clock, reports, and decides on the move at the end. Searches whose
//! owner provides the thread and the evaluations go step by step (`stepped`).

mod controller;
mod device;
mod search;
mod stepped;
mod stop_controller;
mod worker;

pub use controller::SearchResult;
pub(crate) use controller::{conclude, run};
pub use device::WorkerPoolError;
pub(crate) use search::Search;
pub use stepped::NextStep;
pub(crate) use stepped::SteppedSearch;
pub use stop_controller::EndReason;
#[cfg(test)]
pub(super) use stop_controller::StopController;
pub(crate) use worker::WorkerPool;
