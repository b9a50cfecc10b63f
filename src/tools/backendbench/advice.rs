//! Draws conclusions from the figures: cliffs between batch sizes, and the size to play with.

use std::fmt;

use super::summary::BatchSizeRow;
use crate::search::{leaves_under_way, worth_under_way};

/// The smallest fall of throughput that counts, as a share.
const LEAST_FALL: f64 = 0.05;
/// Standard errors by which a fall must exceed the noise.
const CERTAINTY: f64 = 4.0;
/// A batch's time jumps if it grows by more than this share at once and …
const LEAST_JUMP: f64 = 0.10;
/// … by this many times what a position costs on average.
const JUMP_IN_POSITIONS: f64 = 4.0;

/// A place where one position more costs much.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cliff {
    /// The size before.
    pub(super) from: usize,
    /// The size behind.
    pub(super) to: usize,
    kind: CliffKind,
    /// Throughput lost, or time gained by the batch, as a share.
    share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CliffKind {
    Throughput,
    Latency,
}

impl fmt::Display for Cliff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cliff { from, to, share, .. } = self;
        let percent = share * 100.0;
        match self.kind {
            CliffKind::Throughput => write!(f, "throughput falls by {percent:.0} % from {from} to {to}"),
            CliffKind::Latency => write!(f, "a batch takes {percent:.0} % longer from {from} to {to}"),
        }
    }
}

/// Returns the cliffs between neighbours among `rows`, which ascend by size.
pub(super) fn cliffs(rows: &[BatchSizeRow]) -> Vec<Cliff> {
    let per_position = match rows {
        [first, .., last] => (last.p50_ms - first.p50_ms).max(0.0) / (last.batch - first.batch) as f64,
        _ => 0.0,
    };
    let cliff = |pair: &[BatchSizeRow]| {
        let [a, b] = pair else { return None };
        let (from, to) = (a.batch, b.batch);
        let fall = 1.0 - b.median_nps / a.median_nps;
        if fall > LEAST_FALL.max(CERTAINTY * (relative_error(a) + relative_error(b))) {
            return Some(Cliff { from, to, kind: CliffKind::Throughput, share: fall });
        }
        let jump = b.p50_ms - a.p50_ms;
        let usual = JUMP_IN_POSITIONS * per_position * (to - from) as f64;
        let noise = CERTAINTY * (relative_error(a) + relative_error(b));
        let is_jump = jump > usual && jump > LEAST_JUMP.max(noise) * a.p50_ms;
        // From 1 to 2 positions a batch may well take twice the time.
        (is_jump && from > 1).then(|| Cliff { from, to, kind: CliffKind::Latency, share: jump / a.p50_ms })
    };
    rows.windows(2).filter_map(cliff).collect()
}

/// Returns the standard error of a row's median rate as a share of it.
fn relative_error(row: &BatchSizeRow) -> f64 {
    // Of a normal distribution's median: √(π/2) of the mean's.
    let error = 1.2533 * row.deviation_nps / (row.rounds.max(1) as f64).sqrt();
    error / row.median_nps.max(1e-9)
}

/// Kinds of games with the seconds a move that Lc0 takes for them.
pub(super) const GAMES: [(&str, f64); 3] = [("bullet", 1.0), ("rapid", 15.0), ("long", 180.0)];
/// Share of the best size's search that a smaller size is worth, so that it is taken.
const ABOUT_AS_GOOD: f64 = 0.98;

/// Returns the size to play with at `seconds` a move on a backend that has `queues` batches at once; `rows` ascend by size.
pub(super) fn recommended(rows: &[BatchSizeRow], seconds: f64, queues: usize) -> usize {
    let worth: Vec<_> = rows.iter().map(|row| worth_of_search(rows, row.batch, seconds, queues)).collect();
    let best = worth.iter().copied().fold(0.0, f64::max);
    let place = worth.iter().position(|&worth| worth >= ABOUT_AS_GOOD * best);
    place.map_or(1, |place| rows[place].batch)
}

