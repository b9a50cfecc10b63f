//! Recognises a network file, inflates it within bounds, and fingerprints it.
//!
//! The protobuf parser frees the content's small chunks while it reads, so that the inflated file and its
//! layers are never both in memory as a whole.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::{Buf, Bytes};
use flate2::bufread::GzDecoder;
use prost::Message;
use sha2::{Digest, Sha256};

use super::error::{Checked, NetworkFault, fault, foreign, protobuf};
use crate::files::{FileKind as OtherKind, TELLING, Watched, hex};
use crate::foreign::in_our_words;

/// Bytes, below the size from which glibc maps memory page by page, so that freed chunks are reused.
const CHUNK: usize = 64 << 10;
/// Bytes to which every file may inflate.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// Beyond [`ALWAYS_ALLOWED`] a file may inflate by this factor: weights are close to random and hardly
/// compress.
const MAX_RATIO: u64 = 8;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Field 1 (fixed32) of [`super::message::Net`], the magic number 0x1c0.
pub(super) const NETWORK_START: [u8; 5] = [0x0d, 0xc0, 0x01, 0x00, 0x00];
/// Field 1 (varint) of an ONNX model: the IR version.
const ONNX_START: u8 = 0x08;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Lc0,
    Onnx,
}

pub(crate) struct Content {
    pub(crate) kind: FileKind,
    pub(crate) chunks: Chunks,
    /// Of the file on disk, in hexadecimal.
    pub(crate) sha256: String,
    /// On disk, in bytes.
    pub(crate) size: u64,
}

pub(crate) fn open(path: &Path) -> Checked<Content> {
    // Before opening it: nobody may ever write to a pipe.
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() {
            "a folder"
        } else {
            "a pipe or a device"
        };
        let text = format!("it is {what}, name a file on a disk");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text).into());
    }
    // A file may grow meanwhile without end.
    read(File::open(path)?.take(metadata.len()), metadata.len())
}

/// Compressed or not.
pub(crate) fn begins_as_network(path: &Path) -> bool {
    let mut start = [0; NETWORK_START.len()];
    let read = |start: &mut [u8]| -> io::Result<()> {
        let mut reader = BufReader::with_capacity(512, File::open(path)?);
        if reader.fill_buf()?.starts_with(&GZIP_MAGIC) {
            GzDecoder::new(reader).read_exact(start)
        } else {
            reader.read_exact(start)
        }
    };
    read(&mut start).is_ok() && start == NETWORK_START
}

pub(crate) fn read(source: impl Read, size: u64) -> Checked<Content> {
    let mut sha256 = Sha256::new();
    let see = |read: &[u8]| {
        sha256.update(read);
        Ok(())
    };
    let mut reader = BufReader::with_capacity(CHUNK, Watched { source, see });
    let zipped = reader.fill_buf()?.starts_with(&GZIP_MAGIC);
    let mut collector = ChunkCollector {
        chunks: Chunks::default(),
        kind: None,
        size,
        limit: None,
    };
    if zipped {
        collector.limit = Some(ALWAYS_ALLOWED.max(size.saturating_mul(MAX_RATIO)));
        while reader.fill_buf()?.starts_with(&GZIP_MAGIC) {
            collector.read_from(&mut GzDecoder::new(&mut reader))?;
        }
        // Bytes after the last gzip member only count for the fingerprint.
        io::copy(&mut reader, &mut io::sink())?;
    } else {
        collector.read_from(&mut reader)?;
    }
    let Some(kind) = collector.kind else {
        return Err(foreign("nothing, the file is empty"));
    };
    let sha256 = hex(&sha256.finalize());
    Ok(Content {
        kind,
        chunks: collector.chunks,
        sha256,
        size,
    })
}

/// Gathers chunks and recognises the file by the first.
struct ChunkCollector {
    chunks: Chunks,
    kind: Option<FileKind>,
    size: u64,
    /// The bytes to which gzip may inflate.
    limit: Option<u64>,
}

