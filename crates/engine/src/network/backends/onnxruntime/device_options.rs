//! The options of the backend: the device that evaluates, and how it is to do that.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ort::ep::cuda::AttentionBackend;
use ort::ep::{self, ArbitrarilyConfigurableExecutionProvider as _, ExecutionProviderDispatch};
use sha2::{Digest, Sha256};

use super::batch_sizes::BatchSizes;
use super::provider::{NAME, Provider, WantedPrecision, computes_bfloat16};
use crate::files::hex;
use crate::network::backend_info::ACCELERATOR_QUEUES;
use crate::network::folders;
use crate::network::onnx::{BuildOptions, DataType, Form, InputForm, OnnxModel};
use crate::options::{OptionChoice, OptionGroup, option_choice, option_group};
use crate::params::{ParamError, Params};

option_choice! {
    /// The form of inputs that a user asks for.
    pub(crate) enum WantedInputs {
        /// `packed` on GPUs, `planes` elsewhere.
        Auto = "auto",
        /// 896 bytes per position, which the device expands.
        Packed = "packed",
        /// 28 KB per position in fp32.
        Planes = "planes",
    }
}

option_choice! {
    /// The form of a model that a user asks for.
    pub(crate) enum WantedForm {
        /// `fused` with `cuda`, `plain` elsewhere.
        Auto = "auto",
        /// Operations that all providers have.
        Plain = "plain",
        /// Operations that stand for several, so that a GPU is called less often.
        Fused = "fused",
    }
}

