//! What a file is, by its first bytes.

use std::fmt;
use std::io::Read;

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

/// Files that are not read: their signatures, what they are and what to do.
const FOREIGN: [(&[u8], &str); 25] = [
    (b"\xfd7zXZ\0", "an xz file (unpack it with xz -d)"),
    (b"\x5d\0\0", "an lzma file (unpack it with xz -d --format=lzma)"),
    (b"LZIP", "an lzip file (unpack it with lzip -d)"),
    (b"\x04\x22\x4d\x18", "an lz4 file (unpack it with lz4 -d)"),
    (b"\x1f\x9d", "a file of compress (.Z) (unpack it with gzip -d)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive (unpack it with 7z x)"),
    (b"Rar!\x1a\x07", "a rar archive (unpack it with unrar x)"),
    (
        b"{\\rtf",
        "a text of a word processor (RTF) (save it as plain text)",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "a document of Microsoft Office (save it as plain text or CSV)",
    ),
    (b"%PDF-", "a PDF (copy its text into a plain file)"),
    (b"SQLite format 3", "an SQLite database (export its games as PGN)"),
    (b"PAR1", "a Parquet file (save it as CSV)"),
    (
        b"version https://git-lfs",
        "a pointer of Git LFS, not the file (fetch that with git lfs pull)",
    ),
    (b"\x03ABK", ABK),
    (b"\0\0\0\0\0\0\0\x03", CTG),
    (b"\0\x20\x10\0", CTG),
    (b"Scid.s", "a database of Scid (let Scid export its games as PGN)"),
    (
        b"\x89HDF\r\n\x1a\n",
        "HDF5, as Keras writes it (export the model as ONNX with tf2onnx)",
    ),
    (b"ptrt", PLAN),
    (b"ftrt", PLAN),
    (
        b"GGUF",
        "GGUF, weights of a language model (take a chess network, .pb.gz or .onnx)",
    ),
    (b"\x93NUMPY", "an array of NumPy (export the model as ONNX)"),
    (
        b"\x08\x01\x12",
        "a SavedModel of TensorFlow (export it as ONNX with tf2onnx)",
    ),
    (b"\x20\x2f\xf3\x7a", NNUE),
    (b"\x16\x2f\xf3\x7a", NNUE),
];
/// Likewise, with signatures that stand behind so many bytes.
const FOREIGN_WITHIN: [(usize, &[u8], &str); 4] = [
    (257, b"ustar", "a tar archive (unpack it with tar -xf)"),
    (
        4,
        b"TFL3",
        "a model of TensorFlow Lite (export the model as ONNX with tf2onnx)",
    ),
    (
        4,
        b"ORTM",
        "ONNX Runtime's own format (take the ONNX model that it was made from)",
    ),
    (
        8,
        b"{\"",
        "safetensors, weights without a network (export the model as ONNX with torch.onnx)",
    ),
];
const PLAN: &str = "a plan of TensorRT, made for one GPU (take the ONNX model behind it)";
const NNUE: &str = "a network of Stockfish (NNUE) (take one of Lc0)";
const ABK: &str = "an opening book of Arena (ABK) (let Arena export it as PGN)";
const POLYGLOT: &str = "an opening book of Polyglot (write it as PGN or EPD with PolyGlot or python-chess)";
const CTG: &str = "an opening book of ChessBase (CTG) (let ChessBase export its lines as PGN)";
/// Binary files that have no signature, by the ends of their names.
const ENDINGS: [(&str, &str); 5] = [
    (".bin", POLYGLOT),
    (".abk", ABK),
    (".ctg", CTG),
    (
        ".cbh",
        "a database of ChessBase (let ChessBase or Scid export its games as PGN)",
    ),
    (
        ".cbv",
        "an archive of ChessBase (let ChessBase export its games as PGN)",
    ),
];
type IsSuch = fn(&[u8]) -> bool;
/// Files that are told by their structure.
const TOLD: [(IsSuch, &str); 7] = [
    (
        is_web_page,
        "a web page (the download went wrong, fetch the file itself)",
    ),
    (
        is_json,
        "JSON (write plain lines: games, positions, or flags such as threads=2)",
    ),
    (
        is_wide,
        "text in UTF-16 without a byte order mark (save it as UTF-8)",
    ),
    (is_polyglot, POLYGLOT),
    (
        is_core_ml,
        "a model of CoreML (take the model that it was made from, as ONNX)",
    ),
    (
        |start| matches!(start, [0x80, 2..=5, ..]),
        "a Python pickle (export the model as ONNX with torch.onnx)",
    ),
    (
        |start| matches!(start, [3..=6, 0, 0, 0, ..]),
        "training data of Lc0 (name a network, or games as PGN)",
    ),
];
const SIGNATURES: [(&[u8], FileKind); 7] = [
    (b"\x1f\x8b", FileKind::Gzip),
    (b"\x28\xb5\x2f\xfd", FileKind::Zstandard),
    (b"BZh", FileKind::Bzip2),
    (b"PK\x03\x04", FileKind::Zip),
    (b"PK\x05\x06", FileKind::Zip),
    (
        b"\xff\xfe",
        FileKind::Utf16 {
            is_little_endian: true,
        },
    ),
    (
        b"\xfe\xff",
        FileKind::Utf16 {
            is_little_endian: false,
        },
    ),
];

pub(super) type Content = Box<dyn Read + Send>;

