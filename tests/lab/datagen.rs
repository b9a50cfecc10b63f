//! Tests the command `datagen`.

use zeitnot::chess::{History, Variant};
use zeitnot::lab::training::game::{LabelledGame, LabelledPly, MoveChoice};
use zeitnot::lab::training::pgn;
use zeitnot::lab::training::table::{MAX_PAST, ROW};

use crate::common;
use crate::training_data::{PGN, read_records, write_records};

/// Runs the program and returns its exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = common::run(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Lets the engine itself, on the backend that needs no network, be the teacher in the step `step` of `datagen`.
fn teach(step: &[&str], games: &str, out: &str) -> (Option<i32>, String, String) {
    let teacher = ["--json", "--teacher", env!("CARGO_BIN_EXE_zeitnot"), "--teacher-arg=--backend=trivial"];
    let amount = ["--nodes", "8", "--games", games, "--out", out];
    run(&[&["datagen"], step, &teacher, &amount].concat())
}

fn play(games: &str, out: &str) -> (Option<i32>, String, String) {
    teach(&["play"], games, out)
}

#[test]
fn a_teacher_plays_and_an_interrupted_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.zng");
    let out = file.to_str().unwrap();
    let (code, first, errors) = play("2", out);
    assert_eq!(code, Some(0), "{errors}");
    let whole = std::fs::read(&file).unwrap();

    // As if the second game had not been written to its end.
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let (code, second, errors) = play("2", out);
    assert_eq!(code, Some(0), "{errors}");
    let games = read_records(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(games.len(), 2);
    assert!(games.iter().all(|game| game.by_teacher && !game.plies.is_empty()));
    assert_eq!([games[0].held_out, games[1].held_out], [true, false]);
    assert_eq!(games[0], read_records(&whole).unwrap()[0], "the first game stays");
    assert!(first.contains("\"games\":2") && second.contains("\"games\":2"), "{first}{second}");

    let table = folder.path().join("table");
    let (code, summary, errors) = run(&["datagen", "table", "--json", out, "--out", table.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{errors}");
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    assert!(summary.contains(&format!("\"positions\":{positions},")), "{summary}");
    assert_eq!(std::fs::metadata(table.join("rows.bin")).unwrap().len(), (positions * ROW) as u64);
}

#[test]
fn lines_with_blunders_begin_in_games_and_are_labelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (source, out) = (path("games.zng"), path("blunders.zng"));
    assert_eq!(play("2", &source).0, Some(0));
    let games = read_records(&std::fs::read(&source).unwrap()).unwrap();
    let mut places = Vec::new();
    for game in &games {
        let mut history = History::start();
        for ply in &game.plies {
            places.push((history.current().to_fen(), game.held_out, ply.candidates.clone()));
            history.push(ply.played);
        }
    }

    let (code, _, errors) = teach(&["blunders", "--from", &source], "20", &out);
    assert_eq!(code, Some(0), "{errors}");
    let lines = read_records(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(lines.len(), 20);
    for line in &lines {
        let is_past = |ply: &&LabelledPly| ply.choice == MoveChoice::Book;
        let past = line.plies.iter().take_while(is_past).count();
        assert!(past <= MAX_PAST, "{past}");
        let mut history = History::from_fen(line.start.as_deref().unwrap(), Variant::Standard).unwrap();
        line.plies[..past].iter().for_each(|ply| history.push(ply.played));
        let fen = history.current().to_fen();
        let place = (fen, line.held_out, line.plies[past].candidates.clone());
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

    let plausible = path("plausible.zng");
    let (code, _, errors) = teach(&["blunders", "--from", &source, "--backend", "random"], "20", &plausible);
    assert_eq!(code, Some(2));
    assert!(errors.contains("add --moves plausible"), "{errors}");
    let (code, _, errors) = teach(
        &["blunders", "--from", &source, "--moves", "plausible", "--backend", "random"],
        "20",
        &plausible,
    );
    assert_eq!(code, Some(0), "{errors}");
    let plausible = read_records(&std::fs::read(&plausible).unwrap()).unwrap();
    let starts = |lines: &[LabelledGame]| lines.iter().map(|line| line.start.clone()).collect::<Vec<_>>();
    assert_eq!(starts(&plausible), starts(&lines), "lines begin at the same places");
    assert!(plausible.iter().any(|line| !lines.contains(line)), "but other moves are played");

    std::fs::write(path("pgn.zng"), write_records(&pgn::read_games(PGN.as_bytes()).unwrap().games)).unwrap();
    let (code, _, errors) = teach(&["blunders", "--from", &path("pgn.zng")], "1", &path("none.zng"));
    assert_eq!(code, Some(2));
    assert!(errors.contains("has labelled no position of these games"), "{errors}");
    assert!(!folder.path().join("none.zng").exists(), "nothing half-made stays");
}

#[test]
fn import_reads_compressed_files_and_names_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("games.pgn.zst"), zstd::encode_all(PGN.as_bytes(), 3).unwrap()).unwrap();
    let (pgn, out) = (path("games.pgn.zst"), path("games.zng.zst"));
    let (code, _, errors) = run(&["datagen", "import", "--pgn", &pgn, "--out", &out]);
    assert_eq!(code, Some(0), "{errors}");
    let records = zstd::decode_all(&std::fs::read(&out).unwrap()[..]).unwrap();
    assert_eq!(read_records(&records).unwrap().len(), 2);

    let (code, _, errors) =
        run(&["datagen", "play", "--teacher", "/no/such/engine", "-g", "1", "-o", &path("new.zng")]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("/no/such/engine cannot be started"), "{errors}");
    assert!(!folder.path().join("new.zng").exists(), "nothing half-made stays");

    let (code, _, errors) =
        run(&["datagen", "import", "--pgn", "/no/such.pgn", "--out", &path("failed.zng")]);
    assert_eq!(code, Some(2), "{errors}");
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        !left.into_iter().any(|name| name.to_string_lossy().contains("failed")),
        "nothing half-made stays"
    );
}