option_group! {
    /// The parameters of `onnxruntime` as users write them.
    pub(crate) struct OnnxRuntimeParams {
        /// Execution provider, which is a type of device.
        provider: Provider = Provider::Cpu, "provider";
        /// Index of the device, if there is more than one.
        gpu: u32 = 0, in 0..=255, "gpu";
        /// Number format in which the device computes.
        precision: WantedPrecision = WantedPrecision::Auto, "precision";
        /// On a CPU the number of threads that work on one batch: 1 is best, because the search has its own
        /// threads. On a GPU the number of batches that it receives at once, 2 if none is given: one can be
        /// transferred while another is computed.
        threads: usize = 1, in 1..=256, "threads";
        /// Format in which positions are sent to the device.
        inputs: WantedInputs = WantedInputs::Auto, "inputs";
        /// Operations of a model that is built from a network in Lc0's format.
        form: WantedForm = WantedForm::Auto, "form";
        /// Options of the execution provider itself, for experiments, as in
        /// `prefer_nhwc=1;fuse_conv_bias=1`.
        ep: String = String::new(), "ep", "ep", hidden;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    pub provider: Provider,
    /// The number of the device among several. CPUs are one.
    pub gpu: u32,
    /// The number format, never [`WantedPrecision::Auto`]. A ready ONNX model keeps its own.
    pub(crate) precision: WantedPrecision,
    pub threads: usize,
    pub(super) form: Form,
    /// Batches that an accelerator receives at once, or 0 for a CPU.
    pub(super) queues: usize,
    /// The form in which positions travel to it. A ready ONNX model keeps its own.
    pub input: InputForm,
    /// Whether the CPU computes what the device cannot. Otherwise that is an error.
    pub(crate) needs_cpu: bool,
    /// Options of the provider that the user adds, or has in the place of ours.
    provider_options: Vec<(String, String)>,
}

impl DeviceOptions {
    /// Reads [`OnnxRuntimeParams`]. Fails also if the provider does not compute in the precision.
    pub fn parse(options: &Params) -> Result<DeviceOptions, ParamError> {
        let OnnxRuntimeParams {
            provider,
            gpu,
            precision,
            threads,
            inputs,
            form,
            ep,
        } = OnnxRuntimeParams::default().read(NAME, options, &[])?;
        let is_computed =
            |wanted: &&WantedPrecision| **wanted != WantedPrecision::Bf16 || computes_bfloat16();
        let computed: Vec<_> = provider
            .spec()
            .precisions
            .iter()
            .filter(is_computed)
            .copied()
            .collect();
        let refused = |key: &str, value: &str, expected: String| {
            Err(ParamError::Value {
                key: key.into(),
                value: value.into(),
                expected,
            })
        };
        let precision = match precision {
            WantedPrecision::Auto => computed[0],
            wanted if computed.contains(&wanted) => wanted,
            wanted => {
                let names: Vec<_> = computed.iter().map(|precision| precision.name()).collect();
                return refused(
                    "precision",
                    wanted.name(),
                    format!("one of auto, {}", names.join(", ")),
                );
            }
        };
        let input = match inputs {
            // On a processor, where nothing travels, expanding is only work: 6 to 10 µs a position.
            WantedInputs::Auto if !provider.is_accelerator() => InputForm::Planes,
            WantedInputs::Auto | WantedInputs::Packed => InputForm::Packed,
            WantedInputs::Planes => InputForm::Planes,
        };
        let of_provider = ep
            .split(';')
            .filter(|option| !option.is_empty())
            .map(|option| option.split_once('='));
        let Some(provider_options) = of_provider.collect::<Option<Vec<_>>>() else {
            return refused("ep", &ep, "KEY=VALUE, and more behind semicolons".into());
        };
        let provider_options: Vec<(String, String)> = provider_options
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        if provider == Provider::WebGpu && gpu > 0 {
            let remedy =
                "0: WebGPU chooses the GPU itself, `ep=powerPreference=low-power` the other one of two";
            return refused("gpu", &gpu.to_string(), remedy.into());
        }
        let queues = options.get("threads").map_or(ACCELERATOR_QUEUES, |_| threads);
        let (threads, queues) = if provider.is_accelerator() {
            (1, queues)
        } else {
            (threads, 0)
        };
        let form = match form {
            WantedForm::Auto => provider.spec().form,
            WantedForm::Plain => Form::Plain,
            WantedForm::Fused => Form::Fused,
        };
        Ok(DeviceOptions {
            provider,
            gpu,
            precision,
            threads,
            queues,
            form,
            input,
            needs_cpu: false,
            provider_options,
        })
    }

    pub(crate) fn build_options(&self) -> BuildOptions {
        let is_half = self.precision == WantedPrecision::Fp16;
        BuildOptions {
            data_type: if is_half {
                DataType::Float16
            } else {
                DataType::Float32
            },
            input: self.input,
            form: self.form,
            fixed_batch: self.provider.spec().fixed_batch,
            ..BuildOptions::default()
        }
    }

    /// Whether the products of a model in single precision may be computed with less. TensorRT RTX does so
    /// always.
    pub(super) fn may_use_tf32(&self) -> bool {
        match self.provider {
            Provider::Cuda => self.precision != WantedPrecision::Fp32,
            Provider::TensorRtRtx => true,
            _ => false,
        }
    }

    /// Whether each batch is launched as a graph.
    pub(super) fn captures(&self) -> bool {
        let is_asked = |(key, value): &(String, String)| key == "enable_cuda_graph" && value == "1";
        self.provider == Provider::Cuda && self.provider_options.iter().any(is_asked)
    }

    /// Whether the device must compute all of a model. Otherwise the CPU silently computes the rest.
    pub(super) fn must_compute_all(&self) -> bool {
        (self.provider.is_accelerator() || self.provider.is_plugin()) && !self.needs_cpu
    }

    /// These options and what may be tried in their place where `given` leaves it open: first the best, in
    /// their order, then what any device should take.
    pub fn choices(self, given: &Params) -> (Vec<DeviceOptions>, DeviceOptions) {
        let is_open = |key| given.get(key).is_none_or(|value| value == "auto");
        let mut first = vec![self];
        if first[0].form == Form::Fused && is_open("form") {
            first.push(DeviceOptions {
                form: Form::Plain,
                ..first[0].clone()
            });
        }
        if first[0].input == InputForm::Packed && is_open("inputs") {
            let form = first[first.len() - 1].form;
            first.push(DeviceOptions {
                input: InputForm::Planes,
                form,
                ..first[0].clone()
            });
        }
        // Some of the devices that it drives do not compute in half precision.
        if first[0].provider == Provider::WebGpu && is_open("precision") {
            let in_single = |device: &DeviceOptions| DeviceOptions {
                precision: WantedPrecision::Fp32,
                ..device.clone()
            };
            let single: Vec<_> = first.iter().map(in_single).collect();
            first.extend(single);
        }
        // A device that computes a part is better than none. One of a plugin computes all or is refused.
        let worst = &first[first.len() - 1];
        if worst.must_compute_all() && !worst.provider.is_plugin() {
            first.push(DeviceOptions {
                needs_cpu: true,
                ..worst.clone()
            });
        }
        let last = first.remove(first.len() - 1);
        (first, last)
    }

    /// Likewise for a ready model, which the CPU may help to compute.
    pub(crate) fn choices_for_ready_model(self) -> (Vec<DeviceOptions>, DeviceOptions) {
        let needs_cpu = self.must_compute_all();
        let first = needs_cpu.then(|| self.clone()).into_iter().collect();
        (first, DeviceOptions { needs_cpu, ..self })
    }

    /// `None` for the CPU, which is always registered, and for plugins, whose devices are given to the
    /// session.
    pub(super) fn registration(&self, model: &OnnxModel) -> Option<ExecutionProviderDispatch> {
        let provider = match self.provider {
            Provider::Cuda => {
                let ours = ep::CUDA::default()
                    .with_device_id(self.gpu as i32)
                    .with_tf32(self.may_use_tf32())
                    // cuDNN's would plan each size of batch anew, in the middle of a move.
                    .with_attention_backend(
                        AttentionBackend::FLASH_ATTENTION
                            | AttentionBackend::EFFICIENT_ATTENTION
                            | AttentionBackend::MATH,
                    )
                    // The exhaustive search takes seconds for each size of batch.
                    .with_conv_algorithm_search(ep::cuda::ConvAlgorithmSearch::Heuristic);
                let options = self.provider_options.iter();
                options
                    .fold(ours, |ours, (key, value)| ours.with_arbitrary_config(key, value))
                    .build()
            }
            Provider::CoreMl => {
                let coreml = ep::CoreML::default().with_model_format(ep::coreml::ModelFormat::MLProgram);
                let cache = folders::cache().map(|cache| cache.join("coreml"));
                match cache.and_then(|cache| compiled_for(&cache, model, SystemTime::now())) {
                    Some(folder) => coreml.with_model_cache_dir(folder.to_string_lossy()).build(),
                    None => coreml.build(),
                }
            }
            _ => return None,
        };
        Some(provider.error_on_failure())
    }

    /// Under their full names.
    pub(super) fn plugin_options(&self, model: &OnnxModel, sizes: &BatchSizes) -> Vec<(String, String)> {
        let mut options = match self.provider {
            Provider::OpenVino => vec![("load_config".to_owned(), self.openvino_config())],
            Provider::TensorRtRtx => tensorrt_rtx_options(model, sizes),
            _ => Vec::new(),
        };
        options.retain(|(key, _)| self.provider_options.iter().all(|(own, _)| own != key));
        options.extend_from_slice(&self.provider_options);
        let ep_name = self.provider.plugin().map_or("", |plugin| plugin.ep_name);
        options
            .into_iter()
            .map(|(key, value)| (format!("{ep_name}.{key}"), value))
            .collect()
    }

    /// Threads are not pinned: each session would pin its own to the same
    /// core.
    fn openvino_config(&self) -> String {
        let hint = if self.precision == WantedPrecision::Bf16 {
            "bf16"
        } else {
            "f32"
        };
        let config = serde_json::json!({"CPU": {
            "INFERENCE_PRECISION_HINT": hint,
            "INFERENCE_NUM_THREADS": self.threads.to_string(),
            "NUM_STREAMS": "1",
            "ENABLE_CPU_PINNING": "NO",
        }});
        config.to_string()
    }
}

/// Compiled programs that were not used for so long are removed.
const COMPILED_LIFE: Duration = Duration::from_hours(60 * 24);

/// The folder in `cache` for what CoreML compiles of `model`: CoreML knows programs by the names of tensors,
/// which many networks share. Removes old ones.
fn compiled_for(cache: &Path, model: &OnnxModel, now: SystemTime) -> Option<PathBuf> {
    // What lies in other files may change.
    if model.weights_folder.is_some() {
        return None;
    }
    let own = cache.join(hex(&Sha256::digest(&model.bytes)));
    fs::create_dir_all(&own).ok()?;
    // Marks it as used.
    let _ = fs::write(own.join("used"), []);
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let path = entry.path();
        let used = entry.path().join("used");
        let used = fs::metadata(used).and_then(|used| used.modified());
        let is_old = used.is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > COMPILED_LIFE));
        if path != own && (is_old || !path.join("used").exists()) {
            let _ = fs::remove_dir_all(path);
        }
    }
    Some(own)
}

