//! The backend of several devices: each device has a backend of its own, and together they are one.
//!
//! A batch is divided evenly among the devices, in pieces that even the smallest likes. Each piece goes to
//! the device with the least to do, which takes waiting ones along, up to the batch that it likes best. A
//! device that fails is left alone for a while. Only when no device is left does an evaluation fail.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;

use crate::foreign::in_our_words;
use crate::network::backend::{Backend, Evaluator, Made};
use crate::network::backend_error::BackendError;
use crate::network::backend_info::BackendInfo;
use crate::network::eval_slot::EvalSlot;
use crate::network::timetable::{DevicePace, piece_size};
use crate::note::Note;
use crate::options::option_group;
use crate::system::threads::EndingThreads;

#[cfg(test)]
mod tests;

pub const MULTIPLEXING: &str = "multiplexing";

option_group! {
    /// How a device of a backend of several is fed. These parameters stand beside those of its backend.
    #[derive(Copy)]
    pub(crate) struct FeedingParams {
        /// Number of batches that the device receives at once. One can be transferred while another is
        /// computed.
        threads: usize = 2, in 1..=256, "threads";
        /// Maximum number of positions in a batch that is joined from smaller ones. A joined batch is never
        /// larger than the device prefers.
        max_batch: usize = 256, in 1..=65_536, "max-batch", "max_batch";
    }
}

#[derive(Debug)]
pub struct Device {
    pub label: String,
    pub backend: Arc<dyn Backend>,
    /// Concurrent batches, each on a thread of its own.
    pub threads: usize,
    /// Waiting batches are joined up to so many positions.
    pub join_up_to: usize,
    pub outage: Outage,
}

/// A device that has failed is tried again after so long, …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … and after twice the time when it fails again, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// When a device that has failed is tried again, and how long the pause was. `None` while it works.
#[derive(Debug, Default)]
pub struct Outage(Mutex<Option<(Instant, Duration)>>);

impl Outage {
    fn is_over(&self, now: Instant) -> bool {
        self.0.lock().is_none_or(|(until, _)| now >= until)
    }

    /// False if it is known already.
    fn begin(&self, now: Instant) -> bool {
        let mut outage = self.0.lock();
        match *outage {
            Some((until, _)) if now < until => false,
            Some((_, pause)) => {
                let pause = (2 * pause).min(LONGEST_PAUSE);
                *outage = Some((now + pause, pause));
                false
            }
            None => {
                *outage = Some((now + FIRST_PAUSE, FIRST_PAUSE));
                true
            }
        }
    }

    /// A batch that began then has succeeded. True if that ends an outage that began before it.
    fn end(&self, batch_began: Instant) -> bool {
        let outage = &mut *self.0.lock();
        outage.take_if(|(until, _)| batch_began >= *until).is_some()
    }
}

/// Joins at least one device. `notes` come first. Fails if the devices want different encodings, or one has
/// no room for its evaluators.
pub fn join(devices: Vec<Device>, notes: Vec<Note>) -> Made {
    let pool = DevicePool::new(devices, notes);
    let info = pool.joint_info()?;
    let mut threads = EndingThreads::default();
    let mut lanes = Vec::new();
    // A failure drops the senders, which ends the threads.
    for device in &pool.devices {
        let (sender, requests) = unbounded();
        let queue = Arc::new(Mutex::new(Queue { next: None, requests }));
        for _ in 0..device.threads {
            let thread = DeviceThread {
                pool: pool.clone(),
                device: device.clone(),
                queue: queue.clone(),
            };
            threads.0.push(thread.start()?);
        }
        lanes.push(Lane {
            device: device.clone(),
            queue: sender,
            positions: AtomicUsize::new(0),
        });
    }
    let devices = Arc::new(DeviceThreads {
        lanes,
        _threads: threads,
    });
    Ok(Arc::new(Multiplexer { info, pool, devices }))
}

impl Device {
    fn facts(&self) -> &BackendInfo {
        self.backend.facts()
    }

    fn is_alive(&self) -> bool {
        self.outage.is_over(Instant::now())
    }

    fn virtual_pace(&self) -> Option<DevicePace> {
        self.facts().virtual_pace.map(|pace| DevicePace {
            queues: pace.queues.min(self.threads),
            ..pace
        })
    }
}

#[derive(Debug)]
struct DevicePool {
    /// Failed ones included.
    devices: Vec<Arc<Device>>,
    notes: Mutex<Vec<Note>>,
}

impl DevicePool {
    fn new(devices: Vec<Device>, mut notes: Vec<Note>) -> Arc<DevicePool> {
        let devices: Vec<_> = devices.into_iter().map(Arc::new).collect();
        let describe = |device: &Arc<Device>| {
            format!("{MULTIPLEXING}: {}: {}", device.label, device.facts().description)
        };
        let is_list = devices.len() > 1;
        notes.extend(devices.iter().flat_map(|device| {
            let inner = device.backend.take_notes();
            is_list.then(|| describe(device).into()).into_iter().chain(inner)
        }));
        Arc::new(DevicePool {
            devices,
            notes: Mutex::new(notes),
        })
    }

