//! A model as a backend, and its facts.

use std::sync::Arc;

use super::batch_sizes::{MAX_BATCH, PREFERRED_GPU_BATCH};
use super::device_options::DeviceOptions;
use super::provider::{NAME, Provider};
use super::runtime::Runtime;
use super::sessions::{SessionPool, TRIED};
use crate::chess::{History, Variant};
use crate::network::backend::{Backend, Evaluator};
use crate::network::backend_error::BackendError;
use crate::network::backend_info::{BackendInfo, cores};
use crate::network::eval_slot::EvalSlot;
use crate::network::onnx::{DataType, OnnxModel, ValueOutput};
use crate::network::timetable::batches_of_device;
use crate::note::Note;
use crate::options::OptionChoice;
use crate::system::gpus::{nvidia_gpu_of_cuda, nvidia_gpus};

/// The preferred batch on CPUs, where throughput hardly grows beyond 8.
const PREFERRED_BATCH: usize = 8;

/// A model made ready in ONNX Runtime.
#[derive(Debug)]
pub struct OnnxRuntime {
    info: BackendInfo,
    sessions: Arc<SessionPool>,
}

impl OnnxRuntime {
    /// Makes a session of `model`, which must suit `device`, and tries it. `network` is its name in messages.
    pub fn new(model: OnnxModel, network: &str, device: &DeviceOptions) -> Result<OnnxRuntime, BackendError> {
        let runtime = Runtime::get(device.provider)?;
        let version = &runtime.library.version;
        let (preferred_batch, preferred_threads) = if device.provider.is_accelerator() {
            (PREFERRED_GPU_BATCH, 1)
        } else {
            (PREFERRED_BATCH, cores().div_ceil(device.threads))
        };
        let (on, precision) = describe(device, model.data_type);
        let mut info = BackendInfo {
            description: format!("{network} on ONNX Runtime {version}, {on}, {precision}"),
            network: network.into(),
            device: on,
            nvidia_gpus: gpus_of(device),
            library: format!("ONNX Runtime {version}"),
            precision: precision.into(),
            input_format: model.input_format,
            has_wdl: matches!(model.names.value, ValueOutput::Wdl(_)),
            has_moves_left: model.names.moves_left.is_some(),
            max_batch: MAX_BATCH,
            preferred_batch: model.fixed_batch.unwrap_or(preferred_batch).min(MAX_BATCH),
            preferred_threads,
            queues: device.queues,
            ..BackendInfo::new(NAME, "")
        };
        let tried = TRIED.map(|fen| {
            let history = History::from_fen(fen, Variant::Standard).unwrap_or_else(|_| History::start());
            EvalSlot::of(&history, info.input_format.into())
        });
        let sessions = Arc::new(SessionPool::new(runtime, model, device.clone(), tried));
        // Its batch finds outputs of a wrong type, shape or range.
        let mut batch = sessions.tried.clone();
        let mut evaluator = sessions.evaluator()?;
        evaluator.evaluate(&mut batch)?;
        EvalSlot::check_outputs(&info, &batch)?;
        if device.provider.is_accelerator() {
            info.padded_to = sessions.sizes.padded_to();
        }
        if let Some(per_latency) = evaluator.positions_per_latency()? {
            (info.preferred_batch, info.cheap_batch) =
                batches_of_device(per_latency, sessions.largest().min(PREFERRED_GPU_BATCH));
        }
        Ok(OnnxRuntime { info, sessions })
    }
}

/// The device and the precision, for people.
fn describe(device: &DeviceOptions, data_type: DataType) -> (String, &'static str) {
    let precision = match data_type {
        // NVIDIA's matrix units cut the inputs of products to 10 bits, unless single precision is asked for.
        DataType::Float32 if device.may_use_tf32() => "tf32",
        DataType::Float32 => device.precision.name(),
        DataType::Float16 => "fp16",
        DataType::Bfloat16 => "bf16",
    };
    let DeviceOptions { provider, gpu, .. } = device;
    let device = match provider {
        Provider::Cpu => "CPU".to_owned(),
        Provider::OpenVino => "OpenVINO on the CPU".to_owned(),
        Provider::Cuda => {
            let name = gpus_of(device)
                .first()
                .and_then(|place| nvidia_gpus().get(*place))
                .map_or("of unknown name".into(), |gpu| {
                    let memory = gpu.memory_mb.map_or(String::new(), |mb| format!(", {mb} MiB"));
                    format!("{gpu}{memory}")
                });
            format!("{provider} on GPU {gpu} ({name})")
        }
        _ => format!("{provider} on device {gpu}"),
    };
    (device, precision)
}

/// The places of the GPUs among [`nvidia_gpus`], none if they are not known.
fn gpus_of(device: &DeviceOptions) -> Vec<usize> {
    match device.provider {
        Provider::Cuda => nvidia_gpu_of_cuda(device.gpu as usize).into_iter().collect(),
        Provider::TensorRtRtx if nvidia_gpus().len() == 1 => vec![0],
        _ => Vec::new(),
    }
}

impl Backend for OnnxRuntime {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.sessions.evaluator()?))
    }

    fn take_notes(&self) -> Vec<Note> {
        self.sessions.take_notes()
    }
}
