//! Why libraries and drivers of others fail, from what they say: the one place that knows their texts. The
//! texts that tests read were recorded, most with the driver of `tests/gpu/stub`.

use super::provider::Provider;
use crate::foreign::{ONNX_RUNTIME, VERBOSE_SETTING, one_line, record};
use crate::network::onnx::DataType;

const OUT_OF_MEMORY: [&str; 4] = [
    "out of memory",
    "failed to allocate memory",
    "alloc failed",
    "8007000e",
];

/// What a text has in it, in small letters and with blanks for `_`, and what that means, with what helps. The
/// first row that fits counts.
const CAUSES: [(&[&str], &str); 14] = [
    (
        &[
            "cuda failure 35:",
            "driver version is insufficient",
            "cuda failure 803:",
        ],
        "NVIDIA's driver is too old for CUDA 13. Install driver 580 or newer, and restart the machine",
    ),
    (
        &["undefined symbol: cu", "undefined symbol: nv"],
        "NVIDIA's driver or libraries lack a function. Install driver 580 or newer, and restart the machine",
    ),
    (
        &["cuda failure 100:", "no cuda-capable device"],
        "NVIDIA's driver finds no GPU. In a container start that with access to the GPU, as `docker run --gpus all` does",
    ),
    (
        &["cuda failure 46:", "busy or unavailable"],
        "another program has the GPU for itself. Close it, or change the GPU's compute mode by nvidia-smi",
    ),
    (
        &["cuda failure 999:", "cuda failure 3:"],
        "NVIDIA's driver does not start. Restart the machine, or install the driver anew",
    ),
    (
        &["no kernel image is available", "nokernelimagefordevice"],
        "this ONNX Runtime has no code for this GPU. Use --backend=webgpu",
    ),
    (
        &OUT_OF_MEMORY,
        "the device's memory is used up. Close other programs that use it, or take a smaller network",
    ),
    (
        &["only supports rtx devices"],
        "TensorRT RTX takes NVIDIA GPUs of compute capability 8.6, 8.9, 12.0 and above. Use --backend=cuda",
    ),
    (
        &[
            "could not build engine",
            "failed to create engine",
            "buildserializednetwork",
        ],
        "TensorRT builds no engine for this network on this GPU. Use --backend=cuda",
    ),
    (
        &[
            "cuda failure 700:",
            "cuda failure 702:",
            "cuda failure 719:",
            "unspecified launch failure",
            "illegal memory access",
            "launch timed out",
            "887a00",
            "device lost",
            "device is lost",
            "device was destroyed",
            "external instance reference",
        ],
        "the driver has stopped the GPU. Start again, and update the driver if that comes again",
    ),
    (
        &["failed to get a webgpu adapter", "no supported adapters"],
        "WebGPU finds no GPU. `zeitnot doctor` shows what is missing",
    ),
    (
        &[
            "cannot open shared object file",
            "error 126",
            "library not loaded",
        ],
        "a library of it is missing. `zeitnot doctor` shows which",
    ),
    (
        &[
            "could not find an implementation",
            "not implemented",
            "no op registered",
        ],
        "ONNX Runtime has no code for a part of the model on this device",
    ),
    (
        &["protobuf parsing failed", "invalid protobuf", "invalid graph"],
        "ONNX Runtime takes it for no model",
    ),
];

/// Whether a library that said `text` might compute a smaller batch.
pub(super) fn is_out_of_memory(text: &str) -> bool {
    let small = text.to_lowercase().replace('_', " ");
    OUT_OF_MEMORY.iter().any(|sign| small.contains(sign))
}

/// What GUIs take for a start that has failed, as pairs of words.
const OF_A_FAILED_START: [[&str; 2]; 6] = [
    ["unknown", "host"],
    ["No", "remote"],
    ["not", "found"],
    ["No", "such"],
    ["can't", "alloc"],
    ["Permission", "denied"],
];
/// The most that is quoted, characters.
const LONGEST_QUOTE: usize = 160;

