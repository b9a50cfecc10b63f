//! The backend: a model, and a pool of sessions, one for each thread that evaluates.
//!
//! A session must not be run by two threads at once, and one session with many threads is no faster than one session
//! per thread with one: so each [`Evaluator`] holds a session of its own. It goes back to the pool with the evaluator,
//! so that the next search starts at once. Sessions share the weights that the library has rearranged for the
//! processor.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ort::device::Device;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::device_options::{DeviceOptions, InputTensor};
use super::evaluator::{self, ModelInterface, RunBatch};
use super::nvidia;
use super::progress_message::ProgressMessage;
use super::provider::Provider;
use super::runtime::Runtime;
use crate::network::weights::{DataType, InputForm, OnnxModel, ValueOutput};
use crate::network::{
    ACCELERATOR_THREADS, Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Processor, cores, folders,
};
use crate::params::Params;

/// The backend's name.
pub const NAME: &str = "onnxruntime";
/// A bound for the memory of one batch; far beyond the size at which throughput stops growing.
pub(super) const MAX_BATCH: usize = 1024;
/// The preferred batch on CPUs, where throughput hardly grows beyond 8.
const PREFERRED_BATCH: usize = 16;
/// Batches that are compared before recorded work is trusted: the first ones are still computed in the ordinary way.
const TRIALS: u64 = 6;
/// Batch sizes for which WebGPU has kernels of their own; what it compiles for two positions does for any larger number.
/// They are compiled at the start, not in the middle of a move.
const COMPILED_SIZES: &[usize] = &[1, 2];
/// An odd factor that fills planes with bits.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;
/// The difference up to which a number `b` in fp16 counts as the same, as a share of `1 + |b|`.
const TOLERANCE: f32 = 0.02;
/// Two such batches fill a GPU with most networks.
pub(super) const PREFERRED_GPU_BATCH: usize = 256;

/// Held while a session of a provider that [runs one at a time](Provider::runs_one_at_a_time) is made, runs or is given up.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A model made ready in ONNX Runtime.
#[derive(Debug)]
pub struct OnnxRuntime {
    info: BackendInfo,
    sessions: Arc<SessionPool>,
    notes: Mutex<Vec<String>>,
}

/// Says why the work that a device has recorded is not replayed.
#[derive(Debug, Error)]
enum ReplayError {
    /// It cannot be recorded or replayed.
    #[error(transparent)]
    Failed(#[from] BackendError),
    /// The replay computes something else.
    #[error("they give other numbers than the ordinary way")]
    OtherNumbers,
}

/// The model and the sessions that all evaluators share. Only `idle` changes, under its lock.
struct SessionPool {
    runtime: &'static Runtime,
    model: Bytes,
    data_type: DataType,
    input: InputForm,
    interface: ModelInterface,
    device: DeviceOptions,
    /// The folder of what the provider builds once; empty where it builds nothing.
    engines: PathBuf,
    prepacked: PrepackedWeights,
    idle: Mutex<Vec<Session>>,
}

impl fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPool").field("interface", &self.interface).finish_non_exhaustive()
    }
}