/// Returns what a search of `seconds` with batches of at most `batch` is worth, in visits that know all results, where batches take
/// the time that was measured. As many leaves as the search allows make a batch, and each is worth what the search reckons.
fn worth_of_search(rows: &[BatchSizeRow], batch: usize, seconds: f64, queues: usize) -> f64 {
    let (mut visits, mut worth, mut time) = (0, 0.0, 0.0);
    loop {
        let leaves = leaves_under_way(visits, batch as u32, queues).clamp(1, batch as u32);
        let ms = batch_ms(rows, leaves as usize);
        // From a full batch on only its worth changes, and little: longer steps do.
        let steps = if leaves == batch as u32 { (visits / (64 * leaves)).max(1) } else { 1 };
        time += ms / 1e3 * f64::from(steps);
        if time > seconds || ms <= 0.0 {
            return worth;
        }
        visits += leaves * steps;
        worth += f64::from(leaves * steps) * f64::from(worth_under_way(leaves, visits));
    }
}

/// Returns the time of a batch of `size` positions, ms, between those that were measured.
fn batch_ms(rows: &[BatchSizeRow], size: usize) -> f64 {
    let behind = rows.partition_point(|row| row.batch < size);
    match (rows[..behind].last(), rows.get(behind)) {
        (Some(a), Some(b)) => {
            let share = (size - a.batch) as f64 / (b.batch - a.batch) as f64;
            a.p50_ms + share * (b.p50_ms - a.p50_ms)
        }
        (Some(row), None) | (None, Some(row)) => row.p50_ms,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns rows of a device whose batch of n takes `ms(n)`.
    fn rows(sizes: &[usize], ms: impl Fn(usize) -> f64) -> Vec<BatchSizeRow> {
        let row = |&batch: &usize| {
            let nps = batch as f64 / ms(batch) * 1e3;
            BatchSizeRow { batch, median_nps: nps, p50_ms: ms(batch), rounds: 11, ..BatchSizeRow::default() }
        };
        sizes.iter().map(row).collect()
    }

    #[test]
    fn a_device_that_pads_to_32_has_cliffs_behind_each_multiple() {
        let padded = rows(&[1, 16, 31, 32, 33, 64, 65, 96, 97, 128], |n| 1.0 + n.div_ceil(32) as f64);
        let found: Vec<_> = cliffs(&padded).iter().map(|cliff| (cliff.from, cliff.to)).collect();
        assert_eq!(found, [(32, 33), (64, 65), (96, 97)]);
        assert_eq!(cliffs(&padded)[2].to_string(), "throughput falls by 19 % from 96 to 97");
    }

    #[test]
    fn a_step_that_costs_no_throughput_is_a_jump_of_the_batch_time() {
        let sizes: Vec<_> = (1..=40).collect();
        let stepped = rows(&sizes, |n| 1.0 + 0.01 * n as f64 + if n > 20 { 0.06 } else { 0.0 });
        assert!(cliffs(&stepped).is_empty(), "5 % are no jump");
        let coarse = rows(&[1, 4, 8, 9, 16, 32], |n| 10.0 + 0.1 * n as f64 + if n > 8 { 1.2 } else { 0.0 });
        assert_eq!(cliffs(&coarse)[0].to_string(), "a batch takes 12 % longer from 8 to 9");
    }

    #[test]
    fn a_smooth_curve_has_no_cliffs_and_noise_makes_none() {
        let sizes = [1, 2, 4, 8, 16, 32, 64, 128];
        assert!(cliffs(&rows(&sizes, |n| 1.0 + 0.05 * n as f64)).is_empty());
        let mut noisy = rows(&sizes, |n| n as f64);
        noisy[4].median_nps *= 0.9;
        assert_eq!(cliffs(&noisy).len(), 1);
        noisy.iter_mut().for_each(|row| row.deviation_nps = 0.1 * row.median_nps);
        assert!(cliffs(&noisy).is_empty());
    }

    #[test]
    fn longer_games_take_larger_batches() {
        let recommended =
            |rows: &[BatchSizeRow], queues| GAMES.map(|(_, seconds)| recommended(rows, seconds, queues));
        let gpu = rows(&[1, 8, 32, 64, 128, 256, 512], |n| 5.0 + 0.05 * n as f64);
        let sizes = recommended(&gpu, 2);
        assert!(sizes.is_sorted() && sizes[0] >= 64 && sizes[2] == 512, "{sizes:?}");
        let cpu = rows(&[1, 8, 32, 64], |n| 0.1 + n as f64);
        assert_eq!(recommended(&cpu, 0)[1..], [8, 8], "a batch of one is 9 % slower");
    }
}
