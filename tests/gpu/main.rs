//! Tests the backend `cuda` on a GPU that computes nothing (`fake/cuda.c`): what it is asked to do, how often, and how the process
//! ends.
//!
//! ONNX Runtime's GPU package alone is needed, not CUDA. `.ci/gpu` puts it into `target/ci-gpu`, and `zeitnot setup --provider cuda`
//! into the cache. Where it is missing, these tests say so and pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../common/mod.rs"]
mod common;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::engine::Engine;
use common::{json, network, package_file, skipped, stderr, zeitnot};
use tempfile::TempDir;
use zeitnot_engine::network::folders;

const TOWER: &str = "se_mlh.pb.gz";
const TRANSFORMER: &str = "ab_smol_mish_mish.pb.gz";

/// The GPU that computes nothing, and the folder into which its calls are written.
struct FakeGpu {
    folder: TempDir,
    cache: PathBuf,
}

/// How often each of the GPU's functions was called.
type Calls = HashMap<String, i64>;

impl FakeGpu {
    fn get() -> Option<FakeGpu> {
        let caches = [Some(package_file("target/ci-gpu")), folders::cache()];
        let has_runtime = |cache: &PathBuf| {
            let mut names = fs::read_dir(cache)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.file_name());
            names.any(|name| name.to_string_lossy().starts_with("onnxruntime-gpu-"))
        };
        let Some(cache) = caches.into_iter().flatten().find(has_runtime) else {
            skipped("ONNX Runtime's GPU package is not installed: .ci/gpu fetches it");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let built = Command::new(package_file("tests/gpu/fake/build"))
            .arg(folder.path())
            .status();
        assert!(built.unwrap().success());
        Some(FakeGpu { folder, cache })
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("calls")
    }

    /// Lets a command see the GPU.
    fn show_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let _ = fs::remove_file(self.log());
        command
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("FAKE_CUDA_LOG", self.log())
            .env("ZEITNOT_CACHE_DIR", &self.cache)
            .env_remove("ORT_DYLIB_PATH")
    }

    fn run(&self, network_name: &str, arguments: &[&str]) -> Output {
        let mut command = zeitnot(arguments);
        let network = network(network_name);
        let output = self
            .show_to(&mut command)
            .arg("--backend=cuda")
            .arg("--weights")
            .arg(network)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{:?}: {}",
            output.status,
            stderr(&output)
        );
        output
    }

    fn engine(&self, network_name: &str) -> Engine {
        self.engine_with(network_name, &[], &[])
    }

    /// An engine with more arguments, on a GPU that has these faults.
    fn engine_with(&self, network_name: &str, arguments: &[&str], faults: &[(&str, u32)]) -> Engine {
        let weights = format!("--weights={}", network(network_name).display());
        let mut command = zeitnot(&["--backend=cuda", &weights]);
        let command = self.show_to(command.args(arguments));
        for (name, number) in faults {
            command.env(format!("FAKE_CUDA_{name}"), number.to_string());
        }
        let mut engine = Engine::spawn(command);
        engine.ask(&["isready"], "readyok");
        engine
    }

    /// What was called by the process that has ended.
    fn calls(&self) -> Calls {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let row = |line: &str| {
            let mut cells = line.splitn(3, ' ');
            Some((cells.next()?.parse().ok()?, cells.nth(1)?.trim_end().to_owned()))
        };
        text.lines()
            .filter_map(row)
            .map(|(calls, name): (i64, String)| (name, calls))
            .collect()
    }
}

fn number_of(calls: &Calls, names: &[&str]) -> i64 {
    names.iter().filter_map(|name| calls.get(*name)).sum()
}

const COMPUTATIONS: [&str; 4] = ["kernels", "products", "convolutions", "operations of cuDNN"];

