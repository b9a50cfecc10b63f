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
    /// With a byte order mark.
    Utf16 {
        is_little_endian: bool,
    },
    /// Any other, by what it is and what to do.
    Other(&'static str),
}

/// How files begin.
const SIGNATURES: [(&[u8], FileKind); 12] = [
    (b"\x1f\x8b", FileKind::Gzip),
    (b"\x28\xb5\x2f\xfd", FileKind::Zstandard),
    (b"BZh", FileKind::Bzip2),
    (b"PK\x03\x04", FileKind::Zip),
    (b"PK\x05\x06", FileKind::Zip),
    (b"\xff\xfe", FileKind::Utf16 { is_little_endian: true }),
    (b"\xfe\xff", FileKind::Utf16 { is_little_endian: false }),
    (b"\xfd7zXZ\0", FileKind::Other("an xz file (unpack it with xz -d)")),
    (b"7z\xbc\xaf\x27\x1c", FileKind::Other("a 7z archive (unpack it with 7z x)")),
    (b"Rar!\x1a\x07", FileKind::Other("a rar archive (unpack it with unrar x)")),
    (b"{\\rtf", FileKind::Other("a text of a word processor (RTF) (save it as plain text)")),
    (
        b"version https://git-lfs",
        FileKind::Other("a pointer of Git LFS in the place of the file (fetch the file with git lfs pull)"),
    ),
];

impl FileKind {
    pub(crate) const BINARY: FileKind = FileKind::Other("no text but binary data (name another file)");

    /// The kind of a file that begins with `start`, or `None` for text, and for nothing.
    pub(crate) fn of(start: &[u8]) -> Option<FileKind> {
        let signed = SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature));
        // A Zstandard stream may begin with a frame to be skipped, as parallel compressors write it.
        let is_skippable = matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        Some(match signed {
            Some((_, kind)) => *kind,
            None if is_skippable => FileKind::Zstandard,
            None if start.get(257..262) == Some(b"ustar") => {
                FileKind::Other("a tar archive (unpack it with tar -xf)")
            }
            None if is_web_page(start) => {
                FileKind::Other("a web page (the download went wrong, fetch the file itself)")
            }
            None if is_json(start) => FileKind::Other("JSON (take the games or positions out of it)"),
            None if is_utf16(start) => {
                FileKind::Other("text in UTF-16 without a byte order mark (save it as UTF-8)")
            }
            None if is_binary(start) => FileKind::BINARY,
            None => return None,
        })
    }
}

impl fmt::Display for FileKind {
    /// What it is, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Gzip => "a gzip file (unpack it with gzip -d)",
            FileKind::Zstandard => "a Zstandard file (unpack it with zstd -d)",
            FileKind::Bzip2 => "a bzip2 file (unpack it with bzip2 -d)",
            FileKind::Zip => "a zip archive (unpack it with unzip)",
            FileKind::Utf16 { .. } => "text in UTF-16 (save it as UTF-8)",
            FileKind::Other(text) => text,
        })
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
            (&b"\x50\x2a\x4d\x18\x04\0\0\0"[..], "a Zstandard file"),
            (b"\x5f\x2a\x4d\x18\x04\0\0\0", "a Zstandard file"),
            (b"\xfd7zXZ\0\0\x04", "an xz file"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z archive"),
            (b"Rar!\x1a\x07\x01\0", "a rar archive"),
            (b"PK\x03\x04\x14\0", "a zip archive"),
            (&tar, "a tar archive"),
            (b"\xff\xfe[\0E\0", "text in UTF-16 (save"),
            (b"\xfe\xff\0[\0E", "text in UTF-16 (save"),
            (b"[\0E\0v\0e\0n\0t\0", "text in UTF-16 without a byte order mark"),
            (b"\n <!DOCTYPE html>", "a web page"),
            (b"[\n {\"id\" : 1", "JSON"),
            (b"{\\rtf1\\ansi", "a text of a word processor"),
            (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
            (b"\x89PNG\r\n\x1a\n\0\0", "no text but binary data"),
        ] {
            assert!(FileKind::of(start).unwrap().to_string().starts_with(kind), "{start:?}");
        }
        let mut random = fastrand::Rng::with_seed(5);
        for length in [200, 500] {
            let bytes: Vec<u8> = (0..length).map(|_| random.u8(1..)).collect();
            assert_eq!(FileKind::of(&bytes), Some(FileKind::BINARY));
        }
    }
}
