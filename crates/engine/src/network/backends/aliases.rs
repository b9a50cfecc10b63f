//! Names that stand for a backend with options: short ones of our own, and those of Lc0, so that saved
//! settings carry over.

use super::multiplexing::{DEMUX, MULTIPLEXING};
use super::native::NativeParams;
use super::onnxruntime::{self, OnnxRuntimeParams};
use super::{AUTO, registered};
use crate::note::Note;
use crate::options::OptionGroup;
use crate::params::{ParamEntry, Params};

/// A name that stands for a backend with options.
struct Alias {
    name: &'static str,
    backend: &'static str,
    /// A value that comes before the user's options: key and value.
    options: &'static [(&'static str, &'static str)],
}

/// Lc0's backend that gives each batch to the next device in turn, where ours gives it to a free one.
pub(super) const ROUND_ROBIN: &str = "roundrobin";
/// Lc0's backend that compares two others while it plays.
const CHECK: &str = "check";
/// Lc0's backend that writes evaluations to a file, or reads them from one.
const RECORD_REPLAY: &str = "recordreplay";
const CUDA: (&str, &str) = ("provider", "cuda");
const WEBGPU: (&str, &str) = ("provider", "webgpu");

/// Short names of our own. Some are Lc0's too, and mean the same device.
const SHORT: [Alias; 5] = [
    Alias { name: ROUND_ROBIN, backend: MULTIPLEXING, options: &[] },
    Alias { name: "cuda", backend: onnxruntime::NAME, options: &[CUDA] },
    Alias { name: "tensorrt-rtx", backend: onnxruntime::NAME, options: &[("provider", "tensorrt-rtx")] },
    Alias { name: "webgpu", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "openvino", backend: onnxruntime::NAME, options: &[("provider", "openvino")] },
];

/// Names that only Lc0 has.
const LC0: [Alias; 26] = [
    Alias { name: "cuda-auto", backend: onnxruntime::NAME, options: &[CUDA] },
    Alias { name: "cuda-fp16", backend: onnxruntime::NAME, options: &[CUDA, ("precision", "fp16")] },
    Alias { name: "cudnn", backend: onnxruntime::NAME, options: &[CUDA, ("precision", "fp32")] },
    Alias { name: "cudnn-auto", backend: onnxruntime::NAME, options: &[CUDA] },
    Alias { name: "cudnn-fp16", backend: onnxruntime::NAME, options: &[CUDA, ("precision", "fp16")] },
    Alias { name: "onnx-cuda", backend: onnxruntime::NAME, options: &[CUDA] },
    Alias { name: "onnx-trt", backend: onnxruntime::NAME, options: &[CUDA] },
    Alias { name: "onnx-cpu", backend: onnxruntime::NAME, options: &[("provider", "cpu")] },
    Alias { name: "onnx-dml", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "dx12", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "onnx-coreml", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "metal", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "onnx-migraphx", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "onnx-rocm", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "blas", backend: AUTO, options: &[] },
    Alias { name: "eigen", backend: AUTO, options: &[] },
    Alias { name: "onednn", backend: AUTO, options: &[] },
    Alias { name: "opencl", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "sycl", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "sycl-auto", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "sycl-fp16", backend: onnxruntime::NAME, options: &[WEBGPU, ("precision", "fp16")] },
    Alias { name: "xla", backend: onnxruntime::NAME, options: &[WEBGPU] },
    Alias { name: "tensorflow-cc", backend: AUTO, options: &[] },
    Alias { name: "tensorflow-cc-cpu", backend: AUTO, options: &[] },
    Alias { name: CHECK, backend: AUTO, options: &[] },
    Alias { name: RECORD_REPLAY, backend: AUTO, options: &[] },
];

pub(super) struct Resolved<'a> {
    pub(super) name: &'a str,
    pub(super) options: Params,
    /// Notes for people on what the name was taken for.
    pub(super) notes: Vec<Note>,
}

/// Returns the short names, for texts that list what is valid.
pub fn short_names() -> impl Iterator<Item = &'static str> {
    SHORT.iter().map(|alias| alias.name)
}

/// Returns all names that stand for a backend, Lc0's included.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    SHORT.iter().chain(&LC0).map(|alias| alias.name)
}

/// Parameters of Lc0's backends. One that ours does not have is left out.
#[rustfmt::skip]
const LC0_PARAMETERS: [&str; 50] = [
    "alt_layernorm", "alt_mish", "atol", "batch", "batch_size", "blas_cores", "cache_opt", "custom_winograd",
    "datatype", "delay", "device", "dump-graphdef", "dump-graphdef-txt", "enable-conv-metacommand",
    "enable-gemm-metacommand", "force_tune", "fp16", "freq", "fused_mha", "gpu", "graph_capture", "init",
    "input_mode", "io_datatype", "ir", "jit_cache", "max_batch", "min_batch", "mlh", "mode", "multi_stream",
    "nhwc", "no_shape", "optimize", "opset", "plugin_path", "policy_head", "record_file", "replay_file",
    "res_block_fusing", "rtol", "steps", "threads", "tune_batch_size", "tune_exhaustive", "tune_only",
    "tuner_file", "uniform", "value_head", "winograd",
];

