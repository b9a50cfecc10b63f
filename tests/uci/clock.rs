//! Tests of time management as a GUI meets it: its options, and the moves that count.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::common::engine::{Engine, last_info, number, time_report};
use crate::common::skipped;

/// Searches and returns the report on the use of the time.
fn report_of(engine: &mut Engine, go: &str) -> String {
    time_report(&engine.search(&[go])).to_owned()
}

#[test]
fn slowmover_is_refused_beside_a_manager_that_is_named() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    engine.send("setoption name TimeManager value smooth");
    let answer = engine.ask(&["setoption name Slowmover value 1.5"], "info string");
    assert!(
        answer.contains("Slowmover=1.5") && answer.contains("legacy(slowmover="),
        "{answer}"
    );
    let report = report_of(&mut engine, "go wtime 1000 btime 1000");
    assert!(report.contains("manager=smooth"), "{report}");
    // Where nobody has named a manager it chooses one, as in Lc0, and says so whoever has set it.
    let mut engine = Engine::start(&[
        "--backend=random",
        "--threads=1",
        "--verbose-time",
        "--slowmover=1.5",
    ]);
    engine.read_until("info string Slowmover chooses the time manager legacy");
    assert!(report_of(&mut engine, "go wtime 1000 btime 1000").contains("manager=legacy"));
}

/// A regression: the default manager that a GUI sends with all options counted as named, and `Slowmover` was refused. That it chooses
/// another manager is said.
#[test]
fn slowmover_can_be_set_by_a_gui_that_sends_the_default_manager_too() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    engine.send("uci");
    let options = engine.read_until("uciok");
    let option = options
        .iter()
        .find(|line| line.starts_with("option name TimeManager "))
        .unwrap();
    let default = option.split(" default ").nth(1).unwrap();
    let manager = format!("setoption name TimeManager value {default}");
    for commands in [
        [&manager, "setoption name Slowmover value 1.5"],
        ["setoption name Slowmover value 1.5", &manager],
    ] {
        let answer = engine.ask(&commands, "info string");
        assert!(
            answer.contains("Slowmover chooses the time manager legacy"),
            "{answer}"
        );
        let lines = engine.search(&["go wtime 1000 btime 1000"]);
        assert!(!lines.iter().any(|line| line.contains("ERROR")), "{lines:#?}");
        assert!(
            lines.iter().any(|line| line.contains("manager=legacy")),
            "{lines:#?}"
        );
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
    assert!(report_of(&mut engine, "go wtime 1000 btime 1000").contains("manager=alphazero"));
}

/// A regression: analyses and ponder misses counted as moves, so that the first move of the game got no bonus.
#[test]
fn only_moves_with_a_clock_take_the_first_moves_bonus_away() {
    let flags = [
        "--backend=random",
        "--threads=1",
        "--verbose-time",
        "--time-manager=legacy",
    ];
    let mut engine = Engine::start(&flags);
    engine.best_move(&["position startpos moves e2e4 e7e5", "go nodes 100"]);
    engine.best_move(&["go movetime 20"]);
    engine.send("go ponder wtime 3000 btime 3000");
    engine.read_until("info depth");
    engine.best_move(&["stop"]);
    // 2,800 ms for 51.5 moves less the one that is played: 55.4; 1 + 1.8 for the first move and 2·0.25 for the book.
    let first = report_of(&mut engine, "go wtime 3000 btime 3000");
    let (budget, average) = (
        number::<f64>(&first, "budget_ms"),
        number::<f64>(&first, "average_ms"),
    );
    assert!((budget / average - 3.3).abs() < 0.02, "{first}");
    let used = number::<f64>(&first, "used_ms");
    let second = report_of(&mut engine, "go wtime 3000 btime 3000");
    let spared = (budget - used).max(0.0);
    let (budget, average) = (
        number::<f64>(&second, "budget_ms"),
        number::<f64>(&second, "average_ms"),
    );
    assert!(
        (budget - average - spared).abs() < 1.0,
        "no bonus: {second} after {first}"
    );
}

/// A regression: a position that was proven to be drawn was searched to the end of its budget, and taught a speed of millions.
#[test]
fn a_proven_draw_is_played_at_once() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
    // Every move completes fifty.
    engine.send("position fen 8/8/8/3k4/8/8/8/R3K3 w - - 99 100");
    let report = report_of(&mut engine, "go wtime 60000 btime 60000");
    assert!(report.contains("end=proven-result"), "{report}");
    engine.send("go ponder wtime 60000 btime 60000");
    engine.assert_no_best_move(Duration::from_millis(300));
    engine.best_move(&["ponderhit"]);
}

