//! Tests `zeitnot analyse`, run as a user runs it.

use std::path::{Path, PathBuf};

use zeitnot_lab::pgn::Games;

use crate::common::{assert_refused, json, stderr, zeitnot};
use crate::hostile_names::NAMES;
use crate::pages::{assert_accessible, assert_nothing_is_cut_off, seen_by_a_browser};

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
    zeitnot(&["analyse"])
        .arg(pgn)
        .args(options)
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn games_come_back_with_evaluations_glyphs_variations_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let output = analyse(folder.path(), &games("A"), &["--json"]);
    assert!(
        stderr(&output).contains("clocks are from [%clk] in 1 game\n"),
        "{}",
        stderr(&output)
    );
    let report = json(&output);
    let text = report["pgn"].as_str().unwrap();
    let read: Vec<_> = Games::new("text", text.as_bytes())
        .map(|game| game.unwrap())
        .collect();
    let [clocks, mate] = &read[..] else {
        panic!("{text}")
    };
    assert_eq!((clocks.moves.len(), mate.moves.len()), (6, 4));
    assert!(clocks.tags.get("Annotator").unwrap().starts_with("Zeitnot "));
    assert!(clocks.moves[0].is_book && !clocks.moves[1].is_book);
    assert!(clocks.moves.iter().all(|played| played.centipawns.is_some()));
    // 50 + 1 − 48 s, as the clock before the move was 50.
    assert_eq!(
        (clocks.moves[4].clock_ms, clocks.moves[4].used_ms),
        (Some(48_000.0), Some(3_000.0))
    );
    // Lines break within comments.
    let text = text.replace('\n', " ");
    assert!(
        text.matches("planned=").count() == 6,
        "the second game has no clock: {text}"
    );
    assert!(
        text.contains("g4 $4 {[%eval #-1]") && text.contains(" wdl=0/0/1000"),
        "{text}"
    );
    assert!(
        text.contains("(2. "),
        "another move is shown for the blunder: {text}"
    );
    assert!(!text.contains("Qh4# {[%eval"), "mate is no evaluation: {text}");
    let loser = &report["games"][1]["white"];
    assert_eq!(
        (loser["blunders"].as_u64(), loser["moves"].as_u64()),
        (Some(1), Some(2)),
        "{report}"
    );
    assert_eq!(
        report["games"][0]["white"]["moves"], 2,
        "the book counts for nobody"
    );
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
        assert!(
            !html.contains("<img") && !html.contains("<!--") && !html.contains("<svg onload"),
            "{name}"
        );
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_steps_through_games_in_a_browser() {
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let (page, _) = page_about(folder.path(), name);
        // The last position of the first game, by its link.
        let Some(dom) = seen_by_a_browser(&format!("{}#1/6", page.display())) else {
            return;
        };
        assert!(dom.contains("<title>2 games"), "a name was run: {name}");
        assert!(
            dom.contains("data-ply=\"6\"") && dom.contains("aria-current=\"true\">Nf6"),
            "{dom}"
        );
        assert!(
            dom.matches("class=\"graph\"").count() == 4 && !dom.contains("<img"),
            "{name}"
        );
        assert_eq!(dom.matches("class=\"outline\"").count(), 32, "pieces are drawn");
    }
}

/// Castling on both sides, en passant, a promotion with a capture, and a castling right that goes with a captured rook.
const SPECIAL: &str = "[White \"A\"]\n[Black \"B\"]\n[Result \"*\"]\n[TimeControl \"180+2\"]\n\n1. e4 {[%clk 0:03:00]} Nf6 {[%clk 0:02:58]} 2. e5 \
                       {[%clk 0:02:59]} d5 {[%clk 0:02:50]} 3. exd6 {[%clk 0:02:50]} g6 {[%clk 0:02:00]} 4. dxc7 {[%clk 0:02:40]} Bg7 \
                       {[%clk 0:01:50]} 5. Nf3 {[%clk 0:02:30]} O-O {[%clk 0:01:30]} 6. Be2 {[%clk 0:02:20]} Nc6 {[%clk 0:01:20]} 7. O-O \
                       {[%clk 0:02:10]} b5 {[%clk 0:00:20]} 8. cxd8=N {[%clk 0:02:00]} a5 {[%clk 0:00:15]} 9. a4 {[%clk 0:01:58]} b4 \
                       {[%clk 0:00:12]} 10. c4 {[%clk 0:01:56]} *\n";

