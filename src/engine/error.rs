//! The reasons why the engine cannot carry out a command.

use thiserror::Error;

use crate::chess::PositionError;
use crate::network::BackendError;
use crate::network::weights::NetworkError;
use crate::options::OptionError;
use crate::params::ParamError;
use crate::search::tree::TreeFull;
use crate::search::{ContemptError, WorkerPoolError};

/// The reason why the engine could not carry out a command.
#[derive(Debug, Error)]
pub enum EngineError {
    /// An option's name or value was refused.
    #[error("{}{}", .0, option_error_suffix(.0))]
    Option(#[from] OptionError),
    /// A parameter inside an option's value was refused.
    #[error("{0}; the old value stays")]
    Params(#[from] ParamError),
    /// The network could not be read, or its backend could not be made.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The network file cannot be used.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// An opponent's entry in the option `Contempt` was refused.
    #[error("{0}; the old value stays")]
    Contempt(#[from] ContemptError),
    /// The position was refused.
    #[error("{0}; nothing is searched until a position is accepted")]
    Position(#[from] PositionError),
    /// The last position was refused, so that there is none to search; the text says why it was.
    #[error("the last position was refused: {0}")]
    NoPosition(String),
    /// The network that the options ask for was refused before; the text says why.
    #[error("{0}")]
    NetworkRefused(String),
    /// A search ended without a move that one can rely on.
    #[error("no result for {position}: {reason}")]
    NoResult {
        /// The position, as FEN.
        position: String,
        /// What was wrong.
        reason: String,
    },
    /// The tree has no room left.
    #[error("{0}; send ucinewgame")]
    Tree(String),
    /// No search threads could be made ready.
    #[error(transparent)]
    Workers(#[from] WorkerPoolError),
}

impl EngineError {
    /// Returns whether there is no position to search, whatever it would be searched with.
    pub fn is_of_position(&self) -> bool {
        matches!(self, EngineError::Position(_) | EngineError::NoPosition(_))
    }
}

/// Returns what an error in an option means for the option.
fn option_error_suffix(error: &OptionError) -> &'static str {
    match error {
        OptionError::Unknown { .. } => "",
        OptionError::Value { .. } => "; the old value stays",
    }
}

impl From<TreeFull> for EngineError {
    fn from(full: TreeFull) -> Self {
        EngineError::Tree(full.to_string())
    }
}
