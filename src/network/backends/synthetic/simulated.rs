//! The `simulated` backend: answers like `random`, at the pace of an accelerator.
//!
//! # The model
//! There is one device, shared by all evaluators. It computes one batch at a time, in the order in which batches
//! arrive, and needs `per-position-ns` for each position. A batch's way to the device and back takes `latency-us`
//! on top, and while one batch is on its way the device computes others. So
//!
//! - a lone evaluator gets `n / (latency + n * per_position)` evaluations a second with batches of `n`;
//! - several evaluators together get up to `1 / per_position`, never more, whatever their batches;
//! - a batch that finds others waiting takes longer by the time that they compute.
//!
//! With `fail-after` the device fails for good, as one does that overheats or falls off the bus, so that one can try
//! what a search then does.
//!
//! The device is *busy* while it computes, not while a batch travels. Evaluators sleep meanwhile, as a thread does
//! that waits for a real device; the operating system wakes it some 50 µs late, as it would there. Before a batch leaves, its
//! thread packs the inputs as for a real GPU ([`packed_planes`](crate::network::packed_planes)): so a search on this device
//! keeps it as busy as the host's work allows.

use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::network::encode::InputFormat;
use crate::network::packed_planes::PACKED_BYTES;
use crate::network::{
    ACCELERATOR_THREADS, Backend, BackendError, BackendInfo, EvalSlot, Evaluator, Processor,
};
use crate::params::Params;

use super::random::{Draw, Random};

/// The latency of a mid-range GPU, in microseconds.
const DEFAULT_LATENCY: u64 = 1_000;
/// The computing time at 100,000 evaluations a second, in nanoseconds for each.
const DEFAULT_PER_POSITION: u64 = 10_000;
const DEFAULT_MAX_BATCH: u64 = 1_024;

/// The backend `simulated`.
#[derive(Debug)]
pub struct Simulated {
    info: BackendInfo,
    device: Arc<Mutex<SimulatedDevice>>,
    fail_after: u64,
    draw: Draw,
}

impl Simulated {
    /// Makes the backend, with the parameters
    /// - `latency-us`: the time a batch is on its way, in microseconds (1000; up to 10 s);
    /// - `per-position-ns`: the time the device computes for each position, in nanoseconds (10000; up to 1 s);
    /// - `max-batch`: the largest batch (1024);
    /// - `fail-after`: the number of positions after which the device fails every batch (never);
    /// - `seed`: as for [`Random`].
    ///
    /// # Errors
    /// Returns [`BackendError::Params`] for other parameters or values out of range.
    pub fn new(options: &Params) -> Result<Simulated, BackendError> {
        options.allow_only(
            "simulated",
            &["latency-us", "per-position-ns", "max-batch", "fail-after", "seed"],
            &[],
        )?;
        let latency = options.integer("latency-us", DEFAULT_LATENCY, 0..=10_000_000)?;
        let per_position = options.integer("per-position-ns", DEFAULT_PER_POSITION, 0..=1_000_000_000)?;
        let max_batch = options.integer("max-batch", DEFAULT_MAX_BATCH, 1..=super::MAX_BATCH as u64)?;
        let fail_after = options.integer("fail-after", u64::MAX, 0..=u64::MAX)?;
        let seed = options.integer("seed", 0, 0..=u64::MAX)?;
        let random = Random::new(&Params::default())?;
        Ok(Simulated {
            info: BackendInfo {
                name: "simulated".into(),
                description: format!("random answers after {latency} µs + {per_position} ns per position"),
                max_batch: max_batch as usize,
                preferred_batch: preferred_batch(latency * 1_000, per_position, max_batch) as usize,
                measures_batch: true,
                processor: Processor::Accelerator,
                preferred_threads: ACCELERATOR_THREADS,
                ..random.info().clone()
            },
            device: Arc::new(Mutex::new(SimulatedDevice::new(
                Instant::now(),
                Duration::from_micros(latency),
                Duration::from_nanos(per_position),
            ))),
            fail_after,
            draw: Draw::new(seed),
        })
    }
}

/// Returns the size of the batch that computes for as long as it travels: two such evaluators keep the device busy.
fn preferred_batch(latency_ns: u64, per_position_ns: u64, max_batch: u64) -> u64 {
    (latency_ns / per_position_ns.max(1)).clamp(1, max_batch)
}

impl Backend for Simulated {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(SimulatedEvaluator {
            device: Arc::clone(&self.device),
            fail_after: self.fail_after,
            draw: self.draw,
            format: self.info.input_format,
            input: Vec::new(),
        }))
    }

    fn busy_time(&self) -> Option<Duration> {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        Some(device.busy_until(Instant::now()))
    }
}

struct SimulatedEvaluator {
    device: Arc<Mutex<SimulatedDevice>>,
    fail_after: u64,
    draw: Draw,
    format: InputFormat,
    /// `[batch, 112, 8]`, the packed inputs.
    input: Vec<u8>,
}

