//! Measures a backend in positions per second, for `zeitnot backendbench` and `zeitnot doctor`.

use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::backend::{Backend, Evaluator};
use super::backend_error::BackendError;
use super::encode::InputFormat;
use super::eval_slot::EvalSlot;
use crate::chess::History;
use crate::system::cpu_time;

/// Per thread, in turn.
const POSITIONS: usize = 1024;
/// Large batches first, so that a device leaves its idle clock.
const WARM_UP_BATCHES: usize = 2;
const CHANGES: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoundLength {
    Time(Duration),
    Batches(usize),
}

#[derive(Clone, Debug)]
pub struct BatchSizeSeries {
    pub size: usize,
    /// The first batch of this size, on the slowest thread, in ms.
    pub first_ms: f64,
    /// Evaluations per second of all threads, per round.
    pub nps: Vec<f64>,
    /// Evaluations per second of the process's CPU time, per round. Empty where the system does not report
    /// it.
    pub cpu_nps: Vec<f64>,
    pub batch_ms: Vec<f64>,
}

pub struct ThroughputMeter {
    threads: Vec<MeasuringThread>,
}

impl ThroughputMeter {
    /// Batches hold only `position`, or else positions of games.
    pub fn new(
        backend: &dyn Backend,
        threads: usize,
        position: Option<&History>,
    ) -> Result<ThroughputMeter, BackendError> {
        let thread = |index| MeasuringThread::new(backend, index, position);
        Ok(ThroughputMeter {
            threads: (0..threads).map(thread).collect::<Result<_, _>>()?,
        })
    }

    /// With batches of `size` positions from every thread.
    pub fn warm_up(&mut self, size: usize) -> Result<(), BackendError> {
        self.run(size, RoundLength::Batches(WARM_UP_BATCHES)).map(drop)
    }

    /// Times the first batch of `size` positions, then runs one uncounted round.
    pub fn begin(&mut self, size: usize, round: RoundLength) -> Result<BatchSizeSeries, BackendError> {
        let first = self.run(size, RoundLength::Batches(1))?;
        let first_ms = first.iter().flatten().copied().fold(0.0, f64::max);
        self.run(size, round)?;
        Ok(BatchSizeSeries {
            size,
            first_ms,
            nps: Vec::new(),
            cpu_nps: Vec::new(),
            batch_ms: Vec::new(),
        })
    }

    pub fn measure(
        &mut self,
        series: &mut [BatchSizeSeries],
        rounds: usize,
        length: RoundLength,
    ) -> Result<(), BackendError> {
        for _ in 0..rounds {
            for series in &mut *series {
                let before = cpu_time();
                let times = self.run(series.size, length)?;
                let spent = cpu_time()
                    .zip(before)
                    .map(|(after, before)| (after - before).as_secs_f64());
                let evaluations = series.size * times.iter().map(Vec::len).sum::<usize>();
                series
                    .cpu_nps
                    .extend(spent.map(|seconds| evaluations as f64 / seconds.max(1e-9)));
                series
                    .nps
                    .push(times.iter().map(|times| nps(series.size, times)).sum());
                series.batch_ms.extend(times.into_iter().flatten());
            }
        }
        Ok(())
    }

    /// Alternates two sizes, two batches each. Returns how much longer the first takes than the second, in
    /// ms, the median: a device may prepare for each size.
    pub fn change_ms(&mut self, sizes: [usize; 2]) -> Result<f64, BackendError> {
        let mut longer = Vec::new();
        for size in [sizes; CHANGES / 2].concat() {
            let times = self.run(size, RoundLength::Batches(2))?;
            longer.extend(times.iter().map(|times| times[0] - times[1]));
        }
        Ok(SortedSamples::of(&longer).percentile(50.0))
    }

