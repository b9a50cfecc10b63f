//! Tests that hosts and users of Lc0 find what they know: options, configuration files, commands, positions.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;

use crate::common::engine::{Engine, last_info, number};
use crate::common::installed::Installed;
use crate::common::{assert_refused, network, stderr, stdout, zeitnot};

/// The options of Lc0 0.33 as `uci` lists them, without defaults that depend on its build. Those behind the empty line are listed
/// under `--show-hidden` only.
const LC0_OPTIONS: &str = include_str!("../data/lc0_options.txt");

/// Returns the option lines of an engine that was started with `arguments`.
fn options(arguments: &[&str]) -> Vec<String> {
    let mut engine = Engine::start(arguments);
    engine.send("uci");
    engine
        .read_until("uciok")
        .into_iter()
        .filter(|line| line.starts_with("option "))
        .collect()
}

/// Returns name, type and words of an option line.
fn parts(line: &str) -> (&str, &str, Vec<&str>) {
    let (name, rest) = line
        .strip_prefix("option name ")
        .unwrap()
        .split_once(" type ")
        .unwrap();
    let kind = rest.split(' ').next().unwrap();
    (name, kind, rest.split(" var ").skip(1).collect())
}

#[test]
fn every_option_of_lc0_is_listed_with_its_type_and_its_words_where_lc0_lists_it() {
    let (listed, hidden) = LC0_OPTIONS.split_once("\n\n").unwrap();
    let (ours, all_of_ours) = (options(&[]), options(&["--show-hidden"]));
    assert!(ours.len() < all_of_ours.len() && ours.iter().all(|line| all_of_ours.contains(line)));
    for (lines, ours) in [(listed, &ours), (hidden, &all_of_ours)] {
        for line in lines.lines() {
            let (name, kind, words) = parts(line);
            let own = ours.iter().map(|line| parts(line)).find(|(own, ..)| *own == name);
            let (_, own_kind, own_words) = own.unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(own_kind, kind, "{name}");
            assert!(
                words.iter().all(|word| own_words.contains(word)),
                "{name}: {own_words:?}"
            );
        }
    }
    for line in hidden.lines() {
        let (name, ..) = parts(line);
        assert!(
            !ours.iter().any(|line| parts(line).0 == name),
            "{name} is not hidden"
        );
    }
}

