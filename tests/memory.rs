//! `RamLimitMb`: memory stays within it, and the search goes on.

#[path = "common/engine.rs"]
mod engine;

use engine::Engine;

/// Resident memory of the engine's process, bytes.
fn resident(engine: &Engine) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", engine.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// An engine whose tree and cache together have this limit, and the memory of the process before they hold anything.
fn limited(megabytes: &str) -> (Engine, u64) {
    let ram = format!("--ramlimit-mb={megabytes}");
    let mut engine = Engine::start(&[
        "--backend=random",
        "--threads=2",
        "--minibatch-size=32",
        "--smart-pruning-factor=0",
        &ram,
    ]);
    engine.ask(&["isready"], "readyok");
    engine.best_move(&["go nodes 100"]);
    let before = resident(&engine);
    (engine, before)
}

#[test]
#[cfg(target_os = "linux")]
fn a_search_goes_on_at_its_limit_within_three_percent() {
    let (mut engine, before) = limited("80");
    let mut largest = 0;
    for position in ["startpos", "startpos moves e2e4", "startpos moves e2e4 c7c5 g1f3"] {
        engine.send(&format!("position {position}"));
        // More than fits.
        let lines = {
            engine.send("go nodes 600000");
            engine.read_until("bestmove")
        };
        let last = lines.iter().rfind(|line| line.starts_with("info depth")).unwrap();
        let nodes: u64 = last.split(' ').skip_while(|word| *word != "nodes").nth(1).unwrap().parse().unwrap();
        assert!(nodes >= 600_000, "{last}");
        largest = largest.max(resident(&engine) - before);
    }
    assert!((70_000_000..=82_400_000).contains(&largest), "{largest}");
}

#[test]
fn an_infinite_search_at_its_limit_goes_on_and_stops_when_told() {
    let (mut engine, _) = limited("10");
    engine.send("go infinite");
    engine.assert_no_best_move(std::time::Duration::from_millis(1500));
    engine.best_move(&["stop"]);
}
