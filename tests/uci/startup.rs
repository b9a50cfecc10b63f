//! Tests that an engine that was started answers, whatever flags and configuration say, and that it says in its own words what is wrong.

use std::fs;

use tempfile::TempDir;

use crate::common::engine::Engine;
use crate::common::installed::Installed;
use crate::common::{network, program, run_with_input, stderr, stdout, zeitnot};

/// Returns the beginning of the line that says what could not be done.
const ERROR: &str = "info string ERROR: ";

/// What xboard takes for a start that has failed, wherever it stands; stderr reaches it too.
const WORDS_OF_A_FAILED_START: [&str; 6] = [
    "unknown host",
    "No remote directory",
    "not found",
    "No such file",
    "can't alloc",
    "Permission denied",
];

/// A regression: the process ended before `uci` was answered, or at `isready`, and GUIs said that the engine had crashed.
#[test]
fn nothing_in_the_configuration_ends_the_engine() {
    let installed = Installed::new();
    for (line, reason) in [
        (
            "sticky-checkmate=true",
            "unexpected argument '--sticky-checkmate' found (--sticky-endgames has replaced it)",
        ),
        ("thread=1", "a similar argument exists: '--threads'"),
        (
            "threads=900",
            "option Threads: \"900\" is not an integer from 0 to 256",
        ),
        ("no-cpuct", "--no-cpuct"),
        ("-t 2", "expected --flag=value"),
        ("time-manager=hasty", "unknown time manager"),
        ("backend=abacus", "unknown backend \"abacus\""),
        ("backend-opts=((", "a ')' is missing at character 3"),
        ("contempt=leela=much", "leela=much"),
    ] {
        let path = installed.configure(&format!("# mine\n{line}\nminibatch-size=32\n"));
        let flags: &[&str] = if line.starts_with("backend") {
            &["--threads=0"]
        } else {
            &["--backend=random"]
        };
        let mut engine = Engine::spawn(&mut program(&installed.program(), flags));
        engine.send("uci");
        let lines = engine.read_until("uciok");
        let errors: Vec<_> = lines.iter().filter(|line| line.starts_with(ERROR)).collect();
        let place = format!("{ERROR}configuration file {}, line 2: ", path.display());
        assert_eq!(errors.len(), 1, "{line}: {errors:#?}");
        assert!(
            errors[0].starts_with(&place) && errors[0].contains(reason),
            "{reason}: {errors:#?}"
        );
        let has_default = |option: &str, default: &str| {
            lines.iter().any(|line| {
                line.starts_with(&format!("option name {option} type "))
                    && line.contains(&format!(" default {default} "))
            })
        };
        // What is wrong is left out, and what is right is not.
        assert!(
            has_default("Threads", "0") && has_default("MinibatchSize", "32"),
            "{line}: {lines:#?}"
        );
        assert_eq!(
            engine
                .best_move(&["isready", "position startpos", "go nodes 10"])
                .len(),
            4,
            "{line}"
        );
        engine.send("quit");
        assert_eq!(engine.end().0, Some(2), "a script notices what was left out");
    }
}

