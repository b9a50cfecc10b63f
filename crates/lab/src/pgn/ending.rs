//! How a game ended, its base time, and whether its event is held out from training.

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
        /// Stopped by a rule of the tournament or by its arbiter, as a word of the game says.
        Adjudication = "adjudication",
        /// Time, crash, lost connection, or no result: neither result nor length follow from the position.
        Broken = "broken-off",
        /// Decided without a mate, and no word says otherwise: people and engines give up lost games.
        Resignation = "resignation",
        /// Drawn without a rule of chess that the game shows, and no word says otherwise.
        Agreement = "agreement",
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

    /// Whether the rules of chess ended the game. Any other would have gone on: its plies are a lower bound.
    pub fn is_played_out(self) -> bool {
        use Ending::*;
        matches!(
            self,
            Checkmate | Stalemate | FiftyMoves | Repetition | InsufficientMaterial
        )
    }

    /// Whether the players or a tournament's rule ended the game, and no accident did.
    pub fn is_intended(self) -> bool {
        !matches!(self, Ending::DeadDraw | Ending::Length | Ending::Broken)
    }

    /// Whether the result tells how good the positions were.
    pub fn result_counts(self) -> bool {
        !matches!(self, Ending::Length | Ending::Broken)
    }

    /// Whether training takes the plies to the end for the length. Adjudicated games end where the rule ended
    /// them.
    pub fn length_counts(self) -> bool {
        self.is_played_out() || self == Ending::Adjudication
    }
}

