//! Backends of several devices: each device has a backend of its own, and together they are one.
//!
//! | name | what becomes of a batch | where |
//! |---|---|---|
//! | `demux` | it is split over all devices | `dispatch` |
//! | `multiplexing` | it waits for the next device that is free, which takes others along | `dispatch` |
//! | `roundrobin` | it goes to the devices in turn | `round_robin` |
//!
//! A device that fails drops out with a message, and the others evaluate what it leaves; only when none is left does an
//! evaluation fail. [`super::create`] makes such backends from what [`super::config`] has read; they know devices only
//! as [`Backend`]s.

mod device_pool;
mod dispatch;
mod queue;
mod round_robin;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use device_pool::DevicePool;
use dispatch::Dispatch;
use round_robin::RoundRobin;

use super::super::{Backend, BackendError};

/// The name of the backend that splits batches.
pub const DEMUX: &str = "demux";
/// The name of the backend that joins batches.
pub const MULTIPLEXING: &str = "multiplexing";
/// The name of the backend that takes turns.
pub const ROUND_ROBIN: &str = "roundrobin";

/// A device that a backend of several is to use.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name in messages.
    pub label: String,
    /// The backend that evaluates on it.
    pub backend: Arc<dyn Backend>,
    /// Batches that it evaluates at once, each on a thread of its own; `roundrobin` has no such threads.
    pub threads: usize,
    /// Positions up to which waiting batches are joined; only `multiplexing` joins.
    pub join_up_to: usize,
}

/// Makes one backend of several devices, at least one; `notes` come before those of the backend, such as notes on
/// devices that are missing.
///
/// # Errors
/// Fails if the devices want positions encoded differently, or one has no room for its evaluators.
pub fn join(name: &str, devices: Vec<Device>, notes: Vec<String>) -> Result<Arc<dyn Backend>, BackendError> {
    let pool = DevicePool::new(name, &devices, notes);
    Ok(match name {
        ROUND_ROBIN => Arc::new(RoundRobin::new(pool)?),
        _ => Arc::new(Dispatch::new(pool, &devices)?),
    })
}