#[test]
fn nothing_in_the_flags_ends_the_engine() {
    for (flags, reason) in [
        (
            &["--no-such-flag"][..],
            "unexpected argument '--no-such-flag' found",
        ),
        (
            &["--no-such-flag", "value"],
            "unexpected argument '--no-such-flag' found",
        ),
        (&["uci", "--threads", "many"], "option Threads: \"many\""),
        (&["uci", "stray"], "stray"),
        (&["--time-manager=smooth", "--slowmover=2.2"], "lowmover"),
        (
            &["--config=/no/such/file.config"],
            "configuration file /no/such/file.config: it does not exist",
        ),
    ] {
        let mut engine = Engine::start(&[flags, &["--backend=random", "--threads=1"]].concat());
        engine.send("uci");
        let lines = engine.read_until("uciok");
        let errors: Vec<_> = lines.iter().filter(|line| line.starts_with(ERROR)).collect();
        assert!(
            errors.len() == 1 && errors[0].contains(reason),
            "{flags:?}: {errors:#?}"
        );
        assert_eq!(
            engine.best_move(&["position startpos", "go nodes 10"]).len(),
            4,
            "{flags:?}"
        );
    }
    // The commands of the command line have their manners.
    for arguments in [
        &["bench", "--no-such-flag"][..],
        &["--threads=1", "bench"],
        &["benhc"],
    ] {
        let output = zeitnot(arguments).output().unwrap();
        assert_eq!(
            (output.status.code(), stdout(&output)),
            (Some(2), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_backend_that_is_not_to_be_had_is_told_and_nothing_is_played() {
    // Tests fetch nothing, whatever the machine has.
    let mut engine = Engine::start(&["--backend=cuda"]);
    engine.ask(&["uci"], "uciok");
    engine.send("isready");
    let lines = engine.read_until("readyok");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(ERROR) && line.contains("cuda")),
        "{lines:#?}"
    );
    let line = engine.ask(&["position startpos", "go nodes 10"], ERROR);
    assert!(line.ends_with("Without a network there is no bestmove"), "{line}");
    engine.read_until("bestmove (none)");
    assert_eq!(
        engine
            .best_move(&["setoption name Backend value random", "go nodes 10"])
            .len(),
        4
    );
}

/// A regression: parameters of Lc0's backends, without a backend beside them, left the engine without a network. So did any wrong one.
#[test]
fn a_parameter_of_the_backend_never_costs_the_network() {
    for (options, is_error) in [
        ("gpu=0,max_batch=512", false),
        ("graph_capture=true", false),
        ("(backend=cuda-fp16,gpu=0)", false),
        ("7", false),
        ("precision=fp17", true),
    ] {
        let installed = Installed::new();
        installed.configure(&format!("threads=1\nbackend-opts={options}\n"));
        let by_option = format!("setoption name BackendOptions value {options}\n");
        for (flags, before) in [
            (vec![], String::new()),
            (
                vec!["--config=".into(), format!("--backend-opts={options}")],
                String::new(),
            ),
            (vec!["--config=".into()], by_option),
        ] {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let output = installed.run(&flags, &(before + "isready\nposition startpos\ngo nodes 2\n"));
            let said = stdout(&output);
            assert!(said.contains("\nbestmove "), "{options}, {flags:?}: {said}");
            let is_told = |line: &&str| line.contains("ignored: ") || line.contains("is left out");
            assert_eq!(
                said.lines().filter(is_told).count(),
                1,
                "{options}, {flags:?}: {said}"
            );
            assert_eq!(said.contains(ERROR), is_error, "{options}, {flags:?}: {said}");
        }
    }
}

/// A regression: lines of a configuration that were left out were named as in force, with a hint at another option for one that was
/// replaced.
#[test]
fn only_lines_that_are_taken_are_named() {
    let installed = Installed::new();
    installed.configure("[lc0]\nfpu-reduction=-0.07\nthreads=1 # one\nminibatch-size=32\n// mine\n");
    let output = installed.run(&["--backend=random"], "uci\n");
    let told = stderr(&output)
        .lines()
        .find(|line| line.contains("options from the configuration file"))
        .unwrap();
    assert!(
        told.ends_with(": minibatch-size (--no-config leaves it out)"),
        "{told}"
    );
    let errors: Vec<_> = stdout(&output)
        .lines()
        .filter(|line| line.starts_with(ERROR))
        .collect();
    assert_eq!(errors.len(), 4, "{errors:#?}");
    let has = |text: &str| errors.iter().filter(|line| line.contains(text)).count();
    assert_eq!(has("(--fpu-value has replaced it)"), 1, "{errors:#?}");
    assert_eq!(
        has("a comment needs a line of its own: threads=1 # one"),
        1,
        "{errors:#?}"
    );
}

/// Hosts take each line before `readyok` for a warning.
#[test]
fn nothing_wrong_takes_one_line_at_the_start() {
    let folder = TempDir::new().unwrap();
    let missing = format!("--syzygy-paths={}", folder.path().join("none").display());
    let mut engine = Engine::start(&[
        "--backend=eigen",
        "--backend-opts=blas_cores=2",
        "--threads=1",
        &missing,
    ]);
    engine.send("isready");
    let lines = engine.read_until("readyok");
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].contains("; SyzygyPath: there is no folder"),
        "{lines:#?}"
    );
}

/// A regression: GUIs start the engine in a folder of their own, where a relative file of the configuration does not lie.
#[test]
fn files_in_a_configuration_lie_beside_it() {
    let installed = Installed::new();
    // It is not found there without being named.
    fs::create_dir(installed.path("nets")).unwrap();
    fs::copy(network("tiny.pb.gz"), installed.path("nets/my.pb.gz")).unwrap();
    let path = installed
        .configure("weights=nets/my.pb.gz\nthreads=1\nbackend=native\nbackend-opts=precision=fp32\n");
    let output = installed.run(&[], "isready\nposition startpos\ngo nodes 5\n");
    let said = stdout(&output);
    assert!(
        output.status.success() && said.contains("/nets/my.pb.gz, ") && said.contains("\nbestmove "),
        "{said}"
    );
    // One that is nowhere is named with its line, and no other network plays in its place.
    fs::remove_file(installed.path("nets/my.pb.gz")).unwrap();
    let output = installed.run(&[], "isready\nposition startpos\ngo nodes 5\n");
    let said = stdout(&output);
    let place = format!(
        "{ERROR}configuration file {}, line 1: WeightsFile: there is no file nets/my.pb.gz",
        path.display()
    );
    assert!(
        said.starts_with(&place) && said.contains("\nreadyok\n") && said.ends_with("bestmove (none)\n"),
        "{said}"
    );
    assert_eq!(
        said.matches("there is no bestmove").count(),
        3,
        "at the start, isready and go: {said}"
    );
}

