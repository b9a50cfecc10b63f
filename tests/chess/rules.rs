//! Tests positions, histories and notation: the rules as properties of random games, and tables of hard cases.

use proptest::prelude::*;
use zeitnot_engine::chess::{History, Position, Terminal, Variant, perft};

use crate::common::games::games;

fn game(text: &str) -> History {
    History::from_uci_position(text, Variant::Standard).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns true if the positions are equal by all that counts for a repetition, without keys.
fn same(a: &Position, b: &Position) -> bool {
    a.board() == b.board()
        && a.turn() == b.turn()
        && a.castling_rights() == b.castling_rights()
        && a.en_passant() == b.en_passant()
}

proptest! {
    #[test]
    fn pop_restores_what_push_found(game in games(60)) {
        let mut replayed = History::from_fen(game.fen, Variant::Chess960).unwrap();
        let mut seen = Vec::new();
        for &m in &game.moves {
            seen.push((replayed.evaluation_key(), replayed.current().to_fen(), replayed.repetitions()));
            replayed.push(m);
        }
        for expected in seen.into_iter().rev() {
            replayed.pop();
            let found = (replayed.evaluation_key(), replayed.current().to_fen(), replayed.repetitions());
            prop_assert_eq!(found, expected);
        }
        replayed.pop();
        prop_assert_eq!(replayed.len(), 1, "the first position stays");
    }

    #[test]
    fn repetitions_are_those_found_by_comparing_all_positions(game in games(80)) {
        let history = &game.history;
        let mut replayed = History::from_fen(game.fen, Variant::Chess960).unwrap();
        for index in 0..history.len() {
            let earlier: Vec<_> =
                (0..index).filter(|&i| same(history.position(i), history.position(index))).collect();
            prop_assert_eq!(usize::from(history.repetitions_at(index)), earlier.len().min(2));
            let plies = earlier.last().map(|&i| (index - i) as u32);
            prop_assert_eq!(replayed.plies_since_repetition(), plies);
            if let Some(&m) = game.moves.get(index) {
                replayed.push(m);
            }
        }
    }

    #[test]
    fn keys_kept_up_move_by_move_are_those_made_from_nothing(game in games(60)) {
        for index in 0..game.history.len() {
            let position = game.history.position(index);
            let read = Position::from_fen(&position.to_fen()).unwrap();
            prop_assert_eq!(read.key(), position.key(), "{}", position.to_fen());
            prop_assert!(read.is_repetition_of(position));
            prop_assert_eq!(read.rule50(), position.rule50());
            prop_assert_eq!(read.game_ply(), position.game_ply());
        }
    }

    #[test]
    fn written_moves_read_back_in_both_notations(game in games(60)) {
        let position = game.history.current();
        for m in position.legal_moves() {
            for variant in [Variant::Standard, Variant::Chess960] {
                let text = position.format_move(m, variant);
                prop_assert_eq!(position.parse_move(&text), Ok(m), "{} in {}", text, position.to_fen());
            }
        }
    }

    #[test]
    fn game_ply_counts_on(game in games(60)) {
        let first = game.history.position(0).game_ply();
        prop_assert_eq!(game.history.game_ply(), first + game.moves.len() as u32);
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}", variant in prop::sample::select(vec!["", "fen ", "startpos moves "])) {
        let _ = Position::from_fen(&text);
        let _ = History::from_uci_position(&format!("{variant}{text}"), Variant::Standard);
        let _ = History::start().parse_move(&text);
    }

    #[test]
    fn damaged_fens_are_refused_or_playable(
        game in games(30),
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[ -~]{0,2}"), 1..4),
    ) {
        let mut fen = game.history.current().to_fen();
        for (place, text) in edits {
            let at = place.index(fen.len());
            fen.replace_range(at..=at, &text);
        }
        if let Ok(position) = Position::from_fen(&fen) {
            perft(&position, 2);
            let read = Position::from_fen(&position.to_fen()).unwrap();
            prop_assert_eq!(read.key(), position.key(), "{} reads as {}", fen, position.to_fen());
        }
        let _ = Position::from_fen_to_evaluate(&fen).map(|position| position.legal_moves());
    }
}

