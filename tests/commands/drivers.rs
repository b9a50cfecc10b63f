//! Tests what `setup --auto` and `doctor` say of drivers: described ones of Vulkan, and a stub of NVIDIA's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{json, network, set_up_onnx_runtime, stderr, stdout, zeitnot};

/// Writes the description of a Vulkan driver for the loader and for us.
fn vulkan_driver(folder: &TempDir, name: &str, api: &str) -> PathBuf {
    let path = folder.path().join(name);
    let text = format!(
        r#"{{"file_format_version": "1.0.0", "ICD": {{"library_path": "none.so", "api_version": "{api}"}}}}"#
    );
    fs::write(&path, text).unwrap();
    path
}

/// A regression: the variable counted for the engine, and not for `setup`.
#[test]
fn software_is_a_gpu_for_all_or_for_none() {
    let folder = TempDir::new().unwrap();
    let driver = vulkan_driver(&folder, "lvp_icd.json", "1.4.305");
    let has_software = |value: &str| {
        let mut command = zeitnot(&["setup", "--auto", "--dry-run", "--json"]);
        let command = command
            .env("VK_ICD_FILENAMES", &driver)
            .env_remove("VK_DRIVER_FILES");
        let report = json(
            &command
                .env("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", value)
                .output()
                .unwrap(),
        );
        let gpus = report["machine"]["gpus"].as_array().unwrap();
        let is_software = |gpu: &Value| gpu["maker"] == "software" && gpu["driver"] == "llvmpipe";
        let has_it = gpus.iter().any(is_software);
        assert!(
            !has_it || gpus.len() > 1 || report["provider"] == "webgpu",
            "{report}"
        );
        has_it
    };
    assert_eq!(
        [has_software("1"), has_software("0"), has_software("")],
        [true, false, false]
    );
}

/// A regression: Mesa 22.3, which Debian 12 installs, made WebGPU fail with a C++ exception, and nothing said that it is too old.
#[test]
fn the_doctor_says_that_mesa_is_too_old_for_webgpu() {
    let folder = TempDir::new().unwrap();
    for (name, api, is_new) in [
        ("radeon_icd.json", "1.3.230", false),
        ("radeon_icd.json", "1.4.305", true),
        ("nvidia_icd.json", "1.3.277", true),
    ] {
        let driver = vulkan_driver(&folder, name, api);
        let weights = format!("--weights={}", network("tiny.pb.gz").display());
        let mut command = zeitnot(&["doctor", "--backend=random", "--json", &weights]);
        let command = command
            .env("VK_ICD_FILENAMES", &driver)
            .env_remove("VK_DRIVER_FILES");
        let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let parts = report["parts"].as_array().unwrap();
        let drivers = parts
            .iter()
            .find(|part| part["name"] == "Vulkan drivers")
            .unwrap();
        assert_eq!(drivers["is_here"], is_new, "{drivers}");
        let detail = drivers["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("(Vulkan {api})")), "{detail}");
        assert_eq!(
            detail.contains("WebGPU needs 1.4, which Mesa has from 25 on"),
            !is_new,
            "{detail}"
        );
    }
}

/// A machine whose NVIDIA driver is a stub: a library that the C compiler makes, and a tool that answers queries. Its Python downloads
/// what nobody has published.
struct Stubs {
    folder: TempDir,
}

impl Stubs {
    fn new(smi: &str) -> Stubs {
        use std::os::unix::fs::PermissionsExt;

        let folder = TempDir::new().unwrap();
        let library = folder.path().join("libcuda.so.1");
        let source = folder.path().join("driver.c");
        fs::write(&source, "int cuInit(unsigned flags) { return 100; }\n").unwrap();
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .status();
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
    assert!(
        message.contains("1 of 6: ") || message.contains("1 of 5: "),
        "{message}"
    );
    assert!(message.contains("is not the one expected (SHA-256 "), "{message}");
    // The doctor says the same of what is missing.
    let output = stubs
        .command(&["doctor", "--backend=cuda", "--json"])
        .output()
        .unwrap();
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(doctor["recommended"], "cuda");
    let remedy = doctor["backends"][0]["remedy"].as_str().unwrap();
    let is_missing =
        remedy.contains("nvidia-cublas") && remedy.contains("`zeitnot setup --provider cuda` fetches");
    let has_no_gpu = remedy.contains("there is no NVIDIA GPU");
    assert!(is_missing || has_no_gpu, "{remedy}");
}

#[test]
fn an_old_driver_is_named_with_the_one_that_is_needed() {
    let smi = "case \"$*\" in *compute_cap*) exit 6 ;; esac\necho 'Tesla T4, 470.256.02, 15109 MiB'";
    let stubs = Stubs::new(smi);
    let report = json(
        &stubs
            .command(&["setup", "--auto", "--dry-run", "--json"])
            .output()
            .unwrap(),
    );
    assert_eq!(report["provider"], "webgpu");
    assert_eq!(report["machine"]["gpus"][0]["version"], "470.256.02");
    assert!(
        report["hint"]
            .as_str()
            .unwrap()
            .contains("need driver 580 or newer"),
        "{report}"
    );
    assert!(
        report["machine"]["parts"]
            .as_array()
            .unwrap()
            .contains(&"nvidia-driver".into()),
        "{report}"
    );
}

/// Issue 46: it read as success.
#[test]
#[ignore = "needs ONNX Runtime"]
fn webgpu_without_a_gpu_is_no_success() {
    if !set_up_onnx_runtime("webgpu") {
        return;
    }
    let mut command = zeitnot(&["setup", "--provider=webgpu"]);
    let output = command
        .env("VK_ICD_FILENAMES", Path::new("/no/such/driver.json"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("no GPU was found: webgpu finds no device"),
        "{}",
        stdout(&output)
    );
}
