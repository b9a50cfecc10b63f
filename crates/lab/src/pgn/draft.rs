//! A game that is being read: plays the moves of one token after the other.
//!
//! Every word of the main line is a move, a number, a result or a mark, or it breaks the game. Moves behind
//! it are not played, so that no game is read as another one.

use super::comments::{Commands, one_line};
use super::control::settle_time;
use super::tags::{self, NEITHER_SCORES, Tags, result_of};
use super::tokens::{MoveNumber, Token, split_number};
use super::variation::Variation;
use super::{RecordedGame, RecordedMove, marks};
use itertools::Itertools;
use zeitnot_engine::chess::{Position, Variant, is_en_passant_sign, is_null_move};

/// Begins the figures of an analysis.
const OWN_FIGURES: &str = "wdl=";
/// Behind our figures, the marks of people.
pub(crate) const MARKS_OF_PEOPLE: &str = "marks=";
/// Most plies of a game. The rules allow 17,697.
const MOST_PLIES: usize = 20_000;
/// Most bytes of tags, comments and variations that are kept of a game.
const MOST_TEXT: usize = 16 << 20;
const MOST_TAGS: usize = 1000;
/// Where a DGT board's operator puts the kings to say who has won.
const CENTRE: [&str; 4] = ["d4", "e4", "d5", "e5"];
const UNKNOWN_MARK: &str = "a mark that is not known is passed over:";
const LONGEST_QUOTE: usize = 40;
const BRACE: &str = "a { stands within a comment, or a } without its {";

#[derive(Debug)]
pub(super) enum Taken {
    Inside,
    Last,
    Next,
}

/// What has been read last of a game, but for comments and marks.
#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    /// A tag, or nothing.
    #[default]
    Tags,
    /// The number of a move.
    Number,
    /// A move, or a word that is none.
    Move,
    /// `0-0`, castling or the result.
    Zeros { is_behind_number: bool },
    /// The result, behind which only comments may follow.
    Over(&'static str),
}

#[derive(Default)]
pub(super) struct Draft {
    pub(super) game: RecordedGame,
    /// A header before the tags, which may be of a game that was cut off.
    header_before: Option<Tags>,
    place: Place,
    /// Whether an empty line stands between the tags and the moves.
    is_apart: bool,
    begins_with_number: bool,
    commands: Commands,
    variation: Option<Variation>,
    fault: Option<String>,
    /// The problem with kings in the centre, if they are all.
    kings: Option<String>,
    /// Set if a brace stands where none should: the next number must be due, and no result counts that a
    /// comment may have swallowed.
    has_brace: bool,
    before: Position,
    /// Bytes that have been kept.
    text: usize,
    number: Option<u32>,
    /// The numbers that are written may be higher by this than those of the position, if a FEN gives them.
    shift: Option<i64>,
    is_behind_empty_line: bool,
}

impl Draft {
    pub(super) fn new(number: u64) -> Draft {
        Draft {
            game: RecordedGame {
                number,
                ..RecordedGame::default()
            },
            ..Draft::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let has_tags = self.game.tags.first().is_some() || self.header_before.is_some();
        !has_tags && self.place == Place::Tags && self.fault.is_none()
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.place, Place::Over(_))
    }

