//! A pool of sessions with one model.
//!
//! A session must not be run by two threads at once, and one session with many threads is no faster than one
//! session per thread with one. So each batch borrows sessions, one or [one for each size](BatchSizes). On
//! the processor there are as many as evaluators. An accelerator has one for each batch that it receives at
//! once: more would hold the weights in its memory again.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ort::device::Device;
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights};
use parking_lot::{Condvar, Mutex, MutexGuard, RwLockReadGuard};

use super::batch_sizes::{BatchSizes, PREFERRED_GPU_BATCH};
use super::causes::{in_our_words, known_limit};
use super::device_options::DeviceOptions;
use super::graphs::{CAPTURING, Graphs};
use super::provider::{NAME, Provider};
use super::runners::{Runner, read};
use super::runtime::Runtime;
use super::tensors::RunError;
use crate::network::backend::Evaluator;
use crate::network::backend_error::BackendError;
use crate::network::eval_slot::EvalSlot;
use crate::network::onnx::OnnxModel;
use crate::note::Note;
use crate::system::vulkan;

/// Positions with which a model is tried: none is lost, won or drawn in all networks.
pub const TRIED: [&str; 3] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/1P4P1/2n2n2/3pP3/3Pp3/2N2N2/1p4p1/R3K2R b KQkq - 0 12",
    // Squared ReLUs overflow fp16 here where a norm sums in it (LeelaChessZero/lc0#1921).
    "rnbq1rk1/p1p3pp/4pp2/1p1n4/P1pP2N1/6P1/1PQbPPBP/R1B2RK1 b - - 1 12",
];

/// Held while a session of a provider that [runs one at a
/// time](super::provider::ProviderSpec::runs_one_at_a_time) is made, runs or is given up.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The model and the sessions that all evaluators share. Only `state` changes, under its lock.
pub(super) struct SessionPool {
    runtime: &'static Runtime,
    model: Arc<OnnxModel>,
    device: DeviceOptions,
    pub(super) sizes: BatchSizes,
    /// The largest batch that is run as one. Relaxed: who reads it late only fails once more.
    largest: AtomicUsize,
    notes: Mutex<Vec<Note>>,
    pub(super) tried: [EvalSlot; TRIED.len()],
    prepacked: PrepackedWeights,
    /// The most batches that are run at once.
    most: usize,
    making: Mutex<()>,
    state: Mutex<State>,
    is_back: Condvar,
}

#[derive(Default)]
struct State {
    evaluators: usize,
    /// The batches for which there are sessions.
    made: usize,
    /// Of one batch each, in the order of the sizes.
    idle: Vec<Vec<Session>>,
    /// Of evaluators that are gone.
    graphs: Vec<Graphs>,
}

