//! Tests what commands do when they are killed, and where nothing can be written.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{assert_refused, data, zeitnot};

/// The time after which a match that makes no game counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the command of a match of 40 short games that writes into `folder`.
pub fn a_match(folder: &Path) -> Command {
    let openings = data("openings.epd");
    let mut command = zeitnot(&[
        "match",
        "--backend=random",
        "--nodes=20",
        "--max-plies=60",
        "--games=40",
    ]);
    command
        .args(["--threads=1", "--concurrency=4", "--seed=5", "--openings"])
        .arg(openings);
    command
        .arg("--out")
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Starts `command` again and again, ends each process in the given way as soon as `path` has one of the lengths, and lets the last one
/// run to its end.
pub fn run_with_interruptions(
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

pub fn kill(process: &mut Child) {
    process.kill().unwrap();
}

#[test]
fn a_match_that_was_ended_in_any_way_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, ended] = ["whole", "ended"].map(|name| folder.path().join(name));
    assert!(a_match(&whole).status().unwrap().success());
    let size = fs::metadata(whole.join("games.csv")).unwrap().len();
    // Without a signal: SIGKILL on Unix, nothing of the process runs any more.
    for signal in [None, Some("TERM"), Some("INT"), Some("HUP")]
        .into_iter()
        .take(if cfg!(unix) { 4 } else { 1 })
    {
        let end = |process: &mut Child| match signal {
            None => kill(process),
            Some(signal) => {
                let status = Command::new("kill")
                    .args(["-s", signal, &process.id().to_string()])
                    .status();
                assert!(status.unwrap().success());
            }
        };
        let lengths = [size / 5, size / 2, 4 * size / 5];
        run_with_interruptions(|| a_match(&ended), &ended.join("games.csv"), &lengths, end);
        for name in ["games.pgn", "games.csv", "moves.csv"] {
            let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
            assert!(
                read(&ended) == read(&whole),
                "{signal:?}: {name} differs from that of a match that was not ended"
            );
        }
        fs::remove_dir_all(&ended).unwrap();
    }
}

/// Returns the command that measures `games` with searches of so many nodes.
pub fn a_measurement(games: &Path, nodes: u64, out: &Path) -> Command {
    let mut command = zeitnot(&[
        "movesleft",
        "--backend=random",
        "--threads=1",
        "--sample=3",
        "--pgn",
    ]);
    command
        .arg(games)
        .arg(format!("--nodes={nodes}"))
        .arg("--out")
        .arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_killed_movesleft_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [games, whole, killed] = ["games", "whole", "killed"].map(|name| folder.path().join(name));
    assert!(a_match(&games).status().unwrap().success());
    let measure = |out: &Path| a_measurement(&games.join("games.pgn"), 100, out);
    assert!(measure(&whole).status().unwrap().success());
    let rows = |folder: &Path| folder.join("movesleft.csv");
    let size = fs::metadata(rows(&whole)).unwrap().len();
    run_with_interruptions(|| measure(&killed), &rows(&killed), &[1, size / 3], kill);
    assert!(
        fs::read(rows(&killed)).unwrap() == fs::read(rows(&whole)).unwrap(),
        "the rows differ"
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_refused(
        &a_match(&file.join("below"))
            .stderr(Stdio::piped())
            .output()
            .unwrap(),
        "below",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["perft", "2"][..], &["perft", "2", "--json"], &["options"]] {
        assert_refused(
            &zeitnot(arguments)
                .stdout(full())
                .stderr(Stdio::piped())
                .output()
                .unwrap(),
            "cannot write the output: No space left",
        );
    }
    // A log that cannot be written is no reason to lose a game.
    let mut engine = crate::common::engine::Engine::start(&["--backend=random", "--logfile=/dev/full"]);
    let lines = engine.search(&["go nodes 10"]);
    let is_told = |line: &String| {
        line.starts_with("info string ERROR: cannot write the log file /dev/full: the disk is full")
    };
    assert_eq!(lines.iter().filter(|line| is_told(line)).count(), 1, "{lines:#?}");
}
