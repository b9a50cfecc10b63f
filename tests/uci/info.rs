//! Tests what a search reports: scores, figures of root moves, how often, and the log.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::engine::{Engine, last_info, number};
use crate::common::{run, run_json, run_with_input, stderr, stdout, zeitnot};

/// Smart pruning would end a search of so many nodes that takes long.
fn one_thread() -> Engine {
    Engine::start(&[
        "--backend=random",
        "--threads=1",
        "--minibatch-size=8",
        "--smart-pruning-factor=0",
    ])
}

/// Returns what a search of a fresh tree says, `bestmove` last.
fn search(engine: &mut Engine, go: &str) -> Vec<String> {
    engine.search(&["ucinewgame", "position startpos", go])
}

fn is_info(line: &&String) -> bool {
    line.starts_with("info depth")
}

/// Returns the lines with figures of root moves, without their beginning.
fn move_stats(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| line.strip_prefix("info string "))
        .filter(|line| line.contains("(P: "))
        .collect()
}

fn last_score(lines: &[String]) -> i32 {
    number(last_info(lines), "cp")
}

#[test]
fn move_stats_come_once_after_a_search() {
    let mut engine = one_thread();
    assert_eq!(move_stats(&search(&mut engine, "go nodes 1000")), [""; 0]);
    engine.set(&[("VerboseMoveStats", "true")]);
    let lines = search(&mut engine, "go nodes 1000");
    let stats = move_stats(&lines);
    assert_eq!(stats.len(), 21, "{lines:#?}");
    assert_eq!(
        lines.len() - 1,
        lines.iter().position(|line| line.ends_with(stats[20])).unwrap() + 1,
        "last of all"
    );
    let visits: Vec<u32> = stats.iter().map(|line| number(line, "N:")).collect();
    assert!(visits[..20].is_sorted(), "{visits:?}");
    assert_eq!(visits[20], 1000);
    assert_eq!(
        visits[..20].iter().sum::<u32>(),
        999,
        "all visits but the one of the root itself"
    );
    assert!(stats[20].starts_with("node  (  20) N: "), "{}", stats[20]);
    let best = lines.last().unwrap().split(' ').nth(1).unwrap();
    assert!(stats[19].starts_with(best), "{} for {best}", stats[19]);
    let policy: f32 = stats[..20].iter().map(|line| number::<f32>(line, "(P:")).sum();
    assert!((policy - 100.0).abs() < 0.2, "{policy}");
    for line in &stats[..20] {
        let (q, u, s): (f32, f32, f32) = (number(line, "(Q:"), number(line, "(U:"), number(line, "(S:"));
        assert!((q + u - s).abs() < 0.1, "{line}");
        let v: f32 = number(line, "(V:");
        assert!(v.abs() <= 1.0, "{line}");
    }
}

#[test]
fn network_values_that_are_not_kept_are_left_open() {
    let mut engine = one_thread();
    engine.set(&[("VerboseMoveStats", "true"), ("NNCacheSize", "0")]);
    let lines = search(&mut engine, "go nodes 100");
    let stats = move_stats(&lines);
    assert!(
        stats.len() == 21 && stats.iter().all(|line| line.ends_with("(V:  -.----) ")),
        "{lines:#?}"
    );
}

#[test]
fn move_stats_come_during_a_search() {
    let mut engine = one_thread();
    engine.set(&[("VerboseMoveStats", "true"), ("LogLiveStats", "true")]);
    let lines = search(&mut engine, "go movetime 2500");
    let roots = lines
        .iter()
        .filter(|line| line.starts_with("info string node "))
        .count();
    assert!(roots >= 2, "{lines:#?}");
    // Each information is followed by its figures.
    assert_eq!(lines.iter().filter(is_info).count(), roots);
}

