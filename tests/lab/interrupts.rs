//! Tests what commands do when the user presses Ctrl-C, which is a signal on Unix.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{assert_refused, stderr, stdout, zeitnot};
use crate::faults::{PATIENCE, a_match, a_measurement, kill, run_with_interruptions};

/// Returns the number of games that a folder has, by the lines of its rows.
fn games(folder: &Path) -> usize {
    fs::read_to_string(folder.join("games.csv"))
        .unwrap_or_default()
        .lines()
        .count()
        .saturating_sub(1)
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
#[test]
fn ctrl_c_ends_a_movesleft_of_one_game_amid_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let [games, out] = ["games.pgn", "out"].map(|name| folder.path().join(name));
    fs::write(
        &games,
        "[Event \"x\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 1-0\n",
    )
    .unwrap();
    let mut process = a_measurement(&games, 1 << 40, &out)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_file(&out.join("movesleft.csv"));
    interrupt(&process);
    let began = Instant::now();
    while process.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told = stderr(&output);
    assert!(
        told.contains("stopped; the same command goes on:\nzeitnot movesleft "),
        "{told}"
    );
    assert!(!out.join("index.html").exists());
}

#[test]
fn a_movesleft_that_ctrl_c_ended_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [games, whole, ended] = ["games", "whole", "ended"].map(|name| folder.path().join(name));
    assert!(a_match(&games).status().unwrap().success());
    let measure = |out: &Path| a_measurement(&games.join("games.pgn"), 100, out);
    assert!(measure(&whole).status().unwrap().success());
    let rows = |folder: &Path| folder.join("movesleft.csv");
    let size = fs::metadata(rows(&whole)).unwrap().len();
    run_with_interruptions(
        || measure(&ended),
        &rows(&ended),
        &[1, size / 3],
        |process| interrupt(process),
    );
    assert!(
        fs::read(rows(&ended)).unwrap() == fs::read(rows(&whole)).unwrap(),
        "the rows differ"
    );
}

#[test]
fn a_match_that_the_user_stops_tells_its_standings_and_the_command_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = a_match(folder.path());
    // With random moves, so that it goes on when all openings have been played.
    command
        .args(["--temperature=1", "--games=20000", "--b=name=it's B"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let process = command.spawn().unwrap();
    let began = Instant::now();
    while games(folder.path()) < 2 {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(2));
    }
    interrupt(&process);
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let played = games(folder.path());
    assert!((2..20_000).contains(&played), "{played}");
    let text = stdout(&output);
    assert!(
        text.contains(&format!("games             {played}: A +")),
        "{text}"
    );
    let told = stderr(&output);
    assert!(
        told.contains("stopped; the same command goes on:\nzeitnot match --backend=random "),
        "{told}"
    );
    assert!(told.contains(" --games=20000 '--b=name=it'\\''s B'\n"), "{told}");
    // No terminal is here: a line says how it goes.
    assert!(told.contains("zeitnot: 1/20000 games  +"), "{told}");
    assert!(folder.path().join("index.html").exists() && folder.path().join("games.csv").exists());
}

/// A regression: it ended at once, and nothing was kept.
#[test]
fn ctrl_c_ends_a_benchmark_with_what_it_has() {
    for (flags, expected) in [
        (
            &["--backend=random", "--threads=1", "--num-positions=34"][..],
            "these are the positions until then",
        ),
        (
            &["--backends=trivial,random,trivial", "--num-positions=4"],
            "these are the backends until then",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = zeitnot(&["benchmark", "--movetime=200", "--out"]);
        command
            .arg(folder.path())
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut told = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("0/34 positions") && !line.contains("measuring random") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0);
        }
        // The first positions are measured, and the last ones are seconds away.
        if line.contains("0/34 positions") {
            std::thread::sleep(Duration::from_secs(2));
        }
        interrupt(&process);
        let mut rest = String::new();
        told.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(expected), "{rest}");
        assert_eq!(process.wait().unwrap().code(), Some(130));
        assert!(folder.path().join("benchmark.json").exists() && folder.path().join("index.html").exists());
    }
}

