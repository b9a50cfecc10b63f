//! Backends without a network: for tests, for measuring the search alone, and for trying it against an
//! accelerator.
//!
//! [`super::create`] makes them. Their answers are computed with integers and exactly rounded float
//! operations only, so that they are the same on every machine: whole searches can be compared by a
//! signature.

pub mod random;
pub mod simulated;
pub mod trivial;

use crate::network::encode::InputFormat;
use crate::network::{BackendInfo, Processor, cores};

/// The largest batch of a backend that has no limit of its own.
const MAX_BATCH: usize = 65_536;

fn info(name: &str, description: String, has_wdl: bool, has_moves_left: bool) -> BackendInfo {
    BackendInfo {
        name: name.into(),
        description,
        input_format: InputFormat::Classical,
        has_wdl,
        has_moves_left,
        max_batch: MAX_BATCH,
        // It costs the search little and fills a vector machine. Any other would do as well.
        preferred_batch: 32,
        processor: Processor::Cpu,
        preferred_threads: cores(),
        queues: 0,
        virtual_pace: None,
    }
}
