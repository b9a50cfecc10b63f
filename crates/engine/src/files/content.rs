//! Opens files and stdin, plain or compressed by gzip, Zstandard, bzip2 or zip, which the content tells.
//!
//! What inflates far more than games do is refused.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(feature = "archives")]
use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

use super::Watched;
use super::kind::{Content, FileKind, TELLING, without_compression};
use super::lines::decode;
#[cfg(feature = "archives")]
use super::zipped;
#[cfg(feature = "archives")]
use super::zstandard::Zstandard;

/// Bytes of the longest signature of a compressed file.
const SIGNATURE: usize = 6;
/// The bytes to which every file may inflate.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// The factor by which a file may inflate beyond [`ALWAYS_ALLOWED`]. Short games that are all alike compress
/// to a fiftieth.
const MAX_RATIO: u64 = 200;

pub struct TextFile {
    /// In small letters, without the ending of its compression. Of an archive, the name of the file within.
    /// Empty for stdin.
    pub name: String,
    /// The text without compression, as people encode it.
    pub content: Content,
    pub notes: Vec<String>,
}

/// Opens a file of text. `-` is stdin. Of a zip archive the first file with one of the `endings` is read.
///
/// # Errors Fails if the file cannot be read, or is no text. The error says what it is, and what to do.
#[cfg_attr(not(feature = "archives"), expect(unused_variables, reason = "of archives"))]
pub fn open_text(path: &Path, endings: &[&str]) -> io::Result<TextFile> {
    let (kind, content) = raw(path)?;
    #[cfg(feature = "archives")]
    if kind == Some(FileKind::Zip) && path.is_file() {
        let member = zipped::open(path, endings)?;
        let name = without_compression(&member.name);
        let content = bounded(member.content, Arc::new(AtomicU64::new(member.compressed)));
        return Ok(TextFile {
            content: text_of(content, &name)?,
            name,
            notes: member.notes,
        });
    }
    let name = path.file_name().filter(|name| *name != "-").unwrap_or_default();
    let name = without_compression(&name.to_string_lossy());
    Ok(TextFile {
        content: text_of(content, &name)?,
        name,
        notes: Vec::new(),
    })
}

/// Reads a whole file of text, whatever its encoding.
///
/// # Errors
/// As [`open_text`].
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_text(path, &[])?.content.read_to_end(&mut bytes)?;
    Ok(decode(&bytes).trim_start_matches('\u{feff}').to_owned())
}

/// The uncompressed content of a file, which may be anything. `-` is stdin.
pub fn open(path: &Path) -> io::Result<Content> {
    inflated(raw(path)?.1)
}

fn raw(path: &Path) -> io::Result<(Option<FileKind>, Content)> {
    if path.as_os_str() == "-" {
        sniffed(io::stdin())
    } else {
        sniffed(File::open(path)?)
    }
}

fn inflated(source: impl Read + Send + 'static) -> io::Result<Content> {
    let (kind, source) = sniffed(source)?;
    let consumed = Arc::new(AtomicU64::new(0));
    let counter = consumed.clone();
    let see = move |read: &[u8]| {
        counter.fetch_add(read.len() as u64, Relaxed);
        Ok(())
    };
    let source = Watched { source, see };
    Ok(match kind {
        Some(FileKind::Gzip) => bounded(MultiGzDecoder::new(source), consumed),
        #[cfg(feature = "archives")]
        Some(FileKind::Zstandard) => bounded(Zstandard::new(source), consumed),
        #[cfg(feature = "archives")]
        Some(FileKind::Bzip2) => bounded(MultiBzDecoder::new(source), consumed),
        _ => Box::new(source),
    })
}

/// The text in `source`, plain or compressed. Its name tells what it is where its first bytes do not.
fn text_of(source: impl Read + Send + 'static, name: &str) -> io::Result<Content> {
    let other = match sniffed(inflated(source)?)? {
        (None, content) if FileKind::of_ending(name) == FileKind::BINARY => return Ok(content),
        (Some(FileKind::Utf16 { is_little_endian }), source) => {
            return Ok(Box::new(Utf16 {
                source,
                is_little_endian,
                letters: VecDeque::new(),
            }));
        }
        (Some(FileKind::BINARY) | None, _) => FileKind::of_ending(name),
        (Some(other), _) => other,
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {other}")))
}

/// Looks at what comes first. Of a person who types, one line is enough.
fn sniffed(mut source: impl Read + Send + 'static) -> io::Result<(Option<FileKind>, Content)> {
    let mut start = Vec::new();
    let mut buffer = [0; TELLING];
    while start.len() < SIGNATURE && !start.contains(&b'\n') {
        match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => start.extend(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((FileKind::of(&start), Box::new(Cursor::new(start).chain(source))))
}

/// Passes on what a decoder gives while it is in proportion to what was consumed.
fn bounded(source: impl Read + Send + 'static, consumed: Arc<AtomicU64>) -> Content {
    let mut given = 0;
    let see = move |read: &[u8]| {
        given += read.len() as u64;
        let compressed = consumed.load(Relaxed);
        if given > ALWAYS_ALLOWED.max(compressed.saturating_mul(MAX_RATIO)) {
            return Err(io::Error::other(format!(
                "{compressed} compressed bytes inflate to more than {given}: no games compress like this"
            )));
        }
        Ok(())
    };
    Box::new(Watched { source, see })
}

/// Turns UTF-16 into UTF-8. What is no character becomes U+FFFD.
struct Utf16 {
    source: Content,
    is_little_endian: bool,
    letters: VecDeque<u8>,
}

impl Read for Utf16 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.letters.is_empty() {
            let from_bytes = if self.is_little_endian {
                u16::from_le_bytes
            } else {
                u16::from_be_bytes
            };
            let unit = |pair: &[u8]| from_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]);
            let mut bytes = Vec::new();
            let mut read = self.source.by_ref().take(1 << 13).read_to_end(&mut bytes);
            // The first half of a character of two units.
            if bytes
                .chunks(2)
                .next_back()
                .is_some_and(|pair| (0xd800..0xdc00).contains(&unit(pair)))
            {
                read = self.source.by_ref().take(2).read_to_end(&mut bytes);
            }
            if bytes.is_empty() {
                return read;
            }
            let letters = char::decode_utf16(bytes.chunks(2).map(unit));
            let letters = letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
            self.letters = letters.collect::<String>().into_bytes().into();
        }
        self.letters.read(buffer)
    }
}

