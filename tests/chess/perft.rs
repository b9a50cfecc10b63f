//! Compares legal move counts with the numbers of the usual suites (`tests/data/perft`).

use zeitnot_engine::chess::{Position, perft};

use crate::common::data;

/// Checks every position of a suite at its greatest depth that has at most `max_nodes` leaves.
///
/// A line is `FEN ;D1 nodes ;D2 nodes …`.
fn check_suite(file: &str, max_nodes: u64) {
    let text = std::fs::read_to_string(data("perft").join(file)).unwrap();
    let mut checked = 0;
    for line in text.lines() {
        let mut parts = line.split(';');
        let fen = parts.next().unwrap().trim();
        let mut counts = parts.map(|part| {
            let (depth, nodes) = part.trim().strip_prefix('D').unwrap().split_once(' ').unwrap();
            (depth.parse::<u32>().unwrap(), nodes.parse::<u64>().unwrap())
        });
        let (depth, nodes) = counts.rfind(|&(_, nodes)| nodes <= max_nodes).unwrap();
        let position = Position::from_fen(fen).unwrap();
        assert_eq!(perft(&position, depth), nodes, "{fen} at depth {depth}");
        checked += 1;
    }
    assert!(checked > 100, "{file} has only {checked} positions");
}

#[test]
fn standard_suite() {
    check_suite("perftsuite.epd", 5_000_000);
}

#[test]
fn chess960_suite() {
    check_suite("frcperftsuite.epd", 400_000);
}
