//! Tests the command `datagen`. The engine itself, on the backend that needs no network, is the teacher.

use std::fs;
use std::path::Path;
use std::process::Output;

use zeitnot::chess::{History, Variant};
use zeitnot::lab::training::game::{LabelledGame, LabelledPly, MoveChoice};
use zeitnot::lab::training::labelled_games;
use zeitnot::lab::training::table::{MAX_PAST, ROW};

use crate::common::{assert_refused, json, run};
use crate::training_data::{PGN, read_records, write_records};

/// Makes so many games by the step `step` of `datagen`.
fn teach(step: &[&str], games: &str, out: &str) -> Output {
    let teacher = ["--json", "--teacher", env!("CARGO_BIN_EXE_zeitnot"), "--teacher-arg=--backend=trivial"];
    run(&[&["datagen"], step, &teacher, &["--nodes", "8", "--games", games, "--out", out]].concat())
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
    let summary = json(&run(&["datagen", "table", "--json", out, "--out", table.to_str().unwrap()]));
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    assert_eq!(summary["positions"], positions);
    assert_eq!(fs::metadata(table.join("rows.bin")).unwrap().len(), (positions * ROW) as u64);
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
        let place = (history.current().to_fen(), line.held_out, line.plies[past].candidates.clone());
        assert!(places.contains(&place), "labels and games are the source's: {place:?}");
        assert!((1..=5).contains(&(line.plies.len() - past)));
        assert!(line.plies[past..].iter().all(|ply| !ply.candidates.is_empty() && ply.centipawns.is_some()));
        assert!(line.plies[..past].iter().all(|ply| ply.candidates.is_empty() && ply.centipawns.is_none()));
        assert!(!line.ending.result_counts() && !line.ending.length_counts());
    }
    let with_past = lines.iter().filter(|line| line.plies[0].choice == MoveChoice::Book).count();
    assert!(with_past > 10, "{with_past} of 20 lines have a past");
    let plies = lines.iter().flat_map(|line| &line.plies).filter(|ply| ply.choice != MoveChoice::Book);
    let (blunders, best): (Vec<_>, Vec<_>) = plies.partition(|ply| ply.choice == MoveChoice::Blunder);
    assert!(blunders.len() > 20 && best.len() > 10, "{} {}", blunders.len(), best.len());

    let (plausible, network) = (path("plausible.zng"), ["--backend", "random"]);
    let step = ["blunders", "--from", &source];
    assert_refused(&teach(&[&step[..], &network].concat(), "20", &plausible), "add --moves plausible");
    json(&teach(&[&step[..], &network, &["--moves", "plausible"]].concat(), "20", &plausible));
    let plausible = records(&plausible);
    let starts = |lines: &[LabelledGame]| lines.iter().map(|line| line.start.clone()).collect::<Vec<_>>();
    assert_eq!(starts(&plausible), starts(&lines), "lines begin at the same places");
    assert!(plausible.iter().any(|line| !lines.contains(line)), "but other moves are played");

    fs::write(path("pgn.zng"), write_records(&labelled_games::read_games(PGN.as_bytes()).games)).unwrap();
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
    fs::write(&pgn, zstd::encode_all(PGN.as_bytes(), 3).unwrap()).unwrap();
    json(&run(&["datagen", "import", "--json", "--pgn", &pgn, "--out", &out]));
    let records = zstd::decode_all(&fs::read(&out).unwrap()[..]).unwrap();
    assert_eq!(read_records(&records).unwrap().len(), 2);

    let failed = path("failed.zng");
    let teacher = ["datagen", "play", "--teacher", "/no/such/engine", "-g", "1", "-o", &failed];
    assert_refused(&run(&teacher), "/no/such/engine cannot be started");
    assert_refused(&run(&["datagen", "import", "--pgn", "/no/such.pgn", "--out", &failed]), "/no/such.pgn");
    assert!(!Path::new(&failed).exists());
}
