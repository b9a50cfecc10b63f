//! Short names for backends with options: ours, and Lc0's, so that saved settings carry over.

use super::multiplexing::MULTIPLEXING;
use super::native::NativeParams;
use super::onnxruntime::{self, OnnxRuntimeParams, Provider};
use super::registry::{AUTO, registered};
use crate::note::Note;
use crate::options::{OptionChoice, OptionGroup};
use crate::params::{ParamEntry, Params};

struct Alias {
    names: &'static str,
    backend: &'static str,
    /// The values of `provider` and `precision` that precede the user's options, or empty.
    provider: &'static str,
    precision: &'static str,
}

/// Ours. Lc0 shares some, for the same device.
fn short() -> impl Iterator<Item = Alias> {
    // Lc0 splits each batch, or gives it to the next device in turn. We give it to a free one.
    let several = Alias {
        backend: MULTIPLEXING,
        ..of_provider("demux roundrobin", "", "")
    };
    let providers = Provider::all()
        .filter(|provider| *provider != Provider::Cpu)
        .map(Provider::name);
    std::iter::once(several).chain(providers.map(|name| of_provider(name, name, "")))
}

const LC0: [Alias; 8] = [
    of_provider("cuda-auto cudnn-auto onnx-cuda onnx-trt", "cuda", ""),
    of_provider("cuda-fp16 cudnn-fp16", "cuda", "fp16"),
    of_provider("cudnn", "cuda", "fp32"),
    of_provider("onnx-cpu", "cpu", ""),
    of_provider("onnx-coreml", "coreml", ""),
    of_provider(
        "dx12 metal onnx-dml onnx-migraphx onnx-rocm opencl sycl sycl-auto xla",
        "webgpu",
        "",
    ),
    of_provider("sycl-fp16", "webgpu", "fp16"),
    Alias {
        backend: AUTO,
        ..of_provider(ON_CPU, "", "")
    },
];
/// `check` compares two other backends while it plays. `recordreplay` records or replays evaluations.
const ON_CPU: &str = "blas eigen onednn tensorflow-cc tensorflow-cc-cpu check recordreplay";

const fn of_provider(names: &'static str, provider: &'static str, precision: &'static str) -> Alias {
    Alias {
        names,
        backend: onnxruntime::NAME,
        provider,
        precision,
    }
}

pub(super) struct Resolved<'a> {
    pub(super) name: &'a str,
    pub(super) options: Params,
    pub(super) notes: Vec<Note>,
}

pub fn short_names() -> impl Iterator<Item = &'static str> {
    short().flat_map(|alias| alias.names.split(' '))
}

pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    short().chain(LC0).flat_map(|alias| alias.names.split(' '))
}

/// Those that our backends lack are ignored.
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

/// A name that is no alias stands for itself.
pub(super) fn resolve(name: &str, options: Params) -> Resolved<'_> {
    let is_meant = |alias: &Alias| alias.names.split(' ').any(|own| own == name);
    let ours = short().find(is_meant);
    let of_lc0 = LC0.into_iter().find(is_meant).filter(|_| ours.is_none());
    let is_name_of_lc0 = of_lc0.is_some();
    let alias = ours.or(of_lc0);
    let backend = alias.as_ref().map_or(name, |alias| alias.backend);
    let (options, dropped) = without_lc0s(backend, options, is_name_of_lc0);
    let options = alias.map_or(options.clone(), |alias| alias.before(&options));
    let mut notes = Vec::new();
    if is_name_of_lc0 {
        let with = if options.is_empty() {
            String::new()
        } else {
            format!(" with {options}")
        };
        notes.push(format!("Lc0's backend {name} is mapped to {backend}{with}").into());
    }
    if !dropped.is_empty() {
        notes.push(format!("parameters without a counterpart in {backend} are ignored: {dropped}").into());
    }
    match name {
        "check" => notes.push("nothing is compared: zeitnot accuracy compares two backends".into()),
        "recordreplay" => notes.push("evaluations are neither written to a file nor read from one".into()),
        _ => {}
    }
    Resolved {
        name: backend,
        options,
        notes,
    }
}