#[test]
fn the_log_is_told_of_root_moves_if_the_gui_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("zeitnot.log");
    let mut engine = one_thread();
    let told = |live: &str, engine: &mut Engine| {
        engine.set(&[("LogFile", file.to_str().unwrap()), ("LogLiveStats", live)]);
        let before = fs::read_to_string(&file).unwrap_or_default().len();
        let lines = search(engine, "go movetime 1500");
        assert_eq!(move_stats(&lines), [""; 0]);
        // An end of the log waits for its last lines.
        engine.set(&[("LogFile", "")]);
        engine.ask(&["isready"], "readyok");
        let log = fs::read_to_string(&file).unwrap();
        log[before..]
            .lines()
            .filter(|line| line.contains(" -- node  (  20) N: "))
            .count()
    };
    assert_eq!(told("false", &mut engine), 1);
    assert!(told("true", &mut engine) >= 2);
}

#[test]
fn evaluations_per_second_are_shown_if_asked_for() {
    let mut engine = one_thread();
    let eps = |lines: &[String]| {
        let last = last_info(lines);
        last.contains(" eps ")
            .then(|| (number::<u64>(last, "nps"), number::<u64>(last, "eps")))
    };
    assert_eq!(eps(&search(&mut engine, "go nodes 500")), None);
    engine.set(&[("UCI_ShowEPS", "true"), ("NNCacheSize", "1000")]);
    search(&mut engine, "go nodes 500");
    let (nps, eps) = eps(&search(&mut engine, "go nodes 500")).unwrap();
    assert!(
        eps < nps,
        "{eps} of {nps}: the second search finds positions in the cache"
    );
}

/// Depth counts as in Lc0: the root is at depth 1.
#[test]
fn depth_counts_the_positions_of_a_line() {
    let lines = search(&mut Engine::repeatable(), "go nodes 2");
    let last = lines.iter().rfind(is_info).unwrap();
    assert!(last.starts_with("info depth 1 seldepth 2 "), "{last}");
}

#[test]
fn options_that_only_lc0_needs_are_accepted_and_explained() {
    let mut engine = one_thread();
    let note = engine.ask(&["setoption name TaskWorkers value 4"], "info string");
    assert!(
        note.starts_with("info string option TaskWorkers: Has no effect: "),
        "{note}"
    );
    engine.set(&[("WeightsFile", "<autodiscover>"), ("Backend", "auto")]);
    let found = engine.ask(&["isready"], "info string");
    assert!(found.contains("zeitnot-small"), "{found}");
    engine.best_move(&["go nodes 10"]);
}

#[test]
fn finished_games_are_marked() {
    let mut engine = one_thread();
    engine.set(&[("VerboseMoveStats", "true")]);
    let lines = engine.search(&[
        "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1",
        "go nodes 200",
    ]);
    let mate = move_stats(&lines)
        .into_iter()
        .find(|line| line.starts_with("d1d8"))
        .unwrap();
    assert!(mate.ends_with("(V:  1.0000) (T) "), "{mate}");
}

#[test]
fn nodes_can_be_those_of_each_line() {
    let mut engine = one_thread();
    engine.set(&[
        ("VerboseMoveStats", "true"),
        ("MultiPV", "3"),
        ("PerPVCounters", "true"),
    ]);
    let lines = search(&mut engine, "go nodes 500");
    let stats = move_stats(&lines);
    for line in lines.iter().filter(is_info).rev().take(3) {
        let mv = line.split(" pv ").nth(1).unwrap().split(' ').next().unwrap();
        let of_move = stats.iter().find(|stats| stats.starts_with(mv)).unwrap();
        assert_eq!(
            number::<u32>(line, "nodes"),
            number::<u32>(of_move, "N:"),
            "{line}"
        );
    }
}

