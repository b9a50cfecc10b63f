//! Backends without a network, for tests and for measuring the search alone or against an accelerator.
//!
//! They compute with integers and exactly rounded floats only, so that whole searches can be compared by a
//! signature on any machine.

pub mod random;
pub mod simulated;
pub mod trivial;

use std::fmt::Debug;

use crate::network::{Backend, BackendError, BackendInfo, Evaluator};

/// A backend whose evaluators are all like `evaluator`.
#[derive(Debug)]
pub struct Synthetic<E> {
    info: BackendInfo,
    evaluator: E,
}

impl<E: Evaluator + Copy + Debug + Sync + 'static> Backend for Synthetic<E> {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.evaluator))
    }
}