    pub(super) fn take(&mut self, token: Token<'_>) -> Taken {
        if let Token::Tag(text) | Token::Word(text) | Token::Comment(text) | Token::Brace(text) = token {
            self.text += text.len();
        }
        if self.text > MOST_TEXT || self.game.tags.iter().nth(MOST_TAGS).is_some() {
            self.drop_all(format!(
                "it has more than {} MB of text, or {MOST_TAGS} tags",
                MOST_TEXT >> 20
            ));
        }
        let is_over = self.is_over();
        match (token, &mut self.variation) {
            (Token::Tag(text), _) => return self.take_tag(text),
            (Token::EmptyLine, _) if is_over => return Taken::Last,
            (Token::Word(text), None) if is_over => return self.take_word_behind(text),
            (Token::Word(word), Some(variation)) => variation.take_word(word),
            (Token::Word(word), None) => return self.take_word(word),
            (Token::Comment(text) | Token::Brace(text), Some(variation)) => {
                variation.take_comment(&one_line(text))
            }
            (Token::Comment(text), None) => self.take_comment(text),
            (Token::Brace(text), None) => {
                self.has_brace = true;
                self.take_comment(text);
            }
            (Token::Open, Some(variation)) => variation.open(),
            (Token::Open, None) => {
                self.take_zeros_for_castling();
                let start = (!self.game.moves.is_empty()).then(|| self.before.clone());
                self.variation = Some(Variation::new(start));
            }
            (Token::Close, Some(variation)) => {
                if variation.close() {
                    self.end_variation();
                }
            }
            // As in `1) e4`.
            (Token::Close, None) if self.place == Place::Number => {}
            (Token::Close, None) => self.break_off("a ) stands without its (".into()),
            (Token::EmptyLine, None) => self.is_behind_empty_line = true,
            (Token::EmptyLine, Some(_)) => {}
            (Token::Fault(text), _) => self.break_off(text.into()),
        }
        Taken::Inside
    }

    /// Breaks off. A game without end needs no memory.
    fn drop_all(&mut self, reason: String) {
        self.break_off(reason);
        self.game = RecordedGame {
            number: self.game.number,
            variant: self.game.variant,
            start: self.game.start.clone(),
            end: self.game.end.clone(),
            ..RecordedGame::default()
        };
        self.header_before = None;
        if self.variation.is_some() {
            self.variation = Some(Variation::new(None));
        }
        self.text = 0;
    }

    /// `is_last` says that the text ends here.
    pub(super) fn finish(mut self, is_last: bool) -> Result<RecordedGame, String> {
        if self.variation.is_some() {
            self.break_off("a variation has no end".into());
        }
        if self.has_brace && !self.is_over() {
            self.break_off(BRACE.into());
        }
        self.begin_movetext();
        self.settle_zeros();
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let result = match self.place {
            Place::Over(result) => Some(result),
            _ => None,
        };
        let mut game = self.game;
        if let Some(kings) = self.kings {
            game.notes.push(format!(
                "the last steps of its kings are a board's sign of the result, and no moves ({kings})"
            ));
        }
        game.notes.extend(game.tags.settle_result(result));
        self.commands.settle_evals(&mut game.moves, &mut game.notes);
        game.time_forms = self.commands.time_forms;
        settle_time(
            &mut game,
            self.commands.has_short_clocks && !self.commands.has_long_clocks,
        );
        // Some files hide the result behind a `;`: where another game follows, the tag is to be trusted.
        game.has_result = game.tags.result().is_some() && (result.is_some() || !is_last);
        if game.tags.annotators().1 {
            game.moves.iter_mut().for_each(forget_analysis);
        }
        Ok(game)
    }

    fn break_off(&mut self, reason: String) {
        self.fault.get_or_insert(reason);
    }

    fn take_tag(&mut self, text: &str) -> Taken {
        let tag = tags::read(text);
        let known = self.game.tags.get(tag.name).map(str::to_owned);
        let is_within_prose = self.is_prose() && !self.is_apart && known.is_none();
        if self.place != Place::Tags && !is_within_prose {
            return Taken::Next;
        }
        self.forget_prose();
        let is_apart = std::mem::take(&mut self.is_behind_empty_line);
        // One that is repeated begins no game.
        let begins = tag.name == tags::FIRST;
        if is_apart && known.is_some() && (begins || known != tag.value) {
            return Taken::Next;
        }
        // A variation or a comment in front of the tags was prose.
        self.variation = None;
        let first = self.game.tags.first();
        if first.is_none() {
            self.game.comments.clear();
        } else if known.is_some() && (begins || first == Some(tag.name)) {
            self.begin_header();
        }
        match &tag.value {
            Some(value) if tag.is_closed => self.set_tag(tag.name, value),
            Some(value) => {
                let name = tag.name;
                self.note(format!("its tag {name} has no end, and is read as {value:?}"));
                self.set_tag(name, value);
            }
            None => self.note(format!("a tag that cannot be read is left out: {}", quoted(text))),
        }
        if !tag.is_closed {
            self.begin_header();
        }
        Taken::Inside
    }

