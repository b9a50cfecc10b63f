//! Reads games one after the other.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::Path;

use pgn_reader::{Outcome, RawComment, RawTag, Reader, SanPlus, Visitor};

use super::{GameError, RESULT, RecordedGame, RecordedMove, Tags, comment};
use crate::chess::{Color, Position, Variant};
use crate::lab::compressed;

/// Longer tag lines and comments than any real file has; they bound the memory.
const LONGEST_LINE: usize = 1 << 16;

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
    reader: Reader<Box<dyn Read + Send + 'a>>,
    number: u64,
    /// True if the parser could not read the last game.
    stumbled: bool,
    ended: bool,
}

impl<'a> Games<'a> {
    /// Reads the games of a file, plain or compressed by gzip, Zstandard or bzip2; `-` is stdin.
    ///
    /// # Errors
    /// [`GameError::Read`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<Games<'static>, GameError> {
        let name = path.display().to_string();
        match compressed::open(path) {
            Ok(text) => Ok(Games::new(name, text)),
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
        match compressed::inflate(bytes) {
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
        Games { name: name.into(), reader, number: 0, stumbled: false, ended: false }
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
        tags.push(String::from_utf8_lossy(name).into_owned(), value.decode_utf8_lossy().into_owned());
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
        let played = match movetext.position.parse_san(&san.san.to_string()) {
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
            comment::apply(&String::from_utf8_lossy(comment.as_bytes()), movetext.mover, played);
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
            movetext.tags.push(RESULT.into(), outcome.to_string());
        }
        Ok(movetext)
    }
}

#[cfg(test)]
mod tests {
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
    fn the_result_behind_the_moves_stands_for_a_missing_tag() {
        for (text, result) in [
            ("1. e4 e5 1-0\n", Some("1-0")),
            ("[Event \"e\"]\n\n1. e4 e5 1/2-1/2\n", Some("1/2-1/2")),
            ("[Result \"*\"]\n\n1. e4 e5 0-1\n", Some("*")),
            ("1. e4 e5 *\n", None),
            ("1. e4 e5\n", None),
        ] {
            assert_eq!(read(text)[0].as_ref().unwrap().tags.get("Result"), result, "{text}");
        }
    }

    #[test]
    fn unfinished_games_are_known() {
        for (text, has_result) in [
            ("1. e4 e5 1-0\n", true),
            ("[Result \"1-0\"]\n\n1. e4 e5\n1-0\n", true),
            ("1. e4 e5 *\n", false),
            ("1. e4 e5\n", false),
            ("[Result \"*\"]\n\n1. e4 e5 1-0\n", false),
            ("[Result \"0-1\"]\n\n1. e4 e5 2. N", false),
            ("[Result \"0-1\"]\n\n1. e4 e5 ; 0-1\n\n[Result \"*\"]\n\n*\n", true),
        ] {
            assert_eq!(read(text)[0].as_ref().unwrap().has_result, has_result, "{text}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let fault = Games::open(Path::new("no/such.pgn")).unwrap_err().to_string();
        assert!(fault.starts_with("no/such.pgn: "), "{fault}");
    }
}
