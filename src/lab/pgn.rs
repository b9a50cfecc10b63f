//! Recorded games: reads PGN, plain or compressed, one game after the other, and writes what all writers of PGN have in common.
//!
//! [`Games`] streams files of any size in bounded memory. A game that cannot be played through is reported with its number
//! and skipped. Comments give clocks (`%clk`, `%emt`), evaluations (`%eval`) and book moves. `training` and the commands that
//! measure on recorded games use this module; it uses the rules of [`chess`](crate::chess) and nothing else of the engine.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use pgn_reader::{Outcome, RawComment, RawTag, Reader, SanPlus, Visitor};
use thiserror::Error;

use crate::chess::{Color, Move, Position, Variant};
use crate::files;

/// The tag of the result.
const RESULT: &str = "Result";
/// Longer tag lines and comments than any real file has; they bound the memory.
const LONGEST_LINE: usize = 1 << 16;
/// Larger evaluations are cut to this, in centipawns; above lie the mates.
const LARGEST_CENTIPAWNS: f64 = 15000.0;
/// A mate in n plies is this minus n.
const MATE: i32 = 32000;
/// Most columns of the movetext that is written.
const WIDTH: usize = 100;

/// A game as it was recorded.
#[derive(Clone, Debug)]
pub struct RecordedGame {
    /// Its place in the stream, from 1; broken games count.
    pub number: u64,
    /// The tags, in their order; without a tag `Result` the result that follows the moves is the last one.
    pub tags: Tags,
    /// The position before the first move.
    pub start: Position,
    /// Standard unless the tag `Variant` says Fischer random.
    pub variant: Variant,
    /// The moves, all legal.
    pub moves: Vec<RecordedMove>,
    /// The position after the last move.
    pub end: Position,
    /// True if the game was played to an end: its moves or its tag `Result` have a result other than `*`, and the file was not cut
    /// off within its moves.
    pub has_result: bool,
}

/// A move and what its comments say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedMove {
    /// The move.
    pub r#move: Move,
    /// True if the move is from an opening book and not the player's choice (`{book}`).
    pub is_book: bool,
    /// The player's evaluation (`%eval`) in centipawns from the mover's point of view; a mate in n plies is 32000 − n,
    /// being mated n − 32000.
    pub centipawns: Option<i16>,
    /// The mover's clock after the move, increment included (`%clk`), ms.
    pub clock_ms: Option<f64>,
    /// Time spent on the move (`%emt`), ms.
    pub used_ms: Option<f64>,
}

impl RecordedMove {
    fn new(played: Move) -> RecordedMove {
        RecordedMove { r#move: played, is_book: false, centipawns: None, clock_ms: None, used_ms: None }
    }
}

/// The tags of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    pairs: Vec<(String, String)>,
}

impl Tags {
    /// Returns the value of the first tag of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the result in the tag `Result`, from White's point of view: 1, 0 or −1; `None` for `*` and where there is none.
    pub fn result(&self) -> Option<i8> {
        match self.get(RESULT)? {
            "1-0" => Some(1),
            "0-1" => Some(-1),
            "1/2-1/2" => Some(0),
            _ => None,
        }
    }

    /// Returns all tags, name and value, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The reason why there is no game.
#[derive(Debug, Error)]
pub enum GameError {
    /// This game is broken; those after it can be read.
    #[error("game {number} is skipped: {reason}")]
    Broken {
        /// Its place in the stream, from 1.
        number: u64,
        /// The problem with it.
        reason: String,
    },
    /// The stream ends here.
    #[error("{name}: {error}")]
    Read {
        /// The file's name.
        name: String,
        /// The error of the system, the decompressor or the PGN parser.
        error: io::Error,
    },
}

/// The games of a stream, in their order. It ends after [`GameError::Read`]; after [`GameError::Broken`] it goes on.
///
/// ```
/// use zeitnot::lab::pgn::{GameError, Games};
/// let text = "[Result \"*\"]\n\n1. e4 {[%clk 0:01:00]} e5 *\n\n[Result \"*\"]\n\n1. e5 *\n\n[Result \"*\"]\n\n1. d4 *\n";
/// let games: Vec<_> = Games::new("text", text.as_bytes()).collect();
/// assert_eq!(games[0].as_ref().unwrap().moves[0].clock_ms, Some(60_000.0));
/// assert!(matches!(games[1], Err(GameError::Broken { number: 2, .. })));
/// assert_eq!(games[2].as_ref().unwrap().number, 3);
/// ```
pub struct Games<'a> {
    name: String,
    /// What the user should know of the file.
    pub(crate) notes: Vec<String>,
    reader: Reader<Box<dyn Read + Send + 'a>>,
    number: u64,
    /// True if the parser could not read the last game.
    stumbled: bool,
    ended: bool,
}