    fn note(&mut self, text: String) {
        self.game.notes.push(text);
    }

    /// Whether only words without moves have been read.
    fn is_prose(&self) -> bool {
        self.fault.is_some() && self.game.moves.is_empty() && self.game.tags.first().is_some()
    }

    fn forget_prose(&mut self) {
        if self.place != Place::Tags {
            self.place = Place::Tags;
            self.fault = None;
            self.number = None;
            self.note("the words before its moves are passed over".into());
        }
    }

    /// Takes the tags for what may be the header of a game that was cut off.
    fn begin_header(&mut self) {
        self.settle_header();
        self.header_before = Some(std::mem::take(&mut self.game.tags));
    }

    /// The header before is that of another game if its tags come again.
    fn settle_header(&mut self) {
        let Some(before) = self.header_before.take() else {
            return;
        };
        let tags = std::mem::take(&mut self.game.tags);
        let shared = tags.iter().filter(|(name, _)| before.get(name).is_some());
        if shared.count() > 1 {
            self.note(format!(
                "the header of another game{} stands before its own, and is left out",
                before.players()
            ));
            self.game.tags = tags;
            return;
        }
        self.game.tags = before;
        for (name, value) in tags.iter() {
            self.set_tag(name, value);
        }
    }

    fn set_tag(&mut self, name: &str, value: &str) {
        if self.game.tags.set(name, value) {
            self.note(format!("its tag {name} stands twice: the last counts"));
        }
    }

    fn take_comment(&mut self, text: &str) {
        let is_of_kings = self.kings.is_some() && !self.is_over();
        if is_of_kings || self.fault.is_some() {
            return;
        }
        if !self.game.moves.is_empty() {
            self.commands
                .apply(text, !self.game.end.turn(), &mut self.game.moves);
            return;
        }
        let text = one_line(text);
        if !text.is_empty() {
            self.game.comments.push(text);
        }
    }

    fn end_variation(&mut self) {
        let variation = self.variation.take();
        let Some(variation) = variation.filter(|_| self.fault.is_none()) else {
            return;
        };
        match (variation.finish(), self.game.moves.last_mut()) {
            (Ok(text), Some(last)) if !text.is_empty() => last.variations.push(text),
            (Ok(_), _) => {}
            (Err(text), Some(last)) => last.comments.push(text),
            (Err(text), None) => self.game.comments.push(text),
        }
    }

    /// Takes a word behind the result, which begins the next game if it can.
    fn take_word_behind(&mut self, text: &str) -> Taken {
        if split_number(text).0.is_some() || result_of(text).is_some() {
            return Taken::Next;
        }
        self.note(format!(
            "what follows its result is passed over: {}",
            quoted(text)
        ));
        Taken::Inside
    }

    fn take_word(&mut self, text: &str) -> Taken {
        let (core, marks) = marks::behind(text);
        if core.is_empty() || self.is_unknown_mark(text) {
            if let Some(last) = self.game.moves.last_mut() {
                last.marks.extend(marks);
            }
            self.take_zeros_for_castling();
            return Taken::Inside;
        }
        let result = result_of(text);
        let (number, rest) = if result.is_some() {
            (None, text)
        } else {
            split_number(text)
        };
        if self.is_prose() && self.is_behind_empty_line && !self.begins_with_number && number.is_some() {
            self.forget_prose();
        } else if result.is_none() && self.begins_another_game(number) {
            return Taken::Next;
        }
        if self.place == Place::Tags {
            self.begins_with_number = number.is_some();
        }
        self.begin_movetext();
        self.is_behind_empty_line = false;
        if std::mem::take(&mut self.has_brace) && !self.is_due(number) {
            self.break_off(BRACE.into());
        }
        let is_behind_number = self.place == Place::Number;
        self.place = match result {
            Some(NEITHER_SCORES) if self.fault.is_none() => Place::Zeros { is_behind_number },
            Some(NEITHER_SCORES) | None => Place::Move,
            Some(result) => Place::Over(result),
        };
        if !self.is_over() {
            self.take_numbered(number, rest);
        }
        Taken::Inside
    }

