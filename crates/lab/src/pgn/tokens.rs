//! Splits PGN into tokens: tags, words, comments, brackets and empty lines. Every byte of the text belongs to
//! one of them, or is white space, a byte order mark, or a line that `%` escapes.

use std::io::{self, BufReader, Read};

use super::tags;
use zeitnot_engine::files::{Lines, is_blank, trimmed};

/// The longest comment, and the longest line that is kept in one piece, bytes.
const LONGEST: usize = 1 << 16;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A tag, or a line that begins like one and cannot be read.
    Tag(&'t [u8]),
    /// A move, a number, a result, a mark, or what is none of these.
    Word(&'t [u8]),
    /// What stands between `{` and `}`, or behind `;`.
    Comment(&'t [u8]),
    /// `(`
    Open,
    /// `)`
    Close,
    /// An empty line outside comments.
    EmptyLine,
    /// What no game can have. The text goes on behind it.
    Fault(&'static str),
}

/// The tokens of a text of any size, in bounded memory.
pub(super) struct Tokens<'a> {
    lines: Lines<BufReader<Box<dyn Read + Send + 'a>>>,
    /// The line at hand, or a piece of a long one.
    line: Vec<u8>,
    /// False if the line goes on behind it.
    is_whole: bool,
    /// The word that the next piece begins with.
    behind_piece: Vec<u8>,
    /// Where the next token begins.
    at: usize,
    /// Where the last token began.
    last: usize,
    /// True at the start of a line, behind a tag and behind a game: a `[` begins a tag there.
    may_be_tag: bool,
    comment: Vec<u8>,
    /// The reason why the text ends before its time.
    error: Option<io::Error>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: Box<dyn Read + Send + 'a>) -> Tokens<'a> {
        Tokens {
            lines: Lines::new(BufReader::with_capacity(LONGEST, source)),
            line: Vec::new(),
            is_whole: true,
            behind_piece: Vec::new(),
            at: 0,
            last: 0,
            may_be_tag: false,
            comment: Vec::new(),
            error: None,
        }
    }

    /// Takes the reason why the text has ended before its time.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Gives the last token, a tag or a word, back: it is the first one of the next game.
    pub(super) fn give_back(&mut self) {
        self.at = self.last;
        self.may_be_tag = true;
    }

    /// Says that a game has ended: what follows on the same line may be a tag.
    pub(super) fn end_game(&mut self) {
        self.may_be_tag = true;
    }

    /// Returns the next token, or `None` at the end of the text.
    pub(super) fn next(&mut self) -> Option<Token<'_>> {
        while self.at == self.line.len() {
            if !self.next_line() {
                return None;
            }
            if self.line.is_empty() && self.may_be_tag {
                return Some(Token::EmptyLine);
            }
            if self.may_be_tag && self.line[self.at] == b'%' {
                self.skip_line();
            }
        }
        let may_be_tag = std::mem::take(&mut self.may_be_tag);
        self.last = self.at;
        let line = &self.line[self.at..];
        let length = match line[0] {
            b'{' => return Some(self.comment()),
            b'[' if may_be_tag => {
                self.may_be_tag = true;
                tags::length(line).unwrap_or(line.len())
            }
            b'(' | b')' | b'}' | b'*' => 1,
            _ => result_length(line).unwrap_or_else(|| word_length(line)),
        };
        if line[0] == b';' {
            self.comment.clear();
            self.comment.extend_from_slice(&line[1..]);
            self.skip_line();
            return Some(Token::Comment(&self.comment));
        }
        self.go_behind(self.at + length);
        let text = &self.line[self.last..self.last + length];
        Some(match text[0] {
            b'[' if may_be_tag => Token::Tag(text),
            b'(' => Token::Open,
            b')' => Token::Close,
            b'}' => Token::Fault("a } stands without its {"),
            _ => Token::Word(text),
        })
    }

    /// Reads the comment that begins here.
    fn comment(&mut self) -> Token<'_> {
        self.comment.clear();
        self.at += 1;
        let begin = self.at;
        // Most comments end on their line.
        if let Some(length) = self.line[begin..].iter().position(|&byte| byte == b'}') {
            self.go_behind(begin + length + 1);
            return whole_comment(&self.line[begin..begin + length]);
        }
        let (mut is_too_long, mut is_behind_empty) = (false, false);
        loop {
            let text = &self.line[self.at..];
            let end = text.iter().position(|&byte| byte == b'}');
            let text = &text[..end.unwrap_or(text.len())];
            is_too_long |= self.comment.len() + text.len() > LONGEST;
            if !is_too_long {
                self.comment.extend_from_slice(text);
                self.comment.push(b'\n');
            }
            if let Some(end) = end {
                self.go_behind(self.at + end + 1);
                return match is_too_long {
                    true => Token::Fault("a comment is longer than 65536 bytes"),
                    false => whole_comment(&self.comment),
                };
            }
            is_behind_empty = self.line.is_empty() || !self.is_whole && is_behind_empty;
            self.at = self.line.len();
            if !self.next_line() {
                return Token::Fault("a comment has no end");
            }
            // A comment without end would swallow the tags of the next game.
            let line = &self.line[..];
            let tag = tags::read(line).filter(|_| self.may_be_tag && tags::length(line) == Some(line.len()));
            if tag.is_some_and(|(name, _)| is_behind_empty || name == tags::FIRST) {
                return Token::Fault("a comment has no end");
            }
        }
    }

    /// Goes to the next token of the line, from `at` on.
    fn go_behind(&mut self, at: usize) {
        let space = self.line[at..].iter().take_while(|byte| is_blank(**byte)).count();
        self.at = at + space;
    }

    /// Leaves out what remains of the line, without a change of what has been read of it.
    fn skip_line(&mut self) {
        self.at = self.line.len();
        if !self.is_whole {
            // Lines of this length hold no game.
            while !self.is_whole && self.next_line() {}
            self.at = self.line.len();
        }
    }

    /// Goes to the next line, or the next piece of a long one. Returns false at the end of the text.
    fn next_line(&mut self) -> bool {
        self.may_be_tag = self.is_whole;
        self.line.clear();
        self.at = 0;
        self.line.append(&mut self.behind_piece);
        self.is_whole = match self.lines.read(&mut self.line, LONGEST) {
            Ok(None) if self.line.is_empty() => return false,
            Ok(is_whole) => is_whole.unwrap_or(true),
            Err(error) => {
                self.error = Some(error);
                if self.line.is_empty() {
                    return false;
                }
                true
            }
        };
        if let Some(space) = self.line.iter().rposition(|byte| is_blank(*byte)).filter(|_| !self.is_whole) {
            self.behind_piece = self.line.split_off(space.max(1));
        }
        let text = trimmed(&self.line);
        self.at = text.as_ptr().addr() - self.line.as_ptr().addr();
        let end = self.at + text.len();
        self.line.truncate(if self.at == end { 0 } else { end });
        self.at = self.at.min(self.line.len());
        true
    }
}

