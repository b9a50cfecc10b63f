//! Tests that a run owns its folder: one process, one identity, nothing lost, and that nothing is counted twice.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::installed::Installed;
use crate::common::{assert_refused, json, program, stderr, zeitnot};
use crate::faults::{PATIENCE, a_match, a_measurement, kill};

const GAME: &str = "[Event \"e\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 1-0\n\n";

/// Starts a run that goes on for long, once it has written to `path`.
fn started(command: &mut Command, path: &Path) -> Child {
    let process = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !path.metadata().is_ok_and(|file| file.len() > 0) {
        assert!(began.elapsed() < PATIENCE, "{path:?} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
    process
}

/// The commands that write to a folder: each with a file that it writes, and with more work than a test waits for.
fn long_runs(games: &Path, out: &Path) -> Vec<(Command, &'static str)> {
    let endless = "--nodes=1000000000";
    let mut play = a_match(out);
    play.arg(endless);
    let mut tune = zeitnot(&[
        "tune",
        "--backend=random",
        "--params=CPuct=1.7|4",
        endless,
        "--out",
    ]);
    tune.arg(out);
    let mut analyse = zeitnot(&["analyse", "--backend=random", endless]);
    analyse.arg(games).arg("--out").arg(out);
    let measure = a_measurement(games, 1 << 40, out);
    let mut benchmark = zeitnot(&["benchmark", "--backend=random", "--movetime=5000", "--out"]);
    benchmark.arg(out);
    vec![
        (play, "run.json"),
        (tune, "run.json"),
        (analyse, "run.json"),
        (measure, "run.json"),
        (benchmark, "run.json"),
    ]
}

/// A regression: two matches in one folder lost all games of both.
#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.pgn");
    fs::write(&games, GAME).unwrap();
    for place in 0..long_runs(&games, folder.path()).len() {
        let out = folder.path().join(place.to_string());
        let (mut command, file) = long_runs(&games, &out).swap_remove(place);
        let mut first = started(&mut command, &out.join(file));
        let (mut again, _) = long_runs(&games, &out).swap_remove(place);
        let text = format!("in use by process {}", first.id());
        assert_refused(&again.stderr(Stdio::piped()).output().unwrap(), &text);
        assert_refused(&zeitnot(&["report"]).arg(&out).output().unwrap(), &text);
        assert!(first.try_wait().unwrap().is_none(), "{place}");
        kill(&mut first);
        first.wait().unwrap();
    }
}

/// A regression: an interruption while `run.json` was written let any other run go on with the rows.
#[test]
fn a_folder_whose_identity_is_lost_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.pgn");
    fs::write(&games, GAME).unwrap();
    let tune = |out: &Path| {
        let mut command = zeitnot(&[
            "tune",
            "--backend=random",
            "--params=CPuct=1.7|4",
            "--nodes=5",
            "--games=4",
        ]);
        command.args(["--max-plies=10", "--out"]).arg(out);
        command
    };
    type Make<'a> = &'a dyn Fn(&Path) -> Command;
    let commands: [Make<'_>; 3] = [&a_match, &tune, &|out| a_measurement(&games, 3, out)];
    for (number, make) in commands.into_iter().enumerate() {
        let out = folder.path().join(number.to_string());
        let output = make(&out).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        for (text, reason) in [
            ("", "run.json: holds no identity of a run"),
            ("{\"run\":", "run.json: holds no identity"),
        ] {
            fs::write(out.join("run.json"), text).unwrap();
            assert_refused(&make(&out).stderr(Stdio::piped()).output().unwrap(), reason);
        }
        fs::remove_file(out.join("run.json")).unwrap();
        assert_refused(
            &make(&out).stderr(Stdio::piped()).output().unwrap(),
            "a file that no run has written",
        );
    }
}

/// A regression: a page of somebody else was replaced without a word.
#[test]
fn a_page_of_somebody_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.pgn");
    fs::write(&games, GAME).unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let page = out.join("index.html");
    fs::write(&page, "mine").unwrap();
    let mut commands: Vec<_> = long_runs(&games, &out)
        .into_iter()
        .map(|(command, _)| command)
        .collect();
    let mut timelab = zeitnot(&[
        "timelab",
        "--backend=random",
        "--manager=legacy",
        "--min-moves=1",
        "--pgn",
    ]);
    timelab.arg(&games).arg("--out").arg(&out);
    commands.push(timelab);
    for mut command in commands {
        assert_refused(
            &command.stderr(Stdio::piped()).output().unwrap(),
            "index.html: holds a file that no run has written",
        );
        assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    }
}

