//! Tests that what a search finds does not depend on moves that were chosen for earlier ones.

use std::collections::BTreeSet;

use zeitnot_engine::chess::{History, Variant};

use crate::common::data;
use crate::common::engine::{Engine, last_info, number};

const ITALIAN: &str = "startpos moves e2e4 e7e5 g1f3 b8c6 f1c4";

/// Returns an engine with the built-in network that says values as expected results, in ten thousandths.
fn engine() -> Engine {
    let mut engine = Engine::start(&[
        "--weights=<built in>",
        "--backend=native",
        "--backend-opts=precision=fp32",
        "--threads=1",
        "--smart-pruning-factor=0",
        "--score-type=Q",
    ]);
    engine.ask(&["isready"], "readyok");
    engine
}

fn go(nodes: u32, moves: &[String]) -> String {
    match moves {
        [] => format!("go nodes {nodes}"),
        _ => format!("go nodes {nodes} searchmoves {}", moves.join(" ")),
    }
}

/// Returns the move, its value and the nodes.
fn found(lines: &[String]) -> (String, f64, u32) {
    let best = lines.last().unwrap().split(' ').nth(1).unwrap();
    let info = last_info(lines);
    (
        best.into(),
        f64::from(number::<i32>(info, "cp")) / 1e4,
        number(info, "nodes"),
    )
}

#[test]
fn a_search_finds_the_same_whatever_moves_were_chosen_before() {
    const NODES: u32 = 40;
    const POSITIONS: usize = 30;
    /// What two searches of so few nodes may differ in.
    const NOISE: f64 = 0.25;
    const MEAN_NOISE: f64 = 0.05;
    let openings = std::fs::read_to_string(data("openings.epd")).unwrap();
    let openings: Vec<_> = openings.lines().collect();
    let mut rng = fastrand::Rng::with_seed(86);
    let (mut used, mut fresh) = (engine(), engine());
    let mut differences = Vec::new();
    for place in 0..POSITIONS {
        let fen = format!("{} 0 1", openings[place % openings.len()]);
        let mut game = History::from_fen(&fen, Variant::Standard).unwrap();
        for _ in 0..place / openings.len() {
            game.push(rng.choice(game.legal_moves()).unwrap());
        }
        let legal: Vec<_> = game
            .legal_moves()
            .iter()
            .map(|&mv| game.format_move(mv))
            .collect();
        let mut choice = || -> Vec<String> {
            let len = [0, 1, 1, 2, 5, legal.len() / 2][rng.usize(..6)];
            (0..len).map(|_| rng.choice(&legal).unwrap().clone()).collect()
        };
        let earlier: Vec<_> = (0..2).map(|_| go(NODES, &choice())).collect();
        let last = choice();
        let position = format!("position fen {}", game.current().to_fen());
        used.send("ucinewgame");
        for search in &earlier {
            used.search(&[&position, search]);
        }
        let (best, value, nodes) = found(&used.search(&[&position, &go(NODES, &last)]));
        let alone = fresh.search(&["ucinewgame", &position, &go(NODES, &last)]);
        let (_, value_alone, _) = found(&alone);
        let told = format!("{position}: {earlier:?}, then {last:?}: {best} {value}, alone {value_alone}");
        let allowed: BTreeSet<_> = if last.is_empty() { &legal } else { &last }.iter().collect();
        assert!(allowed.contains(&best) && nodes >= NODES, "{told}");
        assert!((value - value_alone).abs() < NOISE, "{told}");
        differences.push((value - value_alone).abs());
    }
    let mean = differences.iter().sum::<f64>() / POSITIONS as f64;
    assert!(mean < MEAN_NOISE, "{mean}: {differences:?}");
}

/// A regression: the value of all moves was shown as that of a move that loses the queen.
#[test]
fn a_chosen_move_has_its_own_value() {
    let mut engine = engine();
    let position = format!("position {ITALIAN}");
    engine.search(&[&position, "go nodes 200"]);
    let (best, value, nodes) = found(&engine.search(&[&position, "go nodes 100 searchmoves d8h4"]));
    assert_eq!((best.as_str(), nodes), ("d8h4", 100));
    assert!(value < -0.5, "{value}");
}

/// A regression: a move that was searched alone was played, as it had most visits.
#[test]
fn a_move_that_was_searched_alone_is_not_preferred() {
    let mut engine = engine();
    let position = format!("position {ITALIAN}");
    engine.search(&[&position, "go nodes 200 searchmoves d8h4"]);
    engine.set(&[("MultiPV", "2")]);
    let both = engine.search(&[&position, "go nodes 150 searchmoves d8h4 g8f6"]);
    assert_eq!(found(&both).0, "g8f6");
    let lines = |line: &String| line.contains("multipv 2");
    assert!(
        !both.iter().any(lines),
        "the other one has no visit, and no value: {both:?}"
    );
    let (best, value, _) = found(&engine.search(&[&position, "go nodes 100"]));
    assert!(best != "d8h4" && value > -0.3, "{best} {value}");
}