    fn joint_info(&self) -> Result<BackendInfo, BackendError> {
        let infos = || self.devices.iter().map(|device| device.facts());
        let refused = |reason: &str| BackendError::Model {
            backend: MULTIPLEXING.into(),
            reason: reason.into(),
        };
        let first = infos().next().ok_or_else(|| refused("it has no devices"))?;
        if infos().any(|info| info.input_format != first.input_format) {
            return Err(refused("its devices need different encodings of positions"));
        }
        let mut paces = self.devices.iter().map(|device| device.virtual_pace());
        let pace = paces.next().flatten();
        if paces.any(|other| other != pace) {
            return Err(refused(
                "virtual time works with equal devices only, use clock=real",
            ));
        }
        let most_threads = self
            .devices
            .iter()
            .map(|device| device.threads)
            .max()
            .unwrap_or(1);
        Ok(BackendInfo {
            network: first.network.clone(),
            device: if infos().len() == 1 {
                first.device.clone()
            } else {
                String::new()
            },
            nvidia_gpus: infos().flat_map(|info| info.nvidia_gpus.clone()).collect(),
            library: first.library.clone(),
            precision: first.precision.clone(),
            description: match infos().len() {
                1 => first.description.clone(),
                count => format!("{MULTIPLEXING}: batches are divided among {count} devices"),
            },
            input_format: first.input_format,
            has_wdl: infos().all(|info| info.has_wdl),
            has_moves_left: infos().all(|info| info.has_moves_left),
            max_batch: infos().map(|info| info.max_batch).sum(),
            preferred_batch: infos().map(|info| info.preferred_batch).sum(),
            cheap_batch: infos().map(|info| info.cheap_batch).sum(),
            preferred_threads: infos().map(|info| info.preferred_threads).sum(),
            // Each batch keeps all devices busy.
            queues: if infos().any(|info| info.queues > 0) {
                most_threads
            } else {
                0
            },
            virtual_pace: pace.map(|pace| DevicePace {
                devices: infos().len() * pace.devices,
                ..pace
            }),
            ..BackendInfo::new(MULTIPLEXING, "")
        })
    }

    /// Evaluates `batch` on `device`, which drops out with a note if it fails. True if it succeeded.
    fn evaluate(&self, device: &Device, evaluator: &mut dyn Evaluator, batch: &mut [EvalSlot]) -> bool {
        let info = device.facts();
        let began = Instant::now();
        let mut chunks = batch.chunks_mut(info.max_batch);
        let result = chunks.try_for_each(|chunk| evaluator.evaluate_or_fail(&info.name, chunk));
        match &result {
            Err(failure) => self.drop_out(device, failure),
            Ok(()) if device.outage.end(began) => {
                let note = format!("{MULTIPLEXING}: {} works again", device.label);
                self.notes.lock().push(note.into());
            }
            Ok(()) => {}
        }
        result.is_ok()
    }

    /// Threads of one device fail together. One note is enough.
    fn drop_out(&self, device: &Device, reason: &dyn Display) {
        if device.outage.begin(Instant::now()) {
            let left = self.devices.iter().filter(|device| device.is_alive()).count();
            let (label, count) = (&device.label, self.devices.len());
            let note =
                format!("{MULTIPLEXING}: {label} failed, {left} of {count} devices continue: {reason}");
            self.notes.lock().push(Note::Error(note));
        }
    }
}

#[derive(Debug)]
struct Multiplexer {
    info: BackendInfo,
    pool: Arc<DevicePool>,
    devices: Arc<DeviceThreads>,
}

/// The threads end when the last of backend and evaluators drops the queues, and that waits for them.
#[derive(Debug)]
struct DeviceThreads {
    lanes: Vec<Lane>,
    _threads: EndingThreads,
}

#[derive(Debug)]
struct Lane {
    device: Arc<Device>,
    queue: Sender<Request>,
    /// Sent and not yet back. Relaxed: it only helps to choose.
    positions: AtomicUsize,
}

impl Lane {
    /// How full the device would be, in thousandths of a batch that it prefers.
    fn load_with(&self, positions: usize) -> usize {
        let all = self.positions.load(Ordering::Relaxed) + positions;
        1000 * all / self.device.facts().preferred_batch.max(1)
    }
}

impl Backend for Multiplexer {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(Dispatcher {
            devices: self.devices.clone(),
            spare: Vec::new(),
        }))
    }

    /// The mean of the devices, if all measure it.
    fn busy_time(&self) -> Option<Duration> {
        let devices = &self.pool.devices;
        let times: Option<Vec<_>> = devices.iter().map(|device| device.backend.busy_time()).collect();
        Some(times?.iter().sum::<Duration>() / devices.len().max(1) as u32)
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.pool.notes.lock());
        notes.extend(
            self.pool
                .devices
                .iter()
                .flat_map(|device| device.backend.take_notes()),
        );
        notes
    }
}