impl OnnxRuntime {
    /// Loads ONNX Runtime if this is its first use, makes a session of `model` and tries it.
    ///
    /// `network` is the network's name in messages. The model must be in the precision and with the input for `device`.
    ///
    /// # Errors
    /// Returns [`BackendError::Library`] if there is no ONNX Runtime with the provider, [`BackendError::Model`] or
    /// [`BackendError::Evaluation`] if it cannot run the model.
    pub fn new(model: OnnxModel, network: &str, device: &DeviceOptions) -> Result<OnnxRuntime, BackendError> {
        let runtime = Runtime::get(device.provider)?;
        let version = &runtime.library().version;
        let (processor, preferred_batch, preferred_threads) = if device.provider.is_accelerator() {
            (Processor::Accelerator, PREFERRED_GPU_BATCH, ACCELERATOR_THREADS)
        } else {
            (Processor::Cpu, PREFERRED_BATCH, cores().div_ceil(device.threads))
        };
        let info = BackendInfo {
            name: NAME.into(),
            description: format!(
                "{network} on ONNX Runtime {version}, {}",
                describe(device, model.data_type)
            ),
            input_format: model.input_format,
            has_wdl: matches!(model.names.value, ValueOutput::Wdl(_)),
            has_moves_left: model.names.moves_left.is_some(),
            max_batch: MAX_BATCH,
            preferred_batch: model.fixed_batch.unwrap_or(preferred_batch).min(MAX_BATCH),
            measures_batch: model.fixed_batch.is_none(),
            processor,
            preferred_threads,
        };
        let builds_engines = device.provider == Provider::TensorRt;
        let engines = if builds_engines { engine_folder(&model, version)? } else { PathBuf::new() };
        let _message = builds_engines.then(|| {
            ProgressMessage::start(format!(
                "TensorRT builds its engines or reads them from {}",
                engines.display()
            ))
        });
        let sessions = |cuda_graph| {
            Arc::new(SessionPool {
                runtime,
                model: model.bytes.clone(),
                data_type: model.data_type,
                input: model.input_form,
                interface: ModelInterface {
                    names: model.names.clone(),
                    input_format: model.input_format,
                    fixed_batch: model.fixed_batch,
                },
                device: DeviceOptions { cuda_graph, ..device.clone() },
                engines: engines.clone(),
                prepacked: PrepackedWeights::new(),
                idle: Mutex::default(),
            })
        };
        let plain = sessions(false);
        // The first evaluator makes the first session, and its batch finds outputs of a wrong type or shape.
        let mut evaluator = plain.evaluator()?;
        for &size in if device.provider == Provider::WebGpu { COMPILED_SIZES } else { &[1] } {
            evaluator.evaluate(&mut vec![EvalSlot::default(); size])?;
        }
        drop(evaluator);
        if !device.cuda_graph {
            return Ok(OnnxRuntime { info, sessions: plain, notes: Mutex::default() });
        }
        let recorded = sessions(true);
        let (sessions, note) = match recorded.compare_with(&plain) {
            Ok(()) => (recorded, "CUDA graphs replay the work of each batch size".to_owned()),
            Err(reason) => {
                (plain, format!("ERROR: CUDA graphs are of no use here ({reason}); going on without them"))
            }
        };
        Ok(OnnxRuntime { info, sessions, notes: Mutex::new(vec![note]) })
    }

    /// Does the same for a model that others have made; [`DeviceOptions::parse`] lists the options. What the
    /// device cannot compute of it, the CPU computes, and a note says so.
    ///
    /// # Errors
    /// As [`OnnxRuntime::new`], and [`BackendError::Params`] for other options.
    pub fn of_foreign_model(
        model: OnnxModel,
        network: &str,
        options: &Params,
    ) -> Result<OnnxRuntime, BackendError> {
        let device = DeviceOptions::parse(options)?;
        match OnnxRuntime::new(model.clone(), network, &device) {
            Err(BackendError::Model { .. }) if device.must_compute_all() => {
                let device = DeviceOptions { needs_cpu: true, ..device };
                let backend = OnnxRuntime::new(model, network, &device)?;
                let note = format!(
                    "ERROR: {} does not compute all of this model; the CPU does the rest",
                    device.provider
                );
                backend.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
                Ok(backend)
            }
            opened => opened,
        }
    }
}

/// Describes device and precision for people.
fn describe(device: &DeviceOptions, data_type: DataType) -> String {
    let precision = match data_type {
        DataType::Float32 => device.precision,
        DataType::Float16 => "fp16",
        DataType::Bfloat16 => "bf16",
    };
    let DeviceOptions { provider, gpu, .. } = device;
    let device = match provider {
        Provider::Cpu => "CPU".to_owned(),
        Provider::OpenVino => "OpenVINO on the CPU".to_owned(),
        Provider::Cuda | Provider::TensorRt => {
            let name = nvidia::device_name(*gpu).unwrap_or_else(|| "of unknown name".into());
            format!("{provider} on GPU {gpu} ({name})")
        }
        _ => format!("{provider} on device {gpu}"),
    };
    format!("{device}, {precision}")
}