/// What one more batch of 64 positions is made of.
fn calls_of_a_batch(gpu: &FakeGpu, network: &str, options: &[&str]) -> Calls {
    let after = |batches: &str| {
        let size = ["--start-batch-size=64", "--max-batch-size=64", "--rounds=1"];
        gpu.run(
            network,
            &[&["backendbench", "--batches", batches][..], &size, options].concat(),
        );
        gpu.calls()
    };
    let (few, many) = (after("10"), after("20"));
    // Each round is run a second time, which counts.
    let of_one = |all: i64, name: &str| (all - few.get(name).copied().unwrap_or(0)) / 20;
    many.into_iter()
        .map(|(name, calls)| (name.clone(), of_one(calls, &name)))
        .collect()
}

/// A regression: no batch came back, as outputs lay in memory that ONNX Runtime counts as the GPU's.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn batches_travel_by_themselves_and_take_few_calls() {
    let Some(gpu) = FakeGpu::get() else { return };
    for (network, most, outputs) in [(TOWER, 65, 3), (TRANSFORMER, 84, 3)] {
        let calls = calls_of_a_batch(&gpu, network, &[]);
        let of_copies = |name: &str| calls.get(name).copied().unwrap_or(0);
        assert_eq!(of_copies("copy async H2D pinned"), 1, "{network}: {calls:#?}");
        assert_eq!(
            of_copies("copy async D2H pinned"),
            outputs,
            "{network}: {calls:#?}"
        );
        let others = calls
            .iter()
            .filter(|(name, calls)| name.starts_with("copy") && !name.ends_with("pinned") && **calls > 0);
        assert_eq!(
            others.filter(|(name, _)| !name.contains("D2D")).count(),
            0,
            "{network}: {calls:#?}"
        );
        let made = ["cudaMalloc", "cudaMallocHost", "cudaStreamCreate", "plans"];
        assert_eq!(number_of(&calls, &made), 0, "{network}: {calls:#?}");
        // Attention by cuDNN would be planned anew for each size.
        let by_cudnn = number_of(&calls, &["convolutions"]);
        assert_eq!(by_cudnn > 0, network == TOWER, "{network}: {calls:#?}");
        let computations = number_of(&calls, &COMPUTATIONS);
        assert!(
            (1..=most).contains(&computations),
            "{network}: {computations} calls: {calls:#?}"
        );
    }
}

/// What ONNX Runtime does with graphs asked for: the first batch of a size is captured, and others are one launch.
const GRAPHS: &str = "--backend-opts=ep=enable_cuda_graph=1";

#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn a_batch_is_one_launch_of_a_graph_that_was_captured_before_the_first_move() {
    let Some(gpu) = FakeGpu::get() else { return };
    let is_illegal = |calls: &Calls| calls.keys().any(|name| name.starts_with("ILLEGAL"));
    for network in [TOWER, TRANSFORMER] {
        let calls = calls_of_a_batch(&gpu, network, &[GRAPHS]);
        let launches: Vec<_> = calls.iter().filter(|(_, calls)| **calls > 0).collect();
        assert_eq!(calls.get("cudaGraphLaunch"), Some(&1), "{network}: {launches:#?}");
        assert_eq!(number_of(&calls, &COMPUTATIONS), 0, "{network}: {launches:#?}");
        assert!(
            !launches.iter().any(|(name, _)| name.starts_with("copy")),
            "{network}: {launches:#?}"
        );
        let captured = |moves: usize| {
            let mut engine = gpu.engine_with(network, &[GRAPHS], &[]);
            for _ in 0..moves {
                let lines = engine.search(&["position startpos", "go movetime 100"]);
                assert!(!has(&lines, "ERROR"), "{lines:#?}");
            }
            engine.send("quit");
            assert_eq!(engine.end().0, Some(0));
            assert!(!is_illegal(&gpu.calls()), "{:#?}", gpu.calls());
            number_of(&gpu.calls(), &["cudaStreamEndCapture"])
        };
        let idle = captured(0);
        assert!(idle > 0);
        assert_eq!(captured(5), idle);
    }
}

