//! Networks: files, input planes, policy indices, and the backends that evaluate.
//!
//! The search knows this module only through [`Backend`] and [`Evaluator`]. Nothing here knows of the search.
//!
//! | module | job |
//! |---|---|
//! | [`discover`], [`folders`] | find the network to use, and the cache folder |
//! | [`encode`], [`packed_planes`], [`policy_map`] | input planes and policy indices of a position |
//! | [`layers`], `protobuf` | a network as plain layers, and how messages are declared |
//! | [`onnx`] | ONNX models, and how a network becomes one |
//! | [`weights`] | network files: Lc0's format and ONNX models, checked. They become layers or a model |
//! | [`backends`] | everything that evaluates, and the choice among them |
//! | [`instrumented`], `throughput` | how busy a backend is, how fast it is |
//! | `failover` | what takes the place of a backend that fails |
//! | [`timetable`] | when a simulated device is done |
//! | [`cache`] | evaluations of positions met before |

pub mod backends;
pub mod cache;
pub mod discover;
pub mod encode;
mod eval_slot;
pub(crate) mod failover;
pub mod folders;
pub(crate) mod instrumented;
pub mod layers;
pub mod onnx;
pub mod packed_planes;
pub mod policy_map;
mod protobuf;
pub mod throughput;
pub(crate) mod timetable;
pub mod weights;

use std::fmt::Debug;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use thiserror::Error;

use crate::note::Note;
use crate::params::ParamError;

pub use eval_slot::{BatchEvaluator, EvalSlot, PositionEncoding, approximate_softmax};
pub(crate) use timetable::DevicePace;

/// Input planes of a network.
pub const PLANES: usize = 112;
/// Moves to which a network gives a policy.
pub const POLICY_SIZE: usize = 1858;
/// Above 218, the most legal moves of any chess position.
pub const MAX_MOVES: usize = 256;

/// A network's input tensor `[112, 8, 8]`, compact: plane `p` has `values[p]` on the squares of `masks[p]`,
/// else 0.
///
/// Bit 0 is a1, bit 7 h1, bit 63 h8, as seen by the side to move.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlanes {
    /// The squares of each plane.
    pub masks: [u64; PLANES],
    /// What stands on the squares of each plane.
    pub values: [f32; PLANES],
}

impl Default for InputPlanes {
    fn default() -> Self {
        InputPlanes {
            masks: [0; PLANES],
            values: [1.0; PLANES],
        }
    }
}

impl InputPlanes {
    /// Fills `out`, at least `112 * 64` numbers, with `[112, 8, 8]`.
    pub fn write_dense(&self, out: &mut [f32]) {
        for ((plane, &mask), &value) in out.chunks_exact_mut(64).zip(&self.masks).zip(&self.values) {
            for (square, cell) in plane.iter_mut().enumerate() {
                *cell = if mask >> square & 1 == 1 { value } else { 0.0 };
            }
        }
    }
}

/// What a position or a subtree is worth. An evaluation is from the point of view of the side to move, and a
/// tree's node from that of the side that moved into it, so that a parent prefers its child with the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Value {
    /// Win minus loss, `-1..=1`, without the worth that contempt gives to draws.
    pub wl: f32,
    /// Draw probability in `0..=1`, 0 without a WDL head.
    pub d: f32,
    /// Plies to the end of the game, at least 0, and 0 without a Moves Left Head.
    pub m: f32,
}

impl Value {
    /// A drawn game.
    pub const DRAW: Value = Value {
        wl: 0.0,
        d: 1.0,
        m: 0.0,
    };

    /// The result one ply further from the root, for the other side.
    pub fn at_child(self) -> Value {
        Value {
            wl: -self.wl,
            d: self.d,
            m: (self.m - 1.0).max(0.0),
        }
    }

    /// The result one ply nearer to the root, for the other side.
    pub fn at_parent(self) -> Value {
        Value {
            wl: -self.wl,
            d: self.d,
            m: self.m + 1.0,
        }
    }

    /// The probabilities of win, draw and loss.
    pub fn wdl(self) -> [f32; 3] {
        [
            (1.0 + self.wl - self.d) / 2.0,
            self.d,
            (1.0 - self.wl - self.d) / 2.0,
        ]
    }

