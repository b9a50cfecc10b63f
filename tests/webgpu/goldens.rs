//! Compares what the software GPU computes with what Lc0 gives, for every kind of network: towers, attention bodies, all kinds of
//! heads. Inputs are packed unless a test says otherwise.
//!
//! A driver is found through variables that the system reads when a process starts: so each test runs itself again in a
//! process that has them.

use std::process::Command;

use crate::golden_files::{self, Errors, SINGLE};
use crate::playing::has_openvino;
use crate::software_gpu::SoftwareGpu;

/// The variable that tells a process that it sees the software GPU.
const SEEING: &str = "ZEITNOT_SEES_SOFTWARE_GPU";

/// Runs the test `name` of this program in a process that sees the software GPU, unless this is that process.
/// Returns whether it is.
fn sees_gpu(name: &str) -> bool {
    if std::env::var_os(SEEING).is_some() {
        return true;
    }
    let Some(gpu) = SoftwareGpu::get() else {
        return false;
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture", "--ignored"])
        .env(SEEING, "1");
    let output = gpu.show_to(&mut command).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "the test {name} did not run: {text}");
    false
}

/// One network of each kind; `ZEITNOT_ALL_GOLDENS=1` takes all, for which minutes of shaders are compiled.
const OF_EACH_KIND: [&str; 11] = [
    "ab_gates_mish",
    "ab_plain_relu",
    "ab_smol_default",
    "ab_tiny",
    "classical",
    "hybrid_resnet_ab",
    "input_5_canonical_v2",
    "mh_bt4.optimistic.q",
    "onnx_se_mlh_f16",
    "se_attpol_enc_mish",
    "se_mlh",
];

/// Networks that together have all layers. Each takes ten seconds of shaders.
const OF_ALL_LAYERS: [&str; 6] = [
    "ab_gates_mish",
    "classical",
    "hybrid_resnet_ab",
    "mh_bt4.optimistic.q",
    "onnx_se_mlh_f16",
    "se_attpol_enc_mish",
];

/// Networks that differ in their bodies and in what they do with their inputs. The others have been through the same layers in half
/// precision.
const OF_EACH_BODY: [&str; 3] = ["ab_smol_default", "classical", "input_5_canonical_v2"];

fn compare(backend: &str, options: &str, kinds: &[&str]) {
    let takes_all = std::env::var_os("ZEITNOT_ALL_GOLDENS").is_some_and(|it| it == "1");
    let limits = |name: &str| {
        let is_half = options.contains("fp16") || name.ends_with("_f16");
        (takes_all || kinds.contains(&name)).then_some(if is_half { HALF } else { SINGLE })
    };
    assert!(golden_files::compare(backend, options, limits) >= kinds.len());
}

/// WebGPU also adds up in half precision.
const HALF: Errors = Errors {
    value: 5e-2,
    moves_left: 2.0,
    logit: 0.3,
};

#[test]
#[ignore = "needs the software GPU of Mesa's Vulkan drivers"]
fn single_precision_gives_on_webgpu_what_lc0_gives() {
    if sees_gpu("goldens::single_precision_gives_on_webgpu_what_lc0_gives") {
        compare("webgpu", "precision=fp32", &OF_EACH_BODY);
    }
}

#[test]
#[ignore = "needs the software GPU of Mesa's Vulkan drivers"]
fn half_precision_gives_on_webgpu_nearly_what_lc0_gives() {
    if sees_gpu("goldens::half_precision_gives_on_webgpu_nearly_what_lc0_gives") {
        compare("webgpu", "precision=fp16", &OF_ALL_LAYERS);
    }
}

#[test]
#[ignore = "needs the software GPU of Mesa's Vulkan drivers"]
fn inputs_as_planes_give_on_webgpu_what_lc0_gives() {
    if sees_gpu("goldens::inputs_as_planes_give_on_webgpu_what_lc0_gives") {
        compare("webgpu", "precision=fp16,inputs=planes", &OF_EACH_BODY);
    }
}

/// OpenVINO needs no GPU.
#[test]
#[ignore = "needs OpenVINO, which pip fetches"]
fn packed_inputs_give_on_openvino_what_lc0_gives() {
    if has_openvino() {
        compare("openvino", "precision=fp32,inputs=packed", &OF_EACH_KIND);
    }
}
