//! Runs the examples of the library.

#[path = "../../crates/engine/examples/backend.rs"]
mod backend;
#[path = "../../crates/engine/examples/listener.rs"]
mod listener;
#[path = "../../crates/engine/examples/manager.rs"]
mod manager;
#[path = "../../crates/engine/examples/search.rs"]
mod search;

use std::time::Duration;

use zeitnot_engine::engine::{Engine, EngineError, Settings};
use zeitnot_engine::time::{Bounds, Limit};

/// White mates by Qxf7.
const MATE_IN_ONE: &str = "startpos moves e2e4 e7e5 d1h5 b8c6 f1c4 g8f6";

#[test]
fn a_listener_prints_its_search() {
    let mut lines = Vec::new();
    listener::search(MATE_IN_ONE, 50, |line| lines.push(line)).unwrap();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("#1 after ") && line.ends_with(": h5f7")),
        "{lines:#?}"
    );
    assert_eq!(lines.last().unwrap(), "best h5f7");
}

#[test]
fn visits_are_listed_in_order() {
    let mut lines = Vec::new();
    search::search("startpos", Limit::nodes(60), &mut |line| lines.push(line)).unwrap();
    let visits: Vec<u32> = lines
        .iter()
        .filter_map(|line| line.split_once(' ')?.1.parse().ok())
        .collect();
    assert!(
        visits.len() > 2 && visits.is_sorted_by(|a, b| a >= b),
        "{lines:#?}"
    );
    assert!(
        visits.iter().sum::<u32>() >= 59,
        "all but the root's own: {lines:#?}"
    );
}

#[test]
fn a_backend_of_ones_own_wins_a_queen() {
    backend::main().unwrap();
}

#[test]
fn a_manager_of_ones_own_keeps_its_clock() {
    let start = Duration::from_secs(6);
    let left = manager::play(start, Duration::ZERO).unwrap();
    // Ten moves of a thirtieth of the rest each leave 0.71 of it.
    assert!(left.iter().all(|left| *left > start / 4), "{left:?}");
}

#[test]
fn a_search_without_an_end_is_refused() {
    let mut settings = Settings::default();
    settings.set("Backend", "trivial").unwrap();
    let mut engine = Engine::new(settings).unwrap();
    for limits in [
        Limit::default(),
        Limit::Infinite,
        Limit::from(Bounds {
            mate: Some(3),
            ..Bounds::default()
        }),
    ] {
        let error = engine.search(limits).unwrap_err();
        assert!(matches!(error, EngineError::Endless), "{error}");
    }
    engine.search(Limit::nodes(10)).unwrap();
}
