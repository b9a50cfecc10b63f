//! Chooses a move without a search: a mate by checks, else the cache's best, else the best capture.

use std::time::Duration;

use shakmaty::{ByRole, Position as _, Role, Square};

use crate::chess::{History, Move, Position};
use crate::network::Value;
use crate::network::cache::EvalCache;
use crate::search::{LineValue, PvLine, SearchInfo};
use crate::time::expected_result;

/// In moves.
const MATE_MOVES: u32 = 2;

#[derive(Clone, Copy)]
pub(super) struct QuickLook {
    pub(super) mv: Move,
    /// For the side to move: from the cache, or from the material after the move.
    value: Value,
    mate: Option<u32>,
}

impl QuickLook {
    /// GUIs and match runners expect a score before each move.
    pub(super) fn info(&self, time: Duration) -> SearchInfo {
        let value = LineValue {
            q: self.value.wl,
            wl: self.value.wl,
            d: self.value.d,
            mate: self.mate.map(u32::cast_signed),
            ..LineValue::default()
        };
        let line = PvLine {
            value: Some(value),
            nodes: 0,
            moves: vec![self.mv],
        };
        SearchInfo {
            depth: 1,
            seldepth: 1,
            time,
            lines: vec![line],
            ..SearchInfo::default()
        }
    }
}

pub(super) fn quick_look(game: &History, allowed: &[Move], cache: &EvalCache) -> Option<QuickLook> {
    let legal = game.legal_moves();
    let is_allowed = |mv: &Move| allowed.is_empty() || allowed.contains(mv);
    let candidates = || legal.iter().copied().filter(is_allowed);
    let is_mate = |mv: &Move| game.current().play(*mv).chess().is_checkmate();
    let in_one = candidates().find(is_mate).map(|mv| (mv, 1));
    let in_more = || {
        let line = game.mate_by_checks(MATE_MOVES);
        line.first().map(|&mv| (mv, line.len().div_ceil(2) as u32))
    };
    if let Some((mv, moves)) = in_one.or_else(in_more).filter(|(mv, _)| is_allowed(mv)) {
        let value = Value {
            wl: 1.0,
            ..Value::default()
        };
        return Some(QuickLook {
            mv,
            value,
            mate: Some(moves),
        });
    }
    let mut policy = Vec::new();
    if let Some(value) = cache.get(game.evaluation_key(), legal.len(), &mut policy) {
        let rated = legal.iter().zip(policy).filter(|(mv, _)| is_allowed(mv));
        let best = rated.max_by(|(_, a), (_, b)| a.total_cmp(b));
        return best.map(|(&mv, _)| QuickLook {
            mv,
            value,
            mate: None,
        });
    }
    let position = game.current();
    let rated = candidates().map(|mv| ((gain(position, mv), placement(position, mv)), mv));
    let ((gain, _), mv) = rated.max_by_key(|(reasons, _)| *reasons)?;
    let score = balance(position) + gain;
    let value = Value {
        wl: expected_result(score.into()) as f32,
        ..Value::default()
    };
    Some(QuickLook {
        mv,
        value,
        mate: None,
    })
}

/// Material won, in centipawns, less the piece if it can be recaptured.
fn gain(position: &Position, mv: Move) -> i32 {
    let after = position.play(mv);
    let replies = after.legal_moves();
    if replies.is_empty() {
        // Stalemate.
        return -balance(position);
    }
    let is_retaken = replies.iter().any(|reply| reply.to_square() == mv.to_square());
    let moved = after
        .board()
        .role_at(mv.to_square())
        .map_or(0, |role| *WORTH.get(role));
    -balance(&after) - balance(position) - if is_retaken { moved } else { 0 }
}

/// In centipawns.
const WORTH: ByRole<i32> = ByRole {
    pawn: 100,
    knight: 300,
    bishop: 310,
    rook: 500,
    queen: 900,
    king: 0,
};

fn balance(position: &Position) -> i32 {
    let board = position.board();
    let pieces = |role| (board.by_role(role) & board.by_color(position.turn())).count() as i32;
    let all = |role| board.by_role(role).count() as i32;
    Role::ALL
        .iter()
        .map(|&role| WORTH.get(role) * (2 * pieces(role) - all(role)))
        .sum()
}

fn placement(position: &Position, mv: Move) -> i32 {
    match position.board().role_at(mv.from_square()) {
        Some(Role::Knight | Role::Pawn) => centrality(mv.to_square()) - centrality(mv.from_square()),
        _ => 0,
    }
}

