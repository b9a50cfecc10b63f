//! Tests `zeitnot timelab` and `report` from outside: figures, rows, and shards that add up exactly.

use std::path::Path;
use std::process::Output;

use crate::common::{error_message, json, run, with_origins};

/// Returns nine games in which knights go out and home for different numbers of moves.
fn games() -> String {
    let shuffle = ["Nf3 Nf6 ", "Ng1 Ng8 "];
    let game = |i: usize| {
        let moves: String = shuffle.iter().copied().cycle().take(30 + 7 * i).collect();
        format!("[Termination \"adjudication\"]\n[Result \"1/2-1/2\"]\n\n{moves}1/2-1/2\n\n")
    };
    (0..9).map(game).collect()
}

fn timelab(pgn: &Path, more: &[&str]) -> Output {
    let pgn = pgn.to_str().unwrap();
    let managers = ["--manager", "smooth(mle-pieces)", "--manager", "legacy"];
    run(&[
        &["timelab", "--json", "--pgn", pgn, "--tc", "30+0.3,20/60"],
        &managers[..],
        more,
    ]
    .concat())
}

#[test]
fn managers_by_time_control() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("games.pgn");
    std::fs::write(&pgn, games()).unwrap();
    let answer = json(&timelab(&pgn, &[]));
    let cells = answer["managers"].as_array().unwrap();
    let names: Vec<_> = cells
        .iter()
        .map(|cell| format!("{} {}", cell["name"], cell["control"]))
        .collect();
    let [own, legacy] = [r#""smooth(mle-pieces)""#, r#""legacy""#];
    let expected = ["30+0.3", "20/60"].map(|tc| [format!("{own} \"{tc}\""), format!("{legacy} \"{tc}\"")]);
    assert_eq!(names, expected.as_flattened());
    for cell in cells {
        assert_eq!(
            (cell["games"].as_u64(), cell["losses"].as_u64()),
            (Some(9), Some(0)),
            "{cell}"
        );
        let used = cell["time_used"].as_f64().unwrap();
        assert!((0.3..=1.0).contains(&used), "{cell}");
        assert!(
            cell["nodes_cv"].as_f64().unwrap() > 0.0 && cell["min_clock_ms"].as_f64().unwrap() > 0.0,
            "{cell}"
        );
        // Two moves in three of these games have no rival, and near its end any move is decided by a small lead; nothing said
        // before how often smart pruning ends a move.
        assert!((0.01..=1.0).contains(&cell["pruned"].as_f64().unwrap()), "{cell}");
        assert!(
            (0.01..1.0).contains(&cell["pruning_saved"].as_f64().unwrap()),
            "{cell}"
        );
        assert!(cell["moves_left_mae"]["opening"].as_f64().is_some(), "{cell}");
    }
}

#[test]
fn shards_add_up_to_the_whole_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("games.pgn"), games()).unwrap();
    let out = |name: &str| path(name).to_str().unwrap().to_owned();
    let whole = timelab(&path("games.pgn"), &["--out", &out("whole"), "--threads=1"]);
    let mut files = Vec::new();
    for i in ["3", "1", "2"] {
        json(&timelab(
            &path("games.pgn"),
            &["--out", &out(i), "--shard", &format!("{i}/3")],
        ));
        files.extend([out(&format!("{i}/moves.csv")), out(&format!("{i}/games.csv"))]);
    }
    let mut args = vec!["report", "--json", "--out"];
    let merged = out("merged");
    args.push(&merged);
    args.extend(files.iter().map(String::as_str));
    let [(report, of_report), (findings, of_whole)] = [run(&args), whole].map(|output| with_origins(&output));
    assert_eq!(report, findings);
    assert_eq!(
        (of_report.len(), of_whole.len()),
        (4, 1),
        "the runs of the shards, and the report"
    );
    assert_eq!(of_report[0]["facts"], of_whole[0]["facts"]);
    let page = |name: &str| std::fs::read_to_string(path(name).join("index.html")).unwrap();
    let findings = |name: &str| page(name).split("How this was made").next().unwrap().to_owned();
    assert_eq!(findings("merged"), findings("whole"));
    assert_eq!(
        page("merged").matches("<pre>zeitnot timelab ").count(),
        3,
        "the commands of the shards"
    );
    assert!(page("merged").contains("<pre>zeitnot report ") && page("whole").contains("<dt>version</dt>"));
    assert!(page("whole").contains("<svg"));
    for name in ["games.csv", "moves.csv"] {
        let read = |folder: &str| std::fs::read_to_string(path(folder).join(name)).unwrap();
        assert!(
            read("merged") == read("whole"),
            "{name} differs from that of one run"
        );
    }
    // One game leaves the other shard without any.
    let part = |shard: &str| {
        let out = out(&format!("one{}", &shard[..1]));
        json(&timelab(
            &path("games.pgn"),
            &["--max-games", "1", "--out", &out, "--shard", shard],
        ));
        [format!("{out}/games.csv"), format!("{out}/moves.csv")]
    };
    let [[a, b], [c, d]] = [part("1/2"), part("2/2")];
    assert_eq!(
        json(&run(&["report", "--json", &a, &b, &c, &d]))["managers"][0]["games"],
        1
    );
}

