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
        assert_eq!(report["machine"], entry["machine"]);
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
        assert!(!cache.exists() && stderr(&output).is_empty(), "{}", stderr(&output));
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
