//! Tests of pondering: the search of the opponent's position, its hits and its misses.

use std::time::Duration;

use crate::common::engine::{Engine, last_info, number, time_report};

/// The time for which the tests ponder.
const WHILE: Duration = Duration::from_millis(700);

/// Returns the first move of a line of information.
fn first_move(info: &str) -> &str {
    info.split(" pv ")
        .nth(1)
        .and_then(|line| line.split(' ').next())
        .unwrap_or_else(|| panic!("{info}"))
}

/// A regression: only the expected reply was searched, and a miss began from nothing.
#[test]
fn a_miss_finds_what_was_searched_below_the_reply_that_was_played() {
    let mut engine = Engine::random();
    engine.ask(&["isready"], "readyok");
    engine.send("position startpos moves e2e4 e7e5");
    engine.send("go ponder wtime 60000 btime 60000");
    ponder_up_to(&engine, 2_000);
    let lines = engine.search(&["stop"]);
    // The move is one for the position that was sent.
    let best = lines[lines.len() - 1].split(' ').nth(1).unwrap();
    assert!(
        best.ends_with(['3', '4', '5', '6', '7', '2']) && !best.starts_with(['0']),
        "{lines:#?}"
    );
    assert_eq!(first_move(last_info(&lines)), best);
    let lines = engine.search(&["position startpos moves e2e4 d7d5", "go nodes 1"]);
    assert!(number::<f64>(last_info(&lines), "nodes") > 1.0, "{lines:#?}");
}

#[test]
fn what_is_shown_while_pondering_is_of_the_position_that_was_sent() {
    let mut engine = Engine::random();
    engine.send("setoption name MultiPV value 2");
    engine.ask(&["isready"], "readyok");
    // After the expected move White mates at once; any other would have been better for Black.
    engine.send("position fen 6k1/p4ppp/8/8/8/8/5PPP/3R2K1 b - - 0 1 moves a7a6");
    engine.send("go ponder wtime 60000 btime 60000");
    let seen = engine.read_until("info depth");
    let mut line = seen.last().cloned().unwrap();
    while !line.contains(" score mate 1 ") {
        line = engine.read_until("info depth").pop().unwrap();
    }
    assert!(
        line.contains(" multipv 1 ") && first_move(&line) == "d1d8",
        "{line}"
    );
    // Nothing is searched behind the mate, so that no other line has a score.
    engine.send("stop");
    let lines = engine.read_until("bestmove d1d8");
    assert!(
        !lines.iter().any(|line| line.contains(" multipv 2 ")),
        "{lines:#?}"
    );
}

/// A regression: `searchmoves` was forgotten while pondering.
#[test]
fn pondering_keeps_to_the_moves_of_searchmoves() {
    let mut engine = Engine::random();
    engine.ask(&["isready"], "readyok");
    for command in ["stop", "ponderhit"] {
        // In the second position another move mates, so that nothing is searched behind the expected one.
        for (position, moves, has_info) in [
            ("startpos moves e2e4 e7e5", ["a2a3", "h2h3"], true),
            (
                "fen 6k1/p4ppp/8/8/8/8/5PPP/3R2K1 b - - 0 1 moves a7a6",
                ["d1d2", "g1f1"],
                command == "ponderhit",
            ),
        ] {
            engine.send(&format!("position {position}"));
            engine.send(&format!("go ponder nodes 2000 searchmoves {}", moves.join(" ")));
            if position.starts_with("startpos") {
                engine.read_until("info depth");
            } else {
                std::thread::sleep(WHILE);
            }
            let lines = engine.search(&[command]);
            let best = lines[lines.len() - 1].split(' ').nth(1).unwrap();
            assert!(moves.contains(&best), "{lines:#?}");
            assert!(!has_info || first_move(last_info(&lines)) == best, "{lines:#?}");
        }
    }
}

