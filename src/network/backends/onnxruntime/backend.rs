//! The backend: a model, and a pool of sessions, one for each thread that evaluates.
//!
//! A session is not to be run by two threads at once, and one session with many threads is no faster than one session
//! per thread with one: so each [`Evaluator`] holds a session of its own. It goes back to the pool with the evaluator,
//! so that the next search starts at once. Sessions share the weights that the library has rearranged for the processor.

use std::sync::{Arc, Mutex, PoisonError};

use half::{bf16, f16};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights};

use super::evaluator::Runner;
use super::interface::{Element, Interface, TensorNames, ValueOutput};
use super::runtime::Runtime;
use crate::network::encode::InputFormat;
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};
use crate::params::Params;

/// The backend's name.
pub const NAME: &str = "onnxruntime";
/// A bound for the memory of one batch; far beyond the size at which throughput stops to grow.
const MAX_BATCH: usize = 1024;
/// On CPUs throughput hardly grows beyond 8.
const PREFERRED_BATCH: usize = 16;

/// A network as ONNX, and how to call it.
#[derive(Clone)]
pub struct OnnxModel {
    /// The serialized model.
    pub bytes: Vec<u8>,
    /// The names of its tensors.
    pub names: TensorNames,
    /// How positions must be encoded for it.
    pub input_format: InputFormat,
    /// The network in a few words, for people.
    pub description: String,
}

impl std::fmt::Debug for OnnxModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OnnxModel({}, {} bytes)", self.description, self.bytes.len())
    }
}

/// A model made ready in ONNX Runtime.
#[derive(Debug)]
pub struct OnnxRuntime {
    info: BackendInfo,
    shared: Arc<Shared>,
}

/// What all evaluators share. Only `idle` changes, under its lock.
struct Shared {
    model: OnnxModel,
    threads: usize,
    interface: Interface,
    prepacked: PrepackedWeights,
    idle: Mutex<Vec<Session>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("model", &self.model).field("interface", &self.interface).finish()
    }
}

impl OnnxRuntime {
    /// Loads ONNX Runtime if this is its first use, makes a session and tries it.
    ///
    /// The parameter `threads` (1) is the number of threads that work on one evaluator's batch.
    ///
    /// # Errors
    /// [`BackendError::Library`] if there is no ONNX Runtime, [`BackendError::Params`] for other parameters,
    /// [`BackendError::Interface`] or [`BackendError::Model`] if the model is not one that we can call.
    pub fn new(model: OnnxModel, options: &Params) -> Result<OnnxRuntime, BackendError> {
        options.allow_only(NAME, &["threads"], &[])?;
        let threads = options.integer("threads", 1, 1..=256)? as usize;
        let runtime = Runtime::get()?;
        let prepacked = PrepackedWeights::new();
        let session = open(runtime, &model.bytes, threads, &prepacked)
            .map_err(|error| BackendError::Model { backend: NAME.into(), reason: error.to_string() })?;
        let interface = Interface::of(&session, &model.names)?;
        let info = BackendInfo {
            name: NAME.into(),
            description: format!("{}, ONNX Runtime {}, CPU", model.description, runtime.library().version),
            input_format: model.input_format,
            has_wdl: matches!(interface.value, ValueOutput::Wdl(_)),
            has_moves_left: interface.moves_left.is_some(),
            max_batch: MAX_BATCH,
            preferred_batch: interface.fixed_batch.unwrap_or(PREFERRED_BATCH).min(MAX_BATCH),
        };
        let shared = Shared { model, threads, interface, prepacked, idle: Mutex::new(vec![session]) };
        let backend = OnnxRuntime { info, shared: Arc::new(shared) };
        backend.evaluator()?.evaluate(&mut [EvalSlot::default()])?;
        Ok(backend)
    }
}

/// A new session; the library then optimises the graph, which takes the time.
fn open(
    runtime: &Runtime,
    model: &[u8],
    threads: usize,
    prepacked: &PrepackedWeights,
) -> ort::Result<Session> {
    Session::builder(runtime.environment())?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        .with_inter_op_spinning(false)?
        // Weights that can be shared must not lie in a session's own arena.
        .with_config_entry("session.use_device_allocator_for_initializers", "0")?
        .with_prepacked_weights(prepacked)?
        .commit_from_memory(model)
}

impl Backend for OnnxRuntime {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let shared = &self.shared;
        let idle = shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let session = match idle {
            Some(session) => session,
            None => open(Runtime::get()?, &shared.model.bytes, shared.threads, &shared.prepacked)
                .map_err(|error| BackendError::Model { backend: NAME.into(), reason: error.to_string() })?,
        };
        Ok(Box::new(SessionEvaluator {
            session: Some(session),
            runner: AnyRunner::new(shared.interface.element),
            shared: Arc::clone(shared),
        }))
    }
}

/// A runner for the model's number type.
enum AnyRunner {
    F32(Runner<f32>),
    F16(Runner<f16>),
    Bf16(Runner<bf16>),
}

impl AnyRunner {
    fn new(element: Element) -> AnyRunner {
        match element {
            Element::F32 => AnyRunner::F32(Runner::default()),
            Element::F16 => AnyRunner::F16(Runner::default()),
            Element::Bf16 => AnyRunner::Bf16(Runner::default()),
        }
    }
}

struct SessionEvaluator {
    /// `None` only while it is dropped.
    session: Option<Session>,
    runner: AnyRunner,
    shared: Arc<Shared>,
}

impl Evaluator for SessionEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let interface = &self.shared.interface;
        for part in batch.chunks_mut(interface.fixed_batch.unwrap_or(MAX_BATCH)) {
            match &mut self.runner {
                AnyRunner::F32(runner) => runner.run(session, interface, part),
                AnyRunner::F16(runner) => runner.run(session, interface, part),
                AnyRunner::Bf16(runner) => runner.run(session, interface, part),
            }
            .map_err(|reason| BackendError::Evaluation { backend: NAME.into(), reason })?;
        }
        Ok(())
    }
}

impl Drop for SessionEvaluator {
    fn drop(&mut self) {
        let mut idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.session.take());
    }
}