/// Makes the folder for what is built of `model` with this version of ONNX Runtime. What is built depends on the GPU
/// and on TensorRT too; ONNX Runtime looks after these itself.
fn engine_folder(model: &OnnxModel, version: &str) -> Result<PathBuf, BackendError> {
    let hash = Sha256::digest(&model.bytes);
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let refused = |reason: String| BackendError::Model { backend: NAME.into(), reason };
    let cache = folders::cache().ok_or_else(|| {
        refused("no cache folder is known for TensorRT's engines; set ZEITNOT_CACHE_DIR".into())
    })?;
    let folder = cache.join("tensorrt").join(format!("{hash}-up-to-{MAX_BATCH}-{version}"));
    fs::create_dir_all(&folder)
        .map_err(|error| refused(format!("cannot write to {} ({error})", folder.display())))?;
    Ok(folder)
}

impl Backend for OnnxRuntime {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.sessions.evaluator()?))
    }

    fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionPool {
    fn evaluator(self: &Arc<SessionPool>) -> Result<SessionEvaluator, BackendError> {
        let session = {
            let _alone = self.alone();
            self.take_or_open()?
        };
        let DeviceOptions { provider, gpu, .. } = self.device;
        let memory = match provider {
            Provider::Cuda | Provider::TensorRt if self.device.cuda_graph => {
                evaluator::HostMemory::Recorded { gpu }
            }
            Provider::Cuda | Provider::TensorRt => evaluator::HostMemory::Pinned { gpu },
            _ => evaluator::HostMemory::Plain,
        };
        let mut evaluator = SessionEvaluator {
            session: Some(session),
            run: evaluator::runner(self.input, self.data_type, memory),
            sessions: Arc::clone(self),
        };
        if provider.runs_one_at_a_time() {
            evaluator.give_back();
        }
        Ok(evaluator)
    }

    /// Returns a session that nobody uses, or a new one.
    fn take_or_open(&self) -> Result<Session, BackendError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.open(), Ok)
    }

    /// Waits until no other session of a provider that runs one at a time is made or runs. Others don't wait.
    fn alone(&self) -> Option<MutexGuard<'static, ()>> {
        let runs_alone = self.device.provider.runs_one_at_a_time();
        runs_alone.then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes sure that this evaluates as `other` does, from batch to batch. A wrong recording shows when it is replayed.
    fn compare_with(self: &Arc<SessionPool>, other: &Arc<SessionPool>) -> Result<(), ReplayError> {
        let (mut own, mut others) = (self.evaluator()?, other.evaluator()?);
        for trial in 1..=TRIALS {
            let mut slot = EvalSlot::default();
            slot.planes.masks.iter_mut().zip(trial..).for_each(|(mask, n)| *mask = n.wrapping_mul(SCATTER));
            slot.moves.extend(0..64);
            let (mut found, mut expected) = ([slot.clone()], [slot]);
            own.evaluate(&mut found)?;
            others.evaluate(&mut expected)?;
            let ([found], [expected]) = (&found, &expected);
            let logits = found.logits.iter().zip(&expected.logits);
            let mut numbers = logits.chain([(&found.evaluation.q, &expected.evaluation.q)]);
            if numbers.any(|(a, b)| (a - b).abs() > TOLERANCE * (1.0 + b.abs())) {
                return Err(ReplayError::OtherNumbers);
            }
        }
        Ok(())
    }

    /// Opens a new session; the library then optimises the graph, which takes the time.
    fn open(&self) -> Result<Session, BackendError> {
        let DeviceOptions { provider, gpu, .. } = self.device;
        let device = match provider.plugin() {
            Some(_) => Some(self.runtime.device(provider, gpu)?),
            None => None,
        };
        self.open_on(device)
            .map_err(|error| BackendError::Model { backend: NAME.into(), reason: error.to_string() })
    }

    /// Opens a new session, for a plugin on its device.
    fn open_on(&self, device: Option<Device<'_>>) -> ort::Result<Session> {
        let mut builder = Session::builder(self.runtime.environment())?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_threads(self.device.threads)?
            .with_inter_threads(1)?
            .with_intra_op_spinning(false)?
            .with_inter_op_spinning(false)?
            // Keeps 8-bit models exact where their sums could saturate; slower, also where they could not.
            .with_config_entry("session.x64quantprecision", if sums_bytes_exactly() { "0" } else { "1" })?
            // Weights that can be sessions must not lie in a session's own arena.
            .with_config_entry("session.use_device_allocator_for_initializers", "0")?
            .with_prepacked_weights(&self.prepacked)?
            // What a device cannot compute would silently be computed by the processor.
            .with_config_entry(
                "session.disable_cpu_ep_fallback",
                if self.device.must_compute_all() { "1" } else { "0" },
            )?;
        let input = InputTensor { name: &self.interface.names.input, form: self.input };
        if let Some(provider) = self.device.registration(input, &self.engines) {
            builder = builder.with_execution_providers([provider])?;
        }
        if let Some(device) = device {
            builder = builder.with_devices([device], Some(&self.device.plugin_options()))?;
        }
        builder.commit_from_memory(&self.model)
    }
}