#[test]
fn a_hit_goes_on_with_the_tree_and_a_clock_of_its_own() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--smart-pruning-factor=0"]);
    engine.ask(&["isready"], "readyok");
    // A regression: the limit was the ponder search's, and the figures counted from its `go`.
    engine.send("position startpos moves e2e4 e7e5");
    engine.send("go ponder nodes 20000");
    engine.read_until("info depth");
    let lines = engine.search(&["ponderhit"]);
    let hit = lines
        .iter()
        .rposition(|line| line.starts_with("info depth"))
        .unwrap();
    assert_eq!(number::<f64>(&lines[hit], "nodes"), 20_000.0, "{lines:#?}");
    // A limit that the tree has reached already.
    let answer: Vec<_> = lines[lines.len() - 1].split(' ').collect();
    engine.send(&format!(
        "position startpos moves e2e4 e7e5 {} {}",
        answer[1], answer[3]
    ));
    engine.send("go ponder nodes 2");
    std::thread::sleep(WHILE);
    let lines = engine.search(&["ponderhit"]);
    assert!(
        number::<f64>(last_info(&lines), "nodes") > 20.0,
        "the tree is gone: {lines:#?}"
    );
}

/// A regression: nothing ended the search after the hit, and the process searched on for ever when the input had ended, or when `wait`
/// kept it from reading `stop` and `quit`.
#[test]
fn a_hit_without_limits_is_an_infinite_search() {
    let hit = || {
        let mut engine = Engine::random();
        engine.ask(&["isready"], "readyok");
        for command in ["position startpos moves e2e4", "go ponder", "ponderhit"] {
            engine.send(command);
        }
        engine
    };
    let mut engine = hit();
    engine.assert_no_best_move(WHILE);
    let refusal = engine.ask(&["wait"], "info string wait");
    assert!(refusal.contains("only stop ends this search"), "{refusal}");
    engine.best_move(&["stop"]);
    let mut engine = hit();
    engine.close_input();
    engine.read_until("bestmove");
}

/// A regression: playouts counted from the ponder search's `go`.
#[test]
fn playouts_count_from_the_hit() {
    let flags = [
        "--backend=random",
        "--threads=1",
        "--smart-pruning-factor=0",
        "--verbose-time",
    ];
    let mut engine = Engine::start(&[&flags[..], &["--nodes-as-playouts"]].concat());
    engine.ask(&["isready"], "readyok");
    engine.send("position startpos moves e2e4 e7e5");
    engine.send("go ponder nodes 2000 wtime 6000000 btime 6000000");
    ponder_up_to(&engine, 1_000);
    let lines = engine.search(&["ponderhit"]);
    let report = time_report(&lines);
    // With a clock the search does not wait for what the one before still backs up: a batch may come on top.
    assert!(
        (2_000.0..2_100.0).contains(&number::<f64>(report, "new_nodes")),
        "{report}"
    );
    assert!(
        number::<f64>(report, "nodes") > number::<f64>(report, "new_nodes"),
        "{report}"
    );
}

/// Starts an engine whose clock counts nodes: a slow machine makes no smaller tree.
fn by_nodes(flags: &[&str]) -> Engine {
    let mut engine = Engine::start(
        &[
            &[
                "--backend=random",
                "--threads=1",
                "--nodestime=20",
                "--verbose-time",
            ],
            flags,
        ]
        .concat(),
    );
    engine.ask(&["isready"], "readyok");
    engine
}

/// Waits until the tree has so many nodes.
fn ponder_up_to(engine: &Engine, nodes: u64) {
    while number::<u64>(engine.read_until("info depth").last().unwrap(), "nodes") < nodes {}
}

