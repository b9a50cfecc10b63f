//! Backends of several devices: each device has a backend of its own, and together they are one.
//!
//! | name | what becomes of a batch |
//! |---|---|
//! | `demux` | it is split over all devices |
//! | `multiplexing` | it waits for the next device that is free, which takes others along |
//!
//! Only when none is left does an evaluation fail.

use std::collections::VecDeque;
use std::fmt::Display;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam::channel::{Sender, unbounded};
use parking_lot::{Condvar, Mutex};
use thiserror::Error;

use crate::foreign::in_our_words;
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Processor};
use crate::note::Note;

#[cfg(test)]
mod tests;

pub const DEMUX: &str = "demux";
pub const MULTIPLEXING: &str = "multiplexing";

#[derive(Debug)]
pub struct Device {
    pub label: String,
    pub backend: Arc<dyn Backend>,
    /// Concurrent batches, each on a thread of its own.
    pub threads: usize,
    /// `multiplexing` joins waiting batches up to so many positions.
    pub join_up_to: usize,
    /// Becomes false once and stays so. A thread that reads it late only fails once more.
    pub is_alive: AtomicBool,
}

/// Joins at least one device, after `notes` such as on missing devices. Fails if the devices
/// want different encodings, or one has no room for its evaluators.
pub fn join(name: &str, devices: Vec<Device>, notes: Vec<Note>) -> Result<Arc<dyn Backend>, BackendError> {
    Ok(Arc::new(Dispatch::new(DevicePool::new(name, devices, notes))?))
}

#[derive(Debug, Error)]
enum DeviceFailure {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error("it panicked")]
    Panic,
}

impl Device {
    fn info(&self) -> &BackendInfo {
        self.backend.info()
    }

    fn is_alive(&self) -> bool {
        self.is_alive.load(Ordering::Relaxed)
    }

    /// Evaluates a batch of any size. A panic is a failure like others.
    fn evaluate(&self, evaluator: &mut dyn Evaluator, batch: &mut [EvalSlot]) -> Result<(), DeviceFailure> {
        for chunk in batch.chunks_mut(self.info().max_batch) {
            catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(chunk)))
                .map_err(|_| DeviceFailure::Panic)??;
            EvalSlot::check_numbers(self.info(), chunk)?;
        }
        Ok(())
    }
}

/// All devices, and the notes not yet taken.
#[derive(Debug)]
struct DevicePool {
    name: String,
    /// Failed ones included.
    devices: Vec<Arc<Device>>,
    notes: Mutex<Vec<Note>>,
}

impl DevicePool {
    /// `notes` come first, then a description of each of several devices.
    fn new(name: &str, devices: Vec<Device>, mut notes: Vec<Note>) -> Arc<DevicePool> {
        let devices: Vec<_> = devices.into_iter().map(Arc::new).collect();
        let describe =
            |device: &Arc<Device>| format!("{name}: {}: {}", device.label, device.info().description);
        let is_list = devices.len() > 1;
        notes.extend(devices.iter().flat_map(|device| {
            let inner = device.backend.take_notes();
            is_list.then(|| describe(device).into()).into_iter().chain(inner)
        }));
        Arc::new(DevicePool { name: name.into(), devices, notes: Mutex::new(notes) })
    }