    /// One round on all threads at once. Returns each thread's batch durations in ms.
    fn run(&mut self, size: usize, round: RoundLength) -> Result<Vec<Vec<f64>>, BackendError> {
        std::thread::scope(|scope| {
            let handles: Vec<_> = self
                .threads
                .iter_mut()
                .map(|thread| scope.spawn(move || thread.run(size, round)))
                .collect();
            let joined = handles.into_iter().map(|handle| handle.join());
            joined
                .map(|times| times.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    }
}

fn nps(size: usize, batch_ms: &[f64]) -> f64 {
    let seconds: f64 = batch_ms.iter().sum::<f64>() / 1e3;
    (size * batch_ms.len()) as f64 / seconds.max(1e-9)
}

struct MeasuringThread {
    evaluator: Box<dyn Evaluator>,
    positions: Vec<EvalSlot>,
    next: usize,
}

impl MeasuringThread {
    fn new(
        backend: &dyn Backend,
        index: usize,
        position: Option<&History>,
    ) -> Result<MeasuringThread, BackendError> {
        let info = backend.facts();
        let count = POSITIONS.max(info.max_batch);
        let positions = match position {
            Some(position) => vec![EvalSlot::of(position, info.input_format.into()); count],
            None => encoded_positions(index * 97, count, info.input_format),
        };
        Ok(MeasuringThread {
            evaluator: backend.evaluator()?,
            positions,
            next: 0,
        })
    }

    fn run(&mut self, size: usize, round: RoundLength) -> Result<Vec<f64>, BackendError> {
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
                return Ok(batch_ms);
            }
        }
    }

    fn evaluate_next(&mut self, size: usize) -> Result<(), BackendError> {
        if self.next + size > self.positions.len() {
            self.next = 0;
        }
        self.evaluator
            .evaluate(&mut self.positions[self.next..self.next + size])?;
        self.next += size;
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct SortedSamples(Vec<f64>);

impl SortedSamples {
    pub fn of(values: &[f64]) -> SortedSamples {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        SortedSamples(values)
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// The population's standard deviation, estimated from this sample, or 0 for fewer than two numbers.
    pub fn deviation(&self) -> f64 {
        if self.0.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len() - 1) as f64).sqrt()
    }

    /// The standard error of the mean.
    pub fn error(&self) -> f64 {
        self.deviation() / (self.0.len().max(1) as f64).sqrt()
    }

    /// The percentile (0 to 100), interpolated between the two nearest ranks, or 0 without numbers.
    pub fn percentile(&self, percent: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else {
            return 0.0;
        };
        let place = percent / 100.0 * last as f64;
        let (low, high) = (
            self.0[place.floor() as usize],
            self.0[(place.ceil() as usize).min(last)],
        );
        low + (high - low) * place.fract()
    }
}

const GAMES: &str = include_str!("games.txt");

/// All positions with their games before them, ordered so that neighbours differ in game and phase.
static ALL: LazyLock<Vec<History>> = LazyLock::new(|| {
    let mut positions: Vec<_> = GAMES.lines().flat_map(positions_of).collect();
    // A fixed seed keeps the order.
    fastrand::Rng::with_seed(1).shuffle(&mut positions);
    positions
});

fn positions_of(game: &str) -> Vec<History> {
    let mut history = History::start();
    let mut positions = Vec::new();
    for text in game.split_ascii_whitespace() {
        let Ok(m) = history.parse_move(text) else {
            unreachable!("the games are part of the program and a test plays them through")
        };
        positions.push(history.clone());
        history.push(m);
    }
    positions
}

/// `count` encoded positions with the policy indices of their legal moves, from `first` on, wrapping around.
pub fn encoded_positions(first: usize, count: usize, format: InputFormat) -> Vec<EvalSlot> {
    let positions = ALL.iter().cycle().skip(first % ALL.len()).take(count);
    positions
        .map(|history| EvalSlot::of(history, format.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::{BackendConfig, create};

    #[test]
    fn a_round_times_every_batch_of_every_thread() {
        let backend = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let mut meter = ThroughputMeter::new(&*backend, 2, None).unwrap();
        meter.warm_up(8).unwrap();
        let round = RoundLength::Batches(3);
        let mut series = meter.begin(8, round).unwrap();
        meter
            .measure(std::slice::from_mut(&mut series), 4, round)
            .unwrap();
        assert_eq!(
            (series.size, series.nps.len(), series.batch_ms.len()),
            (8, 4, 4 * 2 * 3)
        );
        assert!(series.first_ms > 0.0 && series.nps.iter().all(|&nps| nps > 0.0));
        assert!(series.cpu_nps.len() == 4 || cfg!(not(unix)));
    }

    #[test]
    fn the_games_are_played_through_and_varied() {
        assert!(ALL.len() > 2000, "{}", ALL.len());
        let plies: Vec<_> = ALL.iter().map(|history| history.game_ply()).collect();
        assert!(plies.iter().any(|&ply| ply > 150) && plies.contains(&0));
        let slots = encoded_positions(ALL.len() - 1, 3, InputFormat::default());
        assert_eq!(
            slots[1].planes,
            encoded_positions(0, 1, InputFormat::default())[0].planes
        );
        assert_ne!(slots[1].planes, slots[2].planes);
        assert!(slots.iter().all(|slot| !slot.moves.is_empty()));
    }

    #[test]
    fn percentiles_lie_between_ranks() {
        let sorted = SortedSamples::of(&[4.0, 1.0, 3.0, 9.0]);
        assert_eq!(sorted.percentile(50.0), 3.5);
        assert_eq!(SortedSamples::of(&[2.0]).deviation(), 0.0);
        assert_eq!(
            (
                SortedSamples::of(&[]).percentile(50.0),
                SortedSamples::of(&[]).mean()
            ),
            (0.0, 0.0)
        );
    }
}