#[test]
fn the_evaluation_key_tells_counters_apart() {
    let fresh = game("fen 4k3/8/8/8/8/8/8/R3K3 w - - 0 1");
    let late = game("fen 4k3/8/8/8/8/8/8/R3K3 w - - 99 80");
    assert_eq!(fresh.current().key(), late.current().key());
    assert_ne!(fresh.evaluation_key(), late.evaluation_key());
    let early = game("fen 4k3/8/8/8/8/8/8/R3K3 w - - 20 40");
    assert_eq!(
        fresh.evaluation_key(),
        early.evaluation_key(),
        "few quiet moves change little"
    );

    let once = game("fen 4k3/8/8/8/8/8/8/R3K3 w - - 4 1");
    let twice = game("fen 4k3/8/8/8/8/8/8/R3K3 w - - 0 1 moves a1a2 e8d8 a2a1 d8e8");
    assert_eq!(once.current().key(), twice.current().key());
    assert_eq!(once.current().rule50(), twice.current().rule50());
    assert_ne!(once.evaluation_key(), twice.evaluation_key());
}

#[test]
fn the_key_tells_apart_which_rook_may_castle() {
    let inner = Position::from_fen("4k3/8/8/8/8/8/8/RR2K3 w B - 0 1").unwrap();
    let outer = Position::from_fen("4k3/8/8/8/8/8/8/RR2K3 w A - 0 1").unwrap();
    assert_ne!(inner.key(), outer.key());
    assert_eq!(inner.to_fen(), "4k3/8/8/8/8/8/8/RR2K3 w B - 0 1");
    assert_eq!(outer.to_fen(), "4k3/8/8/8/8/8/8/RR2K3 w Q - 0 1");
}

#[test]
fn games_end_as_the_rules_say() {
    let shuffles = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    let cases = [
        (
            "startpos moves f2f3 e7e5 g2g4 d8h4".to_owned(),
            Some(Terminal::Checkmate),
        ),
        (
            "fen 7k/5Q2/6K1/8/8/8/8/8 b - - 4 90".to_owned(),
            Some(Terminal::Stalemate),
        ),
        ("fen 4k3/8/8/8/8/5R2/4K3/8 w - - 99 150".to_owned(), None),
        (
            "fen 4k3/8/8/8/8/5R2/4K3/8 w - - 99 150 moves f3f4".to_owned(),
            Some(Terminal::FiftyMoves),
        ),
        (
            "fen k7/8/1K6/8/8/8/8/7R w - - 99 150 moves h1h8".to_owned(),
            Some(Terminal::Checkmate),
        ),
        (
            format!("startpos moves {shuffles}"),
            Some(Terminal::ThreefoldRepetition),
        ),
        ("startpos moves g1f3 g8f6 f3g1 f6g8".to_owned(), None),
        (
            "fen 8/8/4k3/8/8/3K4/8/8 w - - 0 1".to_owned(),
            Some(Terminal::InsufficientMaterial),
        ),
        (
            "fen 8/8/4k3/8/8/3K1N2/8/8 w - - 0 1".to_owned(),
            Some(Terminal::InsufficientMaterial),
        ),
        (
            "fen 8/8/4k3/8/8/3K1B2/8/8 b - - 0 1".to_owned(),
            Some(Terminal::InsufficientMaterial),
        ),
        (
            "fen 6b1/8/4k3/8/8/3K1B2/8/8 b - - 0 1".to_owned(),
            Some(Terminal::InsufficientMaterial),
        ),
        ("fen 8/8/4kb2/8/8/3K1B2/8/8 b - - 0 1".to_owned(), None),
        ("fen 8/8/4k1n1/8/8/3K1B2/8/8 b - - 0 1".to_owned(), None),
        ("fen 8/8/4k3/8/8/3K1NN1/8/8 b - - 0 1".to_owned(), None),
        ("fen 8/8/4k3/8/7p/3K4/8/8 b - - 0 1".to_owned(), None),
    ];
    for (text, expected) in cases {
        let history = game(&text);
        assert_eq!(history.terminal(&history.legal_moves()), expected, "{text}");
    }
}

