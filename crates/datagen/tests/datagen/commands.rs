//! Tests the program. The engine itself, on the backend that needs no network, is the teacher. Cargo builds
//! it for the tests of its own package.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;
use zeitnot_datagen::game::{LabelledGame, LabelledPly, MoveChoice};
use zeitnot_datagen::table::{MAX_PAST, ROW};
use zeitnot_engine::chess::{History, Variant};
use zeitnot_engine::files::Zstandard;

use crate::training_data::{PGN, imported, read_records, write_records};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zeitnot-datagen");

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// The engine, which lies beside the program.
fn teacher() -> String {
    let path = Path::new(PROGRAM).with_file_name(format!("zeitnot{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{path:?} is missing: cargo build makes it");
    path.to_str().unwrap().to_owned()
}

fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn assert_refused(output: &Output, reason: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(reason), "{reason}: {stderr}");
}

/// Makes so many games by the step `step` of `datagen`.
fn teach(step: &[&str], games: &str, out: &str) -> Output {
    let engine = teacher();
    let teacher = ["--teacher", &engine, "--teacher-arg=--backend=trivial"];
    run(&[step, &teacher, &["--nodes", "8", "--games", games, "--out", out]].concat())
}

fn records(path: &str) -> Vec<LabelledGame> {
    read_records(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_teacher_plays_and_an_interrupted_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.zng");
    let out = file.to_str().unwrap();
    assert_eq!(json(&teach(&["play"], "2", out))["games"], 2);
    let whole = fs::read(&file).unwrap();

    // As if the second game had not been written to its end.
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(json(&teach(&["play"], "2", out))["games"], 2);
    let games = records(out);
    assert_eq!(games.len(), 2);
    assert!(games.iter().all(|game| game.by_teacher && !game.plies.is_empty()));
    assert_eq!([games[0].held_out, games[1].held_out], [true, false]);
    assert_eq!(games[0], read_records(&whole).unwrap()[0], "the first game stays");

    let table = folder.path().join("table");
    let summary = json(&run(&["table", out, "--out", table.to_str().unwrap()]));
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    assert_eq!(summary["positions"], positions);
    assert_eq!(
        fs::metadata(table.join("rows.bin")).unwrap().len(),
        (positions * ROW) as u64
    );
}

#[test]
fn lines_with_blunders_begin_in_games_and_are_labelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (source, out) = (path("games.zng"), path("blunders.zng"));
    json(&teach(&["play"], "2", &source));
    let mut places = Vec::new();
    for game in records(&source) {
        let mut history = History::start();
        for ply in &game.plies {
            places.push((history.current().to_fen(), game.held_out, ply.candidates.clone()));
            history.push(ply.played);
        }
    }

    json(&teach(&["blunders", "--from", &source], "20", &out));
    let lines = records(&out);
    assert_eq!(lines.len(), 20);
    for line in &lines {
        let is_past = |ply: &&LabelledPly| ply.choice == MoveChoice::Book;
        let past = line.plies.iter().take_while(is_past).count();
        assert!(past <= MAX_PAST, "{past}");
        let mut history = History::from_fen(line.start.as_deref().unwrap(), Variant::Standard).unwrap();
        line.plies[..past].iter().for_each(|ply| history.push(ply.played));
        let place = (
            history.current().to_fen(),
            line.held_out,
            line.plies[past].candidates.clone(),
        );
        assert!(
            places.contains(&place),
            "labels and games are the source's: {place:?}"
        );
        assert!((1..=5).contains(&(line.plies.len() - past)));
        assert!(
            line.plies[past..]
                .iter()
                .all(|ply| !ply.candidates.is_empty() && ply.centipawns.is_some())
        );
        assert!(
            line.plies[..past]
                .iter()
                .all(|ply| ply.candidates.is_empty() && ply.centipawns.is_none())
        );
        assert!(!line.ending.result_counts() && !line.ending.length_counts());
    }
    let with_past = lines
        .iter()
        .filter(|line| line.plies[0].choice == MoveChoice::Book)
        .count();
    assert!(with_past > 10, "{with_past} of 20 lines have a past");
    let plies = lines
        .iter()
        .flat_map(|line| &line.plies)
        .filter(|ply| ply.choice != MoveChoice::Book);
    let (blunders, best): (Vec<_>, Vec<_>) = plies.partition(|ply| ply.choice == MoveChoice::Blunder);
    assert!(
        blunders.len() > 20 && best.len() > 10,
        "{} {}",
        blunders.len(),
        best.len()
    );

    let plausible = path("plausible.zng");
    let step = ["blunders", "--from", &source];
    assert_refused(
        &teach(
            &[&step[..], &["--weights", "none.pb.gz"]].concat(),
            "20",
            &plausible,
        ),
        "add --moves plausible",
    );
    json(&teach(
        &[&step[..], &["--moves", "plausible", "--backend", "random"]].concat(),
        "20",
        &plausible,
    ));
    let plausible = records(&plausible);
    let starts = |lines: &[LabelledGame]| lines.iter().map(|line| line.start.clone()).collect::<Vec<_>>();
    assert_eq!(
        starts(&plausible),
        starts(&lines),
        "lines begin at the same places"
    );
    assert!(
        plausible.iter().any(|line| !lines.contains(line)),
        "but other moves are played"
    );

    fs::write(path("pgn.zng"), write_records(&imported(PGN))).unwrap();
    let none = path("none.zng");
    let refused = teach(&["blunders", "--from", &path("pgn.zng")], "1", &none);
    assert_refused(&refused, "has labelled no position of these games");
    assert!(!Path::new(&none).exists(), "nothing half-made stays");
}

