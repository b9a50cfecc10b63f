//! Tests what commands do when they are killed, and where nothing can be written.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{data, stderr, zeitnot};

/// The time after which a match that makes no game counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the command of a match of 40 short games that writes into `folder`.
fn a_match(folder: &Path) -> Command {
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

/// Starts `command` again and again, ends each process in the given way as soon as `path` has one of the lengths, and lets the last one
/// run to its end.
fn run_with_interruptions(
    command: impl Fn() -> Command,
    path: &Path,
    lengths: &[u64],
    end: impl Fn(&mut Child),
) {
    let mut ended = 0;
    for &enough in lengths {
        let mut process = command().spawn().unwrap();
        let began = Instant::now();
        let length = || fs::metadata(path).map_or(0, |file| file.len());
        while length() < enough && process.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(2));
        }
        ended += u32::from(process.try_wait().unwrap().is_none());
        end(&mut process);
        process.wait().unwrap();
    }
    assert!(ended > 0, "no process was interrupted");
    assert!(command().status().unwrap().success());
}

fn kill(process: &mut Child) {
    process.kill().unwrap();
}

#[cfg(unix)]
#[test]
fn a_match_that_a_signal_ended_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, ended] = ["whole", "ended"].map(|name| folder.path().join(name));
    assert!(a_match(&whole).status().unwrap().success());
    let size = fs::metadata(whole.join("games.csv")).unwrap().len();
    for (number, signal) in ["TERM", "INT", "HUP"].into_iter().enumerate() {
        let send = |process: &mut Child| {
            let status = Command::new("kill").args(["-s", signal, &process.id().to_string()]).status();
            assert!(status.unwrap().success());
        };
        let enough = size * (number as u64 + 1) / 5;
        run_with_interruptions(|| a_match(&ended), &ended.join("games.csv"), &[enough], send);
        for name in ["games.pgn", "games.csv", "moves.csv"] {
            let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
            assert!(read(&ended) == read(&whole), "SIG{signal}: {name} differs");
        }
        fs::remove_dir_all(&ended).unwrap();
    }
}

/// Returns the command that measures `games` with searches of so many nodes.
fn a_measurement(games: &Path, nodes: u64, out: &Path) -> Command {
    let mut command = zeitnot(&["movesleft", "--backend=random", "--threads=1", "--sample=3", "--pgn"]);
    command.arg(games).arg(format!("--nodes={nodes}")).arg("--out").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits until a file is there.
fn await_file(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A regression: Ctrl-C only kept further games from being read, and all that were read were measured to the end.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_movesleft_of_one_game_amid_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let [games, out] = ["games.pgn", "out"].map(|name| folder.path().join(name));
    fs::write(&games, "[Event \"x\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 1-0\n")
        .unwrap();
    let mut process = a_measurement(&games, 1 << 40, &out).spawn().unwrap();
    await_file(&out.join("movesleft.csv"));
    interrupt(&mut process);
    let began = Instant::now();
    while process.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(130));
}

#[cfg(unix)]
fn interrupt(process: &mut Child) {
    let status = Command::new("kill").args(["-s", "INT", &process.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_movesleft_that_ctrl_c_ended_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [games, whole, ended] = ["games", "whole", "ended"].map(|name| folder.path().join(name));
    assert!(a_match(&games).status().unwrap().success());
    let measure = |out: &Path| a_measurement(&games.join("games.pgn"), 100, out);
    assert!(measure(&whole).status().unwrap().success());
    let rows = |folder: &Path| folder.join("movesleft.csv");
    let size = fs::metadata(rows(&whole)).unwrap().len();
    let resumed = || {
        let mut command = measure(&ended);
        command.arg("--resume");
        command
    };
    run_with_interruptions(resumed, &rows(&ended), &[1, size / 3], interrupt);
    assert!(fs::read(rows(&ended)).unwrap() == fs::read(rows(&whole)).unwrap(), "the rows differ");
}

#[test]
fn a_killed_movesleft_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [games, whole, killed] = ["games", "whole", "killed"].map(|name| folder.path().join(name));
    assert!(a_match(&games).status().unwrap().success());
    let measure = |out: &Path, resume: bool| {
        let mut command = a_measurement(&games.join("games.pgn"), 100, out);
        command.args(resume.then_some("--resume"));
        command
    };
    assert!(measure(&whole, false).status().unwrap().success());
    let rows = |folder: &Path| folder.join("movesleft.csv");
    // The first process has the file, and what goes to it at once.
    let mut first = measure(&killed, false).spawn().unwrap();
    await_file(&rows(&killed));
    kill(&mut first);
    first.wait().unwrap();
    let size = fs::metadata(rows(&whole)).unwrap().len();
    run_with_interruptions(|| measure(&killed, true), &rows(&killed), &[1, size / 3], kill);
    assert!(fs::read(rows(&killed)).unwrap() == fs::read(rows(&whole)).unwrap(), "the rows differ");
}

#[test]
fn a_killed_teacher_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, killed] = ["whole.zng", "killed.zng"].map(|name| folder.path().join(name));
    let play = |out: &Path| {
        let mut command = zeitnot(&[
            "datagen",
            "play",
            "--teacher",
            env!("CARGO_BIN_EXE_zeitnot"),
            "--games=12",
            "--nodes=8",
        ]);
        command.args(["--teacher-arg=--backend=trivial", "--teacher-arg=--threads=1", "--out"]).arg(out);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    assert!(play(&whole).status().unwrap().success());
    let size = fs::metadata(&whole).unwrap().len();
    run_with_interruptions(|| play(&killed), &killed, &[1, size / 3, size * 2 / 3], kill);
    assert!(fs::read(&killed).unwrap() == fs::read(&whole).unwrap(), "the records differ");
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