#[test]
fn castling_is_read_in_both_notations_and_written_in_one() {
    // Position, move as given, as written in standard chess, as written in Chess960.
    let cases = [
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1", "e1g1", "e1h1"),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1h1", "e1g1", "e1h1"),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1c1", "e1c1", "e1a1"),
        ("r3k2r/8/8/8/8/8/8/4K3 b kq - 0 1", "e8a8", "e8c8", "e8a8"),
        // Rooks elsewhere: a king's step may look like castling.
        ("4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1", "e1g1", "e1g1", "e1g1"),
        ("4k3/8/8/8/8/8/8/1K4R1 w G - 0 1", "b1g1", "b1g1", "b1g1"),
        ("4k3/8/8/8/8/8/8/1K4R1 w G - 0 1", "b1c1", "b1c1", "b1c1"),
        ("4k3/8/8/8/8/8/8/4KR2 w F - 0 1", "e1f1", "e1f1", "e1f1"),
        ("4k3/8/8/8/8/8/8/4KR2 w F - 0 1", "e1g1", "e1f1", "e1f1"),
    ];
    for (fen, given, standard, chess960) in cases {
        let position = Position::from_fen(fen).unwrap();
        let m = position.parse_move(given).unwrap();
        assert_eq!(
            position.format_move(m, Variant::Standard),
            standard,
            "{given} in {fen}"
        );
        assert_eq!(
            position.format_move(m, Variant::Chess960),
            chess960,
            "{given} in {fen}"
        );
    }
    let step = Position::from_fen("4k3/8/8/8/8/8/8/1K4R1 w G - 0 1")
        .unwrap()
        .parse_move("b1c1")
        .unwrap();
    assert_eq!(step.to_square().to_string(), "c1", "a king's step is no castling");
}

/// A regression: moves in capitals were refused, which Lc0 takes.
#[test]
fn moves_may_be_written_in_capitals() {
    let position = Position::from_fen("8/P6k/8/8/8/8/8/K7 w - - 0 1").unwrap();
    for (capitals, small) in [("A7A8Q", "a7a8q"), ("a7a8N", "a7a8n"), ("A1B2", "a1b2")] {
        assert_eq!(
            position.parse_move(capitals).unwrap(),
            position.parse_move(small).unwrap()
        );
    }
}

#[test]
fn a_promotion_without_a_piece_is_one_to_a_knight() {
    let position = Position::from_fen("8/P6k/8/8/8/8/8/K7 w - - 0 1").unwrap();
    assert_eq!(position.parse_move("a7a8"), position.parse_move("a7a8n"));
}

#[test]
fn en_passant_follows_lc0() {
    let flag = |text: &str| game(text).current().en_passant().map(|square| square.to_string());
    assert_eq!(flag("startpos moves e2e4"), None, "nobody can capture");
    assert_eq!(flag("startpos moves e2e4 a7a6 e4e5 d7d5").as_deref(), Some("d6"));
    let pinned = "fen 4k3/8/8/8/4p3/8/3P4/K3R3 w - - 0 1 moves d2d4";
    assert_eq!(flag(pinned).as_deref(), Some("d3"), "a pin does not count");
    let as_given = "fen rnbqkbnr/pppp1ppp/8/4p3/8/5N2/PPPPPPPP/RNBQKB1R w KQkq e6 0 2";
    assert_eq!(flag(as_given).as_deref(), Some("e6"), "a FEN is believed");
    let in_capitals = as_given.replace("e6", "E6");
    assert_eq!(flag(&in_capitals).as_deref(), Some("e6"));
}

#[test]
fn missing_fields_take_defaults() {
    let position = Position::from_fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq").unwrap();
    assert_eq!(
        position.to_fen(),
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    );
    assert!(position.is_standard_start());
}