/// Returns whether the processor adds up products of 8-bit numbers without saturation. On x86 this takes VNNI.
fn sums_bytes_exactly() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

struct SessionEvaluator {
    /// `None` while it is given back: where sessions run one at a time, all evaluators share one.
    session: Option<Session>,
    run: Box<dyn RunBatch>,
    sessions: Arc<SessionPool>,
}

impl SessionEvaluator {
    fn give_back(&mut self) {
        let mut idle = self.sessions.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.session.take());
    }

    fn run_parts(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let session = match &mut self.session {
            Some(session) => session,
            None => self.session.insert(self.sessions.take_or_open()?),
        };
        let interface = &self.sessions.interface;
        for part in batch.chunks_mut(interface.fixed_batch.unwrap_or(MAX_BATCH)) {
            self.run.run(session, interface, part).map_err(|error| BackendError::Evaluation {
                backend: NAME.into(),
                reason: error.to_string(),
            })?;
        }
        Ok(())
    }
}

impl Evaluator for SessionEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let alone = self.sessions.alone();
        let done = self.run_parts(batch);
        if alone.is_some() {
            self.give_back();
        }
        done
    }
}

impl Drop for SessionEvaluator {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Drop for SessionPool {
    fn drop(&mut self) {
        let _alone = self.alone();
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::network::onnx::{self, BuildOptions};
    use crate::network::weights::{HeadChoice, Model, NetworkFile};

    fn backend(name: &str) -> OnnxRuntime {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens/nets").join(name);
        let Model::Layers(network, _) = NetworkFile::load(&path, HeadChoice::default()).unwrap().model else {
            panic!("no layers")
        };
        let model = onnx::build(*network, &BuildOptions::default());
        crate::network::folders::allow_fetching();
        OnnxRuntime::new(model, name, &DeviceOptions::default()).unwrap()
    }

    #[test]
    fn what_evaluates_otherwise_is_found_out() {
        let (tiny, other) = (backend("tiny.pb.gz"), backend("se_mlh.pb.gz"));
        assert!(tiny.sessions.compare_with(&tiny.sessions).is_ok());
        let error = tiny.sessions.compare_with(&other.sessions).unwrap_err().to_string();
        assert_eq!(error, "they give other numbers than the ordinary way");
    }
}
