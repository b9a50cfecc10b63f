//! Draws conclusions from the figures: cliffs between batch sizes, and the size to play with.

use std::fmt;

use super::summary::BatchSizeRow;

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

/// Returns the size to play with at `seconds` a move; `rows` ascend by size.
///
/// Visits of one batch do not know of each other, so a larger batch must pay in speed. By Lc0's rule for its
/// `backendbench --clippy` the gain as a share of the speed must exceed the growth as a share of the size times
/// 0.16947·exp(−4.1695·10⁻⁶·n) + 0.02, where n are the nodes of a move, taken as (mean of old and new rate)^1.085 per second.
pub(super) fn recommended(rows: &[BatchSizeRow], seconds: f64) -> usize {
    let Some((first, larger)) = rows.split_first() else { return 1 };
    let better = |best: &BatchSizeRow, row: &BatchSizeRow| {
        let nodes = ((row.median_nps + best.median_nps) / 2.0).powf(1.085) * seconds;
        let price = 0.16947 * (-4.1695e-6 * nodes).exp() + 0.02;
        let gain = row.median_nps / best.median_nps - 1.0;
        let growth = row.batch as f64 / best.batch as f64 - 1.0;
        gain > price * growth
    };
    larger.iter().fold(first, |best, row| if better(best, row) { row } else { best }).batch
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
        let recommended = |rows: &[BatchSizeRow]| GAMES.map(|(_, seconds)| recommended(rows, seconds));
        let gpu = rows(&[1, 8, 32, 64, 128, 256, 512], |n| 5.0 + 0.05 * n as f64);
        assert_eq!(recommended(&gpu), [256, 512, 512]);
        let cpu = rows(&[1, 8, 32, 64], |n| 0.1 + n as f64);
        assert_eq!(recommended(&cpu), [1, 1, 1]);
    }
}