#[test]
fn errors_name_the_fault() {
    let cases = [
        ("", "startpos"),
        ("nonsense", "\"nonsense\""),
        ("startpos e2e4", "startpos e2e4"),
        ("fen", "it is empty"),
        (
            "fen rnbqkbnr/ppppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "field 1",
        ),
        (
            "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1",
            "field 2",
        ),
        (
            "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQxq - 0 1",
            "field 3",
        ),
        (
            "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq z9 0 1",
            "field 4",
        ),
        (
            "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - x 1",
            "field 5",
        ),
        (
            "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 x",
            "field 6",
        ),
        (
            "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 more",
            "too many fields",
        ),
        ("fen 8/8/8/8/8/8/8/8 w - - 0 1", "the board is empty"),
        ("fen 8/8/8/8/8/8/8/K7 w - - 0 1", "a king is missing"),
        ("fen k7/8/8/8/8/8/8/KK6 w - - 0 1", "more than one king"),
        ("fen k6P/8/8/8/8/8/8/K7 w - - 0 1", "first or last rank"),
        ("fen k7/R7/8/8/8/8/r7/K7 w - - 0 1", "both kings are in check"),
        ("fen 8/8/8/3kK3/8/8/8/8 w - - 0 1", "both kings are in check"),
        (
            "fen k7/8/8/QQQQQQQQ/QQQQQQQQ/8/8/K7 w - - 0 1",
            "more than 12 queens and pawns",
        ),
        (
            "fen k7/8/RRRRRRRR/RRRRRRRR/RRRRRRRR/8/8/K7 w - - 0 1",
            "more than 256 moves",
        ),
        (
            "startpos moves e2e4 e7e5 e1e3",
            "move 3 of the list: e1e3 is not legal",
        ),
        (
            "startpos moves e2e4 hello",
            "move 2 of the list: \"hello\" is not a move",
        ),
        ("startpos moves 0000", "move 1 of the list"),
    ];
    for (text, expected) in cases {
        let error = History::from_uci_position(text, Variant::Standard)
            .expect_err(text)
            .to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_king_to_be_taken_may_be_evaluated_but_not_played_on() {
    let text = "fen 8/6K1/8/8/2b1k3/8/3B4/1B6 w - - 3 60";
    // Lc0 takes it for play, too.
    let played = History::from_uci_position(text, Variant::Standard).unwrap();
    assert_eq!(played.current().to_fen(), text.strip_prefix("fen ").unwrap());
    assert!(played.parse_move("b1e4").is_err() && played.parse_move("b1c2").is_ok());
    assert!(
        played
            .legal_moves()
            .iter()
            .all(|m| m.to_square() != shakmaty::Square::E4)
    );
    let history = History::to_evaluate(text, Variant::Standard).unwrap();
    assert_eq!(history.current().to_fen(), text.strip_prefix("fen ").unwrap());
    assert!(History::to_evaluate(&format!("{text} moves b1e4"), Variant::Standard).is_err());
    let castling = "r3k2r/8/8/8/4R3/8/8/4K3 w kq - 0 12";
    assert_eq!(
        Position::from_fen_to_evaluate(castling).unwrap().to_fen(),
        castling
    );
}

/// A regression: at move 1 it came back as move 2.
#[test]
fn a_king_to_be_taken_at_move_1_keeps_the_move_number() {
    let fen = "k7/R7/8/8/8/8/8/K7 w - - 0 1";
    let read = History::from_fen(fen, Variant::Standard).unwrap();
    for position in [read.current(), &Position::from_fen_to_evaluate(fen).unwrap()] {
        assert_eq!((position.to_fen().as_str(), position.game_ply()), (fen, 0));
    }
    let mut game = read;
    game.push(game.parse_move("a7b7").unwrap());
    assert_eq!(
        (game.current().to_fen().as_str(), game.game_ply()),
        ("k7/1R6/8/8/8/8/8/K7 b - - 1 1", 1)
    );
    game.push(game.parse_move("a8b7").unwrap());
    assert_eq!(
        (game.current().to_fen().as_str(), game.game_ply()),
        ("8/1k6/8/8/8/8/8/K7 w - - 0 2", 2)
    );
    let black_to_move = "K7/r7/8/8/8/8/8/k7 b - - 0 1";
    assert_eq!(Position::from_fen(black_to_move).unwrap().to_fen(), black_to_move);
}

/// FENs that Lc0 takes, with what is made of them and how many things are left out.
#[test]
fn unusual_fens_are_read_as_lc0_reads_them() {
    for (fen, expected, repairs) in [
        ("k7/8/8/8/8/8/8/K7 W - - 0 1", "k7/8/8/8/8/8/8/K7 w - - 0 1", 0),
        ("k7/8/8/8/8/8/8/K7 B - - 0 1", "k7/8/8/8/8/8/8/K7 b - - 0 1", 0),
        ("k7/8/8/8/8/8/8/K7 w - - -5 -3", "k7/8/8/8/8/8/8/K7 w - - 0 1", 0),
        (
            "k7/8/8/8/8/8/8/K7 w - - 3.7 12.5",
            "k7/8/8/8/8/8/8/K7 w - - 3 12",
            0,
        ),
        ("k7/8/8/8/8/8/8/K7 w - - 3 12;", "k7/8/8/8/8/8/8/K7 w - - 3 12", 0),
        (
            "k7/8/8/8/8/8/8/K7 w - - 3 12 ; ",
            "k7/8/8/8/8/8/8/K7 w - - 3 12",
            0,
        ),
        ("k7/8/8/8/8/8/8/K7 w - -;", "k7/8/8/8/8/8/8/K7 w - - 0 1", 0),
        ("k7/8/8/8/8/8/8/K7 w", "k7/8/8/8/8/8/8/K7 w - - 0 1", 0),
        ("k7/8/8/8/8/8/8/K7 w K - 0 1", "k7/8/8/8/8/8/8/K7 w - - 0 1", 1),
        (
            "r3k3/8/8/8/8/8/8/4K2R w KQkq - 0 1",
            "r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1",
            1,
        ),
        ("k7/8/8/8/8/8/8/K7 w - e6 0 1", "k7/8/8/8/8/8/8/K7 w - - 0 1", 1),
        ("k7/8/8/8/8/8/8/K7 w Q e6 0 1", "k7/8/8/8/8/8/8/K7 w - - 0 1", 2),
        // The side that moved last is in check.
        ("k7/R7/8/8/8/8/8/K7 w - - 0 5", "k7/R7/8/8/8/8/8/K7 w - - 0 5", 0),
        // More than sixteen pieces.
        (
            "rnbqkbnr/pppppppp/8/8/NNNNNNNN/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "rnbqkbnr/pppppppp/8/8/NNNNNNNN/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            0,
        ),
    ] {
        let text = format!("fen {fen}");
        let history =
            History::from_uci_position(&text, Variant::Standard).unwrap_or_else(|e| panic!("{fen}: {e}"));
        assert_eq!(history.current().to_fen(), expected, "{fen}");
        assert_eq!(history.left_out().len(), repairs, "{fen}");
        perft(history.current(), 2);
    }
}

#[test]
fn captures_promotions_and_checks_are_tactical() {
    let tactical = |fen: &str| -> Vec<String> {
        let game = History::from_fen(fen, Variant::Standard).unwrap();
        let is_tactical = |&&m: &&zeitnot_engine::chess::Move| game.current().is_tactical(m);
        let mut moves: Vec<_> = game
            .legal_moves()
            .iter()
            .filter(is_tactical)
            .map(|&m| game.format_move(m))
            .collect();
        moves.sort();
        moves
    };
    assert!(tactical(Position::start().to_fen().as_str()).is_empty());
    // A rook: one capture, checks along rank and file.
    assert_eq!(tactical("7k/8/8/p7/8/8/8/R3K3 w - - 0 1"), ["a1a5"]);
    assert_eq!(tactical("7k/8/8/8/8/8/8/R3K3 w - - 0 1"), ["a1a8"]);
    assert_eq!(
        tactical("k7/7P/8/8/8/8/8/4K3 w - - 0 1"),
        ["h7h8b", "h7h8n", "h7h8q", "h7h8r"]
    );
    // En passant is a capture.
    assert_eq!(tactical("7k/8/8/3pP3/8/8/8/4K3 w - d6 0 1"), ["e5d6"]);
}
