//! Backends without state.

use std::fmt::Debug;

use crate::network::backend::{Backend, Evaluator};
use crate::network::backend_error::BackendError;
use crate::network::backend_info::BackendInfo;

/// A backend whose evaluators are all like `evaluator`.
#[derive(Debug)]
pub struct Synthetic<E> {
    pub(super) info: BackendInfo,
    pub(super) evaluator: E,
}

impl<E: Evaluator + Copy + Debug + Sync + 'static> Backend for Synthetic<E> {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.evaluator))
    }
}
