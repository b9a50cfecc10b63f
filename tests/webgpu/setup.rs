//! Goes the whole way of `setup --auto` on the software GPU: a described machine, the check, the measurement, the configuration file.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{data, json, network, program, run_with_input, stderr, stdout};
use crate::software_gpu::SoftwareGpu;

#[test]
#[ignore = "needs the software GPU of Mesa's Vulkan drivers"]
fn a_gpu_is_checked_measured_and_written_to_the_configuration_file() {
    let Some(gpu) = SoftwareGpu::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let engine = path("zeitnot");
    fs::copy(env!("CARGO_BIN_EXE_zeitnot"), &engine).unwrap();
    let machines: Value = serde_json::from_str(&fs::read_to_string(data("machines.json")).unwrap()).unwrap();
    let intel = machines
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["case"] == "Intel, Linux")
        .unwrap();
    fs::write(path("machine.json"), intel["machine"].to_string()).unwrap();
    fs::write(
        path("zeitnot.config"),
        format!("# mine\nweights={}\n", network("tiny.pb.gz").display()),
    )
    .unwrap();
    let machine = format!("--machine={}", path("machine.json"));
    let mut setup = program(Path::new(&engine), &["setup", "--auto", &machine, "--json"]);
    let report = json(&gpu.show_to(&mut setup).output().unwrap());
    assert_eq!(report["provider"], "webgpu");
    let checks = report["check"].as_array().unwrap();
    assert_eq!(checks.len(), 2, "{report:#}");
    for (check, precision) in checks.iter().zip(["fp16", "fp32"]) {
        assert_eq!(check["works"], true, "{check}");
        // The network of the configuration file is the one that was checked.
        let description = check["description"].as_str().unwrap();
        assert!(
            description.contains("tiny.pb.gz on ") && description.contains(precision),
            "{check}"
        );
    }
    assert!(checks[1]["q_error_max"].as_f64().unwrap() < 1e-4, "{report:#}");
    let measured = &report["benchmark"];
    assert!(
        measured["runs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|run| run["report"]["nps"].is_u64()),
        "{measured}"
    );
    let backend = report["backend"].as_str().unwrap();
    // Software is no match for the native backend, but it is the figures that decide.
    let recommended = measured["advice"]["recommended"]["backend"].as_str();
    assert_eq!(backend, recommended.unwrap_or("native"), "{measured}");
    let config = fs::read_to_string(path("zeitnot.config")).unwrap();
    assert!(
        config.starts_with("# mine\nweights=") && config.contains(&format!("\nbackend={backend}\n")),
        "{config}"
    );

    let mut played = program(Path::new(&engine), &[] as &[&str]);
    let played = run_with_input(gpu.show_to(&mut played), "isready\nquit\n");
    let said = format!("{}{}", stdout(&played), stderr(&played));
    assert!(
        said.contains("options from the configuration file") && said.contains("readyok"),
        "{said}"
    );
}