impl Alias {
    fn before(&self, options: &Params) -> Params {
        let own = [("provider", self.provider), ("precision", self.precision)].into_iter();
        let own = own.filter(|(_, value)| !value.is_empty());
        let own = own.fold(Params::default(), |own, (key, value)| own.with(key, value));
        options.inheriting(&own)
    }
}

/// Splits off Lc0's parameters that `backend` lacks. Under a name of Lc0's, and beside `auto`, all that it
/// lacks counts as Lc0's.
fn without_lc0s(backend: &str, options: Params, is_name_of_lc0: bool) -> (Params, Params) {
    let own = match registered(backend) {
        _ if backend == MULTIPLEXING => return (options, Params::default()),
        _ if backend == AUTO => [NativeParams::declared(), OnnxRuntimeParams::declared()].concat(),
        Some(backend) => (backend.parameters)(),
        None => Vec::new(),
    };
    let is_open = is_name_of_lc0 || backend == AUTO;
    let stays = |entry: &ParamEntry| match entry {
        ParamEntry::Value { key, .. } if own.iter().any(|spec| spec.name == key) => true,
        ParamEntry::Value { key, .. } => !is_open && !LC0_PARAMETERS.contains(&key.as_str()),
        ParamEntry::List { .. } => !is_open,
    };
    let (mut known, mut dropped) = (Params::default(), Params::default());
    for entry in options.entries() {
        match entry {
            ParamEntry::Value { key, value } if is_name_of_lc0 && key == "fp16" && backend != AUTO => {
                known = known.with("precision", if value == "true" { "fp16" } else { "fp32" });
            }
            entry if stays(entry) => known.push(entry.clone()),
            entry => dropped.push(entry.clone()),
        }
    }
    (known, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(name: &str, options: &str) -> (String, String, Vec<String>) {
        let Resolved { name, options, notes } = resolve(name, Params::parse(options).unwrap());
        (
            name.into(),
            options.to_string(),
            notes.iter().map(Note::to_string).collect(),
        )
    }

    #[test]
    fn short_names_come_without_ado() {
        let text = |name: &str, options: &str| (name.to_owned(), options.to_owned(), Vec::new());
        assert_eq!(
            resolved("cuda", "gpu=1"),
            text("onnxruntime", "provider=cuda,gpu=1")
        );
        assert_eq!(resolved("native", "kernel=avx2"), text("native", "kernel=avx2"));
    }

    #[test]
    fn settings_of_lc0_carry_over_and_say_so() {
        let (name, options, notes) = resolved("cudnn-fp16", "gpu=1,custom_winograd=true,max_batch=512");
        assert_eq!(
            (name.as_str(), options.as_str()),
            ("onnxruntime", "provider=cuda,precision=fp16,gpu=1")
        );
        assert_eq!(
            notes,
            [
                "Lc0's backend cudnn-fp16 is mapped to onnxruntime with provider=cuda,precision=fp16,gpu=1",
                "parameters without a counterpart in onnxruntime are ignored: custom_winograd=true,max_batch=512",
            ]
        );
        let (_, options, _) = resolved("onnx-trt", "fp16=false");
        assert_eq!(options, "provider=cuda,precision=fp32");
        let (name, options, notes) = resolved("blas", "blas_cores=2");
        assert_eq!((name.as_str(), options.as_str()), ("auto", ""));
        assert_eq!(notes[0], "Lc0's backend blas is mapped to auto");
        for (name, note) in [
            ("check", "nothing is compared"),
            ("recordreplay", "evaluations are neither"),
        ] {
            let (backend, _, notes) = resolved(name, "");
            assert!(
                backend == "auto" && notes[1].starts_with(note),
                "{name}: {notes:?}"
            );
        }
    }
}
