//! Tests that what the engine cannot do is noticed by whoever asked: no move is made up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;

use crate::common::engine::{Engine, last_info, number};
use crate::common::{network, stdout, zeitnot};

/// The time in which a wrong `bestmove` would have come.
const WAIT: Duration = Duration::from_millis(300);

/// Returns the beginning of the line that says what could not be done.
const ERROR: &str = "info string ERROR: ";

fn choose(file: &Path) -> String {
    format!("setoption name WeightsFile value {}", file.display())
}

/// Writes files that are no network: a text, the first half of a network, one that is not there.
fn bad_files(folder: &TempDir) -> [PathBuf; 3] {
    let [text, half, missing] =
        ["notes.pb.gz", "half.pb.gz", "missing.pb.gz"].map(|name| folder.path().join(name));
    fs::write(&text, "1. e4 e5").unwrap();
    let whole = fs::read(network("maia_like.pb.gz")).unwrap();
    fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    [text, half, missing]
}

/// A regression: an engine whose network could not be read played whole games without one, and a match host saw results.
#[test]
fn without_a_network_no_move_is_played() {
    let folder = TempDir::new().unwrap();
    for file in bad_files(&folder) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut engine = Engine::start(&["--backend=native"]);
        engine.send(&choose(&file));
        engine.send("isready");
        let lines = engine.read_until("readyok");
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with(ERROR) && line.contains(name)),
            "{lines:#?}"
        );
        engine.send("position startpos moves e2e4");
        for go in [
            "go wtime 1000 btime 1000",
            "go ponder wtime 1000 btime 1000",
            "go infinite",
        ] {
            assert!(engine.ask(&[go], ERROR).contains(name));
            if go != "go wtime 1000 btime 1000" {
                engine.assert_no_best_move(WAIT);
                engine.send("stop");
            }
            answers_without_a_move(&mut engine);
        }
        // With a network all is well.
        engine.send("setoption name Backend value random");
        assert_eq!(engine.best_move(&["isready", "go nodes 10"]).len(), 4);
    }
}

/// Returns score and principal variation of a small search from the start position.
fn opinion(engine: &mut Engine) -> String {
    let lines = game(engine);
    let words: Vec<_> = last_info(&lines).split(' ').collect();
    let after = |key| {
        words
            .iter()
            .skip_while(|word| **word != key)
            .copied()
            .collect::<Vec<_>>()
    };
    format!("{} {}", after("score")[..3].join(" "), after("pv").join(" "))
}

/// Begins a game and returns what the first search says.
fn game(engine: &mut Engine) -> Vec<String> {
    engine.search(&["ucinewgame", "position startpos", "go nodes 10"])
}

#[test]
fn with_an_earlier_network_the_search_goes_on_and_says_so() {
    let folder = TempDir::new().unwrap();
    for file in bad_files(&folder) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut engine = Engine::start(&["--backend=native", "--threads=1"]);
        engine.ask(&[&choose(&network("maia_like.pb.gz")), "isready"], "readyok");
        let before = opinion(&mut engine);
        engine.send(&choose(&file));
        engine.send("isready");
        let says_so = |line: &String| {
            line.starts_with(ERROR) && line.contains(name) && line.contains("/maia_like.pb.gz, ")
        };
        let lines = engine.read_until("readyok");
        assert!(lines.iter().any(says_so), "{lines:#?}");
        let lines = game(&mut engine);
        assert!(lines.iter().any(says_so), "at each move: {lines:#?}");
        assert_eq!(opinion(&mut engine), before);
    }
}

/// A file that takes long to be refused would cost its time at each move.
#[test]
fn a_refused_network_is_read_again_only_for_a_new_game() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("late.pb.gz");
    let mut engine = Engine::start(&["--backend=native", "--threads=1"]);
    engine.ask(&[&choose(&network("maia_like.pb.gz")), "isready"], "readyok");
    engine.ask(&[&choose(&file), "isready"], ERROR);
    fs::copy(network("tiny.pb.gz"), &file).unwrap();
    engine.ask(&["isready"], ERROR);
    engine.ask(&["go nodes 10"], ERROR);
    engine.read_until("bestmove");
    let lines = game(&mut engine);
    assert!(lines.iter().any(|line| line.contains("late.pb.gz")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with(ERROR)), "{lines:#?}");
}

/// A regression: a match host whose command line names a file that cannot be used got an engine that plays any legal move. Later the
/// process ended, which GUIs call a crash.
#[test]
fn a_bad_network_on_the_command_line_is_told_and_nothing_is_played() {
    let folder = TempDir::new().unwrap();
    let large = folder.path().join("large.pb.gz");
    fs::File::create(&large).unwrap().set_len(20 << 20).unwrap();
    for file in bad_files(&folder).into_iter().chain([large]) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut engine = Engine::start(&["--backend=native", "--weights", file.to_str().unwrap()]);
        engine.ask(&["uci"], "uciok");
        engine.send("isready");
        let lines = engine.read_until("readyok");
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with(ERROR) && line.contains(name)),
            "{lines:#?}"
        );
        let line = engine.ask(&["go nodes 10"], ERROR);
        assert!(
            line.contains(name) && line.ends_with("Without a network there is no bestmove"),
            "{line}"
        );
        answers_without_a_move(&mut engine);
        let good = choose(&network("tiny.pb.gz"));
        assert_eq!(engine.best_move(&[&good, "go nodes 10"]).len(), 4);
    }
}

