//! Opens the source of the text: a file or stdin, plain or compressed. Compression is recognised by the content, not by the name.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

/// The longest signature of a compressed file, bytes.
const SIGNATURE: usize = 4;

/// Opens a file and returns its uncompressed text; `-` is stdin.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path.as_os_str() == "-" { inflate(io::stdin()) } else { inflate(File::open(path)?) }
}

/// Returns the uncompressed text of `raw`.
pub(super) fn inflate(mut raw: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut start = Vec::new();
    raw.by_ref().take(SIGNATURE as u64).read_to_end(&mut start)?;
    let is = |signature: &[u8]| start.starts_with(signature);
    let (gzip, zstandard, bzip2) = (is(&[0x1f, 0x8b]), is(&[0x28, 0xb5, 0x2f, 0xfd]), is(b"BZh"));
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(start).chain(raw);
    Ok(match () {
        () if gzip => Box::new(MultiGzDecoder::new(whole)),
        () if zstandard => Box::new(zstd::Decoder::new(whole)?),
        () if bzip2 => Box::new(MultiBzDecoder::new(whole)),
        () => Box::new(whole),
    })
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
}
