//! `demux` and `multiplexing`: threads of the devices take positions out of queues.
//!
//! With `demux` every device has a queue of its own, and a batch is split over all queues in proportion to the batch
//! sizes that the devices prefer. With `multiplexing` all devices share one queue, and a device that is free takes as
//! many waiting batches as it likes to evaluate together. What a failed device leaves is sent out again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam::channel::unbounded;

use super::part::{Part, Parts};
use super::queue::{Errand, Queue, Return};
use super::{Device, MULTIPLEXING};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// The backend; see the module.
#[derive(Debug)]
pub(super) struct Dispatch {
    info: BackendInfo,
    shared: Arc<Shared>,
}

/// What all evaluators share.
#[derive(Debug)]
struct Shared {
    parts: Arc<Parts>,
    counters: Vec<Counter>,
    /// Turns the order in which counters get their share, so that single positions don't all go to one.
    turn: AtomicUsize,
}

/// Where a share of a batch is handed in.
#[derive(Debug)]
struct Counter {
    queue: Arc<Queue>,
    /// The devices behind it.
    parts: Vec<Arc<Part>>,
    /// The share that it gets, relative to others.
    weight: usize,
}

impl Counter {
    fn is_open(&self) -> bool {
        self.parts.iter().any(|part| part.is_living())
    }
}

impl Dispatch {
    /// The backend `name`, `demux` or `multiplexing`, of `devices`, which are `parts`.
    ///
    /// # Errors
    /// If the devices want positions encoded differently, one has no room for its evaluators, or the system refuses
    /// a thread.
    pub(super) fn new(name: &str, parts: Arc<Parts>, devices: &[Device]) -> Result<Dispatch, BackendError> {
        let joins = name == MULTIPLEXING;
        let how = if joins { "batches go to whichever is free of" } else { "batches are split over" };
        let mut info = parts.joint_info(how)?;
        if !joins {
            info.max_batch = parts.all().iter().map(|part| part.info().max_batch).sum();
            info.preferred_batch = parts.all().iter().map(|part| part.info().preferred_batch).sum();
        }
        let counter = |parts: &[Arc<Part>], threads: usize| Counter {
            queue: Arc::new(Queue::new(threads)),
            parts: parts.to_vec(),
            weight: parts.iter().map(|part| part.info().preferred_batch).sum(),
        };
        let counters: Vec<Counter> = match joins {
            true => vec![counter(parts.all(), devices.iter().map(|device| device.threads).sum())],
            false => {
                let each = parts.all().iter().zip(devices);
                each.map(|(part, device)| counter(std::slice::from_ref(part), device.threads)).collect()
            }
        };
        // From here on a failure drops the counters, which sends home the threads that are there.
        let shared = Arc::new(Shared { parts, counters, turn: AtomicUsize::new(0) });
        for (index, (device, part)) in devices.iter().zip(shared.parts.all()).enumerate() {
            let (counter, join_up_to) = if joins { (0, device.join_up_to) } else { (index, 0) };
            for _ in 0..device.threads {
                let server = Server {
                    parts: shared.parts.clone(),
                    part: part.clone(),
                    queue: shared.counters[counter].queue.clone(),
                    join_up_to,
                };
                server.start()?;
            }
        }
        Ok(Dispatch { info, shared })
    }
}

impl Backend for Dispatch {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(Dispatcher(self.shared.clone())))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.shared.parts.busy_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.shared.parts.take_notes()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.counters.iter().for_each(|counter| counter.queue.close());
    }
}

/// Hands batches in and waits for them.
struct Dispatcher(Arc<Shared>);

impl Evaluator for Dispatcher {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let mut missing: Vec<_> = std::iter::once(0..batch.len()).collect();
        while !missing.is_empty() {
            let open: Vec<&Counter> = self.0.counters.iter().filter(|counter| counter.is_open()).collect();
            if open.is_empty() {
                return Err(self.0.parts.none_left());
            }
            let turn = self.0.turn.fetch_add(1, Ordering::Relaxed);
            let (back, returns) = unbounded();
            for (counter, share) in missing.drain(..).flat_map(|range| shares(range, &open, turn)) {
                let start = share.start;
                let slots = batch[share].iter_mut().map(std::mem::take).collect();
                counter.queue.push(Errand { slots, start, back: back.clone() });
            }
            // The loop below ends when the last errand is finished.
            drop(back);
            for Return { slots, start, is_evaluated } in returns {
                let range = start..start + slots.len();
                batch[range.clone()].iter_mut().zip(slots).for_each(|(place, slot)| *place = slot);
                if !is_evaluated {
                    missing.push(range);
                }
            }
        }
        Ok(())
    }
}

/// Cuts `range` by the weights of the counters; the first cut goes to another one each `turn`.
fn shares<'a>(
    range: Range<usize>,
    counters: &[&'a Counter],
    turn: usize,
) -> Vec<(&'a Counter, Range<usize>)> {
    let total: usize = counters.iter().map(|counter| counter.weight).sum();
    let mut weight = 0;
    let mut start = range.start;
    let mut shares = Vec::with_capacity(counters.len());
    for place in 0..counters.len() {
        let counter = counters[(turn + place) % counters.len()];
        weight += counter.weight;
        let end = range.start + (range.len() * weight).div_ceil(total.max(1)).min(range.len());
        if end > start {
            shares.push((counter, start..end));
            start = end;
        }
    }
    shares
}

/// A thread of a device.
struct Server {
    parts: Arc<Parts>,
    part: Arc<Part>,
    queue: Arc<Queue>,
    join_up_to: usize,
}

impl Server {
    fn start(self) -> Result<(), BackendError> {
        let evaluator = self.part.backend().evaluator()?;
        let thread = std::thread::Builder::new().name("device".into()).spawn(move || self.serve(evaluator));
        thread.map(drop).map_err(|error| BackendError::Evaluation {
            backend: MULTIPLEXING.into(),
            reason: format!("the system refuses a thread for a device: {error}"),
        })
    }

    /// Evaluates until the device fails or the backend is dropped.
    fn serve(self, mut evaluator: Box<dyn Evaluator>) {
        let mut batch = Vec::new();
        while let Some(mut errands) = self.queue.take(self.join_up_to, || self.part.is_living()) {
            let counts: Vec<usize> = errands.iter().map(|errand| errand.slots.len()).collect();
            batch.extend(errands.iter_mut().flat_map(|errand| errand.slots.drain(..)));
            let is_evaluated = self.parts.evaluate(&self.part, &mut *evaluator, &mut batch);
            let mut slots = batch.drain(..);
            for (mut errand, count) in errands.into_iter().zip(counts) {
                errand.slots.extend(slots.by_ref().take(count));
                errand.finish(is_evaluated);
            }
        }
        self.queue.leave();
    }
}
