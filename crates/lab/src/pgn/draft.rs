//! A game that is being read: takes one token after the other and plays the moves.
//!
//! Every word of the main line is a move, a number, a result or a mark, or it breaks the game. Moves behind
//! it are not played, so that no game is read as another one.

use super::comments::{Commands, one_line};
use super::control::settle_time;
use super::tags::{self, NEITHER_SCORES, Tags, result_of};
use super::tokens::Token;
use super::{RecordedGame, RecordedMove};
use zeitnot_engine::chess::{Position, Variant, is_en_passant_sign, is_mark, is_null_move};

/// Begins the figures in comments and variations of an analysis.
const OWN_FIGURES: &str = "wdl=";
/// Letters that people write behind moves: novelty, editorial comment, diagram.
const LETTERS: [&str; 3] = ["N", "RR", "D"];
/// Begins a note.
const UNKNOWN_MARK: &str = "a mark that is not known is passed over:";
/// The longest text in a message, letters.
const LONGEST_QUOTE: usize = 40;

/// What became of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It belongs to the game.
    Inside,
    /// It is the last one of the game.
    Last,
    /// It is the first one of the next game.
    Next,
}

pub(super) struct Draft {
    pub(super) game: RecordedGame,
    has_movetext: bool,
    commands: Commands,
    /// Variations that are open.
    depth: u32,
    /// What has been read of them.
    variation: String,
    /// The first problem.
    fault: Option<String>,
    /// The result that follows the moves.
    result: Option<&'static str>,
    /// The last number of a move.
    number: Option<u32>,
    /// The numbers that are written may be higher by this than those of the position: by none, but where a
    /// FEN gives them.
    shift: Option<i64>,
    is_behind_number: bool,
    is_behind_empty_line: bool,
    /// Set if the last word is `0-0`, castling or the result: whether it stands behind a number.
    zeros: Option<bool>,
}

impl Draft {
    pub(super) fn new(number: u64) -> Draft {
        Draft {
            game: RecordedGame {
                number,
                tags: Tags::default(),
                controls: [None, None],
                time_forms: Vec::new(),
                notes: Vec::new(),
                start: Position::start(),
                variant: Variant::Standard,
                comments: Vec::new(),
                moves: Vec::new(),
                end: Position::start(),
                has_result: false,
            },
            has_movetext: false,
            commands: Commands::default(),
            depth: 0,
            variation: String::new(),
            fault: None,
            result: None,
            number: None,
            shift: None,
            is_behind_number: false,
            is_behind_empty_line: false,
            zeros: None,
        }
    }

    /// Says whether nothing of a game has been read.
    pub(super) fn is_empty(&self) -> bool {
        self.game.tags.first().is_none() && !self.has_movetext && self.fault.is_none()
    }

    pub(super) fn take(&mut self, token: Token<'_>) -> Taken {
        match token {
            Token::Tag(text) => return self.take_tag(text),
            Token::Word(word) if self.depth > 0 => self.add_to_variation(word),
            Token::Word(word) => return self.take_word(word),
            Token::Comment(text) if self.depth > 0 => {
                self.add_to_variation(&format!("{{{}}}", one_line(text)));
            }
            Token::Comment(text) => self.take_comment(text),
            Token::Open => self.open_variation(),
            // As in `1) e4`.
            Token::Close if self.depth == 0 && self.is_behind_number => {}
            Token::Close if self.depth == 0 => self.break_off("a ) stands without its (".into()),
            Token::Close => self.close_variation(),
            Token::EmptyLine => self.is_behind_empty_line |= self.depth == 0,
            Token::Fault(text) => self.break_off(text.into()),
        }
        Taken::Inside
    }

    /// Returns the game, or the problem with it. `is_last` says that the text ends here.
    pub(super) fn finish(mut self, is_last: bool) -> Result<RecordedGame, String> {
        if self.depth > 0 {
            self.break_off("a variation has no end".into());
        }
        self.begin_movetext();
        self.settle_zeros();
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut game = self.game;
        game.notes.extend(game.tags.settle_result(self.result));
        self.commands.settle_evals(&mut game.moves, &mut game.notes);
        settle_time(&mut game, self.commands.has_short_clocks && !self.commands.has_long_clocks);
        game.time_forms = self.commands.time_forms;
        // Some files hide the result behind a `;`: where another game follows, nothing was cut off and the
        // tag is to be trusted.
        game.has_result = game.tags.result().is_some() && (self.result.is_some() || !is_last);
        if game.tags.annotators().1 {
            for played in &mut game.moves {
                played.comments.retain(|comment| !comment.starts_with(OWN_FIGURES));
                played.variations.retain(|variation| !variation.contains(OWN_FIGURES));
            }
        }
        Ok(game)
    }

