//! The way a game ended, its base time, and whether its event is held out from training.

use super::{RecordedControl, RecordedGame};
use zeitnot_engine::chess::{Color, Terminal};
use zeitnot_engine::options::{OptionChoice, option_choice};

const HELD_OUT_ONE_IN: u32 = 20;

option_choice! {
    /// The way a game ended, with its name in rows and on the command line.
    pub enum Ending {
        Checkmate = "checkmate",
        Stalemate = "stalemate",
        /// Fifty moves without capture or pawn move.
        FiftyMoves = "fifty-moves",
        Repetition = "repetition",
        /// Nobody can mate.
        InsufficientMaterial = "insufficient-material",
        /// Stopped because it was a dead draw: the result is sound, the length says nothing.
        DeadDraw = "dead-draw",
        /// Stopped for its length: the result is a guess.
        Length = "length",
        /// Stopped by a tournament's rule (tablebase, agreement of evaluations, draw rule).
        Adjudication = "adjudication",
        /// Time, crash, lost connection, resignation: neither result nor length follow from the position.
        Broken = "broken-off",
    }
}

impl From<Terminal> for Ending {
    fn from(terminal: Terminal) -> Ending {
        match terminal {
            Terminal::Checkmate => Ending::Checkmate,
            Terminal::Stalemate => Ending::Stalemate,
            Terminal::FiftyMoves => Ending::FiftyMoves,
            Terminal::ThreefoldRepetition => Ending::Repetition,
            Terminal::InsufficientMaterial => Ending::InsufficientMaterial,
        }
    }
}

impl Ending {
    pub fn from_code(code: u8) -> Option<Ending> {
        Ending::all().nth(code.into())
    }

    /// Says whether the rules of chess ended the game, and no organizer or accident did.
    pub fn is_played_out(self) -> bool {
        use Ending::*;
        matches!(
            self,
            Checkmate | Stalemate | FiftyMoves | Repetition | InsufficientMaterial
        )
    }

    /// Says whether the result tells how good the positions were.
    pub fn result_counts(self) -> bool {
        !matches!(self, Ending::Length | Ending::Broken)
    }

    /// Says whether the plies to the end tell how long such a game lasts. Adjudicated games count: they end
    /// where the rule ended them.
    pub fn length_counts(self) -> bool {
        !matches!(self, Ending::DeadDraw | Ending::Length | Ending::Broken)
    }
}

/// Says whether the event with this name is held out, by its FNV-1a hash, so that the split never changes.
pub fn is_held_out(event: &[u8]) -> bool {
    let hash = event.iter().fold(0x811c_9dc5u32, |h, &b| {
        (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
    });
    // The low bits of FNV are its weakest. Fold the high half in.
    (hash ^ hash >> 16) % HELD_OUT_ONE_IN == 0
}

/// Returns how the game ended: by its last position, by its tags `Termination` and `TerminationDetails`, and
/// broken off if it has no result.
pub fn ending(game: &RecordedGame) -> Ending {
    let is_without_moves = game.end.legal_moves().is_empty();
    if is_without_moves {
        return if game.end.is_check() {
            Ending::Checkmate
        } else {
            Ending::Stalemate
        };
    }
    let tag = |name| game.tags.get(name).unwrap_or_default();
    let text = format!("{} {}", tag("Termination"), tag("TerminationDetails")).to_lowercase();
    let told = WORDS
        .iter()
        .find(|(words, _)| words.split(' ').any(|word| text.contains(word)));
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

/// Returns the base time of White, seconds, or 0 if it is not known.
pub fn base_seconds(game: &RecordedGame) -> f64 {
    RecordedControl::of(game, Color::White).map_or(0.0, |control| control.first().time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::super::Games;
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
            ("disconnection", Ending::Broken),
        ] {
            let text = format!("[Termination \"normal\"]\n[TerminationDetails \"{word}\"]\n\n1. e4 1-0\n");
            assert_eq!(ending_of(&text), expected, "{word}");
        }
    }

    #[test]
    fn without_tags_the_last_position_tells() {
        for (text, expected) in [
            ("1. f3 e5 2. g4 Qh4# 0-1\n", Ending::Checkmate),
            (
                "[FEN \"7k/8/8/6Q1/8/8/8/K7 w - - 0 1\"]\n\n1. Qg6 1/2-1/2\n",
                Ending::Stalemate,
            ),
            (
                "[FEN \"7k/8/8/8/8/8/1p6/K7 w - - 0 1\"]\n\n1. Kxb2 1/2-1/2\n",
                Ending::InsufficientMaterial,
            ),
            (
                "[FEN \"7k/8/8/8/8/8/1R6/K7 w - - 99 80\"]\n\n1. Rb3 1/2-1/2\n",
                Ending::FiftyMoves,
            ),
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
