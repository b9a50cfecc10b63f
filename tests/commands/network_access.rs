//! Tests that nothing but `setup` reaches for the network, and `setup` only where it may.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::common::engine::Engine;
use crate::common::{network, package_file, skipped, stderr, stdout, zeitnot};

/// A machine of its own: an empty cache, no ONNX Runtime, and a Python that notes what it is asked for. Its pip can download
/// whatever is wanted, but it is not what the makers have published.
struct Machine {
    folder: TempDir,
}

const PYTHON: &str = r#"#!/bin/sh
echo "$@" "in a folder with" * >>"$ASKED"
case "$*" in
    *"pip download"*) for folder; do :; done; echo junk >"$folder/onnxruntime.whl" ;;
esac
"#;

impl Machine {
    fn new() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("bin/python3");
        fs::create_dir(python.parent().unwrap()).unwrap();
        fs::write(&python, PYTHON).unwrap();
        fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
        Machine { folder }
    }

    /// Returns the program with `arguments`, ready to be started on this machine.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = zeitnot(arguments);
        for variable in ["ORT_DYLIB_PATH", "LD_LIBRARY_PATH", "ZEITNOT_OFFLINE"] {
            command.env_remove(variable);
        }
        command
            .env("PATH", self.folder.path().join("bin"))
            .env("ASKED", self.folder.path().join("asked"))
            .env("ZEITNOT_CACHE_DIR", self.cache());
        command
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache")
    }

    /// Returns what Python was asked for, and forgets it.
    fn asked(&self) -> String {
        let path = self.folder.path().join("asked");
        let asked = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        asked
    }

    /// Returns whether the system has an ONNX Runtime, which cannot be hidden from the program.
    fn has_library(&self) -> bool {
        let found = self
            .command(&["doctor", "--json", "--backend=trivial"])
            .output()
            .unwrap();
        !stdout(&found).contains("none is installed")
    }
}