/// A regression: Debian's xboard sends a folder for tables that is not there, took the system's words on that for a failed start, and did
/// not play.
#[test]
fn no_words_of_the_system_reach_the_gui() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("file"), "no network").unwrap();
    fs::create_dir(path("tables")).unwrap();
    fs::write(path("tables/KQvK.rtbw"), vec![0; 80]).unwrap();
    let log = path("zeitnot.log");
    let input = [
        "uci".to_owned(),
        format!("setoption name LogFile value {}", path("none/log")),
        format!("setoption name LogFile value {log}"),
        format!("setoption name SyzygyPath value {}", path("none")),
        "isready".into(),
        format!("setoption name SyzygyPath value {}", path("file")),
        "isready".into(),
        format!("setoption name SyzygyPath value {}", path("tables")),
        "isready".into(),
        "position fen 8/8/8/4k3/8/8/8/KQ6 w - - 0 1".into(),
        "go nodes 5".into(),
        "wait".into(),
        "isready".into(),
        format!("setoption name WeightsFile value {}", path("none.pb.gz")),
        "setoption name Backend value native".into(),
        "isready".into(),
        format!("setoption name WeightsFile value {}", folder.path().display()),
        "isready".into(),
        format!(
            "setoption name WeightsFile value {}/file/x.pb.gz",
            folder.path().display()
        ),
        "isready".into(),
        "setoption name Backend value onnxruntime(provider=openvino)".into(),
        format!(
            "setoption name WeightsFile value {}",
            network("tiny.pb.gz").display()
        ),
        "isready".into(),
    ]
    .join("\n");
    let start = ["--backend=random", "--threads=1"];
    let quiet = run_with_input(zeitnot(&start).env_remove("RUST_LOG"), &input);
    let said = format!("{}{}", stdout(&quiet), stderr(&quiet));
    for foreign in WORDS_OF_A_FAILED_START.iter().chain(&["os error"]) {
        assert!(!said.contains(foreign), "{foreign}: {said}");
    }
    let lines: Vec<_> = stdout(&quiet).lines().collect();
    let expected = format!(
        "; SyzygyPath: there is no folder {}, so there are no tables",
        path("none")
    );
    let is_note = |line: &&&str| line.starts_with("info string ") && line.ends_with(&expected);
    assert!(
        lines.iter().any(|line| is_note(&line)),
        "a missing folder is a note: {lines:#?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("none.pb.gz: cannot be read: it does not exist")),
        "{lines:#?}"
    );
    assert!(
        lines
            .iter()
            .all(|line| *line != "info string " && !line.starts_with(' ')),
        "{lines:#?}"
    );
    // Who looks for a cause finds the system's own words.
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains(" -- the operating system: ") && log.contains("os error"),
        "{log}"
    );
    let verbose = run_with_input(zeitnot(&start).env("RUST_LOG", "info"), &input);
    assert!(
        stderr(&verbose).contains("the operating system: "),
        "{}",
        stderr(&verbose)
    );
}

/// The first line says which network, backend and threads are used, and needs no other beside it.
#[test]
fn one_line_says_what_is_used() {
    let weights = format!("--weights={}", network("tiny.pb.gz").display());
    let flags = [
        &weights,
        "--threads=1",
        "--backend=native",
        "--backend-opts=kernel=portable,precision=fp32",
    ];
    let mut engine = Engine::start(&flags);
    engine.send("isready");
    let lines = engine.read_until("readyok");
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].ends_with(", native with portable kernels, fp32, 1 thread"),
        "{lines:#?}"
    );
    // A regression: without a name it read like an error, and took two lines.
    let installed = Installed::new();
    let output = installed.run(&["--threads=2"], "isready\n");
    let is_own = |line: &&str| line.contains("zeitnot-small.pb.gz (built in), ");
    let own: Vec<_> = stdout(&output).lines().filter(is_own).collect();
    assert!(
        own.len() == 1 && own[0].ends_with("2 threads. `zeitnot setup --network` fetches a stronger network")
    );
    assert!(!stdout(&output).contains("WeightsFile"), "{}", stdout(&output));
}
