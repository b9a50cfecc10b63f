//! Tests of time management as a GUI meets it: its options, and the moves that count.

use std::time::Duration;

use crate::common::engine::Engine;

/// Returns the number after `key=` in a report on a move's time.
fn figure(report: &str, key: &str) -> f64 {
    let mut words = report.split(' ').filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    words.next().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no {key}: {report}"))
}

/// Searches and returns the report on the use of the time.
fn time_report(engine: &mut Engine, go: &str) -> String {
    engine.send(go);
    let lines = engine.read_until("bestmove");
    let report = lines.iter().rfind(|line| line.starts_with("info string time "));
    report.unwrap_or_else(|| panic!("{lines:#?}")).clone()
}

#[test]
fn slowmover_is_refused_beside_a_manager_that_is_named() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    engine.send("setoption name TimeManager value smooth");
    let answer = engine.ask(&["setoption name Slowmover value 1.5"], "info string");
    assert!(answer.contains("Slowmover=1.5") && answer.contains("legacy(slowmover="), "{answer}");
    let report = time_report(&mut engine, "go wtime 1000 btime 1000");
    assert!(report.contains("manager=smooth"), "{report}");
    // Where nobody has named a manager it chooses one, as in Lc0.
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time", "--slowmover=1.5"]);
    assert!(time_report(&mut engine, "go wtime 1000 btime 1000").contains("manager=legacy"));
}

/// A regression: the default manager that a GUI sends with all options counted as named, and `Slowmover` was refused. That it chooses
/// another manager is said.
#[test]
fn slowmover_can_be_set_by_a_gui_that_sends_the_default_manager_too() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    engine.send("uci");
    let options = engine.read_until("uciok");
    let option = options.iter().find(|line| line.starts_with("option name TimeManager ")).unwrap();
    let default = option.split(" default ").nth(1).unwrap();
    let manager = format!("setoption name TimeManager value {default}");
    for commands in
        [[&manager, "setoption name Slowmover value 1.5"], ["setoption name Slowmover value 1.5", &manager]]
    {
        let answer = engine.ask(&commands, "info string");
        assert!(answer.contains("Slowmover chooses the time manager legacy"), "{answer}");
        engine.send("go wtime 1000 btime 1000");
        let lines = engine.read_until("bestmove");
        assert!(!lines.iter().any(|line| line.contains("ERROR")), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("manager=legacy")), "{lines:#?}");
        engine.send("setoption name Slowmover value 1");
    }
}

/// A regression: the search was stopped, and its `bestmove` came unasked.
#[test]
fn another_manager_waits_for_the_next_search() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    engine.send("position startpos");
    engine.ask(&["go infinite"], "info depth");
    engine.send("setoption name TimeManager value alphazero");
    engine.send("setoption name Slowmover value 1");
    engine.assert_no_best_move(Duration::from_millis(300));
    engine.best_move(&["stop"]);
    assert!(time_report(&mut engine, "go wtime 1000 btime 1000").contains("manager=alphazero"));
}

/// A regression: analyses and ponder misses counted as moves, so that the first move of the game got no bonus.
#[test]
fn only_moves_with_a_clock_take_the_first_moves_bonus_away() {
    let flags = ["--backend=random", "--threads=1", "--verbose-time", "--time-manager=legacy"];
    let mut engine = Engine::start(&flags);
    engine.best_move(&["position startpos moves e2e4 e7e5", "go nodes 100"]);
    engine.best_move(&["go movetime 20"]);
    engine.send("go ponder wtime 3000 btime 3000");
    engine.read_until("info depth");
    engine.best_move(&["stop"]);
    // 2,800 ms for 51.5 moves less the one that is played: 55.4; 1 + 1.8 for the first move and 2·0.25 for the book.
    let first = time_report(&mut engine, "go wtime 3000 btime 3000");
    let (budget, average) = (figure(&first, "budget_ms"), figure(&first, "average_ms"));
    assert!((budget / average - 3.3).abs() < 0.02, "{first}");
    let used = figure(&first, "used_ms");
    let second = time_report(&mut engine, "go wtime 3000 btime 3000");
    let spared = (budget - used).max(0.0);
    let (budget, average) = (figure(&second, "budget_ms"), figure(&second, "average_ms"));
    assert!((budget - average - spared).abs() < 1.0, "no bonus: {second} after {first}");
}

/// A regression: a position that was proven to be drawn was searched to the end of its budget, and taught a speed of millions.
#[test]
fn a_proven_draw_is_played_at_once() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    // Every move completes fifty.
    engine.send("position fen 8/8/8/3k4/8/8/8/R3K3 w - - 99 100");
    let report = time_report(&mut engine, "go wtime 60000 btime 60000");
    assert!(report.contains("end=proven-result"), "{report}");
    engine.send("go ponder wtime 60000 btime 60000");
    engine.assert_no_best_move(Duration::from_millis(300));
    engine.best_move(&["ponderhit"]);
}
