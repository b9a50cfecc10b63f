//! Splits PGN into tokens. Every byte of the text belongs to one, or is white space, a byte order mark, or a
//! line that `%` escapes.

use std::io::{self, BufReader, Read};

use super::tags;
use zeitnot_engine::files::{Lines, decode, is_blank};

/// The longest comment, and the longest line that is kept in one piece, bytes.
const LONGEST: usize = 1 << 16;
/// Brackets that belong to a move.
const OF_MOVES: &str = "(Q) (R) (B) (N) (q) (r) (b) (n) (ep) (e.p.)";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A tag, or a line that begins like one and cannot be read.
    Tag(&'t str),
    /// A move, a number, a result, a mark, or none of these.
    Word(&'t str),
    /// What stands between `{` and `}`, or behind `;`.
    Comment(&'t str),
    /// A brace that does not belong there, or a comment that may have swallowed moves: the number behind it
    /// tells.
    Brace(&'t str),
    Open,
    Close,
    /// An empty line outside comments.
    EmptyLine,
    /// What no game can have.
    Fault(&'static str),
}

/// In bounded memory.
pub(super) struct Tokens<'a> {
    lines: Lines<BufReader<Box<dyn Read + Send + 'a>>>,
    /// The line at hand, or a piece of a long one.
    line: String,
    /// False if the line goes on behind it.
    is_whole: bool,
    /// The word that the next piece begins with.
    behind_piece: Vec<u8>,
    at: usize,
    last: usize,
    /// True where a `[` begins a tag: at the start of a line, behind a tag and behind a game.
    pub(super) may_be_tag: bool,
    comment: String,
    /// The reason why the text ends before its time.
    pub(super) error: Option<io::Error>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: Box<dyn Read + Send + 'a>) -> Tokens<'a> {
        Tokens {
            lines: Lines::new(BufReader::with_capacity(LONGEST, source)),
            line: String::new(),
            is_whole: true,
            behind_piece: Vec::new(),
            at: 0,
            last: 0,
            may_be_tag: false,
            comment: String::new(),
            error: None,
        }
    }

    /// Gives the last token, a tag or a word, back to the next game.
    pub(super) fn give_back(&mut self) {
        self.at = self.last;
        self.may_be_tag = true;
    }

    /// The next token, or `None` at the end of the text.
    pub(super) fn next(&mut self) -> Option<Token<'_>> {
        while self.at == self.line.len() {
            if !self.next_line() {
                return None;
            }
            if self.line.is_empty() && self.may_be_tag {
                return Some(Token::EmptyLine);
            }
            if self.may_be_tag && self.line.starts_with('%') {
                self.skip_line();
            }
        }
        let may_be_tag = std::mem::take(&mut self.may_be_tag);
        self.last = self.at;
        let line = &self.line[self.at..];
        let first = line.as_bytes()[0];
        let length = match first {
            b'{' => return Some(self.comment()),
            b';' => {
                line[1..].clone_into(&mut self.comment);
                self.skip_line();
                return Some(Token::Comment(&self.comment));
            }
            b'[' if may_be_tag => {
                self.may_be_tag = true;
                tags::read(line).length
            }
            b'(' | b')' | b'}' | b'*' => 1,
            _ => tags::result_at(line).map_or_else(|| word_length(line), |(_, length)| length),
        };
        self.go_behind(self.at + length);
        let text = &self.line[self.last..self.last + length];
        Some(match first {
            b'[' if may_be_tag => Token::Tag(text),
            b'(' => Token::Open,
            b')' => Token::Close,
            b'}' => Token::Brace(""),
            _ => {
                // A file that was cut off within a word.
                self.may_be_tag |=
                    self.line[self.at..].starts_with('[') && tags::cut_at(&self.line[self.at..]) == Some(0);
                Token::Word(text)
            }
        })
    }

    fn comment(&mut self) -> Token<'_> {
        self.comment.clear();
        self.at += 1;
        loop {
            let text = &self.line[self.at..];
            let end = self.end_of_comment(text);
            // A comment without end would swallow the next game's tags. People name tags behind a blank.
            let is_cut = |cut: &usize| {
                end.is_none_or(|end| *cut < end)
                    && !text[..*cut].trim_end_matches(is_blank).is_empty()
                    && !text[..*cut].ends_with(is_blank)
            };
            if let Some(cut) = tags::cut_at(text).filter(is_cut) {
                self.at += cut;
                self.may_be_tag = true;
                return Token::Fault("a comment has no end");
            }
            if self.comment.len() <= LONGEST {
                self.comment += &text[..end.unwrap_or(text.len())];
                self.comment.push('\n');
            }
            if let Some(end) = end {
                self.go_behind(self.at + end + 1);
                // It may be closed twice.
                while self.line[self.at..].starts_with('}') {
                    self.go_behind(self.at + 1);
                }
                self.comment = self.comment.replace("\\{", "(").replace("\\}", ")");
                return whole_comment(&self.comment);
            }
            let is_behind_empty = self.line.is_empty();
            let has_another_line = self.next_line();
            let tag = tags::read(&self.line);
            let is_tag = self.may_be_tag && tag.is_closed && tag.length == self.line.len();
            let begins_game = is_tag && (is_behind_empty || tag.name == tags::FIRST);
            if !has_another_line || begins_game {
                return Token::Fault("a comment has no end");
            }
        }
    }

    /// Where a comment ends in `text`: at the first `}`, unless both braces were escaped, or the first closes
    /// another `{` of the comment, and the next one the comment.
    fn end_of_comment(&self, text: &str) -> Option<usize> {
        let mut ends = text.match_indices('}').map(|(at, _)| at);
        let has = |brace: &str, end: usize| self.comment.contains(brace) || text[..end].contains(brace);
        let is_escaped = |end: usize| text[..end].ends_with('\\') && has("\\{", end);
        let end = ends.by_ref().find(|&end| !is_escaped(end))?;
        match ends.next() {
            Some(next) if has("{", end) && !text[end..next].contains('{') => Some(next),
            _ => Some(end),
        }
    }

    /// Goes to the next token of the line, from `at` on.
    fn go_behind(&mut self, at: usize) {
        self.at = self.line.len() - self.line[at..].trim_start_matches(is_blank).len();
    }

    fn skip_line(&mut self) {
        while !self.is_whole && self.next_line() {}
        self.at = self.line.len();
    }

    /// Goes to the next line, or piece of a long one. Returns false at the end.
    fn next_line(&mut self) -> bool {
        self.may_be_tag = self.is_whole;
        self.line.clear();
        self.at = 0;
        let mut bytes = std::mem::take(&mut self.behind_piece);
        let mut read = None;
        // Nothing is read behind an error.
        if self.error.is_none() {
            match self.lines.read(&mut bytes, LONGEST) {
                Ok(is_whole) => read = is_whole,
                Err(error) => self.error = Some(error),
            }
        }
        if read.is_none() && bytes.is_empty() {
            return false;
        }
        self.is_whole = read.unwrap_or(true);
        if !self.is_whole
            && let Some(space) = bytes.iter().rposition(|byte| *byte == b' ')
        {
            self.behind_piece = bytes.split_off(space.max(1));
        }
        self.line += decode(&bytes).trim_matches(is_blank);
        true
    }
}

/// A comment without end swallows the next one, and one with braces may end too late. Moves, which have
/// digits or zeros, would be missed.
fn whole_comment(text: &str) -> Token<'_> {
    let before = text.rsplit_once('{').map_or("", |(before, _)| before);
    let behind = text.split_once('}').map_or("", |(_, behind)| behind);
    let may_be_move = |c: char| c.is_ascii_digit() || "*O".contains(c);
    if text.len() > LONGEST {
        Token::Fault("a comment is longer than 65536 bytes")
    } else if before.contains(may_be_move) || behind.contains(may_be_move) {
        Token::Brace(text)
    } else {
        Token::Comment(text)
    }
}

