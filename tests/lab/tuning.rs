//! Tests `zeitnot tune`, run as a user runs it: files, JSON, and that a run which was killed ends as if nothing had happened.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{assert_refused, data, json, run, stderr, zeitnot};

const PARAMS: &str = "CPuct=1.745|2.5,FpuValue=0.33|0.5|0.7,MinibatchSize=4|8";

/// Returns the command of a run of 16 pairs in `folder`.
fn tune(folder: &Path, more: &[&str]) -> Command {
    let mut command = zeitnot(&[
        "tune",
        "--backend=random",
        "--nncache=10000",
        "--max-plies=60",
        "--params",
        PARAMS,
    ]);
    command.arg("--adjudicate-win=count=1,score=20");
    command
        .args(["--nodes=20", "--games=32", "--seed=7", "--openings"])
        .arg(data("openings.epd"));
    command.args(more).arg("--out").arg(folder);
    command
}

/// Returns the rows of a run.
fn rows(folder: &Path) -> String {
    fs::read_to_string(folder.join("pairs.jsonl")).unwrap_or_default()
}

#[test]
fn a_run_writes_pairs_and_page_and_compares_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(&tune(folder.path(), &["--json", "--threads=2"]).output().unwrap());
    assert_eq!((&report["pairs"], &report["games"]), (&16.into(), &32.into()));
    let effects = report["effects"].as_array().unwrap();
    let compared: Vec<_> = effects
        .iter()
        .map(|effect| [&effect["name"], &effect["base"], &effect["value"]])
        .collect();
    assert_eq!(
        compared,
        [
            ["CPuct", "1.745", "2.5"],
            ["FpuValue", "0.33", "0.5"],
            ["FpuValue", "0.33", "0.7"],
            ["MinibatchSize", "4", "8"]
        ]
    );
    let rows: Vec<Value> = rows(folder.path())
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 16);
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row["pair"], index);
        assert_eq!(row["half_points"].as_array().unwrap().len(), 2);
        assert!(
            (0..3).all(|parameter| row["a"][parameter] != row["b"][parameter]),
            "{row}"
        );
        assert!(row["nodes"].as_u64().unwrap() > 0);
    }
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(
        page.contains("<pre>zeitnot tune --backend=random --nncache=10000 "),
        "{page}"
    );
}

#[test]
fn a_run_does_not_depend_on_how_many_games_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let [alone, together] = ["alone", "together"].map(|name| folder.path().join(name));
    assert!(
        tune(&alone, &["--threads=1", "--concurrency=1"])
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(
        tune(&together, &["--threads=2", "--concurrency=8"])
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(rows(&alone).lines().count(), 16);
    assert_eq!(rows(&alone), rows(&together));
}

#[test]
fn a_run_that_was_killed_ends_as_if_nothing_had_happened() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, killed] = ["whole", "killed"].map(|name| folder.path().join(name));
    let mut process = tune(&killed, &["--threads=1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while rows(&killed).lines().count() < 3 && begun.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let before = rows(&killed);
    assert!(before.lines().count() >= 3, "it has played");
    assert!(tune(&killed, &["--threads=2"]).output().unwrap().status.success());
    assert!(tune(&whole, &["--threads=1"]).output().unwrap().status.success());
    assert!(rows(&whole).starts_with(&before));
    assert_eq!(rows(&whole), rows(&killed));
    assert_refused(
        &tune(&killed, &["--cpuct=2"]).output().unwrap(),
        "holds another run",
    );
}

#[test]
fn faults_name_the_cause_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let fault = |params: &str| {
        let output = run(&[
            "tune",
            "--backend=random",
            "--nodes=10",
            "--params",
            params,
            "--out",
            &out,
        ]);
        assert_eq!(output.status.code(), Some(2), "{params}");
        stderr(&output).to_owned()
    };
    let unknown = fault("Cpuctt=1|2");
    assert_eq!(
        unknown,
        "zeitnot: --params: unknown option \"Cpuctt\". Did you mean CPuct?\n"
    );
    assert!(fault("CPuct=1.7:0.2").contains("write NAME=VALUE|VALUE"));
    assert!(fault("Threads=2|1").contains("which all games of a run share"));
    for needs_clock in ["SmartPruningFactor=1.3|2", "TimeManager.min-timeuse=0.3|0.2"] {
        assert!(fault(needs_clock).contains("has no effect at fixed nodes; give clocks"));
    }
    let output = run(&["tune", "--backend=random", "--params=CPuct=1|2", "--out", &out]);
    assert!(stderr(&output).contains("--nodes or --tc"), "{}", stderr(&output));
}

#[test]
fn options_that_are_switched_off_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let notes = |switch: &[&str]| {
        let args = [
            "tune",
            "--backend=random",
            "--nodes=5",
            "--games=2",
            "--max-plies=2",
            "--out",
            &out,
        ];
        let output = run(&[&args[..], &["--params=CPuctAtRoot=2|3"], switch].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        fs::remove_dir_all(&out).unwrap();
        stderr(&output).to_owned()
    };
    assert!(notes(&[]).contains("CPuctAtRoot has no effect without RootHasOwnCpuctParams=true"));
    assert!(!notes(&["--root-has-own-cpuct-params"]).contains("no effect"));
}

#[test]
fn values_that_come_to_the_same_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let backend = ["--backend=trivial", "--nodestime=1", "--threads=1"];
    let args = ["tune", "--tc=1+0.1", "--games=2", "--max-plies=2", "--out", &out];
    let args = [&args[..], &backend].concat();
    let output = run(&[
        &args[..],
        &["--params=TimeManager=(mle-mlh)|(mle-pieces)|(mle-legacy)"],
    ]
    .concat());
    let told = stderr(&output);
    assert!(output.status.success(), "{told}");
    assert_eq!(
        told.matches("The network has no Moves Left Head").count(),
        1,
        "{told}"
    );
    assert_eq!(told.matches("play alike").count(), 1, "{told}");
    assert!(
        fs::read_to_string(folder.path().join("run.json"))
            .unwrap()
            .contains("play alike")
    );
}

/// Ctrl-C is a signal here.
#[cfg(unix)]
#[test]
fn a_run_that_the_user_stops_reports_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tune(folder.path(), &["--threads=1", "--json", "--games=20000"]);
    let process = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while rows(folder.path()).lines().count() < 2 && begun.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill")
        .args(["-INT", &process.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let output = process.wait_with_output().unwrap();
    assert!(
        stderr(&output).contains("stopped; the same command goes on"),
        "{}",
        stderr(&output)
    );
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let done = report["pairs"].as_u64().unwrap();
    assert!((2..10_000).contains(&done), "{done}");
    assert_eq!(rows(folder.path()).lines().count() as u64, done);
    assert!(folder.path().join("index.html").exists());
}
