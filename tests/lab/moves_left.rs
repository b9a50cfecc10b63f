//! Tests `zeitnot movesleft` and `zeitnot report`: from recorded games to rows and figures. The backend
//! `random` stands for a network.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{assert_refused, run, stderr, with_origins, zeitnot};

/// Morphy against the Duke of Brunswick and Count Isouard, Paris 1858.
const OPERA: &str = "1. e4 e5 2. Nf3 d6 3. d4 Bg4 4. dxe5 Bxf3 5. Qxf3 dxe5 6. Bc4 Nf6 7. Qb3 Qe7 8. Nc3 c6 9. Bg5 b5 \
                     10. Nxb5 cxb5 11. Bxb5+ Nbd7 12. O-O-O Rd8 13. Rxd7 Rxd7 14. Rd1 Qe6 15. Bxd7+ Nxd7 16. Qb8+ Nxb8 17. Rd8#";

/// Returns games that end by the same mate, behind more and more moves of knights to and fro, the `broken`-th
/// (from 1) with an illegal move.
fn games(count: usize, broken: usize) -> String {
    let moves = OPERA.split_whitespace().filter(|word| !word.ends_with('.'));
    let moves = moves.collect::<Vec<_>>().join(" ");
    let game = |number: usize| {
        let moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(number % 7) + &moves;
        let moves = if number == broken {
            moves.replace("Nf3", "Nf5")
        } else {
            moves
        };
        format!("[Event \"event {number}\"]\n[Result \"1-0\"]\n\n{moves} 1-0\n\n")
    };
    (1..=count).map(game).collect()
}

fn succeed(arguments: &[&str]) -> Output {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output
}

/// Measures `pgn` into `out` and returns the findings.
fn measure(pgn: &Path, out: &Path, more: &[&str]) -> Value {
    let (pgn, out) = (pgn.to_str().unwrap(), out.to_str().unwrap());
    let fixed = [
        "movesleft",
        "--json",
        "--backend",
        "random",
        "--pgn",
        pgn,
        "--out",
        out,
    ];
    let (findings, made_by) = with_origins(&succeed(&[&fixed, more].concat()));
    let facts = &made_by[0]["facts"];
    assert_eq!(facts[0][0], "network", "{facts}");
    assert_eq!(facts[1], json!(["options", "--backend=random"]), "{facts}");
    findings
}

/// Measures games in a folder, which has the results in `out`.
fn measured(games: &str, more: &[&str]) -> (TempDir, PathBuf, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, out) = (folder.path().join("games.pgn"), folder.path().join("out"));
    std::fs::write(&pgn, games).unwrap();
    let findings = measure(&pgn, &out, more);
    (folder, out, findings)
}

fn rows(out: &Path) -> String {
    std::fs::read_to_string(out.join("movesleft.csv")).unwrap()
}

