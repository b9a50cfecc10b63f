//! Tests `backendbench` and `benchmark`, run as a user runs them, with backends that need no network.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{assert_refused, package_file, run, run_json, stderr, stdout};

/// A device whose batches take 2 ms and 10 µs more with each position.
const DEVICE: &str = "simulated(latency-us=2000,per-position-ns=10000,max-batch=64)";

/// Parses what a comparison printed, whether it found the run good (exit code 0) or not (1).
fn json(output: &Output) -> Value {
    assert!(output.status.code() < Some(2), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn backendbench_keeps_the_keys_of_the_contract() {
    let line = [
        "backendbench",
        "--backend",
        DEVICE,
        "--batches",
        "32,1",
        "--rounds=3",
        "--round-ms=20",
        "--json",
    ];
    let rows = json(&run(&line));
    let sizes: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["batch"].as_u64())
        .collect();
    assert_eq!(sizes, [Some(1), Some(32)]);
    for row in rows.as_array().unwrap() {
        for key in [
            "mean_nps",
            "median_nps",
            "min_nps",
            "max_nps",
            "first_ms",
            "p50_ms",
            "p90_ms",
            "p99_ms",
        ] {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert!(row["p50_ms"].as_f64().unwrap() >= 2.0, "{row}");
    }
}

#[test]
fn backendbench_writes_a_page_and_figures_and_gives_no_advice() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("new").display().to_string();
    let line = [
        "backendbench",
        "--backend",
        DEVICE,
        "--batches=1,8",
        "--rounds=2",
        "--round-ms=5",
        "--out",
        &out,
    ];
    let output = run(&line);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("p99") && !text.to_lowercase().contains("recommend"),
        "{text}"
    );
    let read = |name: &str| fs::read_to_string(Path::new(&out).join(name)).unwrap();
    let page = read("index.html");
    assert!(
        page.contains("Throughput by batch size") && page.contains("Time of a batch"),
        "{page}"
    );
    let report: Value = serde_json::from_str(&read("backendbench.json")).unwrap();
    assert_eq!(report["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn backendbench_refuses_sizes_that_the_backend_does_not_take() {
    assert_refused(
        &run(&["backendbench", "--backend", DEVICE, "--batches=65"]),
        "simulated takes up to 64",
    );
}

#[test]
fn benchmark_counts_apart_and_adds_up() {
    let line = [
        "benchmark",
        "--backend=random",
        "--nodes=500",
        "--num-positions=3",
        "--threads=2",
        "--json",
    ];
    let report = json(&run(&line));
    assert_eq!(report["positions"].as_array().unwrap().len(), 3);
    let count = |key: &str| report[key].as_u64().unwrap();
    assert!(count("nodes") >= 1500);
    // The root's first visit may be counted apart.
    let visits = count("evaluations") + count("cache_hits") + count("terminals");
    assert!(visits.abs_diff(count("nodes")) <= 3, "{report}");
    assert!(report["first_evaluation_ms"].as_f64().unwrap() > 0.0);
    assert!(report["noise"]["controls"].as_u64().unwrap() >= 16);
    assert!(report["machine"]["processors"]["usable"].as_u64().unwrap() > 0);
    assert_eq!(
        report["options"],
        serde_json::json!(["--backend=random", "--threads=2"])
    );
    assert_eq!(report["network"], Value::Null);
}

#[test]
fn benchmark_compares_with_an_earlier_run_and_reports() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let line = [
        "benchmark",
        "--backend=random",
        "--nodes=300",
        "--num-positions=4",
    ];
    let mut old = json(&run(&[&line[..], &["--json"]].concat()));
    for (factor, code) in [(0.01, 1), (100.0, 0)] {
        let mut changed = old.clone();
        for position in changed["positions"].as_array_mut().unwrap() {
            position["time_ms"] = (position["time_ms"].as_f64().unwrap() * factor).into();
        }
        fs::write(path("old.json"), changed.to_string()).unwrap();
        let out = path("out");
        let more = ["--compare", &path("old.json"), "--out", &out, "--json"];
        let output = run(&[&line[..], &more].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let comparison = &json(&output)["comparison"];
        assert_eq!(comparison["is_slower"], code == 1, "{comparison}");
        assert_eq!(comparison["positions"], 4);
        let page = fs::read_to_string(Path::new(&out).join("index.html")).unwrap();
        assert!(
            page.contains("The machine was") && page.contains("Against"),
            "{page}"
        );
    }
    let other = [
        "benchmark",
        "--backend=random",
        "--nodes=200",
        "--num-positions=2",
        "--compare",
        &path("old.json"),
    ];
    let text = String::from_utf8(run(&other).stdout).unwrap();
    assert!(
        text.contains("limit: 200 nodes (old: 300 nodes)") && text.contains("positions: 2 (old: 4)"),
        "{text}"
    );
    old["positions"] = serde_json::json!([]);
    fs::write(path("old.json"), old.to_string()).unwrap();
    assert_refused(
        &run(&[&line[..], &["--compare", &path("old.json")]].concat()),
        "none of the positions",
    );
}

#[test]
fn benchmark_compares_backends_and_one_that_fails_takes_no_other_along() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().display().to_string();
    let line = [
        "benchmark",
        "--num-positions=2",
        "--nodes=200",
        "--thread-counts=1,2",
        "--batches=8",
        "--out",
        &out,
    ];
    let backends = format!("--backends=random,cuda,{DEVICE}");
    let output = run(&[&line[..], &[&backends, "--json"]].concat());
    assert_eq!(
        output.status.code(),
        Some(1),
        "one is missing: {}",
        stderr(&output)
    );
    let report = json(&output);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6, "{report:#}");
    for (index, run) in runs.iter().enumerate() {
        assert_eq!(run["threads"], 1 + index % 2, "{run:#}");
        if index / 2 == 1 {
            assert!(
                run["error"].as_str().unwrap().contains("cuda") && run["report"].is_null(),
                "{run:#}"
            );
            continue;
        }
        let figures = &run["report"];
        assert_eq!(
            (&figures["threads"], &figures["minibatch_size"]),
            (&run["threads"], &8.into()),
            "{run:#}"
        );
        assert_eq!(figures["positions"].as_array().unwrap().len(), 2);
        assert!(
            figures["nps"].as_u64().unwrap() > 0 && figures["ready_s"].as_f64().unwrap() > 0.0,
            "{run:#}"
        );
        assert!(figures["first_batch_ms"].as_f64().unwrap() > 0.0, "{run:#}");
    }
    assert!(
        runs[4]["report"]["device_busy"].as_f64().is_some(),
        "a simulated device is busy"
    );
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains(">random</td>") && page.contains("FAILS"), "{page}");
    assert!(
        page.contains(" nodes per second</b> on ") && page.contains("Backends compared; batch"),
        "{page}"
    );
    assert!(
        page.contains("is the fastest, with") && !page.contains(&out),
        "{page}"
    );
    assert!(page.contains("<polygon") && page.contains(">1: "), "{page}");
    assert_refused(
        &run(&["benchmark", "--backends=random", "--backend=random"]),
        "cannot be used with",
    );
}

