//! Files as people have them: those of `tests/data/wild` with their readings, and games that are spoiled as
//! files are.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;

use super::*;
use zeitnot_engine::chess::{Role, Square};

/// Of each game White, its plies, its last move and its result, or why it is broken.
fn wild(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/wild")
        .join(name);
    let games = Games::new(name, File::open(path).unwrap());
    games
        .map(|game| game.map_or_else(|error| error.to_string(), |game| described(&game)))
        .collect()
}

fn described(game: &RecordedGame) -> String {
    let mut position = game.start.clone();
    let mut last = String::from("no moves");
    for played in &game.moves {
        last = position.format_san(played.r#move);
        position = position.play(played.r#move);
    }
    let tag = |name| game.tags.get(name).unwrap_or("?");
    format!(
        "{}: {} plies, {last}, {}",
        tag("White"),
        game.moves.len(),
        tag("Result")
    )
}

fn read(text: &'static str) -> Vec<Result<RecordedGame, GameError>> {
    Games::new("text", text.as_bytes()).collect()
}

#[test]
fn tags_variations_and_fischer_random() {
    let games = read(
        "[Event \"a\"]\n[Result \"0-1\"]\n[Variant \"fischerandom\"]\n[FEN \"bnrbkrqn/pppppppp/8/8/8/8/PPPPPPPP/BNRBKRQN w \
         CFcf - 0 1\"]\n\n1. f4 (1. e4 e5) {book} f5 {[%clk 0:00:01]} 0-1\n",
    );
    let game = games[0].as_ref().unwrap();
    assert_eq!(
        (game.tags.get("Event"), game.tags.result()),
        (Some("a"), Some(-1))
    );
    assert_eq!(game.variant, Variant::Chess960);
    assert_eq!(game.moves.len(), 2, "variations are skipped");
    assert!(game.moves[0].is_book);
    assert_eq!(game.moves[1].clock_ms, Some(1000.0));
}

#[test]
fn broken_games_are_named_and_skipped() {
    let games = read(
        "[Result \"*\"]\n\n1. e4 e5 2. Ke3 *\n\n[FEN \"8/8 w\"]\n\n1. e4 *\n\n[Result \"1-0\"]\n\n1. e4 1-0\n",
    );
    let fault = |i: usize| games[i].as_ref().unwrap_err().to_string();
    assert!(fault(0).starts_with("game 1 is skipped: ply 3: "), "{}", fault(0));
    assert!(fault(1).starts_with("game 2 is skipped: "), "{}", fault(1));
    assert_eq!(games[2].as_ref().unwrap().number, 3);
    assert_eq!(games.len(), 3);
}

#[test]
fn a_file_that_was_cut_off_costs_its_last_game_alone() {
    let games = read("[Result \"1-0\"]\n\n1. e4 1-0\n\n[Result \"*\"]\n\n1. d4 {[%clk 0:0");
    assert_eq!(games.len(), 2);
    assert!(games[0].is_ok());
    let fault = games[1].as_ref().unwrap_err().to_string();
    assert_eq!(fault, "game 2 is skipped: a comment has no end");
}

/// A regression: the result of a game without the tag was lost.
#[test]
fn results_behind_the_moves_and_unfinished_games_are_known() {
    for (text, result, has_result) in [
        ("1. e4 e5 1-0\n", Some("1-0"), true),
        ("[Event \"e\"]\n\n1. e4 e5 1/2-1/2\n", Some("1/2-1/2"), true),
        ("[Result \"*\"]\n\n1. e4 e5 0-1\n", Some("0-1"), true),
        ("[Result \"White won\"]\n\n1. e4 e5 1-0\n", Some("1-0"), true),
        ("[Result \"draw\"]\n\n1. e4 e5\n", Some("*"), false),
        ("[Result \"0,5 - 0,5\"]\n\n1. e4 e5\n*", Some("1/2-1/2"), true),
        ("[Result \"1-0\"]\n\n1. e4 e5 1/2-1/2\n", Some("1-0"), true),
        ("1. e4 e5 *\n", None, false),
        ("1. e4 e5\n", None, false),
        ("[Result \"1-0\"]\n\n1. e4 e5\n1-0\n", Some("1-0"), true),
        ("[Result \"0-1\"]\n\n1. e4 e5 2. Nf3", Some("0-1"), false),
        (
            "[Result \"0-1\"]\n\n1. e4 e5 ; 0-1\n\n[Result \"*\"]\n\n*\n",
            Some("0-1"),
            true,
        ),
    ] {
        let games = read(text);
        let game = games[0].as_ref().unwrap();
        assert_eq!(
            (game.tags.get("Result"), game.has_result),
            (result, has_result),
            "{text}"
        );
    }
}

/// `0-0` is castling or the result of two who both lose.
#[test]
fn zeros_are_told_apart_by_their_place() {
    const BEFORE: &str = "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5";
    for (tags, behind, plies, result) in [
        ("[Result \"0-0\"]\n\n", "0-0", 6, Some("0-0")),
        ("[Result \"0-0\"]\n\n", "0-0 {both lost}", 6, Some("0-0")),
        ("[Result \"0-0\"]\n\n", "0-0 0-0 0-0", 8, Some("0-0")),
        ("[Result \"0-0\"]\n\n", "4. 0-0", 7, Some("0-0")),
        ("[Event \"e\"]\n\n", "0 - 0", 6, Some("0-0")),
        ("[Event \"e\"]\n\n", "4. 0-0", 7, None),
        ("[Event \"e\"]\n\n", "0-0 0-0 1-0", 8, Some("1-0")),
        ("[Result \"1-0\"]\n\n", "0-0", 7, Some("1-0")),
        ("[Result \"0-0\"]\n\n", "0-0 (4. d3)", 7, Some("0-0")),
        ("", "0-0", 7, None),
    ] {
        for after in ["", "\n\n[Event \"next\"]\n\n1. e4 1-0\n"] {
            let text = format!("{tags}{BEFORE} {behind}{after}");
            let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
            assert_eq!(
                (game.moves.len(), game.tags.get("Result")),
                (plies, result),
                "{text}"
            );
        }
    }
    let both_lost = Games::new("text", &b"[Result \"0-0\"]\n\n0-0\n"[..])
        .next()
        .unwrap()
        .unwrap();
    assert!(both_lost.moves.is_empty() && !both_lost.has_result);
    let castled = Games::new("text", &b"[White \"A\"]\n\n1.0-0-0 *"[..])
        .next()
        .unwrap();
    assert!(castled.unwrap_err().to_string().contains("0-0-0 is not legal"));
}

#[test]
fn marks_that_are_not_known_are_told_once() {
    let games = read("1. e4 ⇄ e5 ⇄ 2. Nf3 ⩮ Nc6 N 3. Bb5 \\$14 1-0\n\n1. e4 -- 1-0\n\n1) e4 e5) 1-0\n");
    let game = games[0].as_ref().unwrap();
    assert_eq!(game.moves.len(), 5);
    assert_eq!(game.notes, ["a mark that is not known is passed over: \"⇄\""]);
    let text = "1. e4 $14 $256 e5 $999 1-0\n";
    let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
    assert_eq!((game.moves.len(), &*game.moves[0].marks), (2, &[14][..]));
    assert_eq!(game.notes, ["a mark that is not known is passed over: \"$256\""]);
    assert!(games[1].as_ref().unwrap_err().to_string().contains("null move"));
    assert!(
        read("1. e4 <> 1-0\n")[0]
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("\"<>\" is a null move")
    );
    assert!(
        games[2]
            .as_ref()
            .unwrap_err()
            .to_string()
            .ends_with("a ) stands without its (")
    );
}

/// A regression: behind a byte order mark the tag was not seen.
#[test]
fn a_comment_without_end_ends_at_the_next_game() {
    let games = read("1. e4 {a comment 1-0\n\n\u{feff}[Event \"e\"]\n\n1. d4 1-0\n");
    assert!(
        games.len() == 2 && games[0].is_err() && games[1].is_ok(),
        "{games:?}"
    );
}

/// What a comment swallows must not be moves.
#[test]
fn a_brace_within_prose_is_prose() {
    let plies = |text: &'static str| read(text)[0].as_ref().ok().map(|game| game.moves.len());
    assert_eq!(plies("1. e4 {as in {1] of the notes} e5 1-0\n"), Some(2));
    assert_eq!(plies("1. e4 {as in e5 2. Nf3 {of the notes} Nc6 1-0\n"), None);
    assert_eq!(plies("1. e4 {as in O-O {of the notes} Nc6 1-0\n"), None);
    let with_its_result = "1. e4 {swallowed 2. Nf3 1-0\n\n{the next game}\n[Event \"e\"]\n\n1. d4 *\n";
    assert_eq!(plies(with_its_result), None);
}

/// Time used and left, s, and evaluation, of each move.
#[test]
fn figures_of_other_programs_are_read() {
    for (comment, expected) in [
        ("+0.30/14 3.4s", (Some(3.4), None, Some(30))),
        (
            "-0.30/14 3.400s, n=123, tl=0.995s",
            (Some(3.4), Some(0.995), Some(-30)),
        ),
        // Programs count the plies to a mate.
        ("+M5/14 0.5s, White mates", (Some(0.5), None, Some(31_995))),
        ("-M2/14 338ms", (Some(0.338), None, Some(-31_998))),
        ("+0.57 17/28 583 363004", (Some(0.583), None, Some(57))),
        ("+0,35/9 1,5", (Some(1.5), None, Some(35))),
        ("(e7e5) +0.35/9 1:05", (Some(65.0), None, Some(35))),
        ("-0.35/9 2 1234567", (Some(2.0), None, Some(-35))),
        (
            "d=24, sd=30, mt=12000, tl=5400000, wv=0.35,",
            (Some(12.0), Some(5400.0), Some(35)),
        ),
        (
            "ev=-0.22, d=24, mt=00:01:35, tl=01:58:54, s=8010 kN/s, pv=e6 Nf3, wv=0.22,",
            (Some(95.0), Some(7134.0), Some(22)),
        ),
        (
            "ev=-0.22, d=24, pd=Nf3, mt=00:01:35",
            (Some(95.0), None, Some(-22)),
        ),
        (
            "d=12, mt=50, tl=9050, wv=-M2",
            (Some(0.05), Some(9.05), Some(-31_998)),
        ),
        ("wv=#22", (None, None, Some(31_957))),
        ("0:04:57", (None, Some(297.0), None)),
        ("1/2 offered, 3s", (None, None, None)),
        // Regressions: prose whose shape was OpenBench's.
        ("see 3/4 12 7", (None, None, None)),
        ("rounds 5/9 2019 2021", (None, None, None)),
        ("1/2 10s", (None, None, None)),
        ("2.5/4 12", (None, None, None)),
        ("a line, mt=5", (None, None, None)),
        ("mt=5, a line", (None, None, None)),
        ("tl=-1s mt=nan", (None, None, None)),
    ] {
        let text = format!("1. e4 {{{comment}}} *\n");
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        let played = &game.moves[0];
        let seconds = |ms: Option<f64>| ms.map(|ms| ms / 1000.0);
        assert_eq!(
            (
                seconds(played.used_ms),
                seconds(played.clock_ms),
                played.centipawns
            ),
            expected,
            "{comment}"
        );
        assert_eq!(played.comments, [comment], "what people and programs say stays");
    }
}

/// A game of TCEC: the comment of a move and those of a move of the opening have places for the move, the
/// evaluations, and the time used and left.
struct Season {
    control: [u64; 2],
    book_plies: usize,
    comment: &'static str,
    book: &'static str,
    time: fn(u64) -> String,
}

/// A regression: the times of the first twelve seasons were read a thousandth of what they are.
#[test]
fn clocks_of_every_season_of_tcec_sum_to_their_control() {
    const MOVES: &str = "d4 Nf6 c4 e6 Nf3 d5 Nc3 Be7 Bg5 O-O e3 h6 Bh4 b6 cxd5 Nxd5 Bxe7 Qxe7 Nxd5 exd5";
    const OLD: [&str; 2] = [
        " ev=EV, d=24, pd=a6, mt=USED, tl=LEFT, s=9120 kN/s, pv=MOVE a6, tb=0, R50=50,  ",
        " ev=0.00, d=1, mt=00:00:00, tl=LEFT, s=0 kN/s, pv=MOVE, tb=0, R50=50,  ",
    ];
    const HOURS: [&str; 2] = [
        " ev=EV, d=24, pd=a6, mt=USED, tl=LEFT, s=9120 kN/s, n=76, pv=MOVE a6, tb=0, R50=50, wv=WV,  ",
        " ev=0.00, d=1, mt=00:00:00, tl=LEFT, s=0 kN/s, n=0, pv=MOVE, tb=0, R50=50, wv=0.00,  ",
    ];
    const MILLIS: [&str; 2] = [
        "d=24, sd=40, mt=USED, tl=LEFT, s=2198320, n=35, pv=MOVE a6, tb=0, h=8.3, wv=WV, R50=49, mb=+0+0+0+0+0,",
        "book, mb=+0+0+0+0+0,",
    ];
    const COMMANDS: [&str; 2] = ["[%eval WV] [%emt USED] [%clk LEFT]", "book"];
    let hours: fn(u64) -> String = |s| format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    let millis: fn(u64) -> String = |s| format!("{s}000");
    let season = |control, book_plies, [comment, book]: [&'static str; 2], time| Season {
        control,
        book_plies,
        comment,
        book,
        time,
    };
    for season in [
        season([9000, 60], 0, OLD, hours),
        season([6000, 0], 2, OLD, hours),
        season([9000, 60], 4, OLD, hours),
        season([7200, 30], 6, HOURS, hours),
        season([7200, 30], 12, HOURS, hours),
        season([10_800, 30], 8, HOURS, hours),
        season([5400, 10], 8, HOURS, hours),
        season([5400, 5], 8, MILLIS, millis),
        season([6600, 10], 8, MILLIS, millis),
        season([1800, 3], 4, COMMANDS, hours),
    ] {
        let [base, inc] = season.control;
        let mut text = format!("[Event \"TCEC\"]\n[Result \"1-0\"]\n[TimeControl \"{base}+{inc}\"]\n\n");
        let mut left = [base; 2];
        let mut expected = Vec::new();
        for (ply, played) in MOVES.split(' ').enumerate() {
            let is_book = ply < season.book_plies;
            // From 20 to 199 s.
            let used = 20 + 37 * ply as u64 % 180;
            if !is_book {
                left[ply % 2] += inc;
                left[ply % 2] -= used;
                expected.push(Some(1000.0 * used as f64));
            }
            let [shown, form] = if is_book {
                [base + inc, 1]
            } else {
                [left[ply % 2], 0]
            };
            let form = [season.comment, season.book][form as usize];
            let white = if ply % 2 == 0 { "0.31" } else { "-0.31" };
            let comment = form
                .replace("MOVE", played)
                .replace("USED", &(season.time)(used))
                .replace("LEFT", &(season.time)(shown))
                .replace("WV", white)
                .replace("EV", "0.31");
            let number = if ply % 2 == 0 {
                format!("{}.", ply / 2 + 1)
            } else {
                String::new()
            };
            let _ = writeln!(text, "{number}{played} {{{comment}}}");
        }
        let game = Games::new("text", (text + "1-0\n").as_bytes())
            .next()
            .unwrap()
            .unwrap();
        assert!(game.notes.is_empty(), "{}: {:?}", season.comment, game.notes);
        let (book, own) = game.moves.split_at(season.book_plies);
        assert!(
            book.iter().all(|played| played.is_book) && !own[0].is_book,
            "{}",
            season.book
        );
        assert!(
            own.iter().all(|played| played.centipawns == Some(31)),
            "{}",
            season.comment
        );
        assert_eq!(
            used_ms(&game, None)[season.book_plies..],
            expected,
            "{}",
            season.comment
        );
        let last = |side: usize| {
            own.iter()
                .skip((season.book_plies + side) % 2)
                .step_by(2)
                .next_back()
        };
        let clocks = [0, 1].map(|side| last(side).unwrap().clock_ms);
        assert_eq!(
            clocks,
            left.map(|s| Some(1000.0 * s as f64)),
            "{}",
            season.comment
        );
    }
}

#[test]
fn clocks_and_times_whose_form_the_game_contradicts_are_not_read() {
    for (tags, comments, note) in [
        // Seconds, where the form has ms.
        (
            "[TimeControl \"7200+30\"]",
            [
                "mt=100, tl=7130",
                "mt=50, tl=7180",
                "mt=100, tl=7060",
                "mt=30, tl=7180",
            ],
            "mt= and tl= contradict its time control \"7200+30\", and are not read",
        ),
        (
            "[TimeControl \"60+1\"]",
            [
                "mt=30000, tl=60000",
                "mt=9000, tl=59000",
                "mt=30000, tl=60000",
                "mt=9000, tl=58000",
            ],
            "mt= and tl= contradict each other, and are not read",
        ),
        (
            "[TimeControl \"60\"]",
            ["+0.31/9 900", "+0.31/9 800", "+0.31/9 2700", "+0.31/9 2900"],
            "",
        ),
        (
            "[TimeControl \"600\"]",
            ["[%clk 0:00:00]"; 4],
            "[%clk] show 0 at all moves, and are not read",
        ),
    ] {
        let [a, b, c, d] = comments;
        let text = format!("{tags}\n\n1. e4 {{{a}}} e5 {{{b}}} 2. Nf3 {{{c}}} Nc6 {{{d}}} 1-0\n");
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        let is_read = game
            .moves
            .iter()
            .any(|played| played.clock_ms.or(played.used_ms).is_some());
        assert_eq!(
            game.notes.join(" "),
            if is_read {
                "its time control \"60\" is read in minutes, which its times need"
            } else {
                note
            }
        );
        assert_eq!(is_read, note.is_empty(), "{text}");
        assert_eq!(
            used_ms(&game, None).iter().any(Option::is_some),
            is_read,
            "{text}"
        );
    }
}

/// Used for each move, s, as the clocks show it.
fn used_by(tags: &str, clocks: &[&str]) -> Vec<Option<f64>> {
    let moves = ["1. e4", "e5", "2. Nf3", "Nc6", "3. Bb5", "a6"];
    let moves = moves
        .iter()
        .zip(clocks)
        .map(|(played, clock)| format!("{played} {{[%clk {clock}]}} "));
    let text = format!("{tags}\n\n{}1-0\n", moves.collect::<String>());
    let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
    used_ms(&game, None)
        .into_iter()
        .map(|used| used.map(|ms| ms / 1000.0))
        .collect()
}

/// Regressions: an increment that lichess does not give, and half a clock that was taken for a whole one.
#[test]
fn lichess_times_no_first_move_and_halves_the_clock_of_the_berserk() {
    let lichess = "[Site \"https://lichess.org/abcdefgh\"]\n";
    let clocks = ["0:30:00", "0:30:00", "0:30:12", "0:30:15"];
    assert_eq!(
        used_by(&format!("{lichess}[TimeControl \"1800+20\"]"), &clocks),
        [None, None, Some(8.0), Some(5.0)]
    );
    assert_eq!(
        used_by("[TimeControl \"1800+20\"]", &clocks)[0],
        Some(20.0),
        "elsewhere"
    );
    let clocks = ["0:01:30", "0:03:00", "0:01:29", "0:02:58", "0:01:27", "0:02:55"];
    assert_eq!(
        used_by(&format!("{lichess}[TimeControl \"180+2\"]"), &clocks),
        [None, None, Some(1.0), Some(4.0), Some(2.0), Some(5.0)]
    );
}

#[test]
fn contradicting_results_are_told() {
    let games = read("[Result \"1-0\"]\n\n1. e4 1/2-1/2\n\n[Result \"*\"]\n\n1. e4 1/2-1/2\n");
    let notes: Vec<_> = games
        .iter()
        .map(|game| game.as_ref().unwrap().notes.join(" "))
        .collect();
    assert_eq!(
        notes,
        [
            "its tag says 1-0, and 1/2-1/2 follows its moves: the tag counts",
            ""
        ]
    );
}

/// A regression: what Zeitnot alone can read was written again.
#[test]
fn a_fen_is_kept_as_the_standard_has_it() {
    for (written, expected) in [
        (
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1;",
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
        ),
        (
            "4k3/8/8/8/8/8/4P3/4K3 w - - hmvc 1; fmvn 7;",
            "4k3/8/8/8/8/8/4P3/4K3 w - - 1 7",
        ),
    ] {
        let text = format!("[FEN \"{written}\"]\n\nKd2 *\n");
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        assert_eq!(game.tags.get("FEN"), Some(expected));
    }
}

/// A regression: empty lines between the tags cost a game its FEN.
#[test]
fn tags_may_stand_apart_and_glued_to_a_result() {
    let apart =
        "[Event \"e\"]\n\n\n[White \"A\"]\n\n\n\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n\n1. Kd2 *\n";
    let glued =
        "[White \"A\"]\n\n1. e4 1-0[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n[White \"B\"]\n\n1. Kd2 *\n";
    for (text, expected) in [
        (apart, &["A: 1 plies, Kd2, ?"][..]),
        (glued, &["A: 1 plies, e4, 1-0", "B: 1 plies, Kd2, ?"]),
    ] {
        let games: Vec<_> = read(text)
            .iter()
            .map(|game| described(game.as_ref().unwrap()))
            .collect();
        assert_eq!(games, expected);
    }
}

#[test]
fn every_wild_file_is_read_or_refused_by_name() {
    for (name, expected) in [
        (
            "result-00.pgn",
            &["Ann: 6 plies, Bc5, 0-0", "Cid: 2 plies, d5, 1-0"][..],
        ),
        (
            "result-spaces.pgn",
            &["Ann: 3 plies, Nf3, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "result-words.pgn",
            &["Ann: 3 plies, Nf3, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "result-star.pgn",
            &["Ann: 3 plies, Nf3, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "glued-tags.pgn",
            &[
                "Ann: 3 plies, Nf3, 1/2-1/2",
                "Cid: 2 plies, d5, 1-0",
                "Eve: 2 plies, c5, 0-1",
            ],
        ),
        (
            "brace-in-comment.pgn",
            &["Ann: 3 plies, Nf3, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "mark-novelty.pgn",
            &["Ann: 4 plies, d6, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "mark-minus.pgn",
            &["Ann: 7 plies, Qxf7#, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "escaped-nag.pgn",
            &["Ann: 3 plies, Nf3, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "number-bracket.pgn",
            &["Ann: 4 plies, Nc6, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        (
            "variant-regular.pgn",
            &["Ann: 2 plies, e5, 1-0", "Cid: 2 plies, d5, 1-0"],
        ),
        ("promotion.pgn", &["?: 3 plies, b8=Q, 1-0"]),
        ("en-passant.pgn", &["A: 5 plies, exd6, 1-0"]),
        ("double-plus.pgn", &["A: 7 plies, Qxf7#, 1-0"]),
        (
            "german.pgn",
            &["game 1 (A – B) is skipped: ply 5: \"Le3\" cannot be read"],
        ),
        ("marks.pgn", &["A: 6 plies, a6, 1-0"]),
        ("long-algebraic.pgn", &["A: 8 plies, Nxe4, 1-0"]),
        ("uci-moves.pgn", &["A: 7 plies, O-O, 1-0"]),
        ("figurines.pgn", &["A: 5 plies, Bb5, 1-0"]),
        (
            "null-move.pgn",
            &["game 1 (A – B) is skipped: ply 2: \"--\" is a null move"],
        ),
        ("comment-blank.pgn", &["A: 2 plies, e5, 1-0"]),
        ("semicolon-lines.pgn", &["A: 2 plies, e5, 1-0"]),
        (
            "tags-alone.pgn",
            &["A: 0 plies, no moves, *", "C: 2 plies, e5, 1-0"],
        ),
        ("odd-tags.pgn", &["A \"the\" B: 3 plies, Kd2, 1-0"]),
        ("no-result.pgn", &["A: 2 plies, e5, *", "C: 2 plies, d5, *"]),
        (
            "variant.pgn",
            &["game 1 (A – ?) is skipped: its variant is \"Three-check\""],
        ),
        (
            "lost-fen.pgn",
            &["game 1 (A – ?) is skipped: it begins from a position, but has no tag FEN"],
        ),
        ("latin1.pgn", &["Ján: 2 plies, e5, 1-0"]),
        (
            "no-moves.pgn",
            &["A: 0 plies, no moves, 1-0", "C: 2 plies, e5, 0-1"],
        ),
        (
            "carriage-returns.pgn",
            &["A: 2 plies, e5, 1-0", "C: 2 plies, d5, 1-0"],
        ),
        ("joined.pgn", &["A: 2 plies, e5, 1-0", "C: 2 plies, d5, 1-0"]),
        ("no-break-spaces.pgn", &["A: 4 plies, Nc6, 1-0"]),
        (
            "comment-without-end.pgn",
            &[
                "game 1 (A – B) is skipped: a comment has no end",
                "C: 2 plies, d5, 1-0",
            ],
        ),
        (
            "skipped-number.pgn",
            &["game 1 (A – B) is skipped: ply 4: the number 4 stands where move 2 is due"],
        ),
    ] {
        let read = wild(name);
        assert_eq!(read.len(), expected.len(), "{name}: {read:#?}");
        for (read, expected) in read.iter().zip(expected) {
            assert!(read.starts_with(expected), "{name}: {read}");
        }
    }
}

/// What is claimed twice, cut off, or written between: the last claim counts, and the game is no other one.
#[test]
fn claims_that_stand_twice_are_settled_and_told() {
    const END: &str = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]";
    for (text, expected, note) in [
        (
            "[Event \"a\"]\n[White \"A\"]\n[Result \"0-1\"]\n[FEN \"x\"]\n[TimeControl \"66.6+0.6[Event \"b\"]\n[White \"B\"]\n\
             [Result \"1-0\"]\n\n1. e4 1-0\n",
            &["B: 1 plies, e4, 1-0"][..],
            "the header of another game (A – ?) stands before its own",
        ),
        (
            "[White \"A\"]\n[Result \"*\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n",
            &["A: 1 plies, e4, 1-0"],
            "its tag Result stands twice",
        ),
        (
            "[Event \"a\"]\n[White \"A\"]\n[Event \"b\"]\n\n1. e4 1-0\n",
            &["A: 1 plies, e4, 1-0"],
            "its tag Event stands twice",
        ),
        (
            "[White 'A']\n[Team “B”]\n\n1. e4 1-0\n",
            &["A: 1 plies, e4, 1-0"],
            "",
        ),
        (
            "[white \"A\"]\n[White Team \"B\"]\n\n1. e4 1-0\n",
            &["A: 1 plies, e4, 1-0"],
            "cannot be read is left out",
        ),
        (
            "[White \"A\"\n[Result \"1-0\"]\n\n1. e4 1-0\n",
            &["A: 1 plies, e4, 1-0"],
            "its tag White has no end",
        ),
    ] {
        let games = read(text);
        let described: Vec<_> = games
            .iter()
            .map(|game| described(game.as_ref().unwrap()))
            .collect();
        assert_eq!(described, expected, "{text}");
        let notes = games[0].as_ref().unwrap().notes.join(" ");
        assert!(
            notes.contains(note) && notes.is_empty() == note.is_empty(),
            "{text}: {notes}"
        );
    }
    for words in [
        "[Site \"Hall\nTown\"]",
        "Club championship, round 3",
        "[Result \"1-0\"]\n",
    ] {
        let text = format!("{END}\n{words}\n[White \"A\"]\n\n1. e4 1-0\n");
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        assert!(
            game.start.piece_count() == 3 && game.tags.get("White") == Some("A"),
            "{text}"
        );
    }
}

#[test]
fn what_is_sound_of_a_game_is_read() {
    for (text, plies) in [
        ("1. e4 {[%clk 0:01:00]} e5 2. Ke4 {[%clk 0:00:01]} Kd5 1-0\n", 2),
        ("1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4.O-OO-O 5. d3 1-0\n", 9),
        ("1. d4 $$1 Nf6 2. c4 $6 1-0\n", 3),
        ("0. Nf3 c6 1. d4 d5 *\n", 4),
        ("1. e4 e5 2. Nf3 {or 2.f4 {sharp) } 2... Nc6 1-0\n", 4),
        ("1. e4 e5 {best} } 2. Nf3 Nc6 1-0\n", 4),
        ("1. e4 {a {b} c} e5 1-0\n", 2),
        ("1. e4 {\\{in 2. Nf3\\} braces} e5 1-0\n", 2),
        (
            "[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 3 28\"]\n\n1... Kd7 29. e4 1-0\n",
            2,
        ),
        ("1. e4 e5 1/2-1/2 f4\n", 2),
        ("1. e4 d62. d4 Nf63.Nc3 g64. Bc4 Bg75. Nf3 O-O 0-1\n", 10),
        // Prose among the tags that begins with a number, and prose behind them that does not.
        (
            "[Event \"e\"]\n1 prize for all\n[White \"w\"]\n\nSome words\n\n1. e4 e5 *\n",
            2,
        ),
        // A board's kings, behind a move of White.
        ("1. e4 e5 2. Nf3 Kd5 3. Ke4 1-0\n", 3),
    ] {
        let games = read(text);
        assert_eq!(games.len(), 1, "{text}");
        assert_eq!(
            games[0].as_ref().map(|game| game.moves.len()).ok(),
            Some(plies),
            "{text}"
        );
    }
    let clock = read("1. e4 {[%clk 0:01:00]} e5 2. Ke4 {[%clk 0:00:01]} Kd5 1-0\n")[0]
        .as_ref()
        .unwrap()
        .moves[0]
        .clock_ms;
    assert_eq!(clock, Some(60_000.0));
}

#[test]
fn marks_comments_and_variations_are_kept_as_the_standard_has_them() {
    let games = read(
        "1. e4! $14 (1. ♘f3 Sf6) 1... e5?? ± (1... c5!? 2. -- d6 3. Nf3 Nf6 4. d3 e6 5. Be2 Be7 6. 0-0) 2. Nf3 N 1-0 {resigned}\n{The end}\n\n1. d4 *\n",
    );
    let moves = &games[0].as_ref().unwrap().moves;
    assert_eq!(
        [0, 1, 2].map(|ply| moves[ply].marks.clone()),
        [vec![1, 14], vec![4, 16], vec![146]]
    );
    assert_eq!(moves[0].comments, ["(1. ♘f3 Sf6)"], "what cannot be played");
    assert_eq!(
        moves[1].variations,
        ["1... c5 $5 2. -- d6 3. Nf3 Nf6 4. d3 e6 5. Be2 Be7 6. O-O"]
    );
    assert_eq!(moves[2].comments, ["resigned", "The end"]);
    assert_eq!(games.len(), 2);
}

/// A regression: of endless text all was kept.
#[test]
fn games_without_end_need_no_memory() {
    let tags: String = (0..5000).map(|number| format!("[T{number} \"x\"]\n")).collect();
    let moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(10_000);
    for text in [format!("{tags}\n1. e4 *\n"), format!("{moves}*\n")] {
        let error = Games::new("text", text.as_bytes())
            .next()
            .unwrap()
            .unwrap_err()
            .to_string();
        assert!(error.contains("it has more than"), "{error}");
    }
}

#[test]
fn clocks_are_read_over_line_breaks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/wild/clock-newline.pgn");
    let game = Games::new("clocks", File::open(path).unwrap())
        .next()
        .unwrap()
        .unwrap();
    let clocks: Vec<_> = game.moves.iter().map(|played| played.clock_ms).collect();
    assert_eq!(clocks, [Some(60_000.0), Some(59_000.0)]);
}

fn evaluations(text: &str) -> (Vec<Option<i16>>, String) {
    let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
    (
        game.moves.iter().map(|played| played.centipawns).collect(),
        game.notes.join(" "),
    )
}

#[test]
fn the_unit_of_evaluations_is_that_of_the_whole_game() {
    for (evals, expected) in [
        (["23,24", "-16,13"], [Some(23), Some(16)]),
        (["2,24", "-1.5,13"], [Some(200), Some(150)]),
        (["2,24", "1"], [Some(200), Some(-100)]),
        (["+2,24", "1,13"], [Some(200), Some(-100)]),
        (["23,24", "#-2,13"], [Some(23), Some(31_997)]),
        (["nan", "inf"], [None, None]),
    ] {
        let text = format!("1. e4 {{[%eval {}]}} e5 {{[%eval {}]}} *\n", evals[0], evals[1]);
        assert_eq!(evaluations(&text), (expected.to_vec(), String::new()), "{text}");
    }
    let (cut, told) = evaluations("1. e4 {[%eval 246]} *\n");
    assert_eq!(
        (cut, &*told),
        (
            vec![Some(15_000)],
            "1 evaluations beyond 150 pawns are cut to this"
        )
    );
    for (name, expected) in [
        ("eval-centipawns.pgn", [Some(23), Some(16)]),
        ("eval-nan.pgn", [None, None]),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/data/wild")
            .join(name);
        assert_eq!(
            evaluations(&std::fs::read_to_string(path).unwrap()).0,
            expected,
            "{name}"
        );
    }
}

#[test]
fn games_without_tags_and_results_are_told_apart_by_their_numbers() {
    for (text, plies) in [
        ("1. e4 e5\n\n1. d4 d5\n\n1. c4\n", &[2, 2, 1][..]),
        ("1. e4\n\n1... e5 2. Nf3\n", &[3]),
        ("1. e4 e5\n\n2. Nf3 Nc6\n\n1-0\n", &[4]),
        ("1. e4 e5 2. Nf3 {a comment\n\nwith an empty line} Nc6 *\n", &[4]),
        ("e4 e5\n\nd4\n\nd5\n", &[2, 2]),
        ("1. e4 e5 1-0 1. d4 0-1 [White \"a\"]\n\n1. c4 *", &[2, 1, 1]),
        ("1. e4 e5 (1... c5\n\n2. Nf3) 2. Nc3 *\n", &[3]),
        ("1. e4 e5\n\nNf3 Nc6 *\n", &[]),
        ("1. e4 e5 1-0\n2. Nf3 Nc6 1-0\n", &[2]),
        ("1. e4 e5\n1. d4 d5 2. c4\n1. c4", &[2, 3, 1]),
        // A regression: this was read without end.
        ("e4\u{a0}1. d4 d5\n", &[1, 2]),
        (
            "[White \"a\"]\n\n1. Nf3 Nf6 2. Ng1 Ng8 1. Nf3 Nf6 2. Ng1 Ng8 5. e4 *\n",
            &[9],
        ),
    ] {
        let games = Games::new("text", text.as_bytes()).filter_map(Result::ok);
        assert_eq!(
            games.map(|game| game.moves.len()).collect::<Vec<_>>(),
            plies,
            "{text}"
        );
    }
}

#[test]
fn a_stream_that_fails_costs_the_game_that_it_breaks() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
    let whole = "[White \"A\"]\n\n1. e4 e5 1-0\n\n".repeat(3000);
    let games: Vec<_> = Games::new(
        "f",
        whole
            .as_bytes()
            .chain(&b"[White \"B\"]\n\n1. O-O"[..])
            .chain(Fails),
    )
    .collect();
    assert_eq!(games.iter().filter(|game| game.is_ok()).count(), 3000);
    let error = games.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(
        error.starts_with("f: ") && error.ends_with(", within game 3001"),
        "{error}"
    );
}

#[test]
fn long_lines_and_comments_need_no_memory() {
    let moves = format!("1. e4 {{{}}} e5 1-0\n", "x".repeat(40_000)).repeat(2);
    let line = moves.replace('\n', " ");
    assert_eq!(
        Games::new("text", line.as_bytes()).filter(Result::is_ok).count(),
        2
    );
    let escaped = format!("%{0}\n;{0}\n1. d4 ;{0}\nd5 *\n", " e4 e5 1-0".repeat(20_000));
    let games: Vec<_> = Games::new("text", escaped.as_bytes())
        .map(|game| game.unwrap().moves.len())
        .collect();
    assert_eq!(games, [2]);
    let endless = "1. e4 {"
        .bytes()
        .chain(std::iter::repeat_n(b'x', 1 << 18))
        .chain(*b"} e5 1-0\n\n1. d4 1-0")
        .collect::<Vec<_>>();
    let read: Vec<_> = Games::new("text", &endless[..])
        .map(|game| game.map_or_else(|e| e.to_string(), |g| described(&g)))
        .collect();
    assert_eq!(
        read,
        [
            "game 1 is skipped: a comment is longer than 65536 bytes",
            "?: 1 plies, d4, 1-0"
        ]
    );
}

#[test]
fn variants_are_told_by_all_their_names() {
    let read = |name: &str| {
        let fen = Position::start().to_fen();
        let text = format!("[Variant \"{name}\"]\n[FEN \"{fen}\"]\n\n1. e4 *\n");
        Games::new("text", text.as_bytes())
            .next()
            .unwrap()
            .map(|game| game.variant)
            .ok()
    };
    for name in [
        "Standard",
        "standard",
        "From Position",
        "FromPosition",
        "chess",
        "",
        "wild/5",
        "Normal",
        "Regular",
    ] {
        assert_eq!(read(name), Some(Variant::Standard), "{name}");
    }
    for name in [
        "Chess960",
        "Chess 960",
        "fischerandom",
        "Fischer Random",
        "FischerRandom",
        "chess-960",
        "FRC",
        "Freestyle",
    ] {
        assert_eq!(read(name), Some(Variant::Chess960), "{name}");
    }
    for name in [
        "Three-check",
        "3check",
        "King of the Hill",
        "Antichess",
        "Crazyhouse",
        "Atomic",
        "Racing Kings",
        "Horde",
        "Bughouse",
        "suicide",
        "Giveaway",
        "Xiangqi",
        "Atomic960",
        "wild/9",
    ] {
        assert_eq!(read(name), None, "{name}");
    }
}

/// A game as python-chess writes one, before it is spoiled.
struct Written {
    fen: Option<&'static str>,
    moves: Vec<(Position, Move)>,
    result: &'static str,
}

const STARTS: [Option<&str>; 5] = [
    None,
    None,
    Some("r3k2r/1P4P1/2n2n2/3pP3/3Pp3/2N2N2/1p4p1/R3K2R w KQkq d6 0 12"),
    Some("4k3/PPPPPPPP/8/8/8/8/pppppppp/4K3 w - - 0 1"),
    Some("bnrbkrqn/pppppppp/8/8/8/8/PPPPPPPP/BNRBKRQN w CFcf - 0 1"),
];

impl Written {
    fn new(rng: &mut Rng) -> Written {
        let mut written = Written {
            fen: STARTS[rng.usize(..STARTS.len())].filter(|fen| Position::from_fen(fen).is_ok()),
            moves: Vec::new(),
            result: ["1-0", "0-1", "1/2-1/2", "*"][rng.usize(..4)],
        };
        let mut position = written
            .fen
            .map_or_else(Position::start, |fen| Position::from_fen(fen).unwrap());
        for _ in 0..rng.usize(2..60) {
            let legal = position.legal_moves();
            // What is written in special ways comes often.
            let special = |m: &&Move| {
                m.promotion().is_some()
                    || position.is_en_passant(**m)
                    || position.format_san(**m).starts_with('O')
            };
            let special: Vec<_> = legal.iter().filter(special).collect();
            let m = match (special.is_empty(), legal.is_empty()) {
                (_, true) => break,
                (false, _) if rng.bool() => *special[rng.usize(..special.len())],
                _ => legal[rng.usize(..legal.len())],
            };
            written.moves.push((position.clone(), m));
            position = position.play(m);
        }
        written
    }

    fn tags(&self, number: usize) -> Vec<(&'static str, String)> {
        let mut tags = vec![
            ("Event", "Open".into()),
            ("White", format!("Player {number}")),
            ("Black", "Ján \"the\" \\ B".into()),
            ("Result", self.result.into()),
        ];
        if let Some(fen) = self.fen {
            tags.extend([("FEN", fen.to_owned()), ("SetUp", "1".into())]);
            if fen.contains("CFcf") {
                tags.push(("Variant", "Chess960".into()));
            }
        }
        tags
    }
}

/// Some leave a game that can be read, which must be the same.
#[derive(Debug)]
struct Spoiling {
    spelling: bool,
    layout: bool,
    /// In the second game.
    damage: Option<Damage>,
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    ForeignLetter,
    NullMove,
    Garbage,
    MissingMove,
    BracketWithoutEnd,
    CommentWithoutEnd,
    OtherVariant,
    MissingFen,
    BrokenTag,
    CutOff,
}

const DAMAGES: [Damage; 10] = [
    Damage::ForeignLetter,
    Damage::NullMove,
    Damage::Garbage,
    Damage::MissingMove,
    Damage::BracketWithoutEnd,
    Damage::CommentWithoutEnd,
    Damage::OtherVariant,
    Damage::MissingFen,
    Damage::BrokenTag,
    Damage::CutOff,
];

/// Writes a move in one of the ways that people and programs have.
fn spell(position: &Position, m: Move, rng: &mut Rng) -> String {
    let san = position.format_san(m);
    let plain = san.trim_end_matches(['+', '#']).to_owned();
    let role = position.board().role_at(m.from_square());
    let letter = role
        .filter(|role| *role != Role::Pawn)
        .map_or(String::new(), |role| role.upper_char().to_string());
    let is_castling = san.starts_with('O');
    let promotion = m
        .promotion()
        .map_or(String::new(), |role| format!("={}", role.upper_char()));
    let (from, to): (Square, Square) = (m.from_square(), m.to_square());
    let text = match rng.u8(..8) {
        0 if is_castling => plain.replace('O', "0"),
        1 if !is_castling => {
            format!(
                "{letter}{from}{}{to}{promotion}",
                if san.contains('x') { 'x' } else { '-' }
            )
        }
        2 => format!("{m:?}"),
        3 if m.promotion().is_some() => plain.replace('=', ""),
        4 if m.promotion().is_some() => plain.replace('=', "(") + ")",
        5 if position.is_en_passant(m) => plain + "e.p.",
        6 if !letter.is_empty() && !is_castling => {
            let figurine = ["♘", "♗", "♖", "♕", "♔"][["N", "B", "R", "Q", "K"]
                .iter()
                .position(|l| *l == letter)
                .unwrap()];
            plain.replacen(&letter, figurine, 1)
        }
        7 if !letter.is_empty() => plain.replace('x', if rng.bool() { "" } else { ":" }),
        _ => plain,
    };
    let sign = ["", "", "+", "#", "++"][rng.usize(..5)];
    let mark = ["", "", "", "!", "?!", "!!", "+-", "-+", "±", "=", "$1", "+/="][rng.usize(..12)];
    format!("{text}{sign}{mark}")
}

fn write(games: &[Written], spoiling: &Spoiling, rng: &mut Rng) -> Vec<u8> {
    let mut text = String::new();
    for (number, game) in games.iter().enumerate() {
        let damage = spoiling.damage.filter(|_| number == 1);
        let chance = |rng: &mut Rng| spoiling.layout && rng.u8(..4) == 0;
        if chance(rng) {
            text += [
                "\u{feff}",
                "; a line\n",
                "% escaped\n\n",
                "{a comment}\n\n",
                "{two\n\nparts}\n",
            ][rng.usize(..5)];
        }
        for (name, value) in game.tags(number) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            match damage {
                Some(Damage::MissingFen) if name == "FEN" => continue,
                Some(Damage::BrokenTag) if name == "FEN" || name == "Black" => {
                    let _ = writeln!(text, "[{name} \"{value}]");
                }
                Some(Damage::OtherVariant) if name == "Result" => text += "[Variant \"Atomic\"]\n",
                _ => {
                    let space = if chance(rng) {
                        ["  ", "\t", " \t "][rng.usize(..3)]
                    } else {
                        " "
                    };
                    let end = if chance(rng) {
                        ["\" ]  ", "\"]\t"][rng.usize(..2)]
                    } else {
                        "\"]"
                    };
                    let _ = writeln!(text, "[{name}{space}\"{value}{end}");
                }
            }
        }
        text += if chance(rng) {
            ["\n\n\n", "\n{a comment}\n\n", "\n; 1. d4\n"][rng.usize(..3)]
        } else {
            "\n"
        };
        let target = rng.usize(..game.moves.len());
        let mut column = 0;
        for (ply, (position, m)) in game.moves.iter().enumerate() {
            let san = if spoiling.spelling {
                spell(position, *m, rng)
            } else {
                position.format_san(*m)
            };
            let is_white = position.turn().is_white();
            let number = position.game_ply() / 2 + 1;
            let mut word = match (is_white, ply == 0) {
                (true, _) if spoiling.spelling && rng.u8(..4) == 0 => format!("{number}.{san}"),
                (true, _) if spoiling.spelling && rng.u8(..6) == 0 => format!("{number} {san}"),
                (true, _) => format!("{number}. {san}"),
                (false, true) => format!("{number}... {san}"),
                (false, false) if spoiling.spelling && rng.u8(..4) == 0 => format!("{number}...{san}"),
                (false, false) => san,
            };
            if ply == target {
                match damage {
                    Some(Damage::ForeignLetter) => word = format!("{number}. Sf3"),
                    Some(Damage::NullMove) => word = ["--", "Z0", "0000"][rng.usize(..3)].into(),
                    Some(Damage::Garbage) => {
                        word += [" xyzzy", " Nf33", " e4-", " <b>", " ]", " Bf1N"][rng.usize(..6)]
                    }
                    Some(Damage::MissingMove) if ply + 2 < game.moves.len() => continue,
                    Some(Damage::BracketWithoutEnd) => word += " (1. e4",
                    Some(Damage::CommentWithoutEnd) => word += " {a comment",
                    Some(Damage::CutOff) => break,
                    _ => {}
                }
            }
            if rng.u8(..8) == 0 {
                word += [
                    " $1",
                    " {[%clk 0:01:00]}",
                    " (1. e4 {x)} (1... e5) Qxf9)",
                    " {a\nb}",
                ][rng.usize(..4)];
            }
            column += word.len() + 1;
            if column > 80 {
                text += "\n";
                column = 0;
            }
            let is_empty_line = is_white && ply > 0 && damage.is_none() && chance(rng);
            text += if is_empty_line { "\n\n" } else { "" };
            text += &word;
            text += if chance(rng) {
                ["\u{a0}", "\u{2009}", "\t", "  "][rng.usize(..4)]
            } else {
                " "
            };
        }
        if !matches!(damage, Some(Damage::CutOff)) {
            text += game.result;
        }
        text += if chance(rng) { "\n" } else { "\n\n" };
    }
    let text = match (spoiling.layout, rng.u8(..4)) {
        (true, 0) => text.replace('\n', "\r\n"),
        (true, 1) => text.replace('\n', "\r"),
        _ => text,
    };
    // Latin-1 has no figurines.
    match spoiling.layout && rng.bool() && text.chars().all(|c| u32::from(c) < 256) {
        true => text.chars().map(|c| c as u8).collect(),
        false => text.into_bytes(),
    }
}

proptest! {
    /// PGN that is spoiled is read the same or refused by name, and never read as another game.
    #[test]
    fn no_game_is_read_as_another_one(seed: u64, spelling: bool, layout: bool, damage in 0..2 * DAMAGES.len()) {
        let rng = &mut Rng::with_seed(seed);
        let games: Vec<_> = (0..3).map(|_| Written::new(rng)).collect();
        let spoiling = Spoiling { spelling, layout, damage: DAMAGES.get(damage).copied() };
        let text = write(&games, &spoiling, rng);
        let shown = String::from_utf8_lossy(&text);
        let read: Vec<_> = Games::new("text", &text[..]).collect();
        let mut met = [false; 3];
        for game in read.iter().flatten() {
            let number = game.tags.get("White").and_then(|name| name.strip_prefix("Player ")).map(|n| n.parse::<usize>().unwrap());
            let Some(number) = number else {
                prop_assert!(game.moves.is_empty(), "moves without tags: {}\n{shown}", described(game));
                continue;
            };
            let written: Vec<_> = games[number].moves.iter().map(|(_, m)| *m).collect();
            let moves: Vec<_> = game.moves.iter().map(|played| played.r#move).collect();
            let is_same = match spoiling.damage {
                // Nobody can know how the game went on.
                Some(Damage::CutOff) if number == 1 => written.starts_with(&moves),
                _ => written == moves,
            };
            prop_assert!(is_same, "{number} {spoiling:?}: {}\n{shown}", described(game));
            let is_left_out = matches!(spoiling.damage, Some(Damage::BrokenTag)) && game.tags.get("Black").is_none();
            prop_assert!(is_left_out || game.tags.get("Black") == Some("Ján \"the\" \\ B"), "{}", shown);
            met[number] = true;
        }
        let is_harmless = spoiling.damage.is_none();
        prop_assert!(met[0] && met[2] && (met[1] || !is_harmless), "{spoiling:?} {met:?} {read:#?}\n{shown}");
    }
}
