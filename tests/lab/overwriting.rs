//! Tests that no command destroys what it has not written, nor what it is to read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{network, stderr, zeitnot};

const GAME: &str = "[Event \"mine\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1-0\n\n";

const MATCH: [&str; 5] = [
    "match",
    "--backend=random",
    "--nodes=10",
    "--games=2",
    "--max-plies=24",
];
const TIMELAB: [&str; 5] = [
    "timelab",
    "--backend=random",
    "--manager=legacy",
    "--tc=10+0.1",
    "--min-moves=1",
];
const MOVES_LEFT: [&str; 2] = ["movesleft", "--backend=random"];
const ANALYSE: [&str; 4] = ["analyse", "--backend=trivial", "--nodes=5", "--threads=1"];

/// Returns all files of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn exit_code(command: &[&str], paths: &[&Path]) -> (Option<i32>, String) {
    let output = zeitnot(command).args(paths).output().unwrap();
    (output.status.code(), stderr(&output).to_owned())
}

fn succeed(command: &[&str], paths: &[&Path]) {
    let (code, stderr) = exit_code(command, paths);
    assert_eq!(code, Some(0), "{command:?} {paths:?}: {stderr}");
}

/// Runs a command that is to fail and to leave all files of `folder` as they were.
fn is_refused(folder: &Path, command: &[&str], paths: &[&Path], message: &str) {
    let before = files(folder);
    let (code, stderr) = exit_code(command, paths);
    assert_eq!(code, Some(2), "{command:?} {paths:?}: {stderr}");
    assert!(stderr.contains(message), "{command:?} {paths:?}: {stderr}");
    assert!(
        files(folder) == before,
        "{command:?} {paths:?} has changed a file"
    );
}

#[test]
fn a_match_cuts_off_no_games_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let (own, moves) = (out("own"), out("moves"));
    fs::create_dir(&own).unwrap();
    fs::write(own.join("games.pgn"), GAME).unwrap();
    is_refused(
        &own,
        &MATCH,
        &["--out".as_ref(), &own],
        "games.pgn: holds a file that no run has written",
    );
    succeed(&MATCH, &["--out".as_ref(), &moves]);
    let before = files(&moves);
    for name in ["games.csv", "games.pgn", "moves.csv"] {
        fs::remove_file(moves.join(name)).unwrap();
    }
    succeed(&MATCH, &["--out".as_ref(), &moves]);
    for name in ["games.csv", "games.pgn", "moves.csv"].map(|name| moves.join(name)) {
        assert!(
            fs::read(&name).unwrap() == before[&name],
            "{name:?} is made of the journal"
        );
    }
    fs::remove_file(moves.join("games.jsonl")).unwrap();
    is_refused(
        &moves,
        &MATCH,
        &["--out".as_ref(), &moves],
        "games.csv: has more than the games.jsonl beside it",
    );
}

#[test]
fn an_analysis_overwrites_neither_its_input_nor_games_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (folder.path().join("own"), folder.path().join("other.pgn"));
    fs::create_dir(&own).unwrap();
    let games = own.join("games.pgn");
    fs::write(&games, GAME).unwrap();
    fs::write(&other, GAME).unwrap();
    is_refused(
        &own,
        &ANALYSE,
        &[&games, "--out".as_ref(), &own],
        "would overwrite",
    );
    is_refused(
        &own,
        &ANALYSE,
        &[&other, "--out".as_ref(), &own],
        "a file that no run has written",
    );
    let out = folder.path().join("out");
    for _ in 0..2 {
        succeed(&ANALYSE, &[&other, "--out".as_ref(), &out]);
    }
    // A regression: that came up after the last search, and without the folder's name.
    is_refused(
        &own,
        &ANALYSE,
        &[&other, "--out".as_ref(), &games.join("x")],
        "own/games.pgn/x: ",
    );
}

