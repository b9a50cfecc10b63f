//! Tests matches with engines of others that behave badly. Shell scripts play them.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{stderr, zeitnot};

/// Plays two games against the engine that `script` is, with a `limit` of its own; returns the row of each, by column.
fn play(folder: &Path, script: &str, limit: &str) -> Vec<Vec<(String, String)>> {
    let (engine, out) = (folder.join("engine.sh"), folder.join("out"));
    fs::write(&engine, script).unwrap();
    let side = format!("--b=cmd=/bin/sh,args={},{limit}", engine.display());
    let options = ["match", "--backend=random", "--games=2", "--max-plies=2", "--a=nodes=5", &side, "--out"];
    let output = zeitnot(&options).arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(out.join("games.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| columns.iter().cloned().zip(cells).collect()).collect()
}

/// An engine that answers each word as `GO` says, and does not know `quit`.
const ENGINE: &str = r#"
while true; do
  read word rest || exec sleep 1000
  case $word in
    uci) printf 'id name Script\nid author R\351ti\nuciok\n';;
    isready) echo readyok;;
    position) case $rest in *moves\ *) move=e7e5;; *) move=e2e4;; esac;;
    go) GO;;
  esac
done
"#;

/// A regression: the match was played, and then waited for the engine without end.
#[test]
fn an_engine_that_does_not_end_ends_no_match() {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let games = play(folder.path(), &ENGINE.replace("GO", "echo bestmove $move"), "nodes=5");
    assert!(began.elapsed() < Duration::from_secs(300));
    assert_eq!(games.len(), 2);
}

/// A regression: clock and nodes were those before the move that was too late.
#[test]
fn a_late_move_counts_for_clock_and_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let go = "sleep 0.4; echo info nodes 77 score cp 0; echo bestmove $move";
    let games = play(folder.path(), &ENGINE.replace("GO", go), "tc=0.2");
    for game in games {
        let cell = |name: &str| &game.iter().find(|(column, _)| column == name).unwrap().1;
        assert_eq!(cell("termination"), "time-forfeit");
        assert_eq!((cell("b_moves").as_str(), cell("b_nodes").as_str()), ("0", "77"));
        assert!(cell("b_clock_ms").parse::<f64>().unwrap() < 0.0, "{game:?}");
    }
}

#[test]
fn our_own_program_behind_pipes_loses_no_game_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_zeitnot");
    let side = |name: &str| format!("--{name}=name={name},cmd={program},args=--backend=random --threads=1");
    let options = ["match", "--games=2", "--tc=1+0.02", "--max-plies=160", &side("a"), &side("b"), "--out"];
    let output = zeitnot(&options).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = fs::read_to_string(folder.path().join("games.csv")).unwrap();
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert!(!rows.contains("time-forfeit"), "{rows}");
}
