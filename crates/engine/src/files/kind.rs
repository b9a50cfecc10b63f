//! What a file is, where it is not plain text, by its first bytes.

use std::fmt;

/// Bytes that tell every kind: a tar archive has its signature behind its first name.
pub(crate) const TELLING: usize = 512;
/// One control character in so many makes a file binary.
const MOST_CONTROLS: usize = 16;

/// A kind of file that is not plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Gzip,
    Zstandard,
    Bzip2,
    Zip,
    Xz,
    SevenZip,
    Rar,
    Tar,
    /// With a byte order mark.
    Utf16 {
        is_little_endian: bool,
    },
    Utf16WithoutMark,
    WebPage,
    Json,
    Rtf,
    LfsPointer,
    /// Any other file that has no text.
    Binary,
}

impl FileKind {
    /// Returns the kind of a file that begins with `start`, or `None` for text, and for nothing.
    pub(crate) fn of(start: &[u8]) -> Option<FileKind> {
        let is = |signature: &[u8]| start.starts_with(signature);
        // A Zstandard stream may begin with a frame to be skipped, as parallel compressors write it.
        let is_skippable = matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        Some(match () {
            () if is(&[0x1f, 0x8b]) => FileKind::Gzip,
            () if is(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skippable => FileKind::Zstandard,
            () if is(b"BZh") && start.get(3).is_none_or(u8::is_ascii_digit) => FileKind::Bzip2,
            () if is(b"PK\x03\x04") || is(b"PK\x05\x06") => FileKind::Zip,
            () if is(b"\xfd7zXZ\0") => FileKind::Xz,
            () if is(b"7z\xbc\xaf\x27\x1c") => FileKind::SevenZip,
            () if is(b"Rar!\x1a\x07") => FileKind::Rar,
            () if start.get(257..262) == Some(b"ustar") => FileKind::Tar,
            () if is(&[0xff, 0xfe]) => FileKind::Utf16 { is_little_endian: true },
            () if is(&[0xfe, 0xff]) => FileKind::Utf16 { is_little_endian: false },
            () if is(b"version https://git-lfs") => FileKind::LfsPointer,
            () if is_web_page(start) => FileKind::WebPage,
            () if is(b"{\\rtf") => FileKind::Rtf,
            () if is_json(start) => FileKind::Json,
            () if is_utf16(start) => FileKind::Utf16WithoutMark,
            () if is_binary(start) => FileKind::Binary,
            () => return None,
        })
    }

    /// What it is, and what to do.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            FileKind::Gzip => ("a gzip file", "unpack it with gzip -d"),
            FileKind::Zstandard => ("a Zstandard file", "unpack it with zstd -d"),
            FileKind::Bzip2 => ("a bzip2 file", "unpack it with bzip2 -d"),
            FileKind::Zip => ("a zip archive", "unpack it with unzip"),
            FileKind::Xz => ("an xz file", "unpack it with xz -d"),
            FileKind::SevenZip => ("a 7z archive", "unpack it with 7z x"),
            FileKind::Rar => ("a rar archive", "unpack it with unrar x"),
            FileKind::Tar => ("a tar archive", "unpack it with tar -xf"),
            FileKind::Utf16 { .. } => ("text in UTF-16", "save it as UTF-8"),
            FileKind::Utf16WithoutMark => ("text in UTF-16 without a byte order mark", "save it as UTF-8"),
            FileKind::WebPage => ("a web page", "the download went wrong, fetch the file itself"),
            FileKind::Json => ("JSON", "take the games or positions out of it"),
            FileKind::Rtf => ("a text of a word processor (RTF)", "save it as plain text"),
            FileKind::LfsPointer => {
                ("a pointer of Git LFS in the place of the file", "fetch the file with git lfs pull")
            }
            FileKind::Binary => ("no text but binary data", "name another file"),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, remedy) = self.words();
        write!(f, "{name} ({remedy})")
    }
}