    fn take_numbered(&mut self, number: Option<MoveNumber>, rest: &str) {
        if let Some(number) = number {
            self.take_number(number.value);
        }
        if !rest.is_empty() {
            if number.is_some() {
                self.place = Place::Move;
            }
            self.take_move(rest);
        }
    }

    /// Behind `0-0` stands what belongs to a move.
    fn take_zeros_for_castling(&mut self) {
        if let Place::Zeros { .. } = self.place {
            self.place = Place::Move;
        }
    }

    /// Whether a word can only be a mark. The first one of a game is told.
    fn is_unknown_mark(&mut self, text: &str) -> bool {
        let is_sign = |c: char| !c.is_alphanumeric() && !"*{}[].…".contains(c);
        let is_mark = text.starts_with('$') || text.chars().all(is_sign) && !is_null_move(text);
        if is_mark && !self.game.notes.iter().any(|note| note.starts_with(UNKNOWN_MARK)) {
            self.note(format!("{UNKNOWN_MARK} {}", quoted(text)));
        }
        is_mark
    }

    /// Whether a word begins another game, where no tag and no result stands between the two: without tags,
    /// the number 1 does, and behind an empty line other numbers.
    fn begins_another_game(&mut self, number: Option<MoveNumber>) -> bool {
        if self.place == Place::Tags || self.game.moves.is_empty() && self.fault.is_none() {
            return false;
        }
        let is_white = self.game.end.turn().is_white();
        let is_first = number.is_some_and(|number| number.value == 1 && !number.is_blacks);
        let is_behind_first = self.number == Some(0) || self.number == Some(1) && !is_white;
        if is_first && self.game.tags.first().is_none() && !is_behind_first {
            return true;
        }
        if !self.is_behind_empty_line {
            return false;
        }
        let is_whites = is_white || self.fault.is_some();
        match (number, self.number) {
            // `1...` goes on behind `1. e4`.
            (Some(MoveNumber { value: 1, is_blacks }), Some(1)) => is_whites || !is_blacks,
            (Some(MoveNumber { value: 1, .. }), _) => true,
            (Some(_), _) => false,
            (None, None) => is_whites,
            (None, Some(_)) => {
                if is_whites && self.place != Place::Number {
                    self.break_off("an empty line stands within the moves, and no number behind it".into());
                }
                false
            }
        }
    }

    fn begin_movetext(&mut self) {
        if self.place != Place::Tags {
            return;
        }
        self.place = Place::Move;
        self.settle_header();
        self.is_apart = self.is_behind_empty_line;
        match self.game.tags.start() {
            Ok((mut variant, start)) => {
                if variant == Variant::Standard && start.is_of_chess960() {
                    variant = Variant::Chess960;
                    self.note("its position is one of Chess960, whose rules count".into());
                }
                self.game.tags.settle_variant(variant);
                self.game.variant = variant;
                // As all programs read it.
                if self.game.tags.get("FEN").is_some() {
                    self.game.tags.set("FEN", start.to_fen());
                }
                self.game.end = start.clone();
                self.game.start = start;
            }
            Err(problem) => self.break_off(problem),
        }
        self.shift = self.game.tags.get("FEN").is_none().then_some(0);
    }

    /// Decides what a last word `0-0` means. As a result it is taken back.
    fn settle_zeros(&mut self) {
        let Place::Zeros { is_behind_number } = self.place else {
            return;
        };
        let is_legal = self.fault.is_none();
        let is_castling = match self.game.tags.get("Result").and_then(result_of) {
            Some(NEITHER_SCORES) => is_legal && is_behind_number,
            Some("*") | None => is_behind_number || is_legal && self.game.tags.first().is_none(),
            Some(_) => is_legal || is_behind_number,
        };
        if is_castling {
            return;
        }
        self.fault = None;
        self.place = Place::Over(NEITHER_SCORES);
        if is_legal && let Some(castling) = self.game.moves.pop() {
            self.game.end = self.before.clone();
            match self.game.moves.last_mut() {
                Some(last) => last.comments.extend(castling.comments),
                None => self.game.comments.extend(castling.comments),
            }
        }
    }