#[cfg(all(test, feature = "archives"))]
mod tests {
    use std::io::Write;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn text_of(bytes: &[u8]) -> io::Result<String> {
        let mut content = String::new();
        super::text_of(Cursor::new(bytes.to_vec()), "")?.read_to_string(&mut content)?;
        Ok(content)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn every_compression_is_told_by_its_content() {
        let text = "1. e4 e5 *\n".repeat(100);
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(text.as_bytes()).unwrap();
        let zstandard = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        // A regression: the database of lichess begins with a frame to be skipped.
        let skipped = [&b"\x50\x2a\x4d\x18\x02\0\0\0ab"[..], &zstandard].concat();
        for bytes in [
            gzip(text.as_bytes()),
            bzip2.finish().unwrap(),
            zstandard,
            skipped,
            text.clone().into(),
        ] {
            assert_eq!(text_of(&bytes).unwrap(), text);
        }
        assert_eq!(text_of(b"*").unwrap(), "*", "shorter than any signature");
        assert_eq!(text_of(b"").unwrap(), "");
    }

    #[test]
    fn utf_16_becomes_utf_8() {
        let text = "[White \"Ján 𝄞\"]\r\n".repeat(600);
        for (mark, bytes) in [
            (
                [0xff, 0xfe],
                text.encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect::<Vec<u8>>(),
            ),
            (
                [0xfe, 0xff],
                text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            ),
        ] {
            let bytes = [&mark[..], &bytes].concat();
            assert_eq!(text_of(&bytes).unwrap().trim_start_matches('\u{feff}'), text);
            assert_eq!(
                text_of(&gzip(&bytes)).unwrap().trim_start_matches('\u{feff}'),
                text
            );
        }
        assert_eq!(
            text_of(b"\xff\xfea\0\x00\xd8").unwrap(),
            "\u{feff}a\u{fffd}",
            "half a character"
        );
    }

    #[test]
    fn what_is_no_text_is_named_with_its_remedy() {
        for (bytes, expected) in [
            (
                &b"<html>404</html>"[..],
                "it is a web page (the download went wrong, fetch the file itself)",
            ),
            (b"\xfd7zXZ\0\0\x04", "it is an xz file (unpack it with xz -d)"),
            (
                &gzip(b"\0\x01\x02\x03\x04\x05\x06"),
                "it is no text but binary data (name another file)",
            ),
            (
                &gzip(&gzip(b"1. e4 *")),
                "it is a gzip file (unpack it with gzip -d)",
            ),
        ] {
            assert_eq!(text_of(bytes).unwrap_err().to_string(), expected);
        }
    }

    /// What a cut-off file has is read, and that it was cut off is said.
    #[test]
    fn damage_behind_the_first_bytes_is_an_error_behind_them() {
        let whole = gzip("1. e4 e5 *\n".repeat(1000).as_bytes());
        let mut content = super::text_of(Cursor::new(whole[..whole.len() - 12].to_vec()), "").unwrap();
        let mut seen = Vec::new();
        assert!(content.read_to_end(&mut seen).is_err());
        assert!(seen.starts_with(b"1. e4 e5 *\n"));
    }

    #[test]
    fn every_frame_of_zstandard_is_read_and_checked() {
        let frame = |text: &[u8]| compress_to_vec(text, CompressionLevel::Fastest);
        let skipped = b"\x50\x2a\x4d\x18\x02\0\0\0ab";
        let frames = [&frame(b"1. e4 e5 *\n"), &skipped[..], &frame(b"1. d4 d5 *\n")].concat();
        assert_eq!(text_of(&frames).unwrap(), "1. e4 e5 *\n1. d4 d5 *\n");
        let cut = text_of(&frames[..frames.len() - 5]);
        assert!(cut.is_err());
        let mut damaged = frames.clone();
        *damaged.last_mut().unwrap() ^= 1;
        let error = text_of(&damaged).unwrap_err().to_string();
        assert_eq!(error, "the checksum of a Zstandard frame is wrong");
    }

    /// A regression: a few kilobytes inflated without end, into memory where openings and records are read.
    #[test]
    fn bombs_are_refused_within_their_bounds() {
        let bomb = compress_to_vec(io::repeat(0).take(100 << 20), CompressionLevel::Fastest);
        let mut seen = 0;
        let mut reader = inflated(Cursor::new(bomb)).unwrap();
        let mut buffer = [0; 1 << 16];
        let error = loop {
            match reader.read(&mut buffer) {
                Ok(read) => seen += read,
                Err(error) => break error.to_string(),
            }
            assert!(seen <= 64 << 20);
        };
        assert!(error.contains("no games compress like this"), "{error}");
    }
}
