//! Tests `zeitnot analyse`, run as a user runs it.

use std::path::{Path, PathBuf};

use zeitnot::lab::pgn::Games;

use crate::common::{assert_refused, json, stderr, zeitnot};
use crate::hostile_names::{NAMES, seen_by_a_browser};

/// Two games: one with clocks, whose first move is from the book, and one that ends in mate after two blunders.
fn games(name: &str) -> String {
    let white = name.replace("\"\"", "\\\"").replace('\u{1b}', "");
    format!(
        "[Event \"e\"]\n[White \"{white}\"]\n[Black \"B\"]\n[Result \"1/2-1/2\"]\n[TimeControl \"60+1\"]\n\n1. e4 {{book}} e5 \
         {{[%clk 0:00:55]}} 2. Nf3 {{[%clk 0:00:50]}} Nc6 {{[%clk 0:00:54]}} 3. Bb5 {{[%clk 0:00:48]}} Nf6 \
         {{[%clk 0:00:50]}} 1/2-1/2\n\n[White \"C\"]\n[Black \"D\"]\n[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n"
    )
}

fn analyse(folder: &Path, text: &str, more: &[&str]) -> std::process::Output {
    let pgn = folder.join("in.pgn");
    std::fs::write(&pgn, text).unwrap();
    let options = ["--backend=trivial", "--nodes=200", "--threads=1"];
    zeitnot(&["analyse"]).arg(pgn).args(options).args(more).output().unwrap()
}

#[test]
fn games_come_back_with_evaluations_glyphs_variations_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(&analyse(folder.path(), &games("A"), &["--json"]));
    let text = report["pgn"].as_str().unwrap();
    let read: Vec<_> = Games::new("text", text.as_bytes()).map(|game| game.unwrap()).collect();
    let [clocks, mate] = &read[..] else { panic!("{text}") };
    assert_eq!((clocks.moves.len(), mate.moves.len()), (6, 4));
    assert!(clocks.tags.get("Annotator").unwrap().starts_with("Zeitnot "));
    assert!(clocks.moves[0].is_book && !clocks.moves[1].is_book);
    assert!(clocks.moves.iter().all(|played| played.centipawns.is_some()));
    // 50 + 1 − 48 s, as the clock before the move was 50.
    assert_eq!((clocks.moves[4].clock_ms, clocks.moves[4].used_ms), (Some(48_000.0), Some(3_000.0)));
    assert!(text.matches("planned=").count() == 6, "the second game has no clock: {text}");
    assert!(text.contains("g4 $4 {[%eval #-1]") && text.contains(" wdl=0/0/1000"), "{text}");
    assert!(text.contains("(2. "), "another move is shown for the blunder: {text}");
    assert!(!text.contains("Qh4# {[%eval"), "mate is no evaluation: {text}");
    let loser = &report["games"][1]["white"];
    assert_eq!((loser["blunders"].as_u64(), loser["moves"].as_u64()), (Some(1), Some(2)), "{report}");
    assert_eq!(report["games"][0]["white"]["moves"], 2, "the book counts for nobody");
}