#[test]
fn settings_of_lichess_bot_and_fastchess_are_taken() {
    let mut engine = Engine::random();
    engine.set(&[
        ("Move Overhead", "100"),
        ("Threads", "4"),
        ("Hash", "512"),
        ("SyzygyPath", ""),
        ("UCI_ShowWDL", "true"),
        ("TaskWorkers", "0"),
        ("Backend", "random"),
        ("PolicyHead", "vanilla"),
        // Nibbler's.
        ("LogLiveStats", "true"),
        ("MoveOverheadMs", "0"),
        ("MultiPV", "500"),
        ("ScoreType", "WDL_mu"),
        ("SmartPruningFactor", "0"),
        ("VerboseMoveStats", "false"),
        ("ContemptMode", "white_side_analysis"),
        ("Contempt", "0"),
        ("WDLCalibrationElo", "0"),
        ("WDLEvalObjectivity", "0"),
    ]);
    let lines = engine.search(&["position startpos", "go nodes 100"]);
    let complaints: Vec<_> = lines
        .iter()
        .filter(|line| line.to_lowercase().contains("error") || line.contains("unknown option"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(lines.iter().any(|line| line.contains(" wdl ")), "{lines:#?}");
}

#[test]
fn what_the_command_line_set_is_the_default() {
    let lines = options(&[
        "--hash=64",
        "--backend=trivial",
        "--move-overhead=50",
        "--show-wdl",
    ]);
    for expected in [
        "option name Hash type spin default 64 min 0",
        "option name RamLimitMb type spin default 64 min 0",
        "option name Move Overhead type spin default 50 ",
        "option name UCI_ShowWDL type check default true",
        "option name Backend type combo default trivial var auto ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(expected)),
            "{expected}: {lines:#?}"
        );
    }
}

/// A regression: Nibbler, which asks for figures of all root moves, got one report in a second where Lc0 sends six.
#[test]
fn figures_of_all_moves_come_as_often_as_from_lc0() {
    let mut engine = Engine::random();
    engine.set(&[
        ("VerboseMoveStats", "true"),
        ("LogLiveStats", "true"),
        ("MultiPV", "500"),
    ]);
    let lines = engine.search(&["position startpos", "go movetime 3000"]);
    let reports = lines
        .iter()
        .filter(|line| line.starts_with("info string node "))
        .count();
    assert!((6..=25).contains(&reports), "{reports}");
}

#[test]
fn the_name_can_be_another() {
    for (arguments, name) in [
        (&[][..], "id name Zeitnot 0.1.0"),
        (&["--name=Lc0 (Zeitnot)"], "id name Lc0 (Zeitnot)"),
    ] {
        let mut engine = Engine::start(arguments);
        let line = engine.ask(&["uci"], "id name");
        assert!(line.starts_with(name), "{line}");
    }
}

#[test]
fn clear_tree_makes_the_next_search_begin_anew() {
    let mut engine = Engine::start(&["--backend=random", "--threads=1"]);
    let nodes = |engine: &mut Engine| -> u64 { number(last_info(&engine.search(&["go nodes 1"])), "nodes") };
    engine.best_move(&["position startpos", "go nodes 300"]);
    assert!(nodes(&mut engine) > 100);
    engine.send("setoption name ClearTree");
    assert_eq!(nodes(&mut engine), 1);
    assert_eq!(nodes(&mut engine), 1, "the command counts once");
}

#[test]
fn wait_reads_nothing_before_the_search_is_over() {
    let mut engine = Engine::random();
    engine.send("go nodes 2000");
    engine.send("wait");
    engine.send("isready");
    let lines = engine.read_until("readyok");
    assert!(
        lines.iter().any(|line| line.starts_with("bestmove")),
        "{lines:#?}"
    );
    // Nobody could end this one.
    engine.send("go infinite");
    engine.send("wait");
    engine.assert_no_best_move(Duration::from_millis(100));
    engine.ask(&["stop"], "bestmove");
    // A regression: after `stop`, too, it was said that only `stop` ends this search.
    for commands in [&["wait"][..], &["go infinite", "stop", "wait"]] {
        commands.iter().for_each(|command| engine.send(command));
        engine.send("isready");
        let lines = engine.read_until("readyok");
        assert!(!lines.iter().any(|line| line.contains("wait: ")), "{lines:#?}");
        let answers = lines.iter().filter(|line| line.starts_with("bestmove")).count();
        assert_eq!(answers, commands.len() / 2, "{lines:#?}");
    }
}

#[test]
fn the_configuration_file_beside_the_program_counts_unless_the_command_line_says_otherwise() {
    let installed = Installed::new();
    let lines =
        "# mine\nthreads=3\n--minibatch-size=32\nno-sticky-endgames\nsearch-spin-backoff\ntask-workers=1\n";
    fs::write(installed.path("lc0.config"), lines).unwrap();
    assert_eq!(installed.default_of("Threads", &[]), "3");
    assert_eq!(installed.default_of("MinibatchSize", &[]), "32");
    assert_eq!(installed.default_of("StickyEndgames", &[]), "false");
    assert_eq!(installed.default_of("Threads", &["--threads=2"]), "2");
    assert_eq!(installed.default_of("Threads", &["--config="]), "0");
    let other = installed.path("my own.config").display().to_string();
    fs::write(&other, "threads=5\n").unwrap();
    assert_eq!(installed.default_of("Threads", &["-c", &other]), "5");
    fs::write(installed.path("zeitnot.config"), "threads=4\n").unwrap();
    assert_eq!(installed.default_of("Threads", &[]), "4");
    let output = installed.run(
        &[&format!("--config={}", installed.path("none").display())],
        "uci\n",
    );
    assert_eq!(output.status.code(), Some(2));
}

/// A regression: it was not said that the wrong flag stands in a file, and on which line.
#[test]
fn an_error_in_the_configuration_file_names_file_and_line() {
    let installed = Installed::new();
    let path = installed.path("lc0.config");
    for line in ["thread=1", "threads=900", "no-cpuct"] {
        fs::write(
            &path,
            format!("# mine\nno-sticky-endgames\n\n{line}\nthreads=2\n"),
        )
        .unwrap();
        let output = installed.run(&[], "");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!("{}, line 4:", path.display())),
            "{message}"
        );
    }
    fs::write(&path, "threads=2\n").unwrap();
    let output = installed.run(&["--thread=1"], "");
    let message = stderr(&output);
    assert!(
        message.contains("--thread") && !message.contains(", line "),
        "{message}"
    );
}

