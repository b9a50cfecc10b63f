//! What a backend says of itself.

use std::num::NonZero;
use std::thread;

use super::encode::InputFormat;
use super::timetable::DevicePace;

/// What a backend is, and how it wants to be used.
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// The name by which options choose it.
    pub name: String,
    /// Network, device, library and precision, for people.
    pub description: String,
    /// The network's file or another name of it. Empty without a network.
    pub network: String,
    /// The device that computes, for people. Empty if no one device does.
    pub device: String,
    /// The places among [`nvidia_gpus`](crate::system::gpus::nvidia_gpus) of those that compute. Empty if
    /// none does, or it is not known which.
    pub nvidia_gpus: Vec<usize>,
    /// The library that computes, with its version. Empty if the engine itself does.
    pub library: String,
    /// The number format: `fp32`, `fp16`, `bf16`, `int8`. Empty without a network.
    pub precision: String,
    pub input_format: InputFormat,
    /// The network gives draws a probability of their own.
    pub has_wdl: bool,
    pub has_moves_left: bool,
    /// The largest batch that it takes, in positions.
    pub max_batch: usize,
    /// The smallest batch with about the best throughput, as far as known.
    pub preferred_batch: usize,
    /// The largest batch that takes hardly longer than one position, or 0 if none does.
    pub cheap_batch: usize,
    /// The sizes up to which batches are filled, ascending. Empty if they are computed as they are.
    pub padded_to: Vec<usize>,
    pub preferred_threads: usize,
    /// Batches in flight while the search goes on, or 0 without an accelerator: then evaluation occupies the
    /// calling thread's core.
    pub queues: usize,
    /// Bytes of an evaluator beside what all share, or 0 if it is not known.
    pub evaluator_bytes: usize,
    /// The pace of a device in virtual time, whose evaluators answer at once. `None` in real time.
    pub(crate) virtual_pace: Option<DevicePace>,
}

impl BackendInfo {
    /// A backend that computes on the calling thread and takes batches of any size, without heads for draws
    /// and moves left.
    pub fn new(name: &str, description: &str) -> BackendInfo {
        BackendInfo {
            name: name.into(),
            description: description.into(),
            network: String::new(),
            device: String::new(),
            nvidia_gpus: Vec::new(),
            library: String::new(),
            precision: String::new(),
            input_format: InputFormat::Classical,
            has_wdl: false,
            has_moves_left: false,
            max_batch: ANY_BATCH,
            // Cheap for the search, and fills a vector machine. Others would do as well.
            preferred_batch: 32,
            cheap_batch: 0,
            padded_to: Vec::new(),
            preferred_threads: cores(),
            queues: 0,
            evaluator_bytes: 0,
            virtual_pace: None,
        }
    }

    /// The size up to which a batch of `positions` may be filled at hardly any cost.
    pub(crate) fn filled_up(&self, positions: usize) -> usize {
        let padded = self.padded_to.iter().find(|size| **size >= positions);
        padded.copied().unwrap_or(self.cheap_batch)
    }

    /// Virtual time allows one search thread only.
    pub(crate) fn has_virtual_time(&self) -> bool {
        self.virtual_pace.is_some()
    }

    /// For reports and games that are passed on: only the name of the network's file.
    pub fn description_without_folder(&self) -> String {
        without_folder(&self.description)
    }
}

/// Strips the folder from the network's file, with which a description begins.
pub fn without_folder(description: &str) -> String {
    let (file, rest) = description.split_once(", ").unwrap_or((description, ""));
    // Measured elsewhere, it may have the separators of another system.
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    if rest.is_empty() {
        name.to_owned()
    } else {
        format!("{name}, {rest}")
    }
}

/// The largest batch of backends without a limit of their own.
pub(crate) const ANY_BATCH: usize = 65_536;

/// While one batch is computed, the other travels.
pub(crate) const ACCELERATOR_QUEUES: usize = 2;

/// Cores that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