/// The name without the ending of its compression, in small letters.
pub(super) fn without_compression(name: &str) -> String {
    let name = name.to_lowercase();
    let inner = [".gz", ".zst", ".bz2"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    inner.unwrap_or(&name).to_owned()
}

impl FileKind {
    pub(crate) const BINARY: FileKind = FileKind::Other("no text but binary data (name another file)");

    /// The kind of a file that begins with `start`, or `None` for text, and for nothing.
    pub(crate) fn of(start: &[u8]) -> Option<FileKind> {
        if let Some((_, kind)) = SIGNATURES
            .iter()
            .find(|(signature, _)| start.starts_with(signature))
        {
            return Some(*kind);
        }
        // A Zstandard stream may begin with a frame to be skipped.
        if matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) {
            return Some(FileKind::Zstandard);
        }
        let is_binary = is_binary(start);
        // In text only letters at its beginning tell.
        let at_start = FOREIGN.iter().filter(|(signature, _)| {
            start.starts_with(signature) && (is_binary || signature[0].is_ascii_graphic())
        });
        let within = FOREIGN_WITHIN.iter().filter(|(at, signature, _)| {
            is_binary
                && start
                    .get(*at..)
                    .is_some_and(|behind| behind.starts_with(signature))
        });
        let told = TOLD.iter().filter(|(is_such, _)| is_such(start));
        let mut texts = told
            .map(|(_, text)| text)
            .chain(within.map(|(.., text)| text))
            .chain(at_start.map(|(_, text)| text));
        let text = texts.next().copied();
        text.map(FileKind::Other)
            .or(is_binary.then_some(FileKind::BINARY))
    }

    pub(crate) fn of_ending(name: &str) -> FileKind {
        let known = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        known.map_or(FileKind::BINARY, |(_, text)| FileKind::Other(text))
    }
}

impl fmt::Display for FileKind {
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

fn is_web_page(start: &[u8]) -> bool {
    let start = start
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(start)
        .trim_ascii_start();
    matches!(start, [b'<', b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z', ..])
}

fn is_json(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let object = start
        .strip_prefix(b"[")
        .unwrap_or(start)
        .trim_ascii_start()
        .strip_prefix(b"{");
    let name = object.and_then(|object| object.trim_ascii_start().strip_prefix(b"\""));
    let mut parts = name.unwrap_or_default().splitn(2, |&byte| byte == b'"').skip(1);
    parts
        .next()
        .is_some_and(|behind| behind.trim_ascii_start().starts_with(b":"))
}

/// Of plain letters, which are many even where names are Cyrillic, the same byte is empty.
fn is_wide(start: &[u8]) -> bool {
    let pairs = start.chunks_exact(2);
    let [first, second] = [0, 1].map(|place| pairs.clone().filter(|pair| pair[place] == 0).count());
    pairs.len() >= 4 && first.min(second) == 0 && 3 * first.max(second) >= pairs.len()
}

/// Sorted entries of several positions, each with a move.
fn is_polyglot(start: &[u8]) -> bool {
    let entries = start.chunks_exact(16);
    let are_sorted = entries.clone().is_sorted_by_key(|entry| &entry[..8]);
    let are_several = entries.clone().any(|entry| entry[..8] != start[..8]);
    let has_move = |entry: &[u8]| entry[8] < 0x80 && entry[8..10] != [0, 0];
    entries.len() >= 3 && are_sorted && are_several && is_binary(start) && entries.clone().all(has_move)
}

/// A version, and a description whose first field has fields, where ONNX has the name of a program.
fn is_core_ml(start: &[u8]) -> bool {
    let [0x08, 2..=0xff, 0x12, length @ ..] = start else {
        return false;
    };
    length
        .iter()
        .position(|byte| *byte < 0x80)
        .and_then(|end| length.get(end + 1))
        == Some(&0x0a)
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
            (
                b"version https://git-lfs.github.com/spec/v1\n",
                "a pointer of Git LFS",
            ),
            (b"\x89PNG\r\n\x1a\n\0\0", "no text but binary data"),
            (b"\x89HDF\r\n\x1a\n\0\0", "HDF5, as Keras writes it (export"),
            (b"\x08\x07\x12\x80\x01\x0a\x05", "a model of CoreML"),
            (b"\x16\x2f\xf3\x7a\0\0\0\0", "a network of Stockfish"),
            (b"\0\x20\x10\0\0\0\0\x01", "an opening book of ChessBase"),
            (b"\x08\x01\x12\x90\x01\x0a\x10", "a SavedModel of TensorFlow"),
            (b"\x40\0\0\0\0\0\0\0{\"a\":1}", "safetensors"),
            (b"GGUF\x03\0\0\0", "GGUF"),
            (b"\x80\x04\x95\0\0", "a Python pickle"),
            (b"\x1f\x9d\x90ab", "a file of compress (.Z)"),
            (b"SQLite format 3\0", "an SQLite database"),
        ] {
            assert!(
                FileKind::of(start).unwrap().to_string().starts_with(kind),
                "{start:?}"
            );
        }
        let cyrillic: Vec<u8> = "[Event \"Первенство\"]\n[Site \"Москва\"]"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let told = FileKind::of(&cyrillic).unwrap().to_string();
        assert!(told.starts_with("text in UTF-16 without"), "{told}");
        let book: Vec<u8> = (1..9u8)
            .flat_map(|at| [0, at, 0, 9, 9, 9, 9, at, 3, 28, 0, 60, 0, 0, 0, 0])
            .collect();
        let told = FileKind::of(&book).unwrap().to_string();
        assert!(told.starts_with("an opening book of Polyglot"), "{told}");
        let mut random = fastrand::Rng::with_seed(5);
        for length in [200, 500] {
            let bytes: Vec<u8> = (0..length).map(|_| random.u8(1..)).collect();
            assert_eq!(FileKind::of(&bytes), Some(FileKind::BINARY));
        }
    }
}
