//! Files as people have them: what they are, their content without compression, their lines.
//!
//! Whatever reads games, positions or configuration opens its file here, so that all know the same
//! compressions and encodings. [`network`](crate::network) asks [`FileKind`] for the names of other files.
//! This module uses nothing else of the crate.

use std::io::{self, Read};

mod content;
mod kind;
mod lines;
#[cfg(feature = "archives")]
mod zipped;
#[cfg(feature = "archives")]
mod zstandard;

pub use content::{open, open_text, read_text};
pub(crate) use kind::{FileKind, TELLING};
pub use lines::{LineError, Lines, decode, is_blank, path_of};
#[cfg(feature = "archives")]
pub use zstandard::Zstandard;

/// Passes on what `source` gives, once `see` has seen it or failed. At the end it sees nothing.
pub(crate) struct Watched<R, F> {
    pub(crate) source: R,
    pub(crate) see: F,
}

impl<R: Read, F: FnMut(&[u8]) -> io::Result<()>> Read for Watched<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        if !buffer.is_empty() {
            (self.see)(&buffer[..read])?;
        }
        Ok(read)
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