impl<'a> Games<'a> {
    /// Reads the games of a file, plain or compressed by gzip, Zstandard, bzip2 or zip; `-` is stdin.
    ///
    /// # Errors
    /// [`GameError::Read`] if it cannot be opened, or is no text.
    pub fn open(path: &Path) -> Result<Games<'static>, GameError> {
        let name = path.display().to_string();
        match files::open_text(path, &[".pgn"]) {
            Ok(file) => Ok(Games { notes: file.notes, ..Games::new(name, file.content) }),
            Err(error) => Err(GameError::Read { name, error }),
        }
    }

    /// Reads the games from the bytes of a file, plain or compressed in the same ways; `name` is for messages.
    ///
    /// # Errors
    /// [`GameError::Read`] if the first bytes cannot be read.
    pub fn from_compressed(
        name: impl Into<String>,
        bytes: impl Read + Send + 'static,
    ) -> Result<Games<'static>, GameError> {
        let name = name.into();
        match files::text(bytes) {
            Ok(text) => Ok(Games::new(name, text)),
            Err(error) => Err(GameError::Read { name, error }),
        }
    }

    /// Reads the games of uncompressed text; `name` is for messages.
    pub fn new(name: impl Into<String>, text: impl Read + Send + 'a) -> Games<'a> {
        let text: Box<dyn Read + Send + 'a> = Box::new(text);
        let reader = Reader::build(text)
            .set_supported_tag_line_length(LONGEST_LINE)
            .set_supported_comment_length(LONGEST_LINE)
            .finish();
        Games { name: name.into(), notes: Vec::new(), reader, number: 0, stumbled: false, ended: false }
    }
}

impl fmt::Debug for Games<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Games")
            .field("name", &self.name)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Iterator for Games<'_> {
    type Item = Result<RecordedGame, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.number += 1;
        let number = self.number;
        let stumbled = std::mem::take(&mut self.stumbled);
        match self.reader.read_game(&mut GameVisitor) {
            Ok(None) => {
                self.ended = true;
                None
            }
            Ok(Some(Ok(movetext))) => {
                // A read error is reported when the next game is asked for.
                let has_result = movetext.has_result(|| !self.reader.has_more().unwrap_or(false));
                Some(Ok(RecordedGame {
                    number,
                    tags: movetext.tags,
                    start: movetext.start,
                    variant: movetext.variant,
                    moves: movetext.moves,
                    end: movetext.position,
                    has_result,
                }))
            }
            Ok(Some(Err(reason))) => Some(Err(GameError::Broken { number, reason })),
            // A comment or tag without an end, as where a file was cut off. Twice in a row it is the file, not the game.
            Err(error) if error.kind() == ErrorKind::InvalidData && !stumbled => {
                self.stumbled = true;
                Some(Err(GameError::Broken { number, reason: error.to_string() }))
            }
            Err(error) => {
                self.ended = true;
                Some(Err(GameError::Read { name: self.name.clone(), error }))
            }
        }
    }
}

struct GameVisitor;

struct Movetext {
    tags: Tags,
    start: Position,
    variant: Variant,
    position: Position,
    moves: Vec<RecordedMove>,
    /// The side that made the last of `moves`.
    mover: Color,
    /// The result that follows the moves.
    outcome: Option<Outcome>,
}

