//! Loses the device in the middle of a search. A Vulkan loader of our own, built by the C compiler, refuses the work that
//! is submitted from a moment on that the test chooses.

use std::path::Path;
use std::process::Command;

use crate::common::engine::Engine;
use crate::common::{package_file, zeitnot};
use crate::playing::{COMPILING, arguments, ready};
use crate::software_gpu::SoftwareGpu;

/// Starts an engine whose device is lost as soon as `folder` has a file `lost`.
fn engine(gpu: &SoftwareGpu, folder: &Path, backend: &str, options: &str) -> Engine {
    let loader = folder.join("libvulkan.so.1");
    let source = package_file("tests/webgpu/lost_device.c");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&loader)
        .arg(source)
        .arg("-ldl")
        .status();
    assert!(built.unwrap().success());
    let mut command = zeitnot(&arguments(backend, options));
    let command = gpu.show_to(&mut command).env("LD_LIBRARY_PATH", folder);
    let command = command.env("REAL_VULKAN", &gpu.loader);
    Engine::spawn(command.env("LOSE_DEVICE", folder.join("lost")))
}

#[test]
#[ignore = "needs the software GPU of Mesa's Vulkan drivers"]
fn a_search_goes_on_with_the_other_device_when_one_is_lost() {
    let Some(gpu) = SoftwareGpu::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let devices = "(backend=webgpu,precision=fp32),(backend=native)";
    let mut engine = engine(gpu, folder.path(), "roundrobin", devices);
    assert!(ready(&mut engine).contains("webgpu on device 0"));
    engine.send("position startpos");
    engine.send("go infinite");
    engine.read_until("info depth");
    std::fs::write(folder.path().join("lost"), "").unwrap();
    let lines = engine.read_until_within("info string", COMPILING);
    assert!(lines.last().unwrap().contains("fail"), "{lines:#?}");
    engine.read_until("info depth");
    let best = engine.ask(&["stop"], "bestmove");
    assert!(best.len() > "bestmove ".len(), "{best}");
    assert!(
        engine
            .best_move(&["position startpos moves e2e4", "go nodes 50"])
            .len()
            >= 4
    );
}

#[test]
#[ignore = "needs the software GPU of Mesa's Vulkan drivers"]
fn the_loss_of_the_only_device_ends_the_search_with_a_move_and_a_message() {
    let Some(gpu) = SoftwareGpu::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(gpu, folder.path(), "webgpu", "precision=fp32");
    ready(&mut engine);
    engine.send("position startpos");
    engine.send("go infinite");
    engine.read_until("info depth");
    std::fs::write(folder.path().join("lost"), "").unwrap();
    let lines = engine.read_until_within("info string", COMPILING);
    assert!(
        lines.last().unwrap().to_lowercase().contains("error"),
        "{lines:#?}"
    );
    engine.ask(&["stop"], "bestmove");
    engine.ask(&["isready"], "readyok");
}
