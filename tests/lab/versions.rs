//! Tests that results name the version of the program that made them.

use crate::common::{run, stderr, stdout, zeitnot};

/// A regression: rows and games did not tell which build they came from.
#[test]
fn rows_and_games_name_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let pgn = out("match").join("games.pgn");
    let runs: [(&str, &str, &[&str]); 3] = [
        ("match", "games.csv", &["--nodes=10", "--games=2", "--max-plies=30"]),
        ("timelab", "games.csv", &["--manager=legacy", "--tc=10+0.1", "--min-moves=1"]),
        ("movesleft", "movesleft.csv", &[]),
    ];
    let version = run(&["--version"]);
    let version = stdout(&version).trim().strip_prefix("zeitnot ").unwrap();
    for (command, rows, args) in runs {
        let mut process = zeitnot(&[command, "--backend=random"]);
        if command != "match" {
            process.arg("--pgn").arg(&pgn);
        }
        let output = process.args(args).arg("--out").arg(out(command)).output().unwrap();
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        let rows = std::fs::read_to_string(out(command).join(rows)).unwrap();
        let mut lines = rows.lines();
        assert!(lines.next().unwrap().ends_with(",version"), "{command}");
        assert!(rows.lines().count() > 1 && lines.all(|row| row.ends_with(&format!(",{version}"))), "{rows}");
    }
    let games = std::fs::read_to_string(pgn).unwrap();
    assert!(games.contains(&format!("[Annotator \"Zeitnot {version}\"]\n")), "{games}");
}