#[test]
fn reports_never_destroy_or_double_their_input() {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, out) = (folder.path().join("games.pgn"), folder.path().to_str().unwrap());
    std::fs::write(&pgn, games()).unwrap();
    json(&timelab(&pgn, &["--out", out]));
    let [rows, moves] = ["games.csv", "moves.csv"].map(|name| format!("{out}/{name}"));
    let before = std::fs::read(&rows).unwrap();
    let refused = error_message(&["report", &rows, "--out", out]);
    assert!(
        refused.contains("would overwrite") && refused.contains("another folder"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&rows).unwrap(), before);
    for file in [&rows, &moves] {
        assert!(error_message(&["report", &rows, file, file]).contains("is in two of the files"));
    }
    for twice in [["--manager", "legacy"], ["--tc", "30+0.3"]] {
        let refused = timelab(&pgn, &twice);
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("is named twice"),
            "{refused:?}"
        );
    }
}

#[test]
fn a_shard_without_games_is_part_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("games.pgn");
    std::fs::write(&pgn, games()).unwrap();
    let part = |shard: &str| {
        let out = folder.path().join(&shard[..1]).to_str().unwrap().to_owned();
        json(&timelab(
            &pgn,
            &["--max-games", "1", "--out", &out, "--shard", shard],
        ));
        [format!("{out}/games.csv"), format!("{out}/moves.csv")]
    };
    let [[a, b], [c, d]] = [part("1/2"), part("2/2")];
    assert_eq!(
        json(&run(&["report", "--json", &a, &b, &c, &d]))["managers"][0]["games"],
        1
    );
}

#[test]
fn recorded_clocks_are_what_managers_see() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("games.pgn");
    let moves: String = (0..30)
        .map(|i| {
            let m = ["Nf3", "Nf6", "Ng1", "Ng8"][i % 4];
            format!("{m} {{[%clk 0:00:{:02}]}} ", 59 - i)
        })
        .collect();
    let game = format!("[Termination \"adjudication\"]\n[TimeControl \"60+0\"]\n\n{moves}1/2-1/2\n\n");
    std::fs::write(&pgn, game.clone() + &game.replace("[%clk 0:00:50]", "")).unwrap();
    let folder = folder.path().join("out");
    let pgn = pgn.to_str().unwrap();
    let manager = [
        "--manager",
        "alphazero(alphazero-time-pct=10)",
        "--move-overhead",
        "0",
    ];
    let args = [
        "timelab",
        "--json",
        "--pgn",
        pgn,
        "--recorded-clocks",
        "--out",
        folder.to_str().unwrap(),
    ];
    let answer = json(&run(&[&args[..], &manager].concat()));
    assert_eq!(
        answer["managers"][0]["games"], 1,
        "the game with a gap in its clocks is left out"
    );
    let rows = std::fs::read_to_string(folder.join("moves.csv")).unwrap();
    let columns: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let budgets: Vec<(f64, f64)> = rows
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (
                cells[column("clock_ms")].parse().unwrap(),
                cells[column("budget_ms")].parse().unwrap(),
            )
        })
        .collect();
    // White's clock shows 60, then 59 after its first move, 57 after its second, …; less the reserve for lag: none here.
    assert_eq!(
        budgets[..3],
        [(60_000.0, 6_000.0), (59_000.0, 5_900.0), (57_000.0, 5_700.0)]
    );
}

#[test]
fn wrong_input_is_named() {
    assert!(error_message(&["timelab", "--pgn", "no.pgn", "--manager", "legacy"]).contains("no.pgn"));
    assert!(error_message(&["timelab", "--pgn", "no.pgn", "--manager", "lazy"]).contains("smooth"));
    assert!(error_message(&["timelab", "--pgn", "no.pgn", "--tc", "soon"]).contains("60+0.6"));
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "a,b\n1,2\n").unwrap();
    assert!(error_message(&["report", rows.to_str().unwrap()]).contains("timelab"));
}
