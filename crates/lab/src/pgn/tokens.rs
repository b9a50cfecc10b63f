//! Splits PGN into tokens: tags, words, comments, brackets and empty lines. Every byte of the text belongs to
//! one of them, or is white space, a byte order mark, or a line that `%` escapes.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use super::tags;

/// The longest comment, and the longest line that is kept in one piece, bytes.
const LONGEST: usize = 1 << 16;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
    source: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// The line at hand, or a piece of a long one, in `buffer`. Without white space around it.
    line: Range<usize>,
    /// What lies from here on in `buffer` is behind that line.
    rest: usize,
    /// False if the line goes on in `rest`.
    is_whole: bool,
    /// Where the next token begins.
    at: usize,
    /// Where the last token began.
    last: usize,
    /// True at the start of a line, behind a tag and behind a game: a `[` begins a tag there.
    may_be_tag: bool,
    comment: Vec<u8>,
    is_at_end: bool,
    /// The reason why the text ends before its time.
    error: Option<io::Error>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: Box<dyn Read + Send + 'a>) -> Tokens<'a> {
        Tokens {
            source,
            buffer: Vec::new(),
            line: 0..0,
            rest: 0,
            is_whole: true,
            at: 0,
            last: 0,
            may_be_tag: false,
            comment: Vec::new(),
            is_at_end: false,
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
        while self.at == self.line.end {
            if !self.next_line() {
                return None;
            }
            if self.line.is_empty() && self.may_be_tag {
                return Some(Token::EmptyLine);
            }
            if self.may_be_tag && self.buffer[self.at] == b'%' {
                self.skip_line();
            }
        }
        let may_be_tag = std::mem::take(&mut self.may_be_tag);
        self.last = self.at;
        let line = &self.buffer[self.at..self.line.end];
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
        let text = &self.buffer[self.last..self.last + length];
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
        if let Some(length) = self.buffer[begin..self.line.end].iter().position(|&byte| byte == b'}') {
            self.go_behind(begin + length + 1);
            return whole_comment(&self.buffer[begin..begin + length]);
        }
        let (mut is_too_long, mut is_behind_empty) = (false, false);
        loop {
            let text = &self.buffer[self.at..self.line.end];
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
            self.at = self.line.end;
            if !self.next_line() {
                return Token::Fault("a comment has no end");
            }
            // A comment without end would swallow the tags of the next game.
            let line = &self.buffer[self.line.clone()];
            let tag = tags::read(line).filter(|_| self.may_be_tag && tags::length(line) == Some(line.len()));
            if tag.is_some_and(|(name, _)| is_behind_empty || name == tags::FIRST) {
                return Token::Fault("a comment has no end");
            }
        }
    }

    /// Goes to the next token of the line, from `at` on.
    fn go_behind(&mut self, at: usize) {
        let space = self.buffer[at..self.line.end].iter().take_while(|byte| is_space(**byte)).count();
        self.at = at + space;
    }

    /// Leaves out what remains of the line, without a change of what has been read of it.
    fn skip_line(&mut self) {
        self.at = self.line.end;
        if !self.is_whole {
            // Lines of this length hold no game.
            while !self.is_whole && self.next_line() {}
            self.at = self.line.end;
        }
    }

    /// Goes to the next line, or the next piece of a long one. Returns false at the end of the text.
    fn next_line(&mut self) -> bool {
        self.may_be_tag = self.is_whole;
        let mut searched = self.rest;
        let end = loop {
            let found = self.buffer[searched..].iter().position(|&byte| byte == b'\n' || byte == b'\r');
            match found.map(|place| searched + place) {
                // An LF may follow the CR.
                Some(end) if end + 1 < self.buffer.len() || self.buffer[end] == b'\n' || self.is_at_end => {
                    self.is_whole = true;
                    break end;
                }
                None if self.is_at_end || self.buffer.len() - self.rest >= LONGEST => {
                    if self.rest == self.buffer.len() {
                        return false;
                    }
                    let piece = &self.buffer[self.rest..];
                    let space = piece.iter().rposition(|byte| is_space(*byte)).filter(|_| !self.is_at_end);
                    self.is_whole = self.is_at_end;
                    break space.map_or(self.buffer.len(), |space| self.rest + space.max(1));
                }
                _ => searched = self.read(),
            }
        };
        let mut line = self.rest..end;
        self.rest = end;
        if self.is_whole && end < self.buffer.len() {
            let is_pair = self.buffer[end..].starts_with(b"\r\n");
            self.rest += 1 + usize::from(is_pair);
        }
        loop {
            let text = &self.buffer[line.clone()];
            match text.first() {
                Some(&byte) if is_space(byte) => line.start += 1,
                Some(_) if text.starts_with(BYTE_ORDER_MARK) => line.start += BYTE_ORDER_MARK.len(),
                _ => break,
            }
        }
        let text = &self.buffer[line.clone()];
        line.end -= text.iter().rev().take_while(|byte| is_space(**byte)).count();
        self.at = line.start;
        self.line = line;
        true
    }

    /// Reads more of the text, and forgets what lies before `rest`. Returns the end of what was there before.
    fn read(&mut self) -> usize {
        self.buffer.drain(..self.rest);
        self.rest = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + CHUNK, 0);
        let read = loop {
            match self.source.read(&mut self.buffer[before..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    break 0;
                }
                Ok(read) => break read,
            }
        };
        self.is_at_end = read == 0;
        self.buffer.truncate(before + read);
        // A CR at the end has been found, but not what follows it.
        before - usize::from(before > 0)
    }
}

/// A comment without end goes on to the end of the next one. What it swallows would be missed.
fn whole_comment(text: &[u8]) -> Token<'_> {
    match text.contains(&b'{') {
        true => Token::Fault("a { stands within a comment"),
        false => Token::Comment(text),
    }
}

fn is_space(byte: u8) -> bool {
    // Old systems end a file with 0x1a.
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | 0x1a)
}

/// Returns the length of the result at the start of a line, if there is one.
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
            _ if is_space(byte) => break,
            _ => {}
        }
        at += 1;
    }
    at
}