/// Runs `work` beside threads that keep the processors busy.
fn beside_busy_threads<T>(count: usize, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    black_box((0..1000).sum::<u32>());
                }
            });
        }
        let result = work();
        done.store(true, Relaxed);
        result
    })
}

#[test]
fn under_nodestime_a_busy_machine_changes_no_move() {
    let game = || {
        let flags = [
            "--backend=random",
            "--threads=1",
            "--minibatch-size=8",
            "--nodestime=2",
        ];
        let mut engine = Engine::start(&flags);
        let (mut position, mut reports) = ("position startpos moves e2e4".to_owned(), Vec::new());
        for _ in 0..24 {
            let lines = engine.search(&[&position, "go wtime 20000 btime 20000 winc 100 binc 100"]);
            let best = lines[lines.len() - 1].split(' ').nth(1).unwrap();
            reports.push(format!("{best} {}", number::<u64>(last_info(&lines), "nodes")));
            position = format!("{position} {best}");
        }
        reports
    };
    assert_eq!(game(), beside_busy_threads(4, game));
}

/// A regression: evaluations of the last game stayed in the cache, and the same game came out otherwise.
#[test]
fn under_nodestime_the_second_game_of_a_process_is_the_first() {
    let flags = [
        "--backend=random",
        "--threads=1",
        "--minibatch-size=8",
        "--nodestime=2",
        "--verbose-time",
    ];
    let mut engine = Engine::start(&flags);
    let mut game = || {
        engine.send("ucinewgame");
        let positions = [
            "startpos",
            "startpos moves e2e4 e7e5",
            "startpos moves e2e4 e7e5 g1f3 b8c6",
        ];
        positions.map(|position| {
            let go = ["go wtime 20000 btime 20000"];
            let lines = engine.search(&[&[&*format!("position {position}")], &go[..]].concat());
            (
                lines[lines.len() - 1].clone(),
                number::<u64>(time_report(&lines), "new_nodes"),
            )
        })
    };
    assert_eq!(game(), game());
}

/// A regression: only a batch counted as the first evaluation, for which a move may go beyond its budget. Where all was in the
/// cache, it used a tenth of the clock.
#[test]
fn an_evaluation_out_of_the_cache_is_the_first_one_too() {
    let mut engine = Engine::start(&[
        "--backend=random",
        "--threads=1",
        "--minibatch-size=8",
        "--verbose-time",
    ]);
    for option in [
        "nodestime value 1",
        "MoveOverheadMs value 0",
        "TimeManager value smooth(max-move-budget=0.01)",
    ] {
        engine.send(&format!("setoption name {option}"));
    }
    engine.best_move(&["position startpos", "go nodes 20000"]);
    engine.send("setoption name ClearTree");
    let report = report_of(&mut engine, "go wtime 60000 btime 60000");
    assert!(number::<f64>(&report, "budget_ms") <= 600.0, "{report}");
    // Both are nodes.
    assert_eq!(
        number::<f64>(&report, "used_ms"),
        number::<f64>(&report, "new_nodes"),
        "{report}"
    );
    assert!(number::<f64>(&report, "new_nodes") < 700.0, "{report}");
}

/// A clock of one second, and batches that take far longer.
#[test]
fn a_device_too_slow_for_the_clock_is_not_waited_for() {
    let mut engine = Engine::start(&["--threads=1", "--backend=simulated(latency-us=10000000)"]);
    engine.ask(&["isready"], "readyok");
    for moves in ["e2e4 e7e5", "e2e4 e7e5 g1f3", "e2e4 e7e5 g1f3 b8c6"] {
        let began = Instant::now();
        engine.best_move(&[
            &format!("position startpos moves {moves}"),
            "go wtime 1000 btime 1000",
        ]);
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{moves}: {:?}",
            began.elapsed()
        );
    }
}

/// A regression: the time since `position`, in which a person may look at the board, was taken from the clock, even across `ucinewgame`,
/// and the move was one without a search.
#[test]
fn the_clock_runs_from_go() {
    const PAUSE: Duration = Duration::from_millis(2500);
    for between in [None, Some("ucinewgame")] {
        let mut engine = Engine::start(&["--backend=random", "--threads=1", "--verbose-time"]);
        engine.ask(&["isready"], "readyok");
        engine.send("position startpos");
        std::thread::sleep(PAUSE);
        between.iter().for_each(|command| engine.send(command));
        // A share of the clock that is far below the pause.
        let lines = engine.search(&["go wtime 2400 btime 2400"]);
        let report = time_report(&lines);
        assert!(number::<f64>(report, "used_ms") < 2400.0, "{report}");
        assert!(number::<u64>(report, "new_nodes") > 0, "{report}");
    }
}

