//! The speed of a backend in positions per second: threads that evaluate batches of game positions, and the time that
//! each batch took.
//!
//! `zeitnot backendbench` and `zeitnot doctor` use it; it knows backends only by their traits.

mod positions;
mod samples;

use std::fmt::Debug;
use std::time::{Duration, Instant};

use super::{Backend, BackendError, EvalSlot, Evaluator};
use crate::chess::History;
use crate::cpu_time::cpu_time;

pub use positions::encoded as encoded_positions;
pub use samples::SortedSamples;

/// Positions that a thread evaluates in turn.
const POSITIONS: usize = 1024;
/// Large batches before the first measurement, so that a device leaves its idle clock.
const WARM_UP_BATCHES: usize = 2;

/// The length of one round of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoundLength {
    /// Batches are evaluated until this time is over.
    Time(Duration),
    /// This many batches are evaluated.
    Batches(usize),
}

/// All measurements of one batch size.
#[derive(Clone, Debug)]
pub struct BatchSizeSeries {
    /// Positions per batch.
    pub size: usize,
    /// Duration of the first batch of this size, on the slowest thread, ms.
    pub first_ms: f64,
    /// Evaluations per second of all threads together, one number per round.
    pub nps: Vec<f64>,
    /// Evaluations per second of CPU time that the process took, one number per round; empty where the system does not
    /// tell CPU time.
    pub cpu_nps: Vec<f64>,
    /// Duration of every batch, ms.
    pub batch_ms: Vec<f64>,
}

/// Threads that measure one backend, each with an evaluator and positions of its own.
#[derive(Debug)]
pub struct ThroughputMeter {
    threads: Vec<MeasuringThread>,
}

impl ThroughputMeter {
    /// Returns a meter of `backend` with `threads` threads.
    ///
    /// # Errors
    /// Fails if the device has no room for as many evaluators.
    pub fn new(backend: &dyn Backend, threads: usize) -> Result<ThroughputMeter, BackendError> {
        let thread = |index| MeasuringThread::new(backend, index, None);
        Ok(ThroughputMeter { threads: (0..threads).map(thread).collect::<Result<_, _>>()? })
    }

    /// Returns a meter as [`ThroughputMeter::new`] does, whose batches hold `position` and nothing else.
    ///
    /// # Errors
    /// Fails if the device has no room for as many evaluators.
    pub fn of_position(
        backend: &dyn Backend,
        threads: usize,
        position: &History,
    ) -> Result<ThroughputMeter, BackendError> {
        let thread = |index| MeasuringThread::new(backend, index, Some(position));
        Ok(ThroughputMeter { threads: (0..threads).map(thread).collect::<Result<_, _>>()? })
    }

    /// Gives the device enough batches of `size` positions from every thread to wake up.
    ///
    /// # Errors
    /// Fails if an evaluation fails.
    pub fn warm_up(&mut self, size: usize) -> Result<(), BackendError> {
        self.run(size, RoundLength::Batches(WARM_UP_BATCHES)).map(drop)
    }

    /// Begins with batches of `size` positions: times the first one, then runs one round that does not count.
    ///
    /// # Errors
    /// Fails if an evaluation fails.
    pub fn begin(&mut self, size: usize, round: RoundLength) -> Result<BatchSizeSeries, BackendError> {
        let first = self.run(size, RoundLength::Batches(1))?;
        let first_ms = first.iter().flat_map(|times| &times.batch_ms).copied().fold(0.0, f64::max);
        self.run(size, round)?;
        Ok(BatchSizeSeries { size, first_ms, nps: Vec::new(), cpu_nps: Vec::new(), batch_ms: Vec::new() })
    }