/// A regression: beside a mate the other lines had one node or none, and scores that nothing stood behind.
#[test]
fn lines_beside_a_mate_are_searched_or_left_out() {
    let mut engine = one_thread();
    engine.set(&[("MultiPV", "3"), ("PerPVCounters", "true")]);
    let mut nodes_of_lines = |pruning: &str, go: &str| {
        engine.set(&[("SmartPruningFactor", pruning)]);
        engine.send("ucinewgame");
        engine.send("position startpos moves e2e4 e7e5 d1h5 b8c6 f1c4 g8f6");
        engine.send(go);
        let lines = engine.read_until("bestmove h5f7");
        let best = lines
            .iter()
            .rposition(|line| line.contains(" multipv 1 "))
            .unwrap();
        assert!(lines[best].contains(" score mate 1 "), "{lines:#?}");
        lines[best..]
            .iter()
            .filter(is_info)
            .map(|line| number::<u32>(line, "nodes"))
            .collect::<Vec<_>>()
    };
    for analysis in ["go nodes 2000", "go depth 4"] {
        let nodes = nodes_of_lines("0", analysis);
        assert!(
            nodes.len() == 3 && nodes[1] > 100 && nodes[2] > 20,
            "{analysis}: {nodes:?}"
        );
    }
    // In a game a mate is played at once.
    let nodes = nodes_of_lines("1.33", "go wtime 600000 btime 600000");
    assert!(nodes.iter().all(|nodes| (1..100).contains(nodes)), "{nodes:?}");
}

#[test]
fn the_score_has_the_form_that_is_asked_for() {
    let mut engine = Engine::repeatable();
    let mut score = |form: &str| {
        engine.set(&[("ScoreType", form)]);
        last_score(&search(&mut engine, "go nodes 300"))
    };
    let wl = f64::from(score("W-L")) / 10_000.0;
    for (form, expected) in [
        ("Q", 10_000.0 * wl),
        ("win_percentage", 5000.0 + 5000.0 * wl),
        ("centipawn", 90.0 * (1.563_754 * wl).tan()),
        ("centipawn_with_drawscore", 90.0 * (1.563_754 * wl).tan()),
        ("centipawn_2018", 290.68 * (1.548_091 * wl).tan()),
        ("centipawn_2019", 295.0 * wl / (1.0 - 0.976_953 * wl.powi(14))),
    ] {
        let found = score(form);
        assert!(
            (f64::from(found) - expected).abs() < 2.0,
            "{form}: {found} for {expected}"
        );
    }
    let mu = score("WDL_mu");
    assert_eq!(mu.signum(), score("W-L").signum(), "{mu}");
}

#[test]
fn contempt_raises_what_the_search_sees_and_not_what_it_shows() {
    let mut engine = Engine::repeatable();
    engine.set(&[("ScoreType", "W-L")]);
    let plain = last_score(&search(&mut engine, "go nodes 100"));
    engine.set(&[
        ("Contempt", "stockfish=-400, leela=400"),
        ("WDLEvalObjectivity", "0"),
    ]);
    assert_eq!(
        last_score(&search(&mut engine, "go nodes 100")),
        plain,
        "an opponent without a name"
    );
    engine.set(&[("UCI_Opponent", "none 3600 computer Stockfish 17")]);
    let weaker = last_score(&search(&mut engine, "go nodes 100"));
    engine.set(&[("UCI_Opponent", "none 3600 computer Leela")]);
    let stronger = last_score(&search(&mut engine, "go nodes 100"));
    assert!(weaker < plain && plain < stronger, "{weaker} {plain} {stronger}");
    engine.set(&[("WDLEvalObjectivity", "1")]);
    let shown = last_score(&search(&mut engine, "go nodes 100"));
    assert!(shown < stronger, "{shown} {stronger}");
    engine.set(&[
        ("ContemptMode", "black_side_analysis"),
        ("WDLEvalObjectivity", "0"),
    ]);
    let other_side = last_score(&search(&mut engine, "go nodes 100"));
    assert!(other_side < plain, "{other_side} {plain}");
    engine.set(&[("ContemptMode", "disable")]);
    assert_eq!(last_score(&search(&mut engine, "go nodes 100")), plain);
}

