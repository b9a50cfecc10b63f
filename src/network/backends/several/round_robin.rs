//! `roundrobin`: each batch goes as it is to the next device in turn, on the thread that brings it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::device_pool::{DevicePool, PooledDevice};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// The backend `roundrobin`.
#[derive(Debug)]
pub(super) struct RoundRobin {
    info: BackendInfo,
    pool: Arc<DevicePool>,
    /// The device of the next batch.
    next: Arc<AtomicUsize>,
}

impl RoundRobin {
    /// Returns the backend of the devices of `pool`.
    ///
    /// # Errors
    /// Fails if the devices want positions encoded differently.
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
        let alive = self.pool.devices().iter().filter(|device| device.is_alive());
        let evaluators = alive
            .map(|device| Ok((device.clone(), device.backend().evaluator()?)))
            .collect::<Result<_, BackendError>>()?;
        Ok(Box::new(RoundRobinEvaluator { pool: self.pool.clone(), next: self.next.clone(), evaluators }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.pool.busy_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.pool.take_notes()
    }
}

/// One evaluator of each device.
struct RoundRobinEvaluator {
    pool: Arc<DevicePool>,
    next: Arc<AtomicUsize>,
    evaluators: Vec<(Arc<PooledDevice>, Box<dyn Evaluator>)>,
}

impl Evaluator for RoundRobinEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        loop {
            self.evaluators.retain(|(device, _)| device.is_alive());
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(index) = turn.checked_rem(self.evaluators.len()) else {
                return Err(self.pool.none_left());
            };
            let (device, evaluator) = &mut self.evaluators[index];
            if self.pool.evaluate(device, &mut **evaluator, batch) {
                return Ok(());
            }
        }
    }
}