#[test]
fn figures_are_those_of_the_rows() {
    let (folder, out, findings) = measured(&games(40, 0), &["--min-plies", "2"]);
    let text = rows(&out);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (mut count, mut sum) = (0, 0.0);
    for row in lines {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert_eq!(number("moves_left"), (number("plies_left") / 2.0).ceil());
        // As `mle-mlh` by default.
        let estimate = ((1.0 + number("m_plies")) / 2.0).max(6.0);
        sum += (estimate - number("moves_left")).abs();
        count += 1;
    }
    assert_eq!(
        (&findings["games"], &findings["positions"]),
        (&40.into(), &count.into())
    );
    assert_eq!(findings["unit"], "full moves");
    let estimators = findings["estimators"].as_array().unwrap();
    assert_eq!(estimators[0]["name"], "mle-legacy");
    let head = estimators
        .iter()
        .find(|estimator| estimator["name"] == "mle-mlh")
        .unwrap();
    let mae = head["mae"].as_f64().unwrap();
    assert!((mae - sum / f64::from(count)).abs() < 1e-4, "{mae}");
    assert!(head["ci"]["low"].as_f64().unwrap() <= mae && mae <= head["ci"]["high"].as_f64().unwrap());
    for key in [
        "by_ply",
        "by_phase",
        "by_pieces",
        "by_evaluation",
        "by_termination",
    ] {
        let groups = findings[key].as_array().unwrap();
        assert_eq!(
            groups
                .iter()
                .map(|group| group["positions"].as_i64().unwrap())
                .sum::<i64>(),
            i64::from(count),
            "{key}"
        );
    }
    assert!(
        findings["clock"][0]["unused"].as_f64().unwrap() > 0.5,
        "short games leave time"
    );
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    let command = format!(
        "zeitnot movesleft --json --backend random --pgn {}",
        folder.path().join("games.pgn").display()
    );
    for told in [
        command.as_str(),
        " --min-plies 2",
        "every position",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    for file in ["index.html", "movesleft.csv", "difference-by-ply.svg"] {
        assert!(out.join(file).metadata().unwrap().len() > 1000, "{file}");
    }
}

#[test]
fn any_two_estimators_are_compared_head_and_pieces_first() {
    let (_folder, _, findings) = measured(&games(12, 0), &[]);
    let estimators = findings["estimators"].as_array().unwrap();
    let mae = |name: &Value| {
        estimators.iter().find(|e| e["name"] == *name).unwrap()["mae"]
            .as_f64()
            .unwrap()
    };
    let pairs = findings["differences"].as_array().unwrap();
    assert_eq!(pairs.len(), estimators.len() * (estimators.len() - 1) / 2);
    assert_eq!(
        (&pairs[0]["name"], &pairs[0]["against"]),
        (&"mle-mlh".into(), &"mle-pieces".into())
    );
    for pair in pairs {
        let difference = pair["difference"].as_f64().unwrap();
        assert!(
            (difference - (mae(&pair["name"]) - mae(&pair["against"]))).abs() < 1e-9,
            "{pair}"
        );
        let end = |name: &str| pair["ci"][name].as_f64().unwrap();
        assert!(end("low") <= difference && difference <= end("high"), "{pair}");
    }
}

/// A regression: games counted as independent, and intervals were too narrow where events differ.
#[test]
fn intervals_go_by_events_or_say_that_they_do_not() {
    let [once, often] =
        [1, 8].map(|copies| measured(&games(15, 0).repeat(copies), &["--estimator", "mle-legacy"]).2);
    assert_eq!((&often["events"], &often["games"]), (&15.into(), &120.into()));
    assert_eq!(
        (&once["intervals_by"], &often["intervals_by"]),
        (&"event".into(), &"event".into())
    );
    for end in ["low", "high"] {
        let end = |findings: &Value| findings["estimators"][0]["ci"][end].as_f64().unwrap();
        assert!(
            (end(&once) - end(&often)).abs() < 1e-9,
            "copies make no interval narrower: {once} {often}"
        );
    }
    let (_folder, _, few) = measured(&games(3, 0).repeat(5), &[]);
    assert_eq!(
        (&few["intervals_by"], &few["events"]),
        (&"game".into(), &3.into())
    );
    assert!(
        few["notes"][2]
            .as_str()
            .unwrap()
            .starts_with("Intervals are by games"),
        "{few}"
    );
    assert!(few["estimators"][0]["ci"]["low"].is_f64());
}

/// A regression: resigned games counted as adjudicated, and all of them as the truth.
#[test]
fn errors_are_those_of_games_that_were_played_out() {
    let game = |tags: &str, moves: &str| format!("[Event \"x\"]\n[Result \"1-0\"]\n{tags}\n{moves} 1-0\n\n");
    let (mate, resigned) = (game("", OPERA), game("", "1. e4 e5 2. Nf3 d6 3. d4 Bg4"));
    let judged = game("[Termination \"adjudication\"]\n", "1. e4 e5 2. Nf3 d6");
    let mates = mate.repeat(2);
    let (_folder, _, alone) = measured(&mates, &[]);
    let (_folder, out, findings) = measured(&(mates + &resigned.repeat(3) + &judged), &[]);
    for key in [
        "played_out_games",
        "played_out_positions",
        "estimators",
        "by_ply",
        "clock",
    ] {
        assert_eq!(findings[key], alone[key], "{key}");
    }
    assert_eq!(
        (
            &findings["games"],
            &findings["played_out_games"],
            &findings["played_out_positions"]
        ),
        (&6.into(), &2.into(), &66.into())
    );
    let ends = findings["cut_short"].as_array().unwrap().iter();
    let ends: Vec<_> = ends
        .map(|end| (end["group"].as_str().unwrap(), end["positions"].as_u64().unwrap()))
        .collect();
    assert_eq!(ends, [("adjudication", 4), ("resignation", 18)]);
    let text = succeed(&["report", out.join("movesleft.csv").to_str().unwrap()]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for told in [
        "2 of the games were played out",
        "Too few games were played out (2)",
        "Errors over games that were played out, 66 positions",
        "Games that were cut short, by their end",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("<b>Too few games</b>"), "{page}");
}

#[test]
fn shards_put_together_give_the_report_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("games.pgn"), games(30, 0)).unwrap();
    let whole = measure(&path("games.pgn"), &path("whole"), &["--max-games", "25"]);
    for shard in ["1/3", "2/3", "3/3"] {
        let out = path(&shard.replace('/', "of"));
        measure(
            &path("games.pgn"),
            &out,
            &["--max-games", "25", "--shard", shard, "--threads", "2"],
        );
    }
    let files =
        ["3of3", "1of3", "2of3"].map(|name| path(name).join("movesleft.csv").to_str().unwrap().to_owned());
    let merged = path("merged").to_str().unwrap().to_owned();
    let output = succeed(&[
        "report", "--json", &files[0], &files[1], &files[2], "--out", &merged,
    ]);
    assert_eq!(with_origins(&output).0, whole);
    assert_eq!(rows(&path("merged")), rows(&path("whole")));
    assert_refused(&run(&["report", &files[0], &files[0]]), "is in two of the files");
    // One game leaves the other shard without any.
    for shard in ["1/2", "2/2"] {
        let (pgn, out) = (path("games.pgn"), path(&shard[..1]));
        let more = [
            "--max-games",
            "1",
            "--shard",
            shard,
            "--out",
            out.to_str().unwrap(),
        ];
        succeed(
            &[
                &["movesleft", "--backend", "random", "--pgn", pgn.to_str().unwrap()],
                &more[..],
            ]
            .concat(),
        );
    }
    let [empty, one] = ["2", "1"].map(|name| path(name).join("movesleft.csv").to_str().unwrap().to_owned());
    assert!(String::from_utf8_lossy(&succeed(&["report", &empty, &one]).stdout).starts_with("1 games, "));
}

