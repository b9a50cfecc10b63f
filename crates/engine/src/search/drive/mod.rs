//! Runs a search.
//!
//! A `worker` gathers batches, sends them to its `device`, backs up the oldest one and asks the stoppers
//! through the `stop_controller`. The thread in `search` watches the clock, reports, and chooses the move.

mod device;
mod search;
mod stop_controller;
mod worker;

pub use device::WorkerPoolError;
pub use search::Outcome;
pub(crate) use search::{News, Search, conclude, run, watch};
#[cfg(test)]
pub(super) use stop_controller::StopController;
pub use worker::{NextStep, STACK_BYTES};
pub(crate) use worker::{PACE_WAIT, SteppedSearch, WorkerPool};
