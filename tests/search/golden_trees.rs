//! Tests the search's golden trees: the same positions give the same visits, on every machine, until someone means to change
//! the search. `ZEITNOT_UPDATE=1 cargo test --test search` writes them anew; the diff then shows the change.

use serde_json::{Map, Value, json};

use crate::common::{data, run_json};

fn bench(args: &[&str]) -> Value {
    run_json(&[&["bench", "--json", "--backend=random"], args].concat())
}

/// Returns each position with the visits of its root moves, as JSON with a line for each move.
fn visits(report: &Value) -> String {
    let positions = report["positions"].as_array().unwrap().iter().map(|row| {
        let of_move = |entry: &Value| {
            (
                entry["move"].as_str().unwrap().to_string(),
                entry["visits"].clone(),
            )
        };
        let visits: Map<String, Value> = row["visits"].as_array().unwrap().iter().map(of_move).collect();
        json!({ "position": row["position"], "visits": visits })
    });
    serde_json::to_string_pretty(&positions.collect::<Vec<_>>()).unwrap() + "\n"
}

#[test]
fn visits_are_the_golden_ones() {
    let path = data("search/random.json");
    let found = visits(&bench(&[]));
    if std::env::var_os("ZEITNOT_UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap().replace('\r', "");
    for (number, (found, golden)) in found.lines().zip(golden.lines()).enumerate() {
        assert_eq!(found, golden, "line {} of {}", number + 1, path.display());
    }
    assert_eq!(found.len(), golden.len());
}

#[test]
fn bench_tells_what_scripts_rely_on() {
    let report = bench(&["--nodes=300"]);
    for key in [
        "nodes",
        "nps",
        "time_ms",
        "cpu_s",
        "evaluations",
        "cache_hits",
        "terminals",
        "collisions",
        "mean_batch",
        "device_busy",
        "bytes_per_node",
        "signature",
        "positions",
    ] {
        assert!(
            !report[key].is_null() || matches!(key, "cpu_s" | "device_busy"),
            "{key}: {report}"
        );
    }
    assert_eq!(report["nodes"], 3000);
    let visits = ["evaluations", "cache_hits", "terminals"].map(|key| report[key].as_u64().unwrap());
    assert_eq!(visits.iter().sum::<u64>(), 3000);
    assert!(
        bench(&["--nodes=300", "--threads=2"])["signature"].is_null(),
        "two threads are not reproducible"
    );
}