#[test]
fn contempt_needs_a_side_in_infinite_search_and_a_number() {
    let mut engine = Engine::repeatable();
    let refusal = engine.ask(&["setoption name Contempt value leela=much"], "info string");
    assert!(
        refusal.contains("leela=much") && refusal.contains("The old value stays"),
        "{refusal}"
    );
    engine.set(&[("UCI_RatingAdv", "100")]);
    engine.ask(&["isready"], "readyok");
    let note = engine.ask(&["go infinite"], "info string");
    assert!(note.contains("ContemptMode"), "{note}");
    engine.best_move(&["stop"]);
    // A regression: in an analysis, where contempt has no effect, there was the same advice.
    engine.set(&[("UCI_AnalyseMode", "true")]);
    let lines = engine.search(&["go infinite", "stop"]);
    assert!(
        !lines.iter().any(|line| line.contains("ContemptMode")),
        "{lines:#?}"
    );
}

#[test]
fn information_never_floods() {
    for lines_per_info in [1, 6] {
        let mut engine = Engine::random();
        engine.set(&[("MultiPV", &lines_per_info.to_string())]);
        let lines = search(&mut engine, "go movetime 2500");
        let times: Vec<u64> = lines
            .iter()
            .filter(is_info)
            .map(|line| number(line, "time"))
            .collect();
        // The last information of a search comes whenever that ends.
        let regular = &times[..times.len() - lines_per_info];
        let busiest = regular
            .iter()
            .map(|&from| regular.iter().filter(|&&t| t >= from && t < from + 1000).count());
        assert!(busiest.max().unwrap() <= 50, "{times:?}");
        assert!(times.len() >= 10, "{times:?}");
    }
}

#[test]
fn information_tells_what_changes() {
    // Each batch changes something, and they come further apart than lines may.
    let backend = "--backend=simulated(latency-us=120000)";
    let mut engine = Engine::start(&[backend, "--threads=1", "--minibatch-size=16"]);
    let lines = search(&mut engine, "go movetime 2500");
    let told: Vec<_> = lines.iter().filter(is_info).collect();
    assert!(told.len() >= 10, "{lines:#?}");
    for pair in told.windows(2) {
        let depth = |line: &str| number::<u32>(line, "depth");
        assert!(
            depth(pair[1]) <= depth(pair[0]) + 1,
            "a depth was left out: {pair:#?}"
        );
        assert!(
            number::<u64>(pair[0], "nodes") < number::<u64>(pair[1], "nodes")
                || pair[1] == told[told.len() - 1]
        );
    }
}

#[test]
fn information_comes_also_while_nothing_changes() {
    let mut engine = Engine::random();
    engine.ask(&["isready"], "readyok");
    engine.send("go ponder nodes 10");
    // The search is at its limit after a moment, and waits.
    let mut times: Vec<u64> = Vec::new();
    while times.last().is_none_or(|&time| time < 4000) {
        times.push(number(engine.read_until("info depth").last().unwrap(), "time"));
    }
    assert!(
        times.windows(2).all(|pair| pair[1] - pair[0] <= 5000),
        "{times:?}"
    );
    engine.best_move(&["stop"]);
}

#[test]
fn the_log_has_all_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("zeitnot.log");
    let name = file.to_str().unwrap();
    let mut engine = Engine::start(&["--backend=random", "--threads=1", &format!("--logfile={name}")]);
    let best = engine.ask(&["position startpos", "go wtime 1000 btime 1000"], "bestmove");
    // Another search without a log.
    engine.set(&[("LogFile", "")]);
    engine.best_move(&["go nodes 77"]);
    engine.set(&[("LogFile", name), ("VerboseTime", "true")]);
    engine.best_move(&["go wtime 1000 btime 1000"]);
    engine.finish();
    let log = fs::read_to_string(&file).unwrap();
    let entries: Vec<(&str, &str)> = log.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert!(entries.is_sorted_by_key(|(time, _)| *time), "{log}");
    assert!(
        entries
            .iter()
            .all(|(time, _)| time.len() == 24 && time.ends_with('Z')),
        "{log}"
    );
    let count = |start: &str| {
        entries
            .iter()
            .filter(|(_, entry)| entry.starts_with(start))
            .count()
    };
    assert_eq!(count("-- Zeitnot"), 2);
    assert_eq!(count(">> go wtime"), 2);
    assert_eq!(count(">> go nodes 77"), 0);
    assert_eq!(count("<< bestmove"), 2);
    assert_eq!(count(&format!("<< {best}")).min(1), 1);
    assert!(count("<< info depth") >= 2);
    // How the time was used is in the log whether the GUI gets it or not.
    assert_eq!(
        (count("-- time "), count("<< info string time ")),
        (1, 1),
        "{log}"
    );
}

