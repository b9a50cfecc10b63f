//! A pool of sessions with one model, one for each thread that evaluates.
//!
//! A session must not be run by two threads at once, and one session with many threads is no faster than one
//! session per thread with one: so each [`Evaluator`] holds a session of its own. It goes back to the pool
//! with the evaluator, so that the next search starts at once. Sessions share the weights that the library
//! has rearranged for the processor.

use std::fmt;
use std::sync::Arc;

use ort::device::Device;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights};
use parking_lot::{Mutex, MutexGuard};

use super::device_options::DeviceOptions;
use super::provider::Provider;
use super::runners::{RunBatch, runner};
use super::runtime::Runtime;
use super::tensors::RunError;
use super::{MAX_BATCH, NAME, in_our_words, known_limit};
use crate::network::weights::OnnxModel;
use crate::network::{BackendError, EvalSlot, Evaluator};
use crate::system::vulkan;

/// Held while a session of a provider that [runs one at a time](super::provider::ProviderSpec::runs_one_at_a_time) is made, runs
/// or is given up.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The model and the sessions that all evaluators share. Only `idle` changes, under its lock.
pub(super) struct SessionPool {
    runtime: &'static Runtime,
    model: OnnxModel,
    device: DeviceOptions,
    prepacked: PrepackedWeights,
    idle: Mutex<Vec<Session>>,
}

impl fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPool").field("device", &self.device).finish_non_exhaustive()
    }
}

impl SessionPool {
    /// Returns a pool without a session yet.
    pub(super) fn new(runtime: &'static Runtime, model: OnnxModel, device: DeviceOptions) -> SessionPool {
        SessionPool { runtime, model, device, prepacked: PrepackedWeights::new(), idle: Mutex::default() }
    }

    pub(super) fn evaluator(self: &Arc<SessionPool>) -> Result<SessionEvaluator, BackendError> {
        let session = {
            let _alone = self.alone();
            self.take_or_open()?
        };
        let DeviceOptions { provider, gpu, .. } = self.device;
        let mut evaluator = SessionEvaluator {
            session: Some(session),
            run: runner(&self.model, (provider == Provider::Cuda).then_some(gpu)),
            sessions: Arc::clone(self),
        };
        if provider.spec().runs_one_at_a_time {
            evaluator.give_back();
        }
        Ok(evaluator)
    }

    /// Returns a session that nobody uses, or a new one.
    fn take_or_open(&self) -> Result<Session, BackendError> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| self.open(), Ok)
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
        self.open_on(device).map_err(|error| {
            let own = in_our_words(&error);
            let old_driver = vulkan::outdated().filter(|_| provider == Provider::WebGpu);
            let reason = match (known_limit(self.model.data_type, provider), old_driver) {
                (Some(known), _) => known.into(),
                (None, Some(old)) => format!("{old}. {own}"),
                (None, None) => own,
            };
            BackendError::Model { backend: NAME.into(), reason }
        })
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
            builder = builder.with_devices([device], Some(&self.device.plugin_options()))?;
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

/// A session with what runs batches on it.
pub(super) struct SessionEvaluator {
    /// `None` while it is given back: where sessions run one at a time, all evaluators share one.
    session: Option<Session>,
    run: Box<dyn RunBatch>,
    sessions: Arc<SessionPool>,
}

impl SessionEvaluator {
    fn give_back(&mut self) {
        let mut idle = self.sessions.idle.lock();
        idle.extend(self.session.take());
    }

    fn run_parts(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let session = match &mut self.session {
            Some(session) => session,
            None => self.session.insert(self.sessions.take_or_open()?),
        };
        let model = &self.sessions.model;
        for part in batch.chunks_mut(model.fixed_batch.unwrap_or(MAX_BATCH)) {
            self.run.run(session, model, part).map_err(|error| {
                let reason = match &error {
                    RunError::Library(error) => in_our_words(error),
                    own => own.to_string(),
                };
                BackendError::Evaluation { backend: NAME.into(), reason }
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
        self.idle.get_mut().clear();
    }
}