/// Kernels that were compiled are kept for the next start, and the sizes of batches are said beforehand.
fn tensorrt_rtx_options(model: &OnnxModel, sizes: &BatchSizes) -> Vec<(String, String)> {
    let one: String = model
        .input_form
        .sizes()
        .iter()
        .map(|size| format!("x{size}"))
        .collect();
    let profile = |name: &str, size: usize| {
        (
            format!("nv_profile_{name}_shapes"),
            format!("{}:{size}{one}", model.names.input),
        )
    };
    let smallest = model.fixed_batch.unwrap_or(1);
    let cache = folders::cache().map(|folder| folder.join("tensorrt-rtx").to_string_lossy().into_owned());
    let cache = cache.map(|folder| ("nv_runtime_cache_path".to_owned(), folder));
    let profiles = [
        profile("min", smallest),
        profile("opt", sizes.largest()),
        profile("max", sizes.largest()),
    ];
    profiles.into_iter().chain(cache).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::network::onnx;
    use crate::network::weights::{HeadChoice, Model, NetworkFile};

    fn parse(options: &str) -> Result<DeviceOptions, ParamError> {
        DeviceOptions::parse(&Params::parse(options).unwrap())
    }

    #[test]
    fn providers_choose_their_precision() {
        let precision = |options: &str| parse(options).unwrap().precision.name();
        assert_eq!(precision(""), "fp32");
        assert_eq!(precision("provider=cuda"), "fp16");
        assert_eq!(precision("provider=cuda,precision=fp32"), "fp32");
        assert_eq!(precision("provider=openvino,precision=fp32"), "fp32");
        let built = |options: &str| parse(options).unwrap().build_options();
        assert_eq!(built("provider=cuda,gpu=2").data_type, DataType::Float16);
        assert_eq!(built("provider=openvino").data_type, DataType::Float32);
    }

    /// A regression: fp32 was computed in TF32 and judged as fp32, and no GPU since the RTX 30 passed.
    #[test]
    fn single_precision_is_single_where_it_is_asked_for() {
        let may_use_tf32 = |options: &str| parse(options).unwrap().may_use_tf32();
        assert!(may_use_tf32("provider=cuda"));
        assert!(!may_use_tf32("provider=cuda,precision=fp32"));
        assert!(!may_use_tf32("provider=webgpu,precision=fp32"));
    }

    /// A regression: two devices of WebGPU were one GPU twice.
    #[test]
    fn what_a_provider_would_ignore_is_refused() {
        let error = parse("provider=webgpu,gpu=1").unwrap_err().to_string();
        assert!(error.contains("powerPreference"), "{error}");
        assert!(parse("provider=cuda,gpu=1").is_ok() && parse("provider=webgpu,gpu=0").is_ok());
    }

    #[test]
    fn only_cuda_captures_graphs_and_only_if_asked() {
        let captures = |options: &str| parse(options).unwrap().captures();
        assert!(captures("provider=cuda,ep=use_tf32=0;enable_cuda_graph=1"));
        assert!(!captures("provider=cuda"));
        assert!(!captures("provider=cuda,ep=enable_cuda_graph=0"));
        assert!(!captures("provider=webgpu,ep=enable_cuda_graph=1"));
    }

    /// A regression: networks of one shape shared what CoreML had compiled, so that the second one played as
    /// the first.
    #[test]
    fn each_model_has_a_folder_for_what_is_compiled() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("coreml");
        let model = |seed: i32| {
            let name = ["tiny.pb.gz", "ab_tiny.pb.gz"][seed as usize];
            let path = format!(
                "{}/../../tests/data/goldens/nets/{name}",
                env!("CARGO_MANIFEST_DIR")
            );
            match NetworkFile::load(path.as_ref(), HeadChoice::default())
                .unwrap()
                .model
            {
                Model::Layers(layers) => onnx::build(layers, &BuildOptions::default()),
                Model::Onnx(model) => model,
            }
        };
        fs::create_dir_all(cache.join("of all models")).unwrap();
        let now = SystemTime::now();
        let [first, second] = [0, 1].map(|seed| compiled_for(&cache, &model(seed), now).unwrap());
        assert_ne!(first, second);
        assert!(!cache.join("of all models").exists() && first.exists());
        assert_eq!(compiled_for(&cache, &model(0), now).unwrap(), first);
        let later = now + 2 * COMPILED_LIFE;
        assert!(compiled_for(&cache, &model(0), later).is_some() && !second.exists());
    }

    /// A regression: what a GPU's provider did not take of a network was computed by the CPU without a word,
    /// unless the provider was a plugin.
    #[test]
    fn a_gpu_must_compute_all_before_the_cpu_may_help() {
        for provider in Provider::all() {
            let given = Params::parse(&format!("provider={provider}")).unwrap();
            let (first, last) = DeviceOptions::parse(&given).unwrap().choices(&given);
            let is_silent = provider == Provider::Cpu;
            assert!(first.iter().all(DeviceOptions::must_compute_all), "{provider}");
            let has_help = provider.is_accelerator() && !provider.is_plugin();
            assert_eq!(
                (last.needs_cpu, last.must_compute_all()),
                (has_help, !has_help && !is_silent),
                "{provider}"
            );
        }
    }

    #[test]
    fn gpus_get_packed_inputs_unless_the_user_says_otherwise() {
        let input = |options: &str| parse(options).unwrap().input;
        assert_eq!(input("provider=webgpu"), InputForm::Packed);
        assert_eq!(input("provider=webgpu,inputs=planes"), InputForm::Planes);
        assert_eq!(input(""), InputForm::Planes);
        assert_eq!(input("provider=openvino,inputs=packed"), InputForm::Packed);
        let choices = |options: &str| {
            let given = Params::parse(options).unwrap();
            let (first, last) = DeviceOptions::parse(&given).unwrap().choices(&given);
            let all = first.into_iter().chain([last]).filter(|device| !device.needs_cpu);
            all.map(|device| (device.precision.name(), device.input))
                .collect::<Vec<_>>()
        };
        let (packed, planes) = (InputForm::Packed, InputForm::Planes);
        let all = [
            ("fp16", packed),
            ("fp16", planes),
            ("fp32", packed),
            ("fp32", planes),
        ];
        assert_eq!(choices("provider=webgpu"), all);
        assert_eq!(
            choices("provider=webgpu,precision=fp32,inputs=packed"),
            [("fp32", packed)]
        );
        assert_eq!(
            choices("provider=cuda"),
            [all[0], all[0], all[1]],
            "fused, plain, planes"
        );
        assert_eq!(choices(""), [("fp32", planes)]);
    }

    #[test]
    fn what_a_provider_cannot_do_is_refused() {
        let error_of = |options: &str| parse(options).unwrap_err().to_string();
        assert_eq!(
            error_of("precision=fp16"),
            "precision=fp16: expected one of auto, fp32"
        );
        assert_eq!(
            error_of("provider=abacus"),
            "provider=abacus: expected one of cpu, openvino, cuda, tensorrt-rtx, webgpu, coreml"
        );
        assert_eq!(
            error_of("batch=3"),
            "unknown parameter of onnxruntime \"batch\". Valid: provider, gpu, precision, threads, \
             inputs, form, ep"
        );
        assert_eq!(
            error_of("provider=cuda,ep=nhwc"),
            "ep=nhwc: expected KEY=VALUE, and more behind semicolons"
        );
    }

    #[test]
    fn tensorrt_rtx_keeps_its_kernels_and_knows_the_sizes_of_its_batches() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/data/goldens/nets/tiny.pb.gz"
        );
        let file = NetworkFile::load(path.as_ref(), HeadChoice::default()).unwrap();
        let Model::Layers(layers) = file.model else {
            panic!("no layers")
        };
        let options = |text: &str| {
            let device = parse(text).unwrap();
            let model = onnx::build(layers.clone(), &device.build_options());
            let options = device.plugin_options(&model, &BatchSizes::of(device.provider, &model));
            let short = |key: &str| {
                key.strip_prefix("NvTensorRTRTXExecutionProvider.")
                    .unwrap()
                    .to_owned()
            };
            options
                .into_iter()
                .map(|(key, value)| (short(&key), value))
                .collect::<BTreeMap<_, _>>()
        };
        let packed = options("provider=tensorrt-rtx");
        assert_eq!(packed["nv_profile_min_shapes"], "/input/packed:1x112x8");
        assert_eq!(packed["nv_profile_opt_shapes"], "/input/packed:256x112x8");
        assert_eq!(packed["nv_profile_max_shapes"], "/input/packed:256x112x8");
        assert!(packed["nv_runtime_cache_path"].ends_with("tensorrt-rtx"));
        let planes =
            options("provider=tensorrt-rtx,inputs=planes,ep=nv_runtime_cache_path=x;enable_cuda_graph=1");
        assert_eq!(planes["nv_profile_max_shapes"], "/input/planes:256x112x8x8");
        assert_eq!(
            (&*planes["nv_runtime_cache_path"], &*planes["enable_cuda_graph"]),
            ("x", "1")
        );
    }
}