#[test]
fn a_log_that_cannot_be_written_does_no_harm() {
    let mut engine = Engine::start(&["--backend=random", "--logfile=/no/such/folder/log"]);
    let note = engine.read_until("info string").pop().unwrap();
    assert!(
        note.contains("/no/such/folder/log") && note.contains("Nothing is logged"),
        "{note}"
    );
    let note = engine.ask(
        &["setoption name LogFile value /no/such/folder/other"],
        "info string",
    );
    assert!(note.contains("/no/such/folder/other"), "{note}");
    engine.best_move(&["go nodes 10"]);
}

/// A regression: a file that could not be written was not tried again under the same name.
#[test]
fn a_log_is_tried_again_when_its_name_is_set_again() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("logs");
    let file = folder.join("zeitnot.log");
    let set_log = format!("setoption name LogFile value {}", file.display());
    let mut engine = one_thread();
    engine.ask(&[&set_log], "info string ERROR");
    // Other options do not repeat the error.
    engine.send("setoption name MultiPV value 2");
    engine.send("isready");
    let lines = engine.read_until("readyok");
    assert!(!lines.iter().any(|line| line.contains("ERROR")), "{lines:#?}");
    fs::create_dir(&folder).unwrap();
    engine.ask(&[&set_log, "isready"], "readyok");
    engine.finish();
    assert!(fs::read_to_string(&file).unwrap().contains(">> isready"));
}

/// A regression: a host that keeps a pipe for stderr and never reads it had an engine that stood still at the 15th move, and one with
/// a named pipe as log an engine that did not even begin. Neither ended by `quit`.
#[cfg(unix)]
#[test]
fn a_log_that_nobody_reads_holds_up_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for (name, word) in [
        (pipe.to_str().unwrap(), "nobody takes the lines"),
        ("<stderr>", "takes no lines. They are left out and counted"),
    ] {
        let mut command = zeitnot(&["--backend=random", "--threads=1"]);
        let mut engine = Engine::spawn(command.stderr(Stdio::piped()));
        engine.set(&[("LogFile", name)]);
        // What `uci` says 400 times is more than what a pipe holds and may wait.
        for _ in 0..400 {
            engine.send("uci");
        }
        engine.send("isready");
        let lines = engine.read_until("readyok");
        assert!(lines.iter().any(|line| line.contains(word)), "{name}: {word}");
        engine.best_move(&["go nodes 10"]);
        engine.send("quit");
        assert_eq!(engine.end().0, Some(0), "{name}");
    }
}

/// A regression: Cute Chess writes Latin-1, and all but ASCII was replaced, so that no path with an umlaut could be set.
#[test]
fn a_path_may_come_in_latin_1() {
    let folder = tempfile::tempdir().unwrap();
    let mut input = format!("setoption name LogFile value {}/", folder.path().display()).into_bytes();
    input.extend_from_slice(b"\xe4.txt\n");
    assert!(
        run_with_input(&mut zeitnot(&["--backend=random"]), input)
            .status
            .success()
    );
    assert!(folder.path().join("\u{e4}.txt").is_file());
}

#[test]
fn the_log_can_be_the_console() {
    let output = run_with_input(
        &mut zeitnot(&["uci", "--backend=random", "--logfile=<stderr>"]),
        "",
    );
    assert_eq!(output.stdout, b"");
    assert!(String::from_utf8(output.stderr).unwrap().contains(" -- Zeitnot "));
}

