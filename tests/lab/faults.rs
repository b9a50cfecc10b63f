//! Tests what commands do when they are killed, and where nothing can be written.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{data, stderr, zeitnot};

/// The time after which a match that makes no game counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the command of a match of 40 short games that writes into `folder`.
fn a_match(folder: &Path) -> std::process::Command {
    let openings = data("openings.epd");
    let mut command = zeitnot(&["match", "--backend=random", "--nodes=20", "--max-plies=60", "--games=40"]);
    command.args(["--threads=1", "--concurrency=4", "--seed=5", "--openings"]).arg(openings);
    command.arg("--out").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the number of games that a folder has, by the lines of its rows.
fn games(folder: &Path) -> usize {
    fs::read_to_string(folder.join("games.csv")).unwrap_or_default().lines().count().saturating_sub(1)
}

#[test]
fn a_killed_match_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, killed] = ["whole", "killed"].map(|name| folder.path().join(name));
    assert!(a_match(&whole).status().unwrap().success());
    for enough in [2, 9, 23] {
        let mut process = a_match(&killed).spawn().unwrap();
        let began = Instant::now();
        while games(&killed) < enough && process.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(2));
        }
        // SIGKILL on Unix: nothing of the process runs any more.
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(a_match(&killed).status().unwrap().success());
    for name in ["games.pgn", "games.csv", "moves.csv"] {
        let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(read(&killed) == read(&whole), "{name} differs from that of a match that was not killed");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let output = a_match(&file.join("below")).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("below"), "{}", stderr(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["perft", "2"][..], &["perft", "2", "--json"], &["options"]] {
        let output = zeitnot(arguments).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("cannot write the output: No space left"), "{}", stderr(&output));
    }
    // A log that cannot be written is no reason to lose a game.
    let mut engine = crate::common::engine::Engine::start(&["--backend=random", "--logfile=/dev/full"]);
    engine.send("go nodes 10");
    let lines = engine.read_until("bestmove");
    let is_told = |line: &String| {
        line.starts_with("info string ERROR: cannot write the log file /dev/full: No space left")
    };
    assert_eq!(lines.iter().filter(|line| is_told(line)).count(), 1, "{lines:#?}");
}
