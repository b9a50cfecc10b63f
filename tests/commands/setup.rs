//! Tests `setup --auto`, with described machines and with stubs of a driver, and that `setup` and `doctor` say the same.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{assert_refused, data, json, set_up_onnx_runtime, stderr, stdout, zeitnot};

fn machines() -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(data("machines.json")).unwrap()).unwrap()
}

/// Writes the description of a machine into `folder`, and returns its path.
fn described(folder: &TempDir, entry: &Value) -> String {
    let path = folder.path().join("machine.json");
    fs::write(&path, entry["machine"].to_string()).unwrap();
    path.display().to_string()
}

fn machine(case: &str) -> Value {
    machines().into_iter().find(|entry| entry["case"] == case).unwrap()
}

#[test]
fn every_described_machine_gets_its_provider_and_nothing_is_changed() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    let machines = machines();
    assert!(machines.len() > 15);
    for entry in &machines {
        let file = described(&folder, entry);
        let line = ["setup", "--auto", "--dry-run", "--machine", &file];
        let run = |more: &[&str]| {
            zeitnot(&[&line[..], more].concat()).env("ZEITNOT_CACHE_DIR", &cache).output().unwrap()
        };
        let report = json(&run(&["--json"]));
        assert_eq!(report["provider"], entry["provider"], "{entry}");
        assert_eq!(report["lacking"], entry["lacking"], "{entry}");
        for (key, value) in entry["machine"].as_object().unwrap() {
            let is_left_out = report["machine"][key].is_null() && value.as_array().is_some_and(Vec::is_empty);
            assert!(report["machine"][key] == *value || is_left_out, "{key}: {report}");
        }
        let text = run(&[]);
        assert!(text.status.success(), "{entry}: {}", stderr(&text));
        for expected in entry["says"].as_array().unwrap() {
            assert!(stdout(&text).contains(expected.as_str().unwrap()), "{expected}: {}", stdout(&text));
        }
        assert_eq!(stdout(&text).contains("would check"), !entry["provider"].is_null(), "{}", stdout(&text));
        assert!(!cache.exists());
    }
}

#[test]
fn what_is_missing_is_one_command_and_nothing_is_fetched_before_it_is_there() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    for (case, code, expected) in [
        (
            "AMD, Linux, nothing installed yet",
            1,
            "Run `sudo apt install libvulkan1 mesa-vulkan-drivers python3-pip`",
        ),
        ("NVIDIA without its driver, Ubuntu", 1, "Run `sudo ubuntu-drivers install` and restart"),
        ("no GPU", 0, "nothing is needed"),
    ] {
        let file = described(&folder, &machine(case));
        let mut command = zeitnot(&["setup", "--auto", "--machine", &file]);
        let output = command.env("ZEITNOT_CACHE_DIR", &cache).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stdout(&output).contains(expected), "{}", stdout(&output));
        // A regression: a refusal stood behind the word "chosen".
        assert_eq!(stdout(&output).contains("\nchosen "), case.starts_with("AMD"), "{}", stdout(&output));
        assert!(!cache.exists() && stderr(&output).is_empty(), "{}", stderr(&output));
    }
}

/// A regression: such a provider ended with 0 and without the provider, or with an empty list and advice on pip.
#[cfg(any(target_os = "macos", target_arch = "aarch64"))]
#[test]
fn a_provider_of_another_system_is_refused_at_once() {
    let cache = TempDir::new().unwrap();
    let (other, system) = if cfg!(target_os = "macos") {
        ("cuda", "Linux and Windows")
    } else {
        ("openvino", "Linux and Windows on x86_64")
    };
    for more in [&[][..], &["--dry-run"]] {
        let mut command = zeitnot(&[&["setup", "--provider", other], more].concat());
        let output =
            command.env_remove("ZEITNOT_OFFLINE").env("ZEITNOT_CACHE_DIR", cache.path()).output().unwrap();
        assert_refused(&output, &format!("{other} is for {system}, and this is {}", std::env::consts::OS));
        assert!(stdout(&output).is_empty() && !stderr(&output).contains("pip"), "{}", stderr(&output));
    }
}

/// Writes the description of a Vulkan driver for the loader and for us.
#[cfg(target_os = "linux")]
fn vulkan_driver(folder: &TempDir, name: &str, api: &str) -> std::path::PathBuf {
    let path = folder.path().join(name);
    let text = format!(
        r#"{{"file_format_version": "1.0.0", "ICD": {{"library_path": "none.so", "api_version": "{api}"}}}}"#
    );
    fs::write(&path, text).unwrap();
    path
}

