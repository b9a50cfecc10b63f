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
use zeitnot_engine::files::decode;

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
    pub(super) tags: Tags,
    /// Empty lines behind the last tag.
    empty_tag_lines: u32,
    movetext: Option<Movetext>,
    /// Comments before the first move.
    comments: Vec<String>,
    /// Variations that are open.
    depth: u32,
    /// What has been read of them.
    variation: String,
    /// The first problem.
    fault: Option<String>,
    /// What people should know.
    notes: Vec<String>,
}

struct Movetext {
    start: Position,
    variant: Variant,
    position: Position,
    moves: Vec<RecordedMove>,
    commands: Commands,
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
    pub(super) fn new() -> Draft {
        Draft {
            tags: Tags::default(),
            empty_tag_lines: 0,
            movetext: None,
            comments: Vec::new(),
            depth: 0,
            variation: String::new(),
            fault: None,
            notes: Vec::new(),
        }
    }

    /// Says whether nothing of a game has been read.
    pub(super) fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.movetext.is_none() && self.fault.is_none()
    }

    pub(super) fn take(&mut self, token: Token<'_>) -> Taken {
        match token {
            Token::Tag(text) => return self.take_tag(text),
            Token::Word(word) if self.depth > 0 => self.add_to_variation(&one_line(&decode(word))),
            Token::Word(word) => return self.take_word(word),
            Token::Comment(text) if self.depth > 0 => {
                self.add_to_variation(&format!("{{{}}}", one_line(&decode(text))));
            }
            Token::Comment(text) => self.take_comment(&decode(text)),
            Token::Open => self.open_variation(),
            // As in `1) e4`.
            Token::Close if self.depth == 0 && self.is_behind_number() => {}
            Token::Close if self.depth == 0 => self.break_off("a ) stands without its (".into()),
            Token::Close => self.close_variation(),
            Token::EmptyLine if self.depth > 0 => {}
            Token::EmptyLine => match &mut self.movetext {
                Some(movetext) => movetext.is_behind_empty_line = true,
                None => self.empty_tag_lines += 1,
            },
            Token::Fault(text) => self.break_off(text.into()),
        }
        Taken::Inside
    }

    /// Returns the game, or the problem with it. `is_last` says that the text ends here.
    pub(super) fn finish(mut self, number: u64, is_last: bool) -> Result<RecordedGame, String> {
        if self.depth > 0 {
            self.break_off("a variation has no end".into());
        }
        self.begin_movetext();
        self.settle_zeros();
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let Some(movetext) = self.movetext else { return Err("it has no moves".into()) };
        let Movetext { start, variant, position, mut moves, result, commands, .. } = movetext;
        let (mut tags, comments, mut notes) = (self.tags, self.comments, self.notes);
        notes.extend(tags.settle_result(result));
        commands.settle_evals(&mut moves, &mut notes);
        let controls = settle_time(&tags, &start, &mut moves, commands.are_clocks_short(), &mut notes);
        // Some files hide the result behind a `;`: where another game follows, nothing was cut off and the
        // tag is to be trusted.
        let has_result = tags.result().is_some() && (result.is_some() || !is_last);
        if tags.annotators().1 {
            for played in &mut moves {
                played.comments.retain(|comment| !comment.starts_with(OWN_FIGURES));
                played.variations.retain(|variation| !variation.contains(OWN_FIGURES));
            }
        }
        let end = position;
        Ok(RecordedGame { number, tags, controls, notes, start, variant, comments, moves, end, has_result })
    }

    fn break_off(&mut self, reason: String) {
        self.fault.get_or_insert(reason);
    }

    fn take_tag(&mut self, text: &[u8]) -> Taken {
        let read = tags::read(text);
        if self.movetext.is_some() {
            return Taken::Next;
        }
        if let Some((name, _)) = read {
            let is_next = match self.empty_tag_lines {
                0 => self.tags.begin_with(name),
                _ => name == tags::FIRST || self.tags.get(name).is_some(),
            };
            if is_next && !self.tags.is_empty() {
                return Taken::Next;
            }
        }
        // A variation or a comment in front of the tags was prose.
        self.depth = 0;
        self.variation.clear();
        if self.tags.is_empty() {
            self.comments.clear();
        }
        self.empty_tag_lines = 0;
        match read {
            Some((name, value)) => self.tags.push(name, decode(&value)),
            None => self.break_off(format!("the tag {} cannot be read", quoted(&decode(text)))),
        }
        Taken::Inside
    }

    fn take_comment(&mut self, text: &str) {
        match self.movetext.as_mut().filter(|movetext| !movetext.moves.is_empty()) {
            Some(movetext) => movetext.commands.apply(text, !movetext.position.turn(), &mut movetext.moves),
            None => self.comments.extend(Some(one_line(text)).filter(|text| !text.is_empty())),
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
        } else if let Some(movetext) = &mut self.movetext {
            movetext.zeros = None;
        }
        self.depth += 1;
    }

    fn close_variation(&mut self) {
        self.depth -= 1;
        if self.depth > 0 {
            return self.add_to_variation(")");
        }
        let text = std::mem::take(&mut self.variation);
        if let Some(played) = self.movetext.as_mut().and_then(|movetext| movetext.moves.last_mut())
            && !text.is_empty()
        {
            played.variations.push(text);
        }
    }

    fn take_word(&mut self, word: &[u8]) -> Taken {
        let text = decode(word);
        if text.is_ascii() {
            return self.take_text(&text);
        }
        // Spaces of Unicode may stand between moves.
        let mut taken = Taken::Inside;
        for part in text.split(|c: char| c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}') {
            if taken == Taken::Last && !part.is_empty() {
                self.break_off(format!("{} follows the result", quoted(part)));
            } else if !part.is_empty() {
                taken = self.take_text(part);
            }
            if taken == Taken::Next {
                break;
            }
        }
        taken
    }

    fn take_text(&mut self, text: &str) -> Taken {
        let is_written_out = text.starts_with(|c: char| c.is_ascii_alphabetic());
        let may_be_mark = !is_written_out || LETTERS.contains(&text);
        if may_be_mark && (LETTERS.contains(&text) || is_mark(text) || self.is_unknown_mark(text)) {
            if let Some(movetext) = &mut self.movetext {
                movetext.zeros = None;
            }
            return Taken::Inside;
        }
        let result = if is_written_out { None } else { result_of(text) };
        let (number, rest) = if result.is_some() { (None, text) } else { split_number(text) };
        if result.is_none() && self.begins_another_game(number) {
            return Taken::Next;
        }
        self.begin_movetext();
        if let Some(movetext) = &mut self.movetext {
            movetext.is_behind_empty_line = false;
            let may_be_result = result == Some(NEITHER_SCORES) && self.fault.is_none();
            movetext.zeros = may_be_result.then_some(movetext.is_behind_number);
            if result.is_some_and(|result| result != NEITHER_SCORES) {
                movetext.result = result;
                return Taken::Last;
            }
            if let Some(problem) = number.and_then(|number| movetext.take_number(number.value)) {
                self.break_off(problem);
            }
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
        if is_mark && !self.notes.iter().any(|note| note.starts_with(UNKNOWN_MARK)) {
            self.notes.push(format!("{UNKNOWN_MARK} {}", quoted(text)));
        }
        is_mark
    }

    fn is_behind_number(&self) -> bool {
        self.movetext.as_ref().is_some_and(|movetext| movetext.is_behind_number)
    }

    /// Says whether a word begins another game, where no tag and no result stands between the two: without
    /// tags, the number 1 does, and behind an empty line numbers tell it.
    fn begins_another_game(&mut self, number: Option<MoveNumber>) -> bool {
        let Some(movetext) = &self.movetext else { return false };
        let has_begun = !movetext.moves.is_empty() || self.fault.is_some();
        let is_first = matches!(number, Some(MoveNumber { value: 1, is_blacks: false }));
        let is_behind_first = movetext.number == Some(1) && movetext.position.turn().is_black();
        if is_first && self.tags.is_empty() && has_begun && !is_behind_first {
            return true;
        }
        if !movetext.is_behind_empty_line || !has_begun {
            return false;
        }
        let is_whites = movetext.position.turn().is_white() || self.fault.is_some();
        match (number, movetext.number) {
            // `1...` goes on behind `1. e4`.
            (Some(MoveNumber { value: 1, is_blacks }), Some(1)) => is_whites || !is_blacks,
            (Some(MoveNumber { value: 1, .. }), _) => true,
            (Some(_), _) => false,
            (None, None) => is_whites,
            (None, Some(_)) => {
                if is_whites && !movetext.is_behind_number {
                    self.break_off("an empty line stands within the moves, and no number behind it".into());
                }
                false
            }
        }
    }

    fn begin_movetext(&mut self) {
        if self.movetext.is_some() {
            return;
        }
        let (variant, start) = self.tags.start().unwrap_or_else(|problem| {
            self.break_off(problem);
            (Variant::Standard, Position::start())
        });
        self.movetext = Some(Movetext {
            position: start.clone(),
            shift: self.tags.get("FEN").is_none().then_some(0),
            start,
            variant,
            moves: Vec::new(),
            commands: Commands::default(),
            result: None,
            number: None,
            is_behind_number: false,
            is_behind_empty_line: false,
            zeros: None,
        });
    }

    /// Decides what the last word means if that is `0-0`. As a result it is taken back.
    fn settle_zeros(&mut self) {
        let Some(movetext) = &mut self.movetext else { return };
        let Some(is_behind_number) = movetext.zeros.take() else { return };
        let is_legal = self.fault.is_none();
        let is_result = match self.tags.written_result() {
            Some(NEITHER_SCORES) => !(is_legal && is_behind_number),
            Some("*") | None => !(is_behind_number || is_legal && self.tags.is_empty()),
            Some(_) => !is_behind_number && !is_legal,
        };
        if !is_result {
            return;
        }
        self.fault = None;
        movetext.result = Some(NEITHER_SCORES);
        if is_legal {
            movetext.position = movetext.before_last();
            let last = movetext.moves.pop().map(|last| last.comments).unwrap_or_default();
            let comments = movetext.moves.last_mut().map_or(&mut self.comments, |last| &mut last.comments);
            comments.extend(last);
        }
    }

    fn take_move(&mut self, text: &str) {
        let Some(movetext) = self.movetext.as_mut().filter(|_| self.fault.is_none()) else { return };
        movetext.is_behind_number = false;
        match movetext.position.read_move(text) {
            Ok(played) => {
                movetext.position = movetext.position.play(played);
                movetext.moves.push(RecordedMove::new(played));
            }
            Err(_) if is_en_passant_sign(text) && movetext.ends_en_passant() => {}
            Err(_) => {
                // Of garbage the beginning is enough.
                let error = movetext
                    .position
                    .read_move(&shown(text))
                    .map_or_else(|error| error.to_string(), |_| quoted(text));
                self.fault = Some(format!("ply {}: {error}", movetext.moves.len() + 1));
            }
        }
    }
}

impl Movetext {
    /// Takes the number of a move. Returns the problem with it: if it is too high, a move before it is
    /// missing. One that is too low is a slip of the pen.
    fn take_number(&mut self, number: u32) -> Option<String> {
        self.number = Some(number);
        self.is_behind_number = true;
        let shift = i64::from(number) - i64::from(self.position.game_ply() / 2 + 1);
        let due = *self.shift.get_or_insert(shift);
        (shift > due).then(|| {
            let (ply, due) = (self.moves.len() + 1, i64::from(number) - shift + due);
            format!("ply {ply}: the number {number} stands where move {due} is due")
        })
    }

    /// The position before the last move.
    fn before_last(&self) -> Position {
        let before = &self.moves[..self.moves.len().saturating_sub(1)];
        before.iter().fold(self.start.clone(), |position, played| position.play(played.r#move))
    }

    fn ends_en_passant(&self) -> bool {
        self.moves.last().is_some_and(|last| self.before_last().is_en_passant(last.r#move))
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
