//! Tests the search for mates by checks: against a plain search of all moves, and on tables of hard cases.

use proptest::prelude::*;
use zeitnot_engine::chess::{History, Position, Terminal, Variant};

use crate::common::games::games;

fn is_mate(position: &Position) -> bool {
    position.is_check() && position.legal_moves().is_empty()
}

/// Returns whether the side to move mates by checks in at most `moves` moves, by trying everything.
fn mates(position: &Position, moves: u32) -> bool {
    let replies_lose = |check: &Position| {
        check
            .legal_moves()
            .iter()
            .all(|&reply| moves > 1 && mates(&check.play(reply), moves - 1))
    };
    let after = position.legal_moves().into_iter().map(|m| position.play(m));
    after.filter(Position::is_check).any(|check| replies_lose(&check))
}

fn plies_to_mate(history: &History, moves: u32) -> Option<u32> {
    history.plies_to_mate_by_checks(&history.legal_moves(), moves)
}

fn game(fen: &str) -> History {
    History::from_fen(fen, Variant::Chess960).unwrap_or_else(|error| panic!("{error}"))
}

/// Plays the line that is found in `moves` moves, and returns its length, plies.
fn line_to_mate(history: &History, moves: u32) -> Option<u32> {
    let mut history = history.clone();
    let line = history.mate_by_checks(moves);
    for (ply, &m) in line.iter().enumerate() {
        assert!(history.legal_moves().contains(&m));
        assert_eq!(history.terminal(&history.legal_moves()), None);
        history.push(m);
        assert!(ply % 2 == 1 || history.current().is_check());
    }
    assert!(line.is_empty() || is_mate(history.current()));
    (!line.is_empty()).then_some(line.len() as u32)
}

proptest! {
    #[test]
    fn mates_are_those_found_by_trying_everything(game in games(60)) {
        let mut history = History::from_fen(game.fen, Variant::Chess960).unwrap();
        for &m in &game.moves {
            let expected = mates(history.current(), 1).then_some(1);
            prop_assert_eq!(plies_to_mate(&history, 1), expected, "{}", history.current().to_fen());
            history.push(m);
        }
        if history.current().rule50() == 0 {
            let expected = (1..=2).find(|&n| mates(history.current(), n)).map(|n| 2 * n - 1);
            prop_assert_eq!(plies_to_mate(&history, 2), expected, "{}", history.current().to_fen());
        }
    }
}

#[test]
fn every_way_to_give_mate_is_seen() {
    for (fen, plies) in [
        // Rd8, on the back rank.
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", Some(1)),
        // Castling.
        ("8/3B4/8/8/8/8/2Q5/R3K1k1 w Q - 0 1", Some(1)),
        // The en-passant capture, which opens the file.
        ("k7/2K2p2/2N3p1/PpR5/8/R1p5/8/8 w - b6 0 1", Some(1)),
        // Promotion to a knight.
        ("6K1/5P2/6k1/6p1/8/8/5R1R/8 w - - 0 1", Some(1)),
        // A piece steps aside, and the king does.
        ("8/2p5/7Q/8/7B/4K3/8/4N2k w - - 0 1", Some(1)),
        ("7B/R7/Q3K2k/6R1/2p5/8/p7/8 w - - 0 1", Some(1)),
        // Smothered: Qg8, Rxg8, Nf7.
        ("5r1k/6pp/7N/8/8/1Q6/6PP/6K1 w - - 0 1", Some(3)),
        // The quiet Kb6 mates in two, but no checks do.
        ("k7/3R4/2K5/8/8/8/8/8 w - - 0 1", None),
    ] {
        let history = game(fen);
        let expected = (1..=2).find(|&n| mates(history.current(), n)).map(|n| 2 * n - 1);
        assert_eq!(expected, plies, "{fen}: the table");
        assert_eq!(plies_to_mate(&history, 2), plies, "{fen}");
        assert_eq!(line_to_mate(&history, 2), plies, "{fen}");
    }
}

#[test]
fn nothing_is_promised_that_a_draw_may_prevent() {
    let smothered = |rule50: u32| game(&format!("5r1k/6pp/7N/8/8/1Q6/6PP/6K1 w - - {rule50} 80"));
    let found = |rule50| plies_to_mate(&smothered(rule50), 2);
    assert_eq!((found(97), found(98)), (Some(3), None));
    // Mate goes before the fifty-move rule.
    let back_rank = game("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 99 80");
    assert_eq!(plies_to_mate(&back_rank, 2), Some(1));
    let mut repeated = smothered(0);
    for mv in ["g1h1", "f8e8", "h1g1", "e8f8"] {
        repeated.push(repeated.parse_move(mv).unwrap());
    }
    assert_eq!(plies_to_mate(&repeated, 2), None);
    assert_eq!(repeated.terminal(&repeated.legal_moves()), None::<Terminal>);
}
