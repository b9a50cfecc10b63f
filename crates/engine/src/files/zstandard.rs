//! Inflates Zstandard.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// All frames of a file, one behind the other, with their checksums.
pub struct Zstandard<R> {
    source: BufReader<R>,
    frame: FrameDecoder,
}

impl<R: Read> Zstandard<R> {
    pub fn new(source: R) -> Self {
        Zstandard {
            source: BufReader::new(source),
            frame: FrameDecoder::new(),
        }
    }

    /// Begins the next frame with content. False if there is none.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        match self.frame.get_checksum_from_data() {
            Some(sum) if self.frame.get_calculated_checksum() != Some(sum) => Err(io::Error::new(
                ErrorKind::InvalidData,
                "the checksum of a Zstandard frame is wrong",
            )),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Zstandard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.frame.can_collect() == 0 {
            if !self.frame.is_finished() {
                self.frame
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
                continue;
            }
            self.check()?;
            if !self.begin_frame()? {
                return Ok(0);
            }
        }
        self.frame.read(buffer)
    }
}
