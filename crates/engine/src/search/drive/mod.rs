//! What makes a search go: its threads, its device, and the end.
//!
//! A `worker` gathers batches, sends them to its `device`, and takes in the oldest one that is back. After
//! each batch the `stop_controller` asks the stoppers. The controller (`search`) watches the clock, reports,
//! and decides on the move at the end.

mod device;
mod search;
mod stop_controller;
mod worker;

pub use device::WorkerPoolError;
pub use search::SearchResult;
pub(crate) use search::{Search, conclude, run, watch};
pub use stop_controller::EndReason;
#[cfg(test)]
pub(super) use stop_controller::StopController;
pub use worker::NextStep;
pub use worker::STACK_BYTES;
pub(crate) use worker::{PACE_WAIT, SteppedSearch, WorkerPool};
