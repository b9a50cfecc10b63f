//! What `analyse` writes is read back as the same games: their moves, results, comments, variations and clocks.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fastrand::Rng;
use zeitnot_engine::chess::Position;
use zeitnot_lab::pgn::{Games, RecordedGame};

use crate::common::{data, run, stderr};

/// All of a game that must not change.
fn kept(game: &RecordedGame) -> String {
    let result = game.tags.get("Result").unwrap_or("*");
    let mut text = format!(
        "{result} {:?} {} {:?}\n",
        game.variant,
        game.start.to_fen(),
        game.comments
    );
    for played in &game.moves {
        let (moved, said) = (played.r#move, (&played.comments, &played.variations));
        let _ = writeln!(
            text,
            "{moved:?} {} {:?} {said:?}",
            played.is_book, played.clock_ms
        );
    }
    text
}

/// The games of a file that have moves.
fn games(path: &Path) -> Vec<String> {
    let games = Games::open(path).into_iter().flatten().filter_map(Result::ok);
    games
        .filter(|game| !game.moves.is_empty())
        .map(|game| kept(&game))
        .collect()
}

/// Analyses a file twice, and returns how many games have come back.
fn assert_comes_back(path: &Path) -> usize {
    let expected = games(path);
    if expected.is_empty() {
        return 0;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut source = path.to_owned();
    for name in ["once.pgn", "twice.pgn"] {
        let output = run(&[
            "analyse",
            source.to_str().unwrap(),
            "--backend=random",
            "--nodes=2",
            "--threads=1",
        ]);
        source = folder.path().join(name);
        fs::write(&source, &output.stdout).unwrap();
        let read = games(&source);
        assert_eq!(
            read.len(),
            expected.len(),
            "{}: {}",
            path.display(),
            stderr(&output)
        );
        for (read, expected) in read.iter().zip(&expected) {
            assert!(read == expected, "{}: {read}\n{expected}", path.display());
        }
    }
    expected.len()
}

const STARTS: [&str; 4] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/1P4P1/2n2n2/3pP3/3Pp3/2N2N2/1p4p1/R3K2R b KQkq - 0 12",
    "4k3/PPP3PP/8/8/8/8/ppp3pp/4K3 w - - 0 1",
    "bnrbkrqn/pppppppp/8/8/8/8/PPPPPPPP/BNRBKRQN w CFcf - 0 1",
];
const COMMENTS: [&str; 12] = [
    "book",
    "best",
    "[%clk 0:01:00] a\nnovelty",
    "[%cal Ge2e4,Rd1d4] arrows [%csl Gd4]",
    "[Event \"x\"]\n[White \"y\"]",
    "100 % of it; (or so) [sic]",
    "1-0 or 0-0? Ján 𝄞 \u{a0} \u{feff}",
    "wdl of theirs",
    "[%emt 0:00:01.5]",
    "[%eval 0.31] was here",
    "",
    "see [%clk",
];
const RESULTS: [&str; 8] = ["1-0", "0-1", "1/2-1/2", "*", "0-0", "1 - 0", "½-½", ""];

/// A line with lines in it, `depth` deep at most.
fn line(start: &Position, depth: u32, rng: &mut Rng) -> String {
    let (mut position, mut text) = (start.clone(), String::new());
    for _ in 0..rng.usize(1..30) {
        let legal = position.legal_moves();
        let Some(&played) = rng.choice(legal.iter()) else {
            break;
        };
        let _ = write!(text, "{} ", position.format_san(played));
        match rng.u8(..12) {
            0 => text += "$14 ",
            1 => {
                let _ = write!(text, "{{{}}} ", rng.choice(COMMENTS).unwrap_or_default());
            }
            2 if depth > 0 => {
                let _ = write!(text, "({}) ", line(&position, depth - 1, rng));
            }
            _ => {}
        }
        position = position.play(played);
    }
    text
}

/// Writes a game that nobody has normalized: its parts contradict each other, its comments are long.
fn written(number: usize, rng: &mut Rng) -> String {
    let fen = STARTS[rng.usize(..STARTS.len())];
    let mut text = format!("[Event \"\\\"Open\\\" \\\\ {number}\"]\n");
    if rng.bool() {
        let tag = ["White won", "", "*", "0-0", "1-0", "0.5 - 0.5"][rng.usize(..6)];
        let _ = writeln!(text, "[Result \"{tag}\"]");
    }
    if rng.bool() {
        text += "[Annotator \"A. Ná, B\"]\n";
    }
    let variant = if fen.contains("CFcf") {
        "Chess960"
    } else {
        "Standard"
    };
    let _ = write!(text, "[Variant \"{variant}\"]\n[FEN \"{fen}\"]\n\n");
    let mut position = Position::from_fen(fen).unwrap();
    if rng.bool() {
        let _ = writeln!(text, "{{{} {number}}}", "long ".repeat(rng.usize(..200)));
    }
    for _ in 0..rng.usize(1..40) {
        let legal = position.legal_moves();
        let Some(&played) = rng.choice(legal.iter()) else {
            break;
        };
        let _ = writeln!(text, "{}", position.format_san(played));
        for _ in 0..rng.usize(..4) {
            match rng.bool() {
                true => {
                    let _ = write!(text, "{{{}}} ", rng.choice(COMMENTS).unwrap_or_default());
                }
                false => {
                    let _ = write!(text, "({}) ", line(&position, 3, rng));
                }
            }
        }
        position = position.play(played);
    }
    text + RESULTS[rng.usize(..RESULTS.len())] + "\n\n"
}

#[test]
fn every_wild_file_comes_back_from_its_analysis() {
    let mut found = 0;
    for file in fs::read_dir(data("wild")).unwrap() {
        found += assert_comes_back(&file.unwrap().path());
    }
    assert!(found > 50, "{found} games");
}

#[test]
fn generated_games_come_back_from_their_analysis() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("generated.pgn");
    let rng = &mut Rng::with_seed(71);
    let text: String = (0..200).map(|number| written(number, rng)).collect();
    fs::write(&path, text).unwrap();
    assert_eq!(assert_comes_back(&path), 200);
}
