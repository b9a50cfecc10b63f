//! `roundrobin`: each batch goes as it is to the next device in turn, on the thread that brings it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::device_pool::{DevicePool, PooledDevice};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// The backend; see the module.
#[derive(Debug)]
pub(super) struct RoundRobin {
    info: BackendInfo,
    pool: Arc<DevicePool>,
    /// The device of the next batch.
    next: Arc<AtomicUsize>,
}

impl RoundRobin {
    /// The backend of `pool`.
    ///
    /// # Errors
    /// If they want positions encoded differently.
    pub(super) fn new(pool: Arc<DevicePool>) -> Result<RoundRobin, BackendError> {
        let info = pool.joint_info("batches go in turn to")?;
        Ok(RoundRobin { info, pool, next: Arc::default() })
    }
}

impl Backend for RoundRobin {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        let living = self.pool.all().iter().filter(|part| part.is_living());
        let evaluators = living
            .map(|part| Ok((part.clone(), part.backend().evaluator()?)))
            .collect::<Result<_, BackendError>>()?;
        Ok(Box::new(Turns { pool: self.pool.clone(), next: self.next.clone(), evaluators }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.pool.busy_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.pool.take_notes()
    }
}

/// One evaluator of each device.
struct Turns {
    pool: Arc<DevicePool>,
    next: Arc<AtomicUsize>,
    evaluators: Vec<(Arc<PooledDevice>, Box<dyn Evaluator>)>,
}

impl Evaluator for Turns {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        loop {
            self.evaluators.retain(|(part, _)| part.is_living());
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(index) = turn.checked_rem(self.evaluators.len()) else {
                return Err(self.pool.none_left());
            };
            let (part, evaluator) = &mut self.evaluators[index];
            if self.pool.evaluate(part, &mut **evaluator, batch) {
                return Ok(());
            }
        }
    }
}
