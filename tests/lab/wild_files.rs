//! Tests what the laboratory makes of files as people have them: those of `tests/data/wild`, and others that are made here.

use std::fs;
use std::path::Path;

use zeitnot_lab::matches::Openings;
use zeitnot_lab::pgn::Games;

use crate::common::{assert_refused, data, run, stderr, stdout};

fn a_match<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [
        &[
            "match",
            "--backend=random",
            "--nodes=5",
            "--games=2",
            "--max-plies=4",
            "--threads=1",
        ][..],
        more,
    ]
    .concat()
}

fn analysed(file: &Path) -> (String, String) {
    let output = run(&[
        "analyse",
        file.to_str().unwrap(),
        "--backend=trivial",
        "--nodes=1",
        "--threads=1",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    (stdout(&output).into(), stderr(&output).into())
}

/// A regression: such a book gave a whole match from the start position.
#[test]
fn what_is_no_book_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.pgn").display().to_string();
    let mut random = fastrand::Rng::with_seed(3);
    let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(3000).collect();
    for (bytes, reason) in [
        (&fs::read(data("wild/html.pgn")).unwrap()[..], "it is a web page"),
        (&noise, "it is no text but binary data"),
        (b"\xfd7zXZ\0\0\x04\xe6", "it is an xz file"),
        (
            b"[Event \"x\"]\n[Result \"*\"]\n\n*\n",
            "game 1: it has neither moves nor a FEN",
        ),
    ] {
        fs::write(&path, bytes).unwrap();
        let output = run(&a_match(&["--openings", &path]));
        assert_refused(&output, reason);
        assert!(stderr(&output).contains("book.pgn"), "{}", stderr(&output));
    }
}

#[test]
fn a_book_in_utf_16_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.pgn");
    let text = "\u{feff}[Event \"x\"]\r\n\r\n1. e4 e5 *\r\n";
    fs::write(
        &path,
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    )
    .unwrap();
    let openings = Openings::read(&path, None).unwrap();
    let history = openings
        .at(0)
        .history(zeitnot_engine::chess::Variant::Standard)
        .unwrap();
    assert_eq!((openings.len(), history.len()), (1, 3));
}

/// A regression: the database of lichess could not be read.
#[test]
fn games_are_read_behind_frames_to_be_skipped() {
    let games: Vec<_> = Games::open(&data("wild/lichess.pgn.zst")).unwrap().collect();
    assert_eq!(games.len(), 8);
    assert!(games.iter().all(Result::is_ok));
}

/// A regression: letters of Latin-1, which the standard of PGN prescribes, were lost.
#[test]
fn names_in_latin_1_come_out_whole() {
    let file = data("wild/latin1.pgn");
    let game = Games::open(&file).unwrap().next().unwrap().unwrap();
    assert_eq!(game.tags.get("White"), Some("Ján"));
    assert!(analysed(&file).0.contains("[White \"Ján\"]"));
}

#[test]
fn books_and_games_are_found_in_archives() {
    let output = run(&a_match(&[
        "--openings",
        data("wild/folder-first.zip").to_str().unwrap(),
        "--json",
    ]));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("books/a.epd is read, ignored: books/readme.txt"),
        "{}",
        stderr(&output)
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, text) in [
        ("notes.txt", "mine"),
        ("games.pgn", "[White \"A\"]\n\n1. e4 e5 1-0\n"),
    ] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let (text, notes) = analysed(&path);
    assert!(text.contains("[White \"A\"]"), "{text}");
    assert!(notes.contains("games.pgn is read, ignored: notes.txt"), "{notes}");
}

/// A regression: `analyse` took the words of the readme beside a book for moves.
#[test]
fn a_book_of_positions_is_no_game() {
    let folder = tempfile::tempdir().unwrap();
    let (epd, packed) = (folder.path().join("book.epd"), folder.path().join("book.zip"));
    let position = "4k3/8/8/8/8/8/8/4K2R w K -\n";
    fs::write(&epd, position).unwrap();
    let mut zip = zip::ZipWriter::new(fs::File::create(&packed).unwrap());
    for (name, text) in [("readme.txt", "This is a book"), ("book.epd", position)] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    for path in [epd, packed] {
        let refused = run(&[
            "analyse",
            path.to_str().unwrap(),
            "--backend=random",
            "--nodes=10",
        ]);
        assert_refused(
            &refused,
            "book.epd holds positions, not games; `zeitnot solve` and `zeitnot eval` read it",
        );
    }
}

/// A regression: the match was played without the tables, and nobody was told.
#[test]
fn damaged_tables_are_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().to_str().unwrap();
    let mut damaged = vec![0x71, 0xe8, 0x23, 0x5d];
    damaged.resize(80, 0);
    fs::write(folder.path().join("kqvk.rtbw"), [0; 80]).unwrap();
    assert_refused(
        &run(&a_match(&["--adjudicate-syzygy", tables])),
        "kqvk.rtbw (it does not begin as a table does)",
    );
    fs::write(folder.path().join("KRvK.rtbw"), damaged).unwrap();
    let output = run(&a_match(&["--adjudicate-syzygy", tables]));
    assert!(output.status.success(), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("1 Syzygy tables (1 WDL, 0 DTZ), up to 3 pieces\nnot a table: "),
        "{message}"
    );
    assert!(
        message.contains("ERROR: --adjudicate-syzygy: the table KRvK.rtbw cannot be read"),
        "{message}"
    );
}
