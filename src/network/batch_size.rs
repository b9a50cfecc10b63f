//! The batch size with which a backend is fastest, found by measuring the batches that it evaluates anyway.
//!
//! Beginning with small batches, the size is doubled as long as that makes evaluation clearly faster; the smallest one
//! that is about as fast as the best stays. No evaluation is made for the sake of measuring, so that nothing has to
//! wait for it, and the search is free to send smaller batches meanwhile. [`super::instrumented`] uses it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Batches whose time is measured as one: enough for all threads to take part.
const WINDOW: u32 = 8;
/// Measurements per size; their median counts.
const WINDOWS: usize = 3;
/// A size is worth doubling while that makes evaluation faster by this factor …
const CLEARLY_FASTER: f64 = 1.05;
/// … and the smallest size stays that is not slower than the best by more than this.
const ABOUT_AS_FAST: f64 = 0.97;
/// If no batch comes for this long, no search is running, and a measurement begins anew.
const IDLE: Duration = Duration::from_millis(50);

/// The batch size to ask for, and the measurements from which it follows.
///
/// The size is read without a lock on every batch; measurements are added behind a lock, and no longer once the size is
/// settled.
#[derive(Debug)]
pub(super) struct BatchSize {
    size: AtomicUsize,
    is_settled: AtomicBool,
    max: usize,
    measuring: Mutex<Measuring>,
}

/// A batch that was evaluated, with its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedBatch {
    pub(super) positions: usize,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

#[derive(Debug, Default)]
struct Measuring {
    /// The end of the batch with which the window begins, and of its last one so far.
    window: Option<(Instant, Instant)>,
    batches: u32,
    positions: usize,
    /// Positions per second in the windows of the present size so far.
    windows: Vec<f64>,
    /// Each size measured, with its positions per second.
    rates: Vec<(usize, f64)>,
    note: Option<String>,
}

impl BatchSize {
    /// Begins with `first` positions, and goes up to `max` at most. If they are equal, nothing is measured.
    pub(super) fn new(first: usize, max: usize) -> BatchSize {
        BatchSize {
            size: AtomicUsize::new(first.min(max)),
            is_settled: AtomicBool::new(first >= max),
            max,
            measuring: Mutex::default(),
        }
    }

    /// Returns the positions per batch to ask for now.
    pub(super) fn get(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Takes the note on the size that was found, which is there once.
    pub(super) fn take_note(&self) -> Option<String> {
        self.measuring.lock().unwrap_or_else(PoisonError::into_inner).note.take()
    }

    /// Takes note of a batch that was evaluated.
    pub(super) fn record(&self, batch: TimedBatch) {
        if self.is_settled.load(Ordering::Relaxed) {
            return;
        }
        let mut measuring = self.measuring.lock().unwrap_or_else(PoisonError::into_inner);
        let size = self.get();
        if let Some(rate) = measuring.add(size, batch) {
            self.learn(&mut measuring, size, rate);
        }
    }

    /// Takes note of a window with batches of `size` positions that went at `rate` positions per second, and chooses
    /// the next size when the windows of this one are full.
    fn learn(&self, measuring: &mut Measuring, size: usize, rate: f64) {
        measuring.windows.push(rate);
        if measuring.windows.len() < WINDOWS {
            return;
        }
        measuring.windows.sort_by(f64::total_cmp);
        let median = measuring.windows[WINDOWS / 2];
        measuring.windows.clear();
        measuring.rates.push((size, median));
        let is_faster = match measuring.rates[..] {
            [.., (_, before), (_, now)] => now >= before * CLEARLY_FASTER,
            _ => true,
        };
        let next = (size * 2).min(self.max);
        if is_faster && next > size {
            self.size.store(next, Ordering::Relaxed);
            return;
        }
        let chosen = measuring.choose().unwrap_or(size);
        measuring.note = Some(measuring.describe(chosen));
        self.size.store(chosen, Ordering::Relaxed);
        self.is_settled.store(true, Ordering::Relaxed);
    }
}

impl Measuring {
    /// Adds a batch to the window. Returns positions per second when it is full.
    fn add(&mut self, size: usize, batch: TimedBatch) -> Option<f64> {
        let TimedBatch { positions, began, ended } = batch;
        let is_full_batch = positions <= size && positions * 4 >= size * 3;
        let window = self.window.filter(|(_, last)| began.saturating_duration_since(*last) < IDLE);
        let Some((start, _)) = window.filter(|_| is_full_batch) else {
            self.window = is_full_batch.then_some((ended, ended));
            (self.batches, self.positions) = (0, 0);
            return None;
        };
        self.window = Some((start, ended));
        self.batches += 1;
        self.positions += positions;
        if self.batches < WINDOW {
            return None;
        }
        let rate = self.positions as f64 / ended.saturating_duration_since(start).as_secs_f64().max(1e-9);
        self.window = None;
        Some(rate)
    }

    /// Returns the smallest size that is about as fast as the best.
    fn choose(&self) -> Option<usize> {
        let best = self.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        self.rates.iter().find(|(_, rate)| *rate >= best * ABOUT_AS_FAST).map(|(size, _)| *size)
    }

    fn describe(&self, chosen: usize) -> String {
        let rates: Vec<_> = self.rates.iter().map(|(size, rate)| format!("{size}: {rate:.0}")).collect();
        format!("batches of {chosen} positions, measured (evaluations per second: {})", rates.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds full batches of a backend that takes `latency` and `per_position` until the choice is made.
    fn settle(sizes: &BatchSize, latency: Duration, per_position: Duration) -> usize {
        let mut now = Instant::now();
        for _ in 0..1000 {
            let positions = sizes.get();
            let began = now;
            now += latency + per_position * positions as u32;
            sizes.record(TimedBatch { positions, began, ended: now });
        }
        sizes.get()
    }

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn long_latencies_want_large_batches() {
        let sizes = BatchSize::new(8, 1024);
        assert_eq!(settle(&sizes, 2000 * US, US), 1024);
        assert_eq!(sizes.take_note().unwrap().matches(':').count(), 1 + 8, "eight sizes from 8 to 1024");
        assert_eq!(sizes.take_note(), None);
        // 64 positions take 64 + 16 µs, 128 take 128 + 16: faster by 11 %; 256 by 6 %; 512 by 3 %, which is not worth it.
        assert_eq!(settle(&BatchSize::new(8, 1024), 16 * US, US), 256);
    }

    #[test]
    fn without_latency_the_first_size_stays() {
        assert_eq!(settle(&BatchSize::new(8, 1024), Duration::ZERO, 100 * US), 8);
        assert_eq!(settle(&BatchSize::new(16, 16), 2000 * US, US), 16);
    }

    #[test]
    fn small_batches_and_pauses_are_no_measurement() {
        let sizes = BatchSize::new(8, 64);
        let mut now = Instant::now();
        for index in 0..1000 {
            now += if index % 7 == 0 { IDLE } else { US };
            let other = if index % 3 == 0 { 5 } else { 9 };
            for positions in [8, other] {
                sizes.record(TimedBatch { positions, began: now, ended: now + US });
            }
        }
        assert_eq!(sizes.get(), 8);
        assert_eq!(sizes.take_note(), None);
    }
}