/// A comment without end goes on to the end of the next one. What it swallows would be missed, and moves have
/// digits or zeros.
fn whole_comment(text: &[u8]) -> Token<'_> {
    let inner = text.iter().rposition(|&byte| byte == b'{');
    let is_prose = |byte: &u8| !byte.is_ascii_digit() && !b"*O".contains(byte);
    match inner.is_none_or(|inner| text[..inner].iter().all(is_prose)) {
        true => Token::Comment(text),
        false => Token::Fault("a { stands within a comment"),
    }
}

fn result_length(line: &[u8]) -> Option<usize> {
    const LONGEST_RESULT: usize = 24;
    // `½` begins with 0xc2.
    matches!(line[0], b'0' | b'1' | 0xc2).then_some(())?;
    let start = &line[..line.len().min(LONGEST_RESULT)];
    Some(tags::result_at(start.utf8_chunks().next()?.valid())?.1)
}

/// Returns the length of the word at the start of a line. A bracket ends it, unless it belongs to a move:
/// `b8(Q)`, `exd6(ep)`.
fn word_length(line: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'{' | b'}' | b')' | b';' | b'*' => break,
            b'(' => match &line[at + 1..] {
                [b'Q' | b'R' | b'B' | b'N' | b'q' | b'r' | b'b' | b'n', b')', ..] => at += 2,
                [b'e', b'p', b')', ..] => at += 3,
                [b'e', b'.', b'p', b'.', b')', ..] => at += 5,
                _ => break,
            },
            _ if is_blank(byte) => break,
            _ => {}
        }
        at += 1;
    }
    at
}
