//! A pool of sessions with one model, for each thread that evaluates.
//!
//! A session must not be run by two threads at once, and one session with many threads is no faster than one
//! session per thread with one: so each [`Evaluator`] holds sessions of its own, one or [one for each
//! size](BatchSizes). They go back to the pool with the evaluator, so that the next search starts at once.
//! Sessions share the weights that the library has rearranged for the processor.

use std::fmt;
use std::mem;
use std::sync::Arc;

use ort::device::Device;
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights};
use parking_lot::{Mutex, MutexGuard};

use super::batch_sizes::BatchSizes;
use super::device_options::DeviceOptions;
use super::provider::Provider;
use super::runners::{RunBatch, runner};
use super::runtime::Runtime;
use super::tensors::RunError;
use super::{NAME, TRIED, in_our_words, known_limit};
use crate::network::weights::OnnxModel;
use crate::network::{BackendError, EvalSlot, Evaluator};
use crate::system::vulkan;

/// Held while a session of a provider that [runs one at a
/// time](super::provider::ProviderSpec::runs_one_at_a_time) is made, runs or is given up.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The model and the sessions that all evaluators share. Only `idle` changes, under its lock.
pub(super) struct SessionPool {
    runtime: &'static Runtime,
    model: OnnxModel,
    device: DeviceOptions,
    sizes: BatchSizes,
    /// Positions with which new sessions are run.
    pub(super) tried: [EvalSlot; TRIED.len()],
    prepacked: PrepackedWeights,
    /// The sessions of one evaluator each, in the order of the sizes.
    idle: Mutex<Vec<Vec<Session>>>,
}

impl fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPool").field("device", &self.device).finish_non_exhaustive()
    }
}

impl SessionPool {
    /// Returns a pool without a session yet.
    pub(super) fn new(
        runtime: &'static Runtime,
        model: OnnxModel,
        device: DeviceOptions,
        tried: [EvalSlot; TRIED.len()],
    ) -> SessionPool {
        let sizes = BatchSizes::of(device.provider, &model);
        let (prepacked, idle) = (PrepackedWeights::new(), Mutex::default());
        SessionPool { runtime, model, device, sizes, tried, prepacked, idle }
    }

    pub(super) fn evaluator(self: &Arc<SessionPool>) -> Result<SessionEvaluator, BackendError> {
        let _alone = self.alone();
        let provider = self.device.provider;
        let idle = self.idle.lock().pop();
        let is_new = idle.is_none();
        let sessions = idle.map_or_else(|| self.open_all(), Ok)?;
        let pinned = (provider == Provider::Cuda).then(|| self.pinned(&sessions[0])).transpose();
        let run = runner(&self.model, pinned.map_err(|error| self.refusal(&error))?);
        let mut evaluator = SessionEvaluator { sessions, run, pool: Arc::clone(self) };
        // What a device prepares for a size, it prepares before the first move.
        if is_new && provider.is_accelerator() {
            for &size in &self.sizes.known {
                let positions = size.min(TRIED.len());
                evaluator.run_part(&mut self.tried.clone()[..positions], self.sizes.place(size))?;
            }
        }
        if provider.spec().runs_one_at_a_time {
            evaluator.give_back();
        }
        Ok(evaluator)
    }

    /// Opens the sessions of one evaluator.
    fn open_all(&self) -> Result<Vec<Session>, BackendError> {
        (0..self.sizes.sessions()).map(|_| self.open()).collect()
    }

    /// Returns where memory comes from that the GPU of `session`, one of NVIDIA's, reaches itself.
    fn pinned(&self, session: &Session) -> ort::Result<Allocator> {
        let (device, gpu) = (AllocationDevice::CUDA_PINNED, self.device.gpu as i32);
        Allocator::new(session, MemoryInfo::new(device, gpu, AllocatorType::Device, MemoryType::CPU)?)
    }

