//! Backends without a network, for tests and for measuring the search alone or against an accelerator.
//!
//! They compute with integers and exactly rounded floats only, so that whole searches can be compared by a
//! signature on any machine.

pub mod random;
pub mod simulated;
pub mod trivial;

use std::fmt::Debug;

use crate::network::encode::InputFormat;
use crate::network::{Backend, BackendError, BackendInfo, Evaluator, cores};

/// For backends without a limit of their own.
const MAX_BATCH: usize = 65_536;

/// A backend whose evaluators are all like `evaluator`.
#[derive(Debug)]
pub struct Synthetic<E> {
    info: BackendInfo,
    evaluator: E,
}

impl<E: Evaluator + Copy + Debug + Sync + 'static> Backend for Synthetic<E> {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(self.evaluator))
    }
}

fn info(name: &str, description: String, has_wdl: bool, has_moves_left: bool) -> BackendInfo {
    BackendInfo {
        name: name.into(),
        description,
        input_format: InputFormat::Classical,
        has_wdl,
        has_moves_left,
        max_batch: MAX_BATCH,
        // Cheap for the search, and fills a vector machine. Others would do as well.
        preferred_batch: 32,
        preferred_threads: cores(),
        queues: 0,
        virtual_pace: None,
    }
}
