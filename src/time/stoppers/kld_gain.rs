//! The option `MinimumKLDGainPerNode`: stops when more visits hardly change the visit distribution.

use crate::time::stats::{Hints, SearchStats};
use crate::time::stopper::{StopReason, Stopper};

/// Compares the root's visit distribution with that of an earlier moment of the search.
///
/// The gain is the Kullback-Leibler divergence of the new distribution from the old, Σ p·ln(p/q) with p old and
/// q new, per node made in between (Lc0's rule and units).
#[derive(Clone, Debug)]
pub struct KldGain {
    minimum: f64,
    interval: u64,
    earlier: Vec<u32>,
}

impl KldGain {
    /// Makes the rule: it stops when the gain per node falls below `minimum`, and is checked every `interval` nodes.
    pub fn new(minimum: f64, interval: u64) -> Self {
        KldGain { minimum, interval, earlier: Vec::new() }
    }
}

impl Stopper for KldGain {
    fn should_stop(&mut self, stats: &SearchStats, _: &mut Hints) -> Option<StopReason> {
        let before: u64 = total(&self.earlier);
        let now: u64 = total(&stats.root_visits);
        if now < before + self.interval {
            return None;
        }
        // Moves that were tried since are new at the end; the earlier ones keep their places.
        let gain =
            (before > 0).then(|| divergence(&self.earlier, &stats.root_visits) / (now - before) as f64);
        self.earlier.clone_from(&stats.root_visits);
        gain.is_some_and(|gain| gain < self.minimum).then_some(StopReason::KldGain)
    }
}

fn total(visits: &[u32]) -> u64 {
    visits.iter().map(|&n| u64::from(n)).sum()
}

/// Returns Σ p·ln(p/q) over the moves that `old` had visited; p and q are shares of the visits in `old` and `new`.
fn divergence(old: &[u32], new: &[u32]) -> f64 {
    let (old_total, new_total) = (total(old) as f64, total(new) as f64);
    let share = |n: u32, total: f64| f64::from(n) / total;
    let visited = old.iter().zip(new).filter(|(p, q)| **p > 0 && **q > 0);
    visited.map(|(&p, &q)| share(p, old_total) * (share(p, old_total) / share(q, new_total)).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(visits: &[u32]) -> SearchStats {
        SearchStats { root_visits: visits.into(), ..SearchStats::default() }
    }

    #[test]
    fn divergence_by_hand() {
        // Old 50:50, new 75:25 of 100 and 200: 0.5·ln(0.5/0.75) + 0.5·ln(0.5/0.25)
        // = 0.5·(-0.405465) + 0.5·0.693147 = 0.143841
        assert!((divergence(&[50, 50], &[150, 50]) - 0.143_841).abs() < 1e-6);
    }

    #[test]
    fn stops_when_the_distribution_has_settled() {
        let mut stopper = KldGain::new(1e-4, 100);
        let mut ask = |visits| stopper.should_stop(&stats(visits), &mut Hints::default());
        assert_eq!(ask(&[50, 50]), None);
        assert_eq!(ask(&[80, 60]), None, "the interval is not over");
        assert_eq!(ask(&[150, 50]), None, "a gain of 0.1438 in 100 nodes");
        assert_eq!(ask(&[225, 75]), Some(StopReason::KldGain), "the same shares again");
    }

    /// A regression: a look was skipped whenever a move had been tried for the first time since the last one.
    #[test]
    fn a_new_move_does_not_hide_that_the_others_have_settled() {
        let mut stopper = KldGain::new(1e-4, 100);
        let mut ask = |visits| stopper.should_stop(&stats(visits), &mut Hints::default());
        assert_eq!(ask(&[75, 25]), None);
        assert_eq!(ask(&[150, 50, 1]), Some(StopReason::KldGain));
    }
}