    fn joint_info(&self, how: &str) -> Result<BackendInfo, BackendError> {
        let infos = || self.devices.iter().map(|device| device.info());
        let refused =
            |reason: &str| BackendError::Model { backend: self.name.clone(), reason: reason.into() };
        let first = infos().next().ok_or_else(|| refused("it has no devices"))?;
        if infos().any(|info| info.input_format != first.input_format) {
            return Err(refused("its devices need different encodings of positions"));
        }
        if infos().any(BackendInfo::has_virtual_time) {
            return Err(refused("virtual time works with one device only, use clock=real"));
        }
        let is_cpu = infos().all(|info| info.processor == Processor::Cpu);
        Ok(BackendInfo {
            name: self.name.clone(),
            description: match infos().len() {
                1 => first.description.clone(),
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

    /// Evaluates `batch` on `device`, which drops out with a note if it fails. True if it succeeded.
    fn evaluate(&self, device: &Device, evaluator: &mut dyn Evaluator, batch: &mut [EvalSlot]) -> bool {
        let result = device.evaluate(evaluator, batch);
        if let Err(failure) = &result {
            self.drop_out(device, failure);
        }
        result.is_ok()
    }

    /// Threads of one device fail together, but one note is enough.
    fn drop_out(&self, device: &Device, reason: &dyn Display) {
        if device.is_alive.swap(false, Ordering::Relaxed) {
            let left = self.devices.iter().filter(|device| device.is_alive()).count();
            let (name, label, count) = (&self.name, &device.label, self.devices.len());
            let note = format!("{name}: {label} failed, {left} of {count} devices continue: {reason}");
            self.notes.lock().push(Note::Error(note));
        }
    }

    fn none_left(&self) -> BackendError {
        let reason = "all of its devices have failed, as the messages before this one explain".into();
        BackendError::Evaluation { backend: self.name.clone(), reason }
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.extend(self.devices.iter().flat_map(|device| device.backend.take_notes()));
        notes
    }

    /// The mean of the devices, if all measure it.
    fn busy_time(&self) -> Option<Duration> {
        let times: Option<Vec<_>> = self.devices.iter().map(|device| device.backend.busy_time()).collect();
        let count = self.devices.len().max(1) as u32;
        Some(times?.iter().sum::<Duration>() / count)
    }
}

/// Device threads take positions from queues. `demux` has a queue per device and splits a batch in proportion
/// to the preferred batch sizes. `multiplexing` has one queue, from which a free device joins waiting
/// batches. Positions that a failed device leaves are sent out again.
#[derive(Debug)]
struct Dispatch {
    info: BackendInfo,
    state: Arc<DispatchState>,
}

#[derive(Debug)]
struct DispatchState {
    pool: Arc<DevicePool>,
    routes: Vec<Route>,
    /// Rotates the routes, so that single positions don't all go to one.
    turn: AtomicUsize,
}

#[derive(Debug)]
struct Route {
    queue: Arc<Queue>,
    devices: Vec<Arc<Device>>,
    /// Its share of a batch, relative to other routes.
    weight: usize,
}

impl Route {
    fn to(devices: &[Arc<Device>], threads: usize) -> Route {
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
    fn new(pool: Arc<DevicePool>) -> Result<Dispatch, BackendError> {
        let joins = pool.name == MULTIPLEXING;
        let how = if joins { "batches go to whichever is free of" } else { "batches are split over" };
        let mut info = pool.joint_info(how)?;
        let threads = || pool.devices.iter().map(|device| device.threads);
        let routes = if joins {
            vec![Route::to(&pool.devices, threads().sum())]
        } else {
            info.max_batch = pool.devices.iter().map(|device| device.info().max_batch).sum();
            info.preferred_batch = pool.devices.iter().map(|device| device.info().preferred_batch).sum();
            pool.devices
                .chunks(1)
                .zip(threads())
                .map(|(device, threads)| Route::to(device, threads))
                .collect()
        };
        if info.queues > 0 {
            info.queues = if joins { threads().sum() } else { threads().max().unwrap_or(1) };
        }
        // From here on a failure drops the routes, which ends the threads.
        let state = Arc::new(DispatchState { pool, routes, turn: AtomicUsize::new(0) });
        for (index, device) in state.pool.devices.iter().enumerate() {
            let (route, join_up_to) = if joins { (0, device.join_up_to) } else { (index, 0) };
            for _ in 0..device.threads {
                let thread = DeviceThread {
                    pool: state.pool.clone(),
                    device: device.clone(),
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
        Ok(Box::new(Dispatcher { state: self.state.clone(), spare: Vec::new() }))
    }

    fn busy_time(&self) -> Option<Duration> {
        self.state.pool.busy_time()
    }

    fn take_notes(&self) -> Vec<Note> {
        self.state.pool.take_notes()
    }
}

impl Drop for DispatchState {
    fn drop(&mut self) {
        self.routes.iter().for_each(|route| route.queue.close());
    }
}

struct Dispatcher {
    state: Arc<DispatchState>,
    spare: Vec<Vec<EvalSlot>>,
}

impl Evaluator for Dispatcher {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let Dispatcher { state, spare } = self;
        let mut missing: Vec<_> = std::iter::once(0..batch.len()).collect();
        while !missing.is_empty() {
            let open: Vec<&Route> = state.routes.iter().filter(|route| route.is_open()).collect();
            if open.is_empty() {
                return Err(state.pool.none_left());
            }
            let turn = state.turn.fetch_add(1, Ordering::Relaxed);
            let (back, responses) = unbounded();
            for (route, range) in missing.drain(..).flat_map(|range| shares(range, &open, turn)) {
                let start = range.start;
                let mut slots = spare.pop().unwrap_or_default();
                slots.resize_with(range.len(), EvalSlot::default);
                slots.iter_mut().zip(&batch[range]).for_each(|(slot, asked)| slot.copy_inputs(asked));
                route.queue.push(Request { slots, start, back: back.clone() });
            }
            drop(back);
            for Response { slots, start, is_evaluated } in responses {
                let range = start..start + slots.len();
                if is_evaluated {
                    batch[range].iter_mut().zip(&slots).for_each(|(place, slot)| place.copy_outputs(slot));
                } else {
                    missing.push(range);
                }
                spare.push(slots);
            }
        }
        Ok(())
    }
}

/// Cuts `range` by the weights of the `routes`, at least one. `turn` rotates the first share.
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

struct DeviceThread {
    pool: Arc<DevicePool>,
    device: Arc<Device>,
    queue: Arc<Queue>,
    /// 0 joins none.
    join_up_to: usize,
}

impl DeviceThread {
    fn start(self) -> Result<(), BackendError> {
        let evaluator = self.device.backend.evaluator()?;
        let backend = self.pool.name.clone();
        let thread = std::thread::Builder::new().name("device".into()).spawn(move || self.run(evaluator));
        thread.map(drop).map_err(|error| BackendError::Thread { backend, reason: in_our_words(&error) })
    }

    fn run(self, mut evaluator: Box<dyn Evaluator>) {
        while let Some(mut requests) = self.queue.take(self.join_up_to, || self.device.is_alive()) {
            let [first, others @ ..] = &mut requests[..] else { continue };
            let counts: Vec<usize> = others.iter().map(|request| request.slots.len()).collect();
            // The first request takes the others' slots along and gives them back, the last one first.
            first.slots.extend(others.iter_mut().flat_map(|request| request.slots.drain(..)));
            let is_evaluated = self.pool.evaluate(&self.device, &mut *evaluator, &mut first.slots);
            for (request, count) in others.iter_mut().zip(counts).rev() {
                request.slots.extend(first.slots.drain(first.slots.len() - count..));
            }
            requests.into_iter().for_each(|request| request.answer(is_evaluated));
        }
        self.queue.leave();
    }
}

#[derive(Debug)]
struct Request {
    slots: Vec<EvalSlot>,
    /// In the batch.
    start: usize,
    back: Sender<Response>,
}

#[derive(Debug)]
struct Response {
    slots: Vec<EvalSlot>,
    start: usize,
    /// False without answers: the device failed or is gone.
    is_evaluated: bool,
}

impl Request {
    fn answer(self, is_evaluated: bool) {
        let Request { slots, start, back } = self;
        let _ = back.send(Response { slots, start, is_evaluated });
    }
}

/// Requests in order of arrival, from search threads to device threads. Positions are copied, so that no
/// thread refers to another one's memory. One lock guards all state, and a condition variable wakes device
/// threads.
#[derive(Debug)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState {
    requests: VecDeque<Request>,
    /// Threads that still serve the queue. Without any nothing is accepted.
    device_threads: usize,
    is_closed: bool,
}

impl Queue {
    /// Each of the `device_threads` must [`leave`](Queue::leave) once.
    fn new(device_threads: usize) -> Queue {
        let state = QueueState { requests: VecDeque::new(), device_threads, is_closed: false };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a request, or answers it at once if no thread serves the queue.
    fn push(&self, request: Request) {
        let mut state = self.state.lock();
        if state.device_threads == 0 {
            drop(state);
            return request.answer(false);
        }
        state.requests.push_back(request);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for a request and takes it, with those behind it up to `positions` together. `None` when the
    /// queue is closed or the calling thread's device is not `alive`.
    fn take(&self, positions: usize, alive: impl Fn() -> bool) -> Option<Vec<Request>> {
        let waits = |state: &mut QueueState| state.requests.is_empty() && !state.is_closed && alive();
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, waits);
        if state.is_closed || !alive() {
            return None;
        }
        let mut taken: Vec<_> = state.requests.pop_front().into_iter().collect();
        let mut count: usize = taken.iter().map(|request| request.slots.len()).sum();
        while let Some(next) = state.requests.front() {
            count += next.slots.len();
            if count > positions {
                break;
            }
            taken.extend(state.requests.pop_front());
        }
        Some(taken)
    }

    /// The last thread to leave sends back the remaining requests.
    fn leave(&self) {
        let mut state = self.state.lock();
        state.device_threads -= 1;
        let is_last = state.device_threads == 0;
        let left = if is_last { std::mem::take(&mut state.requests) } else { VecDeque::new() };
        drop(state);
        // Wakes the device's other threads, which must see that it is gone.
        self.changed.notify_all();
        left.into_iter().for_each(|request| request.answer(false));
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}
