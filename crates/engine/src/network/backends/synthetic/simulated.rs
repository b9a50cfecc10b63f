//! The `simulated` backend: the answers of another backend, at the pace of an accelerator.
//!
//! All evaluators share one device. It computes one batch at a time, in order of arrival, and needs
//! `per-position-ns` per position, where `step` positions take as long as one. A batch's way to the device
//! and back adds `latency-us`, and `copy-ns` per position. Meanwhile the device computes other batches, at
//! most `queues` in flight. The device is *busy* while
//! it computes, not while a batch travels.
//!
//! With `clock=real` evaluators sleep meanwhile, and wake some 50 µs late, as with a real device. Before a
//! batch leaves, its thread packs the inputs as for a real GPU
//! ([`packed_planes`](crate::network::packed_planes)), so that the host's work counts. With `clock=virtual`
//! evaluators answer at once, and the search counts their time, with `host-ns` for each of its own visits.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::network::backend::{Backend, Evaluator};
use crate::network::backend_error::BackendError;
use crate::network::backend_info::{ACCELERATOR_QUEUES, ANY_BATCH, BackendInfo};
use crate::network::encode::InputFormat;
use crate::network::eval_slot::EvalSlot;
use crate::network::packed_planes::PACKED_BYTES;
use crate::network::timetable::{DevicePace, Timetable, batches_of_device};
use crate::note::Note;
use crate::options::{OptionGroup, option_choice, option_group};
use crate::params::Params;

pub const NAME: &str = "simulated";
/// Those of `cuda`, and the largest batch that a GPU prefers.
const PADDED: [usize; 4] = [4, 32, 128, 256];
const MOST_PREFERRED: usize = 256;
/// After so many batches the device reports a slow processor if this share was late.
const BATCHES_TO_JUDGE: u64 = 50;
const LATE_SHARE: f64 = 0.1;
/// Delay that the system may cause.
const TOLERANCE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Simulated {
    info: BackendInfo,
    answers: Arc<dyn Backend>,
    device: Arc<Mutex<Device>>,
}

#[derive(Debug)]
struct Device {
    started: Instant,
    timetable: Timetable,
    /// Positions.
    fail_after: u64,
    /// Batches, and those whose answers came too late.
    batches: u64,
    late: u64,
    has_complained: bool,
}

option_choice! {
    /// The time in which a simulated device lives.
    pub(crate) enum DeviceClock {
        /// Batches take real time.
        Real = "real",
        /// Time is only counted, and nothing waits.
        Virtual = "virtual",
    }
}

option_choice! {
    /// The backend whose answers a simulated device gives.
    pub(crate) enum Answers {
        /// `random`.
        Random = "random",
        /// `trivial`.
        Trivial = "trivial",
        /// `native`, with a network.
        Native = "native",
        /// `onnxruntime`, with a network.
        OnnxRuntime = "onnxruntime",
    }
}

option_choice! {
    pub(crate) enum Batches {
        /// As many positions as it computes while a batch travels.
        Pace = "pace",
        /// As a GPU through ONNX Runtime.
        Gpu = "gpu",
        /// As an NVIDIA GPU with a residual network, whose batches have a few fixed sizes.
        Padded = "padded",
    }
}

option_group! {
    /// The parameters of `simulated`: by default a mid-range GPU, and one core of a desktop for visits.
    #[derive(Copy)]
    pub(crate) struct SimulatedParams {
        /// Latency of a batch, in microseconds.
        latency_us: u64 = 1_000, in 0..=10_000_000, "latency-us";
        /// Computing time for each position, in nanoseconds.
        per_position_ns: u64 = 10_000, in 0..=1_000_000_000, "per-position-ns";
        /// Number of positions that take as long as one.
        step: u32 = 1, in 1..=1_024, "step";
        /// Size of batches that the search prepares.
        batches: Batches = Batches::Pace, "batches";
        /// Transfer time for each position, in nanoseconds.
        copy_ns: u64 = 0, in 0..=1_000_000_000, "copy-ns";
        /// Number of batches in flight at once.
        queues: usize = ACCELERATOR_QUEUES, in 1..=64, "queues";
        /// Maximum number of positions in a batch.
        max_batch: usize = 1_024, in 1..=ANY_BATCH as i64, "max-batch";
        /// Number of positions after which every batch fails.
        fail_after: u64 = i64::MAX as u64, in 0..=i64::MAX, "fail-after";
        /// Real or virtual time.
        clock: DeviceClock = DeviceClock::Real, "clock";
        /// Time for each visit under virtual time, in nanoseconds.
        host_ns: u64 = 4_000, in 0..=1_000_000_000, "host-ns";
        /// Backend that computes the evaluations.
        network: Answers = Answers::Random, "network";
        /// Seed of the backend `random`.
        seed: u64 = 0, in 0..=i64::MAX, "seed";
    }
}