/// A regression: `go nodes 2000 btime 1000` ended after some dozens of nodes, because the clock of the other side counted.
#[test]
fn a_clock_that_was_not_sent_ends_no_search_with_other_limits() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1", "--smart-pruning-factor=0"]);
    for (position, go) in [
        ("position startpos", "go nodes 20000 btime 1"),
        ("position startpos moves e2e4", "go nodes 20000 wtime 1"),
        (
            "position startpos",
            "go nodes 20000 wtime 0 btime 0 winc 0 binc 0",
        ),
    ] {
        let lines = engine.search(&["ucinewgame", position, go]);
        assert_eq!(number::<u64>(last_info(&lines), "nodes"), 20_000, "{go}");
    }
    let lines = engine.search(&["ucinewgame", "position startpos", "go movetime 700 btime 1"]);
    assert!(number::<f64>(last_info(&lines), "time") > 300.0, "{lines:#?}");
}

/// The answers to limits that no rule of the protocol explains.
#[test]
fn odd_limits_are_answered() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1"]);
    engine.ask(&["isready"], "readyok");
    for go in [
        "go wtime 0 btime 0",
        "go wtime 0 btime 0 winc 0 binc 0 movestogo 0",
        "go wtime 0 btime 0 winc 100 binc 100",
        "go wtime -1000 btime -1000",
        "go wtime -1000 btime 60000 winc -5 binc -5",
        "go winc 100 binc 100",
        "go binc 100",
        "go wtime 500 btime 500 movestogo 0",
        "go wtime 500 btime 500 movestogo -3",
        "go wtime 500 btime 500 winc 1000000000000 binc 1000000000000",
        "go wtime 500 btime 500 movestogo 4000000000",
        "go wtime 0.5 btime 1e2",
        "go movetime 0",
        "go movetime -5",
        "go nodes 0",
        "go depth 0",
        "go mate 0",
    ] {
        let lines = engine.search(&["position startpos moves e2e4 e7e5", go]);
        assert!(last_info(&lines).contains(" pv "), "{go}: {lines:#?}");
        let best = lines[lines.len() - 1].split(' ').nth(1).unwrap();
        assert!(best.len() == 4 && best != "(none)", "{go}: {lines:#?}");
    }
    // Far beyond days: the search begins, goes on, and obeys.
    for go in [
        "go wtime 86400000000 btime 86400000000 winc 86400000 binc 86400000",
        "go wtime 1e300 btime 1e300",
        "go wtime 99999999999999999999 btime 99999999999999999999 movestogo 1",
        "go movetime 99999999999999999999",
        "go winc 1e300 binc 1e300",
    ] {
        engine.send("position startpos moves e2e4 e7e5");
        engine.send(go);
        engine.assert_no_best_move(Duration::from_millis(300));
        let lines = engine.search(&["stop"]);
        assert!(number::<u64>(last_info(&lines), "nodes") > 1, "{go}: {lines:#?}");
    }
}

/// `ZEITNOT_IDLE=1 cargo test --release --test uci -- --ignored --nocapture budget` prints the figures.
#[test]
#[ignore = "needs a machine that does nothing else, as ZEITNOT_IDLE says"]
fn beside_busy_threads_moves_come_when_their_budget_ends() {
    if std::env::var_os("ZEITNOT_IDLE").is_none() {
        return skipped("ZEITNOT_IDLE is not set");
    }
    let mut engine = Engine::start(&["--threads=1", "--verbose-time"]);
    let mut late: Vec<f64> = beside_busy_threads(4, || {
        let game = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8";
        let moves: Vec<&str> = game.split(' ').collect();
        let searches = (0..400).map(|turn| {
            let played = moves[..turn % (moves.len() + 1)].join(" ");
            engine.send("ucinewgame");
            engine.ask(
                &[&format!("position startpos moves {played}"), "isready"],
                "readyok",
            );
            let began = Instant::now();
            let report = report_of(&mut engine, "go wtime 1000 btime 1000 winc 10 binc 10");
            1000.0 * began.elapsed().as_secs_f64() - number::<f64>(&report, "budget_ms")
        });
        searches.collect()
    });
    late.sort_by(f64::total_cmp);
    let [median, most] = [late[late.len() / 2], late[late.len() - 1]];
    println!("bestmove came {median:+.1} ms from its budget in the median, {most:+.1} ms at worst");
    assert!(
        late.iter().filter(|ms| **ms <= 10.0).count() * 100 >= 99 * late.len(),
        "{late:?}"
    );
}
