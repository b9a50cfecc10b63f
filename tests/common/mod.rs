//! Holds what the test programs share: the engine's command line, data files, conversations with the engine, random games.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod engine;
pub mod games;
pub mod installed;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use serde_json::Value;

/// Returns the engine's program, ready to be started with `arguments`.
pub fn zeitnot<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Command {
    program(Path::new(env!("CARGO_BIN_EXE_zeitnot")), arguments)
}

/// Returns the engine's program at `path`. Only ignored tests let it see what this machine has installed: the others give the same
/// wherever they run.
pub fn program<S: AsRef<std::ffi::OsStr>>(path: &Path, arguments: &[S]) -> Command {
    let mut command = Command::new(path);
    if !std::env::args().any(|argument| argument.ends_with("ignored")) {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty-cache");
        command
            .env("ZEITNOT_CACHE_DIR", cache)
            .env("ZEITNOT_OFFLINE", "1")
            .env_remove("ORT_DYLIB_PATH");
    }
    command.args(arguments);
    command
}

/// Runs the program to its end.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    zeitnot(arguments).output().unwrap()
}

/// Runs a command to its end with `input` on its standard input. One that ends before it has read everything is no error.
pub fn run_with_input(command: &mut Command, input: impl AsRef<[u8]>) -> Output {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let written = process.stdin.take().unwrap().write_all(input.as_ref());
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    assert!(written.as_ref().err().is_none_or(is_gone), "{written:?}");
    process.wait_with_output().unwrap()
}

/// Asserts that a run ended with exit code 2, and gave this reason.
pub fn assert_refused(output: &Output, reason: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
    assert!(stderr(output).contains(reason), "{reason}: {}", stderr(output));
}

/// Runs the program, which must refuse to, and returns its message.
pub fn error_message(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    stderr(&output).to_owned()
}

/// Says that a test cannot run here, and why: on stderr, and in the file that `ZEITNOT_SKIPPED` names, from which
/// `scripts/check_all.sh` counts.
pub fn skipped(why: &str) {
    let current = std::thread::current();
    let line = format!(
        "SKIPPED {}: {}",
        current.name().unwrap_or_default(),
        why.trim().replace('\n', " ")
    );
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("ZEITNOT_SKIPPED") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// Sees to it that ONNX Runtime is in the cache folder, with the plugin of `provider`, which only `setup` fetches. Where it
/// cannot be had, it says that the test is skipped and returns false.
pub fn set_up_onnx_runtime(provider: &str) -> bool {
    static DONE: Mutex<Vec<(String, Option<String>)>> = Mutex::new(Vec::new());
    let mut done = DONE.lock().unwrap();
    let known = done
        .iter()
        .find(|(name, _)| name == provider)
        .map(|(_, why)| why.clone());
    let why = known.unwrap_or_else(|| {
        let output = run(&["setup", "--provider", provider]);
        // 1 is the answer where no GPU is found.
        let why = (output.status.code() > Some(1)).then(|| stderr(&output).to_owned());
        done.push((provider.to_owned(), why.clone()));
        why
    });
    why.iter().for_each(|why| skipped(why));
    why.is_none()
}

/// Runs the program, which must succeed, and parses the JSON document that it prints.
pub fn run_json<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Value {
    json(&run(arguments))
}

/// Parses the JSON document that a run of the program printed; the run must have succeeded.
pub fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The JSON document without what it comes from, and that.
pub fn with_origins(output: &Output) -> (Value, Vec<Value>) {
    let mut document = json(output);
    let made_by = document.as_object_mut().unwrap().remove("made_by").unwrap();
    (document, made_by.as_array().unwrap().clone())
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Returns the path of a file of the package, named from its folder.
pub fn package_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns the path of a file of `tests/data`.
pub fn data(name: &str) -> PathBuf {
    package_file("tests/data").join(name)
}

/// Returns the path of a network of the golden collection.
pub fn network(name: &str) -> PathBuf {
    data("goldens/nets").join(name)
}