    /// The same result for the other side.
    pub fn for_opponent(self) -> Value {
        Value { wl: -self.wl, ..self }
    }
}

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
    /// The encoding of positions that it evaluates.
    pub input_format: encode::InputFormat,
    /// The network gives draws a probability of their own.
    pub has_wdl: bool,
    /// The network has a Moves Left Head.
    pub has_moves_left: bool,
    /// The largest batch that it takes, in positions.
    pub max_batch: usize,
    /// The smallest batch with about the best throughput, as far as known.
    pub preferred_batch: usize,
    /// The largest batch that takes hardly longer than one position, or 0 if none does.
    pub cheap_batch: usize,
    /// The sizes up to which batches are filled, ascending. Empty if they are computed as they are.
    pub padded_to: Vec<usize>,
    /// Search threads that are best for it.
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
    /// A backend that computes on the calling thread and takes batches of any size, without a network's heads
    /// for draws and moves left. Its fields say what is otherwise.
    pub fn new(name: &str, description: &str) -> BackendInfo {
        BackendInfo {
            name: name.into(),
            description: description.into(),
            network: String::new(),
            device: String::new(),
            nvidia_gpus: Vec::new(),
            library: String::new(),
            precision: String::new(),
            input_format: encode::InputFormat::Classical,
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

/// Why a backend cannot be made or cannot evaluate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackendError {
    #[error(transparent)]
    Params(#[from] ParamError),
    #[error("the backend {backend} needs a network (option WeightsFile, flag --weights)")]
    NoNetwork { backend: String },
    #[error(transparent)]
    Library(#[from] backends::onnxruntime::LibraryError),
    #[error("{backend} cannot evaluate: {reason}")]
    Model { backend: String, reason: String },
    #[error("{backend}: cannot start a thread for a device: {reason}")]
    Thread { backend: String, reason: String },
    /// The device or library is unavailable and no fallback is allowed.
    #[error("{0} (set --fallback=cpu, option Fallback, to use the CPU instead)")]
    NotAvailable(Box<BackendError>),
    #[error("{backend}: evaluation failed: {reason}")]
    Evaluation { backend: String, reason: String },
}

impl BackendError {
    /// How a device that is there has failed, if that is what happened.
    pub(crate) fn of_device(&self) -> Option<&BackendError> {
        match self {
            BackendError::NotAvailable(error) if !matches!(**error, BackendError::Library(_)) => Some(error),
            _ => None,
        }
    }

    /// Whether the user's input is wrong, rather than a device, a library or a file.
    pub(crate) fn is_user_error(&self) -> bool {
        matches!(self, BackendError::Params(_) | BackendError::NoNetwork { .. })
    }
}

/// Whether a backend still evaluates.
#[derive(Clone, Debug)]
pub enum Health {
    /// As far as known.
    Good,
    /// No batch has come back for so long, which is far longer than usual.
    Silent(Duration),
    /// It has failed, and another backend evaluates in its place.
    Replaced(Arc<dyn Backend>),
    /// It has failed for this reason, and nothing evaluates in its place.
    Lost(String),
}

/// A network on a device, shared by all threads.
pub trait Backend: Send + Sync + Debug {
    /// What it is. The same for its whole life.
    fn facts(&self) -> &BackendInfo;

    /// An evaluator for one thread, with its own session and buffers. Fails if the device has no room for it.
    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError>;

    /// Time that its processors have computed since it was made, the mean over cores. `None` if it doesn't
    /// know.
    fn busy_time(&self) -> Option<Duration> {
        None
    }

    /// What has become of it.
    fn health(&self) -> Health {
        Health::Good
    }

    /// Takes the new notes for people, such as on failed devices.
    fn take_notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// Evaluates batches, for the thread that owns it.
pub trait Evaluator: Send {
    /// Evaluates all slots of `batch` (1 to [`BackendInfo::max_batch`]) and fills their outputs. Blocks.
    /// After an error the outputs are undefined.
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError>;
}

impl dyn Evaluator + '_ {
    /// A panic of `backend` is a failure like others.
    pub(crate) fn evaluate_or_fail(
        &mut self,
        backend: &str,
        batch: &mut [EvalSlot],
    ) -> Result<(), BackendError> {
        catch_unwind(AssertUnwindSafe(|| self.evaluate(batch))).unwrap_or_else(|_| {
            Err(BackendError::Evaluation {
                backend: backend.into(),
                reason: "it panicked".into(),
            })
        })
    }
}