/// The length of the word at the start of a line.
fn word_length(line: &str) -> usize {
    let mut chars = line.chars();
    let mut at = chars.next().map_or(0, char::len_utf8);
    while let Some(next) = line[at..].chars().next() {
        let rest = &line[at..];
        if let Some(bracket) = OF_MOVES.split(' ').find(|bracket| rest.starts_with(bracket)) {
            at += bracket.len();
        } else if is_blank(next) || "{}();*".contains(next) || next == '[' && tags::cut_at(rest) == Some(0) {
            break;
        } else {
            at += next.len_utf8();
        }
    }
    at
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MoveNumber {
    pub(super) value: u32,
    /// True if several dots stand behind it.
    pub(super) is_blacks: bool,
}

/// The number of a move, with its dots or without, and what is written behind it.
pub(super) fn split_number(text: &str) -> (Option<MoveNumber>, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = text.split_at(digits);
    let rest = behind.trim_start_matches(['.', '…']);
    let is_castling = number == "0" && behind.starts_with(['-', '–']);
    // 0000 is a null move.
    let is_move = is_castling || text == "0000";
    match number.parse() {
        Ok(value) if !is_move => {
            let is_blacks = behind.len() - rest.len() > 1;
            (Some(MoveNumber { value, is_blacks }), rest)
        }
        _ if digits == 0 => (None, rest),
        _ => (None, text),
    }
}
