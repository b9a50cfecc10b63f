//! Tests the commands of the command line, run as a user runs them.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::common::engine::Engine;
use crate::common::{self, assert_refused, run_with_input, set_up_onnx_runtime, stderr, stdout, zeitnot};

/// Runs the command with `input` on its standard input.
fn run(arguments: &[&str], input: &str) -> Output {
    run_with_input(&mut zeitnot(arguments), input)
}

fn json_lines(output: &Output) -> Vec<Value> {
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn network(name: &str) -> String {
    common::network(name).display().to_string()
}

#[test]
fn eval_reports_every_key_of_the_contract() {
    let output = run(
        &["eval", "--json", "--backend", "random"],
        "startpos\nstartpos moves e2e4\n",
    );
    assert_eq!(output.status.code(), Some(0));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["position"], "startpos moves e2e4");
    let report = &lines[0];
    let sum: f64 = ["w", "d", "l"]
        .map(|key| report[key].as_f64().unwrap())
        .iter()
        .sum();
    assert!((sum - 1.0).abs() < 1e-6);
    let q = report["w"].as_f64().unwrap() - report["l"].as_f64().unwrap();
    assert!((report["q"].as_f64().unwrap() - q).abs() < 1e-6);
    assert!(report["m"].as_f64().unwrap() >= 0.0);
    let policy = report["policy"].as_array().unwrap();
    assert_eq!(policy.len(), 20);
    let sum: f64 = policy.iter().map(|m| m["p"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5);
    let e2e4 = policy.iter().find(|m| m["move"] == "e2e4").unwrap();
    assert_eq!(e2e4["index"], 322);
    assert!(e2e4["logit"].is_number());
}

#[test]
fn eval_uses_a_network_file() {
    let weights = network("maia_like.pb.gz");
    let output = run(&["eval", "--json", "--weights", &weights, "-"], "startpos\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = json_lines(&output);
    assert_eq!(lines[0]["m"], Value::Null, "this network has no Moves Left Head");
    assert_eq!(lines[0]["policy"].as_array().unwrap().len(), 20);
}

/// A regression: the start position was taken for a file that is not there.
#[test]
fn eval_takes_a_position_on_the_command_line() {
    for (words, position) in [
        (&["startpos"][..], "startpos"),
        (&["startpos", "moves", "e2e4"], "startpos moves e2e4"),
        (&["startpos moves e2e4"], "startpos moves e2e4"),
        (
            &["fen", "8/8/8/4k3/8/8/8/KQ6", "w", "-", "-", "0", "1"],
            "fen 8/8/8/4k3/8/8/8/KQ6 w - - 0 1",
        ),
    ] {
        let output = run(&[&["eval", "--json", "--backend=random"], words].concat(), "");
        let reports = json_lines(&output);
        assert_eq!(
            (reports.len(), &reports[0]["position"]),
            (1, &position.into()),
            "{words:?}"
        );
    }
    let output = run(&["eval", "--backend=random", "no such.epd"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("no such.epd: cannot be read: it does not exist"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        run(&["eval", "--backend=random", "a.epd", "b.epd"], "")
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn eval_names_bad_lines_and_does_the_others() {
    let input = "startpos\nrubbish\n\nstartpos moves e2e5\nstartpos moves e2e4";
    let output = run(&["eval", "--json", "--backend", "trivial"], input);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json_lines(&output).len(), 2);
    let message = stderr(&output);
    assert!(
        message.contains("line 2: ") && message.contains("line 4: ") && message.contains("e2e5"),
        "{message}"
    );
    assert!(!message.contains("line 3"), "{message}");
}

#[test]
fn eval_takes_the_positions_of_other_commands() {
    let fen = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -";
    let input = format!("# endgames\n{fen} bm b4f4; id \"a\";\n{fen} 3 41\nstartpos\n");
    let output = run(&["eval", "--json", "--backend", "random"], &input);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let positions: Vec<_> = json_lines(&output)
        .iter()
        .map(|line| line["position"].clone())
        .collect();
    assert_eq!(
        positions,
        [
            format!("fen {fen} 0 1"),
            format!("fen {fen} 3 41"),
            "startpos".into()
        ]
    );
    let output = run(
        &[
            "bench",
            "--json",
            "--backend=random",
            "--nodes=1",
            "--positions=-",
        ],
        &input,
    );
    assert_eq!(
        json_lines(&output)[0]["positions"].as_array().map(Vec::len),
        Some(3),
        "{}",
        stderr(&output)
    );
}

#[test]
fn eval_answers_each_line_at_once() {
    let mut eval = Engine::start(&["eval", "--json", "--backend", "random"]);
    for _ in 0..3 {
        eval.ask(&["startpos"], "{\"position\":\"startpos\"");
    }
    assert!(eval.finish().is_empty());
}

#[test]
fn eval_writes_chess960_castling_as_king_takes_rook() {
    let position = "fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1\n";
    for (flags, castling) in [(&["--chess960"][..], "e1h1"), (&[], "e1g1")] {
        let output = run(
            &[&["eval", "--json", "--backend", "random"], flags].concat(),
            position,
        );
        let policy = json_lines(&output)[0]["policy"].clone();
        let m = policy
            .as_array()
            .unwrap()
            .iter()
            .find(|m| m["index"] == 103)
            .unwrap();
        assert_eq!(m["move"], castling);
    }
}

#[test]
fn perft_counts_and_refuses() {
    let output = run(&["perft", "3", "--json"], "");
    assert_eq!(json_lines(&output)[0]["nodes"], 8902);
    let output = run(&["perft", "2", "8/8/8/8/8/8/8/8 w - - 0 1"], "");
    assert_eq!(
        (output.status.code(), stderr(&output).lines().count()),
        (Some(2), 1),
        "{}",
        stderr(&output)
    );
}

#[test]
fn bad_choices_end_in_one_message_and_exit_code_2() {
    let missing = network("missing.pb.gz");
    for (arguments, expected) in [
        (&["eval", "--backend", "abacus"][..], "Valid: auto, "),
        (
            &["eval", "--backend", "random", "--backend-opts", "sed=1"],
            "Valid: seed",
        ),
        (&["eval", "--weights", &missing], "missing.pb.gz"),
        (&["eval", "--backend", "random", "no-such-file"], "no-such-file"),
    ] {
        let output = run(arguments, "startpos\n");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(
            message.lines().count() == 1 && message.contains(expected),
            "{arguments:?}: {message}"
        );
    }
    // Refused where flags are read, with a hint at --help.
    assert_refused(
        &run(&["eval", "--value-head", "x"], "startpos\n"),
        "one of winner, q, st",
    );
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let input = "startpos\n".repeat(5000);
    let mut child = zeitnot(&["eval", "--json", "--backend", "random", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
#[ignore = "needs ONNX Runtime"]
fn setup_says_what_it_found() {
    if !set_up_onnx_runtime("cpu") {
        return;
    }
    let output = run(&["setup", "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = &json_lines(&output)[0];
    assert!(Path::new(report["library"].as_str().unwrap()).is_file());
    assert!(report["version"].as_str().unwrap().starts_with("1."));
    assert!(
        report["providers"]
            .as_array()
            .unwrap()
            .contains(&Value::from("CPUExecutionProvider"))
    );
}

#[test]
fn setup_refuses_a_library_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libonnxruntime.so");
    std::fs::write(&library, "junk").unwrap();
    let output = zeitnot(&["setup", "--json"])
        .env("ORT_DYLIB_PATH", &library)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.lines().count() == 1 && message.contains("ORT_DYLIB_PATH"),
        "{message}"
    );
}

/// In a test without Python and with an empty cache, only a library of the system can be found.
#[test]
fn setup_without_python_tells_the_remedies() {
    let cache = tempfile::tempdir().unwrap();
    let output = zeitnot(&["setup", "--json"])
        .env_remove("ZEITNOT_OFFLINE")
        .env_remove("LD_LIBRARY_PATH")
        .env("ZEITNOT_CACHE_DIR", cache.path())
        .env("PATH", "")
        .output()
        .unwrap();
    if output.status.success() {
        let source = json_lines(&output)[0]["source"].clone();
        assert!(source == "system" || source == "executable", "{source}");
        return;
    }
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    for part in [
        "python3 -m pip install onnxruntime",
        "ORT_DYLIB_PATH",
        "is not installed",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
#[ignore = "needs ONNX Runtime"]
fn accuracy_compares_a_backend_with_onnx_runtime() {
    if !set_up_onnx_runtime("cpu") {
        return;
    }
    let net = network("se_mlh.pb.gz");
    let arguments = [
        "accuracy",
        "--json",
        "--weights",
        &net,
        "--backend",
        "native",
        "--positions",
        "100",
    ];
    let arguments = [&arguments[..], &["--backend-opts", "precision=fp32"]].concat();
    let output = run(&arguments, "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = &json_lines(&output)[0];
    assert_eq!(report["positions"], 100);
    assert!(report["top1_agreement"].as_f64().unwrap() > 0.97, "{report}");
    for (key, limit) in [
        ("policy_kl", 1e-6),
        ("q_error", 1e-4),
        ("d_error", 1e-4),
        ("m_error", 1e-2),
    ] {
        let spread = &report[key];
        assert!(
            spread["mean"].as_f64().unwrap() <= spread["max"].as_f64().unwrap(),
            "{key}: {report}"
        );
        assert!(spread["max"].as_f64().unwrap() < limit, "{key}: {report}");
    }
}

#[test]
fn accuracy_compares_a_backend_with_the_reference() {
    let output = run(
        &[
            "accuracy",
            "--json",
            "--backend",
            "random",
            "--reference",
            "random(seed=1)",
        ],
        "",
    );
    let (report, made_by) = common::with_origins(&output);
    assert_eq!(made_by[0]["facts"][1], json!(["options", "--backend=random"]));
    assert!(
        report["q_error"]["mean"].as_f64().unwrap() > 0.5
            && report["policy_kl"]["mean"].as_f64().unwrap() > 0.1
    );
    // The same positions, on whatever threads.
    let line = [
        "accuracy",
        "--json",
        "--backend",
        "random",
        "--reference",
        "random(seed=1)",
        "--threads=3",
    ];
    assert_eq!(common::with_origins(&run(&line, "")).0, report);
}

/// Issue 18: a match was played by the CPU where a GPU was asked for.
#[test]
fn a_provider_that_is_not_to_be_had_is_an_error_unless_the_cpu_may_evaluate_instead() {
    let net = network("se_mlh.pb.gz");
    // Even where there is a GPU, nothing is fetched in tests.
    let provider = "onnxruntime(provider=cuda)";
    let arguments = ["eval", "--json", "--weights", &net, "--backend", provider];
    let output = run(&arguments, "startpos\n");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(message.contains("cuda"), "{message}");
    assert!(message.contains("--fallback=cpu"), "{message}");
    assert_eq!(json_lines(&output).len(), 0);
    let several = [
        &arguments[..5],
        &["demux", "--backend-opts", "(backend=native),(backend=cuda)"],
    ]
    .concat();
    assert_eq!(
        run(&several, "startpos\n").status.code(),
        Some(2),
        "one of two devices is missing"
    );

    for arguments in [&arguments[..], &several] {
        let output = run(&[arguments, &["--fallback=cpu"]].concat(), "startpos\n");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let message = stderr(&output);
        assert!(message.contains("cuda"), "{message}");
        assert!(
            message.contains("the CPU evaluates instead: ") || message.contains("is left out"),
            "{message}"
        );
        assert_eq!(json_lines(&output).len(), 1);
    }
}

#[test]
fn the_doctor_tries_backends_and_says_what_is_missing() {
    let net = network("se_mlh.pb.gz");
    let output = run(&["doctor", "--json", "--backend=native", "--weights", &net], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = &json_lines(&output)[0];
    assert!(report["machine"]["processors"]["usable"].as_u64().unwrap() >= 1);
    let native = &report["backends"][0];
    assert_eq!(
        (&native["works"], &native["verdict"]),
        (&true.into(), &"works".into()),
        "{native}"
    );
    assert_eq!(native["throughput"].as_array().unwrap().len(), 3, "{native}");
    assert!(native["q_error_max"].as_f64().unwrap() < 0.1, "{native}");
    assert!(
        report["parts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|part| part["name"] == "ONNX Runtime")
    );

    let output = run(&["doctor", "--backend", "cuda", "--weights", &net], "");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("not installed") || text.contains("not for this machine"),
        "{text}"
    );
}

/// Regressions: names of Lc0 were tried, which fetched a library; and trials did not inherit --offline.
#[cfg(unix)]
#[test]
fn the_doctor_fetches_nothing() {
    use std::os::unix::fs::PermissionsExt;

    let (cache, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (python, called) = (programs.path().join("python3"), programs.path().join("called"));
    std::fs::write(
        &python,
        format!("#!/bin/sh\necho \"$@\" >>'{}'\nexit 1\n", called.display()),
    )
    .unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (backend, net, remedy) in [
        ("onnx-cpu", "se_mlh.pb.gz", "`zeitnot setup --provider cpu`"),
        // The reference for a network of this kind is ONNX Runtime.
        ("random", "onnx_se_mlh_f16.pb.gz", "ONNX Runtime"),
    ] {
        let output = zeitnot(&[
            "doctor",
            "--offline",
            "--backend",
            backend,
            "--weights",
            &network(net),
        ])
        .env_remove("ORT_DYLIB_PATH")
        .env_remove("LD_LIBRARY_PATH")
        .env("ZEITNOT_CACHE_DIR", cache.path())
        .env("PATH", programs.path())
        .output()
        .unwrap();
        if output.status.success() {
            continue; // The system has ONNX Runtime.
        }
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(remedy), "{text}");
        let calls = std::fs::read_to_string(&called).unwrap();
        assert!(!calls.contains("-m pip"), "{backend}: {calls}");
    }
}

#[test]
fn backends_of_lc0_are_taken_for_ours_with_a_message() {
    let net = network("se_mlh.pb.gz");
    let arguments = [
        "eval",
        "--weights",
        &net,
        "--backend",
        "eigen",
        "--backend-opts",
        "batch_size=64",
    ];
    let output = run(&arguments, "startpos\n");
    assert_eq!(output.status.code(), Some(0));
    let message = stderr(&output);
    assert!(
        message.contains("Lc0's backend eigen is mapped to auto"),
        "{message}"
    );
    assert!(
        message.contains("without a counterpart in auto are ignored: batch_size=64"),
        "{message}"
    );
}

#[test]
fn solve_tells_what_was_solved_and_since_when() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suite.epd").display().to_string();
    let mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -";
    let suite = format!("# mates\n{mate} bm Rd8+; dm 1; id \"back rank\";\n{mate} am Rd8; id \"wrong\";\n");
    std::fs::write(&file, suite).unwrap();
    let output = run(
        &[
            "solve",
            &file,
            "--backend=random",
            "--nodes=400",
            "--threads=1",
            "--json",
        ],
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let report = &json_lines(&output)[0];
    assert_eq!((&report["positions"], &report["solved"]), (&2.into(), &1.into()));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(
        (rows[0]["id"].as_str(), rows[0]["move"].as_str()),
        (Some("back rank"), Some("Rd8#"))
    );
    assert!(
        rows[0]["since"]["nodes"].as_u64().is_some() && rows[1]["since"].is_null(),
        "{report}"
    );
    let last = report["by_nodes"].as_array().unwrap().last().unwrap();
    assert_eq!(last["solved"], 1, "{report}");
    assert_eq!(run(&["solve", "no-such.epd"], "").status.code(), Some(2));
}

/// A regression: one bad line ended the command before anything was searched.
#[test]
fn solve_names_bad_lines_does_the_others_and_adds_up_points() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suite.epd").display().to_string();
    let mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -";
    let suite = format!(
        "{mate} bm Rd8#1; c0 \"Rd8=10, Kf1=2\";\n{mate} bm Qd8;\n\
         {mate} bm Kf1; c0 \"d1d8=5, g1f1=7\";\nrubbish\n"
    );
    std::fs::write(&file, suite).unwrap();
    let arguments = ["solve", &file, "--backend=random", "--nodes=400", "--threads=1"];
    let output = run(&[&arguments[..], &["--json"]].concat(), "");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("line 2: ") && message.contains("line 4: "),
        "{message}"
    );
    let report = &json_lines(&output)[0];
    assert_eq!(
        (&report["bad_lines"], &report["positions"]),
        (&2.into(), &2.into()),
        "{report}"
    );
    assert_eq!(report["points"], json!({"reached": 15, "most": 17}));
    let output = run(&arguments, "");
    let text = stdout(&output);
    assert!(
        text.contains("points 15 of 17 (88.2 %)\nlines that could not be read: 2\n"),
        "{text}"
    );
}

#[test]
fn solve_finds_the_same_for_many_positions_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suite.epd").display().to_string();
    let openings = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
        "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -",
    ];
    let moves = ["e4", "d4", "c4", "Nf3", "a3", "h4"].map(|mv| (openings[0], mv));
    let problems = moves
        .into_iter()
        .chain([(openings[1], "Rd8"), (openings[1], "Kf1")]);
    std::fs::write(
        &file,
        problems
            .map(|(fen, mv)| format!("{fen} bm {mv};\n"))
            .collect::<String>(),
    )
    .unwrap();
    let rows = |more: [&str; 2]| {
        let options = [
            "solve",
            &file,
            "--backend=random",
            "--nodes=300",
            "--nncache=0",
            "--json",
        ];
        let output = run(&[&options[..], &more].concat(), "");
        assert!(output.status.success(), "{}", stderr(&output));
        let mut rows = json_lines(&output)[0]["rows"].clone();
        rows.as_array_mut().unwrap().iter_mut().for_each(|row| {
            row.as_object_mut()
                .unwrap()
                .retain(|key, _| !["since", "time_ms"].contains(&key.as_str()));
        });
        rows
    };
    let one = rows(["--threads=1", "--concurrency=1"]);
    assert_eq!(one.as_array().unwrap().len(), 8);
    assert_eq!(rows(["--threads=1", "--concurrency=5"]), one);
    assert_eq!(rows(["--threads=2", "--concurrency=8"]), one);
}