/// Whether the event with this name is held out, by its FNV-1a hash, so that the split never changes.
pub fn is_held_out(event: &[u8]) -> bool {
    let hash = event.iter().fold(0x811c_9dc5u32, |h, &b| {
        (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
    });
    // The low bits of FNV are its weakest. Fold the high half in.
    (hash ^ hash >> 16) % HELD_OUT_ONE_IN == 0
}

/// How the game ended: by its moves, else as a word of it says. Without either, a decided game was given up
/// and a drawn one agreed.
pub fn ending(game: &RecordedGame) -> Ending {
    let is_drawn = game.tags.result() == Some(0);
    match rule_that_ended(game) {
        Some(terminal @ (Terminal::Checkmate | Terminal::Stalemate)) => terminal.into(),
        _ if !game.has_result => Ending::Broken,
        // Who plays on in such a position has not claimed the draw.
        Some(terminal) if is_drawn => terminal.into(),
        _ => word_of_end(game).unwrap_or(if is_drawn {
            Ending::Agreement
        } else {
            Ending::Resignation
        }),
    }
}

fn rule_that_ended(game: &RecordedGame) -> Option<Terminal> {
    let mut history = game.history();
    for played in &game.moves {
        history.push(played.r#move);
    }
    history.terminal(&history.legal_moves())
}

/// By its tags `Termination` and `TerminationDetails`, and its last comment, where other programs write it.
fn word_of_end(game: &RecordedGame) -> Option<Ending> {
    let tag = |name| game.tags.get(name).unwrap_or_default();
    let comments = game.moves.last().map_or(&game.comments, |last| &last.comments);
    let comment = comments.last().map_or("", |comment| sentence_of_end(comment));
    let told = [tag("Termination"), tag("TerminationDetails"), comment].map(words);
    let says = |phrase: &str| told.iter().any(|text| text.contains(&format!(" {phrase}")));
    let ends = |(phrases, ending): &(&str, Ending)| phrases.split('|').any(says).then_some(*ending);
    WORDS.iter().find_map(ends)
}

/// Most words of a program's sentence, such as `White ran out of time and Black has no material to mate`.
/// Longer ones are people's.
const MOST_WORDS: usize = 12;
/// Words that such a sentence begins with.
const SUBJECTS: &str = "white whites black blacks game draw drawn both neither forfeit xboard arena";

/// The part of a comment that can be a program's sentence. cutechess and fastchess write it behind their
/// figures, as in `+M1/5 0.01s, White wins by adjudication`.
fn sentence_of_end(comment: &str) -> &str {
    let sentence = comment.rsplit(", ").next().unwrap_or_default();
    let words = words(sentence);
    let words: Vec<_> = words.split_whitespace().collect();
    let begins_so = SUBJECTS.split(' ').any(|subject| words.first() == Some(&subject));
    if begins_so && words.len() <= MOST_WORDS {
        sentence
    } else {
        ""
    }
}

/// In small letters, each with a blank before it.
fn words(text: &str) -> String {
    let text = text.replace(['\'', '’'], "").to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| format!(" {word}")).collect()
}

/// Beginnings of words that tell an end, as the PGN standard, lichess, chess.com, FICS, ICC, XBoard,
/// cutechess, fastchess, Banksia, Arena, TCEC and `zeitnot match` write them. The first that fits counts.
const WORDS: [(&str, Ending); 4] = [
    ("resign", Ending::Resignation),
    (
        "abandon|abort|adjourn|crash|death|didnt move|disconnect|emergency|exit|flag|forfeit|illegal|infraction|invalid|left the game\
         |loop|loses on|lost connection|ran out|stall|time|unfinished|unknown|unterminated|withdr",
        Ending::Broken,
    ),
    ("adjudicat|egtb|syzygy|tablebase|tb|tcec", Ending::Adjudication),
    ("agree|mutual", Ending::Agreement),
];

/// The base time of White, seconds, or 0 if it is not known.
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

    /// The end of a decided and of a drawn game with these tags and this comment before the result. Their
    /// moves show none.
    fn told(tags: &str, comment: &str) -> [Ending; 2] {
        ["1-0", "1/2-1/2"].map(|result| {
            let around = [format!("{comment} {result}"), format!("{result} {comment}")];
            let [before, behind] = around.map(|end| ending_of(&format!("{tags}\n\n1. e4 e5 {end}\n")));
            assert_eq!(before, behind, "{tags} {comment}");
            before
        })
    }

    #[test]
    fn each_programs_words_are_known_as_tags() {
        use Ending::*;
        for (program, text, expected) in [
            ("PGN standard", "adjudication", Adjudication),
            ("PGN standard", "abandoned", Broken),
            ("PGN standard", "death", Broken),
            ("PGN standard", "emergency", Broken),
            ("PGN standard", "rules infraction", Broken),
            ("PGN standard", "time forfeit", Broken),
            ("PGN standard", "unterminated", Broken),
            ("lichess", "Time forfeit", Broken),
            ("lichess", "Abandoned", Broken),
            ("lichess", "Unknown", Broken),
            ("chess.com", "timelord won by resignation", Resignation),
            ("chess.com", "ann won on time", Broken),
            ("chess.com", "ann won - game abandoned", Broken),
            ("chess.com", "Game drawn by agreement", Agreement),
            (
                "chess.com",
                "Game drawn by timeout vs insufficient material",
                Broken,
            ),
            ("cutechess", "stalled connection", Broken),
            ("cutechess", "illegal move", Broken),
            ("fastchess", "disconnect", Broken),
            ("Banksia", "timeout", Broken),
            ("Banksia", "resigned", Resignation),
            ("TCEC", "TCEC draw rule", Adjudication),
            ("TCEC", "SyzygyTB", Adjudication),
            ("TCEC", "GUI TB Mate in 30", Adjudication),
            ("TCEC", "Manual adjudication", Adjudication),
            ("TCEC", "White's connection stalls", Broken),
            ("TCEC", "User adjudication - GUI crash", Broken),
            ("TCEC", "White in infinite loop", Broken),
            ("TCEC", "Chiron Stage 3 withdrawal", Broken),
            ("TCEC", "Black resigns", Resignation),
            ("zeitnot match", "adjudication", Adjudication),
            ("zeitnot match", "time-forfeit", Broken),
            ("zeitnot match", "illegal-move", Broken),
            ("zeitnot match", "disconnection", Broken),
        ] {
            assert_eq!(
                told(&format!("[Termination \"{text}\"]"), ""),
                [expected; 2],
                "{program}"
            );
            let tags = format!("[Termination \"normal\"]\n[TerminationDetails \"{text}\"]");
            assert_eq!(told(&tags, ""), [expected; 2], "{program}");
        }
    }

    #[test]
    fn each_programs_words_are_known_as_the_last_comment() {
        use Ending::*;
        for (program, text, expected) in [
            ("FICS", "White forfeits on time", Broken),
            ("FICS", "Black forfeits by disconnection", Broken),
            (
                "FICS",
                "White ran out of time and Black has no material to mate",
                Broken,
            ),
            ("FICS", "Black resigns", Resignation),
            ("FICS", "Game drawn by mutual agreement", Agreement),
            ("ICC", "White disconnected and forfeits", Broken),
            ("XBoard", "Xboard adjudication: Long game", Adjudication),
            ("XBoard", "Forfeit due to invalid move", Broken),
            ("lichess", " Black resigns. ", Resignation),
            ("lichess", " White wins on time. ", Broken),
            ("lichess", " White left the game. ", Broken),
            ("lichess", " Black didn't move. ", Broken),
            (
                "cutechess",
                "+5.21/20 0.51s, White wins by adjudication",
                Adjudication,
            ),
            ("cutechess", "-0.10/3 0.1s, Black loses on time", Broken),
            ("cutechess", "0.00/1 0s, White's connection stalls", Broken),
            (
                "fastchess",
                "0.00/9 0.1s, Draw by adjudication: SyzygyTB",
                Adjudication,
            ),
            ("fastchess", "0.00/9 0.1s, Black disconnects", Broken),
            ("Arena", "Arena Adjudication. Illegal move!", Broken),
        ] {
            assert_eq!(
                told("", &format!("{{{text}}}")),
                [expected; 2],
                "{program}: {text}"
            );
        }
    }

    /// A regression: a game without a word of its end counted as adjudicated, and its last ply as its length.
    #[test]
    fn without_a_word_a_decided_game_was_given_up_and_a_drawn_one_agreed() {
        let usual = [Ending::Resignation, Ending::Agreement];
        for (tags, comment) in [
            ("", ""),
            ("[Termination \"Normal\"]", ""),
            ("[Termination \"Normal\"]", "{+0.31/15 0.42s}"),
            (
                "",
                "{White is a time trouble addict, and that was his undoing here}",
            ),
            (
                "",
                "{Black has no time left here but might have hoped for a miracle in the endgame}",
            ),
            ("", "{my opponent could resign on time}"),
            // What the moves do not show, no word proves.
            ("[Termination \"ann won by checkmate\"]", ""),
            ("", "{Game drawn by repetition}"),
        ] {
            assert_eq!(told(tags, comment), usual, "{tags} {comment}");
        }
        let within = "1. e4 {White forfeits on time} e5 1-0\n";
        assert_eq!(ending_of(within), Ending::Resignation, "not of the last move");
    }

    #[test]
    fn the_moves_show_what_the_rules_ended() {
        let repeated = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8";
        let mated = "1. f3 e5 2. g4 Qh4#";
        for (text, expected) in [
            (format!("{mated} 0-1\n"), Ending::Checkmate),
            (
                format!("[Termination \"Time forfeit\"]\n\n{mated} {{Black resigns}} 0-1\n"),
                Ending::Checkmate,
            ),
            (
                "[FEN \"7k/8/8/6Q1/8/8/8/K7 w - - 0 1\"]\n\n1. Qg6 1/2-1/2\n".into(),
                Ending::Stalemate,
            ),
            (
                "[FEN \"7k/8/8/8/8/8/1p6/K7 w - - 0 1\"]\n\n1. Kxb2 1/2-1/2\n".into(),
                Ending::InsufficientMaterial,
            ),
            (
                "[FEN \"7k/8/8/8/8/8/1R6/K7 w - - 99 80\"]\n\n1. Rb3 1/2-1/2\n".into(),
                Ending::FiftyMoves,
            ),
            (format!("{repeated} 1/2-1/2\n"), Ending::Repetition),
            (format!("{repeated} 1-0\n"), Ending::Resignation),
            (format!("{repeated} 5. e4 1/2-1/2\n"), Ending::Agreement),
        ] {
            assert_eq!(ending_of(&text), expected, "{text}");
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
