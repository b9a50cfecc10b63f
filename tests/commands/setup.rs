//! Tests `setup --auto`, with described machines, and that `setup` and `doctor` say the same.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{assert_refused, data, json, stderr, stdout, zeitnot};

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
    machines()
        .into_iter()
        .find(|entry| entry["case"] == case)
        .unwrap()
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
            zeitnot(&[&line[..], more].concat())
                .env("ZEITNOT_CACHE_DIR", &cache)
                .output()
                .unwrap()
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
            assert!(
                stdout(&text).contains(expected.as_str().unwrap()),
                "{expected}: {}",
                stdout(&text)
            );
        }
        assert_eq!(
            stdout(&text).contains("would check"),
            !entry["provider"].is_null(),
            "{}",
            stdout(&text)
        );
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
        (
            "NVIDIA without its driver, Ubuntu",
            1,
            "Run `sudo ubuntu-drivers install` and restart",
        ),
        ("no GPU", 0, "nothing is needed"),
    ] {
        let file = described(&folder, &machine(case));
        let mut command = zeitnot(&["setup", "--auto", "--machine", &file]);
        let output = command.env("ZEITNOT_CACHE_DIR", &cache).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stdout(&output).contains(expected), "{}", stdout(&output));
        // A regression: a refusal stood behind the word "chosen".
        assert_eq!(
            stdout(&output).contains("\nchosen "),
            case.starts_with("AMD"),
            "{}",
            stdout(&output)
        );
        assert!(
            !cache.exists() && stderr(&output).is_empty(),
            "{}",
            stderr(&output)
        );
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
        let output = command
            .env_remove("ZEITNOT_OFFLINE")
            .env("ZEITNOT_CACHE_DIR", cache.path())
            .output()
            .unwrap();
        assert_refused(
            &output,
            &format!("{other} is for {system}, and this is {}", std::env::consts::OS),
        );
        assert!(
            stdout(&output).is_empty() && !stderr(&output).contains("pip"),
            "{}",
            stderr(&output)
        );
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
    assert!(
        output.status.success() && stderr(&output).contains("please send it in"),
        "{}",
        stderr(&output)
    );
    let text = fs::read_to_string(&file).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    for key in ["version", "machine", "parts", "backends"] {
        assert!(!report[key].is_null(), "{key}: {text}");
    }
    assert!(
        report["machine"]["gpus"].is_array() && report["machine"]["memory_gb"].is_f64(),
        "{text}"
    );
    let native = &report["backends"][0];
    assert_eq!(native["works"], true, "{text}");
    assert!(
        native["description"]
            .as_str()
            .unwrap()
            .starts_with("…/tiny.pb.gz, "),
        "{text}"
    );
    assert!(
        native["throughput"][0]["nps"].as_f64().unwrap() > 0.0 && native["q_error_max"].is_f64(),
        "{text}"
    );
    let home = std::env::var("HOME").unwrap_or_else(|_| "/no home".into());
    for private in [
        env!("CARGO_MANIFEST_DIR"),
        folder.path().to_str().unwrap(),
        &home,
        "/usr/",
        "/dev/",
    ] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

#[test]
fn a_wrong_description_is_refused() {
    let folder = TempDir::new().unwrap();
    let mut entry = machine("Apple");
    entry["machine"]["gpus"][0]["maker"] = "S3".into();
    let file = described(&folder, &entry);
    let output = zeitnot(&["setup", "--auto", "--dry-run", "--machine", &file])
        .output()
        .unwrap();
    assert_refused(&output, "no description of a machine: unknown variant `S3`");
    let output = zeitnot(&["setup", "--auto", "--dry-run", "--machine", "no-such.json"])
        .output()
        .unwrap();
    assert_refused(&output, "no-such.json: cannot be read");
}

/// What is here and complete is not fetched again.
#[test]
fn files_that_are_here_are_told_from_those_to_fetch() {
    let cache = TempDir::new().unwrap();
    let plan = || {
        let mut command = zeitnot(&["setup", "--provider=cuda", "--dry-run", "--json"]);
        json(
            &command
                .env("ZEITNOT_CACHE_DIR", cache.path())
                .env("PATH", "")
                .output()
                .unwrap(),
        )
    };
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let before = plan();
    let Some(cudnn) = before
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["package"] == "nvidia-cudnn-cu13")
    else {
        return; // There is none for this system.
    };
    if cudnn["is_here"] == true {
        return; // The system has it.
    }
    let name = format!(
        "nvidia-cudnn-cu13-{}-{platform}",
        cudnn["version"].as_str().unwrap()
    );
    fs::create_dir(cache.path().join(&name)).unwrap();
    for file in ["libcudnn.so.9", "cudnn64_9.dll"] {
        fs::write(cache.path().join(&name).join(file), "").unwrap();
    }
    let items = plan();
    let here = items
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["is_here"] == true);
    assert!(
        here.into_iter()
            .any(|item| item["package"] == "nvidia-cudnn-cu13"),
        "{items}"
    );
}
