//! Networks: files, input planes, policy indices, and the backends that evaluate.
//!
//! The search knows this module only through [`Backend`] and [`Evaluator`]: [`EvalSlot::fill`] encodes a
//! position with the policy indices of its legal moves, an evaluator fills in value, draw probability, moves
//! left and logits. Others let a [`BatchEvaluator`] collect positions into batches. Nothing here knows of the
//! search.
//!
//! | module | job |
//! |---|---|
//! | [`discover`], [`folders`] | find the network to use, and the cache folder |
//! | [`weights`] | network files: Lc0's format and ONNX models, checked |
//! | [`encode`], [`packed_planes`], [`policy_map`] | input planes and policy indices of a position |
//! | [`onnx`] | writes a network as an ONNX model |
//! | [`backends`] | everything that evaluates, and the choice among them |
//! | [`instrumented`], `throughput` | how busy a backend is, how fast it is |
//! | [`timetable`] | when a simulated device is done |
//! | [`cache`] | evaluations of positions met before |

pub mod backends;
pub mod cache;
pub mod discover;
pub mod encode;
mod eval_slot;
pub mod folders;
pub(crate) mod instrumented;
pub mod onnx;
pub mod packed_planes;
pub mod policy_map;
pub mod throughput;
pub(crate) mod timetable;
pub mod weights;

use std::fmt::Debug;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

use thiserror::Error;

use crate::note::Note;
use crate::params::ParamError;

pub use eval_slot::{BatchEvaluator, EvalSlot, PositionEncoding, approximate_softmax};
pub(crate) use timetable::DevicePace;

/// Planes of a network's input.
pub const PLANES: usize = 112;
/// Outputs of a network's policy head.
pub const POLICY_SIZE: usize = 1858;
/// More legal moves than any chess position has (218).
pub const MAX_MOVES: usize = 256;

/// A network's input, compact: plane `p` has `values[p]` on the squares of `masks[p]` and 0 elsewhere.
///
/// It stands for a tensor `[112, 8, 8]`. Bit 0 is a1, bit 7 h1, bit 63 h8, as seen by the side to move.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlanes {
    /// Squares that are not 0, one bitboard per plane.
    pub masks: [u64; PLANES],
    /// The value on those squares.
    pub values: [f32; PLANES],
}

impl Default for InputPlanes {
    fn default() -> Self {
        InputPlanes { masks: [0; PLANES], values: [1.0; PLANES] }
    }
}

impl InputPlanes {
    /// Writes the dense tensor `[112, 8, 8]` into `out`, which must hold `112 * 64` numbers.
    pub fn write_dense(&self, out: &mut [f32]) {
        for ((plane, &mask), &value) in out.chunks_exact_mut(64).zip(&self.masks).zip(&self.values) {
            for (square, cell) in plane.iter_mut().enumerate() {
                *cell = if mask >> square & 1 == 1 { value } else { 0.0 };
            }
        }
    }
}

/// A network's evaluation of a position, from the point of view of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Expected result, win minus loss, in `-1..=1`.
    pub q: f32,
    /// Probability of a draw in `0..=1`, or 0 for networks without a WDL head.
    pub d: f32,
    /// Plies to the end of the game, not below 0, or 0 for networks without a Moves Left Head.
    pub m: f32,
}

/// A description of a backend, with what it prefers.
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// Its name as in `--backend`.
    pub name: String,
    /// Network, device, library and precision, for people.
    pub description: String,
    /// The format in which positions must be encoded for it.
    pub input_format: encode::InputFormat,
    /// True if the network has a WDL head, which gives draws a probability of their own.
    pub has_wdl: bool,
    pub has_moves_left: bool,
    /// The largest batch it takes, positions.
    pub max_batch: usize,
    /// The batch size with the best throughput that is still small, as far as known.
    pub preferred_batch: usize,
    /// The kind of processor that computes.
    pub processor: Processor,
    /// Search threads that it can do with.
    pub(crate) preferred_threads: usize,
    /// Batches that it evaluates side by side while the search goes on, or 0 if it needs the core of the
    /// thread that asks.
    pub queues: usize,
    /// The pace of a device in virtual time, whose evaluators answer at once, or `None` if its time is real.
    pub(crate) virtual_pace: Option<DevicePace>,
}

