//! `demux` and `multiplexing`: threads of the devices take positions out of queues.
//!
//! With `demux` every device has a queue of its own, and a batch is split over all queues in proportion to the batch
//! sizes that the devices prefer. With `multiplexing` all devices share one queue, and a device that is free takes as
//! many waiting batches as it likes to evaluate together. The positions that a failed device leaves are sent out again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam::channel::unbounded;

use super::device_pool::{DevicePool, PooledDevice};
use super::queue::{Queue, Request, Response};
use super::{Device, MULTIPLEXING};
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator};

/// The backend `demux` or `multiplexing`.
#[derive(Debug)]
pub(super) struct Dispatch {
    info: BackendInfo,
    state: Arc<DispatchState>,
}

/// The devices and queues that all evaluators share.
#[derive(Debug)]
struct DispatchState {
    pool: Arc<DevicePool>,
    routes: Vec<Route>,
    /// Turns the order in which routes get their share, so that single positions don't all go to one.
    turn: AtomicUsize,
}

/// A queue with the devices that serve it.
#[derive(Debug)]
struct Route {
    queue: Arc<Queue>,
    devices: Vec<Arc<PooledDevice>>,
    /// The part of a batch that goes this way, relative to the weights of other routes.
    weight: usize,
}

impl Route {
    /// Returns a route to `devices`, whose queue `threads` threads serve.
    fn to(devices: &[Arc<PooledDevice>], threads: usize) -> Route {
        Route {
            queue: Arc::new(Queue::new(threads)),
            devices: devices.to_vec(),
            weight: devices.iter().map(|device| device.info().preferred_batch).sum(),
        }
    }

    fn is_open(&self) -> bool {
        self.devices.iter().any(|device| device.is_alive())
    }
}

impl Dispatch {
    /// Returns the backend that `pool` names, `demux` or `multiplexing`, of `devices`, which are those of `pool`.
    ///
    /// # Errors
    /// Fails if the devices want positions encoded differently, one has no room for its evaluators, or the system
    /// refuses a thread.
    pub(super) fn new(pool: Arc<DevicePool>, devices: &[Device]) -> Result<Dispatch, BackendError> {
        let joins = pool.name() == MULTIPLEXING;
        let how = if joins { "batches go to whichever is free of" } else { "batches are split over" };
        let mut info = pool.joint_info(how)?;
        let routes = if joins {
            vec![Route::to(pool.devices(), devices.iter().map(|device| device.threads).sum())]
        } else {
            info.max_batch = pool.devices().iter().map(|device| device.info().max_batch).sum();
            info.preferred_batch = pool.devices().iter().map(|device| device.info().preferred_batch).sum();
            let each = pool.devices().chunks(1).zip(devices);
            each.map(|(pooled, device)| Route::to(pooled, device.threads)).collect()
        };
        if info.queues > 0 {
            let threads = devices.iter().map(|device| device.threads);
            info.queues = if joins { threads.sum() } else { threads.max().unwrap_or(1) };
        }
        // From here on a failure drops the routes, which ends the threads that were started.
        let state = Arc::new(DispatchState { pool, routes, turn: AtomicUsize::new(0) });
        for (index, (device, pooled)) in devices.iter().zip(state.pool.devices()).enumerate() {
            let (route, join_up_to) = if joins { (0, device.join_up_to) } else { (index, 0) };
            for _ in 0..device.threads {
                let thread = DeviceThread {
                    pool: state.pool.clone(),
                    device: pooled.clone(),
                    queue: state.routes[route].queue.clone(),
                    join_up_to,
                };
                thread.start()?;
            }
        }
        Ok(Dispatch { info, state })
    }
}

impl Backend for Dispatch {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(Dispatcher(self.state.clone())))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.state.pool.busy_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.state.pool.take_notes()
    }
}

impl Drop for DispatchState {
    fn drop(&mut self) {
        self.routes.iter().for_each(|route| route.queue.close());
    }
}

/// Sends batches out and waits for them.
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
            let (back, responses) = unbounded();
            for Share { route, range } in missing.drain(..).flat_map(|range| shares(range, &open, turn)) {
                let start = range.start;
                let slots = batch[range].iter_mut().map(std::mem::take).collect();
                route.queue.push(Request { slots, start, back: back.clone() });
            }
            // The loop below ends when the last request is answered.
            drop(back);
            for Response { slots, start, is_evaluated } in responses {
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

/// The positions of a batch that go one way.
struct Share<'a> {
    route: &'a Route,
    range: Range<usize>,
}

/// Cuts `range` by the weights of the `routes`, at least one; the first share goes to another route each `turn`.
fn shares<'a>(range: Range<usize>, routes: &[&'a Route], turn: usize) -> Vec<Share<'a>> {
    let total: usize = routes.iter().map(|route| route.weight).sum();
    let mut weight = 0;
    let mut start = range.start;
    let mut shares = Vec::with_capacity(routes.len());
    for place in 0..routes.len() {
        let route = routes[(turn + place) % routes.len()];
        weight += route.weight;
        let end = range.start + (range.len() * weight).div_ceil(total.max(1)).min(range.len());
        if end > start {
            shares.push(Share { route, range: start..end });
            start = end;
        }
    }
    shares
}

/// A thread that evaluates on one device the positions of one queue.
struct DeviceThread {
    pool: Arc<DevicePool>,
    device: Arc<PooledDevice>,
    queue: Arc<Queue>,
    /// Positions up to which waiting batches are joined; 0 joins none.
    join_up_to: usize,
}

impl DeviceThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// Fails if the device has no room for an evaluator, or the system refuses the thread.
    fn start(self) -> Result<(), BackendError> {
        let evaluator = self.device.backend().evaluator()?;
        let backend = self.pool.name().to_owned();
        let thread = std::thread::Builder::new().name("device".into()).spawn(move || self.run(evaluator));
        thread.map(drop).map_err(|source| BackendError::Thread { backend, source })
    }

    /// Evaluates until the device fails or the backend is dropped.
    fn run(self, mut evaluator: Box<dyn Evaluator>) {
        let mut batch = Vec::new();
        while let Some(mut requests) = self.queue.take(self.join_up_to, || self.device.is_alive()) {
            let counts: Vec<usize> = requests.iter().map(|request| request.slots.len()).collect();
            batch.extend(requests.iter_mut().flat_map(|request| request.slots.drain(..)));
            let is_evaluated = self.pool.evaluate(&self.device, &mut *evaluator, &mut batch);
            let mut slots = batch.drain(..);
            for (mut request, count) in requests.into_iter().zip(counts) {
                request.slots.extend(slots.by_ref().take(count));
                request.answer(is_evaluated);
            }
        }
        self.queue.leave();
    }
}