/// Analyses two games of a player called `name`, and returns the page's file and text.
fn page_about(folder: &Path, name: &str) -> (PathBuf, String) {
    let out = folder.join("out");
    let output = analyse(folder, &games(name), &["--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(out.join("games.pgn").exists());
    let page = out.join("index.html");
    let html = std::fs::read_to_string(&page).unwrap();
    (page, html)
}

#[test]
fn the_page_takes_names_for_text() {
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let (_, html) = page_about(folder.path(), name);
        assert_eq!(html.matches("<script").count(), 2, "the program and its data");
        assert!(!html.contains("<img") && !html.contains("<!--") && !html.contains("<svg"), "{name}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_steps_through_games_in_a_browser() {
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let (page, html) = page_about(folder.path(), name);
        // The last position, as if a reader had pressed the key.
        let last = html.replace("show(0);\n})", "show(0);go(6);\n})");
        assert_ne!(last, html);
        std::fs::write(&page, last).unwrap();
        let Some(dom) = seen_by_a_browser(&page) else { return };
        assert!(dom.contains("<title>Analysis"), "a name was run: {name}");
        assert!(dom.contains("data-ply=\"6\"") && dom.contains("now\">Nf6"), "{dom}");
        assert!(dom.matches("class=\"graph\"").count() == 5 && !dom.contains("<img"), "{name}");
    }
}

#[test]
fn games_that_cannot_be_analysed_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("1. e5 *\n\n{}", games("A"));
    assert_refused(&analyse(folder.path(), &text, &["--max-games=1", "--tc=60"]), "game 1 is skipped: ply 1");
    // A regression: the result without a tag was lost, and numbers passed over games that were skipped.
    let untagged = analyse(folder.path(), "1. e5 *\n\n[Event \"e\"]\n\n1. e4 e5 1-0\n", &["--json"]);
    let report: serde_json::Value = serde_json::from_slice(&untagged.stdout).unwrap();
    assert_eq!((&report["games"][0]["game"], &report["games"][0]["result"]), (&2.into(), &"1-0".into()));
    let pgn = report["pgn"].as_str().unwrap();
    assert!(pgn.contains("[Result \"1-0\"]") && pgn.trim_end().ends_with("1-0"), "{pgn}");
    let nothing = analyse(folder.path(), "1. e5 *\n", &[]);
    assert!(stderr(&nothing).contains("no game that can be analysed"), "{}", stderr(&nothing));
}

/// Returns what an analysis of games without clocks says of each, except how long they are searched and what else differs from run to
/// run.
fn analysed(text: &str, more: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--backend=random", "--nncache=0", "--nodes=150", "--json"];
    let pgn = folder.path().join("in.pgn");
    std::fs::write(&pgn, text).unwrap();
    let report = json(&zeitnot(&["analyse"]).arg(pgn).args(options).args(more).output().unwrap());
    report["pgn"].clone()
}

const GAMES: &str = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 *\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n1. d4 d5 2. c4 e6 *\n\n1. c4 e5 *\n";

#[test]
fn games_at_once_are_analysed_as_one_after_the_other() {
    let one = analysed(GAMES, &["--threads=1", "--concurrency=1"]);
    assert_eq!(one.as_str().unwrap().matches(" n=150").count(), 17, "{one}");
    for more in [["--threads=1", "--concurrency=3"], ["--threads=2", "--concurrency=4"]] {
        assert_eq!(analysed(GAMES, &more), one, "{more:?}");
    }
}

/// A position is searched as in a game that ends there: nothing is kept of the one before.
#[test]
fn the_positions_of_a_lone_game_are_searched_at_once() {
    let (game, plies) = ("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6", 6_usize);
    let at_once = analysed(&format!("{game} *\n"), &["--threads=2", "--concurrency=7"]);
    let comments = |text: &serde_json::Value| -> Vec<String> {
        let comments = text.as_str().unwrap().split('{').skip(1);
        let comments =
            comments.map(|comment| comment.split('}').next().unwrap().split_whitespace().collect::<Vec<_>>());
        // Variations have comments without nodes.
        comments.map(|words| words.join(" ")).filter(|comment| comment.contains(" n=150")).collect()
    };
    let found = comments(&at_once);
    assert_eq!(found.len(), plies, "{at_once}");
    let moves: Vec<_> = game.split(' ').collect();
    for ply in 1..=plies {
        // Moves and the numbers between them.
        let up_to = moves[..ply + ply.div_ceil(2)].join(" ");
        let divided = analysed(&format!("{up_to} *\n"), &["--threads=1", "--concurrency=64"]);
        assert_eq!(comments(&divided).last(), Some(&found[ply - 1]), "{up_to}");
    }
}