/// A regression: a folder that was deleted was noticed after the last game.
#[cfg(unix)]
#[test]
fn a_folder_that_vanishes_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    // With random moves, so that it goes on when all openings have been played.
    let mut command = a_match(&out);
    let process = started(
        command.args(["--temperature=1", "--games=20000"]),
        &out.join("games.jsonl"),
    );
    fs::remove_dir_all(&out).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_refused(&output, "the same command goes on from there");
}

#[test]
fn damage_within_a_journal_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    assert!(a_match(folder.path()).status().unwrap().success());
    let path = folder.path().join("games.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    // A digit of a number becomes another one: JSON as good as before.
    let third = text.lines().take(2).map(|line| line.len() + 1).sum::<usize>();
    let number = third + text[third..].find("\"a_nodes\":").unwrap();
    let digit = number + text[number..].find(',').unwrap() - 1;
    let mut bytes = text.clone().into_bytes();
    assert!(bytes[digit].is_ascii_digit(), "{text}");
    bytes[digit] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let refused = a_match(folder.path()).stderr(Stdio::piped()).output().unwrap();
    assert_refused(&refused, "games.jsonl, line 3: its checksum is another one");
    assert!(fs::read(&path).unwrap() == bytes);
}

fn rows_of(path: &Path) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A regression: rows that were missing were not missed.
#[test]
fn a_report_on_rows_that_are_missing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(a_match(folder.path()).status().unwrap().success());
    let report = || zeitnot(&["report"]).arg(folder.path()).output().unwrap();
    assert!(report().status.success());
    let [games, moves] = ["games.csv", "moves.csv"].map(|name| folder.path().join(name));
    for (path, row) in [(&games, 7), (&games, 40), (&moves, 3), (&moves, usize::MAX)] {
        let whole = rows_of(path);
        let mut rows = whole.clone();
        rows.remove(row.min(whole.len() - 1));
        fs::write(path, rows.join("\n") + "\n").unwrap();
        assert_refused(&report(), "rows of it are missing");
        fs::write(path, whole.join("\n") + "\n").unwrap();
    }
    fs::remove_file(&moves).unwrap();
    assert_refused(&report(), "lacks moves.csv");
}

/// A regression: two games that were played fifty times each made one engine certainly the stronger one.
#[test]
fn a_game_that_was_played_before_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let play = |name: &str, more: &[&str]| {
        let mut command = zeitnot(&[
            "match",
            "--backend=random",
            "--nodes=20",
            "--max-plies=40",
            "--json",
        ]);
        command
            .args(["--b=CPuct=4", "--adjudicate-win=count=1,score=10"])
            .args(more);
        command
            .arg("--out")
            .arg(folder.path().join(name))
            .output()
            .unwrap()
    };
    let alone = play("start", &["--openings=none", "--games=40"]);
    assert!(
        stderr(&alone).contains("40 games, 2 different"),
        "{}",
        stderr(&alone)
    );
    assert_eq!(json(&alone)["matches"][0]["games"], 2);
    // With a book that has one opening twice, nobody knows before.
    let book = folder.path().join("book.epd");
    fs::write(&book, "startpos moves e2e4\n".repeat(20)).unwrap();
    let named = format!("--openings={}", book.display());
    let repeated = play("book", &[&named, "--games=40", "--sprt=elo0=0,elo1=50"]);
    let report = json(&repeated)["matches"][0].clone();
    assert_eq!(
        (&report["games"], &report["different_games"]),
        (&Value::from(40), &Value::from(2))
    );
    assert_eq!(report["pairs"], 1);
    assert_eq!(
        (&report["verdict"], &report["sprt"]["verdict"]),
        (&"undecided".into(), &"undecided".into())
    );
    let page = fs::read_to_string(folder.path().join("book/index.html")).unwrap();
    assert!(page.contains("40 games, 2 different"), "the page says so");
    let report = zeitnot(&["report"])
        .arg(folder.path().join("book"))
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&report.stdout).contains("40, 2 different: A +"),
        "{report:?}"
    );
    let different = json(&play("built-in", &["--games=40"]));
    assert_eq!(different["matches"][0]["different_games"], 40);
    let tune = |openings: &str| {
        let mut command = zeitnot(&[
            "tune",
            "--backend=random",
            "--params=CPuct=1.7|4",
            "--nodes=5",
            "--games=40",
            "--json",
        ]);
        command
            .args(["--max-plies=10", openings, "--out"])
            .arg(folder.path().join(format!("tune{}", openings.len())));
        json(&command.output().unwrap())
    };
    let (few, all) = (tune("--openings=none"), tune("--seed=3"));
    assert_eq!(
        (&few["games"], &few["different_games"]),
        (&40.into(), &4.into()),
        "two ways to give two values"
    );
    assert_eq!(all["different_games"], 40);
}