fn centrality(square: Square) -> i32 {
    let from_edge = |coordinate: u32| coordinate.min(7 - coordinate) as i32;
    from_edge(u32::from(square.file())).min(from_edge(u32::from(square.rank())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;
    use crate::time::centipawns;

    fn look(fen: &str, allowed: &[&str], cache: &EvalCache) -> String {
        let game = History::from_fen(fen, Variant::Standard).unwrap();
        let allowed: Vec<_> = allowed
            .iter()
            .filter_map(|text| game.parse_move(text).ok())
            .collect();
        quick_look(&game, &allowed, cache).map_or_else(String::new, |look| game.format_move(look.mv))
    }

    fn blind(fen: &str) -> String {
        look(fen, &[], &EvalCache::new(0))
    }

    #[test]
    fn mates_and_what_can_be_won_are_seen() {
        for (fen, expected) in [
            ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8"),
            ("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1", "f7g7"),
            // Mate by Qg8, Rxg8, Nf7.
            ("5r1k/6pp/7N/8/8/1Q6/6PP/6K1 w - - 0 1", "b3g8"),
            // The queen hangs.
            ("6k1/5ppp/8/q7/8/8/5PPP/R5K1 w - - 0 1", "a1a5"),
            ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8q"),
            // En passant is the only capture.
            ("4k3/8/8/1pP5/8/8/8/4K3 w - b6 0 2", "c5b6"),
        ] {
            assert_eq!(blind(fen), expected, "{fen}");
        }
    }

    #[test]
    fn what_is_taken_in_turn_is_seen() {
        for (fen, bad, why) in [
            (
                "4k3/8/3p4/4p3/8/6B1/8/4K3 w - - 0 1",
                "g3e5",
                "a bishop for a pawn",
            ),
            ("7k/8/6Q1/8/8/8/8/K7 w - - 0 1", "g6f7", "stalemate"),
        ] {
            assert_ne!(blind(fen), bad, "{fen}: {why}");
        }
    }

    /// A regression: without an evaluation the first legal move was played.
    #[test]
    fn it_is_not_the_first_of_the_list() {
        let start = History::start();
        let best = quick_look(&start, &[], &EvalCache::new(0)).unwrap().mv;
        assert_ne!(Some(&best), start.legal_moves().first());
        assert!(
            ["e2e4", "d2d4", "b1c3", "g1f3"].contains(&start.format_move(best).as_str()),
            "{best:?}"
        );
    }

    #[test]
    fn what_the_cache_knows_counts_more_than_captures_and_less_than_mate() {
        let cache = EvalCache::new(100);
        for fen in [
            "6k1/5ppp/8/q7/8/8/5PPP/R5K1 w - - 0 1",
            "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1",
        ] {
            let game = History::from_fen(fen, Variant::Standard).unwrap();
            let moves = game.legal_moves();
            let policy: Vec<_> = moves
                .iter()
                .map(|mv| {
                    if game.format_move(*mv) == "h2h3" {
                        0.6
                    } else {
                        0.01
                    }
                })
                .collect();
            cache.insert(game.evaluation_key(), Value::default(), &policy);
        }
        assert_eq!(look("6k1/5ppp/8/q7/8/8/5PPP/R5K1 w - - 0 1", &[], &cache), "h2h3");
        assert_eq!(
            look("6k1/5ppp/8/q7/8/8/5PPP/R5K1 w - - 0 1", &["a1a5", "g2g3"], &cache).len(),
            4
        );
        assert_eq!(look("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", &[], &cache), "d1d8");
    }

    /// A regression: a match runner warned of a move without a score.
    #[test]
    fn the_move_has_a_score() {
        let line = |fen: &str, cache: &EvalCache| {
            let game = History::from_fen(fen, Variant::Standard).unwrap();
            let look = quick_look(&game, &[], cache).unwrap();
            let line = look.info(Duration::ZERO).lines.remove(0);
            assert_eq!(line.moves, [look.mv]);
            let value = line.value.unwrap();
            (centipawns(value.wl.into()).round() as i32, value.mate)
        };
        let none = EvalCache::new(0);
        assert_eq!(line("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", &none).1, Some(1));
        assert_eq!(
            line("6k1/5ppp/8/q7/8/8/5PPP/R5K1 w - - 0 1", &none),
            (500, None),
            "a rook for nothing"
        );
        assert_eq!(
            line("4k3/8/8/8/8/8/q7/4K3 w - - 0 1", &none),
            (-900, None),
            "a queen down"
        );
        let cache = EvalCache::new(100);
        let game = History::start();
        let known = Value {
            wl: 0.25,
            d: 0.5,
            m: 90.0,
        };
        cache.insert(
            game.evaluation_key(),
            known,
            &vec![0.05; game.legal_moves().len()],
        );
        let score = line(&game.current().to_fen(), &cache).0;
        assert_eq!(score, centipawns(0.25).round() as i32);
    }

    #[test]
    fn only_allowed_moves_are_taken() {
        let fen = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
        assert_eq!(look(fen, &["h2h3"], &EvalCache::new(0)), "h2h3");
        assert_eq!(blind("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"), "", "it is mate");
    }
}
