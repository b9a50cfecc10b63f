//! Tests `zeitnot match` with several engines, and its log of external ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{assert_refused, json, run, stderr, with_origins, zeitnot};

const FIXED: [&str; 6] = [
    "match",
    "--backend=trivial",
    "--max-plies=60",
    "--games=6",
    "--threads=2",
    "--openings=none",
];
const ENGINES: [&str; 3] = [
    "--engine=name=weak,nodes=2",
    "--engine=name=middle,nodes=30",
    "--engine=name=strong,nodes=90",
];

fn play(folder: &Path, more: &[&str]) -> Value {
    let arguments = [&FIXED[..5], &ENGINES, &["--json"], more].concat();
    json(&zeitnot(&arguments).arg("--out").arg(folder).output().unwrap())
}

fn pairs(found: &Value) -> Vec<[&str; 2]> {
    let matches = found["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|one| ["a", "b"].map(|side| one[side].as_str().unwrap()))
        .collect()
}

#[test]
fn every_two_engines_have_a_match_over_the_same_openings() {
    let folder = tempfile::tempdir().unwrap();
    let (all, read) = (folder.path().join("all"), |path: &Path| {
        std::fs::read_to_string(path).unwrap()
    });
    let found = play(&all, &[]);
    assert_eq!(
        pairs(&found),
        [["weak", "middle"], ["weak", "strong"], ["middle", "strong"]]
    );
    for one in found["matches"].as_array().unwrap() {
        assert_eq!(
            (&one["games"], &one["unpaired_games"]),
            (&6.into(), &0.into()),
            "{one}"
        );
    }
    assert_eq!(found["ranking"][2]["name"], "weak", "{found}");
    let rows = read(&all.join("games.csv"));
    let mut openings = BTreeMap::<&str, u64>::new();
    rows.lines()
        .skip(1)
        .for_each(|row| *openings.entry(row.split(',').nth(8).unwrap()).or_default() += 1);
    assert!(
        openings.len() == 3 && openings.values().all(|games| *games == 6),
        "{rows}"
    );
    let page = read(&all.join("index.html"));
    for heading in [
        "weak against middle",
        "weak against strong",
        "middle against strong",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    // It goes on behind a game that was cut off, and shards are parts of it.
    let journal = read(&all.join("games.jsonl"));
    let half = journal.lines().take(7).collect::<Vec<_>>().join("\n") + "\n{\"half";
    std::fs::write(all.join("games.jsonl"), half).unwrap();
    for name in ["games.csv", "moves.csv", "games.pgn"] {
        std::fs::remove_file(all.join(name)).unwrap();
    }
    assert_eq!(play(&all, &[])["matches"], found["matches"]);
    assert_eq!(read(&all.join("games.csv")), rows);
    let shards = ["1/2", "2/2"].map(|shard| {
        let path = folder.path().join(shard.replace('/', "-"));
        play(&path, &["--shard", shard]);
        path
    });
    let report = |folders: &[PathBuf]| {
        let output = zeitnot(&["report", "--json"]).args(folders).output().unwrap();
        with_origins(&output).0
    };
    let of_shards = report(&shards);
    assert_eq!(of_shards, report(std::slice::from_ref(&all)));
    assert_eq!(of_shards["ranking"], found["ranking"]);
    let gauntlet = play(&folder.path().join("gauntlet"), &["--tournament=gauntlet"]);
    assert_eq!(pairs(&gauntlet), [["weak", "middle"], ["weak", "strong"]]);
}

#[test]
fn a_tournament_has_a_table_of_all_pairs_and_no_sequential_test() {
    let output = run(&[&FIXED[..], &ENGINES, &["--games=2"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for told in [
        "weak    middle",
        "weak    strong",
        "middle  strong",
        "All players",
    ] {
        assert!(text.contains(told), "{told}: {text}{}", stderr(&output));
    }
    for (more, message) in [
        (&["--engine=nodes=2"][..], "--engine: name two engines or more"),
        (&["--engine=nodes=2", "--b=nodes=3"], "cannot be used with"),
        (
            &[ENGINES[0], ENGINES[1], "--engine=nodes=0"],
            "--engine: nodes=0: expected a number",
        ),
        (
            &[ENGINES[0], ENGINES[1], ENGINES[2], "--sprt=elo0=0,elo1=5"],
            "--sprt: it tests a match of two",
        ),
    ] {
        assert_refused(&run(&[&FIXED[..], more].concat()), message);
    }
}

#[cfg(unix)]
#[test]
fn what_an_external_engine_said_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, log) = (folder.path().join("engine.sh"), folder.path().join("engine.log"));
    let script = "echo why >&2\nwhile read word rest; do case $word in uci) echo uciok;; isready) echo readyok;; \
                  go) echo bestmove e2e5;; quit) exit;; esac; done\n";
    std::fs::write(&engine, script).unwrap();
    let side = format!("--b=cmd=/bin/sh,args={},nodes=5", engine.display());
    let log_flag = format!("--engine-log={}", log.display());
    for _ in 0..2 {
        let output = run(&[&FIXED[..], &["--a=nodes=5", &side, "--games=1", &log_flag]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let text = std::fs::read_to_string(&log).unwrap();
    for told in [
        "] > uci\n",
        "] < uciok\n",
        "] ! why\n",
        "] > go nodes 5\n",
        "] < bestmove e2e5\n",
        "] > quit\n",
    ] {
        assert_eq!(text.matches(told).count(), 2, "{told}: {text}");
    }
}
