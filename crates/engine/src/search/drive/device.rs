//! Evaluates a worker's batches. They come back in the order of sending, so that a search on one thread does
//! not depend on the device's speed.
//!
//! A backend that needs the worker's core evaluates a batch as it is sent. A device of its own has threads
//! that take batches out of one queue, while workers fill the next. In virtual time a timetable says when
//! answers count.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use thiserror::Error;

use crate::foreign::in_our_words;
use crate::network::{Backend, BackendError, BackendInfo, Evaluator};
use crate::search::leaf::Batch;
use crate::search::state::SearchClock;
use crate::system::threads::EndingThreads;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkerPoolError {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error("cannot start a search thread: {0}")]
    Thread(String),
}

impl WorkerPoolError {
    pub(crate) fn thread(error: &io::Error) -> WorkerPoolError {
        WorkerPoolError::Thread(in_our_words(error))
    }
}

pub(super) struct Evaluated {
    pub(super) batch: Batch,
    pub(super) outcome: Result<(), BackendError>,
}

struct Request {
    batch: Batch,
    back: Sender<Evaluated>,
}

enum Delivery {
    Own(Box<dyn Evaluator>),
    Threads(Arc<DeviceThreads>),
    Owner,
}

/// The threads end when the last worker drops the queue, and that worker waits for them.
struct DeviceThreads {
    queue: Sender<Request>,
    _threads: EndingThreads,
}

enum UnderWay {
    /// Evaluated, but counts as back only from this time on.
    Due(Evaluated, Duration),
    Elsewhere(Receiver<Evaluated>),
}

/// A thread's way to its device.
pub(super) struct DeviceLink {
    delivery: Delivery,
    under_way: VecDeque<UnderWay>,
    /// Batches that the device computes at once, or 0 if evaluations need the worker's core.
    pub(super) queues: usize,
}

impl DeviceLink {
    fn new(info: &BackendInfo, delivery: Delivery) -> DeviceLink {
        let works_alone = info.has_virtual_time() || matches!(delivery, Delivery::Threads(_));
        let queues = if works_alone { info.queues } else { 0 };
        DeviceLink {
            delivery,
            under_way: VecDeque::new(),
            queues,
        }
    }

    pub(super) fn of_workers(
        backend: &dyn Backend,
        workers: usize,
    ) -> Result<Vec<DeviceLink>, WorkerPoolError> {
        let info = backend.facts();
        if info.queues == 0 || info.has_virtual_time() {
            let own = |_| Ok(DeviceLink::new(info, Delivery::Own(backend.evaluator()?)));
            return (0..workers).map(own).collect();
        }
        let mut threads = EndingThreads::default();
        let (sender, requests) = unbounded();
        for index in 0..info.queues {
            let requests = requests.clone();
            let evaluator = backend.evaluator()?;
            let name = info.name.clone();
            let builder = thread::Builder::new().name(format!("device-{index}"));
            let thread = builder.spawn(move || serve(&requests, evaluator, &name));
            threads
                .0
                .push(thread.map_err(|error| WorkerPoolError::thread(&error))?);
        }
        let threads = Arc::new(DeviceThreads {
            queue: sender,
            _threads: threads,
        });
        Ok((0..workers)
            .map(|_| DeviceLink::new(info, Delivery::Threads(threads.clone())))
            .collect())
    }

    pub(super) fn of_owner(info: &BackendInfo) -> DeviceLink {
        DeviceLink::new(info, Delivery::Owner)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether to send the batch: if it is full, the device idle, or half of it would keep a queue busy.
    pub(super) fn wants(&self, leaves: u32, size: u32) -> bool {
        let has_free_queue = self.under_way.len() < self.queues;
        leaves > 0 && (leaves >= size || self.is_idle() || has_free_queue && leaves * 2 >= size)
    }

    pub(super) fn is_full(&self) -> bool {
        self.under_way.len() > self.queues
    }

    /// If the owner of the search evaluates the batch, that is done before.
    pub(super) fn send(&mut self, mut batch: Batch, clock: &SearchClock) {
        let positions = batch.slots().len() as u32;
        let outcome = match &mut self.delivery {
            Delivery::Own(evaluator) => evaluator.evaluate(batch.slots_mut()),
            Delivery::Owner => Ok(()),
            Delivery::Threads(threads) => {
                let (back, evaluated) = bounded(1);
                // Without threads the channel is closed, and `receive` finds that.
                drop(threads.queue.send(Request { batch, back }));
                return self.under_way.push_back(UnderWay::Elsewhere(evaluated));
            }
        };
        self.under_way
            .push_back(UnderWay::Due(Evaluated { batch, outcome }, clock.sent(positions)));
    }

    /// The oldest batch under way. `None` if there is none, or if its thread died with it.
    pub(super) fn receive(&mut self, clock: &SearchClock) -> Option<Evaluated> {
        match self.under_way.pop_front()? {
            UnderWay::Due(evaluated, due) => {
                clock.waited_until(due);
                Some(evaluated)
            }
            UnderWay::Elsewhere(evaluated) => evaluated.recv().ok(),
        }
    }

    pub(super) fn begin(&mut self) {
        self.under_way.clear();
    }
}

fn serve(requests: &Receiver<Request>, mut evaluator: Box<dyn Evaluator>, backend: &str) {
    for Request { mut batch, back } in requests {
        let outcome = evaluator.evaluate_or_fail(backend, batch.slots_mut());
        drop(back.send(Evaluated { batch, outcome }));
    }
}
