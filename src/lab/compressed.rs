//! Opens files that may be compressed: a file or stdin, plain or by gzip, Zstandard or bzip2. Compression is recognised by the
//! content, not by the name.
//!
//! What inflates far more than games do is refused: some kilobytes can be made to inflate without end.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

/// The longest signature of a compressed file, bytes.
const SIGNATURE: usize = 4;
/// The bytes to which every file may inflate.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// The factor by which a file may inflate beyond [`ALWAYS_ALLOWED`]. Games and rows compress to a tenth, short games that are all
/// alike to a fiftieth.
const MAX_RATIO: u64 = 200;

/// Opens a file and returns its uncompressed content; `-` is stdin.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" { inflate(io::stdin()) } else { inflate(File::open(path)?) }
}

/// Returns the uncompressed content of `raw`.
pub(crate) fn inflate(raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let consumed = Arc::new(AtomicU64::new(0));
    let mut raw = Counted { source: raw, consumed: consumed.clone() };
    let mut start = Vec::new();
    raw.by_ref().take(SIGNATURE as u64).read_to_end(&mut start)?;
    let is = |signature: &[u8]| start.starts_with(signature);
    let (gzip, zstandard, bzip2) = (is(&[0x1f, 0x8b]), is(&[0x28, 0xb5, 0x2f, 0xfd]), is(b"BZh"));
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(start).chain(raw);
    Ok(match () {
        () if gzip => bounded(MultiGzDecoder::new(whole), consumed),
        () if zstandard => bounded(zstd::Decoder::new(whole)?, consumed),
        () if bzip2 => bounded(MultiBzDecoder::new(whole), consumed),
        () => Box::new(whole),
    })
}

/// Bounds what `source` may give, which inflates `compressed` bytes.
pub(crate) fn bounded_by_size<'a>(
    source: impl Read + Send + 'a,
    compressed: u64,
) -> Box<dyn Read + Send + 'a> {
    bounded(source, Arc::new(AtomicU64::new(compressed)))
}

fn bounded<'a>(source: impl Read + Send + 'a, consumed: Arc<AtomicU64>) -> Box<dyn Read + Send + 'a> {
    Box::new(Bounded { source, consumed, given: 0 })
}

/// Counts what is read.
struct Counted<R> {
    source: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.consumed.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Passes on what a decoder gives, as long as that is in proportion to what it has consumed.
struct Bounded<R> {
    source: R,
    /// Compressed bytes that the decoder has read so far.
    consumed: Arc<AtomicU64>,
    /// Bytes that it has given.
    given: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.given += read as u64;
        let compressed = self.consumed.load(Ordering::Relaxed);
        if self.given > ALWAYS_ALLOWED.max(compressed.saturating_mul(MAX_RATIO)) {
            let given = self.given;
            return Err(io::Error::other(format!(
                "{compressed} compressed bytes inflate to more than {given}: no games compress like this"
            )));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn inflated(bytes: Vec<u8>) -> String {
        let mut text = String::new();
        inflate(Cursor::new(bytes)).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn every_compression_is_told_by_its_content() {
        let text = "1. e4 e5 *\n".repeat(100);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(text.as_bytes()).unwrap();
        assert_eq!(inflated(gzip.finish().unwrap()), text);
        assert_eq!(inflated(bzip2.finish().unwrap()), text);
        assert_eq!(inflated(zstd::encode_all(text.as_bytes(), 1).unwrap()), text);
        assert_eq!(inflated(text.clone().into_bytes()), text);
        assert_eq!(inflated(b"*".to_vec()), "*", "shorter than any signature");
        assert_eq!(inflated(Vec::new()), "");
    }

    /// A regression: a few kilobytes inflated without end, into memory where openings and records are read.
    #[test]
    fn bombs_are_refused_within_their_bounds() {
        let bomb = zstd::encode_all(io::repeat(0).take(100 << 20), 1).unwrap();
        let mut seen = 0;
        let mut reader = inflate(Cursor::new(bomb)).unwrap();
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