#[test]
fn import_reads_compressed_files_and_what_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (pgn, out) = (path("games.pgn.zst"), path("games.zng.zst"));
    fs::write(&pgn, compress_to_vec(PGN.as_bytes(), CompressionLevel::Fastest)).unwrap();
    json(&run(&["import", "--pgn", &pgn, "--out", &out]));
    let mut records = Vec::new();
    Zstandard::new(File::open(&out).unwrap())
        .read_to_end(&mut records)
        .unwrap();
    assert_eq!(read_records(&records).unwrap().len(), 2);

    let failed = path("failed.zng");
    let teacher = ["play", "--teacher", "/no/such/engine", "-g", "1", "-o", &failed];
    assert_refused(&run(&teacher), "/no/such/engine cannot be started");
    assert_refused(
        &run(&["import", "--pgn", "/no/such.pgn", "--out", &failed]),
        "/no/such.pgn",
    );
    assert!(!Path::new(&failed).exists());
}

/// A regression: raw records went behind the end of the compressed ones, and nothing could be read any more.
#[test]
fn no_games_are_added_to_a_compressed_file_of_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (games, records) = (path("games.pgn"), path("records.zng.zst"));
    fs::write(&games, PGN).unwrap();
    json(&run(&["import", "--pgn", &games, "--out", &records]));
    let before = fs::read(&records).unwrap();
    assert_refused(
        &teach(&["play"], "3", &records),
        "records.zng.zst is no uncompressed file",
    );
    assert!(fs::read(&records).unwrap() == before);
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, killed] = ["whole.zng", "killed.zng"].map(|name| folder.path().join(name));
    let play = |out: &Path| {
        let mut command = Command::new(PROGRAM);
        command.args(["play", "--games=12", "--nodes=8", "--teacher", &teacher()]);
        command
            .args([
                "--teacher-arg=--backend=trivial",
                "--teacher-arg=--threads=1",
                "--out",
            ])
            .arg(out);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    assert!(play(&whole).status().unwrap().success());
    let size = fs::metadata(&whole).unwrap().len();
    for enough in [1, size / 3, size * 2 / 3] {
        let mut process = play(&killed).spawn().unwrap();
        while fs::metadata(&killed).map_or(0, |file| file.len()) < enough
            && process.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(play(&killed).status().unwrap().success());
    assert!(
        fs::read(&killed).unwrap() == fs::read(&whole).unwrap(),
        "the records differ"
    );
}

/// A regression: such a file lost all games behind the damage, without a word.
#[test]
fn a_flipped_byte_is_refused_by_its_game() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.zng");
    let out = file.to_str().unwrap();
    json(&teach(&["play"], "3", out));
    let mut damaged = fs::read(&file).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&file, &damaged).unwrap();
    assert_refused(
        &teach(&["play"], "4", out),
        "games.zng: damaged training data at byte ",
    );
    assert_refused(&run(&["table", out, "--out", out]), "games.zng");
    assert!(fs::read(&file).unwrap() == damaged, "it stays as it is");
}

/// A regression: two of them wrote into one another's games.
#[test]
fn a_second_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.zng");
    let out = file.to_str().unwrap();
    let held = fs::File::create(&file).unwrap();
    held.lock().unwrap();
    assert_refused(
        &teach(&["play"], "1", out),
        "in use by another process; name another --out",
    );
    drop(held);
    assert_eq!(json(&teach(&["play"], "1", out))["games"], 1);
}

/// A regression: tables that stood there were cut to nothing before the records were read.
#[test]
fn what_cannot_be_expanded_leaves_the_tables_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (rows, records) = (path("rows.bin"), path("games.zng"));
    fs::write(&rows, "old").unwrap();
    fs::write(&records, &write_records(&imported(PGN))[..40]).unwrap();
    assert_refused(
        &run(&["table", &records, "--out", &path("")]),
        "games.zng: damaged training data",
    );
    assert_eq!(fs::read(&rows).unwrap(), b"old");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing half-made stays"
    );
}
