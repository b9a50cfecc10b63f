//! The error type of all commands.

use std::error::Error as StdError;
use std::io;

use thiserror::Error;

use crate::engine::EngineError;
use crate::network::BackendError;
use crate::network::backends::onnxruntime::LibraryError;
use crate::network::weights::NetworkError;

/// The reason why a command could not do what it was asked for. Its text is the one message that the user sees.
#[derive(Debug, Error)]
pub enum Failure {
    /// The network or the backend could not be made ready, or failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The engine refused an option or a position.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The network file cannot be used.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// ONNX Runtime cannot be found or fetched.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A measurement of the laboratory failed; its own error says why.
    #[error(transparent)]
    Measurement(Box<dyn StdError + Send + Sync>),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The input is wrong; the text says what and where.
    #[error("{0}")]
    Input(String),
}

impl Failure {
    /// Returns true if the reader of our output has closed it, as `head` does. That is no error for the user.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