#[test]
fn reports_never_destroy_their_input() {
    let (_folder, out, _) = measured(&games(3, 0), &[]);
    let before = rows(&out);
    let (file, out) = (out.join("movesleft.csv"), out.to_str().unwrap());
    for (more, message) in [
        (["--out", out], "would overwrite"),
        (["--sprt", "elo1=5"], "--sprt: for rows of match"),
    ] {
        assert_refused(
            &zeitnot(&["report"]).arg(&file).args(more).output().unwrap(),
            message,
        );
    }
    assert_eq!(rows(Path::new(out)), before);
}

#[cfg(unix)]
#[test]
fn the_report_is_written_where_nobody_reads_stdout_or_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, out) = (folder.path().join("games.pgn"), folder.path().join("out"));
    std::fs::write(&pgn, games(3, 2)).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = zeitnot(&["movesleft", "--backend", "random", "--pgn"])
        .arg(&pgn)
        .arg("--out")
        .arg(&out)
        .stderr(writer.try_clone().unwrap())
        .stdout(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(out.join("index.html").exists() && out.join("movesleft.csv").exists());
}

#[test]
fn a_run_that_was_cut_off_goes_on_to_the_same_rows() {
    let (folder, out, whole) = measured(&games(20, 0), &[]);
    let pgn = folder.path().join("games.pgn");
    let text = rows(&out);
    // In the header, within the first rows, within a line, at the end of a line, nothing missing.
    for cut in [
        0,
        20,
        300,
        text.len() / 2,
        text[..text.len() / 3].rfind('\n').unwrap() + 1,
        text.len(),
    ] {
        std::fs::write(out.join("movesleft.csv"), &text[..cut]).unwrap();
        assert_eq!(measure(&pgn, &out, &[]), whole, "cut at {cut}");
        assert_eq!(rows(&out), text, "cut at {cut}");
    }
    let (pgn, out) = (pgn.to_str().unwrap(), out.to_str().unwrap());
    assert_refused(
        &run(&[
            "movesleft",
            "--backend",
            "random",
            "--pgn",
            pgn,
            "--out",
            out,
            "--sample",
            "2",
        ]),
        "another run",
    );
}

