//! The reasons why network files are refused: every text names the file, the part of it, and the cause.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// A network file that cannot be used.
#[derive(Debug, Error)]
#[error("{}: {kind}", path.display())]
pub struct NetworkError {
    /// The file.
    pub path: PathBuf,
    /// The reason why it cannot be used.
    #[source]
    pub kind: NetworkErrorKind,
}

impl NetworkError {
    pub(super) fn new(path: &Path, kind: NetworkErrorKind) -> NetworkError {
        NetworkError { path: path.into(), kind }
    }
}

/// Says what is wrong with a network file. The texts contain the fields.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum NetworkErrorKind {
    #[error("cannot be read: {0}")]
    Read(#[source] std::io::Error),
    #[error("gzip: {reason} after {decoded} bytes, so the download may be incomplete or damaged")]
    Gzip { reason: String, decoded: u64 },
    #[error("gzip: {compressed} bytes inflate to more than {limit}: no network compresses like this")]
    TooLarge { compressed: u64, limit: u64 },
    #[error("content: {found}. An Lc0 network (.pb.gz, .pb) or an ONNX model is expected")]
    Foreign { found: String },
    #[error("protobuf: {reason}, so the file may be incomplete or damaged")]
    Protobuf { reason: String },
    #[error("min_version: made for Lc0 {needed} or newer. This program reads formats up to Lc0 {known}")]
    Version { needed: String, known: String },
    #[error("{part}: {found} is not supported. Supported: {supported}")]
    Unsupported { part: String, found: String, supported: String },
    #[error("{part}: missing, but {reason}")]
    Missing { part: String, reason: String },
    #[error("{part}: {expected} {what} expected for {shape}, found {found}")]
    Size { part: String, what: String, expected: usize, shape: String, found: usize },
    #[error("{part}: {reason}")]
    Mismatch { part: String, reason: String },
    #[error("{part}: value {index} is {value}, but weights must be finite")]
    NotFinite { part: String, index: usize, value: f32 },
    #[error("{kind} head: \"{wanted}\" is not in this network. Present: {present}")]
    Head { kind: &'static str, wanted: String, present: String },
}

impl From<prost::DecodeError> for NetworkErrorKind {
    /// Keeps the path of the field that is wrong, and says in plain words what prost says in its own.
    fn from(error: prost::DecodeError) -> NetworkErrorKind {
        let text = error.to_string();
        let reason = text.trim_start_matches("failed to decode Protobuf message: ");
        NetworkErrorKind::Protobuf { reason: reason.replace("buffer underflow", "data end early") }
    }
}
