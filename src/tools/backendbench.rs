//! `zeitnot backendbench`: how many positions a backend evaluates in a second, by batch size.
//!
//! Batch sizes take turns, round after round, so that a machine that slows down or has other work meets all of them.
//! The positions come from random games and change from batch to batch.

use std::fmt;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::{Failure, NetworkArgs, Output, Verdict};
use crate::chess::{History, Variant};
use crate::network::encode::{HistoryFill, InputFormat, encode};
use crate::network::{Backend, EvalSlot, Evaluator, policy_map};

/// Positions that a thread evaluates in turn.
const POSITIONS: usize = 1024;
/// Plies of a random game before the next one begins.
const GAME_PLIES: usize = 120;
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

#[derive(Debug, Args)]
pub(super) struct BackendbenchArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Batch sizes
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128",
          value_parser = clap::value_parser!(u32).range(1..))]
    batches: Vec<u32>,
    /// Threads that evaluate, each batches of its own
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Measurements of each batch size
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Time of a measurement, ms
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    round_ms: u64,
}

/// Runs the command.
pub(super) fn run(args: &BackendbenchArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let backend = args.network.backend()?;
    let info = backend.info();
    if let Some(batch) = args.batches.iter().find(|&&batch| batch as usize > info.max_batch) {
        let largest = info.max_batch;
        return Err(Failure::Input(format!("--batches {batch}: {} takes up to {largest}", info.name)));
    }
    let mut workers = Vec::new();
    for seed in 0..args.threads {
        workers.push(Worker::new(&*backend, seed.into())?);
    }
    let mut rows: Vec<_> = args.batches.iter().map(|&batch| Row::new(batch as usize)).collect();
    for row in &mut rows {
        let start = Instant::now();
        workers[0].evaluate_next(row.batch)?;
        row.first_ms = start.elapsed().as_secs_f64() * 1e3;
    }
    for _ in 0..args.rounds {
        for row in &mut rows {
            row.measured.push(measure(&mut workers, row.batch, Duration::from_millis(args.round_ms))?);
        }
    }
    let table =
        Table { backend: info.description.clone(), rows: rows.into_iter().map(Row::summarize).collect() };
    output.write(&table.rows, &table)?;
    Ok(Verdict::Yes)
}

/// A thread's evaluator and positions.
struct Worker {
    evaluator: Box<dyn Evaluator>,
    positions: Vec<EvalSlot>,
    next: usize,
}

impl Worker {
    fn new(backend: &dyn Backend, seed: u64) -> Result<Worker, Failure> {
        let count = POSITIONS.max(backend.info().max_batch);
        let positions = random_positions(seed, count, backend.info().input_format);
        Ok(Worker { evaluator: backend.evaluator()?, positions, next: 0 })
    }

    /// Evaluates the next `batch` positions.
    fn evaluate_next(&mut self, batch: usize) -> Result<(), Failure> {
        if self.next + batch > self.positions.len() {
            self.next = 0;
        }
        self.evaluator.evaluate(&mut self.positions[self.next..self.next + batch])?;
        self.next += batch;
        Ok(())
    }

    /// Evaluates for `time`; evaluations per second.
    fn measure(&mut self, batch: usize, time: Duration) -> Result<f64, Failure> {
        let start = Instant::now();
        let mut evaluated = 0;
        while start.elapsed() < time {
            self.evaluate_next(batch)?;
            evaluated += batch;
        }
        Ok(evaluated as f64 / start.elapsed().as_secs_f64())
    }
}

/// Evaluations per second of all workers at once.
fn measure(workers: &mut [Worker], batch: usize, time: Duration) -> Result<f64, Failure> {
    std::thread::scope(|scope| {
        let handles: Vec<_> =
            workers.iter_mut().map(|worker| scope.spawn(move || worker.measure(batch, time))).collect();
        let rates = handles.into_iter().map(|handle| match handle.join() {
            Ok(rate) => rate,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        rates.sum()
    })
}

/// Positions of random games, encoded, with the policy indices of their legal moves.
fn random_positions(seed: u64, count: usize, format: InputFormat) -> Vec<EvalSlot> {
    let mut random = seed;
    let mut positions = Vec::with_capacity(count);
    while positions.len() < count {
        let Ok(mut history) = History::from_fen(START, Variant::Standard) else {
            unreachable!("START is legal")
        };
        for _ in 0..GAME_PLIES {
            let legal = history.legal_moves();
            if legal.is_empty() || positions.len() == count {
                break;
            }
            let mut slot = EvalSlot::default();
            let transform = encode(&history, format, HistoryFill::default(), &mut slot.planes);
            let turn = history.current().turn();
            slot.moves = legal.iter().map(|&m| policy_map::index(m, turn, transform)).collect();
            positions.push(slot);
            // Knuth's linear congruential generator; its high bits are the good ones.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            history.push(legal[(random >> 33) as usize % legal.len()]);
        }
    }
    positions
}

/// Measurements of a batch size.
struct Row {
    batch: usize,
    first_ms: f64,
    /// Evaluations per second.
    measured: Vec<f64>,
}

/// What is reported of a batch size.
#[derive(Debug, Serialize)]
struct Summary {
    batch: usize,
    mean_nps: f64,
    median_nps: f64,
    min_nps: f64,
    max_nps: f64,
    /// Duration of the first batch of this size.
    first_ms: f64,
}

impl Row {
    fn new(batch: usize) -> Row {
        Row { batch, first_ms: 0.0, measured: Vec::new() }
    }

    fn summarize(mut self) -> Summary {
        self.measured.sort_by(f64::total_cmp);
        let count = self.measured.len();
        Summary {
            batch: self.batch,
            mean_nps: self.measured.iter().sum::<f64>() / count as f64,
            median_nps: (self.measured[(count - 1) / 2] + self.measured[count / 2]) / 2.0,
            min_nps: self.measured[0],
            max_nps: self.measured[count - 1],
            first_ms: self.first_ms,
        }
    }
}

/// The report for people.
struct Table {
    backend: String,
    rows: Vec<Summary>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.backend)?;
        writeln!(f, "evaluations per second; first batch in ms")?;
        writeln!(
            f,
            "{:>6} {:>10} {:>10} {:>10} {:>10} {:>9}",
            "batch", "mean", "median", "min", "max", "first"
        )?;
        for row in &self.rows {
            let Summary { batch, mean_nps, median_nps, min_nps, max_nps, first_ms } = row;
            writeln!(
                f,
                "{batch:>6} {mean_nps:>10.0} {median_nps:>10.0} {min_nps:>10.0} {max_nps:>10.0} {first_ms:>9.2}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_tell_the_middle_and_the_ends() {
        let summary =
            |measured: &[f64]| Row { batch: 1, first_ms: 0.0, measured: measured.into() }.summarize();
        let odd = summary(&[3.0, 1.0, 8.0]);
        assert_eq!((odd.mean_nps, odd.median_nps, odd.min_nps, odd.max_nps), (4.0, 3.0, 1.0, 8.0));
        assert_eq!(summary(&[4.0, 1.0, 3.0, 9.0]).median_nps, 3.5);
    }

    #[test]
    fn positions_are_varied_and_reproducible() {
        let format = InputFormat::default();
        let positions = random_positions(1, 300, format);
        assert_eq!(positions.len(), 300);
        assert_eq!(positions[299].planes, random_positions(1, 300, format)[299].planes);
        assert_ne!(positions[299].planes, random_positions(2, 300, format)[299].planes);
        assert_ne!(positions[1].planes, positions[2].planes);
        assert!(positions.iter().all(|slot| !slot.moves.is_empty()));
    }
}
