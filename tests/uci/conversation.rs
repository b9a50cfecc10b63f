//! Tests conversations with the real engine through its pipes.

use std::time::{Duration, Instant};

use crate::common::engine::{Engine, PATIENCE, last_info, number};
use crate::common::zeitnot;

#[test]
fn introduces_itself() {
    let mut engine = Engine::start(&[]);
    engine.send("uci");
    let lines = engine.read_until("uciok");
    assert!(lines[0].starts_with("id name Zeitnot "));
    for option in [
        "WeightsFile",
        "Threads",
        "CPuct",
        "TimeManager",
        "MoveOverheadMs",
        "UCI_Chess960",
        "Ponder",
    ] {
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with(&format!("option name {option} type "))),
            "{option}"
        );
    }
    engine.send("quit");
    assert_eq!(engine.finish(), [""; 0]);
}

#[test]
fn answers_every_kind_of_go_once() {
    let mut engine = Engine::random();
    for go in [
        "go nodes 500",
        "go movetime 50",
        "go depth 3",
        "go wtime 1000 btime 1000 winc 10 binc 10",
        "go wtime 500 btime 500 movestogo 1",
        "go wtime 0 btime 0",
        "go wtime -100 btime -100",
        "go nodes 1",
        "go searchmoves e2e4 nodes 100",
    ] {
        let best = engine.best_move(&["position startpos", go]);
        assert!(best.len() == 4 && best != "(none)", "{go}: {best}");
        assert_eq!(engine.ask(&["isready"], "readyok"), "readyok");
    }
    assert_eq!(engine.finish(), [""; 0], "one bestmove per go");
}