impl Simulated {
    /// `answers` evaluates, `options` are [`SimulatedParams`].
    pub fn new(options: &Params, answers: Arc<dyn Backend>) -> Result<Simulated, BackendError> {
        let params = SimulatedParams::default().read(NAME, options, &[])?;
        let pace = DevicePace {
            latency: Duration::from_micros(params.latency_us),
            per_position: Duration::from_nanos(params.per_position_ns),
            copy: Duration::from_nanos(params.copy_ns),
            step: params.step,
            padded_to: if params.batches == Batches::Padded {
                &PADDED
            } else {
                &[]
            },
            queues: params.queues,
            devices: 1,
            host_per_visit: Duration::from_nanos(params.host_ns),
        };
        let SimulatedParams {
            max_batch,
            fail_after,
            clock,
            ..
        } = params;
        let is_virtual = clock == DeviceClock::Virtual;
        let max_batch = max_batch.min(answers.facts().max_batch);
        let by_pace = pace.positions_per_latency().clamp(1, max_batch as u128) as usize;
        let (preferred_batch, cheap_batch) = match params.batches {
            Batches::Pace => (by_pace, by_pace / 4),
            Batches::Gpu | Batches::Padded => {
                let per_latency =
                    pace.latency.as_secs_f64() / (pace.per_position + pace.copy).as_secs_f64().max(1e-9);
                batches_of_device(per_latency, MOST_PREFERRED.min(max_batch))
            }
        };
        let name = &answers.facts().name;
        let pace_text = describe(&pace);
        let time = if is_virtual { ", in virtual time" } else { "" };
        Ok(Simulated {
            info: BackendInfo {
                name: NAME.into(),
                description: format!("{name} answers after {pace_text}{time}"),
                max_batch,
                preferred_batch,
                cheap_batch,
                padded_to: pace.padded_to.into(),
                preferred_threads: 1,
                queues: pace.queues,
                virtual_pace: is_virtual.then_some(pace),
                ..answers.facts().clone()
            },
            answers,
            device: Arc::new(Mutex::new(Device {
                started: Instant::now(),
                timetable: Timetable::new(pace),
                fail_after,
                batches: 0,
                late: 0,
                has_complained: false,
            })),
        })
    }
}

fn describe(pace: &DevicePace) -> String {
    let DevicePace {
        latency,
        per_position,
        copy,
        step,
        ..
    } = pace;
    let mut text = format!(
        "{} µs + {} ns per position",
        latency.as_micros(),
        per_position.as_nanos()
    );
    if !copy.is_zero() {
        text += &format!(" + {} ns to copy it", copy.as_nanos());
    }
    if *step > 1 {
        text += &format!(", in steps of {step}");
    }
    text
}

impl Backend for Simulated {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(SimulatedEvaluator {
            device: Arc::clone(&self.device),
            answers: self.answers.evaluator()?,
            format: self.info.input_format,
            is_virtual: self.info.has_virtual_time(),
            input: Vec::new(),
        }))
    }

    fn busy_time(&self) -> Option<Duration> {
        let device = self.device.lock();
        Some(device.timetable.busy_until(device.started.elapsed()))
    }

    fn take_notes(&self) -> Vec<Note> {
        let mut notes = self.answers.take_notes();
        let mut device = self.device.lock();
        let is_too_slow = device.batches >= BATCHES_TO_JUDGE
            && device.late as f64 > LATE_SHARE * device.batches as f64
            && !device.has_complained;
        if is_too_slow {
            device.has_complained = true;
            let (late, batches) = (device.late, device.batches);
            notes.push(Note::Info(format!(
                "simulated: the processor is too slow for this pace: {late} of {batches} batches were late; \
                 give the device more time for each position, or use clock=virtual"
            )));
        }
        notes
    }
}

struct SimulatedEvaluator {
    device: Arc<Mutex<Device>>,
    answers: Box<dyn Evaluator>,
    format: InputFormat,
    is_virtual: bool,
    input: Vec<u8>,
}

impl SimulatedEvaluator {
    /// Sends a batch. Returns when the device started, and after how long the batch is back.
    fn submit(&self, positions: usize) -> Result<(Instant, Duration), BackendError> {
        let mut device = self.device.lock();
        if device.timetable.positions >= device.fail_after {
            let reason = format!("its {} positions are over", device.fail_after);
            return Err(BackendError::Evaluation {
                backend: NAME.into(),
                reason,
            });
        }
        let started = device.started;
        let now = device.started.elapsed();
        Ok((started, device.timetable.submit(now, positions as u32)))
    }
}

impl Evaluator for SimulatedEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        if self.is_virtual {
            self.submit(batch.len())?;
            return self.answers.evaluate(batch);
        }
        self.input.resize(batch.len() * PACKED_BYTES, 0);
        for (slot, bytes) in batch.iter().zip(self.input.chunks_exact_mut(PACKED_BYTES)) {
            slot.planes.write_packed(self.format, bytes);
        }
        // Must be written, though nobody reads it.
        black_box(&self.input);
        let (started, back) = self.submit(batch.len())?;
        self.answers.evaluate(batch)?;
        let now = started.elapsed();
        {
            let mut device = self.device.lock();
            device.batches += 1;
            device.late += u64::from(now > back + TOLERANCE);
        }
        thread::sleep(back.saturating_sub(now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::synthetic::random::Random;

    fn simulated(options: &str) -> Simulated {
        let random = Random::backend(&Params::default()).unwrap();
        Simulated::new(&Params::parse(options).unwrap(), Arc::new(random)).unwrap()
    }

    #[test]
    fn threads_share_one_device() {
        let backend = simulated("latency-us=1000,per-position-ns=100000,max-batch=16");
        let batches = |info: &BackendInfo| (info.preferred_batch, info.cheap_batch, info.filled_up(5));
        assert_eq!(batches(backend.facts()), (10, 2, 2));
        let slow_gpu = "latency-us=5000,per-position-ns=1000000,batches";
        assert_eq!(batches(simulated(&format!("{slow_gpu}=gpu")).facts()), (32, 1, 1));
        assert_eq!(
            batches(simulated(&format!("{slow_gpu}=padded")).facts()),
            (32, 1, 32)
        );
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
        assert!(
            wall >= Duration::from_millis(21),
            "200 positions at 10,000 a second took {wall:?}"
        );
        assert_eq!(backend.busy_time(), Some(Duration::from_millis(20)));
    }
}
