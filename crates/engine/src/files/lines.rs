//! The lines of a text, whatever ends them and however they are encoded.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The longest line that is read, bytes.
const MAX_LINE: usize = 1 << 20;
/// The letters 0x80 to 0xff of encodings: Windows-1252, which is Latin-1 with more letters, Windows-1251, Mac
/// Roman, KOI8-R and DOS's code page 866. The first is the rule.
const ENCODINGS: [&str; 5] = [
    "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼\
     ½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ",
    "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{fffd}™љ›њќћџ\u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї°±Ііґµ¶·ё№є»јЅѕїАБВГДЕЖЗИЙКЛМНО\
     ПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя",
    "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄\
     €‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
    "─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{a0}⌡°²·÷═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©юабцдефгхийклмнопярстужвьыз\
     шэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ",
    "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмноп░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
     рстуфхцчшщъыьэюяЁёЄєЇїЎў°∙·√№¤■\u{a0}",
];
/// Windows' code pages beside those of [`ENCODINGS`]: 1250 for Central Europe and 1253 for Greece.
#[cfg(any(test, not(unix)))]
const CODE_PAGES: [&str; 2] = [
    "€\u{fffd}‚\u{fffd}„…†‡\u{fffd}‰Š‹ŚŤŽŹ\u{fffd}‘’“”•–—\u{fffd}™š›śťžź\u{a0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{ad}®Ż°±˛ł´\
     µ¶·¸ąş»Ľ˝ľżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙",
    "€\u{fffd}‚ƒ„…†‡\u{fffd}‰\u{fffd}‹\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}‘’“”•–—\u{fffd}™\u{fffd}›\
     \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{a0}΅Ά£¤¥¦§¨©\u{fffd}«¬\u{ad}®―°±²³΄µ¶·ΈΉΊ»Ό½ΎΏΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡ\
     \u{fffd}ΣΤΥΦΧΨΩΪΫάέήίΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ\u{fffd}",
];

/// The text of `bytes`: UTF-8, or the encoding of one byte a letter that makes words of them, in doubt
/// Latin-1, as PGN prescribes.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mixed = |letters: &&str| {
        let mut text = String::new();
        for chunk in bytes.utf8_chunks() {
            text += chunk.valid();
            text.extend(chunk.invalid().iter().map(|&byte| letter(byte, letters)));
        }
        text
    };
    // Letters side by side may be UTF-8 by chance.
    let texts = ENCODINGS
        .iter()
        .map(mixed)
        .chain(ENCODINGS.iter().map(|letters| whole(bytes, letters)));
    // The first of the best.
    let best = texts.min_by_key(|text| oddities(text));
    Cow::Owned(best.unwrap_or_default())
}

fn letter(byte: u8, letters: &str) -> char {
    match byte.checked_sub(0x80) {
        Some(index) => letters
            .chars()
            .nth(index.into())
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        None => char::from(byte),
    }
}

fn whole(bytes: &[u8], letters: &str) -> String {
    bytes.iter().map(|&byte| letter(byte, letters)).collect()
}

/// Places that no word has: signs and capitals within small letters, letters of two alphabets or with marks
/// side by side.
fn oddities(text: &str) -> usize {
    let is_sign = |c: char| {
        c == 'ƒ' || !c.is_alphanumeric() && !c.is_ascii() && !c.is_whitespace() && !"’‘“”«»„–—…№½".contains(c)
    };
    let is_marked = |c: char| c.is_alphabetic() && !c.is_ascii();
    let is_cyrillic = |c: char| ('\u{400}'..'\u{500}').contains(&c);
    let letters: Vec<char> = text.chars().collect();
    let odd = |pair: &&[char]| {
        let (before, after) = (pair[0], pair[1]);
        let are_letters = before.is_alphabetic() && after.is_alphabetic();
        let is_within = before.is_alphabetic() && is_sign(after) || is_sign(before) && after.is_alphabetic();
        let is_capital = before.is_lowercase() && is_marked(after) && after.is_uppercase();
        let are_marked = is_marked(before) && is_marked(after) && !is_cyrillic(before);
        is_within || is_capital || are_marked || are_letters && is_cyrillic(before) != is_cyrillic(after)
    };
    let undefined = letters
        .iter()
        .filter(|c| c.is_control() && !c.is_ascii() || **c == char::REPLACEMENT_CHARACTER);
    letters.windows(2).filter(odd).count() + undefined.count()
}