    /// Measures one round and adds it to `series`.
    ///
    /// # Errors
    /// Fails if an evaluation fails; `series` then stays as it was.
    pub fn measure_round(
        &mut self,
        series: &mut BatchSizeSeries,
        round: RoundLength,
    ) -> Result<(), BackendError> {
        let before = cpu_time();
        let times = self.run(series.size, round)?;
        let spent = cpu_time().zip(before).map(|(after, before)| (after - before).as_secs_f64());
        let evaluations = series.size * times.iter().map(|times| times.batch_ms.len()).sum::<usize>();
        series.cpu_nps.extend(spent.map(|seconds| evaluations as f64 / seconds.max(1e-9)));
        series.nps.push(times.iter().map(|times| times.nps(series.size)).sum());
        series.batch_ms.extend(times.into_iter().flat_map(|times| times.batch_ms));
        Ok(())
    }

    /// Runs one round on all threads at once.
    fn run(&mut self, size: usize, round: RoundLength) -> Result<Vec<RoundTimes>, BackendError> {
        std::thread::scope(|scope| {
            let handles: Vec<_> =
                self.threads.iter_mut().map(|thread| scope.spawn(move || thread.run(size, round))).collect();
            let times = handles.into_iter().map(|handle| match handle.join() {
                Ok(times) => times,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            times.collect()
        })
    }
}

/// The times that the batches of one thread took in one round.
struct RoundTimes {
    batch_ms: Vec<f64>,
}

impl RoundTimes {
    /// Returns the evaluations per second with batches of `size` positions.
    fn nps(&self, size: usize) -> f64 {
        let seconds: f64 = self.batch_ms.iter().sum::<f64>() / 1e3;
        (size * self.batch_ms.len()) as f64 / seconds.max(1e-9)
    }
}

/// A thread's evaluator and positions.
struct MeasuringThread {
    evaluator: Box<dyn Evaluator>,
    positions: Vec<EvalSlot>,
    /// The position at which the next batch begins.
    next: usize,
}

impl MeasuringThread {
    /// Returns a thread that evaluates `position`, or else positions of games.
    fn new(
        backend: &dyn Backend,
        index: usize,
        position: Option<&History>,
    ) -> Result<MeasuringThread, BackendError> {
        let info = backend.info();
        let count = POSITIONS.max(info.max_batch);
        let positions = match position {
            Some(position) => vec![EvalSlot::of(position, info.input_format.into()); count],
            // Threads begin at different positions.
            None => positions::encoded(index * 97, count, info.input_format),
        };
        Ok(MeasuringThread { evaluator: backend.evaluator()?, positions, next: 0 })
    }

    fn run(&mut self, size: usize, round: RoundLength) -> Result<RoundTimes, BackendError> {
        let start = Instant::now();
        let mut batch_ms = Vec::new();
        loop {
            let before = Instant::now();
            self.evaluate_next(size)?;
            batch_ms.push(before.elapsed().as_secs_f64() * 1e3);
            let is_done = match round {
                RoundLength::Time(time) => start.elapsed() >= time,
                RoundLength::Batches(count) => batch_ms.len() >= count,
            };
            if is_done {
                return Ok(RoundTimes { batch_ms });
            }
        }
    }

    /// Evaluates the next `size` positions.
    fn evaluate_next(&mut self, size: usize) -> Result<(), BackendError> {
        if self.next + size > self.positions.len() {
            self.next = 0;
        }
        self.evaluator.evaluate(&mut self.positions[self.next..self.next + size])?;
        self.next += size;
        Ok(())
    }
}

impl Debug for MeasuringThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MeasuringThread").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{BackendConfig, create};

    #[test]
    fn a_round_times_every_batch_of_every_thread() {
        let backend = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let mut meter = ThroughputMeter::new(&*backend, 2).unwrap();
        meter.warm_up(8).unwrap();
        let round = RoundLength::Batches(3);
        let mut series = meter.begin(8, round).unwrap();
        for _ in 0..4 {
            meter.measure_round(&mut series, round).unwrap();
        }
        assert_eq!((series.size, series.nps.len(), series.batch_ms.len()), (8, 4, 4 * 2 * 3));
        assert!(series.first_ms > 0.0 && series.nps.iter().all(|&nps| nps > 0.0));
        assert!(series.cpu_nps.len() == 4 || cfg!(not(unix)));
    }
}