/// In one line, why a library failed that said `text`: cause and remedy where they are known, else its
/// last sentence.
pub(super) fn cause(text: &str) -> String {
    let small = text.to_lowercase().replace('_', " ");
    let known = CAUSES
        .iter()
        .find(|(signs, _)| signs.iter().any(|sign| small.contains(sign)));
    if let Some((_, cause)) = known {
        return (*cause).into();
    }
    let quote = last_sentence(text);
    let is_harmless = OF_A_FAILED_START
        .iter()
        .all(|pair| !quote.contains(&pair.join(" ")));
    let said = if is_harmless {
        format!("says {quote:?}")
    } else {
        "refuses".into()
    };
    format!("ONNX Runtime {said} ({VERBOSE_SETTING} or LogFile tells more)")
}

/// Leaves out what ONNX Runtime puts before and behind it: functions, codes, and the names of file and host.
fn last_sentence(text: &str) -> String {
    let line = one_line(text);
    let line = line.split(" ; ").next().unwrap_or_default();
    // The place in the source and the signature of a function of C++.
    let line = line
        .split_once(".cc:")
        .and_then(|(_, place)| place.split_once(") "))
        .map_or(line, |(_, said)| said);
    // What the parameters of a template are.
    let line = match line.strip_prefix("[with ").and_then(|rest| rest.split_once("] ")) {
        Some((_, said)) => said,
        None => line,
    };
    let last = ["Status Message: ", " : ", ". "].iter().fold(line, |rest, mark| {
        rest.trim_end_matches(['.', ' '])
            .rsplit(mark)
            .next()
            .unwrap_or_default()
    });
    last.chars().take(LONGEST_QUOTE).collect()
}

/// Why `provider` does not compute on the processor `cpu`.
pub fn wrong_processor(provider: Provider, cpu: &str) -> Option<String> {
    let makers = [
        "AMD", "ARM", "Apple", "Qualcomm", "VIA", "Zhaoxin", "Hygon", "aarch64",
    ];
    (provider == Provider::OpenVino && makers.iter().any(|maker| cpu.contains(maker)))
        .then(|| format!("OpenVINO's plugin computes on Intel processors, and this one is {cpu}"))
}

/// Keeps the words of ONNX Runtime: those of C++ fill several lines.
pub(super) fn in_our_words(error: &ort::Error) -> String {
    record(ONNX_RUNTIME, error);
    cause(&error.to_string())
}

/// Why `provider` does not compute a model, if that is known.
pub(super) fn known_limit(data_type: DataType, provider: Provider) -> Option<&'static str> {
    (data_type == DataType::Bfloat16 && provider == Provider::Cpu).then_some(
        "it is an ONNX model in bf16, as Lc0's leela2onnx --onnx-data-type=bf16 writes it, which ONNX Runtime does not compute \
         on a CPU. Use --backend=openvino, a GPU, or the network that it was made from",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn recorded_texts_have_their_causes() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/causes.json");
        let all: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let rows = all.as_array().unwrap();
        assert!(rows.len() > 12);
        for row in rows {
            let cause = cause(row["text"].as_str().unwrap());
            assert!(
                cause.starts_with(row["cause"].as_str().unwrap()),
                "{cause}: {row}"
            );
            assert!(!cause.contains('\n') && !cause.contains("hostname"), "{cause}");
        }
    }

    #[test]
    fn what_is_not_known_is_quoted_unless_a_gui_would_take_it_for_a_failed_start() {
        let text = "[ONNXRuntimeError] : 1 : FAIL : a.cc:7 f() CUDA failure 701: too many resources ; GPU=0 ; hostname=me ; line=7";
        assert!(cause(text).starts_with("ONNX Runtime says \"CUDA failure 701: too many resources\" ("));
        let text = "cuda_call.cc:129 C f(int) [with ERRTYPE = cudaError; bool THRW = true] CUDA failure 701: too many resources ; GPU=0";
        assert!(cause(text).starts_with("ONNX Runtime says \"CUDA failure 701: too many resources\" ("));
        let refused = ["not", "found"].join(" ");
        assert_eq!(
            cause(&format!("x was {refused}")),
            "ONNX Runtime refuses (RUST_LOG=info or LogFile tells more)"
        );
    }

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