/// A regression: a predictable folder of the temporary one, in which another user had laid links.
#[cfg(unix)]
#[test]
fn a_measurement_without_a_folder_takes_a_private_one_that_goes() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.pgn");
    fs::write(&games, GAME).unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let measure = |nodes: &str| {
        let mut command = zeitnot(&["movesleft", "--backend=random", "--threads=1", nodes, "--pgn"]);
        command.arg(&games).env("TMPDIR", &temporary);
        command
    };
    let is_empty = || fs::read_dir(&temporary).unwrap().next().is_none();
    let output = measure("--nodes=3").output().unwrap();
    assert!(output.status.success() && is_empty(), "{}", stderr(&output));
    let mut long = measure("--nodes=1099511627776")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while is_empty() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(100));
    let status = Command::new("kill")
        .args(["-INT", &long.id().to_string()])
        .status();
    assert!(status.unwrap().success());
    assert_eq!(long.wait().unwrap().code(), Some(130));
    assert!(is_empty());
}

/// A regression: a full disk emptied the user's configuration.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "strace has to be installed"]
fn what_stood_before_outlives_a_full_disk() {
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("left out: strace is missing");
    }
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.pgn");
    fs::write(&games, GAME.repeat(3)).unwrap();
    let out = |name: &str| folder.path().join(name);
    let installed = Installed::new();
    let notes = "# mine\nthreads=1\n";
    let config = installed.configure(notes);
    let mut tune = zeitnot(&[
        "tune",
        "--backend=random",
        "--params=CPuct=1.7|4",
        "--nodes=5",
        "--games=8",
    ]);
    tune.args(["--max-plies=10", "--out"]).arg(out("tune"));
    let mut analyse = zeitnot(&["analyse", "--backend=random", "--nodes=9", "--threads=1"]);
    analyse.arg(&games).arg("--out").arg(out("analyse"));
    let mut timelab = zeitnot(&[
        "timelab",
        "--backend=random",
        "--manager=legacy",
        "--min-moves=1",
        "--pgn",
    ]);
    timelab.arg(&games).arg("--out").arg(out("timelab"));
    // Larger batches are nearly always the better ones here, so that there is something to write into the configuration.
    let flags = [
        "benchmark",
        "--backend=random",
        "--nodes=5000",
        "--num-positions=3",
        "--threads=1",
    ];
    let mut benchmark = program(&installed.program(), &flags);
    benchmark
        .args(["--minibatch-size=1", "--batches=256", "--write", "--out"])
        .arg(out("benchmark"));
    let commands = [
        ("match", a_match(&out("match"))),
        ("tune", tune),
        ("analyse", analyse),
        ("movesleft", a_measurement(&games, 3, &out("movesleft"))),
        ("timelab", timelab),
        ("benchmark", benchmark),
    ];
    for (name, mut command) in commands {
        let status = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{name}");
        let kept = |folder: &Path| -> Vec<_> {
            let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let files = entries.filter(|path| path.is_file() && !path.ends_with("run.lock"));
            let mut files: Vec<_> = files
                .map(|path| (path.clone(), fs::read(&path).unwrap()))
                .collect();
            files.sort();
            files
        };
        let before = kept(&out(name));
        for first in [1, 2, 4, 8, 16] {
            fs::write(&config, notes).unwrap();
            let mut traced = Command::new("strace");
            let inject = format!("inject=write:error=ENOSPC:when={first}+");
            traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "-e", &inject]);
            traced.arg(command.get_program()).args(command.get_args());
            let _ = traced
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            for (path, old) in &before {
                let new = fs::read(path).unwrap();
                // A page or a measurement may be a new one, but a whole one.
                assert!(
                    new.len() * 2 > old.len(),
                    "{name}, from write {first}: {path:?} had {}, has {}",
                    old.len(),
                    new.len()
                );
            }
            assert!(
                fs::read_to_string(&config).unwrap().starts_with(notes),
                "{name}, from write {first}"
            );
        }
    }
}
