//! A device as one part of several: alive until its first failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Device;
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Processor};

/// A part. `is_living` goes to false once and stays there; whoever reads it late only fails once more.
#[derive(Debug)]
pub(super) struct PooledDevice {
    label: String,
    backend: Arc<dyn Backend>,
    is_living: AtomicBool,
}

impl PooledDevice {
    pub(super) fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    pub(super) fn is_living(&self) -> bool {
        self.is_living.load(Ordering::Relaxed)
    }

    /// Evaluates a batch of any size; a panic is a failure like others.
    fn evaluate(&self, evaluator: &mut dyn Evaluator, batch: &mut [EvalSlot]) -> Result<(), String> {
        for chunk in batch.chunks_mut(self.info().max_batch) {
            match catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(chunk))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(error.to_string()),
                Err(_) => return Err("it panicked".into()),
            }
        }
        Ok(())
    }
}

/// All devices of a backend, and what people should know of them.
#[derive(Debug)]
pub(super) struct DevicePool {
    name: String,
    pool: Vec<Arc<PooledDevice>>,
    news: Mutex<Vec<String>>,
}

impl DevicePool {
    /// The devices of the backend `name`. Its news are `news` and what its devices are.
    pub(super) fn new(name: &str, devices: &[Device], mut news: Vec<String>) -> Arc<DevicePool> {
        let part = |device: &Device| {
            Arc::new(PooledDevice {
                label: device.label.clone(),
                backend: device.backend.clone(),
                is_living: AtomicBool::new(true),
            })
        };
        let pool: Vec<_> = devices.iter().map(part).collect();
        let describe =
            |part: &Arc<PooledDevice>| format!("{name}: {}: {}", part.label, part.info().description);
        let is_told = pool.len() > 1;
        news.extend(pool.iter().flat_map(|part| {
            let inner = part.backend.take_notes();
            is_told.then(|| describe(part)).into_iter().chain(inner)
        }));
        Arc::new(DevicePool { name: name.into(), pool, news: Mutex::new(news) })
    }

    pub(super) fn all(&self) -> &[Arc<PooledDevice>] {
        &self.pool
    }

    /// What the devices are together. The sizes of batches are those of a backend that hands a batch on as it is.
    ///
    /// # Errors
    /// If they want positions encoded differently, or there is none.
    pub(super) fn joint_info(&self, how: &str) -> Result<BackendInfo, BackendError> {
        let infos = || self.pool.iter().map(|part| part.info());
        let refuse = |reason: &str| BackendError::Model { backend: self.name.clone(), reason: reason.into() };
        let first = infos().next().ok_or_else(|| refuse("it has no devices"))?;
        if infos().any(|info| info.input_format != first.input_format) {
            return Err(refuse("its devices want positions encoded differently"));
        }
        Ok(BackendInfo {
            name: self.name.clone(),
            description: match infos().len() {
                1 => format!("{}, by {}", first.description, self.name),
                count => format!("{}: {how} {count} devices", self.name),
            },
            input_format: first.input_format,
            has_wdl: infos().all(|info| info.has_wdl),
            has_moves_left: infos().all(|info| info.has_moves_left),
            max_batch: infos().map(|info| info.max_batch).max().unwrap_or(1),
            preferred_batch: infos().map(|info| info.preferred_batch).min().unwrap_or(1),
            measures_batch: infos().any(|info| info.measures_batch),
            processor: match infos().all(|info| info.processor == Processor::Cpu) {
                true => Processor::Cpu,
                false => Processor::Accelerator,
            },
            preferred_threads: infos().map(|info| info.preferred_threads).sum(),
        })
    }

    /// Evaluates `batch` on `part`; a part that cannot drops out, with a message. Returns whether it could.
    pub(super) fn evaluate(
        &self,
        part: &PooledDevice,
        evaluator: &mut dyn Evaluator,
        batch: &mut [EvalSlot],
    ) -> bool {
        let Err(reason) = part.evaluate(evaluator, batch) else { return true };
        // Threads of one device fail together; one message is enough.
        if part.is_living.swap(false, Ordering::Relaxed) {
            let left = self.pool.iter().filter(|part| part.is_living()).count();
            let news = format!(
                "error: {}: {} drops out, {left} of {} go on: {reason}",
                self.name,
                part.label,
                self.pool.len()
            );
            self.news.lock().unwrap_or_else(PoisonError::into_inner).push(news);
        }
        false
    }

    /// What an evaluation fails with when no part is left.
    pub(super) fn none_left(&self) -> BackendError {
        let reason = "all of its devices have failed; the messages before this one say why".into();
        BackendError::Evaluation { backend: self.name.clone(), reason }
    }

    /// The news of this backend and of its devices since the last call.
    pub(super) fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
        notes.extend(self.pool.iter().flat_map(|part| part.backend.take_notes()));
        notes
    }

    /// The mean busy time of the devices, if all know it.
    pub(super) fn busy_time(&self) -> Option<std::time::Duration> {
        let times: Option<Vec<_>> = self.pool.iter().map(|part| part.backend.busy_time()).collect();
        let count = self.pool.len().max(1) as u32;
        Some(times?.iter().sum::<std::time::Duration>() / count)
    }
}