/// A regression: the first use of a backend that needs ONNX Runtime downloaded it, in the middle of whatever was going on.
#[test]
fn only_setup_fetches() {
    let machine = Machine::new();
    if machine.has_library() {
        return skipped("the system has an ONNX Runtime, so that there is nothing to fetch");
    }
    let weights = network("onnx_classical.pb.gz");
    let weights = ["--weights", weights.to_str().unwrap()];
    for (command, provider) in [
        (&["bench", "--nodes=10", "--backend=onnxruntime"][..], ""),
        (
            &["bench", "--nodes=10", "--backend=openvino"],
            " --provider openvino",
        ),
        (&["bench", "--nodes=10"], ""),
        (&["accuracy", "--backend=onnxruntime", "--positions=1"], ""),
        (&["backendbench", "--backend=onnxruntime", "--rounds=1"], ""),
    ] {
        let output = machine.command(&[command, &weights].concat()).output().unwrap();
        let wanted = format!("only `zeitnot setup{provider}` fetches it");
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(
            stderr(&output).contains(&wanted),
            "{command:?}: {}",
            stderr(&output)
        );
        let asked = machine.asked();
        assert!(!asked.contains("pip"), "{command:?}: {asked}");
    }
    let mut engine = Engine::spawn(&mut machine.command(&["--backend=random"]));
    engine.ask(
        &["setoption name Backend value onnxruntime", "isready"],
        "readyok",
    );
    let said = engine.ask(&["position startpos", "go nodes 10"], "info string ERROR");
    assert!(said.contains("only `zeitnot setup` fetches it"), "{said}");
    drop(engine);
    let doctor = machine.command(&["doctor", "--json"]).output().unwrap();
    assert!(
        stdout(&doctor).contains("`zeitnot setup` fetches it"),
        "{}",
        stdout(&doctor)
    );
    assert!(!machine.asked().contains("pip") && !machine.cache().exists());
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Returns what `setup` said, which has to fail.
fn failed(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
    stderr(output)
}

#[test]
fn nothing_is_fetched_offline() {
    let machine = Machine::new();
    if machine.has_library() {
        return skipped("the system has an ONNX Runtime, so that there is nothing to fetch");
    }
    machine.asked();
    for (flags, variable) in [(&["setup", "--offline"][..], "0"), (&["setup"], "1")] {
        let output = machine
            .command(flags)
            .env("ZEITNOT_OFFLINE", variable)
            .output()
            .unwrap();
        let message = failed(&output);
        assert!(
            message.contains("nothing is fetched with --offline or ZEITNOT_OFFLINE"),
            "{message}"
        );
        assert!(!message.contains("pip"), "pip would not help: {message}");
        assert!(!machine.asked().contains("pip") && !machine.cache().exists());
    }
}

/// A mirror or a proxy may give another file than the makers have published.
#[test]
fn a_file_with_another_hash_is_not_unpacked() {
    let machine = Machine::new();
    if machine.has_library() {
        return skipped("the system has an ONNX Runtime, so that there is nothing to fetch");
    }
    let output = machine.command(&["setup"]).output().unwrap();
    let message = failed(&output);
    assert!(message.contains("is not the one expected (SHA-256 "), "{message}");
    assert!(machine.asked().contains("pip download"));
    assert_eq!(files_in(&machine.cache()), ["onnxruntime.lock"]);
}

/// A regression: Python ran a `pip.py` or `random.py` of the folder in which `setup` was started.
#[test]
fn python_starts_in_an_empty_folder() {
    let machine = Machine::new();
    if machine.has_library() {
        return skipped("the system has an ONNX Runtime, so that there is nothing to fetch");
    }
    machine.asked();
    fs::write(machine.folder.path().join("pip.py"), "").unwrap();
    let output = machine
        .command(&["setup"])
        .current_dir(&machine.folder)
        .output()
        .unwrap();
    let asked = (failed(&output), machine.asked()).1;
    let pips: Vec<_> = asked.lines().filter(|line| line.starts_with("-m pip")).collect();
    assert!(
        pips.len() >= 2 && pips.iter().all(|line| line.ends_with("in a folder with *")),
        "{asked}"
    );
}

/// Looks at the system calls of whole runs: a UCI session with a search, a match, a report.
#[test]
#[ignore = "needs strace"]
fn no_socket_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let traced = |arguments: &[&str], input: &str| {
        let engine = env!("CARGO_BIN_EXE_zeitnot");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e", "trace=network", "-o"])
            .arg(&trace)
            .arg(engine)
            .args(arguments);
        command.stdin(
            fs::File::open({
                let path = folder.path().join("input");
                fs::write(&path, input).unwrap();
                path
            })
            .unwrap(),
        );
        command.current_dir(&folder).output()
    };
    let is_traced = traced(&["--version"], "").is_ok_and(|output| output.status.success());
    if !is_traced {
        return skipped("strace is not installed or may not trace");
    }
    let games = [
        "match",
        "--games=2",
        "--nodes=5",
        "--backend=random",
        "--out=games",
    ];
    for (arguments, input) in [
        (&["bench", "--nodes=20"][..], ""),
        (
            &["--verbose-move-stats"],
            "uci\nisready\nposition startpos\ngo nodes 50\nwait\nquit\n",
        ),
        (&games, ""),
        (&["report", "games/games.csv", "--out=page"], ""),
        (&["doctor", "--backend=random"], ""),
    ] {
        let output = traced(arguments, input).unwrap();
        // 1 is the doctor's: `random` evaluates no network.
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{arguments:?}: {}",
            stderr(&output)
        );
        let calls = fs::read_to_string(&trace).unwrap();
        let opened: Vec<_> = calls.lines().filter(|line| line.contains("AF_INET")).collect();
        assert!(opened.is_empty(), "{arguments:?}: {opened:?}");
    }
}

/// The crates are held to the same by `deny.toml`. `serve` listens where it is asked to, `board` on this machine, and
/// both connect to nobody.
#[test]
fn no_module_uses_sockets() {
    let mut open = vec![package_file("src"), package_file("crates")];
    let mut files = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&path).unwrap_or_default();
        let (text, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ""));
        let listens = ["serve.rs", "board/mod.rs"]
            .iter()
            .any(|name| path.ends_with(Path::new("commands").join(name)));
        let words: &[&str] = if listens {
            &["::connect", "UdpSocket", "UnixStream"]
        } else {
            &["std::net", "TcpStream", "UdpSocket", "UnixStream"]
        };
        for word in words {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
    assert!(files > 100);
}