impl fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPool")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl SessionPool {
    pub(super) fn new(
        runtime: &'static Runtime,
        model: OnnxModel,
        device: DeviceOptions,
        tried: [EvalSlot; TRIED.len()],
    ) -> SessionPool {
        let mut sizes = BatchSizes::of(device.provider, &model);
        if device.captures() {
            sizes = sizes.for_graphs();
        }
        let most = match (device.provider.spec().runs_one_at_a_time, device.queues) {
            (true, _) => 1,
            (false, 0) => usize::MAX,
            (false, queues) => queues,
        };
        SessionPool {
            runtime,
            model: Arc::new(model),
            device,
            largest: sizes.largest().into(),
            sizes,
            notes: Mutex::default(),
            tried,
            prepacked: PrepackedWeights::new(),
            most,
            making: Mutex::default(),
            state: Mutex::default(),
            is_back: Condvar::new(),
        }
    }

    pub(super) fn evaluator(self: &Arc<SessionPool>) -> Result<SessionEvaluator, BackendError> {
        let _making = self.making.lock();
        let captures = self.device.captures();
        let _capturing = captures.then(|| CAPTURING.write());
        let _running = if captures { None } else { self.running() };
        let mut is_new = {
            let mut state = self.state.lock();
            state.evaluators += 1;
            captures || state.made < state.evaluators.min(self.most)
        };
        let mut evaluator = SessionEvaluator {
            run: Runner::new(None),
            graphs: None,
            pool: Arc::clone(self),
        };
        if captures {
            evaluator.graphs = self.state.lock().graphs.pop();
            is_new = evaluator.graphs.is_none();
            if is_new {
                evaluator.graphs = Some(self.new_graphs()?);
            }
        } else if is_new {
            let _alone = self.alone();
            let sessions = self.open_all();
            let mut state = self.state.lock();
            match sessions {
                Ok(sessions) => {
                    state.made += 1;
                    state.idle.push(sessions);
                    self.is_back.notify_one();
                }
                // Evaluators take turns then. If more is wrong, a batch will show it.
                Err(error) if state.made > 0 => {
                    is_new = false;
                    let note = format!("{error}. Fewer batches are computed at once");
                    self.notes.lock().push(Note::Error(note));
                }
                Err(error) => return Err(error),
            }
        }
        // Where the CPU helps, inputs may be its own.
        if self.device.provider == Provider::Cuda && !self.device.needs_cpu && !captures {
            let pinned = self.pinned(&self.lend().sessions[0]);
            evaluator.run = Runner::new(Some(pinned.map_err(|error| self.refusal(&error))?));
        }
        // What a device prepares for a size, it prepares before the first move.
        if is_new && self.device.provider.is_accelerator() {
            for &size in &self.sizes.known {
                let positions = size.min(TRIED.len());
                let run = evaluator.run_part(&mut self.tried.clone()[..positions], self.sizes.place(size));
                match run {
                    Err(error) if self.gives_way(size, &error) => break,
                    run => run.map_err(RunError::into_failure)?,
                }
            }
        }
        Ok(evaluator)
    }

    fn open_all(&self) -> Result<Vec<Session>, BackendError> {
        (0..self.sizes.sessions()).map(|_| self.open()).collect()
    }

    fn new_graphs(&self) -> Result<Graphs, BackendError> {
        let sessions = self.open_all()?;
        let sizes = self.sizes.known.iter().map(|&size| {
            let (session, _) = self.sizes.place(size);
            Ok((size, self.pinned(&sessions[session])?))
        });
        let sizes = sizes.collect::<ort::Result<_>>();
        let graphs = sizes.and_then(|sizes| Graphs::new(&self.model, sessions, sizes));
        graphs.map_err(|error| self.refusal(&error))
    }

    /// Waits until no graph is being captured.
    fn running(&self) -> Option<RwLockReadGuard<'static, ()>> {
        (self.device.provider == Provider::Cuda).then(|| CAPTURING.read())
    }

    pub(super) fn largest(&self) -> usize {
        self.largest.load(Ordering::Relaxed)
    }

    pub(super) fn take_notes(&self) -> Vec<Note> {
        mem::take(&mut *self.notes.lock())
    }

    /// Halves the largest batch where `error` says that the device has no room for one of `positions`. False
    /// if that does not help.
    fn gives_way(&self, positions: usize, error: &RunError) -> bool {
        let largest = self.largest().min(positions);
        if largest == 1 || !error.is_out_of_memory() {
            return false;
        }
        let before = self.largest.fetch_min(largest / 2, Ordering::Relaxed);
        if before == self.sizes.largest() {
            let text = "the device has no memory for a batch of";
            let note = format!("{NAME}: {text} {positions} positions. It gets smaller ones");
            self.notes.lock().push(Note::Error(note));
        }
        true
    }

    /// Memory that the GPU of `session`, one of NVIDIA's, reaches itself.
    fn pinned(&self, session: &Session) -> ort::Result<Allocator> {
        let device = AllocationDevice::CUDA_PINNED;
        let gpu = self.device.gpu as i32;
        Allocator::new(
            session,
            MemoryInfo::new(device, gpu, AllocatorType::Device, MemoryType::CPU)?,
        )
    }

    /// The sessions of a batch, when some are there.
    fn lend(&self) -> Lent<'_> {
        let alone = self.alone();
        let mut state = self.state.lock();
        loop {
            match state.idle.pop() {
                Some(sessions) => {
                    return Lent {
                        sessions,
                        pool: self,
                        _alone: alone,
                    };
                }
                None => self.is_back.wait(&mut state),
            }
        }
    }

    /// Waits while another session of a provider that runs one at a time is made or runs.
    fn alone(&self) -> Option<MutexGuard<'static, ()>> {
        let runs_alone = self.device.provider.spec().runs_one_at_a_time;
        runs_alone.then(|| ONE_AT_A_TIME.lock())
    }

    /// Opens a new session. The library then optimises the graph, which takes the time.
    fn open(&self) -> Result<Session, BackendError> {
        let DeviceOptions { provider, gpu, .. } = self.device;
        let device = provider
            .is_plugin()
            .then(|| self.runtime.device(provider, gpu))
            .transpose()?;
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
        BackendError::Model {
            backend: NAME.into(),
            reason,
        }
    }

    fn open_on(&self, device: Option<Device<'_>>) -> ort::Result<Session> {
        let mut builder = Session::builder(&self.runtime.environment)?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_threads(self.device.threads)?
            .with_inter_threads(1)?
            .with_intra_op_spinning(false)?
            .with_inter_op_spinning(false)?
            // Keeps 8-bit models exact where their sums could saturate. Slower, also where they could not.
            .with_config_entry(
                "session.x64quantprecision",
                if sums_bytes_exactly() { "0" } else { "1" },
            )?
            // Weights that can be sessions must not lie in a session's own arena.
            .with_config_entry("session.use_device_allocator_for_initializers", "0")?
            .with_prepacked_weights(&self.prepacked)?
            .with_config_entry(
                "session.disable_cpu_ep_fallback",
                if self.device.must_compute_all() { "1" } else { "0" },
            )?;
        if let Some(folder) = &self.model.weights_folder {
            let key = "session.model_external_initializers_file_folder_path";
            builder = builder.with_config_entry(key, folder.to_string_lossy())?;
        }
        if let Some(provider) = self.device.registration(&self.model) {
            builder = builder.with_execution_providers([provider])?;
        }
        if let Some(device) = device {
            builder = builder.with_devices(
                [device],
                Some(&self.device.plugin_options(&self.model, &self.sizes)),
            )?;
        }
        builder.commit_from_memory(&self.model.bytes)
    }
}