    /// Waits until no other session of a provider that runs one at a time is made or runs. Others don't wait.
    fn alone(&self) -> Option<MutexGuard<'static, ()>> {
        let runs_alone = self.device.provider.spec().runs_one_at_a_time;
        runs_alone.then(|| ONE_AT_A_TIME.lock())
    }

    /// Opens a new session. The library then optimises the graph, which takes the time.
    fn open(&self) -> Result<Session, BackendError> {
        let DeviceOptions { provider, gpu, .. } = self.device;
        let device = match provider.plugin() {
            Some(_) => Some(self.runtime.device(provider, gpu)?),
            None => None,
        };
        self.open_on(device).map_err(|error| self.refusal(&error))
    }

    fn refusal(&self, error: &ort::Error) -> BackendError {
        let provider = self.device.provider;
        let own = in_our_words(error);
        let old_driver = vulkan::outdated().filter(|_| provider == Provider::WebGpu);
        let reason = match (known_limit(self.model.data_type, provider), old_driver) {
            (Some(known), _) => known.into(),
            (None, Some(old)) => format!("{old}. {own}"),
            (None, None) => own,
        };
        BackendError::Model { backend: NAME.into(), reason }
    }

    /// Opens a new session, for a plugin on its device.
    fn open_on(&self, device: Option<Device<'_>>) -> ort::Result<Session> {
        let mut builder = Session::builder(self.runtime.environment())?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_threads(self.device.threads)?
            .with_inter_threads(1)?
            .with_intra_op_spinning(false)?
            .with_inter_op_spinning(false)?
            // Keeps 8-bit models exact where their sums could saturate. Slower, also where they could not.
            .with_config_entry("session.x64quantprecision", if sums_bytes_exactly() { "0" } else { "1" })?
            // Weights that can be sessions must not lie in a session's own arena.
            .with_config_entry("session.use_device_allocator_for_initializers", "0")?
            .with_prepacked_weights(&self.prepacked)?
            // What a device cannot compute would silently be computed by the processor.
            .with_config_entry(
                "session.disable_cpu_ep_fallback",
                if self.device.must_compute_all() { "1" } else { "0" },
            )?;
        if let Some(folder) = &self.model.weights_folder {
            let key = "session.model_external_initializers_file_folder_path";
            builder = builder.with_config_entry(key, folder.to_string_lossy())?;
        }
        if let Some(provider) = self.device.registration() {
            builder = builder.with_execution_providers([provider])?;
        }
        if let Some(device) = device {
            builder = builder
                .with_devices([device], Some(&self.device.plugin_options(&self.model, &self.sizes)))?;
        }
        builder.commit_from_memory(&self.model.bytes)
    }
}

/// Returns whether the processor adds up products of 8-bit numbers without saturation. On x86 this takes
/// VNNI.
fn sums_bytes_exactly() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

/// Sessions with what runs batches on them.
pub(super) struct SessionEvaluator {
    /// Empty while they are given back: where sessions run one at a time, all evaluators share one.
    sessions: Vec<Session>,
    run: Box<dyn RunBatch>,
    pool: Arc<SessionPool>,
}

impl SessionEvaluator {
    fn give_back(&mut self) {
        if !self.sessions.is_empty() {
            self.pool.idle.lock().push(mem::take(&mut self.sessions));
        }
    }

    fn run_parts(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        if self.sessions.is_empty() {
            let idle = self.pool.idle.lock().pop();
            self.sessions = idle.map_or_else(|| self.pool.open_all(), Ok)?;
        }
        let pool = Arc::clone(&self.pool);
        let mut parts = batch.chunks_mut(pool.sizes.largest());
        parts.try_for_each(|part| self.run_part(part, pool.sizes.place(part.len())))
    }

    fn run_part(&mut self, batch: &mut [EvalSlot], place: (usize, usize)) -> Result<(), BackendError> {
        let (session, positions) = place;
        let model = &self.pool.model;
        self.run.run(&mut self.sessions[session], model, batch, positions).map_err(|error| {
            let reason = match &error {
                RunError::Library(error) => in_our_words(error),
                own => own.to_string(),
            };
            BackendError::Evaluation { backend: NAME.into(), reason }
        })
    }
}

impl Evaluator for SessionEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let pool = Arc::clone(&self.pool);
        let alone = pool.alone();
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
        self.idle.get_mut().clear();
    }
}
