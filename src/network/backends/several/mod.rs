//! Backends of several devices: each part is a backend of its own, and together they are one.
//!
//! | name | what becomes of a batch | where |
//! |---|---|---|
//! | `demux` | it is split over all devices | [`dispatch`] |
//! | `multiplexing` | it waits for the next part that is free, which takes others along | [`dispatch`] |
//! | `roundrobin` | it goes to the devices in turn | [`round_robin`] |
//!
//! A part whose device fails drops out with a message, and the others evaluate what it leaves; only when none is left
//! does an evaluation fail. Made by [`super::create`] from what [`super::config`] has read; knows devices only as
//! [`Backend`]s.

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

/// One of several devices.
#[derive(Clone, Debug)]
pub struct Device {
    /// What messages call it.
    pub label: String,
    /// What evaluates.
    pub backend: Arc<dyn Backend>,
    /// Batches that it evaluates at once, each on a thread of its own; `roundrobin` has no such threads.
    pub threads: usize,
    /// Batches are joined up to so many positions; only `multiplexing` joins.
    pub join_up_to: usize,
}

/// Makes one backend of several devices, at least one; `news` is what people should know of others that are missing.
///
/// # Errors
/// If `name` is none of this module's, the devices want positions encoded differently, or one has no room for its
/// evaluators.
pub fn join(name: &str, devices: Vec<Device>, news: Vec<String>) -> Result<Arc<dyn Backend>, BackendError> {
    let pool = DevicePool::new(name, &devices, news);
    Ok(match name {
        ROUND_ROBIN => Arc::new(RoundRobin::new(pool)?),
        _ => Arc::new(Dispatch::new(name, pool, &devices)?),
    })
}
