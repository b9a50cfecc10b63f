//! `roundrobin`: each batch goes as it is to the next device in turn, on the thread that brings it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::part::{Part, Parts};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// The backend; see the module.
#[derive(Debug)]
pub(super) struct RoundRobin {
    info: BackendInfo,
    parts: Arc<Parts>,
    /// The device of the next batch.
    next: Arc<AtomicUsize>,
}

impl RoundRobin {
    /// The backend of `parts`.
    ///
    /// # Errors
    /// If they want positions encoded differently.
    pub(super) fn new(parts: Arc<Parts>) -> Result<RoundRobin, BackendError> {
        let info = parts.joint_info("batches go in turn to")?;
        Ok(RoundRobin { info, parts, next: Arc::default() })
    }
}

impl Backend for RoundRobin {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let living = self.parts.all().iter().filter(|part| part.is_living());
        let evaluators = living
            .map(|part| Ok((part.clone(), part.backend().evaluator()?)))
            .collect::<Result<_, BackendError>>()?;
        Ok(Box::new(Turns { parts: self.parts.clone(), next: self.next.clone(), evaluators }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.parts.busy_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.parts.take_notes()
    }
}

/// One evaluator of each device.
struct Turns {
    parts: Arc<Parts>,
    next: Arc<AtomicUsize>,
    evaluators: Vec<(Arc<Part>, Box<dyn Evaluator>)>,
}

impl Evaluator for Turns {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        loop {
            self.evaluators.retain(|(part, _)| part.is_living());
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(index) = turn.checked_rem(self.evaluators.len()) else {
                return Err(self.parts.none_left());
            };
            let (part, evaluator) = &mut self.evaluators[index];
            if self.parts.evaluate(part, &mut **evaluator, batch) {
                return Ok(());
            }
        }
    }
}