/// A regression: a program copied out of the checkout had no network, and a file that lay in the working folder was taken.
#[test]
fn a_copied_program_plays_with_its_own_network_unless_another_lies_beside_it() {
    let installed = Installed::new();
    let working = TempDir::new().unwrap();
    fs::copy(network("se_mlh.pb.gz"), working.path().join("se_mlh.pb.gz")).unwrap();
    let evaluated_by = || {
        let mut command = crate::common::program::<&str>(&installed.program(), &[]);
        let output = command
            .args(["bench", "--nodes=5"])
            .current_dir(&working)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(evaluated_by().contains("zeitnot-small.pb.gz (built in), "));
    fs::create_dir(installed.path("networks")).unwrap();
    fs::copy(network("tiny.pb.gz"), installed.path("networks/tiny.pb.gz")).unwrap();
    assert!(evaluated_by().contains(" tiny.pb.gz, "));
    // What was asked for and cannot be had is an error.
    let output = installed.run(&["bench", "--weights=none.pb.gz"], "");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// Flags with which people start Lc0: none of them may end the process.
#[test]
fn flags_of_lc0_do_not_end_the_process() {
    for flags in [
        "--strict-uci-timing",
        "--no-strict-uci-timing",
        "--show-hidden",
        "--preload",
        "--no-preload",
        "--task-workers=2 --max-concurrent-searchers=2 --search-spin-backoff --garbage-collection-delay=5",
        "--backend=check --backend-opts=mode=display,(backend=blas),(backend=eigen)",
        "--backend=recordreplay",
        "--backend=onnx-cpu",
        "--backend=blas --backend-opts=blas_cores=1",
        "-b eigen -t 2",
        "classic --threads=1",
        "dag-preview --threads=1",
        "--threads=1 --threads=2",
        "--temperature=0.5 --tempdecay-moves=10 --noise-epsilon=0.1",
        "--logfile= --syzygy-paths= --nncache=1000",
        "--history-fill=always --policy-softmax-temp=1.4 --ramlimit-mb=100",
    ] {
        let output = zeitnot(&flags.split(' ').collect::<Vec<_>>())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(
            output.status.success() && stdout(&output).is_empty(),
            "{flags}: {}",
            stderr(&output)
        );
    }
    assert_refused(
        &zeitnot(&["selfplay", "--games=1"]).output().unwrap(),
        "zeitnot match",
    );
}

/// A regression: GUIs could ask neither for a weaker opponent nor for an analysis that favours nobody.
#[test]
fn strength_can_be_limited_but_not_that_of_an_analysis() {
    let mut engine = Engine::random();
    for command in [
        "setoption name UCI_LimitStrength value true",
        "setoption name UCI_Elo value 1000",
        "position startpos moves e2e4",
        "go movetime 20000",
    ] {
        engine.send(command);
    }
    // One visit is enough; nobody waits for the time to pass.
    let lines = engine.read_until_within("bestmove", Duration::from_secs(15));
    let visits = |lines: &[String]| {
        let info = lines
            .iter()
            .rev()
            .find(|line| line.starts_with("info depth"))
            .cloned()
            .unwrap_or_default();
        let nodes = info
            .split(' ')
            .skip_while(|word| *word != "nodes")
            .nth(1)
            .map(str::to_owned);
        nodes.and_then(|nodes| nodes.parse::<u64>().ok())
    };
    assert!(visits(&lines).is_none_or(|nodes| nodes <= 2), "{lines:?}");
    let lines = engine.search(&["setoption name UCI_AnalyseMode value true", "go nodes 300"]);
    assert!(visits(&lines).is_some_and(|nodes| nodes >= 300), "{lines:?}");
    engine.send("setoption name UCI_Elo value 99");
    assert!(
        engine
            .read_until("info string ERROR")
            .last()
            .unwrap()
            .contains("99")
    );
}

/// A regression: the move was drawn, and what stood last before it was the line of another one.
#[test]
fn the_last_line_begins_with_the_move_that_is_drawn() {
    let mut engine = Engine::random();
    engine.set(&[("UCI_LimitStrength", "true"), ("UCI_Elo", "1900")]);
    let mut bests = BTreeSet::new();
    for _ in 0..40 {
        let lines = engine.search(&["ucinewgame", "position startpos", "go movetime 20000"]);
        let best = lines[lines.len() - 1].split(' ').nth(1).unwrap();
        assert!(last_info(&lines).contains(&format!(" pv {best}")), "{lines:#?}");
        bests.insert(best.to_owned());
    }
    assert!(bests.len() > 1, "nothing is drawn: {bests:?}");
    engine.set(&[("UCI_Elo", "1800")]);
    for _ in 0..20 {
        let mate = "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
        assert_eq!(
            engine.best_move(&["ucinewgame", mate, "go movetime 20000"]),
            "d1d8"
        );
    }
}

#[test]
fn an_analysis_favours_nobody_and_leaves_the_settings_as_they_were() {
    // Only where a move is played smart pruning has a part in it.
    let mut engine = Engine::start(&[
        "--backend=random",
        "--threads=1",
        "--minibatch-size=1",
        "--nncache=0",
        "--smart-pruning-factor=0",
    ]);
    // The figures of all moves and the move: they show each of these options.
    let mut search = |options: &[&str]| -> Vec<String> {
        options
            .iter()
            .for_each(|option| engine.send(&format!("setoption name {option}")));
        engine.send("ucinewgame");
        engine.send("position startpos");
        engine.send("go nodes 100");
        let mut lines = engine.read_until("bestmove");
        lines.retain(|line| line.contains("(P: ") || line.starts_with("bestmove"));
        lines
    };
    let plain = search(&[
        "VerboseMoveStats value true",
        "RandomSeed value 2",
        "WDLEvalObjectivity value 0",
    ]);
    assert!(plain.len() > 20, "{plain:#?}");
    for (option, value, default) in [
        ("Contempt", "400", ""),
        ("DrawScore", "0.5", "0"),
        ("DirichletNoiseEpsilon", "0.5", "0"),
        ("Temperature", "10", "0"),
    ] {
        let changed = search(&[&format!("{option} value {value}")]);
        assert_ne!(changed, plain, "{option}");
        assert_eq!(
            search(&["UCI_AnalyseMode value true"]),
            plain,
            "{option} in an analysis"
        );
        assert_eq!(
            search(&["UCI_AnalyseMode value false"]),
            changed,
            "{option} after it"
        );
        assert_eq!(
            search(&[&format!("{option} value {default}")]),
            plain,
            "{option} back at its default"
        );
    }
}
