//! Tests that the search, at batch 1 on one thread, visits what Lc0's search visits with the same network.
//!
//! `lc0_visits.json.gz` holds the visits of the root's moves after searches by Lc0 0.33 (backend blas, one thread, batch 1, no
//! prefetch, no smart pruning, a new game each time). They belong to one network, named by its SHA-256: where the shipped
//! one is another by now, a copy of the old one must lie beside them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;

use flate2::read::GzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::common::engine::Engine;
use crate::common::{data, package_file};

/// Last bits of the network's values differ from kernel to kernel, and now and then decide a visit.
const LARGEST_DISTANCE: f64 = 0.05;
/// Of the distances after a number of nodes.
const MEAN_DISTANCE: f64 = 0.002;

#[derive(Deserialize)]
struct Recording {
    network_sha256: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    position: String,
    searches: Vec<RecordedSearch>,
}

#[derive(Deserialize)]
struct RecordedSearch {
    /// The limit that was asked for.
    nodes: u32,
    /// The visits of the root at the end: Lc0 looks at the limit after each gathering, which can be a visit or two late.
    root_visits: u32,
    bestmove: String,
    /// Visits of the root's moves that have any.
    visits: BTreeMap<String, u32>,
}

/// Returns the network that `recording` was made with.
fn network(recording: &Recording) -> PathBuf {
    let places = [
        package_file("models/zeitnot-small.pb.gz"),
        data("search/lc0_visits.pb.gz"),
    ];
    let hex = |bytes: Vec<u8>| {
        Sha256::digest(bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let found = places
        .iter()
        .find(|path| std::fs::read(path).is_ok_and(|bytes| hex(bytes) == recording.network_sha256));
    found
        .unwrap_or_else(|| {
            panic!(
                "no network {}: keep a copy of the old one in {}",
                recording.network_sha256,
                places[1].display()
            )
        })
        .clone()
}

/// Returns the visits of the root's moves that have any, out of the lines that a search printed.
fn visits(lines: &[String]) -> BTreeMap<String, u32> {
    let of_line = |line: &String| {
        let text = line.strip_prefix("info string ")?;
        let mv = text.split_whitespace().next().filter(|&mv| mv != "node")?;
        let visits = text.split_once("N:")?.1.split_whitespace().next()?.parse().ok()?;
        (visits > 0).then(|| (mv.to_string(), visits))
    };
    lines.iter().filter_map(of_line).collect()
}

/// Returns the distance of two distributions of visits: the share that goes to other moves (total variation).
fn distance(a: &BTreeMap<String, u32>, b: &BTreeMap<String, u32>) -> f64 {
    let [a_sum, b_sum] = [a, b].map(|visits| f64::from(visits.values().sum::<u32>().max(1)));
    let share =
        |visits: &BTreeMap<String, u32>, mv, sum| f64::from(visits.get(mv).copied().unwrap_or(0)) / sum;
    let moves = a.keys().chain(b.keys().filter(|mv| !a.contains_key(*mv)));
    moves
        .map(|mv| (share(a, mv, a_sum) - share(b, mv, b_sum)).abs())
        .sum::<f64>()
        / 2.0
}

struct Compared {
    nodes: u32,
    distance: f64,
    has_same_best: bool,
}

/// Searches what Lc0 searched, by an engine of its own.
fn compare(weights: &str, cases: &[Case]) -> Vec<Compared> {
    let mut engine = Engine::start(&[
        weights,
        "--backend=native",
        "--backend-opts=precision=fp32",
        "--threads=1",
        "--minibatch-size=1",
        "--smart-pruning-factor=0",
        "--leaf-mate-search=0",
        "--lcb-factor=0",
        "--verbose-move-stats=true",
    ]);
    engine.ask(&["isready"], "readyok");
    let mut compared = Vec::new();
    for Case { position, searches } in cases {
        for recorded in searches {
            let lines = engine.search(&[
                "ucinewgame",
                &format!("position {position}"),
                &format!("go nodes {}", recorded.root_visits),
            ]);
            let best = lines.last().unwrap().split_whitespace().nth(1);
            let distance = distance(&visits(&lines), &recorded.visits);
            assert!(
                distance <= LARGEST_DISTANCE,
                "{distance} after {} nodes in {position}",
                recorded.nodes
            );
            compared.push(Compared {
                nodes: recorded.nodes,
                distance,
                has_same_best: best == Some(&recorded.bestmove),
            });
        }
    }
    compared
}

#[test]
fn a_batch_of_one_visits_what_lc0_visits() {
    let file = std::fs::File::open(data("search/lc0_visits.json.gz")).unwrap();
    let recording: Recording = serde_json::from_reader(GzDecoder::new(file)).unwrap();
    let weights = format!("--weights={}", network(&recording).display());
    // It is the longest of these tests: two halves run beside each other.
    let halves = recording.cases.chunks(recording.cases.len().div_ceil(2));
    let compared: Vec<Compared> = thread::scope(|scope| {
        let started: Vec<_> = halves
            .map(|cases| scope.spawn(|| compare(&weights, cases)))
            .collect();
        started
            .into_iter()
            .flat_map(|half| half.join().unwrap())
            .collect()
    });
    let mut distances: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for Compared { nodes, distance, .. } in &compared {
        distances.entry(*nodes).or_default().push(*distance);
    }
    assert_eq!(distances.keys().copied().collect::<Vec<_>>(), [50, 200, 800]);
    for (nodes, distances) in distances {
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        println!("{nodes} nodes: mean distance {mean:.5} over {}", distances.len());
        assert!(mean <= MEAN_DISTANCE, "{mean} after {nodes} nodes");
    }
    let same_best = compared.iter().filter(|search| search.has_same_best).count();
    assert!(
        same_best * 100 >= compared.len() * 98,
        "the same best move in {same_best} of {}",
        compared.len()
    );
}
