//! Runs the examples of the library.

#![allow(dead_code, reason = "each example has a `main`")]

#[path = "../../crates/engine/examples/backend.rs"]
mod backend;
#[path = "../../crates/engine/examples/evaluate.rs"]
mod evaluate;
#[path = "../../crates/engine/examples/listener.rs"]
mod listener;
#[path = "../../crates/engine/examples/manager.rs"]
mod manager;
#[path = "../../crates/engine/examples/positions.rs"]
mod positions;
#[path = "../../crates/engine/examples/search.rs"]
mod search;

use std::time::Duration;

use zeitnot_engine::chess::{History, Variant};

use zeitnot_engine::engine::{Engine, EngineError, Settings};
use zeitnot_engine::time::{Bounds, Limit};

/// White mates by Qxf7.
const MATE_IN_ONE: &str = "startpos moves e2e4 e7e5 d1h5 b8c6 f1c4 g8f6";

/// The mate ends it, for which nothing else does.
#[test]
fn a_listener_prints_its_search_and_ends_it() {
    let mut lines = Vec::new();
    listener::search(MATE_IN_ONE, Limit::Infinite, |line| lines.push(line)).unwrap();
    let [.., report, best] = &lines[..] else {
        panic!("{lines:#?}")
    };
    assert!(
        report.starts_with("+1.000 after ") && report.ends_with(": h5f7"),
        "{lines:#?}"
    );
    assert_eq!(best, "h5f7");
}

#[test]
fn a_list_of_positions_is_evaluated() {
    let fens = [
        "3q2k1/8/8/8/8/8/8/3R2K1 w - - 0 1",
        "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1",
        "3q2k1/8/8/8/8/8/8/3R2K1 b - - 0 1",
    ];
    let lines = evaluate::evaluate(&fens).unwrap();
    let moves = ["d1d8", "none", "d8d1"];
    for ((fen, mv), line) in fens.iter().zip(moves).zip(&lines) {
        assert!(
            line.starts_with(fen) && line.ends_with(&format!("move {mv}")),
            "{lines:#?}"
        );
    }
}

#[test]
fn a_hundred_positions_are_searched_at_once() {
    let mut found = Vec::new();
    positions::search(vec![History::start(); 100], 5, |line| found.push(line)).unwrap();
    assert_eq!(found.len(), 100);
    for line in found {
        let (fen, best) = line.rsplit_once(": ").unwrap();
        let game = History::from_fen(fen, Variant::Standard).unwrap();
        game.parse_move(best).unwrap();
    }
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
    // Smart pruning may leave out the last ones where they take long.
    assert!((40..60).contains(&visits.iter().sum::<u32>()), "{lines:#?}");
}

#[test]
fn a_backend_of_ones_own_wins_a_queen() {
    let hanging_queen = "fen 3q2k1/8/8/8/8/8/8/3R2K1 w - - 0 1";
    assert_eq!(backend::best_move(hanging_queen).unwrap(), "d1d8");
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
    for limit in [
        Limit::default(),
        Limit::Infinite,
        Limit::Until(Bounds {
            mate: Some(3),
            ..Bounds::default()
        }),
    ] {
        let error = engine.search(limit).unwrap_err();
        assert!(matches!(error, EngineError::Endless), "{error}");
    }
    engine.search(Limit::nodes(10)).unwrap();
}
