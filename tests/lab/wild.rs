//! PGN files as people have them, run as a user runs the commands: what cannot be read is named, and costs nothing else.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{assert_refused, json, run, stderr};

fn wild(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/wild")
        .join(name);
    path.to_str().unwrap().to_owned()
}

/// Analyses a file, and returns the program's output.
fn analyse(file: &str, more: &[&str]) -> std::process::Output {
    run(&[
        &[
            "analyse",
            file,
            "--backend=trivial",
            "--nodes=20",
            "--threads=1",
            "--json",
        ],
        more,
    ]
    .concat())
}

#[test]
fn a_word_that_is_no_move_is_named_with_file_game_players_and_ply() {
    let output = analyse(&wild("german.pgn"), &[]);
    assert_refused(
        &output,
        "german.pgn: game 1 (A – B) is skipped: ply 5: \"Le3\" cannot be read as a move",
    );
    let output = analyse(&wild("no-moves.pgn"), &[]);
    assert!(
        stderr(&output).contains("no-moves.pgn: game 1 (A – B) has no moves"),
        "{}",
        stderr(&output)
    );
    assert_eq!(json(&output)["games"][0]["white"]["name"], "C");
    let name = &json(&analyse(&wild("latin1.pgn"), &[]))["games"][0]["white"]["name"];
    assert_eq!(name, "Ján");
}