/// No game and no position begins with an angle bracket.
fn is_web_page(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    matches!(start, [b'<', b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z', ..])
}

/// A name in quotation marks and its colon begin an object.
fn is_json(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let object = start.strip_prefix(b"[").unwrap_or(start).trim_ascii_start().strip_prefix(b"{");
    let name = object.and_then(|object| object.trim_ascii_start().strip_prefix(b"\""));
    let mut parts = name.unwrap_or_default().splitn(2, |&byte| byte == b'"').skip(1);
    parts.next().is_some_and(|behind| behind.trim_ascii_start().starts_with(b":"))
}

/// Plain letters of two bytes each.
fn is_utf16(start: &[u8]) -> bool {
    let is_wide = |zero: usize| {
        let pairs = start.chunks_exact(2);
        pairs.len() >= 4 && pairs.clone().all(|pair| pair[zero] == 0 && pair[1 - zero] != 0)
    };
    is_wide(0) || is_wide(1)
}

fn is_binary(start: &[u8]) -> bool {
    // Texts of DOS end with Ctrl-Z.
    let is_usual = |byte: u8| !byte.is_ascii_control() || matches!(byte, b'\t'..=b'\r' | 0x1a);
    // Some end their lines with NUL too, or files with many.
    let runs = start.chunk_by(|a, b| (*a, *b) == (0, 0));
    let controls = runs.filter(|run| !is_usual(run[0])).count();
    let is_within = |pair: &[u8]| pair[0] == 0 && !matches!(pair[1], 0 | b'\n' | b'\r' | 0x1a);
    start.windows(2).any(is_within) || controls * MOST_CONTROLS > start.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_of_no_kind() {
        for text in [
            &b""[..],
            b"*",
            b"[Event \"x\"]\n",
            b"\xef\xbb\xbf1. e4 *",
            b"[White \"J\xe1n\"]\r\n\x1a",
            b"\t8/8/8/8/8/8/8/8 w - -",
            b"8/8/8/8/8/8/8/8 w - - bm Kb1;\0\n\0\0",
            b"{\"What a game\"} 1. e4 *",
            "[White \"Петров\"]".as_bytes(),
        ] {
            assert_eq!(FileKind::of(text), None, "{text:?}");
        }
    }

    #[test]
    fn other_files_are_known_by_their_first_bytes() {
        let mut tar = vec![b'a'; 257];
        tar.extend(b"ustar\x0000");
        for (start, kind) in [
            (&b"\x50\x2a\x4d\x18\x04\0\0\0"[..], FileKind::Zstandard),
            (b"\x5f\x2a\x4d\x18\x04\0\0\0", FileKind::Zstandard),
            (b"\xfd7zXZ\0\0\x04", FileKind::Xz),
            (b"7z\xbc\xaf\x27\x1c\0\x04", FileKind::SevenZip),
            (b"Rar!\x1a\x07\x01\0", FileKind::Rar),
            (b"PK\x03\x04\x14\0", FileKind::Zip),
            (&tar, FileKind::Tar),
            (b"\xff\xfe[\0E\0", FileKind::Utf16 { is_little_endian: true }),
            (b"\xfe\xff\0[\0E", FileKind::Utf16 { is_little_endian: false }),
            (b"[\0E\0v\0e\0n\0t\0", FileKind::Utf16WithoutMark),
            (b"\n <!DOCTYPE html>", FileKind::WebPage),
            (b"[\n {\"id\" : 1", FileKind::Json),
            (b"{\\rtf1\\ansi", FileKind::Rtf),
            (b"version https://git-lfs.github.com/spec/v1\n", FileKind::LfsPointer),
            (b"\x89PNG\r\n\x1a\n\0\0", FileKind::Binary),
        ] {
            assert_eq!(FileKind::of(start), Some(kind), "{start:?}");
        }
        let mut random = fastrand::Rng::with_seed(5);
        for length in [200, 500] {
            let bytes: Vec<u8> = (0..length).map(|_| random.u8(1..)).collect();
            assert_eq!(FileKind::of(&bytes), Some(FileKind::Binary));
        }
    }
}
