//! Tests `RamLimitMb`: memory stays within it, and the search goes on.

use crate::common::engine::Engine;

/// Returns the resident memory of the engine's process, bytes.
fn resident(engine: &Engine) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", engine.process.id())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Returns an engine whose freed memory goes back to the system. glibc raises its bound for that by itself, and then keeps for later what the
/// tree frees, up to 20 MB in some runs.
fn start(flags: &[&str]) -> Engine {
    Engine::spawn(crate::common::zeitnot(flags).env("MALLOC_MMAP_THRESHOLD_", "65536"))
}

/// Returns an engine with this limit and these flags, ready to search, and the memory of its process: program, network, threads and, once
/// they have searched, their batches.
fn limited(megabytes: u64, flags: &[&str]) -> (Engine, u64) {
    let ram = format!("--ramlimit-mb={megabytes}");
    let mut engine = start(&[&["--smart-pruning-factor=0", &ram], flags].concat());
    engine.best_move(&["position startpos", "go nodes 600"]);
    engine.ask(&["ucinewgame", "isready"], "readyok");
    let before = resident(&engine);
    (engine, before)
}

/// Returns the largest memory while searches of more nodes than fit are made in a game that goes on.
#[cfg(target_os = "linux")]
fn largest_resident(engine: &mut Engine, nodes: u64) -> u64 {
    let mut largest = 0;
    for position in ["startpos", "startpos moves e2e4 c7c5"] {
        engine.send(&format!("position {position}"));
        engine.send(&format!("go nodes {nodes}"));
        let (mut line, mut info) = (String::new(), String::new());
        while !line.starts_with("bestmove") {
            line = engine.read_until("").remove(0);
            largest = largest.max(resident(engine));
            if line.starts_with("info depth") {
                info.clone_from(&line);
            }
        }
        let told = info
            .split(' ')
            .skip_while(|word| *word != "nodes")
            .nth(1)
            .unwrap();
        assert!(told.parse::<u64>().unwrap() >= nodes, "{info}");
    }
    largest
}

#[test]
#[cfg(target_os = "linux")]
fn searches_go_on_at_their_limit_within_three_percent() {
    for (megabytes, flags) in [
        (30, ["--threads=1", "--minibatch-size=1"]),
        (30, ["--threads=2", "--minibatch-size=256"]),
        (50, ["--threads=2", "--minibatch-size=32"]),
    ] {
        let (mut engine, before) = limited(megabytes, &[&["--backend=random"], flags.as_slice()].concat());
        let taken = (largest_resident(&mut engine, 11_000 * megabytes) - before) as f64;
        let share = taken / (megabytes * 1_000_000) as f64;
        assert!(
            (0.8..=1.03).contains(&share),
            "{taken} bytes at {megabytes} MB, {flags:?}"
        );
    }
}

/// A regression: the tree of a game that was over stayed until the next search, which freed it with its clock running.
#[test]
#[cfg(target_os = "linux")]
fn a_new_game_frees_the_tree_at_once() {
    let mut engine = start(&["--backend=trivial", "--threads=2", "--nncache=0"]);
    engine.send("position startpos");
    engine.best_move(&["go nodes 200000"]);
    let full = resident(&engine);
    engine.ask(&["ucinewgame", "isready"], "readyok");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while resident(&engine) + 12_000_000 > full {
        assert!(
            std::time::Instant::now() < deadline,
            "{} bytes stay of {full}",
            resident(&engine)
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn an_infinite_search_at_its_limit_goes_on_and_stops_when_told() {
    let (mut engine, _) = limited(10, &["--backend=random", "--threads=2"]);
    engine.send("go infinite");
    engine.assert_no_best_move(std::time::Duration::from_millis(1500));
    engine.best_move(&["stop"]);
}