/// Positions are copied, so that no thread refers to another one's memory.
struct Dispatcher {
    devices: Arc<DeviceThreads>,
    spare: Vec<Vec<EvalSlot>>,
}

struct Request {
    slots: Vec<EvalSlot>,
    /// Dropped without an answer if the device fails or is gone.
    back: Sender<Vec<EvalSlot>>,
}

impl DeviceThreads {
    fn alive(&self) -> impl Iterator<Item = &Lane> + Clone {
        self.lanes.iter().filter(|lane| lane.device.is_alive())
    }

    fn piece_size(&self, positions: usize) -> usize {
        let preferred = self
            .alive()
            .map(|lane| lane.device.facts().preferred_batch)
            .min()
            .unwrap_or(1);
        piece_size(positions, self.alive().count(), preferred)
    }

    /// Sends slots to the device with the least to do.
    fn send(&self, slots: Vec<EvalSlot>) -> Result<(&Lane, Receiver<Vec<EvalSlot>>), BackendError> {
        let positions = slots.len();
        let lane = self
            .alive()
            .min_by_key(|lane| lane.load_with(positions))
            .ok_or_else(|| {
                let reason = "all of its devices have failed, as the messages before this one explain".into();
                BackendError::Evaluation {
                    backend: MULTIPLEXING.into(),
                    reason,
                }
            })?;
        lane.positions.fetch_add(positions, Ordering::Relaxed);
        let (back, evaluated) = bounded(1);
        // Without its threads the device drops the request, as if it failed.
        drop(lane.queue.send(Request { slots, back }));
        Ok((lane, evaluated))
    }
}

impl Evaluator for Dispatcher {
    /// Sends a piece out again if its device fails.
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let Dispatcher { devices, spare } = self;
        let mut pieces: Vec<_> = batch.chunks_mut(devices.piece_size(batch.len())).collect();
        while !pieces.is_empty() {
            let mut sent = Vec::new();
            for piece in pieces.drain(..) {
                let mut slots = spare.pop().unwrap_or_default();
                slots.resize_with(piece.len(), EvalSlot::default);
                slots
                    .iter_mut()
                    .zip(&*piece)
                    .for_each(|(slot, asked)| slot.copy_inputs(asked));
                sent.push((devices.send(slots)?, piece));
            }
            for ((lane, evaluated), piece) in sent {
                let answer = evaluated.recv();
                lane.positions.fetch_sub(piece.len(), Ordering::Relaxed);
                match answer {
                    Ok(slots) => {
                        piece
                            .iter_mut()
                            .zip(&slots)
                            .for_each(|(place, slot)| place.copy_outputs(slot));
                        spare.push(slots);
                    }
                    Err(_) => pieces.push(piece),
                }
            }
        }
        Ok(())
    }
}

/// A device's requests in order of arrival.
struct Queue {
    /// Comes before the others: a thread found no room for it.
    next: Option<Request>,
    requests: Receiver<Request>,
}

struct DeviceThread {
    pool: Arc<DevicePool>,
    device: Arc<Device>,
    queue: Arc<Mutex<Queue>>,
}

impl DeviceThread {
    fn start(self) -> Result<JoinHandle<()>, BackendError> {
        let evaluator = self.device.backend.evaluator()?;
        let thread = std::thread::Builder::new()
            .name("device".into())
            .spawn(move || self.run(evaluator));
        thread.map_err(|error| BackendError::Thread {
            backend: MULTIPLEXING.into(),
            reason: in_our_words(&error),
        })
    }

    fn run(self, mut evaluator: Box<dyn Evaluator>) {
        while let Some(mut requests) = self.take() {
            let [first, others @ ..] = &mut requests[..] else {
                continue;
            };
            let counts: Vec<usize> = others.iter().map(|request| request.slots.len()).collect();
            // The first request takes the others' slots along and gives them back, the last one first.
            first
                .slots
                .extend(others.iter_mut().flat_map(|request| request.slots.drain(..)));
            if !self
                .pool
                .evaluate(&self.device, &mut *evaluator, &mut first.slots)
            {
                continue;
            }
            for (request, count) in others.iter_mut().zip(counts).rev() {
                request
                    .slots
                    .extend(first.slots.drain(first.slots.len() - count..));
            }
            for Request { slots, back } in requests {
                let _ = back.send(slots);
            }
        }
    }

    /// Waits for a request and takes it, with those behind it that fit into a batch of the device's. `None`
    /// when no more will come. A device that is gone drops all.
    fn take(&self) -> Option<Vec<Request>> {
        // Whoever waits for a request holds the lock, and others wait for that.
        let mut queue = self.queue.lock();
        let first = loop {
            let first = queue.next.take().or_else(|| queue.requests.recv().ok())?;
            if self.device.is_alive() {
                break first;
            }
        };
        let mut count = first.slots.len();
        let mut taken = vec![first];
        while let Ok(next) = queue.requests.try_recv() {
            count += next.slots.len();
            if count > self.device.join_up_to.min(self.device.facts().preferred_batch) {
                queue.next = Some(next);
                break;
            }
            taken.push(next);
        }
        Some(taken)
    }
}
