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
    /// The operating system refused.
    #[error("cannot be read: {0}")]
    Read(#[source] std::io::Error),
    /// The gzip layer is damaged or ends early.
    #[error("gzip: {reason} after {decoded} bytes, so the download may be incomplete or damaged")]
    Gzip { reason: String, decoded: u64 },
    /// More data than a network of this file size can hold.
    #[error("gzip: {compressed} bytes inflate to more than {limit}: no network compresses like this")]
    TooLarge { compressed: u64, limit: u64 },
    /// The first bytes are not those of a network.
    #[error("content: {found}. An Lc0 network (.pb.gz, .pb) or an ONNX model is expected")]
    Foreign { found: String },
    /// A protobuf message is malformed.
    #[error("protobuf: {reason}, so the file may be incomplete or damaged")]
    Protobuf { reason: String },
    /// The file was made for a newer Lc0.
    #[error("min_version: made for Lc0 {needed} or newer. This program reads formats up to Lc0 {known}")]
    Version { needed: String, known: String },
    /// A format field has a value that we do not know or do not support.
    #[error("{part}: {found} is not supported. Supported: {supported}")]
    Unsupported { part: String, found: String, supported: String },
    /// A part that the format requires is absent.
    #[error("{part}: missing, but {reason}")]
    Missing { part: String, reason: String },
    /// A layer has the wrong number of numbers.
    #[error("{part}: {expected} {what} expected for {shape}, found {found}")]
    Size { part: String, what: String, expected: usize, shape: String, found: usize },
    /// Sizes of two parts do not fit each other.
    #[error("{part}: {reason}")]
    Mismatch { part: String, reason: String },
    /// A layer holds NaN or an infinity.
    #[error("{part}: value {index} is {value}, but weights must be finite")]
    NotFinite { part: String, index: usize, value: f32 },
    /// The chosen head is not in the file.
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