/// A regression: an engine whose device had failed played on without evaluations, and lost every game. The first batch may come back,
/// or none.
#[test]
fn an_engine_whose_device_is_lost_makes_its_move_and_ends() {
    for (fail_after, next) in [(1, "ucinewgame"), (0, "go nodes 1000")] {
        let backend = format!("--backend=simulated(fail-after={fail_after})");
        let mut engine = Engine::start(&["--threads=1", &backend]);
        engine.ask(&["isready"], "readyok");
        let lines = engine.search(&["position startpos", "go nodes 1000"]);
        assert!(lines.iter().any(|line| line.starts_with(ERROR)), "{lines:#?}");
        assert_ne!(lines.last().unwrap(), "bestmove (none)");
        engine.send("position startpos moves d2d4");
        assert_eq!(engine.ask(&["isready"], "readyok"), "readyok");
        engine.send(next);
        let (code, lines) = engine.end();
        assert_eq!(code, Some(2), "{lines:#?}");
        let told = lines.iter().filter(|line| line.starts_with(ERROR));
        assert!(
            told.clone().any(|line| line.contains("--fallback=cpu")),
            "{lines:#?}"
        );
        assert!(
            !lines.iter().any(|line| line.starts_with("bestmove")),
            "{lines:#?}"
        );
    }
}

#[test]
fn the_cpu_takes_over_from_a_device_in_the_middle_of_a_move() {
    let network = format!("--weights={}", network("tiny.pb.gz").display());
    let backend = "--backend=simulated(network=native,latency-us=0,per-position-ns=0,fail-after=20)";
    let mut engine = Engine::start(&[backend, "--fallback=cpu", &network]);
    engine.ask(&["isready"], "readyok");
    let lines = engine.search(&["position startpos", "go nodes 500"]);
    let told = lines
        .iter()
        .filter(|line| line.contains("The CPU evaluates instead: "));
    assert_eq!(told.count(), 1, "{lines:#?}");
    assert!(number::<u64>(last_info(&lines), "nodes") >= 300, "{lines:#?}");
    // The next move is searched as suits the CPU, in the same tree.
    let lines = engine.search(&["position startpos moves e2e4", "go nodes 500"]);
    assert!(lines.iter().any(|line| line.contains("native")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with(ERROR)), "{lines:#?}");
}

/// A regression: after a position that was refused, the move of another one was played on the host's board.
#[test]
fn after_a_refused_position_nothing_is_searched() {
    let mut engine = Engine::random();
    for position in [
        "position startpos moves e2e4 e2e4",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position",
        TWO_KINGS,
    ] {
        engine.best_move(&["position startpos", "go nodes 10"]);
        assert!(engine.ask(&[position], "info string").starts_with(ERROR));
        let line = engine.ask(&["go wtime 1000 btime 1000"], "info string");
        assert!(
            line.starts_with("info string ERROR: the last position was rejected: "),
            "{line}"
        );
        answers_without_a_move(&mut engine);
    }
    engine.best_move(&["ucinewgame", "go nodes 10"]);
}

const TWO_KINGS: &str = "position fen 8/8/8/3kK3/8/8/8/8 w - - 0 1";

fn answers_without_a_move(engine: &mut Engine) {
    assert_eq!(
        engine.read_until("bestmove").last().map(String::as_str),
        Some("bestmove (none)")
    );
}

/// A regression: neither `go` after a refused position nor the later `stop` brought a `bestmove`, and hosts waited for ever.
#[test]
fn each_go_after_a_refused_position_gets_one_bestmove() {
    let mut engine = Engine::random();
    for (go, end) in [
        ("go infinite", "stop"),
        ("go ponder wtime 1000 btime 1000", "ponderhit"),
        ("go ponder wtime 1000 btime 1000", "stop"),
    ] {
        engine.ask(
            &[TWO_KINGS, go],
            "info string ERROR: the last position was rejected: ",
        );
        engine.assert_no_best_move(WAIT);
        engine.send(end);
        answers_without_a_move(&mut engine);
        engine.send("stop");
        engine.assert_no_best_move(WAIT);
    }
    // What comes afterwards is as ever.
    engine.best_move(&["position startpos", "go nodes 10"]);
    for go in ["go nodes 5", "go depth 3", "go movetime 10", "go mate 1", "go"] {
        engine.send(TWO_KINGS);
        engine.send(go);
        if go == "go" {
            engine.send("stop");
        }
        answers_without_a_move(&mut engine);
    }
    assert_eq!(engine.finish(), [""; 0], "one bestmove per go");
}

/// Hosts that show or keep stderr, but not `info string`, see errors there.
#[test]
fn errors_are_on_stderr_too() {
    use std::io::{Read, Write};
    let mut process = zeitnot(&["--backend=random"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    std::thread::spawn(move || {
        for _ in 0..3000 {
            writeln!(input, "setoption name Threads value many").unwrap();
        }
        writeln!(input, "go nodes 10").unwrap();
    });
    let mut errors_end = process.stderr.take().unwrap();
    // Far more than what a pipe holds, and nobody reads it meanwhile: the engine must not stand still.
    let output = process.wait_with_output().unwrap();
    let mut errors = String::new();
    errors_end.read_to_string(&mut errors).unwrap();
    assert!(errors.starts_with("zeitnot: ERROR: "), "{errors}");
    assert!(errors.len() < 32 << 10, "{} bytes", errors.len());
    assert!(stdout(&output).lines().last().unwrap().starts_with("bestmove "));
}