    fn take_move(&mut self, text: &str) {
        if self.fault.is_some() {
            return;
        }
        let position = &self.game.end;
        let is_of_king = text.strip_prefix('K').is_some_and(|to| CENTRE.contains(&to));
        match position.read_move(text) {
            Ok(_) if self.kings.is_some() => {}
            Ok(_) if self.game.moves.len() == MOST_PLIES => {
                return self.drop_all(format!("it has more than {MOST_PLIES} plies"));
            }
            Ok(played) => {
                let next = position.play(played);
                self.before = std::mem::replace(&mut self.game.end, next);
                self.game.moves.push(RecordedMove {
                    marks: marks::behind(text).1,
                    ..RecordedMove::new(played)
                });
                return;
            }
            Err(_) if is_en_passant_sign(text) && self.ends_en_passant() => return,
            Err(_) if is_of_king && self.kings.is_some() => return,
            Err(_) => {}
        }
        if let Some((first, second)) = self.glued(text) {
            self.take_move(first);
            let (number, rest) = split_number(second);
            return self.take_numbered(number, rest);
        }
        // Of garbage the beginning is enough.
        let error = match position.read_move(&shown(text)) {
            Ok(_) => quoted(text),
            Err(error) => error.to_string(),
        };
        let error = format!("ply {}: {error}", self.game.moves.len() + 1);
        match self.kings.take() {
            None if is_of_king => self.kings = Some(error),
            before => self.break_off(before.unwrap_or(error)),
        }
    }

    /// A move and the next number or move without a blank between them, if the text can be read as no others.
    fn glued<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        if text.len() > LONGEST_QUOTE || self.kings.is_some() {
            return None;
        }
        let are_read = |(first, second): &(&str, &str)| {
            let Ok(first) = self.game.end.read_move(first) else {
                return false;
            };
            let after = self.game.end.play(first);
            match split_number(second) {
                (Some(number), "") => i64::from(number.value) == self.due(&after),
                (_, rest) => after.read_move(rest).is_ok(),
            }
        };
        let pairs = text.char_indices().skip(2).map(|(at, _)| text.split_at(at));
        pairs.filter(are_read).exactly_one().ok()
    }

    /// The number that belongs to the next move of a position.
    fn due(&self, position: &Position) -> i64 {
        i64::from(position.game_ply() / 2 + 1) + self.shift.unwrap_or_default()
    }

    fn is_due(&self, number: Option<MoveNumber>) -> bool {
        let end = &self.game.end;
        number.is_some_and(|MoveNumber { value, is_blacks }| {
            i64::from(value) == self.due(end) && is_blacks == end.turn().is_black()
        })
    }

    /// Takes the number of a move. Too high, a move is missing. Too low, it is a slip of the pen.
    fn take_number(&mut self, number: u32) {
        self.number = Some(number);
        self.place = Place::Number;
        let number = i64::from(number);
        let own = i64::from(self.game.end.game_ply() / 2 + 1);
        self.shift.get_or_insert(number - own);
        let due = self.due(&self.game.end);
        // The position's own number is right, whatever came before.
        if number > due && number != own && self.kings.is_none() {
            let ply = self.game.moves.len() + 1;
            self.break_off(format!(
                "ply {ply}: the number {number} stands where move {due} is due"
            ));
        }
    }

    fn ends_en_passant(&self) -> bool {
        let last = self.game.moves.last();
        last.is_some_and(|last| self.before.is_en_passant(last.r#move))
    }
}

/// Leaves out what an earlier analysis of ours has added.
fn forget_analysis(played: &mut RecordedMove) {
    let is_own = |comment: &mut String| comment.starts_with(OWN_FIGURES);
    let own: String = played.comments.extract_if(.., is_own).collect();
    let theirs = own.split(' ').find_map(|word| word.strip_prefix(MARKS_OF_PEOPLE));
    played.marks = theirs
        .unwrap_or_default()
        .split(',')
        .flat_map(str::parse)
        .collect();
    played
        .variations
        .retain(|variation| !variation.contains(OWN_FIGURES));
}

/// The beginning of `text`, without control characters.
fn shown(text: &str) -> String {
    let beginning: String = text.chars().take(LONGEST_QUOTE).collect();
    beginning.replace(char::is_control, "\u{fffd}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text))
}