/// Reads a position in Chess960 too: the board of the page is one of its own.
#[test]
#[ignore = "needs Chromium"]
fn positions_of_the_page_are_those_of_the_game() {
    let random = "[Result \"*\"]\n[Variant \"Chess960\"]\n[SetUp \"1\"]\n[FEN \"1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w GBgb - 0 1\"]\n\n\
                  1. Rf1 e5 2. e4 O-O *\n";
    for text in [SPECIAL, random] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        assert!(
            analyse(folder.path(), text, &["--out", out.to_str().unwrap()])
                .status
                .success()
        );
        let expected = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        let link = format!("{}#{}", out.join("index.html").display(), expected.moves.len());
        let Some(dom) = seen_by_a_browser(&link) else {
            return;
        };
        let (_, rest) = dom.split_once("data-fen=\"").unwrap();
        assert_eq!(rest.split('"').next(), Some(expected.end.to_fen().as_str()));
    }
}

/// Presses keys and buttons, and notes the ply and whether the board shows a line.
const PRESS: &str = r#"<script>
const told = [];
const note = () => told.push(document.body.dataset.ply + (document.querySelector('.said button') ? ' line' : ''));
for (const key of ['n', 'ArrowRight', 'Home', 'End', 'p']) {
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  note();
}
document.querySelector('.line.better button').click();
note();
document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
note();
document.body.dataset.told = told.join(', ');
</script></body>"#;

#[test]
#[ignore = "needs Chromium"]
fn keys_lead_to_mistakes_and_lines_can_be_clicked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mate = "1. f3 e5 2. g4 Qh4# 0-1\n";
    assert!(
        analyse(folder.path(), mate, &["--out", out.to_str().unwrap()])
            .status
            .success()
    );
    let page = out.join("index.html");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("2.g4?? allows mate in 1: "), "{html}");
    std::fs::write(&page, html.replace("</body>", PRESS)).unwrap();
    let Some(dom) = seen_by_a_browser(&page.display().to_string()) else {
        return;
    };
    assert!(
        dom.contains("data-told=\"3, 4, 0, 4, 3, 3 line, 3\""),
        "{}",
        &dom[dom.find("<body").unwrap()..]
    );
}

/// Does what a player does, and notes what the page says of it.
const PLAY: &str = r#"<script>
const told = [];
const note = () => told.push([location.hash, document.body.dataset.ply, document.querySelector('.said .note').textContent].join(' '));
const key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
const named = (text) => [...document.querySelectorAll('button')].find((one) => one.textContent.startsWith(text));
const board = document.querySelector('.board');
const touch = (square) => {
  const { left, top, width, height } = board.getBoundingClientRect();
  const isFlipped = [...board.querySelectorAll('.name')].find((one) => one.textContent === 'a').getAttribute('x') > 400;
  const [file, rank] = ['abcdefgh'.indexOf(square[0]), square[1] - 1];
  const [x, y] = isFlipped ? [7 - file, rank] : [file, 7 - rank];
  const at = { clientX: left + (x + 0.5) * width / 8, clientY: top + (y + 0.5) * height / 8, bubbles: true };
  ['pointerdown', 'pointerup'].forEach((type) => board.dispatchEvent(new PointerEvent(type, at)));
};
const play = (move) => [move.slice(0, 2), move.slice(2)].forEach(touch);
const run = async () => {
  // A game of the list, and keys right after it.
  const link = document.querySelectorAll('.games tbody a')[1];
  link.focus();
  location.hash = link.getAttribute('href');
  await new Promise((done) => setTimeout(done, 50));
  key('ArrowRight');
  note();
  // The game's own move, a move of one's own, and back from it.
  play('e7e5');
  note();
  play('a2a3');
  note();
  play('a7a6');
  key('ArrowLeft');
  note();
  key('ArrowLeft');
  note();
  named('Learn').click();
  note();
  play('g2g4');
  told.push(document.querySelectorAll('.said p')[1].textContent);
  named('Show the answer').click();
  told.push(document.querySelectorAll('.said p')[1].textContent);
  named('Done').click();
  // One game as a file.
  let saved;
  URL.createObjectURL = (blob) => { saved = blob; return 'data:,'; };
  named('Save this game').click();
  const page = new DOMParser().parseFromString(await saved.text(), 'text/html');
  const { games } = JSON.parse(page.getElementById('games').textContent);
  told.push(`${games.length} ${games[0].game.players[0].name} ${page.title} ${page.querySelectorAll('#viewer *').length}`);
  document.body.dataset.told = told.join('; ');
};
run();
</script></body>"#;

