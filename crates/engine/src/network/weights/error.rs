//! What is wrong with a network file.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::foreign::in_our_words;

#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub struct NetworkError {
    pub path: PathBuf,
    #[source]
    pub fault: NetworkFault,
}

impl NetworkError {
    pub(super) fn new(path: &Path, fault: NetworkFault) -> NetworkError {
        NetworkError {
            path: path.into(),
            fault,
        }
    }
}

/// The part of a file that is wrong, and why.
#[derive(Debug, Error)]
#[error("{part}: {reason}")]
pub struct NetworkFault {
    part: String,
    reason: String,
}

pub(super) type Checked<T> = Result<T, NetworkFault>;

pub(super) fn fault(part: impl Into<String>, reason: impl Into<String>) -> NetworkFault {
    NetworkFault {
        part: part.into(),
        reason: reason.into(),
    }
}

pub(super) fn missing(part: &str, reason: &str) -> NetworkFault {
    fault(part, format!("missing, but {reason}"))
}

pub(super) fn unsupported(part: impl Into<String>, found: impl Display, supported: &str) -> NetworkFault {
    fault(part, format!("{found} is not supported. Supported: {supported}"))
}

pub(super) fn foreign(found: &str) -> NetworkFault {
    let expected = "An Lc0 network (.pb.gz, .pb) or an ONNX model is expected";
    fault("content", format!("{found}. {expected}"))
}

pub(super) fn protobuf(reason: &str) -> NetworkFault {
    fault(
        "protobuf",
        format!("{reason}, so the file may be incomplete or damaged"),
    )
}

impl From<std::io::Error> for NetworkFault {
    fn from(error: std::io::Error) -> NetworkFault {
        fault("cannot be read", in_our_words(&error))
    }
}

impl From<prost::DecodeError> for NetworkFault {
    /// Keeps the path of the wrong field and rephrases prost's text.
    fn from(error: prost::DecodeError) -> NetworkFault {
        let text = error.to_string();
        let reason = text.trim_start_matches("failed to decode Protobuf message: ");
        protobuf(&reason.replace("buffer underflow", "data end early"))
    }
}