/// A regression: no test read these figures of a real engine, and only hits taught how much of a tree survives.
#[test]
fn nodes_made_while_pondering_are_told_from_those_kept() {
    for hit in [true, false] {
        let mut engine = by_nodes(&["--ponder"]);
        let lines = engine.search(&["position startpos", "go wtime 8000 btime 8000"]);
        let nodes_before = number::<f64>(last_info(&lines), "nodes");
        let answer: Vec<_> = lines[lines.len() - 1].split(' ').map(String::from).collect();
        let (best, expected) = (&answer[1], &answer[3]);
        // A reply that nobody expects, but that is legal after any first move of White.
        let played = if hit {
            expected
        } else if expected == "h7h6" {
            "a7a6"
        } else {
            "h7h6"
        };
        engine.send(&format!("position startpos moves {best} {expected}"));
        engine.send("go ponder wtime 7000 btime 7000");
        ponder_up_to(&engine, 4 * nodes_before as u64);
        if hit {
            engine.send("ponderhit");
        } else {
            engine.ask(&["stop"], "bestmove");
            engine.send(&format!("position startpos moves {best} {played}"));
            engine.send("go wtime 7000 btime 7000");
        }
        let lines = engine.read_until("bestmove");
        let report = time_report(&lines);
        let (reused, nodes) = (
            number::<f64>(report, "reused_nodes"),
            number::<f64>(report, "nodes"),
        );
        // What was there after our last move, less what the reply has left of it.
        assert!(reused < nodes_before, "{report} after {nodes_before}");
        assert!(reused > 0.0 || !hit, "{report}");
        let in_tree = nodes - number::<f64>(report, "new_nodes");
        assert!(in_tree > reused, "{report}");
        // Learnt from the first guess of 0.2 towards the share that was kept.
        let (share, learnt) = (reused / nodes_before, number::<f64>(report, "tree_reuse"));
        let between = share.min(0.2) - 1e-3..=share.max(0.2) + 1e-3;
        assert!(
            between.contains(&learnt) && (hit || learnt < 0.2),
            "{share} {report}"
        );
    }
}

/// A regression: no test noticed when the time manager was told that nothing of the tree is kept.
#[test]
fn without_pondering_all_nodes_that_were_kept_count_as_reused() {
    let manager = "--time-manager=smooth(init-tree-reuse=0.9,max-tree-reuse=0.9)";
    let mut engine = by_nodes(&[manager]);
    let lines = engine.search(&["position startpos", "go wtime 4000 btime 4000"]);
    let nodes_before = number::<f64>(last_info(&lines), "nodes");
    let answer: Vec<_> = lines[lines.len() - 1].split(' ').collect();
    let lines = engine.search(&[
        &format!("position startpos moves {} {}", answer[1], answer[3]),
        "go wtime 3000 btime 3000",
    ]);
    let report = time_report(&lines);
    let reused = number::<f64>(report, "reused_nodes");
    assert!(reused > 0.0, "{report}");
    assert_eq!(
        reused,
        number::<f64>(report, "nodes") - number::<f64>(report, "new_nodes"),
        "{report}"
    );
    let (share, learnt) = (reused / nodes_before, number::<f64>(report, "tree_reuse"));
    assert!(share < learnt && learnt < 0.899, "{share} {report}");
}

/// A regression: the number of lines was read anew at `ponderhit`, but not that they have numbers.
#[test]
fn what_is_shown_does_not_change_at_ponderhit() {
    let mut engine = Engine::random();
    engine.send("position startpos moves e2e4 e7e5");
    for (before, after) in [(1, 2), (2, 1)] {
        engine.set(&[("MultiPV", &before.to_string())]);
        engine.ask(&["go ponder wtime 60000 btime 60000"], "info depth");
        engine.set(&[("MultiPV", &after.to_string())]);
        engine.send("ponderhit");
        std::thread::sleep(WHILE);
        let lines = engine.search(&["stop"]);
        let last = &lines[lines.len() - 1 - before..lines.len() - 1];
        assert!(
            last[before - 1].contains(&format!(" multipv {before} ")),
            "{lines:#?}"
        );
        assert_eq!(
            lines.iter().any(|line| line.contains(" multipv 2 ")),
            before > 1,
            "{lines:#?}"
        );
        let best = lines[lines.len() - 1].split(' ').nth(1).unwrap();
        assert_eq!(first_move(&last[0]), best, "{lines:#?}");
    }
}