impl ChunkCollector {
    fn read_from(&mut self, source: &mut impl Read) -> Checked<()> {
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            let read = source.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
            read.map_err(|error| self.unreadable(error))?;
            if chunk.is_empty() {
                return Ok(());
            }
            if self.kind.is_none() {
                self.kind = Some(recognise(&chunk)?);
            }
            self.chunks.push(chunk.into());
            if let Some(limit) = self.limit.filter(|&limit| self.chunks.remaining as u64 > limit) {
                let size = self.size;
                let reason =
                    format!("{size} bytes inflate to more than {limit}: no network compresses like this");
                return Err(fault("gzip", reason));
            }
        }
    }

    /// Names gzip in an error that a member's data cause, not the disk.
    fn unreadable(&self, error: io::Error) -> NetworkFault {
        if self.limit.is_none() {
            return error.into();
        }
        let read = format!("{} after {} bytes", in_our_words(&error), self.chunks.remaining);
        fault(
            "gzip",
            format!("{read}, so the download may be incomplete or damaged"),
        )
    }
}

fn recognise(start: &[u8]) -> Checked<FileKind> {
    let other = OtherKind::of(&start[..start.len().min(TELLING)]).filter(|kind| *kind != OtherKind::BINARY);
    let found = match start {
        _ if start.starts_with(&NETWORK_START) => return Ok(FileKind::Lc0),
        [ONNX_START, ..] if start.len() > 16 && other.is_none() => return Ok(FileKind::Onnx),
        [b'1' | b'2', b'\r' | b'\n', ..] => "Lc0's old text format, which Lc0 itself no longer reads".into(),
        _ if start.starts_with(&GZIP_MAGIC) => "gzip inside gzip, which must be unpacked once".into(),
        _ if start.starts_with(b"PK") => {
            "a zip archive: unzip it if a network is in it. Checkpoints of PyTorch and Keras are no networks: \
             export them as ONNX"
                .into()
        }
        // A name, a version, and the number of planes.
        _ if start.splitn(4, |&byte| byte == b'\n').nth(2) == Some(b"22") => {
            "a network of KataGo, for Go".into()
        }
        [0x0d, a, b, c, d, ..] => {
            format!("magic number {:#x} instead of 0x1c0", u32::from_le_bytes([*a, *b, *c, *d]))
        }
        _ => match other {
            Some(kind) => kind.to_string(),
            None if OtherKind::of(start).is_none() => {
                let text: String = String::from_utf8_lossy(start).lines().next().unwrap_or_default().chars().take(40).collect();
                format!("text, which begins with {text:?}")
            }
            None => {
                let bytes: Vec<_> = start.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                format!("starts with {}", bytes.join(" "))
            }
        },
    };
    Err(foreign(&found))
}

/// Steps of reading a network: fields cost two or more, each chunk of weights one.
///
/// The largest known networks take 20,000. Without a bound a file of a few kilobytes could fill the memory
/// with empty layers.
const MAX_STEPS: usize = 1 << 17;
/// Given after too many steps: no message begins with it, so the parser stops.
static NOTHING: [u8; 256] = [0; 256];

#[derive(Debug, Default)]
pub(crate) struct Chunks {
    queue: VecDeque<Bytes>,
    remaining: usize,
    steps: usize,
}

impl Chunks {
    fn push(&mut self, chunk: Bytes) {
        self.remaining += chunk.len();
        self.queue.push_back(chunk);
    }

    pub(crate) fn decode<M: Message + Default>(mut self) -> Checked<M> {
        let message = M::decode(&mut self);
        if self.steps > MAX_STEPS {
            return Err(protobuf("more fields than any network has"));
        }
        Ok(message?)
    }
}

impl From<Bytes> for Chunks {
    fn from(bytes: Bytes) -> Chunks {
        let mut chunks = Chunks::default();
        chunks.push(bytes);
        chunks
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        if self.steps > MAX_STEPS {
            return &NOTHING[..self.remaining.min(NOTHING.len())];
        }
        self.queue.front().map_or(&[], |front| front)
    }

    fn advance(&mut self, count: usize) {
        assert!(
            count <= self.remaining,
            "advanced past the end: a broken contract of Buf"
        );
        self.remaining -= count;
        self.steps += 1;
        let mut left = count;
        while let Some(front) = self.queue.front_mut() {
            if left < front.len() {
                front.advance(left);
                return;
            }
            left -= front.len();
            self.queue.pop_front();
        }
    }
}