#[test]
fn rows_of_other_runs_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (first, second, replay, left) = (path("first"), path("second"), path("replay"), path("left"));
    let out: &Path = "--out".as_ref();
    let pgn: &Path = "--pgn".as_ref();
    succeed(&MATCH, &[out, &first]);
    succeed(&[&MATCH[..], &["--seed=1"]].concat(), &[out, &second]);
    let games = first.join("games.pgn");
    is_refused(&first, &TIMELAB, &[pgn, &games, out, &first], "another run");
    succeed(&TIMELAB, &[pgn, &games, out, &replay]);
    succeed(&TIMELAB, &[pgn, &games, out, &replay]);

    let [of_first, of_second, of_replay] = [&first, &second, &replay].map(|folder| folder.join("games.csv"));
    is_refused(
        &second,
        &["report"],
        &[&of_first, out, &second],
        "holds another run",
    );
    is_refused(
        &second,
        &["report"],
        &[&of_replay, out, &second],
        "holds another run",
    );
    let report = path("report");
    succeed(&["report"], &[&of_first, out, &report]);
    succeed(&["report"], &[&of_first, &of_second, out, &report]);
    is_refused(
        &report,
        &["report"],
        &[&of_first, out, &report],
        "of another run; name another --out",
    );
    is_refused(
        &report,
        &["report"],
        &[&of_replay, out, &report],
        "holds another run",
    );
    let page = path("page");
    fs::create_dir(&page).unwrap();
    fs::write(page.join("index.html"), "mine").unwrap();
    is_refused(
        &page,
        &["report"],
        &[&of_first, out, &page],
        "index.html: holds a file that no run has written",
    );
    // A folder stands for the rows in it.
    succeed(&["report"], &[&first, &second, out, &path("of-folders")]);

    succeed(&MOVES_LEFT, &[pgn, &games, out, &left]);
    succeed(&MOVES_LEFT, &[pgn, &games, out, &left]);
    let (sampled, merged) = (path("sampled"), path("merged"));
    succeed(
        &[&MOVES_LEFT[..], &["--sample=2"]].concat(),
        &[pgn, &games, out, &sampled],
    );
    let all = left.join("movesleft.csv");
    succeed(&["report"], &[&all, out, &merged]);
    is_refused(
        &left,
        &[&MOVES_LEFT[..], &["--sample=2"]].concat(),
        &[pgn, &games, out, &left],
        "another run",
    );
    succeed(&["report"], &[&all, out, &merged]);
}

/// A regression: other games under the same name were mixed into the rows of a run, or replaced its analysis.
#[test]
fn no_run_goes_on_with_other_games() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.pgn");
    let other = GAME.replace("a6 1-0", "a6 4. Ba4 Nf6 1-0");
    for command in [
        &[&MOVES_LEFT[..], &["--pgn"]].concat(),
        &[&TIMELAB[..], &["--pgn"]].concat(),
        &ANALYSE.to_vec(),
    ] {
        let out = folder.path().join(command[0]);
        let paths: [&Path; 3] = [&games, "--out".as_ref(), &out];
        fs::write(&games, GAME).unwrap();
        succeed(command, &paths);
        fs::write(&games, &other).unwrap();
        is_refused(&out, command, &paths, "another run");
    }
}

/// A regression: runs went on with another network under the same name.
#[test]
fn no_run_goes_on_with_another_network() {
    let folder = tempfile::tempdir().unwrap();
    let (out, file) = (folder.path().join("out"), folder.path().join("net.pb.gz"));
    let play = ["match", "--backend=native", "--nodes=2", "--max-plies=8"];
    let with = |games: &'static str| [&play[..], &[games, "--weights"]].concat();
    let paths: [&Path; 3] = [&file, "--out".as_ref(), &out];
    fs::copy(network("enc_linear16.pb.gz"), &file).unwrap();
    succeed(&with("--games=2"), &paths);
    succeed(&with("--games=4"), &paths);
    let (games, left) = (out.join("games.pgn"), folder.path().join("left"));
    let measure = ["movesleft", "--backend=native", "--pgn"];
    let measured: [&Path; 5] = [&games, "--weights".as_ref(), &file, "--out".as_ref(), &left];
    succeed(&measure, &measured);
    succeed(&measure, &measured);
    fs::copy(network("enc_float16.pb.gz"), &file).unwrap();
    is_refused(&out, &with("--games=6"), &paths, "another run");
    is_refused(&left, &measure, &measured, "another run");
}

#[test]
fn no_run_goes_on_in_another_precision() {
    let folder = tempfile::tempdir().unwrap();
    let weights = network("enc_linear16.pb.gz");
    let games = folder.path().join("games.pgn");
    fs::write(&games, GAME).unwrap();
    let pgn = format!("--pgn={}", games.display());
    for command in [
        &["match", "--nodes=2", "--max-plies=8", "--games=2"][..],
        &["movesleft", &pgn],
        &["analyse", &games.display().to_string(), "--nodes=2"],
    ] {
        let out = folder.path().join(command[0]);
        let exit_code = |precision: &str| {
            let output = zeitnot(command)
                .env("ZEITNOT_NATIVE_DEFAULTS", format!("precision={precision}"))
                .arg("--backend=native")
                .args([Path::new("--weights"), &weights, Path::new("--out"), &out])
                .output()
                .unwrap();
            (output.status.code(), stderr(&output).to_owned())
        };
        for (precision, expected) in [("fp32", 0), ("int16", 2), ("fp32", 0)] {
            let (code, said) = exit_code(precision);
            let is_told = said.contains("computed in another precision");
            assert_eq!(
                (code, is_told),
                (Some(expected), expected == 2),
                "{precision}: {said}"
            );
        }
    }
}
