//! The `onnxruntime` backend: any network that can be written as ONNX, on any device that ONNX Runtime
//! drives.
//!
//! [`OnnxRuntime`] is the backend: a model, its facts, and the `SessionPool` that evaluates with it through
//! `runners`, `graphs` and `tensors`. The library is loaded at run time, when the first backend is made:
//! [`Runtime`] is the one that serves the whole process and takes plugins in, [`finder`] finds it, `nvidia`
//! loads what a GPU needs beside it. [`provider`] knows the kinds of devices, [`DeviceOptions`] what users
//! choose of them. Nothing is fetched here: that is the business of `setup`.

pub mod finder;
pub mod provider;

mod batch_sizes;
pub mod causes;
mod device_options;
mod fallback;
mod graphs;
mod host_memory;
pub mod nvidia;
mod process_environment;
mod runners;
mod runtime;
mod sessions;
mod tensors;

use std::sync::Arc;

use self::sessions::SessionPool;
use crate::chess::{History, Variant};
use crate::foreign;
use crate::network::onnx::{DataType, OnnxModel, ValueOutput};
use crate::network::timetable::batches_of_device;
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, cores};
use crate::note::Note;
use crate::options::OptionChoice;
use crate::system::gpus::{nvidia_gpu_of_cuda, nvidia_gpus};

pub use device_options::DeviceOptions;
pub(crate) use device_options::OnnxRuntimeParams;
pub(super) use fallback::open;
pub use finder::LibraryError;
pub use process_environment::software_counts_as_gpu;
pub use provider::{Provider, SystemPart};
pub use runtime::Runtime;

/// The backend's name.
pub const NAME: &str = "onnxruntime";
/// A bound for the memory of one batch. Far beyond the size at which throughput stops growing.
const MAX_BATCH: usize = 1024;
/// Two such batches fill a GPU with most networks, and no larger one is prepared by default.
const PREFERRED_GPU_BATCH: usize = 256;

/// The preferred batch on CPUs, where throughput hardly grows beyond 8.
const PREFERRED_BATCH: usize = 8;
/// Positions with which a model is tried: none is lost, won or drawn in all networks.
pub const TRIED: [&str; 3] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/1P4P1/2n2n2/3pP3/3Pp3/2N2N2/1p4p1/R3K2R b KQkq - 0 12",
    // Squared ReLUs overflow fp16 here where a norm sums in it (LeelaChessZero/lc0#1921).
    "rnbq1rk1/p1p3pp/4pp2/1p1n4/P1pP2N1/6P1/1PQbPPBP/R1B2RK1 b - - 1 12",
];

/// A model made ready in ONNX Runtime.
#[derive(Debug)]
pub struct OnnxRuntime {
    info: BackendInfo,
    sessions: Arc<SessionPool>,
}

impl OnnxRuntime {
    /// Loads ONNX Runtime if this is its first use, makes a session of `model` and tries it.
    ///
    /// `network` is its name in messages. The model must be in the precision and with the input for `device`.
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
        // The first evaluator makes the first session, and its batch finds outputs of a wrong type, shape or
        // range.
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

/// Keeps the words of ONNX Runtime: those of C++ fill several lines.
fn in_our_words(error: &ort::Error) -> String {
    foreign::record(foreign::ONNX_RUNTIME, error);
    causes::cause(&error.to_string())
}

/// Why `provider` does not compute a model, where that is known beforehand.
fn known_limit(data_type: DataType, provider: Provider) -> Option<&'static str> {
    (data_type == DataType::Bfloat16 && provider == Provider::Cpu).then_some(
        "it is an ONNX model in bf16, as Lc0's leela2onnx --onnx-data-type=bf16 writes it, which ONNX Runtime does not compute \
         on a CPU. Use --backend=openvino, a GPU, or the network that it was made from",
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_in_bf16_is_named_where_the_cpu_cannot_compute_it() {
        let text = known_limit(DataType::Bfloat16, Provider::Cpu).unwrap();
        assert!(
            text.contains("--onnx-data-type=bf16") && text.contains("--backend=openvino"),
            "{text}"
        );
        assert_eq!(known_limit(DataType::Bfloat16, Provider::OpenVino), None);
        assert_eq!(known_limit(DataType::Float16, Provider::Cpu), None);
    }
}