/// The path that `text` names. If there is none, it is tried as the bytes before [`decode`], elsewhere than
/// on Unix in each code page. Of a file to be made the folder counts.
pub fn path_of(text: &str) -> PathBuf {
    let byte = |letter: char, letters: &str| match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() => Some(byte),
        _ => Some(0x80 + letters.chars().position(|known| known == letter)? as u8),
    };
    let raw = |letters: &&str| {
        text.chars()
            .map(|letter| byte(letter, letters))
            .collect::<Option<Vec<u8>>>()
    };
    let given = ENCODINGS.iter().filter(|_| !text.is_ascii()).filter_map(raw);
    let paths: Vec<_> = [text.into()]
        .into_iter()
        .chain(given.flat_map(|it| spellings(&it)))
        .collect();
    let first = |is_there: fn(&Path) -> bool| paths.iter().find(|path| is_there(path)).cloned();
    let found = first(Path::exists).or_else(|| first(|path| path.parent().is_some_and(Path::exists)));
    found.unwrap_or_else(|| text.into())
}

#[cfg(unix)]
fn spellings(bytes: &[u8]) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    vec![std::ffi::OsStr::from_bytes(bytes).into()]
}

#[cfg(not(unix))]
use in_code_pages as spellings;

#[cfg(any(test, not(unix)))]
fn in_code_pages(bytes: &[u8]) -> Vec<PathBuf> {
    ENCODINGS
        .iter()
        .chain(&CODE_PAGES)
        .map(|letters| whole(bytes, letters).into())
        .collect()
}

/// The reason why a line is not there.
#[derive(Debug, Error)]
pub enum LineError {
    /// Those behind it can be read.
    #[error("line {0}: longer than {MAX_LINE} bytes")]
    TooLong(u64),
    #[error("{0}")]
    Read(#[from] io::Error),
}

/// The lines of a text with their numbers, from 1. They end with LF, CRLF or CR, and come without blanks
/// around them. No more is read than the line needs, as who asks may wait for the answer.
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
        Lines {
            input,
            number: 0,
            is_behind_cr: false,
            has_failed: false,
        }
    }

    /// The input, which begins behind the last line.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Adds the rest of the line to `line`, up to `most` bytes. Gives whether it ends there, `None` at the
    /// end of the input.
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
                    let is_cr = bytes[end] == b'\r';
                    let next = bytes.get(end + 1);
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

    /// Of a line that is too long the rest is lost.
    fn read_trimmed(&mut self) -> Result<Option<String>, LineError> {
        let mut line = Vec::new();
        let Some(mut is_whole) = self.read(&mut line, MAX_LINE)? else {
            return Ok(None);
        };
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
        lines
            .map(|line| line.unwrap())
            .map(|(number, text)| format!("{number} {text}"))
            .collect()
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
        assert_eq!(
            lines(b"J\xe1n \x8aimek\nJ\xc3\xa1n", 10),
            ["1 Ján Šimek", "2 Ján"]
        );
        for (bytes, text) in [
            (
                &b"\xcf\xe5\xf2\xf0\xee\xe2, \xc0\xeb\xe5\xea\xf1\xe5\xe9"[..],
                "Петров, Алексей",
            ),
            (b"\xf0\xc5\xd4\xd2\xcf\xd7", "Петров"),
            (b"\x8f\xa5\xe2\xe0\xae\xa2", "Петров"),
            (b"M\x9fller, Ren\x8e", "Müller, René"),
            (b"M\xfcller, Ren\xe9 \x96 \xc5sa", "Müller, René – Åsa"),
            (
                b"Fran\xe7ois, Mu\xf1oz, Gau\xdf, \xd8rjan",
                "François, Muñoz, Gauß, Ørjan",
            ),
        ] {
            assert_eq!(decode(bytes), text);
        }
    }

    #[test]
    fn code_pages_of_windows_are_read() {
        for (bytes, path) in [
            (&b"gra\xb3 \xb9\x9c\xe6"[..], "grał ąść"),
            (b"\xe4\xdf\xea\xf4", "δίκτ"),
        ] {
            assert!(in_code_pages(bytes).contains(&path.into()), "{path}");
        }
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
        // A file that is to be made lies in its folder.
        let log = folder
            .path()
            .join(std::ffi::OsStr::from_bytes(b"r\xe9seau"))
            .join("a.log");
        std::fs::create_dir(log.parent().unwrap()).unwrap();
        assert_eq!(path_of(&decode(log.as_os_str().as_bytes())), log);
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_no_other_line() {
        let text = io::repeat(b'x').take(3 * MAX_LINE as u64).chain(&b"\nb\n"[..]);
        let mut lines = Lines::new(BufReader::new(text));
        assert_eq!(
            lines.next().unwrap().unwrap_err().to_string(),
            "line 1: longer than 1048576 bytes"
        );
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