/// Whether the processor adds up products of 8-bit numbers without saturation.
fn sums_bytes_exactly() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

/// Sessions that go back to the pool.
struct Lent<'a> {
    sessions: Vec<Session>,
    pool: &'a SessionPool,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.pool.state.lock().idle.push(mem::take(&mut self.sessions));
        self.pool.is_back.notify_one();
    }
}

pub(super) struct SessionEvaluator {
    run: Runner,
    /// In the place of the pool's sessions.
    graphs: Option<Graphs>,
    pool: Arc<SessionPool>,
}

impl SessionEvaluator {
    /// Runs a batch in one session, filled up, as the pool's sizes place it.
    fn run_part(&mut self, batch: &mut [EvalSlot], place: (usize, usize)) -> Result<(), RunError> {
        let (session, positions) = place;
        let SessionEvaluator { run, graphs, pool } = self;
        if let Some(graphs) = graphs {
            return graphs.run(batch, place);
        }
        let model = &pool.model;
        run.input(model, batch, positions)?;
        let outputs = run.run(&mut pool.lend().sessions[session], model, positions)?;
        read(model, &outputs, batch, positions)
    }
}

/// Runs of the smallest batch by which a device's latency is measured.
const RUNS: u32 = 3;

impl SessionEvaluator {
    /// The positions that an accelerator computes in the time that a batch needs besides. `None` for a
    /// processor, and where batches have one size.
    pub(super) fn positions_per_latency(&mut self) -> Result<Option<f64>, BackendError> {
        let pool = Arc::clone(&self.pool);
        let _running = pool.running();
        let smallest = pool.sizes.known[0];
        let largest = pool.largest().min(PREFERRED_GPU_BATCH);
        if !pool.device.provider.is_accelerator() || smallest >= largest {
            return Ok(None);
        }
        let mut time_of = |size: usize| {
            let began = Instant::now();
            let mut batch = pool.tried[..size.min(TRIED.len())].to_vec();
            let run = self.run_part(&mut batch, pool.sizes.place(size));
            run.map(|()| began.elapsed().as_secs_f64())
                .map_err(RunError::into_failure)
        };
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            least = least.min(time_of(smallest)?);
        }
        let per_position = (time_of(largest)? - least) / (largest - smallest) as f64;
        let latency = least - smallest as f64 * per_position;
        Ok(Some((latency / per_position.max(f64::MIN_POSITIVE)).max(0.0)))
    }
}

impl Evaluator for SessionEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let pool = Arc::clone(&self.pool);
        let _running = pool.running();
        let mut done = 0;
        while done < batch.len() {
            let positions = pool.largest().min(batch.len() - done);
            let part = &mut batch[done..done + positions];
            match self.run_part(part, pool.sizes.place(positions)) {
                Ok(()) => done += positions,
                Err(error) if pool.gives_way(positions, &error) => {}
                Err(error) => return Err(error.into_failure()),
            }
        }
        Ok(())
    }
}

impl Drop for SessionEvaluator {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        state.evaluators -= 1;
        state.graphs.extend(self.graphs.take());
    }
}

impl Drop for SessionPool {
    fn drop(&mut self) {
        let _alone = self.alone();
        let _running = self.running();
        let state = self.state.get_mut();
        state.idle.clear();
        state.graphs.clear();
    }
}