impl Evaluator for SimulatedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        self.input.resize(batch.len() * PACKED_BYTES, 0);
        for (slot, bytes) in batch.iter().zip(self.input.chunks_exact_mut(PACKED_BYTES)) {
            slot.planes.write_packed(self.format, bytes);
        }
        // Nobody reads it: it must be written all the same.
        black_box(&self.input);
        let now = Instant::now();
        let back = {
            let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
            if device.positions >= self.fail_after {
                let reason = format!("its {} positions are over", self.fail_after);
                return Err(BackendError::Evaluation { backend: "simulated".into(), reason });
            }
            device.submit(now, batch.len() as u32)
        };
        batch.iter_mut().for_each(|slot| self.draw.fill(slot));
        thread::sleep(back.saturating_duration_since(Instant::now()));
        Ok(())
    }
}

/// The timetable of the device. It looks at no clock: given the time, it returns when a batch is back.
#[derive(Debug)]
struct SimulatedDevice {
    latency: Duration,
    per_position: Duration,
    /// The time at which it will have computed all batches submitted so far.
    free_at: Instant,
    /// Computing time of all batches submitted so far.
    submitted: Duration,
    /// Positions submitted so far.
    positions: u64,
}

impl SimulatedDevice {
    fn new(now: Instant, latency: Duration, per_position: Duration) -> SimulatedDevice {
        SimulatedDevice { latency, per_position, free_at: now, submitted: Duration::ZERO, positions: 0 }
    }

    /// Queues a batch of `positions` and returns when its answers are back.
    ///
    /// Half of the latency is the way there, half the way back; the order of arrival is the order of submission.
    fn submit(&mut self, now: Instant, positions: u32) -> Instant {
        let arrival = now + self.latency / 2;
        let work = self.per_position * positions;
        self.free_at = self.free_at.max(arrival) + work;
        self.submitted += work;
        self.positions += u64::from(positions);
        self.free_at + (self.latency - self.latency / 2)
    }

    /// Returns the time for which it has computed until `now`.
    ///
    /// The work that lies ahead is subtracted as if it had no gaps, which is so up to half a latency.
    fn busy_until(&self, now: Instant) -> Duration {
        let ahead = self.free_at.saturating_duration_since(now);
        self.submitted.saturating_sub(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn simulated(options: &str) -> Simulated {
        Simulated::new(&Params::parse(options).unwrap()).unwrap()
    }

    #[test]
    fn a_lone_batch_takes_latency_and_computing_time() {
        let start = Instant::now();
        let mut device = SimulatedDevice::new(start, 2 * MS, MS);
        assert_eq!(device.submit(start, 3), start + 5 * MS);
        assert_eq!(device.submit(start + 5 * MS, 3), start + 10 * MS);
        assert_eq!(device.busy_until(start + 10 * MS), 6 * MS);
    }

    #[test]
    fn batches_queue_for_the_device_but_travel_side_by_side() {
        let start = Instant::now();
        let mut device = SimulatedDevice::new(start, 2 * MS, MS);
        let back: Vec<_> = (0..4).map(|_| device.submit(start, 10) - start).collect();
        assert_eq!(back, [12 * MS, 22 * MS, 32 * MS, 42 * MS]);
        assert_eq!(device.busy_until(start + 21 * MS), 20 * MS);
        assert_eq!(device.busy_until(start + 100 * MS), 40 * MS);
    }

    /// Many evaluators do not get more than the device's throughput, and the clock really passes.
    #[test]
    fn threads_share_one_device() {
        let backend = simulated("latency-us=1000,per-position-ns=100000,max-batch=16");
        assert_eq!(backend.info().preferred_batch, 10);
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                let mut evaluator = backend.evaluator().unwrap();
                scope.spawn(move || {
                    let mut batch = vec![EvalSlot::default(); 10];
                    for _ in 0..5 {
                        evaluator.evaluate(&mut batch).unwrap();
                    }
                });
            }
        });
        let wall = start.elapsed();
        assert!(wall >= Duration::from_millis(21), "200 positions at 10,000 a second took {wall:?}");
        assert_eq!(backend.busy_time(), Some(Duration::from_millis(20)));
    }

    #[test]
    fn answers_are_those_of_random() {
        let mut slots = [EvalSlot { key: 9, ..EvalSlot::default() }];
        slots[0].moves.extend([3, 4]);
        let mut expected = slots.clone();
        let simulated = simulated("latency-us=0,per-position-ns=0,seed=5");
        simulated.evaluator().unwrap().evaluate(&mut slots).unwrap();
        let random = Random::new(&Params::parse("seed=5").unwrap()).unwrap();
        random.evaluator().unwrap().evaluate(&mut expected).unwrap();
        assert_eq!(slots[0].evaluation, expected[0].evaluation);
        assert_eq!(slots[0].logits, expected[0].logits);
    }
}
