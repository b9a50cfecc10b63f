//! Files as people have them: what a file is by its first bytes, its content without compression, its lines,
//! and how a hash is written.
//!
//! Whatever reads games, positions, suites or configuration opens its file here, so that all of them know the
//! same compressions and encodings, and call a file that is something else by its name. Networks are read by
//! [`network`](crate::network), which asks [`FileKind`] for the names of other files. This module uses
//! nothing else of the crate.

mod content;
mod kind;
mod lines;
mod zipped;

pub(crate) use content::open_text;
#[cfg(feature = "lab")]
pub(crate) use content::{open, text};
pub(crate) use kind::{FileKind, TELLING};
#[cfg(feature = "lab")]
pub(crate) use lines::decode;
pub(crate) use lines::{LineError, Lines};

/// Writes bytes, as those of a hash, in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