impl Movetext {
    /// Decides [`RecordedGame::has_result`]. Some files hide the result behind a `;`: where another game follows, nothing was cut
    /// off and the tag is to be trusted.
    fn has_result(&self, is_last: impl FnOnce() -> bool) -> bool {
        match self.outcome {
            Some(Outcome::Known(_)) => self.tags.get(RESULT) != Some("*"),
            Some(Outcome::Unknown) => self.tags.result().is_some(),
            None => self.tags.result().is_some() && !is_last(),
        }
    }
}

impl Visitor for GameVisitor {
    type Tags = Tags;
    type Movetext = Movetext;
    /// The game, or the problem with it.
    type Output = Result<Movetext, String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Self::Output> {
        let name = String::from_utf8_lossy(name).into_owned();
        tags.pairs.push((name, files::decode(&value.decode()).into_owned()));
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Self::Output, Movetext> {
        let start = match tags.get("FEN").map(Position::from_fen) {
            None => Position::start(),
            Some(Ok(position)) => position,
            Some(Err(error)) => return ControlFlow::Break(Err(error.to_string())),
        };
        let variant = tags.get("Variant").unwrap_or_default().to_lowercase();
        let is_random = ["fischer", "960"].iter().any(|word| variant.contains(word));
        ControlFlow::Continue(Movetext {
            tags,
            position: start.clone(),
            mover: start.turn(),
            start,
            variant: if is_random { Variant::Chess960 } else { Variant::Standard },
            moves: Vec::new(),
            outcome: None,
        })
    }

    fn san(&mut self, movetext: &mut Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
        let played = match movetext.position.read_move(&san.san.to_string()) {
            Ok(played) => played,
            Err(error) => {
                let ply = movetext.moves.len() + 1;
                return ControlFlow::Break(Err(format!("ply {ply}: {error}")));
            }
        };
        movetext.mover = movetext.position.turn();
        movetext.position = movetext.position.play(played);
        movetext.moves.push(RecordedMove::new(played));
        ControlFlow::Continue(())
    }

    fn comment(&mut self, movetext: &mut Movetext, comment: RawComment<'_>) -> ControlFlow<Self::Output> {
        if let Some(played) = movetext.moves.last_mut() {
            apply_comment(&files::decode(comment.as_bytes()), movetext.mover, played);
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, movetext: &mut Movetext, outcome: Outcome) -> ControlFlow<Self::Output> {
        movetext.outcome = Some(outcome);
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, mut movetext: Movetext) -> Self::Output {
        if let Some(outcome @ Outcome::Known(_)) = movetext.outcome
            && movetext.tags.get(RESULT).is_none()
        {
            movetext.tags.pairs.push((RESULT.into(), outcome.to_string()));
        }
        Ok(movetext)
    }
}

/// Adds what the comment after a move of `mover` says.
fn apply_comment(text: &str, mover: Color, played: &mut RecordedMove) {
    played.is_book |= text.trim() == "book";
    played.centipawns = field(text, "[%eval ").and_then(|text| evaluation(text, mover)).or(played.centipawns);
    played.clock_ms = field(text, "[%clk ").and_then(time_ms).or(played.clock_ms);
    played.used_ms = field(text, "[%emt ").and_then(time_ms).or(played.used_ms);
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key)?.1.split([']', ',']).next().map(str::trim)
}

/// Parses `h:mm:ss.fff`, `mm:ss` or seconds; returns ms.
fn time_ms(text: &str) -> Option<f64> {
    let parts =
        text.split(':').map(|part| part.parse::<f64>().ok().filter(|part| part.is_finite() && *part >= 0.0));
    let seconds = parts.into_iter().try_fold(0.0, |sum, part| Some(60.0 * sum + part?))?;
    Some(1000.0 * seconds)
}

/// Parses pawns or `#n` from White's point of view; returns centipawns from the mover's.
fn evaluation(text: &str, mover: Color) -> Option<i16> {
    let white = match text.strip_prefix('#') {
        Some(mate) => {
            let moves: i32 = mate.parse().ok()?;
            let plies = moves.unsigned_abs().saturating_mul(2).saturating_sub(1).clamp(1, 1000) as i32;
            if moves < 0 { plies - MATE } else { MATE - plies }
        }
        None => {
            (text.parse::<f64>().ok()? * 100.0).clamp(-LARGEST_CENTIPAWNS, LARGEST_CENTIPAWNS).round() as i32
        }
    };
    i16::try_from(if mover == Color::White { white } else { -white }).ok()
}

pub(crate) fn tag(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    // A line of its own would end the tag.
    let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    writeln!(out, "[{name} \"{}\"]", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writes a time as `H:MM:SS.mmm`.
pub(crate) fn hours(ms: f64) -> String {
    let ms = ms.max(0.0).round() as u64;
    let seconds = ms / 1000;
    format!("{}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000)
}

/// Writes text, broken at spaces so that lines stay within [`WIDTH`].
pub(crate) fn write_wrapped(out: &mut impl Write, text: &str) -> io::Result<()> {
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > WIDTH {
            writeln!(out)?;
            column = 0;
        } else if column > 0 {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += word.len();
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;

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
        assert_eq!((game.tags.get("Event"), game.tags.result()), (Some("a"), Some(-1)));
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
        assert_eq!(fault, "game 2 is skipped: unterminated comment");
    }

    /// A regression: the result of a game without the tag was lost.
    #[test]
    fn results_behind_the_moves_and_unfinished_games_are_known() {
        for (text, result, has_result) in [
            ("1. e4 e5 1-0\n", Some("1-0"), true),
            ("[Event \"e\"]\n\n1. e4 e5 1/2-1/2\n", Some("1/2-1/2"), true),
            ("[Result \"*\"]\n\n1. e4 e5 0-1\n", Some("*"), false),
            ("1. e4 e5 *\n", None, false),
            ("1. e4 e5\n", None, false),
            ("[Result \"1-0\"]\n\n1. e4 e5\n1-0\n", Some("1-0"), true),
            ("[Result \"0-1\"]\n\n1. e4 e5 2. N", Some("0-1"), false),
            ("[Result \"0-1\"]\n\n1. e4 e5 ; 0-1\n\n[Result \"*\"]\n\n*\n", Some("0-1"), true),
        ] {
            let games = read(text);
            let game = games[0].as_ref().unwrap();
            assert_eq!((game.tags.get("Result"), game.has_result), (result, has_result), "{text}");
        }
    }

    fn read_comment(text: &str, mover: Color) -> RecordedMove {
        let mut played = RecordedMove::new(Move::new(Square::E2, Square::E4, None));
        apply_comment(text, mover, &mut played);
        played
    }

    #[test]
    fn times_evaluations_and_book() {
        let played = read_comment("[%eval 0.60] [%emt 0:00:37.918] [%clk 1:29:25.5]", Color::Black);
        assert_eq!((played.centipawns, played.used_ms), (Some(-60), Some(37_918.0)));
        assert_eq!(played.clock_ms, Some(5_365_500.0), "3,600 + 29·60 + 25.5 s");
        assert_eq!(read_comment("[%eval #-5]", Color::White).centipawns, Some(9 - 32000));
        assert_eq!(read_comment("[%eval #5,23]", Color::Black).centipawns, Some(9 - 32000));
        assert!(read_comment(" book ", Color::White).is_book && !played.is_book);
        assert_eq!(read_comment("[%clk 12]", Color::White).clock_ms, Some(12_000.0));
    }

    #[test]
    fn nonsense_says_nothing() {
        let nothing = read_comment("", Color::White);
        for text in
            ["[%clk -1:00]", "[%clk x]", "[%eval nan-]", "[%clk", "[%eval #99999999999]", "[%emt 0:nan]"]
        {
            assert_eq!(read_comment(text, Color::White), nothing, "{text}");
        }
        assert!(read_comment("[%eval #-2147483648]", Color::White).centipawns.is_some());
    }
}
