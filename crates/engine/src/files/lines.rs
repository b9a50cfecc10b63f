//! The lines of a text, whatever ends them and however they are encoded.

use std::borrow::Cow;
use std::io::{self, BufRead};

use thiserror::Error;

/// The longest line that is read, bytes.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// Invisible at the start of a text, or of a text within a joined file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';
/// What Windows-1252 has at 0x80 to 0x9f, where Latin-1 has control characters.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// Returns the text of `bytes`: UTF-8, or else Latin-1, which the standard of PGN prescribes, with the
/// letters that Windows adds to it.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let letter = |byte: u8| match byte {
        0x80..=0x9f => {
            WINDOWS_1252.chars().nth(usize::from(byte - 0x80)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::from(byte),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| letter(byte)).collect()),
    }
}

/// The reason why a line is not there.
#[derive(Debug, Error)]
pub enum LineError {
    /// Those behind it can be read.
    #[error("line {0}: longer than {MAX_LINE} bytes")]
    TooLong(u64),
    /// The last one.
    #[error("{0}")]
    Read(#[from] io::Error),
}

/// The lines of a text with their numbers, from 1. They end with LF, CRLF or CR, and come without their end
/// and without a byte order mark. No more is read than the line needs, so that whoever asks may wait for the
/// answer before sending the next.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    number: u64,
    /// True if an LF would belong to the line before.
    is_behind_cr: bool,
    has_failed: bool,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Lines<R> {
        Lines { input, number: 0, is_behind_cr: false, has_failed: false }
    }

    /// Returns the input, which begins behind the last line.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Reads the bytes up to the next end of line, or `None` at the end of the input. Of a line that is too
    /// long the rest is lost.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut is_begun = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if std::mem::take(&mut self.is_behind_cr) && bytes.first() == Some(&b'\n') {
                self.input.consume(1);
                continue;
            }
            if bytes.is_empty() {
                return Ok(is_begun.then_some(line));
            }
            is_begun = true;
            let end = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            line.extend(&part[..part.len().min(MAX_LINE + 1 - line.len())]);
            let used = part.len() + usize::from(end.is_some());
            let Some(end) = end else {
                self.input.consume(used);
                continue;
            };
            let (is_cr, next) = (bytes[end] == b'\r', bytes.get(used));
            self.is_behind_cr = is_cr && next.is_none();
            let is_pair = is_cr && next == Some(&b'\n');
            self.input.consume(used + usize::from(is_pair));
            return Ok(Some(line));
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<(u64, String), LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let line = match self.read() {
            Ok(line) => line?,
            Err(error) => {
                self.has_failed = true;
                return Some(Err(error.into()));
            }
        };
        self.number += 1;
        if line.len() > MAX_LINE {
            return Some(Err(LineError::TooLong(self.number)));
        }
        Some(Ok((self.number, decode(&line).trim_start_matches(BYTE_ORDER_MARK).to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    fn lines(bytes: &[u8], capacity: usize) -> Vec<String> {
        let lines = Lines::new(BufReader::with_capacity(capacity, bytes));
        lines.map(|line| line.unwrap()).map(|(number, text)| format!("{number} {text}")).collect()
    }

    #[test]
    fn every_end_of_line_ends_one() {
        for capacity in [1, 2, 3, 100] {
            for text in ["a\n\nb\n", "a\r\n\r\nb\r\n", "a\r\rb\r", "a\r\n\nb", "\u{feff}a\n\n\u{feff}b"] {
                assert_eq!(lines(text.as_bytes(), capacity), ["1 a", "2 ", "3 b"], "{text:?}");
            }
        }
        assert_eq!(lines(b"", 10), [""; 0]);
    }

    #[test]
    fn old_encodings_come_out_whole() {
        assert_eq!(lines(b"J\xe1n \x8aimek\nJ\xc3\xa1n", 10), ["1 Ján Šimek", "2 Ján"]);
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_no_other_line() {
        let text = io::repeat(b'x').take(3 * MAX_LINE as u64).chain(&b"\nb\n"[..]);
        let mut lines = Lines::new(BufReader::new(text));
        assert_eq!(lines.next().unwrap().unwrap_err().to_string(), "line 1: longer than 1048576 bytes");
        assert_eq!(lines.next().unwrap().unwrap(), (2, "b".to_owned()));
        assert!(lines.next().is_none());
    }

    /// Whoever sends a line with CR waits for its answer before sending more.
    #[test]
    fn nothing_is_read_beyond_the_line() {
        struct Panics;
        impl Read for Panics {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("read beyond the line")
            }
        }
        let mut lines = Lines::new(BufReader::new((&b"a\r"[..]).chain(Panics)));
        assert_eq!(lines.next().unwrap().unwrap().1, "a");
    }
}