#[test]
#[ignore = "needs Chromium"]
fn games_are_played_learnt_from_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (page, html) = page_about(folder.path(), "A</script><img src=x>");
    std::fs::write(&page, html.replace("</body>", PLAY)).unwrap();
    let Some(dom) = seen_by_a_browser(&page.display().to_string()) else {
        return;
    };
    let (_, told) = dom.split_once("data-told=\"").unwrap_or(("", &dom));
    let told = told.split('"').next().unwrap();
    let told: Vec<_> = told.split("; ").collect();
    let [moved, own, tried, back, left, asked, played, answer, saved] = &told[..] else {
        panic!("{told:?}")
    };
    assert!(moved.starts_with("#2/1 1 1.f3"), "{told:?}");
    assert!(
        own.starts_with("#2/2 2 1…e5"),
        "the game's own move leads on in the game: {told:?}"
    );
    assert!(tried.starts_with("#2/2 2 a3 "), "{told:?}");
    assert!(
        back.starts_with("#2/2 2 a3 "),
        "what is said is of the position that is shown: {told:?}"
    );
    assert!(left.starts_with("#2/2 2 1…e5"), "{told:?}");
    assert!(
        asked.contains("2.g4?? was played. Find a better move for White."),
        "{told:?}"
    );
    assert!(played.starts_with("g4 was played."), "{told:?}");
    assert!(answer.starts_with("2.g4?? allows mate in 1: "), "{told:?}");
    assert_eq!(*saved, "1 C C – D 0-1 0", "{told:?}");
}

#[test]
#[ignore = "needs Chromium"]
fn nothing_is_cut_off_on_a_phone_or_a_wide_window() {
    let name = "A-very-long-name-without-any-space-in-it-as-some-programs-have";
    let marked = games(name).replace(
        "1/2-1/2\n\n[White \"C\"]",
        "1/2-1/2\n\n[WhiteElo \"2500\"]\n[White \"C\"]",
    );
    for text in [SPECIAL, &marked] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        assert!(
            analyse(folder.path(), text, &["--out", out.to_str().unwrap()])
                .status
                .success()
        );
        assert_nothing_is_cut_off(&out);
    }
}

#[test]
#[ignore = "needs Chromium and axe-core"]
fn the_pages_of_one_game_and_of_two_are_accessible() {
    for text in [SPECIAL, &games("A")] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        assert!(
            analyse(folder.path(), text, &["--out", out.to_str().unwrap()])
                .status
                .success()
        );
        assert_accessible(&out);
    }
}

/// Draws a pawn, clicks another, and tries what is not legal.
const TRY: &str = r#"<script>
const told = [];
const board = document.querySelector('.board');
const place = (square) => {
  const { left, top, width } = board.getBoundingClientRect();
  return { clientX: left + ('abcdefgh'.indexOf(square[0]) + 0.5) * width / 8, clientY: top + (8.5 - square[1]) * width / 8, bubbles: true };
};
for (const [from, to] of [['e2', 'e5'], ['e2', 'e4'], ['e7', 'e7'], ['e5', 'e5'], ['e1', 'g1']]) {
  board.dispatchEvent(new PointerEvent('pointerdown', place(from)));
  board.dispatchEvent(new PointerEvent('pointerup', place(to)));
  told.push(document.body.dataset.fen.split(' ')[0]);
}
document.body.dataset.told = told.join(' ');
</script></body>"#;

#[test]
#[ignore = "needs Chromium"]
fn a_move_on_the_board_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    assert!(
        analyse(folder.path(), SPECIAL, &["--out", out.to_str().unwrap()])
            .status
            .success()
    );
    let page = out.join("index.html");
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, html.replace("</body>", TRY)).unwrap();
    let Some(dom) = seen_by_a_browser(&page.display().to_string()) else {
        return;
    };
    let start = "rnbqkbnr/pppppppp/8/8";
    let told = format!(
        "{start}/8/8/PPPPPPPP/RNBQKBNR {start}/4P3/8/PPPP1PPP/RNBQKBNR {start}/4P3/8/PPPP1PPP/RNBQKBNR \
         rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR"
    );
    assert!(
        dom.contains(&format!("data-told=\"{told}\"")),
        "{}",
        &dom[dom.find("<body").unwrap()..]
    );
}

