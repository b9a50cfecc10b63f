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

use super::device_pool::{DevicePool, PooledDevice};
use super::queue::{Queue, Request, Response};
use super::{Device, MULTIPLEXING};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// The backend; see the module.
#[derive(Debug)]
pub(super) struct Dispatch {
    info: BackendInfo,
    shared: Arc<DispatchState>,
}

/// What all evaluators share.
#[derive(Debug)]
struct DispatchState {
    pool: Arc<DevicePool>,
    routes: Vec<Route>,
    /// Turns the order in which routes get their share, so that single positions don't all go to one.
    turn: AtomicUsize,
}

/// Where a share of a batch is handed in.
#[derive(Debug)]
struct Route {
    queue: Arc<Queue>,
    /// The devices behind it.
    pool: Vec<Arc<PooledDevice>>,
    /// The share that it gets, relative to others.
    weight: usize,
}

impl Route {
    fn is_open(&self) -> bool {
        self.pool.iter().any(|part| part.is_living())
    }
}

impl Dispatch {
    /// The backend `name`, `demux` or `multiplexing`, of `devices`, which are `pool`.
    ///
    /// # Errors
    /// If the devices want positions encoded differently, one has no room for its evaluators, or the system refuses
    /// a thread.
    pub(super) fn new(
        name: &str,
        pool: Arc<DevicePool>,
        devices: &[Device],
    ) -> Result<Dispatch, BackendError> {
        let joins = name == MULTIPLEXING;
        let how = if joins { "batches go to whichever is free of" } else { "batches are split over" };
        let mut info = pool.joint_info(how)?;
        if !joins {
            info.max_batch = pool.all().iter().map(|part| part.info().max_batch).sum();
            info.preferred_batch = pool.all().iter().map(|part| part.info().preferred_batch).sum();
        }
        let route = |pool: &[Arc<PooledDevice>], threads: usize| Route {
            queue: Arc::new(Queue::new(threads)),
            pool: pool.to_vec(),
            weight: pool.iter().map(|part| part.info().preferred_batch).sum(),
        };
        let routes: Vec<Route> = match joins {
            true => vec![route(pool.all(), devices.iter().map(|device| device.threads).sum())],
            false => {
                let each = pool.all().iter().zip(devices);
                each.map(|(part, device)| route(std::slice::from_ref(part), device.threads)).collect()
            }
        };
        // From here on a failure drops the routes, which sends home the threads that are there.
        let shared = Arc::new(DispatchState { pool, routes, turn: AtomicUsize::new(0) });
        for (index, (device, part)) in devices.iter().zip(shared.pool.all()).enumerate() {
            let (route, join_up_to) = if joins { (0, device.join_up_to) } else { (index, 0) };
            for _ in 0..device.threads {
                let device_thread = DeviceThread {
                    pool: shared.pool.clone(),
                    part: part.clone(),
                    queue: shared.routes[route].queue.clone(),
                    join_up_to,
                };
                device_thread.start()?;
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
        self.shared.pool.busy_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.shared.pool.take_notes()
    }
}

impl Drop for DispatchState {
    fn drop(&mut self) {
        self.routes.iter().for_each(|route| route.queue.close());
    }
}

/// Hands batches in and waits for them.
struct Dispatcher(Arc<DispatchState>);

impl Evaluator for Dispatcher {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let mut missing: Vec<_> = std::iter::once(0..batch.len()).collect();
        while !missing.is_empty() {
            let open: Vec<&Route> = self.0.routes.iter().filter(|route| route.is_open()).collect();
            if open.is_empty() {
                return Err(self.0.pool.none_left());
            }
            let turn = self.0.turn.fetch_add(1, Ordering::Relaxed);
            let (back, returns) = unbounded();
            for (route, share) in missing.drain(..).flat_map(|range| shares(range, &open, turn)) {
                let start = share.start;
                let slots = batch[share].iter_mut().map(std::mem::take).collect();
                route.queue.push(Request { slots, start, back: back.clone() });
            }
            // The loop below ends when the last request is finished.
            drop(back);
            for Response { slots, start, is_evaluated } in returns {
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

/// Cuts `range` by the weights of the routes; the first cut goes to another one each `turn`.
fn shares<'a>(range: Range<usize>, routes: &[&'a Route], turn: usize) -> Vec<(&'a Route, Range<usize>)> {
    let total: usize = routes.iter().map(|route| route.weight).sum();
    let mut weight = 0;
    let mut start = range.start;
    let mut shares = Vec::with_capacity(routes.len());
    for place in 0..routes.len() {
        let route = routes[(turn + place) % routes.len()];
        weight += route.weight;
        let end = range.start + (range.len() * weight).div_ceil(total.max(1)).min(range.len());
        if end > start {
            shares.push((route, start..end));
            start = end;
        }
    }
    shares
}

/// A thread of a device.
struct DeviceThread {
    pool: Arc<DevicePool>,
    part: Arc<PooledDevice>,
    queue: Arc<Queue>,
    join_up_to: usize,
}

impl DeviceThread {
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
        while let Some(mut requests) = self.queue.take(self.join_up_to, || self.part.is_living()) {
            let counts: Vec<usize> = requests.iter().map(|request| request.slots.len()).collect();
            batch.extend(requests.iter_mut().flat_map(|request| request.slots.drain(..)));
            let is_evaluated = self.pool.evaluate(&self.part, &mut *evaluator, &mut batch);
            let mut slots = batch.drain(..);
            for (mut request, count) in requests.into_iter().zip(counts) {
                request.slots.extend(slots.by_ref().take(count));
                request.finish(is_evaluated);
            }
        }
        self.queue.leave();
    }
}