#[test]
fn the_reference_lists_the_options_that_uci_lists() {
    let mut engine = Engine::start(&["--show-hidden"]);
    engine.send("uci");
    let lines = engine.read_until("uciok");
    let told = lines
        .iter()
        .filter_map(|line| line.strip_prefix("option name "))
        .map(|line| line.split(" type ").next().unwrap());
    let json = run_json(&["options", "--json"]);
    let listed: Vec<_> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["name"].as_str().unwrap())
        .collect();
    assert_eq!(told.collect::<Vec<_>>(), listed);
    assert_eq!(stdout(&run(&["options"])).lines().count(), listed.len() + 3);
    let some = run_json(&["options", "cpuct-base", "--json"]);
    let some: Vec<_> = some
        .as_array()
        .unwrap()
        .iter()
        .map(|option| &option["name"])
        .collect();
    assert_eq!(some, ["CPuctBase", "CPuctBaseAtRoot"]);
    assert!(stdout(&run(&["options", "CPUCTBASE"])).contains("CPuctBaseAtRoot"));
    let parameter = |owner: &str, name: &str| {
        let parameters = run_json(&["options", owner, "--json"]);
        parameters
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(parameter("smooth", "max-move-budget")["max"], 1.0);
    assert_eq!(parameter("mle-mlh", "floor")["default"], 6.0);
    assert_eq!(parameter("native", "precision")["choices"][0], "auto");
    assert!(stdout(&run(&["options", "smooth"])).contains(" stakes: Moves in which more is at stake"));
    assert!(stderr(&run(&["options", "cpuctt"])).contains("no option has \"cpuctt\" in its name"));
}

#[test]
fn many_lines_do_not_hold_back_the_answer() {
    let mut engine = Engine::repeatable();
    engine.set(&[
        ("MultiPV", "500"),
        ("VerboseMoveStats", "true"),
        ("LogLiveStats", "true"),
    ]);
    engine.ask(&["isready"], "readyok");
    let start = std::time::Instant::now();
    search(&mut engine, "go movetime 300");
    assert!(start.elapsed() < Duration::from_secs(3));
}

/// A regression: where all lines had ended, a greater depth was waited for.
#[test]
fn a_search_for_depth_ends_where_the_result_is_certain() {
    let mut engine = Engine::start(&["--backend=random", "--smart-pruning-factor=0"]);
    engine.best_move(&["position fen 8/8/4k3/8/8/4K3/8/8 w - - 0 1", "go depth 20"]);
}

/// A regression: where the tree filled its memory, one report in ten had a line of one move, because the tree was just being pruned.
#[test]
fn lines_are_whole_where_the_tree_is_pruned() {
    let mut engine = Engine::start(&[
        "--backend=random",
        "--threads=2",
        "--ramlimit-mb=8",
        "--nncache=0",
    ]);
    engine.ask(&["isready"], "readyok");
    engine.send("position startpos");
    engine.send("go infinite");
    let mut grown = 0;
    while grown < 60 {
        let line = engine.read_until("info depth").pop().unwrap();
        let moves = line.split(" pv ").nth(1).unwrap().split(' ').count();
        if number::<u64>(&line, "nodes") > 20_000 {
            assert!(moves > 1, "{line}");
            grown += 1;
        }
    }
    engine.best_move(&["stop"]);
}

/// A regression: a search for mate ended with a longer mate, or with that of the other side, and nothing said so.
#[test]
fn a_mate_that_was_not_found_is_told() {
    let mut engine = one_thread();
    const NOT_FOUND: &str = "info string no mate in 3 has been found";
    // White mates at once; after Black's only move White does.
    for (position, is_found) in [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", true),
        ("7k/8/6K1/8/8/8/8/1R6 b - - 0 1", false),
    ] {
        let lines = engine.search(&[&format!("position fen {position}"), "go mate 3"]);
        assert_eq!(
            !lines.iter().any(|line| line == NOT_FOUND),
            is_found,
            "{lines:#?}"
        );
    }
    let lines = engine.search(&["position startpos", "go mate 3 nodes 100"]);
    assert!(lines.iter().any(|line| line == NOT_FOUND), "{lines:#?}");
    let lines = engine.search(&["go nodes 100"]);
    assert!(!lines.iter().any(|line| line == NOT_FOUND), "{lines:#?}");
}