/// A game of two amateurs on lichess, and the moves to which lichess' evaluations give `?` or `??`.
const AMATEURS: &str = "1. e3 d5 2. d3 e5 3. h3 c5 4. a3 Nc6 5. b3 g6 6. Bb2 Bg7 7. g3 Nf6 8. Bg2 O-O 9. e4 c4 10. dxc4 d4 11. Qd3 Nd7 12. Nd2 Nc5 \
                        13. Qf3 f5 14. Qe2 d3 15. Qd1 dxc2 16. Qxc2 Nd4 17. Bxd4 Qxd4 18. Qc1 Nd3+ 19. Ke2 Nxc1+ 20. Rxc1 Rd8 21. Rd1 Qb2 22. a4 \
                        Bd7 23. exf5 Bxf5 24. Bd5+ Kf8 25. g4 Bd7 26. Nf3 e4 27. Ng5 Rab8 28. Nxe4 Re8 29. Kf3 a6 30. Rb1 Qa3 31. Ra1 Qe7 32. h4 \
                        Bxa1 33. Rxa1 Qxh4 34. Nd6 Qxg4# 0-1\n";
const MISTAKES: [&str; 8] = [
    "9. e4", "9... c4", "10. dxc4", "10... d4", "11. Qd3", "12. Nd2", "31. Ra1", "34. Nd6",
];

/// A regression: 2 of these were found, beside 11 moves that are none.
#[test]
fn marks_agree_with_those_of_lichess() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("in.pgn");
    std::fs::write(&pgn, AMATEURS).unwrap();
    let report = json(
        &zeitnot(&["analyse", "--nodes=300", "--json"])
            .arg(&pgn)
            .output()
            .unwrap(),
    );
    let text = report["pgn"]
        .as_str()
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let marked: Vec<_> = text
        .match_indices(" $2")
        .chain(text.match_indices(" $4"))
        .map(|(end, _)| &text[..end])
        .collect();
    let found = marked
        .iter()
        .filter(|text| {
            MISTAKES
                .iter()
                .any(|mistake| text.ends_with(&format!(" {mistake}")))
        })
        .count();
    assert!(
        found >= 4 && 3 * found >= 2 * marked.len(),
        "{found} of {}: {text}",
        marked.len()
    );
}

/// Needs no network of its own, has games at once, and takes the same marks.
#[test]
fn another_engine_judges() {
    let folder = tempfile::tempdir().unwrap();
    let judge = format!(
        "--with=cmd={},args=--backend=trivial --threads=1",
        env!("CARGO_BIN_EXE_zeitnot")
    );
    let report = json(&analyse(
        folder.path(),
        &games("A"),
        &["--json", &judge, "--weights=no/such.pb"],
    ));
    assert!(
        report["backend"].as_str().unwrap().starts_with("Zeitnot "),
        "{report}"
    );
    assert_eq!(report["games"][1]["white"]["blunders"], 1, "{report}");
    // Lines break within comments.
    let pgn = report["pgn"].as_str().unwrap().replace('\n', " ");
    assert!(
        pgn.contains("g4 $4 {[%eval #-1]") && pgn.contains("(2. "),
        "{pgn}"
    );
    let out = folder.path().join("out");
    let told = analyse(
        folder.path(),
        &games("A"),
        &["--out", out.to_str().unwrap(), &judge],
    );
    let (text, page) = (
        String::from_utf8_lossy(&told.stdout).into_owned(),
        out.join("index.html"),
    );
    assert!(
        text.starts_with("Judged by Zeitnot ") && text.contains("200 nodes a position"),
        "{text}"
    );
    assert!(
        stderr(&told).trim_end().ends_with(&page.display().to_string()),
        "{}",
        stderr(&told)
    );
}

#[cfg(unix)]
#[test]
fn a_judge_that_dies_is_named_with_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("engine.sh");
    std::fs::write(&script, "echo uciok; while read word rest; do case $word in isready) echo readyok;; go) echo no licence >&2; exit 1;; esac; done").unwrap();
    let judge = format!("--with=cmd=/bin/sh,args='{}'", script.display());
    let output = analyse(folder.path(), &games("A"), &[&judge]);
    assert_refused(
        &output,
        "/bin/sh ended (exit code 1) before it said bestmove. Its last words: no licence",
    );
}

#[test]
fn the_page_of_a_long_game_is_light() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(45);
    let output = analyse(
        folder.path(),
        &format!("{moves} *\n"),
        &["--out", out.to_str().unwrap()],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = out.join("index.html").metadata().unwrap().len();
    assert!(bytes < 400_000, "{bytes} bytes for 180 plies");
}