    fn break_off(&mut self, reason: String) {
        self.fault.get_or_insert(reason);
    }

    fn take_tag(&mut self, text: &str) -> Taken {
        let read = tags::read(text);
        let tags = &self.game.tags;
        let is_next = read.as_ref().is_some_and(|tag| match self.is_behind_empty_line {
            false => tags.first() == Some(tag.name),
            true => tags.first().is_some() && (tag.name == tags::FIRST || tags.get(tag.name).is_some()),
        });
        if is_next || self.has_movetext {
            return Taken::Next;
        }
        // A variation or a comment in front of the tags was prose.
        self.depth = 0;
        self.variation.clear();
        if tags.first().is_none() {
            self.game.comments.clear();
        }
        self.is_behind_empty_line = false;
        match read {
            Some(tag) => self.game.tags.push(tag.name, tag.value),
            None => self.break_off(format!("the tag {} cannot be read", quoted(text))),
        }
        Taken::Inside
    }

    fn take_comment(&mut self, text: &str) {
        if self.game.moves.is_empty() {
            self.game.comments.extend(Some(one_line(text)).filter(|text| !text.is_empty()));
        } else {
            self.commands.apply(text, !self.game.end.turn(), &mut self.game.moves);
        }
    }

    fn add_to_variation(&mut self, text: &str) {
        if !self.variation.is_empty() && !self.variation.ends_with('(') && text != ")" {
            self.variation.push(' ');
        }
        self.variation += text;
    }

    fn open_variation(&mut self) {
        if self.depth > 0 {
            self.add_to_variation("(");
        }
        self.zeros = None;
        self.depth += 1;
    }

    fn close_variation(&mut self) {
        self.depth -= 1;
        if self.depth > 0 {
            return self.add_to_variation(")");
        }
        let text = std::mem::take(&mut self.variation);
        if let Some(played) = self.game.moves.last_mut().filter(|_| !text.is_empty()) {
            played.variations.push(text);
        }
    }

    fn take_word(&mut self, text: &str) -> Taken {
        let is_written_out = text.starts_with(|c: char| c.is_ascii_alphabetic());
        if LETTERS.contains(&text) || !is_written_out && (is_mark(text) || self.is_unknown_mark(text)) {
            self.zeros = None;
            return Taken::Inside;
        }
        let result = result_of(text);
        let (number, rest) = if result.is_some() { (None, text) } else { split_number(text) };
        if result.is_none() && self.begins_another_game(number) {
            return Taken::Next;
        }
        self.begin_movetext();
        self.is_behind_empty_line = false;
        let may_be_result = result == Some(NEITHER_SCORES) && self.fault.is_none();
        self.zeros = may_be_result.then_some(self.is_behind_number);
        if result.is_some_and(|result| result != NEITHER_SCORES) {
            self.result = result;
            return Taken::Last;
        }
        if let Some(number) = number {
            self.take_number(number.value);
        }
        if !rest.is_empty() {
            self.take_move(rest);
        }
        Taken::Inside
    }

    /// Whether a word can only be a mark. The first one of a game is told.
    fn is_unknown_mark(&mut self, text: &str) -> bool {
        let is_sign = |c: char| !c.is_alphanumeric() && !"*{}[].…".contains(c);
        let is_mark = text.chars().all(is_sign) && !is_null_move(text);
        if is_mark && !self.game.notes.iter().any(|note| note.starts_with(UNKNOWN_MARK)) {
            self.game.notes.push(format!("{UNKNOWN_MARK} {}", quoted(text)));
        }
        is_mark
    }

    /// Says whether a word begins another game, where no tag and no result stands between the two: without
    /// tags, the number 1 does, and behind an empty line numbers tell it.
    fn begins_another_game(&mut self, number: Option<MoveNumber>) -> bool {
        let has_begun = self.has_movetext && (!self.game.moves.is_empty() || self.fault.is_some());
        let is_first = matches!(number, Some(MoveNumber { value: 1, is_blacks: false }));
        let is_behind_first = self.number == Some(1) && self.game.end.turn().is_black();
        if is_first && self.game.tags.first().is_none() && has_begun && !is_behind_first {
            return true;
        }
        if !self.is_behind_empty_line || !has_begun {
            return false;
        }
        let is_whites = self.game.end.turn().is_white() || self.fault.is_some();
        match (number, self.number) {
            // `1...` goes on behind `1. e4`.
            (Some(MoveNumber { value: 1, is_blacks }), Some(1)) => is_whites || !is_blacks,
            (Some(MoveNumber { value: 1, .. }), _) => true,
            (Some(_), _) => false,
            (None, None) => is_whites,
            (None, Some(_)) => {
                if is_whites && !self.is_behind_number {
                    self.break_off("an empty line stands within the moves, and no number behind it".into());
                }
                false
            }
        }
    }