/// A regression: the variable counted for the engine, and not for `setup`.
#[cfg(target_os = "linux")]
#[test]
fn software_is_a_gpu_for_all_or_for_none() {
    let folder = TempDir::new().unwrap();
    let driver = vulkan_driver(&folder, "lvp_icd.json", "1.4.305");
    let has_software = |value: &str| {
        let mut command = zeitnot(&["setup", "--auto", "--dry-run", "--json"]);
        let command = command.env("VK_ICD_FILENAMES", &driver).env_remove("VK_DRIVER_FILES");
        let report = json(&command.env("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", value).output().unwrap());
        let gpus = report["machine"]["gpus"].as_array().unwrap();
        let is_software = |gpu: &Value| gpu["maker"] == "software" && gpu["driver"] == "llvmpipe";
        let has_it = gpus.iter().any(is_software);
        assert!(!has_it || gpus.len() > 1 || report["provider"] == "webgpu", "{report}");
        has_it
    };
    assert_eq!([has_software("1"), has_software("0"), has_software("")], [true, false, false]);
}

/// A regression: Mesa 22.3, which Debian 12 installs, made WebGPU fail with a C++ exception, and nothing said that it is too old.
#[cfg(target_os = "linux")]
#[test]
fn the_doctor_says_that_mesa_is_too_old_for_webgpu() {
    let folder = TempDir::new().unwrap();
    for (name, api, is_new) in [
        ("radeon_icd.json", "1.3.230", false),
        ("radeon_icd.json", "1.4.305", true),
        ("nvidia_icd.json", "1.3.277", true),
    ] {
        let driver = vulkan_driver(&folder, name, api);
        let weights = format!("--weights={}", crate::common::network("tiny.pb.gz").display());
        let mut command = zeitnot(&["doctor", "--backend=random", "--json", &weights]);
        let command = command.env("VK_ICD_FILENAMES", &driver).env_remove("VK_DRIVER_FILES");
        let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let parts = report["parts"].as_array().unwrap();
        let drivers = parts.iter().find(|part| part["name"] == "Vulkan drivers").unwrap();
        assert_eq!(drivers["is_here"], is_new, "{drivers}");
        let detail = drivers["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("(Vulkan {api})")), "{detail}");
        assert_eq!(detail.contains("WebGPU needs 1.4, which Mesa has from 25 on"), !is_new, "{detail}");
    }
}

/// What owners of GPUs can send in tells no path and no name.
#[test]
fn the_doctor_writes_a_report_to_send_in() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("report.json");
    let weights = crate::common::network("tiny.pb.gz");
    let line = [
        "doctor",
        "--backend=native",
        "--weights",
        weights.to_str().unwrap(),
        "--report",
        file.to_str().unwrap(),
    ];
    let output = zeitnot(&line).output().unwrap();
    assert!(output.status.success() && stderr(&output).contains("please send it in"), "{}", stderr(&output));
    let text = fs::read_to_string(&file).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    for key in ["version", "machine", "parts", "backends"] {
        assert!(!report[key].is_null(), "{key}: {text}");
    }
    assert!(report["machine"]["gpus"].is_array() && report["machine"]["memory_gb"].is_f64(), "{text}");
    let native = &report["backends"][0];
    assert_eq!(native["works"], true, "{text}");
    assert!(native["description"].as_str().unwrap().starts_with("…/tiny.pb.gz, "), "{text}");
    assert!(
        native["throughput"][0]["nps"].as_f64().unwrap() > 0.0 && native["q_error_max"].is_f64(),
        "{text}"
    );
    let home = std::env::var("HOME").unwrap_or_else(|_| "/no home".into());
    for private in [env!("CARGO_MANIFEST_DIR"), folder.path().to_str().unwrap(), &home, "/usr/", "/dev/"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

#[test]
fn a_wrong_description_is_refused() {
    let folder = TempDir::new().unwrap();
    let mut entry = machine("Apple");
    entry["machine"]["gpus"][0]["maker"] = "S3".into();
    let file = described(&folder, &entry);
    let output = zeitnot(&["setup", "--auto", "--dry-run", "--machine", &file]).output().unwrap();
    assert_refused(&output, "no description of a machine: unknown variant `S3`");
    let output = zeitnot(&["setup", "--auto", "--dry-run", "--machine", "no-such.json"]).output().unwrap();
    assert_refused(&output, "no-such.json: cannot be read");
}

/// What is here and complete is not fetched again.
#[test]
fn files_that_are_here_are_told_from_those_to_fetch() {
    let cache = TempDir::new().unwrap();
    let plan = || {
        let mut command = zeitnot(&["setup", "--provider=cuda", "--dry-run", "--json"]);
        json(&command.env("ZEITNOT_CACHE_DIR", cache.path()).env("PATH", "").output().unwrap())
    };
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let before = plan();
    let Some(cudnn) = before.as_array().unwrap().iter().find(|item| item["package"] == "nvidia-cudnn-cu13")
    else {
        return; // There is none for this system.
    };
    if cudnn["is_here"] == true {
        return; // The system has it.
    }
    let name = format!("nvidia-cudnn-cu13-{}-{platform}", cudnn["version"].as_str().unwrap());
    fs::create_dir(cache.path().join(&name)).unwrap();
    for file in ["libcudnn.so.9", "cudnn64_9.dll"] {
        fs::write(cache.path().join(&name).join(file), "").unwrap();
    }
    let items = plan();
    let here = items.as_array().unwrap().iter().filter(|item| item["is_here"] == true);
    assert!(here.into_iter().any(|item| item["package"] == "nvidia-cudnn-cu13"), "{items}");
}

/// A machine whose NVIDIA driver is a stub: a library that the C compiler makes, and a tool that answers queries. Its Python downloads
/// what nobody has published.
#[cfg(target_os = "linux")]
struct Stubs {
    folder: TempDir,
}

#[cfg(target_os = "linux")]
impl Stubs {
    fn new(smi: &str) -> Stubs {
        use std::os::unix::fs::PermissionsExt;

        let folder = TempDir::new().unwrap();
        let library = folder.path().join("libcuda.so.1");
        let source = folder.path().join("driver.c");
        fs::write(&source, "int cuInit(unsigned flags) { return 100; }\n").unwrap();
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let built =
            Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(built.unwrap().success());
        let python =
            "case \"$*\" in *\"pip download\"*) for folder; do :; done; echo junk >\"$folder/x.whl\" ;; esac";
        for (name, script) in [("nvidia-smi", smi), ("python3", python)] {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Stubs { folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = zeitnot(arguments);
        command
            .env_remove("ZEITNOT_OFFLINE")
            .env_remove("ORT_DYLIB_PATH")
            .env("PATH", self.folder.path())
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("ZEITNOT_CACHE_DIR", self.folder.path().join("cache"));
        command
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_recent_driver_gets_all_in_one_list_and_a_wrong_file_is_refused() {
    let stubs = Stubs::new("echo 'NVIDIA H100 80GB HBM3, 580.95.05, 81559 MiB, 9.0'");
    let output = stubs.command(&["setup", "--auto"]).output().unwrap();
    let text = stdout(&output);
    for expected in [
        "GPU        NVIDIA H100 80GB HBM3: driver nvidia 580.95.05, 81559 MiB, compute capability 9.0",
        "chosen     cuda, for NVIDIA H100 80GB HBM3",
        "nvidia-cublas",
        "MB to fetch",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(output.status.code(), Some(2), "{text}");
    let message = stderr(&output);
    assert!(message.contains("1 of 6: ") || message.contains("1 of 5: "), "{message}");
    assert!(message.contains("is not the one expected (SHA-256 "), "{message}");
    // The doctor says the same of what is missing.
    let output = stubs.command(&["doctor", "--backend=cuda", "--json"]).output().unwrap();
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(doctor["recommended"], "cuda");
    let remedy = doctor["backends"][0]["remedy"].as_str().unwrap();
    let is_missing =
        remedy.contains("nvidia-cublas") && remedy.contains("`zeitnot setup --provider cuda` fetches");
    let has_no_gpu = remedy.contains("there is no NVIDIA GPU");
    assert!(is_missing || has_no_gpu, "{remedy}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_old_driver_is_named_with_the_one_that_is_needed() {
    let smi = "case \"$*\" in *compute_cap*) exit 6 ;; esac\necho 'Tesla T4, 470.256.02, 15109 MiB'";
    let stubs = Stubs::new(smi);
    let report = json(&stubs.command(&["setup", "--auto", "--dry-run", "--json"]).output().unwrap());
    assert_eq!(report["provider"], "webgpu");
    assert_eq!(report["machine"]["gpus"][0]["version"], "470.256.02");
    assert!(report["hint"].as_str().unwrap().contains("need driver 580 or newer"), "{report}");
    assert!(report["machine"]["parts"].as_array().unwrap().contains(&"nvidia-driver".into()), "{report}");
}

/// Issue 46: it read as success.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs ONNX Runtime"]
fn webgpu_without_a_gpu_is_no_success() {
    if !set_up_onnx_runtime("webgpu") {
        return;
    }
    let mut command = zeitnot(&["setup", "--provider=webgpu"]);
    let output = command.env("VK_ICD_FILENAMES", Path::new("/no/such/driver.json")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("no GPU was found: webgpu finds no device"), "{}", stdout(&output));
}