#[test]
fn a_benchmark_closes_with_a_card() {
    let output = run(&[
        "benchmark",
        "--backend=random",
        "--nodes=200",
        "--num-positions=2",
        "--threads=1",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let card = text.lines().last().unwrap();
    assert!(card.starts_with("Zeitnot ") && card.contains(" nps ±"), "{card}");
    assert!(card.contains(", no network, random, 1 thread, batch "), "{card}");
    assert!(card.chars().count() <= 120, "{card}");
}

/// A device that takes its time for each batch is faster with large ones, whatever else the machine does.
#[test]
fn clearly_better_settings_are_recommended_and_written() {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("my.config");
    fs::write(&config, "# mine\nnncache=0\n").unwrap();
    let named = format!("--config={}", config.display());
    let slow = "--backend=simulated(latency-us=2000,per-position-ns=0,max-batch=256,clock=virtual)";
    let line = [
        "benchmark",
        slow,
        "--nodes=4000",
        "--num-positions=4",
        "--minibatch-size=1",
        "--json",
    ];
    let asked = ["--batches=64", "--write", &named];
    let report = json(&run(&[&line[..], &asked].concat()));
    let recommended = &report["advice"]["recommended"];
    assert_eq!(
        (&recommended["batch"], &recommended["threads"]),
        (&64.into(), &Value::Null),
        "{report:#}"
    );
    let text = fs::read_to_string(&config).unwrap();
    assert!(
        text.starts_with("# mine\nnncache=0\n") && text.contains("\nminibatch-size=64\n"),
        "{text}"
    );
    assert!(!text.contains("threads"), "{text}");

    // The user's own lines stay, and the answer is no.
    let own = "minibatch-size=1\nnncache=0\n";
    fs::write(&config, own).unwrap();
    let output = run(&[&line[..], &asked].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = json(&output)["advice"]["config"].as_str().unwrap().to_owned();
    assert!(
        said.contains("line 1, is yours and stays: minibatch-size=1"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), own);
    assert_refused(
        &run(&["benchmark", "--backend=random", "--write", "--no-advice"]),
        "cannot be used with",
    );
    assert_refused(
        &run(&["benchmark", "--backend=random", "--write"]),
        "name what is compared",
    );
}

/// A regression: the search prepared no more positions for two devices than for one, and one of them got whole batches.
#[test]
fn two_equal_devices_get_twice_the_positions_and_are_twice_as_fast_in_virtual_time() {
    let speed = |devices: &str| {
        let device = "backend=simulated,clock=virtual,latency-us=2500,per-position-ns=20000";
        let options = format!("--backend-opts={device},{devices}");
        let line = [
            "bench",
            "--backend=multiplexing",
            &options,
            "--movetime=1000",
            "--num-positions=1",
            "--json",
        ];
        let report = json(&run(&line));
        (
            report["nps"].as_f64().unwrap(),
            report["minibatch_size"].as_u64().unwrap(),
        )
    };
    let ((one, batch), (two, batch_of_two)) = (speed("()"), speed("(),()"));
    assert_eq!(batch_of_two, 2 * batch);
    assert!(
        two >= 1.85 * one,
        "{two} nodes a second on two devices, {one} on one"
    );
    let line = [
        "bench",
        "--backend=multiplexing",
        "--backend-opts=backend=simulated,clock=virtual,(),(latency-us=9)",
    ];
    assert_refused(&run(&line), "virtual time works with equal devices only");
}

/// A regression: the report named the folder of the network and began with remarks.
#[test]
fn a_report_begins_with_the_headline_and_names_no_folder() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::copy(package_file("models/tiny/zeitnot-tiny.pb.gz"), path("net.pb.gz")).unwrap();
    let (weights, out) = (format!("--weights={}", path("net.pb.gz")), path("out"));
    let line = [
        "benchmark",
        "--backend=native",
        "--nodes=20",
        "--num-positions=1",
        "--threads=1",
        "--json",
    ];
    let old = run(&[&line[..], &[&weights]].concat());
    fs::write(path("old.json"), &old.stdout).unwrap();
    let compare = format!("--compare={}", path("old.json"));
    let output = run(&[&line[..], &[&weights, "--out", &out, &compare]].concat());
    let nps = json(&output)["nps"].as_u64().unwrap();
    let read = |name: &str| fs::read_to_string(Path::new(&out).join(name)).unwrap();
    let page = read("index.html");
    let begin =
        format!("<h1>Zeitnot benchmark</h1>\n<p class=\"key-figure\"><b>{nps} nodes per second</b> on ");
    assert!(
        page.contains(&begin) && page.contains("by 1 thread, with net.pb.gz, "),
        "{page}"
    );
    let own_folder = folder.path().file_name().unwrap().to_str().unwrap();
    for name in ["index.html", "benchmark.json"] {
        let text = read(name);
        assert!(
            text.contains("net.pb.gz") && !text.contains(own_folder),
            "{name}: {text}"
        );
        // What is missing is told in our words.
        assert!(!text.contains("libloading"), "{name}: {text}");
    }
}

/// What a system does not tell is named; energy is never made up.
#[test]
fn benchmark_tells_what_the_sensors_tell() {
    let line = [
        "benchmark",
        "--backend=random",
        "--nodes=300",
        "--num-positions=2",
    ];
    let report = json(&run(&[&line[..], &["--json"]].concat()));
    let sensors = &report["sensors"];
    assert_eq!(
        sensors["joules"].is_null(),
        sensors["nodes_per_joule"].is_null(),
        "{sensors:#}"
    );
    let output = run(&line);
    let text = stdout(&output);
    assert_eq!(
        sensors["joules"].is_null(),
        text.contains("no GPU that computed tells it"),
        "{text}"
    );
}

#[test]
fn benchmark_needs_an_end() {
    for line in [
        &["benchmark", "--backend=random", "--movetime=-1"][..],
        // A regression: these searched as if nothing had been said.
        &["bench", "--backend=random", "--nodes=-1"],
        &["bench", "--backend=random", "--nodes=-1", "--movetime=0"],
        &["bench", "--backend=random", "--nodes=0"],
    ] {
        assert_refused(&run(line), "need an end");
    }
}

/// A regression: it came out after all searches, and no JSON was written.
#[test]
fn an_earlier_run_of_other_positions_is_refused_before_the_first_search() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("old.json");
    let old = run(&[
        "benchmark",
        "--backend=random",
        "--nodes=5",
        "--fen=8/8/8/8/4k3/8/4P3/4K3 w - - 0 1",
        "--json",
    ]);
    fs::write(&file, &old.stdout).unwrap();
    let compare = format!("--compare={}", file.display());
    let output = run(&[
        "benchmark",
        "--backend=random",
        "--nodes=5",
        "--num-positions=2",
        &compare,
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("holds none of the positions"),
        "{}",
        stderr(&output)
    );
    assert!(
        output.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn bench_takes_lc0s_flags() {
    let fen = "8/8/1p1r1k2/p1pPN1p1/P3KnP1/1P6/8/3R4 b - - 0 1";
    let report = run_json(&[
        "bench",
        "--backend=random",
        "--fen",
        fen,
        "--nodes=50",
        "--movetime=-1",
        "--json",
    ]);
    let positions = report["positions"].as_array().unwrap();
    assert_eq!(
        (positions.len(), positions[0]["position"].as_str()),
        (1, Some(&*format!("fen {fen}")))
    );
    let report = run_json(&[
        "bench",
        "--backend=random",
        "--num-positions=2",
        "--nodes=50",
        "--json",
    ]);
    assert_eq!(report["positions"].as_array().unwrap().len(), 2);
    assert!(
        report["version"]
            .as_str()
            .unwrap()
            .starts_with(env!("CARGO_PKG_VERSION"))
    );
    let line = [
        "backendbench",
        "--backend=random",
        "--batches=2",
        "--rounds=1",
        "--round-ms=1",
        "--fen",
        fen,
    ];
    let report = run_json(&[&line[..], &["--header-only-once", "--nncache=0", "--json"]].concat());
    assert_eq!(report.as_array().unwrap().len(), 1);
}
