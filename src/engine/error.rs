//! The reasons why the engine cannot carry out a command.

use thiserror::Error;

use crate::chess::PositionError;
use crate::network::BackendError;
use crate::network::discover::DiscoverError;
use crate::network::weights::UnknownHead;
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
    /// No network was found where none was named.
    #[error(transparent)]
    Network(#[from] DiscoverError),
    /// The name of a head is not known.
    #[error("{0}; the old value stays")]
    Head(#[from] UnknownHead),
    /// An opponent's entry in the option `Contempt` was refused.
    #[error("{0}; the old value stays")]
    Contempt(#[from] ContemptError),
    /// The position was refused; the old one stays.
    #[error("{0}; the old position stays")]
    Position(#[from] PositionError),
    /// The tree has no room left.
    #[error("{0}; send ucinewgame")]
    Tree(String),
    /// No search threads could be made ready.
    #[error(transparent)]
    Workers(#[from] WorkerPoolError),
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
