//! Imports tournament games from PGN with evaluations in comments (`{[%eval 0.60]}`, pawns from White's view,
//! `#-5` mates).
//!
//! `{book}` marks moves that nobody chose. Whole events are held out by a hash of their name, so that no game
//! of an event that was trained on is measured.

use std::io::Read;

use super::game::{Ending, LabelledGame, LabelledPly, MoveChoice};
use crate::lab::pgn::{self, GameError, Games, RecordedControl};

/// The number of events of which one is held out.
const HELD_OUT_ONE_IN: u32 = 20;
/// Base time in seconds from which a game belongs to the reference set.
const REFERENCE_SECONDS: f64 = 1800.0;

/// The games that were read, and those that were skipped.
#[derive(Debug, Default)]
pub struct Import {
    /// The games that could be played through.
    pub games: Vec<LabelledGame>,
    /// The games that were not taken, with the reason: those without result, without moves, or with moves
    /// that are illegal, and why reading failed, if it did.
    pub skipped: Vec<String>,
}

/// Reads the games of a PGN stream, up to its end or where reading fails.
pub fn read_games(pgn: impl Read + Send) -> Import {
    let mut import = Import::default();
    for game in Games::new("PGN", pgn) {
        let game = match game {
            Ok(game) => game,
            Err(broken @ GameError::Broken { .. }) => {
                import.skipped.push(broken.to_string());
                continue;
            }
            Err(GameError::Read { error, .. }) => {
                import.skipped.push(error.to_string());
                break;
            }
        };
        let (number, has_moves, players) = (game.number, !game.moves.is_empty(), game.tags.players());
        match labelled(game).filter(|_| has_moves) {
            Some(game) => import.games.push(game),
            None => {
                let lack = if has_moves { "result" } else { "moves" };
                import.skipped.push(format!("game {number}{players} is skipped: it has no {lack}"));
            }
        }
    }
    import
}

/// Labels a game with what its tags say, and returns `None` without a result.
fn labelled(game: pgn::RecordedGame) -> Option<LabelledGame> {
    let tags = &game.tags;
    let text = |name| tags.get(name).unwrap_or_default();
    let is_adjudicated = text("Termination").to_lowercase().contains("adjudication");
    let plies = game.moves.iter().map(|played| {
        let choice = if played.is_book { MoveChoice::Book } else { MoveChoice::Best };
        LabelledPly { centipawns: played.centipawns, ..LabelledPly::new(played.r#move, choice) }
    });
    Some(LabelledGame {
        by_teacher: false,
        held_out: is_held_out(text("Event").as_bytes()),
        reference: is_adjudicated && base_seconds(text("TimeControl")) >= REFERENCE_SECONDS,
        ending: ending(&game),
        result: tags.result()?,
        start: tags.get("FEN").map(str::to_owned),
        plies: plies.collect(),
    })
}

/// Says whether the event with this name is held out, by its FNV-1a hash, so that the split never changes.
pub(crate) fn is_held_out(event: &[u8]) -> bool {
    let hash = event.iter().fold(0x811c_9dc5u32, |h, &b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    // The low bits of FNV are its weakest. Fold the high half in.
    (hash ^ hash >> 16) % HELD_OUT_ONE_IN == 0
}

/// Returns how the game ended: by its last position, by its tags `Termination` and `TerminationDetails`, and
/// broken off if it has no result.
pub(crate) fn ending(game: &pgn::RecordedGame) -> Ending {
    let is_without_moves = game.end.legal_moves().is_empty();
    if is_without_moves {
        return if game.end.is_check() { Ending::Checkmate } else { Ending::Stalemate };
    }
    let tag = |name| game.tags.get(name).unwrap_or_default();
    let text = format!("{} {}", tag("Termination"), tag("TerminationDetails")).to_lowercase();
    let told = WORDS.iter().find(|(words, _)| words.split(' ').any(|word| text.contains(word)));
    match told {
        _ if !game.has_result => Ending::Broken,
        Some((_, ending)) => *ending,
        None if game.end.has_insufficient_material() => Ending::InsufficientMaterial,
        None if game.end.rule50() >= 100 => Ending::FiftyMoves,
        None => Ending::Adjudication,
    }
}

/// The words for endings of TCEC, the PGN standard and `zeitnot match`. The first that fits counts.
const WORDS: [(&str, Ending); 6] = [
    (
        "disconnect stall time abandon illegal infraction resign crash withdraw loop unterminated unfinished",
        Ending::Broken,
    ),
    ("mates checkmate", Ending::Checkmate),
    ("stalemate", Ending::Stalemate),
    ("fifty 50-move", Ending::FiftyMoves),
    ("3-fold threefold repetition", Ending::Repetition),
    ("insufficient", Ending::InsufficientMaterial),
];

/// Returns the base time of a TimeControl tag such as `1800+3` or `40/7200:20/3600:900+30`, seconds, or 0 if
/// it has none.
pub(crate) fn base_seconds(tag: &str) -> f64 {
    RecordedControl::parse(tag).map_or(0.0, |control| control.first().time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending_of(text: &str) -> Ending {
        ending(&Games::new("text", text.as_bytes()).next().unwrap().unwrap())
    }

    #[test]
    fn the_words_of_our_own_matches_are_known() {
        for (word, expected) in [
            ("repetition", Ending::Repetition),
            ("checkmate", Ending::Checkmate),
            ("stalemate", Ending::Stalemate),
            ("fifty-moves", Ending::FiftyMoves),
            ("insufficient-material", Ending::InsufficientMaterial),
            ("adjudication", Ending::Adjudication),
            ("time-forfeit", Ending::Broken),
            ("illegal-move", Ending::Broken),
        ] {
            let text = format!("[Termination \"normal\"]\n[TerminationDetails \"{word}\"]\n\n1. e4 1-0\n");
            assert_eq!(ending_of(&text), expected, "{word}");
        }
    }

    #[test]
    fn without_tags_the_last_position_tells() {
        for (text, expected) in [
            ("1. f3 e5 2. g4 Qh4# 0-1\n", Ending::Checkmate),
            ("[FEN \"7k/8/8/6Q1/8/8/8/K7 w - - 0 1\"]\n\n1. Qg6 1/2-1/2\n", Ending::Stalemate),
            ("[FEN \"7k/8/8/8/8/8/1p6/K7 w - - 0 1\"]\n\n1. Kxb2 1/2-1/2\n", Ending::InsufficientMaterial),
            ("[FEN \"7k/8/8/8/8/8/1R6/K7 w - - 99 80\"]\n\n1. Rb3 1/2-1/2\n", Ending::FiftyMoves),
            ("1. e4 1-0\n", Ending::Adjudication),
        ] {
            assert_eq!(ending_of(text), expected, "{text}");
        }
    }

    #[test]
    fn unfinished_games_have_not_ended() {
        for text in [
            "[Result \"*\"]\n\n1. e4 *\n",
            "[Termination \"unterminated\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n",
            "[Termination \"normal\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3",
        ] {
            assert_eq!(ending_of(text), Ending::Broken, "{text}");
        }
    }
}