/// Sends what Ctrl-C sends.
fn interrupt(process: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &process.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Returns the command of an analysis of 12 short games, some at once, that writes into `folder`.
fn an_analysis(games: &Path, folder: &Path, concurrency: usize) -> Command {
    // What the cache knows of earlier games would change the batches of later ones.
    let mut command = zeitnot(&[
        "analyse",
        "--backend=random",
        "--nodes=1000",
        "--threads=1",
        "--nncache=0",
    ]);
    command.arg(format!("--concurrency={concurrency}"));
    command
        .arg(games)
        .arg("--out")
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Writes 12 games with some moves each, of which the third cannot be played.
fn short_games(path: &Path) {
    let moves = [
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6",
        "1. d4 d5 2. c4 e6 3. Nc3 Nf6",
        "1. c4 e5 2. Nc3 Nf6 3. g3 d5",
    ];
    let game = |number: usize| {
        let moves = if number == 3 { "1. e5" } else { moves[number % 3] };
        format!("[Event \"e\"]\n[White \"W{number}\"]\n[Black \"B\"]\n[Result \"1-0\"]\n\n{moves} 1-0\n\n")
    };
    fs::write(path, (1..=12).map(game).collect::<String>()).unwrap();
}

/// A regression: an analysis kept everything in memory to its end.
#[test]
fn an_analysis_that_was_stopped_or_killed_goes_on_where_it_was() {
    // Of 11 games some are under way when the run ends.
    [1, 4]
        .into_iter()
        .for_each(an_analysis_of_so_many_at_once_goes_on);
}

fn an_analysis_of_so_many_at_once_goes_on(concurrency: usize) {
    let an_analysis = |games: &Path, folder: &Path| an_analysis(games, folder, concurrency);
    let folder = tempfile::tempdir().unwrap();
    let [pgn, whole, parts] = ["in.pgn", "whole", "parts"].map(|name| folder.path().join(name));
    short_games(&pgn);
    let uninterrupted = an_analysis(&pgn, &whole).output().unwrap();
    let journal = |folder: &Path| folder.join("analysis.jsonl");
    let done = |folder: &Path| {
        fs::read_to_string(journal(folder))
            .unwrap_or_default()
            .lines()
            .count()
    };
    let run_until = |enough: usize, end: &dyn Fn(&mut Child)| {
        let mut process = an_analysis(&pgn, &parts).spawn().unwrap();
        let began = Instant::now();
        while done(&parts) < enough {
            assert!(began.elapsed() < PATIENCE && process.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(1));
        }
        end(&mut process);
        process.wait_with_output().unwrap()
    };
    let stopped = run_until(2, &|process| interrupt(process));
    assert_eq!(stopped.status.code(), Some(130));
    assert!(
        stderr(&stopped).contains("stopped; the same command goes on:\nzeitnot analyse "),
        "{stopped:?}"
    );
    let kept = fs::read_to_string(parts.join("games.pgn")).unwrap();
    assert_eq!(
        kept.matches("[Annotator ").count(),
        done(&parts),
        "each game is written when it is done"
    );
    assert!(
        fs::read_to_string(whole.join("games.pgn"))
            .unwrap()
            .starts_with(&kept)
    );
    assert!(
        fs::read_to_string(parts.join("index.html"))
            .unwrap()
            .contains("W1"),
        "the page has what is done"
    );
    run_until(5, &kill);
    let mut with_half_a_line = fs::read(journal(&parts)).unwrap();
    with_half_a_line.extend(b"{\"run\":\"");
    fs::write(journal(&parts), with_half_a_line).unwrap();
    assert_refused(
        &an_analysis(&pgn, &parts).arg("--nodes=1001").output().unwrap(),
        "holds another run",
    );
    let resumed = an_analysis(&pgn, &parts).output().unwrap();
    // Only the path of the page is another one.
    let told = stderr(&resumed).replace(parts.to_str().unwrap(), whole.to_str().unwrap());
    let without_progress = |text: &str| {
        text.lines()
            .filter(|line| !line.contains(" positions"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(stdout(&resumed), stdout(&uninterrupted));
    assert_eq!(without_progress(&told), without_progress(stderr(&uninterrupted)));
    for name in ["games.pgn", "index.html"] {
        let read = |folder: &Path| fs::read_to_string(folder.join(name)).unwrap();
        assert!(
            read(&parts) == read(&whole),
            "{name} differs from that of a run that was not stopped"
        );
    }
    // A regression: the same command wiped what it had done.
    run_until(0, &|process| interrupt(process));
    assert!(fs::read(parts.join("games.pgn")).unwrap() == fs::read(whole.join("games.pgn")).unwrap());
}
