//! The errors of all rooms below.

use thiserror::Error;

use crate::chess::{MoveError, PositionError};
use crate::network::BackendError;
use crate::network::weights::NetworkError;
use crate::options::OptionError;
use crate::params::ParamError;
use crate::search::WorkerPoolError;
use crate::search::tree::TreeFull;

/// Why the engine refuses something. Its old state stays.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error(transparent)]
    Params(#[from] ParamError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("{0}. Nothing is searched until a position is accepted")]
    Position(#[from] PositionError),
    #[error("the last position was rejected: {0}")]
    NoPosition(String),
    #[error("{0}")]
    NetworkRefused(String),
    #[error(
        "{0}. The device is lost, and the engine with it (--fallback=cpu, option Fallback, lets the CPU evaluate then)"
    )]
    Lost(String),
    #[error("nothing ends this search: name nodes, depth, a time or a clock")]
    Endless,
    #[error("{name} is {ms} ms: a search takes finite times from 0 up")]
    Time { name: &'static str, ms: f64 },
    #[error("it cannot be searched: {0}")]
    RootMove(#[from] MoveError),
    #[error("no result for {position}: {reason}")]
    NoResult { position: String, reason: String },
    #[error("{0}. Send ucinewgame to free it")]
    Tree(#[from] TreeFull),
    #[error(transparent)]
    Workers(#[from] WorkerPoolError),
}