    fn begin_movetext(&mut self) {
        if std::mem::replace(&mut self.has_movetext, true) {
            return;
        }
        match self.game.tags.start() {
            Ok((variant, start)) => {
                (self.game.variant, self.game.end) = (variant, start.clone());
                self.game.start = start;
            }
            Err(problem) => self.break_off(problem),
        }
        self.shift = self.game.tags.get("FEN").is_none().then_some(0);
    }

    /// Decides what the last word means if that is `0-0`. As a result it is taken back.
    fn settle_zeros(&mut self) {
        let Some(is_behind_number) = self.zeros else { return };
        let is_legal = self.fault.is_none();
        let is_result = match self.game.tags.written_result() {
            Some(NEITHER_SCORES) => !(is_legal && is_behind_number),
            Some("*") | None => !(is_behind_number || is_legal && self.game.tags.first().is_none()),
            Some(_) => !is_behind_number && !is_legal,
        };
        if !is_result {
            return;
        }
        self.fault = None;
        self.result = Some(NEITHER_SCORES);
        if is_legal {
            self.game.end = self.before_last();
            let last = self.game.moves.pop().map(|last| last.comments).unwrap_or_default();
            let before = self.game.moves.last_mut();
            before.map_or(&mut self.game.comments, |last| &mut last.comments).extend(last);
        }
    }

    fn take_move(&mut self, text: &str) {
        if self.fault.is_some() {
            return;
        }
        self.is_behind_number = false;
        let position = &self.game.end;
        match position.read_move(text) {
            Ok(played) => {
                self.game.end = position.play(played);
                self.game.moves.push(RecordedMove::new(played));
            }
            Err(_) if is_en_passant_sign(text) && self.ends_en_passant() => {}
            Err(_) => {
                // Of garbage the beginning is enough.
                let error = position.read_move(&shown(text));
                let error = error.map_or_else(|error| error.to_string(), |_| quoted(text));
                self.break_off(format!("ply {}: {error}", self.game.moves.len() + 1));
            }
        }
    }

    /// Takes the number of a move. If it is too high, a move before it is missing. One that is too low is a
    /// slip of the pen.
    fn take_number(&mut self, number: u32) {
        self.number = Some(number);
        self.is_behind_number = true;
        let shift = i64::from(number) - i64::from(self.game.end.game_ply() / 2 + 1);
        let most = *self.shift.get_or_insert(shift);
        if shift > most {
            let (ply, due) = (self.game.moves.len() + 1, i64::from(number) - shift + most);
            self.break_off(format!("ply {ply}: the number {number} stands where move {due} is due"));
        }
    }

    /// The position before the last move.
    fn before_last(&self) -> Position {
        let before = &self.game.moves[..self.game.moves.len().saturating_sub(1)];
        before.iter().fold(self.game.start.clone(), |position, played| position.play(played.r#move))
    }

    fn ends_en_passant(&self) -> bool {
        self.game.moves.last().is_some_and(|last| self.before_last().is_en_passant(last.r#move))
    }
}

#[derive(Clone, Copy, Debug)]
struct MoveNumber {
    value: u32,
    /// True if several dots stand behind it.
    is_blacks: bool,
}

/// Returns the number of a move, with its dots or without, and what is written behind it.
fn split_number(text: &str) -> (Option<MoveNumber>, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = text.split_at(digits);
    let rest = behind.trim_start_matches(['.', '…']);
    let is_castling = number == "0" && behind.starts_with(['-', '–']);
    match number.parse() {
        // 0000 is a null move.
        Ok(value) if !is_castling && text != "0000" => {
            (Some(MoveNumber { value, is_blacks: behind.len() - rest.len() > 1 }), rest)
        }
        _ if digits == 0 => (None, rest),
        _ => (None, text),
    }
}

/// Returns the beginning of `text`, without control characters.
fn shown(text: &str) -> String {
    text.chars()
        .take(LONGEST_QUOTE)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text))
}