/// A regression: the answer came before `stop`, and no score at all.
#[test]
fn without_a_legal_move_infinite_waits_too() {
    let mut engine = Engine::random();
    engine.send("position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1");
    engine.send("go infinite");
    engine.assert_no_best_move(Duration::from_millis(200));
    engine.send("stop");
    assert_eq!(
        engine.read_until("bestmove").last().map(String::as_str),
        Some("bestmove (none)")
    );
    let lines = engine.search(&["position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "go nodes 5"]);
    assert!(
        lines.iter().any(|line| line == "info depth 0 score cp 0"),
        "{lines:#?}"
    );
}

/// A regression: visits to draws made no depth, and the search went on for ever.
#[test]
fn a_depth_that_cannot_be_reached_ends_the_search() {
    let mut engine = Engine::random();
    for (position, go) in [
        ("8/8/8/8/3k4/8/3p4/3K4 w - - 0 1", "go depth 40"),
        ("6k1/1Q5r/8/8/8/8/8/K7 b - - 121 115", "go depth 3"),
        ("8/8/4k3/8/8/3K4/8/8 w - - 0 1", "go mate 3"),
    ] {
        let best = engine.best_move(&[&format!("position fen {position}"), go]);
        assert_ne!(best, "(none)", "{position}");
    }
}

/// A regression: a device slower than the budget got a move without any evaluation, with most of the clock left.
#[test]
fn a_slow_device_is_waited_for() {
    let mut engine = Engine::start(&["--threads=1", "--backend=simulated(latency-us=300000)"]);
    let lines = engine.search(&["position startpos moves e2e4", "go wtime 10000 btime 10000"]);
    assert!(lines.iter().any(|line| line.contains(" nodes 1 ")), "{lines:#?}");
}

/// A regression: a search that was ended before its first evaluation was back played the first legal move.
#[test]
fn no_move_is_played_blindly() {
    const MATE_IN_ONE: &str = "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
    let slow = || Engine::start(&["--threads=1", "--backend=simulated(latency-us=400000)"]);
    for go in ["go movetime 300", "go wtime 1 btime 1"] {
        let mut engine = slow();
        engine.ask(&["isready"], "readyok");
        let lines = engine.search(&[MATE_IN_ONE, go]);
        assert!(
            lines.iter().any(|line| line.contains(" score mate 1 ")),
            "{go}: {lines:#?}"
        );
        assert!(
            lines.iter().any(|line| line.starts_with("bestmove d1d8")),
            "{go}: {lines:#?}"
        );
    }
    // `stop` and `quit` wait for the evaluation.
    for end in ["stop", "quit"] {
        let mut engine = slow();
        engine.ask(&["isready"], "readyok");
        let lines = engine.search(&["position startpos", "go infinite", end]);
        assert!(
            lines.iter().any(|line| line.contains(" nodes 1 ")),
            "{end}: {lines:#?}"
        );
    }
}

/// A regression: `stop` and `quit` were not heard while a batch was under way after a limit had been reached.
#[test]
fn a_device_that_hangs_does_not_hold_up_stop() {
    let mut engine = Engine::start(&["--threads=2", "--backend=simulated(latency-us=10000000)"]);
    engine.ask(&["isready"], "readyok");
    let began = Instant::now();
    for go in ["go infinite", "go nodes 0", "go depth 0"] {
        engine.send("position fen 6k1/5ppp/8/q7/8/8/5PPP/R5K1 w - - 0 1");
        engine.send(go);
        assert_eq!(engine.best_move(&["stop"]), "a1a5");
    }
    engine.send("go nodes 0");
    engine.send("quit");
    assert!(engine.process.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

/// A regression: an only move was answered before the root was evaluated, with a note that no evaluation had come in time,
/// without a score and without a move to ponder on.
#[test]
fn an_only_move_comes_with_a_score_and_a_reply() {
    for args in [
        &["--backend=random"][..],
        &["--threads=1", "--backend=simulated(latency-us=100000)"],
    ] {
        let mut engine = Engine::start(args);
        engine.send("setoption name Ponder value true");
        engine.ask(&["isready"], "readyok");
        let lines = engine.search(&[
            "position fen 6k1/8/8/8/8/8/6P1/r6K w - - 0 1",
            "go wtime 60000 btime 60000",
        ]);
        assert!(
            lines
                .iter()
                .any(|line| line.contains(" score ") && line.contains(" pv h1h2")),
            "{lines:#?}"
        );
        assert!(
            !lines
                .iter()
                .any(|line| line.starts_with("info string no evaluation")),
            "{lines:#?}"
        );
        assert!(
            lines[lines.len() - 1].starts_with("bestmove h1h2 ponder "),
            "{lines:#?}"
        );
    }
    // A device that is too slow for the clock is not waited for: there is nothing to choose.
    let mut engine = Engine::start(&["--threads=1", "--backend=simulated(latency-us=5000000)"]);
    engine.ask(&["isready"], "readyok");
    let lines = engine.search(&[
        "position fen 6k1/8/8/8/8/8/6P1/r6K w - - 0 1",
        "go wtime 60000 btime 60000",
    ]);
    let [info, answer] = &lines[..] else {
        panic!("{lines:#?}")
    };
    assert!(
        info.contains(" score ") && info.contains(" pv h1h2"),
        "{lines:#?}"
    );
    assert!(answer.starts_with("bestmove h1h2 ponder "), "{lines:#?}");
}

/// A regression: a search without an end of its own went on after the GUI had gone, and while its input stayed open so did the process.
#[test]
fn the_process_ends_when_nobody_listens() {
    use std::io::{BufRead, BufReader, Write};
    for (commands, keeps_input) in [
        ("position startpos\ngo nodes 100000000000\n", false),
        ("position startpos\ngo infinite\n", true),
        ("", true),
    ] {
        // On Windows only writing tells that nobody reads.
        if keeps_input && commands.is_empty() && !cfg!(target_os = "linux") {
            continue;
        }
        let mut child = zeitnot(&["--backend=random", "--threads=1"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the engine starts");
        let mut input = child.stdin.take().expect("piped");
        input
            .write_all(format!("isready\n{commands}").as_bytes())
            .expect("it reads");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        while {
            let mut line = String::new();
            output.read_line(&mut line).expect("text");
            !line.starts_with("readyok")
        } {}
        drop(output);
        let input = Some(input).filter(|_| keeps_input);
        let began = Instant::now();
        while child.try_wait().expect("it is ours").is_none() {
            assert!(began.elapsed() < PATIENCE, "still there: {commands}");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(input);
    }
}

/// A regression: the engine waited for ever for a reader of its output, and noticed neither `quit` nor the end of its input.
#[test]
fn the_process_ends_although_nobody_reads_what_it_says() {
    use std::io::Write;
    use std::process::Stdio;
    // What `uci` says a hundred times is more than any pipe holds.
    let talk = "uci\n".repeat(100);
    for (begin, end) in [
        ("", "quit\n"),
        ("", ""),
        ("position startpos\ngo infinite\n", "quit\n"),
    ] {
        let mut child = zeitnot(&["--backend=random", "--threads=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the engine starts");
        let mut input = child.stdin.take().expect("piped");
        input
            .write_all(format!("{begin}{talk}{end}").as_bytes())
            .expect("it reads");
        let kept_open = Some(input).filter(|_| !end.is_empty());
        let began = Instant::now();
        while child.try_wait().expect("it is ours").is_none() {
            if began.elapsed() > PATIENCE {
                child.kill().expect("it is ours");
                panic!("{begin:?}, {end:?}: it does not end");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(kept_open);
    }
}

/// A regression: one allowed move counted as one legal move, and nothing was searched.
#[test]
fn searching_one_of_many_moves_takes_its_nodes() {
    let mut engine = Engine::random();
    let lines = engine.search(&["position startpos", "go nodes 300 searchmoves e2e4"]);
    let last = lines
        .iter()
        .rev()
        .find(|line| line.contains(" nodes "))
        .expect("an info line");
    let nodes = last
        .split_once(" nodes ")
        .and_then(|(_, rest)| rest.split(' ').next());
    let nodes: u32 = nodes.and_then(|text| text.parse().ok()).unwrap();
    assert!(nodes >= 300, "{last}");
}

#[test]
fn searches_for_the_side_to_move_and_finds_mates() {
    let mut engine = Engine::random();
    let mate = "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
    assert_eq!(engine.best_move(&[mate, "go mate 1"]), "d1d8");
    let lines = engine.search(&["go nodes 1000"]);
    assert!(lines[lines.len() - 2].contains(" score mate 1 "), "{lines:#?}");
}

#[test]
fn infinite_and_ponder_end_only_when_told() {
    let mut engine = Engine::random();
    let wait = Duration::from_millis(300);
    engine.send("position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1");
    engine.send("go infinite");
    engine.assert_no_best_move(wait);
    assert_eq!(engine.best_move(&["stop"]), "d1d8");
    engine.send("position startpos moves e2e4");
    engine.send("go ponder wtime 1000 btime 1000");
    engine.assert_no_best_move(wait);
    engine.best_move(&["ponderhit"]);
    engine.send("go ponder nodes 10");
    engine.assert_no_best_move(wait);
    engine.best_move(&["stop"]);
    // A hit on a search whose limit was reached long ago answers at once.
    engine.send("go ponder nodes 10");
    engine.assert_no_best_move(wait);
    engine.best_move(&["ponderhit"]);
}

#[test]
fn stop_without_a_search_and_a_second_go_do_no_harm() {
    let mut engine = Engine::random();
    engine.send("stop");
    engine.send("ponderhit");
    engine.send("go infinite");
    engine.best_move(&["go nodes 100"]);
    assert_eq!(engine.ask(&["isready"], "readyok"), "readyok");
}

/// A regression: a host that sends a new position without `stop`, which Lc0 takes, got a move for the old one.
#[test]
fn a_search_that_another_one_replaces_has_no_answer() {
    const ONE_MOVE: &str = "position fen 6k1/8/8/8/8/8/6P1/r6K w - - 0 1";
    let mut engine = Engine::random();
    let is_answer = |line: &&String| line.starts_with("bestmove");
    for first in [
        "go infinite",
        "go ponder wtime 60000 btime 60000",
        "go wtime 600000 btime 600000",
    ] {
        for second in ["go nodes 100", "go movetime 100"] {
            ["ucinewgame", "position startpos moves e2e4 e7e5", first]
                .iter()
                .for_each(|line| engine.send(line));
            engine.read_until("info depth");
            assert_eq!(engine.best_move(&[ONE_MOVE, second]), "h1h2", "{first}, {second}");
            engine.send("isready");
            let rest = engine.read_until("readyok");
            assert_eq!(rest.iter().find(is_answer), None, "{first}, {second}");
        }
    }
    ["position startpos", "go infinite", "ucinewgame", "isready"]
        .iter()
        .for_each(|line| engine.send(line));
    assert_eq!(engine.read_until("readyok").iter().find(is_answer), None);
    // One that was told to stop answers, as late as that may be.
    ["position startpos", "go infinite", "stop", ONE_MOVE, "go nodes 9"]
        .iter()
        .for_each(|line| engine.send(line));
    engine.read_until("bestmove");
    assert!(
        engine
            .read_until("bestmove h1h2")
            .iter()
            .filter(is_answer)
            .count()
            == 1
    );
}

/// A regression: the move to ponder on was in no line, or followed the end of the game.
#[test]
fn the_move_to_ponder_on_is_in_the_last_line() {
    let mut engine = Engine::repeatable();
    engine.send("setoption name Ponder value true");
    for (position, go, is_over) in [
        ("6k1/8/8/8/8/8/6P1/r6K w - - 0 1", "go nodes 1", false),
        ("8/8/4k3/8/8/3K4/4N3/8 w - - 0 1", "go nodes 1", true),
        (
            "4k3/pppp4/8/8/3N4/8/PPPPK3/8 w - - 99 120 moves e2e3",
            "go nodes 2 searchmoves e8e7",
            true,
        ),
    ] {
        let lines = engine.search(&["ucinewgame", &format!("position fen {position}"), go]);
        let words: Vec<_> = lines[lines.len() - 1]
            .split(' ')
            .skip(1)
            .filter(|word| *word != "ponder")
            .collect();
        assert_eq!(words.len(), if is_over { 1 } else { 2 }, "{lines:#?}");
        let (_, line) = last_info(&lines).split_once(" pv ").unwrap();
        assert!(line.starts_with(&words.join(" ")), "{lines:#?}");
    }
}

/// A regression: a rule for playing ended searches for a value, where one move was clear.
#[test]
fn an_analysis_of_a_clear_move_takes_its_nodes() {
    let mut engine = Engine::repeatable();
    engine.set(&[("SmartPruningFactor", "1.33"), ("UCI_AnalyseMode", "true")]);
    for fen in [
        "r3kb2/2R5/3P1p2/1B1K2p1/P7/4PP1N/8/q7 b - - 4 33",
        "1rR1k1n1/3pppb1/pp6/6p1/4P3/1P1P4/3N2B1/3K4 b - - 0 20",
        "1r1qkbnr/p1ppp1p1/n4p1p/P6B/N3b3/3P2PP/5K2/R5N1 b k - 4 18",
    ] {
        let position = format!("position fen {fen}");
        let lines = engine.search(&["ucinewgame", &position, "go nodes 300"]);
        assert_eq!(number::<u64>(last_info(&lines), "nodes"), 300, "{fen}");
        let lines = engine.search(&["ucinewgame", &position, "go wtime 900000 btime 900000"]);
        assert!(
            number::<u64>(last_info(&lines), "nodes") < 100,
            "under a clock: {lines:#?}"
        );
    }
    // What is proven needs no more nodes.
    let mated = "position fen k7/8/1K6/8/8/8/8/7R b - - 0 1";
    let lines = engine.search(&["ucinewgame", mated, "go nodes 300"]);
    assert!(last_info(&lines).contains(" score mate -1 "), "{lines:#?}");
}

#[test]
fn finished_games_have_no_move() {
    let mut engine = Engine::random();
    let mated = "position startpos moves f2f3 e7e5 g2g4 d8h4";
    assert_eq!(engine.best_move(&[mated, "go wtime 1000 btime 1000"]), "(none)");
    assert_eq!(
        engine.best_move(&["position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "go nodes 9"]),
        "(none)"
    );
}

#[test]
fn errors_are_named_and_the_old_state_stays() {
    let mut engine = Engine::random();
    engine.best_move(&["position fen 8/8/8/8/8/k7/8/K2Q4 w - - 0 1", "go nodes 10"]);
    for (command, expected) in [
        ("xyzzy", "unknown command \"xyzzy\""),
        (
            "position fen 8/8/8 w - - 0 1",
            "Nothing is searched until a position is accepted",
        ),
        (
            "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR w - - 0 1",
            "Nothing is searched until a position is accepted",
        ),
        ("position startpos moves e2e4 e2e4", "e2e4"),
        (
            "position nowhere",
            "Nothing is searched until a position is accepted",
        ),
        ("position", "Nothing is searched until a position is accepted"),
        (
            "setoption name Threads value 1000",
            "an integer from 0 to 256. The old value stays",
        ),
        ("setoption name Threads value many", "\"many\""),
        ("setoption name NoSuchOption value 1", "unknown option"),
        ("setoption Threads", "setoption"),
        ("setoption name TimeManager value hasty", "unknown time manager"),
        ("setoption name Backend value cudnn-2", "unknown backend"),
    ] {
        let line = engine.ask(&[command], "info string");
        assert!(line.contains(expected), "{command}: {line}");
    }
    engine.send("position fen 8/8/8/8/8/k7/8/K2Q4 w - - 0 1");
    let line = engine.ask(&["go nodes many"], "info string");
    assert!(line.contains("a whole number"), "{line}");
    // `go nodes many` became a bare `go`.
    engine.best_move(&["stop"]);
}

#[test]
fn search_moves_that_are_not_legal_are_named() {
    let mut engine = Engine::random();
    let lines = engine.search(&["go searchmoves e2e5 a2a3 nodes 50"]);
    assert!(lines[0].contains("e2e5"), "{lines:#?}");
    assert_eq!(lines.last().unwrap().split(' ').nth(1), Some("a2a3"));
}

#[test]
fn castling_follows_the_variant() {
    let position = "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1";
    let mut engine = Engine::random();
    assert_eq!(
        engine.best_move(&[position, "go searchmoves e1g1 nodes 20"]),
        "e1g1"
    );
    engine.send("setoption name UCI_Chess960 value true");
    assert_eq!(
        engine.best_move(&[position, "go searchmoves e1h1 nodes 20"]),
        "e1h1"
    );
}

/// A regression: under nodestime a search whose limit the tree had reached already never ended.
#[test]
fn the_tree_is_kept_from_move_to_move() {
    for nodestime in [0, 10] {
        let mut engine = Engine::random();
        engine.send(&format!("setoption name nodestime value {nodestime}"));
        let line = engine.ask(&["position startpos", "go nodes 20000"], "bestmove");
        let words: Vec<_> = line.split(' ').collect();
        engine.send(&format!("position startpos moves {} {}", words[1], words[3]));
        // The visits that are there already count: a limit below them is reached at once.
        let lines = engine.search(&["go nodes 2"]);
        let info = lines.iter().rfind(|line| line.starts_with("info depth")).unwrap();
        let nodes = info
            .split(' ')
            .skip_while(|word| *word != "nodes")
            .nth(1)
            .unwrap();
        assert!(nodes.parse::<u32>().unwrap() > 100, "{info}");
    }
}

#[test]
fn info_shows_what_is_asked_for() {
    let mut engine = Engine::random();
    for option in [
        "UCI_ShowWDL value true",
        "UCI_ShowMovesLeft value true",
        "MultiPV value 3",
    ] {
        engine.send(&format!("setoption name {option}"));
    }
    let lines = engine.search(&["go nodes 1000"]);
    let last: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("info depth"))
        .rev()
        .take(3)
        .collect();
    for (line, index) in last.iter().zip(["3", "2", "1"]) {
        for key in [
            "seldepth",
            "time",
            "nodes",
            "score cp",
            "wdl",
            "movesleft",
            "nps",
            "hashfull",
            "pv",
        ] {
            assert!(line.contains(&format!(" {key} ")), "{key}: {line}");
        }
        assert!(line.contains(&format!(" multipv {index} ")), "{line}");
    }
}

#[test]
fn piped_commands_are_finished() {
    let mut engine = Engine::random();
    engine.send("position startpos");
    engine.send("go nodes 3000");
    let rest = engine.finish();
    assert!(rest.last().unwrap().starts_with("bestmove "), "{rest:#?}");
}

#[test]
fn quit_ends_a_search_at_once() {
    let mut engine = Engine::start(&["--backend=simulated(latency-us=300000)"]);
    engine.ask(&["isready"], "readyok");
    engine.send("go infinite");
    engine.send("quit");
    let start = Instant::now();
    assert!(engine.process.wait().unwrap().success());
    assert!(start.elapsed() < PATIENCE);
}

#[test]
fn a_search_outlives_the_failure_of_one_device() {
    let devices =
        "--backend-opts=backend=simulated,latency-us=100,per-position-ns=1000,(fail-after=200),(seed=0)";
    let mut engine = Engine::start(&[
        "--backend=demux",
        devices,
        "--threads=2",
        "--smart-pruning-factor=0",
    ]);
    engine.send("isready");
    let lines = engine.read_until("readyok");
    for number in [1, 2] {
        let part = format!("; multiplexing: device {number} (");
        assert!(
            lines.iter().any(|line| line.contains(&part)),
            "{part}: {lines:#?}"
        );
    }
    let lines = engine.search(&["position startpos", "go nodes 3000"]);
    let news: Vec<_> = lines
        .iter()
        .filter(|line| line.contains(" failed, 1 of 2 devices continue: "))
        .collect();
    assert_eq!(news.len(), 1, "{lines:#?}");
    let last = lines.iter().rev().find(|line| line.contains(" nodes ")).unwrap();
    let nodes: u32 = last
        .split(" nodes ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(nodes >= 3000, "{last}");
}
