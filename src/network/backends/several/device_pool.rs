//! The devices of a backend of several: each one evaluates until its first failure.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;

use super::Device;
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Processor};

/// A device of the pool. `is_alive` becomes false once and stays so; a thread that reads it late only fails once more.
#[derive(Debug)]
pub(super) struct PooledDevice {
    label: String,
    backend: Arc<dyn Backend>,
    is_alive: AtomicBool,
}

/// Says why a device drops out.
#[derive(Debug, Error)]
enum DeviceFailure {
    /// An evaluation failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// An evaluation panicked.
    #[error("it panicked")]
    Panic,
}

impl PooledDevice {
    /// Returns the description of the device's backend.
    pub(super) fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    /// Returns the backend that evaluates on the device.
    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Returns whether the device has not failed so far.
    pub(super) fn is_alive(&self) -> bool {
        self.is_alive.load(Ordering::Relaxed)
    }

    /// Evaluates a batch of any size; a panic is a failure like others.
    fn evaluate(&self, evaluator: &mut dyn Evaluator, batch: &mut [EvalSlot]) -> Result<(), DeviceFailure> {
        for chunk in batch.chunks_mut(self.info().max_batch) {
            catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(chunk)))
                .map_err(|_| DeviceFailure::Panic)??;
            EvalSlot::check_numbers(self.info(), chunk)?;
        }
        Ok(())
    }
}

/// All devices of a backend, and the notes on them that people have not seen yet.
#[derive(Debug)]
pub(super) struct DevicePool {
    /// The backend's name.
    name: String,
    devices: Vec<Arc<PooledDevice>>,
    notes: Mutex<Vec<String>>,
}

impl DevicePool {
    /// Returns the devices of the backend `name`. Its first notes are `notes` and, where there are several devices, a
    /// description of each.
    pub(super) fn new(name: &str, devices: &[Device], mut notes: Vec<String>) -> Arc<DevicePool> {
        let pooled = |device: &Device| {
            Arc::new(PooledDevice {
                label: device.label.clone(),
                backend: device.backend.clone(),
                is_alive: AtomicBool::new(true),
            })
        };
        let devices: Vec<_> = devices.iter().map(pooled).collect();
        let describe =
            |device: &Arc<PooledDevice>| format!("{name}: {}: {}", device.label, device.info().description);
        let is_several = devices.len() > 1;
        notes.extend(devices.iter().flat_map(|device| {
            let inner = device.backend.take_notes();
            is_several.then(|| describe(device)).into_iter().chain(inner)
        }));
        Arc::new(DevicePool { name: name.into(), devices, notes: Mutex::new(notes) })
    }

    /// Returns the name of the backend to which the devices belong.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns all devices, also those that have failed.
    pub(super) fn devices(&self) -> &[Arc<PooledDevice>] {
        &self.devices
    }

    /// Returns the description of all devices as one backend. The batch sizes are those of a backend that hands a batch
    /// on as it is.
    ///
    /// # Errors
    /// Fails if the devices want positions encoded differently, or there is none.
    pub(super) fn joint_info(&self, how: &str) -> Result<BackendInfo, BackendError> {
        let infos = || self.devices.iter().map(|device| device.info());
        let refused =
            |reason: &str| BackendError::Model { backend: self.name.clone(), reason: reason.into() };
        let first = infos().next().ok_or_else(|| refused("it has no devices"))?;
        if infos().any(|info| info.input_format != first.input_format) {
            return Err(refused("its devices want positions encoded differently"));
        }
        if infos().any(|info| info.virtual_pace.is_some()) {
            return Err(refused("several devices have no virtual time, use clock=real"));
        }
        let is_cpu = infos().all(|info| info.processor == Processor::Cpu);
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
            processor: if is_cpu { Processor::Cpu } else { Processor::Accelerator },
            preferred_threads: infos().map(|info| info.preferred_threads).sum(),
            queues: infos().map(|info| info.queues).sum(),
            virtual_pace: None,
        })
    }

    /// Evaluates `batch` on `device` and returns whether that succeeded. A device that fails drops out, with a note.
    pub(super) fn evaluate(
        &self,
        device: &PooledDevice,
        evaluator: &mut dyn Evaluator,
        batch: &mut [EvalSlot],
    ) -> bool {
        let result = device.evaluate(evaluator, batch);
        if let Err(failure) = &result {
            self.drop_out(device, failure);
        }
        result.is_ok()
    }

    /// Takes `device` out of service and adds a note on that. Threads of one device fail together; one note is enough.
    fn drop_out(&self, device: &PooledDevice, reason: &dyn Display) {
        if device.is_alive.swap(false, Ordering::Relaxed) {
            let left = self.devices.iter().filter(|device| device.is_alive()).count();
            let (name, label, count) = (&self.name, &device.label, self.devices.len());
            let note = format!("ERROR: {name}: {label} drops out, {left} of {count} go on: {reason}");
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        }
    }

    /// Returns the error with which an evaluation fails when no device is left.
    pub(super) fn none_left(&self) -> BackendError {
        let reason = "all of its devices have failed; the messages before this one say why".into();
        BackendError::Evaluation { backend: self.name.clone(), reason }
    }

    /// Takes the notes of this backend and of its devices since the last call.
    pub(super) fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        notes.extend(self.devices.iter().flat_map(|device| device.backend.take_notes()));
        notes
    }

    /// Returns the mean busy time of the devices, if all of them know it.
    pub(super) fn busy_time(&self) -> Option<Duration> {
        let times: Option<Vec<_>> = self.devices.iter().map(|device| device.backend.busy_time()).collect();
        let count = self.devices.len().max(1) as u32;
        Some(times?.iter().sum::<Duration>() / count)
    }
}
