//! What goes wrong with a backend.

use std::error::Error;

use crate::params::ParamError;

/// Why a backend cannot be made or cannot evaluate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    #[error(transparent)]
    Params(#[from] ParamError),
    #[error("the backend {backend} needs a network (option WeightsFile, flag --weights)")]
    NoNetwork { backend: String },
    /// A library that computes cannot be had.
    #[error(transparent)]
    Library(Box<dyn Error + Send + Sync>),
    #[error("{backend} cannot evaluate: {reason}")]
    Model { backend: String, reason: String },
    #[error("{backend}: cannot start a thread for a device: {reason}")]
    Thread { backend: String, reason: String },
    #[error("{0} (set --fallback=cpu, option Fallback, to use the CPU instead)")]
    NotAvailable(Box<BackendError>),
    #[error("{backend}: evaluation failed: {reason}")]
    Evaluation { backend: String, reason: String },
}

impl BackendError {
    /// How a device that is there has failed, if one has.
    pub(crate) fn of_device(&self) -> Option<&BackendError> {
        match self {
            BackendError::NotAvailable(error) if !matches!(**error, BackendError::Library(_)) => Some(error),
            _ => None,
        }
    }

    /// Whether the user's input is wrong, rather than a device, a library or a file.
    pub(crate) fn is_user_error(&self) -> bool {
        matches!(self, BackendError::Params(_) | BackendError::NoNetwork { .. })
    }
}