/// A regression: with few visits, most moves got `?!`.
#[test]
fn few_visits_say_that_they_cannot_judge() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let pgn = folder.path().join("in.pgn");
    std::fs::write(&pgn, SPECIAL).unwrap();
    let report = json(
        &zeitnot(&[
            "analyse",
            "--backend=random",
            "--nodes=10",
            "--threads=1",
            "--json",
        ])
        .arg(&pgn)
        .output()
        .unwrap(),
    );
    let white = &report["games"][0]["white"];
    assert!(
        white["accuracy"].is_null() && white["inaccuracies"] == 0,
        "{report}"
    );
    let options = [
        "--backend=random",
        "--nodes=10",
        "--threads=1",
        "--out",
        out.to_str().unwrap(),
    ];
    assert!(
        zeitnot(&["analyse"])
            .arg(&pgn)
            .args(options)
            .output()
            .unwrap()
            .status
            .success()
    );
    let html = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(
        html.contains("[\"Accuracy\",\"too few visits to judge\""),
        "{html}"
    );
}

#[test]
#[ignore = "needs Chromium"]
fn the_time_of_a_game_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = SPECIAL.replace("\"*\"", "\"1-0\"").replace(" *\n", " 1-0\n");
    let text = text.replace("[TimeControl", "[Termination \"Time forfeit\"]\n[TimeControl");
    let report = json(&analyse(folder.path(), &text, &["--json"]));
    assert_eq!(report["games"][0]["control"], "3 min + 2 s a move");
    assert!(
        analyse(folder.path(), &text, &["--out", out.to_str().unwrap()])
            .status
            .success()
    );
    let Some(dom) = seen_by_a_browser(&out.join("index.html").display().to_string()) else {
        return;
    };
    for words in [
        "Black lost on time",
        "White used 1:24",
        "The clock did not decide",
        "From 8…a5",
    ] {
        assert!(dom.contains(words), "{words}");
    }
}

#[test]
fn games_that_cannot_be_analysed_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("1. e5 *\n\n{}", games("A"));
    assert_refused(
        &analyse(folder.path(), &text, &["--max-games=1", "--tc=60"]),
        "game 1 is skipped: ply 1",
    );
    // A regression: the result without a tag was lost, and numbers passed over games that were skipped.
    let untagged = analyse(
        folder.path(),
        "1. e5 *\n\n[Event \"e\"]\n\n1. e4 e5 1-0\n",
        &["--json"],
    );
    let report: serde_json::Value = serde_json::from_slice(&untagged.stdout).unwrap();
    assert_eq!(
        (&report["games"][0]["game"], &report["games"][0]["result"]),
        (&2.into(), &"1-0".into())
    );
    let pgn = report["pgn"].as_str().unwrap();
    assert!(
        pgn.contains("[Result \"1-0\"]") && pgn.trim_end().ends_with("1-0"),
        "{pgn}"
    );
    let nothing = analyse(folder.path(), "1. e5 *\n", &[]);
    assert!(
        stderr(&nothing).contains("no game that can be analysed"),
        "{}",
        stderr(&nothing)
    );
}

/// Returns what an analysis of games without clocks says of each, except how long they are searched and what else differs from run to
/// run.
fn analysed(text: &str, more: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--backend=random", "--nncache=0", "--nodes=150", "--json"];
    let pgn = folder.path().join("in.pgn");
    std::fs::write(&pgn, text).unwrap();
    let report = json(
        &zeitnot(&["analyse"])
            .arg(pgn)
            .args(options)
            .args(more)
            .output()
            .unwrap(),
    );
    report["pgn"].clone()
}

const GAMES: &str = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 *\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n1. d4 d5 2. c4 e6 *\n\n1. c4 e5 *\n";

#[test]
fn games_at_once_are_analysed_as_one_after_the_other() {
    let one = analysed(GAMES, &["--threads=1", "--concurrency=1"]);
    assert_eq!(
        one.as_str()
            .unwrap()
            .split_whitespace()
            .filter(|word| word.starts_with("n=150"))
            .count(),
        17,
        "{one}"
    );
    for more in [
        ["--threads=1", "--concurrency=3"],
        ["--threads=2", "--concurrency=4"],
    ] {
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
        let comments = comments.map(|comment| {
            comment
                .split('}')
                .next()
                .unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
        });
        // Variations have comments without nodes.
        comments
            .map(|words| words.join(" "))
            .filter(|comment| comment.contains(" n=150"))
            .collect()
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
