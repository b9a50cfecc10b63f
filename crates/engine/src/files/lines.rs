//! The lines of a text, whatever ends them and however they are encoded.

use std::borrow::Cow;
#[cfg(unix)]
use std::ffi::OsString;
use std::io::{self, BufRead};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;

use thiserror::Error;

/// The longest line that is read, bytes.
const MAX_LINE: usize = 1 << 20;
/// What Windows-1252 has at 0x80 to 0x9f, where Latin-1 has control characters.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// The text of `bytes`: UTF-8, and what is none as Latin-1, which the standard of PGN prescribes,
/// with the letters that Windows adds to it.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let windows = |byte: u8| WINDOWS_1252.chars().nth(usize::from(byte.checked_sub(0x80)?));
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text += chunk.valid();
        text.extend(chunk.invalid().iter().map(|&byte| windows(byte).unwrap_or(char::from(byte))));
    }
    Cow::Owned(text)
}

/// The path that `text` names. On Unix names are bytes of any encoding: text that names nothing is tried as
/// the bytes of which [`decode`] has made it.
pub fn path_of(text: &str) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        let byte = |letter: char| match WINDOWS_1252.chars().zip(0x80..).find(|&(known, _)| known == letter) {
            Some((_, byte)) => Some(byte),
            None => u8::try_from(u32::from(letter)).ok(),
        };
        let raw = || text.chars().map(byte).collect::<Option<Vec<u8>>>().map(OsString::from_vec);
        let is_there = |path: &PathBuf| path.exists();
        if let Some(raw) = (!Path::new(text).exists()).then(raw).flatten().map(PathBuf::from).filter(is_there)
        {
            return raw;
        }
    }
    text.into()
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
/// and without blanks around them. No more is read than the line needs, so that whoever asks may wait for the
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

    /// The input, which begins behind the last line.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Adds the bytes up to the next end of line to `line`, or to `most` bytes. Returns whether the line ends
    /// there, or `None` at the end of the input.
    pub fn read(&mut self, line: &mut Vec<u8>, most: usize) -> io::Result<Option<bool>> {
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
                return Ok(is_begun.then_some(true));
            }
            is_begun = true;
            let end = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let length = end.unwrap_or(bytes.len());
            let taken = length.min(most.saturating_sub(line.len()));
            line.extend(&bytes[..taken]);
            match end.filter(|_| taken == length) {
                Some(end) => {
                    let (is_cr, next) = (bytes[end] == b'\r', bytes.get(end + 1));
                    self.is_behind_cr = is_cr && next.is_none();
                    let is_pair = is_cr && next == Some(&b'\n');
                    self.input.consume(end + 1 + usize::from(is_pair));
                    return Ok(Some(true));
                }
                None => self.input.consume(taken),
            }
            if line.len() >= most {
                return Ok(Some(false));
            }
        }
    }

    /// Reads a line without what is around it. Of one that is too long the rest is lost.
    fn read_trimmed(&mut self) -> Result<Option<String>, LineError> {
        let mut line = Vec::new();
        let Some(mut is_whole) = self.read(&mut line, MAX_LINE)? else { return Ok(None) };
        self.number += 1;
        if is_whole {
            return Ok(Some(decode(&line).trim_matches(is_blank).to_owned()));
        }
        while !is_whole {
            line.clear();
            is_whole = self.read(&mut line, MAX_LINE)?.unwrap_or(true);
        }
        Err(LineError::TooLong(self.number))
    }
}

/// White space, what systems write at the end of lines and files (NULs, Ctrl-Z), and byte order marks.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\0' | '\x1a' | '\u{200b}' | '\u{feff}')
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<(u64, String), LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let line = self.read_trimmed();
        self.has_failed = matches!(line, Err(LineError::Read(_)));
        line.transpose().map(|line| line.map(|text| (self.number, text)))
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
            for text in [
                "a\n\nb\n",
                "a\r\n\r\nb\r\n",
                "a\r\rb\r",
                "a\r\n\nb",
                "\u{feff}a\n\n\u{feff}b",
                "a\0\n\0\r\n \tb\x1a\0\0",
            ] {
                assert_eq!(lines(text.as_bytes(), capacity), ["1 a", "2 ", "3 b"], "{text:?}");
            }
        }
        assert_eq!(lines(b"", 10), [""; 0]);
    }

    #[test]
    fn old_encodings_come_out_whole() {
        assert_eq!(lines(b"J\xe1n \x8aimek\nJ\xc3\xa1n", 10), ["1 Ján Šimek", "2 Ján"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_path_is_found_in_the_bytes_that_were_given() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        // In Windows-1251, Latin-1, and UTF-8.
        for name in [&b"\xf1\xe5\xf2\xfc.pb"[..], b"r\xe9seau.pb", "сеть.pb".as_bytes()] {
            let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
            std::fs::write(&path, "").unwrap();
            assert_eq!(path_of(&decode(path.as_os_str().as_bytes())), path);
        }
        assert_eq!(path_of("no/such/é"), Path::new("no/such/é"));
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
