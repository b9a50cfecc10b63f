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
    let setup = |more: &[&str]| {
        let line = [&["setup", "--auto", &machine][..], more].concat();
        gpu.show_to(&mut program(Path::new(&engine), &line))
            .output()
            .unwrap()
    };

    let report = json(&setup(&["--json"]));
    assert_eq!(report["provider"], "webgpu");
    for check in report["check"].as_array().unwrap() {
        assert_eq!(check["works"], true, "{check}");
        // The network of the configuration file is the one that was checked.
        assert!(
            check["description"].as_str().unwrap().contains("tiny.pb.gz on "),
            "{check}"
        );
    }
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

    // A line of the user's stays, and nothing is written beside it.
    let own = "backend=native\n";
    fs::write(path("zeitnot.config"), own).unwrap();
    let output = setup(&["--weights", &network("tiny.pb.gz").display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("line 1, is yours and stays: backend=native"),
        "{}",
        stdout(&output)
    );
    assert_eq!(fs::read_to_string(path("zeitnot.config")).unwrap(), own);
}
