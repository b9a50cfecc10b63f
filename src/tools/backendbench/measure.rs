//! The measurements: threads that evaluate batches of game positions, and what each batch took.

use std::time::{Duration, Instant};

use super::MeasurementPlan;
use super::summary::{BatchSizeRow, summarize};
use crate::network::{Backend, EvalSlot, Evaluator};
use crate::tools::bench::cpu_time;
use crate::tools::{Failure, game_positions};

/// Positions that a thread evaluates in turn.
const POSITIONS: usize = 1024;
/// Large batches before the first measurement, so that a device leaves its idle clock.
const WARM_UP_BATCHES: usize = 2;

/// How much one measurement takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RoundLength {
    /// Batches until this time is over.
    Time(Duration),
    /// So many batches.
    Batches(usize),
}

/// All measurements of one batch size.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) size: usize,
    /// The first batch of this size, the slowest thread's, ms.
    pub(super) first_ms: f64,
    /// Evaluations per second of all threads, of each measurement.
    pub(super) nps: Vec<f64>,
    /// Evaluations per second of CPU time that the process took, of each measurement; empty where the system doesn't tell.
    pub(super) cpu_nps: Vec<f64>,
    /// Duration of every batch, ms.
    pub(super) batch_ms: Vec<f64>,
}

impl Series {
    pub(super) fn summarize(&self) -> BatchSizeRow {
        summarize(self)
    }
}

/// The threads' evaluators and positions.
pub(super) struct BenchThreads(Vec<BenchThread>);

impl BenchThreads {
    pub(super) fn new(backend: &dyn Backend, threads: usize) -> Result<BenchThreads, Failure> {
        let thread = |index| BenchThread::new(backend, index);
        Ok(BenchThreads((0..threads).map(thread).collect::<Result<_, _>>()?))
    }

    /// Gives every thread's device enough work to wake up.
    pub(super) fn warm_up(&mut self, size: usize) -> Result<(), Failure> {
        self.run(size, RoundLength::Batches(WARM_UP_BATCHES)).map(|_| ())
    }

    /// Tries a size: times its first batch, and evaluates once more without a look at the clock.
    pub(super) fn begin(&mut self, size: usize, round_length: RoundLength) -> Result<Series, Failure> {
        let first = self.run(size, RoundLength::Batches(1))?;
        let first_ms = first.iter().flat_map(|times| &times.batch_ms).copied().fold(0.0, f64::max);
        self.run(size, round_length)?;
        Ok(Series { size, first_ms, nps: Vec::new(), cpu_nps: Vec::new(), batch_ms: Vec::new() })
    }

    /// Measures those of `series` that stand at `places`, in turn, as many rounds as planned.
    pub(super) fn measure(
        &mut self,
        series: &mut [Series],
        places: &[usize],
        plan: &MeasurementPlan,
    ) -> Result<(), Failure> {
        for _ in 0..plan.rounds {
            for &place in places {
                let series = &mut series[place];
                let before = cpu_time();
                let times = self.run(series.size, plan.round_length)?;
                let spent = cpu_time().zip(before).map(|(after, before)| (after - before).as_secs_f64());
                let evaluations = series.size * times.iter().map(|times| times.batch_ms.len()).sum::<usize>();
                series.cpu_nps.extend(spent.map(|seconds| evaluations as f64 / seconds.max(1e-9)));
                series.nps.push(times.iter().map(|times| times.nps(series.size)).sum());
                series.batch_ms.extend(times.into_iter().flat_map(|times| times.batch_ms));
            }
        }
        Ok(())
    }

    /// All threads at once.
    fn run(&mut self, size: usize, round_length: RoundLength) -> Result<Vec<Times>, Failure> {
        std::thread::scope(|scope| {
            let handles: Vec<_> =
                self.0.iter_mut().map(|thread| scope.spawn(move || thread.run(size, round_length))).collect();
            let times = handles.into_iter().map(|handle| match handle.join() {
                Ok(times) => times,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            times.collect()
        })
    }
}

/// What a thread's batches took.
struct Times {
    batch_ms: Vec<f64>,
}

impl Times {
    fn nps(&self, size: usize) -> f64 {
        let seconds: f64 = self.batch_ms.iter().sum::<f64>() / 1e3;
        (size * self.batch_ms.len()) as f64 / seconds.max(1e-9)
    }
}

/// A thread's evaluator and positions.
struct BenchThread {
    evaluator: Box<dyn Evaluator>,
    positions: Vec<EvalSlot>,
    next: usize,
}

impl BenchThread {
    fn new(backend: &dyn Backend, index: usize) -> Result<BenchThread, Failure> {
        let info = backend.info();
        let count = POSITIONS.max(info.max_batch);
        // Threads begin at different positions.
        let positions = game_positions::encoded(index * 97, count, info.input_format);
        Ok(BenchThread { evaluator: backend.evaluator()?, positions, next: 0 })
    }

    fn run(&mut self, size: usize, round_length: RoundLength) -> Result<Times, Failure> {
        let start = Instant::now();
        let mut batch_ms = Vec::new();
        loop {
            let before = Instant::now();
            self.evaluate_next(size)?;
            batch_ms.push(before.elapsed().as_secs_f64() * 1e3);
            let is_done = match round_length {
                RoundLength::Time(time) => start.elapsed() >= time,
                RoundLength::Batches(count) => batch_ms.len() >= count,
            };
            if is_done {
                return Ok(Times { batch_ms });
            }
        }
    }

    /// Evaluates the next `size` positions.
    fn evaluate_next(&mut self, size: usize) -> Result<(), Failure> {
        if self.next + size > self.positions.len() {
            self.next = 0;
        }
        self.evaluator.evaluate(&mut self.positions[self.next..self.next + size])?;
        self.next += size;
        Ok(())
    }
}
