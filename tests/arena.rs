//! `zeitnot match`, run as a user runs it: games that depend on nothing but their seed.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Plays a match into `folder`; returns what it reports and its PGN.
fn play(folder: &Path, args: &[&str]) -> (Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_zeitnot"))
        .args(["match", "--json", "--threads=2", "--nncache=10000", "--openings", &openings(), "--out"])
        .arg(folder)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pgn = std::fs::read_to_string(folder.join("games.pgn")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), pgn)
}

fn openings() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/openings.epd").into()
}

/// Plays the same match one game at a time and eight at a time.
fn play_twice(args: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let play = |name: &str, concurrency: &str| {
        let args: Vec<_> = args.iter().copied().chain(["--concurrency", concurrency]).collect();
        play(&folder.path().join(name), &args)
    };
    let ((alone, pgn_alone), (together, pgn_together)) = (play("1", "1"), play("8", "8"));
    assert_eq!(pgn_alone, pgn_together, "games depend on what runs beside them");
    for key in ["games", "wins", "draws", "losses", "pairs", "nodes", "elo"] {
        assert_eq!(alone[key], together[key], "{key}");
    }
    (together, pgn_together)
}

#[test]
fn games_at_fixed_nodes_do_not_depend_on_how_many_run_at_once() {
    let (report, pgn) = play_twice(&["--backend=random", "--games=10", "--nodes=40", "--b=CPuct=4"]);
    assert_eq!(report["games"], 10);
    assert_eq!(pgn.matches("[Event ").count(), 10);
    let nodes = report["nodes_per_move"][0].as_f64().unwrap();
    assert!((20.0..=40.0).contains(&nodes), "{nodes}");
}

#[test]
fn games_under_nodestime_do_not_depend_on_how_many_run_at_once() {
    let managers = ["--a=TimeManager=smooth(mle-mlh)", "--b=TimeManager=stockfish"];
    let clock = ["--backend=random", "--games=8", "--nodestime=1", "--tc=1+0.02", "--move-overhead=0"];
    let (report, pgn) = play_twice(&[&managers[..], &clock].concat());
    assert_eq!(report["time_losses"], serde_json::json!([0, 0]));
    assert!(pgn.contains("[TimeControl \"1+0.02\"]") && pgn.contains("[%clk 0:00:0"));
    assert!(!pgn.contains("illegal-move"));
}