/// As where somebody has put the file of another shard's run into the folder.
#[test]
fn rows_of_another_run_are_refused_and_stay() {
    let [(folder, out, _), (_other, other, _)] = [6, 7].map(|number| measured(&games(number, 0), &[]));
    let id = rows(&out)
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .nth_back(1)
        .unwrap()
        .to_owned();
    assert!(id.len() == 12 && rows(&out).lines().skip(1).all(|line| line.contains(&id)));
    let journal = "movesleft.jsonl";
    std::fs::copy(other.join(journal), out.join(journal)).unwrap();
    let before = rows(&out);
    let again = zeitnot(&["movesleft", "--json", "--backend", "random", "--pgn"])
        .arg(folder.path().join("games.pgn"))
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    assert_refused(&again, "holds rows of another run");
    assert!(rows(&out) == before);
}

#[test]
fn broken_and_unfinished_games_are_named_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, out) = (folder.path().join("games.pgn"), folder.path().join("out"));
    let unfinished = "[Event \"x\"]\n[Result \"*\"]\n\n1. e4 e5 *\n\n";
    let cut_off = "[Event \"x\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3";
    std::fs::write(&pgn, games(5, 3) + unfinished + cut_off).unwrap();
    let (pgn, folder) = (pgn.to_str().unwrap(), out.to_str().unwrap());
    let output = succeed(&["movesleft", "--backend", "random", "--pgn", pgn, "--out", folder]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("game 3 is skipped: ply 1") && said.contains("2 unfinished"),
        "{said}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("4 games, "));
    let numbers: Vec<String> = rows(&out)
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().into())
        .collect();
    assert!(numbers.contains(&"4".into()) && !numbers.contains(&"3".into()));
}

#[test]
fn searches_give_a_mean_and_a_spread() {
    let more = [
        "--nodes",
        "60",
        "--estimator",
        "mle-mlh(floor=1)",
        "--estimator",
        "mle-legacy",
        "--from-ply",
        "10",
    ];
    let (folder, out, findings) = measured(&games(2, 0), &more);
    let names: Vec<_> = findings["estimators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["mle-mlh(floor=1)", "mle-mlh(floor=1) after search", "mle-legacy"]
    );
    // A regression: two games had a best function of the ply, one move for whatever ply, and intervals.
    assert!(
        findings["notes"][1]
            .as_str()
            .unwrap()
            .starts_with("\"best by ply\" is left out")
    );
    assert!(findings["estimators"][0]["ci"]["low"].is_null());
    let positions = findings["positions"].as_i64().unwrap();
    assert_eq!(findings["spread"]["positions"], positions);
    assert_eq!(findings["estimators"][1]["positions"], positions);
    // A regression: without the settings beside them the rows gave no estimators after the search.
    let alone = folder.path().join("alone.csv");
    std::fs::copy(out.join("movesleft.csv"), &alone).unwrap();
    let report = succeed(&[&["report", "--json", alone.to_str().unwrap()][..], &more[2..6]].concat());
    assert_eq!(with_origins(&report).0, findings);
    assert!(
        rows(&out)
            .lines()
            .skip(1)
            .all(|line| line.split(',').nth(1).unwrap().parse::<u32>().unwrap() >= 10)
    );
}