impl BackendInfo {
    /// Returns whether time is only counted, so that one thread at most may search.
    pub(crate) fn has_virtual_time(&self) -> bool {
        self.virtual_pace.is_some()
    }

    /// Returns the description with the name of the network's file alone, as reports, pages and games are
    /// passed on.
    pub fn description_without_folder(&self) -> String {
        without_folder(&self.description)
    }
}

/// Returns a backend's description without the folder of the network's file, with which it begins.
pub fn without_folder(description: &str) -> String {
    let (file, rest) = description.split_once(", ").unwrap_or((description, ""));
    // Measured elsewhere, it may have the separators of another system.
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    if rest.is_empty() { name.to_owned() } else { format!("{name}, {rest}") }
}

/// The kind of processor on which a backend computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// The cores of this machine: whoever waits for an evaluation needs no core of its own.
    Cpu,
    /// A device beside the cores.
    Accelerator,
}

/// Batches that an accelerator has at once: while it computes one, the other travels.
pub(crate) const ACCELERATOR_QUEUES: usize = 2;

/// Returns the number of cores of this machine that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Says why a backend could not be made or could not evaluate. The texts contain the fields.
#[derive(Debug, Error)]
pub enum BackendError {
    /// The name or an option of the backend is wrong.
    #[error(transparent)]
    Params(#[from] ParamError),
    #[error("the backend {backend} needs a network (option WeightsFile, flag --weights)")]
    NoNetwork { backend: String },
    /// ONNX Runtime is missing or cannot be used.
    #[error(transparent)]
    Library(#[from] backends::onnxruntime::LibraryError),
    #[error("{backend} cannot evaluate: {reason}")]
    Model { backend: String, reason: String },
    #[error("{backend}: cannot start a thread for a device: {reason}")]
    Thread { backend: String, reason: String },
    /// A device or library that the user asks for cannot be had, and nothing else is to evaluate in its
    /// place.
    #[error("{0} (set --fallback=cpu, option Fallback, to use the CPU instead)")]
    NotAvailable(Box<BackendError>),
    #[error("{backend}: evaluation failed: {reason}")]
    Evaluation { backend: String, reason: String },
}

impl BackendError {
    /// Returns whether what the user wrote is wrong, rather than a device, a library or a file.
    pub(crate) fn is_user_error(&self) -> bool {
        matches!(self, BackendError::Params(_) | BackendError::NoNetwork { .. })
    }
}

/// A network made ready on a device. Shared by all threads.
pub trait Backend: Send + Sync + Debug {
    /// Returns the backend's description, which never changes.
    fn info(&self) -> &BackendInfo;

    /// Returns an evaluator for one thread, with its own session and buffers.
    ///
    /// # Errors
    /// Fails if the device has no room for another one.
    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError>;

    /// Returns how long its processors have computed since it was made, or `None` where it doesn't know.
    /// [`instrumented::Instrumented`] knows for every backend.
    ///
    /// The increase during a search, divided by the search's time, is the utilisation. Cores count as their
    /// mean.
    fn busy_time(&self) -> Option<Duration> {
        None
    }

    /// Takes the notes for people that have come up since the last call: what a name was taken for, which
    /// device does what, which one failed.
    fn take_notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// Evaluates batches. Owned by one thread.
pub trait Evaluator: Send {
    /// Evaluates all slots of `batch` (at most [`BackendInfo::max_batch`], never none) and fills their
    /// outputs. Blocks.
    ///
    /// # Errors
    /// Fails if the device fails. The slots' outputs are then undefined.
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError>;
}