#[test]
fn other_variants_are_skipped_by_name_everywhere() {
    let file = wild("variant.pgn");
    let told = "its variant is \"Three-check\"";
    for arguments in [
        &["analyse", &file, "--backend=trivial"][..],
        &["movesleft", "--backend=random", "--pgn", &file],
        &["timelab", "--manager=simple", "--pgn", &file],
        &[
            "match",
            "--games=2",
            "--nodes=5",
            "--openings",
            &file,
            "--a",
            "backend=random",
            "--b",
            "backend=random",
        ],
    ] {
        let output = run(arguments);
        assert!(
            stderr(&output).contains(told),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_known_before_anything_is_read() {
    for arguments in [
        &["analyse", &wild("marks.pgn"), "nowhere.pgn", "--backend=trivial"][..],
        &[
            "movesleft",
            "--backend=random",
            "--pgn",
            &wild("marks.pgn"),
            "nowhere.pgn",
        ],
        &[
            "timelab",
            "--manager=simple",
            "--pgn",
            &wild("marks.pgn"),
            "nowhere.pgn",
        ],
    ] {
        let output = run(arguments);
        assert_refused(&output, "nowhere.pgn: ");
        assert!(
            output.stdout.is_empty() && !stderr(&output).contains("games"),
            "{}",
            stderr(&output)
        );
    }
}

/// Writes a compressed file of games that was cut off. Returns its path and its whole games.
fn cut_off(folder: &Path) -> (PathBuf, usize) {
    let moves = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7 11. Nbd2 Bb7";
    let game = |number| {
        format!("[White \"{number}\"]\n[Result \"1-0\"]\n[Termination \"adjudication\"]\n\n{moves} 1-0\n\n")
    };
    let text: String = (1..=400).map(game).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(text.as_bytes()).unwrap();
    let mut packed = packed.finish().unwrap();
    packed.truncate(packed.len() * 3 / 5);
    let inflated: usize = String::from_utf8_lossy(&packed).matches(" 1-0\n").count();
    let path = folder.join("cut.pgn.gz");
    std::fs::write(&path, packed).unwrap();
    (path, inflated)
}

#[test]
fn a_file_that_was_cut_off_costs_what_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = cut_off(folder.path());
    assert!((200..300).contains(&whole), "{whole}");
    let file = path.to_str().unwrap();
    for (arguments, pointer) in [
        (
            &[
                "movesleft",
                "--backend=random",
                "--sample=1",
                "--json",
                "--pgn",
                file,
            ][..],
            "/games",
        ),
        (
            &[
                "timelab",
                "--manager=simple",
                "--tc=60+1",
                "--json",
                "--pgn",
                file,
            ],
            "/managers/0/games",
        ),
    ] {
        let output = run(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(stderr(&output).contains("cut.pgn.gz: "), "{}", stderr(&output));
        assert!(
            stderr(&output).contains(&format!("within game {}", whole + 1)),
            "{}",
            stderr(&output)
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let games = report
            .pointer(pointer)
            .or_else(|| report.pointer("/managers/0/summary/games"));
        assert_eq!(games.and_then(Value::as_u64), Some(whole as u64), "{report}");
    }
    let report: Value = serde_json::from_slice(&analyse(file, &["--nodes=1"]).stdout).unwrap();
    assert_eq!(report["games"].as_array().map(Vec::len), Some(whole));
}

/// A regression: beside another file, nothing was said.
#[test]
fn a_file_without_games_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pgn").display().to_string();
    std::fs::write(&empty, "\n\n").unwrap();
    let output = analyse(&wild("marks.pgn"), &[&empty]);
    assert!(
        output.status.success() && stderr(&output).contains("empty.pgn: no game is in it"),
        "{}",
        stderr(&output)
    );
    assert_refused(
        &analyse(&wild("marks.pgn"), &[&wild("no-game.pgn")]),
        "no-game.pgn: it is JSON",
    );
}

#[test]
fn times_are_told_where_the_control_is_known() {
    let comments = |name: &str, more: &[&str]| {
        let output = analyse(&wild(name), more);
        (
            json(&output)["pgn"].as_str().unwrap().replace('\n', " "),
            stderr(&output).to_owned(),
        )
    };
    let (daily, _) = comments("daily.pgn", &[]);
    // A day less 23:50:03.
    assert!(
        daily.contains("[%emt 0:09:57.000]") && !daily.contains("planned="),
        "{daily}"
    );
    let (periods, _) = comments("two-periods.pgn", &[]);
    // 5,400 + 30 - 5,419 s.
    assert!(
        periods.contains("[%emt 0:00:11.000]") && periods.contains("planned="),
        "{periods}"
    );
    let unknown = std::fs::read_to_string(wild("two-periods.pgn"))
        .unwrap()
        .replace("40/5400+30:1800+30", "rapid");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.pgn");
    std::fs::write(&path, unknown.repeat(2)).unwrap();
    let (unknown, told) = comments(path.to_str().unwrap(), &[]);
    assert!(
        !unknown.contains("%emt") && !unknown.contains("planned="),
        "{unknown}"
    );
    assert_eq!(
        told.matches("the time control \"rapid\" is not known").count(),
        1,
        "{told}"
    );
    // A regression: `the time control "" is not known`.
    let nameless = folder.path().join("nameless.pgn");
    let control = "[TimeControl \"40/5400+30:1800+30\"]\n";
    std::fs::write(
        &nameless,
        std::fs::read_to_string(wild("two-periods.pgn"))
            .unwrap()
            .replace(control, ""),
    )
    .unwrap();
    let (_, told) = comments(nameless.to_str().unwrap(), &[]);
    assert!(
        told.contains(": no time control is named, so that clocks do not tell"),
        "{told}"
    );
    for (name, told_of) in [
        ("control-minutes.pgn", "is read in minutes"),
        ("control-40m.pgn", ""),
    ] {
        let (text, told) = comments(name, &[]);
        // 5,400 + 30 - 5,420 s.
        assert!(
            text.contains("[%emt 0:00:10.000]") && text.contains("planned="),
            "{name}: {text}"
        );
        assert!(told.contains(told_of), "{name}: {told}");
    }
    let (text, told) = comments("clock-hours-minutes.pgn", &[]);
    assert!(text.contains("[%clk 1:29:00.000] [%emt 0:01:30.000]"), "{text}");
    assert!(
        told.contains("game 1 (Ann – Bob): its clocks are read as hours and minutes"),
        "{told}"
    );
    let (overruled, _) = comments("control-minutes.pgn", &["--tc=5430"]);
    assert!(
        overruled.contains("[%emt 0:00:10.000]"),
        "the user knows better: {overruled}"
    );
    let (given, told) = comments(path.to_str().unwrap(), &["--tc=5400+30"]);
    assert!(
        given.contains("[%emt 0:00:11.000]") && !told.contains("is not known"),
        "{given}"
    );
}