/// A regression: each change of the size planned all convolutions anew, in the middle of a move.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn no_convolution_is_planned_after_the_start() {
    let Some(gpu) = FakeGpu::get() else { return };
    let plans = |rounds: &str| {
        gpu.run(
            TOWER,
            &[
                "backendbench",
                "--batches=64,128",
                "--round-ms=1",
                "--rounds",
                rounds,
            ],
        );
        number_of(&gpu.calls(), &["plans"])
    };
    let at_the_start = plans("1");
    assert_eq!(plans("4"), at_the_start);
    let planned = |moves: usize| {
        let mut engine = gpu.engine(TOWER);
        for _ in 0..moves {
            engine.search(&["position startpos", "go movetime 100"]);
        }
        engine.send("quit");
        engine.finish();
        number_of(&gpu.calls(), &["plans"])
    };
    let idle = planned(0);
    assert!(idle > 0);
    assert_eq!(planned(5), idle);
}

/// A regression: threads of the device gave up their sessions while the process ended, and it crashed.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn the_process_ends_without_a_crash() {
    let Some(gpu) = FakeGpu::get() else { return };
    for round in 0..10 {
        let mut engine = gpu.engine(if round % 2 == 0 { TOWER } else { TRANSFORMER });
        match round % 3 {
            0 => {}
            1 => engine.send("go infinite"),
            _ => drop(engine.search(&["go movetime 100"])),
        }
        engine.send("quit");
        let (code, lines) = engine.end();
        assert_eq!(code, Some(0), "round {round}: {lines:?}");
    }
    for _ in 0..3 {
        gpu.run(TRANSFORMER, &["bench", "--movetime=50", "--num-positions=2"]);
    }
}

/// Launches until the first move, which faults are to come after.
const AFTER_THE_START: u32 = 3000;

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

/// A regression: after one fault every later `go` was answered by junk or `bestmove (none)`, for good.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn a_fault_of_the_device_costs_a_move_and_ends_the_process_or_lets_the_cpu_evaluate() {
    let Some(gpu) = FakeGpu::get() else { return };
    let faults = [("LAUNCH_FAILS_AT", AFTER_THE_START)];
    let mut engine = gpu.engine_with(TRANSFORMER, &[], &faults);
    // Sent at once, as it ends in the middle.
    engine.send(&"ucinewgame\nposition startpos\ngo movetime 200\nwait\n".repeat(50));
    let (code, lines) = engine.end();
    assert_eq!(code, Some(2));
    assert!(
        has(&lines, "ERROR") && has(&lines, "bestmove ") && !has(&lines, "(none)"),
        "{lines:#?}"
    );
    let mut engine = gpu.engine_with(TRANSFORMER, &["--fallback=cpu"], &faults);
    let mut told = 0;
    for _ in 0..4 {
        let lines = engine.search(&["ucinewgame", "position startpos", "go movetime 300"]);
        assert_ne!(lines.last().unwrap(), "bestmove (none)");
        told += lines
            .iter()
            .filter(|line| line.contains("The CPU evaluates instead"))
            .count();
    }
    assert_eq!(told, 1);
    engine.send("quit");
    assert_eq!(engine.end().0, Some(0));
}

/// A regression: after a fault before the first move every `go` was answered by `bestmove (none)`, and a device without room for a
/// second session was not used.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn a_device_that_fails_at_the_start_plays_or_ends_the_process() {
    let Some(gpu) = FakeGpu::get() else { return };
    let answers = |faults: &[(&str, u32)]| {
        let mut engine = gpu.engine_with(TRANSFORMER, &[], faults);
        engine.send("go movetime 200\nwait\nquit");
        let (code, lines) = engine.end();
        let answer = lines.iter().find(|line| line.starts_with("bestmove"));
        assert_ne!(answer.map(String::as_str), Some("bestmove (none)"), "{faults:?}");
        assert_eq!(
            code,
            Some(if answer.is_some() { 0 } else { 2 }),
            "{faults:?}: {lines:#?}"
        );
        answer.is_some()
    };
    for launch in [1, 100, 700] {
        assert!(!answers(&[("LAUNCH_FAILS_AT", launch)]));
    }
    let from = |allocation| answers(&[("MALLOC_FAILS_AT", allocation), ("MALLOC_FAILS", 1_000_000)]);
    let played: Vec<_> = (4..=14).map(from).collect();
    assert!(!played[0] && played[5], "{played:?}");
}

