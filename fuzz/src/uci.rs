//! Whole sessions under UCI, line by line, with a backend that needs no network.

use std::io::{self, Cursor, Write};
use std::num::NonZero;
use std::sync::{Arc, Mutex};

use zeitnot::uci::{Audience, UciCommand, run as run_session};
use zeitnot_engine::engine::Settings;

/// Options that reach out of the process, or take what a fuzzer must not have: files, libraries, threads, memory.
const UNTOUCHED: [&str; 13] = [
    "backend",
    "backendoptions",
    "logfile",
    "weightsfile",
    "syzygypath",
    "threads",
    "nncachesize",
    "ramlimitmb",
    "hash",
    "minibatchsize",
    "maxprefetch",
    "nodespersecondlimit",
    "multipv",
];
/// The most lines of a session.
const MOST_LINES: usize = 60;

/// Runs a session. Each `go` has at most one answer, and every line is one of UCI.
pub fn run(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| is_harmless(line))
        .take(MOST_LINES)
        .collect();
    let input = format!("{}\nstop\nquit\n", lines.join("\n"));
    let output = Sink::default();
    let mut settings = Settings::default();
    settings.network.backend = "trivial".into();
    settings.network.threads = NonZero::new(1);
    settings.memory.nn_cache_size = 1000;
    run_session(settings, Audience::default(), Cursor::new(input), output.clone())
        .expect("the settings are good");
    let output = output.0.lock().expect("no panic").clone();
    let output = String::from_utf8(output).expect("UTF-8");
    let answers = output
        .lines()
        .filter(|line| line.starts_with("bestmove "))
        .count();
    let searches = lines
        .iter()
        .filter(|line| matches!(UciCommand::parse(line), Ok(UciCommand::Go(_))))
        .count();
    assert!(
        answers <= searches,
        "{answers} answers to {searches} searches:\n{output}"
    );
    const STARTS: [&str; 8] = [
        "info ",
        "bestmove ",
        "id ",
        "option ",
        "uciok",
        "readyok",
        "error ",
        "Nothing happens",
    ];
    for line in output.lines() {
        assert!(STARTS.iter().any(|start| line.starts_with(start)), "{line:?}");
    }
    answers > 0
}

/// Says whether a line may be part of a session.
fn is_harmless(line: &str) -> bool {
    match UciCommand::parse(line) {
        Ok(UciCommand::Quit) => false,
        // Their answers are no lines of UCI, and a deep perft takes an hour.
        Ok(UciCommand::Show | UciCommand::Eval | UciCommand::Perft(_) | UciCommand::Help) => false,
        Ok(UciCommand::SetOption { name, .. }) => {
            let name: String = name.to_lowercase().split_whitespace().collect();
            !UNTOUCHED.contains(&name.as_str())
        }
        _ => true,
    }
}

/// Collects what the engine writes.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