/// Returns the backend that `name` stands for. A name that is no alias stands for itself.
pub(super) fn resolve(name: &str, options: Params) -> Resolved<'_> {
    let short = SHORT.iter().find(|alias| alias.name == name);
    let Some(alias) = LC0.iter().find(|alias| alias.name == name) else {
        let name = short.map_or(name, |alias| alias.backend);
        let (options, notes) = without_lc0s(name, &options);
        return Resolved {
            name,
            options: short.map_or(options.clone(), |alias| alias.before(&options)),
            notes,
        };
    };
    let (options, dropped) = translate(alias.backend, &options);
    let options = alias.before(&options);
    let with = if options.is_empty() { String::new() } else { format!(" with {options}") };
    let mut notes = vec![Note::from(format!("Lc0's backend {name} is mapped to {}{with}", alias.backend))];
    if !dropped.is_empty() {
        let without =
            format!("options of Lc0's backend {name} that have no counterpart are ignored: {dropped}");
        notes.push(without.into());
    }
    match alias.name {
        CHECK => notes.push("nothing is compared: zeitnot accuracy compares two backends".into()),
        RECORD_REPLAY => notes.push("evaluations are neither written to a file nor read from one".into()),
        _ => {}
    }
    Resolved { name: alias.backend, options, notes }
}

impl Alias {
    /// Returns `options` after those that the name stands for.
    fn before(&self, options: &Params) -> Params {
        let own = self.options.iter().fold(Params::default(), |own, (key, value)| own.with(key, value));
        options.inheriting(&own)
    }
}

/// Returns `options` without those of Lc0's backends that `backend`, one of ours, does not have, with a note
/// if there are any. Beside `auto`, which nobody has named, whatever its choices do not have counts as Lc0's.
fn without_lc0s(backend: &str, options: &Params) -> (Params, Vec<Note>) {
    let own = match registered(backend) {
        _ if [DEMUX, MULTIPLEXING].contains(&backend) => return (options.clone(), Vec::new()),
        _ if backend == AUTO => [NativeParams::declared(), OnnxRuntimeParams::declared()].concat(),
        Some(backend) => (backend.parameters)(),
        None => Vec::new(),
    };
    let (mut known, mut dropped) = (Params::default(), Params::default());
    for entry in options.entries() {
        let is_lc0s = match entry {
            ParamEntry::Value { key, .. } if own.iter().any(|spec| spec.name == key) => false,
            ParamEntry::Value { key, .. } => backend == AUTO || LC0_PARAMETERS.contains(&key.as_str()),
            ParamEntry::List { .. } => backend == AUTO,
        };
        if is_lc0s { &mut dropped } else { &mut known }.push(entry.clone());
    }
    let note = format!("parameters without a counterpart in {backend} are ignored: {dropped}");
    (known, (!dropped.is_empty()).then(|| note.into()).into_iter().collect())
}

/// Returns the options of an Lc0 backend under our names, and those that have no counterpart in `backend`.
fn translate(backend: &str, options: &Params) -> (Params, Params) {
    let mut known = Params::default();
    let mut dropped = Params::default();
    for entry in options.entries() {
        let ParamEntry::Value { key, value } = entry else { continue };
        match key.as_str() {
            "gpu" | "threads" | "precision" if backend == onnxruntime::NAME => known = known.with(key, value),
            "fp16" if backend == onnxruntime::NAME => {
                known = known.with("precision", if value == "true" { "fp16" } else { "fp32" });
            }
            _ => dropped = dropped.with(key, value),
        }
    }
    (known, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(name: &str, options: &str) -> (String, String, Vec<String>) {
        let Resolved { name, options, notes } = resolve(name, Params::parse(options).unwrap());
        (name.into(), options.to_string(), notes.iter().map(Note::to_string).collect())
    }

    #[test]
    fn short_names_come_without_ado() {
        let text = |name: &str, options: &str| (name.to_owned(), options.to_owned(), Vec::new());
        assert_eq!(resolved("cuda", "gpu=1"), text("onnxruntime", "provider=cuda,gpu=1"));
        assert_eq!(resolved("native", "kernel=avx2"), text("native", "kernel=avx2"));
    }

    #[test]
    fn settings_of_lc0_carry_over_and_say_so() {
        let (name, options, notes) = resolved("cudnn-fp16", "gpu=1,custom_winograd=true,max_batch=512");
        assert_eq!((name.as_str(), options.as_str()), ("onnxruntime", "provider=cuda,precision=fp16,gpu=1"));
        assert_eq!(
            notes,
            [
                "Lc0's backend cudnn-fp16 is mapped to onnxruntime with provider=cuda,precision=fp16,gpu=1",
                "options of Lc0's backend cudnn-fp16 that have no counterpart are ignored: custom_winograd=true,max_batch=512",
            ]
        );
        let (_, options, _) = resolved("onnx-trt", "fp16=false");
        assert_eq!(options, "provider=cuda,precision=fp32");
        let (name, options, notes) = resolved("blas", "blas_cores=2");
        assert_eq!((name.as_str(), options.as_str()), ("auto", ""));
        assert_eq!(notes[0], "Lc0's backend blas is mapped to auto");
        for (name, note) in [("check", "nothing is compared"), ("recordreplay", "evaluations are neither")] {
            let (backend, _, notes) = resolved(name, "");
            assert!(backend == "auto" && notes[1].starts_with(note), "{name}: {notes:?}");
        }
    }
}