/// A regression: every move failed where a batch did not fit into the device's memory.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn a_batch_that_does_not_fit_is_halved() {
    let Some(gpu) = FakeGpu::get() else { return };
    let mut engine = gpu.engine_with(TRANSFORMER, &[], &[("MALLOC_FAILS_AT", 12), ("MALLOC_FAILS", 3)]);
    let lines = engine.search(&["position startpos", "go movetime 200"]);
    assert!(!has(&lines, "evaluation failed"), "{lines:#?}");
    engine.send("quit");
    assert_eq!(engine.end().0, Some(0));
}

/// A regression: a device that hung was not told of.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn a_device_that_hangs_is_told_of_and_the_cpu_takes_over() {
    let Some(gpu) = FakeGpu::get() else { return };
    let faults = [("HANGS_AT", 40), ("HANGS", 2), ("HANG_S", 20)];
    let mut engine = gpu.engine_with(TRANSFORMER, &["--fallback=cpu"], &faults);
    let lines = engine.search(&["position startpos", "go movetime 8000"]);
    assert!(has(&lines, "the device has not answered for "), "{lines:#?}");
    assert_ne!(lines.last().unwrap(), "bestmove (none)");
    let lines = engine.search(&["position startpos", "go movetime 300"]);
    assert!(has(&lines, "native"), "{lines:#?}");
}

/// A regression: a tower with a policy of attention was first made in a form that is refused, and a message told of it.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn a_tower_is_taken_at_once() {
    let Some(gpu) = FakeGpu::get() else { return };
    let output = gpu.run(
        "se_attpol_relu.pb.gz",
        &["bench", "--nodes=20", "--num-positions=1"],
    );
    assert!(
        !stderr(&output).contains("operations only"),
        "{}",
        stderr(&output)
    );
}

#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn options_of_the_provider_reach_it() {
    let Some(gpu) = FakeGpu::get() else { return };
    let biases = |options: &str| {
        gpu.run(
            TOWER,
            &[
                "bench",
                "--nodes=20",
                "--num-positions=1",
                "--backend-opts",
                options,
            ],
        );
        number_of(&gpu.calls(), &["cudnnAddTensor"])
    };
    assert!(biases("") > 0);
    assert_eq!(biases("ep=prefer_nhwc=1;fuse_conv_bias=1"), 0);
}

/// What a change of the size costs is measured: here it costs nothing, as each size was prepared at the start.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn the_cost_of_a_change_of_size_is_told() {
    let Some(gpu) = FakeGpu::get() else { return };
    let rows = json(&gpu.run(
        TOWER,
        &[
            "backendbench",
            "--json",
            "--batches=64,128",
            "--rounds=1",
            "--round-ms=1",
        ],
    ));
    assert!(rows[1]["change_ms"].as_f64().is_some(), "{rows:#}");
}

/// The script for people with a GPU runs through.
#[test]
#[ignore = "needs ONNX Runtime's GPU package"]
fn the_checklist_runs_through() {
    let Some(gpu) = FakeGpu::get() else { return };
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(package_file("tests/gpu/run"));
    let weights = [TOWER, TRANSFORMER].map(network);
    let command = command
        .arg(out.path())
        .arg(env!("CARGO_BIN_EXE_zeitnot"))
        .args(&weights)
        .env("QUICK", "1");
    let output = gpu.show_to(command).output().unwrap();
    let summary = fs::read_to_string(Path::new(out.path()).join("summary.txt")).unwrap_or_default();
    assert!(summary.lines().count() >= 10, "{summary}{}", stderr(&output));
    // There is no GPU whose numbers could be right, and the doctor sees that.
    let failed: Vec<_> = summary
        .lines()
        .filter(|line| !line.contains(" ok ") && !line.starts_with("doctor-"))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}{}", stderr(&output));
    assert!(out.path().join("all.tgz").exists());
    // A regression: limits that added up to fifteen minutes, where a machine is lent for less.
    let limits = summary
        .lines()
        .last()
        .and_then(|line| line.split_whitespace().nth(2)?.parse::<u32>().ok());
    assert!(limits.is_some_and(|limits| limits <= 540), "{limits:?}");
}
