//! Nodes per second, smoothed over moves.

use crate::time::stats::SearchStats;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NpsRule {
    /// The mean of this game's measurements, with the guess as `guess_s` seconds of them, then exponential
    /// decay: halfway to the measured rate in `step_s` seconds (PR 1195 decays from the start: `guess_s` ≥
    /// `step_s`/ln 2).
    Decay {
        step_s: f64,
        /// With 0 the first measurement replaces the guess.
        guess_s: f64,
    },
    /// Rises to the measured rate at once, falls to it linearly in the first `window_s` seconds of a move
    /// (today's Lc0). The game's first move takes the measurement alone.
    Window {
        /// Until the earlier moves' estimate is forgotten.
        window_s: f64,
    },
}

/// The estimate during one move.
///
/// Measures between returned evaluations, without the first batch. (Lc0 counts that batch's nodes but not its
/// time.)
#[derive(Clone, Debug)]
pub(crate) struct NpsEstimator {
    rule: NpsRule,
    pub(crate) value: f64,
    pub(crate) measured_s: f64,
    /// No earlier move has measured anything.
    is_guess: bool,
    first: Option<NpsSample>,
    last: Option<NpsSample>,
    /// How long the first evaluation took from the beginning of the search.
    first_batch_s: f64,
    batches: u64,
}

#[derive(Clone, Copy, Debug)]
struct NpsSample {
    elapsed_s: f64,
    nodes: f64,
}

impl NpsEstimator {
    /// `value` is the earlier moves' estimate over `measured_s` seconds (0 for a guess).
    pub(crate) fn new(rule: NpsRule, value: f64, measured_s: f64) -> Self {
        let is_guess = measured_s <= 0.0;
        NpsEstimator {
            rule,
            value,
            measured_s,
            is_guess,
            first: None,
            last: None,
            first_batch_s: 0.0,
            batches: 0,
        }
    }

    /// The estimator after the move.
    ///
    /// A single batch gives the rate by the time since the search began.
    pub(crate) fn after_the_move(&self) -> NpsEstimator {
        let mut estimator = self.clone();
        if let (Some(first), None, 1) = (self.first, self.measured(), self.batches) {
            let began = NpsSample {
                elapsed_s: 0.0,
                nodes: 0.0,
            };
            let back = NpsSample {
                elapsed_s: self.first_batch_s,
                ..first
            };
            if let Some(measured) = rate(began, back).filter(|_| back.nodes > 0.0) {
                estimator.follow(measured, 0.0, back.elapsed_s);
            }
        }
        estimator
    }

    fn measured(&self) -> Option<f64> {
        rate(self.first?, self.last?)
    }

    /// Where too low a value would end the search: the higher of the estimate and this move's rate until the
    /// game has measured one step.
    pub(crate) fn optimistic(&self) -> f64 {
        let settled = match self.rule {
            NpsRule::Decay { step_s, .. } => self.measured_s >= step_s,
            NpsRule::Window { .. } => true,
        };
        if settled {
            self.value
        } else {
            self.value.max(self.measured().unwrap_or(0.0))
        }
    }

    /// The search began `began_s` seconds after the move's clock.
    pub(crate) fn observe(&mut self, stats: &SearchStats, began_s: f64) {
        // Cache hits do not measure the device.
        let Some(since) = stats.since_first_eval.filter(|_| stats.batches > 0) else {
            return;
        };
        self.batches = stats.batches;
        let now = NpsSample {
            elapsed_s: stats.elapsed.as_secs(),
            nodes: stats.new_nodes.as_f64(),
        };
        if self.first.is_none() {
            // Under nodestime the clock stands still until the first evaluation.
            let waited_s = (stats.elapsed - since).as_secs();
            self.first_batch_s = if waited_s > 0.0 { waited_s } else { now.elapsed_s } - began_s;
        }
        let first = *self.first.get_or_insert(now);
        let last = *self.last.get_or_insert(now);
        // Between batches a rate of 0 would make the estimate sway.
        if now.elapsed_s <= last.elapsed_s || now.nodes <= last.nodes {
            return;
        }
        self.last = Some(now);
        let since_when = match self.rule {
            NpsRule::Decay { .. } => last,
            NpsRule::Window { .. } => first,
        };
        if let Some(measured) = rate(since_when, now) {
            self.follow(
                measured,
                last.elapsed_s - first.elapsed_s,
                now.elapsed_s - first.elapsed_s,
            );
        }
    }

    fn follow(&mut self, measured: f64, from_s: f64, to_s: f64) {
        let seconds = to_s - from_s;
        self.value = match self.rule {
            NpsRule::Decay { step_s, guess_s } => {
                let known_s = guess_s + self.measured_s;
                let kept = (known_s / (known_s + seconds)).min((-seconds / step_s).exp2());
                measured + (self.value - measured) * kept
            }
            NpsRule::Window { .. } if self.is_guess => measured,
            NpsRule::Window { window_s } => {
                fall_linearly(self.value, measured, from_s / window_s, to_s / window_s)
            }
        };
        self.measured_s += seconds;
    }
}

fn rate(from: NpsSample, to: NpsSample) -> Option<f64> {
    let seconds = to.elapsed_s - from.elapsed_s;
    (seconds > 0.0).then(|| (to.nodes - from.nodes).max(0.0) / seconds)
}

/// To `measured` at the window's end. `before` and `now` are shares of the window.
fn fall_linearly(value: f64, measured: f64, before: f64, now: f64) -> f64 {
    if value <= measured || now >= 1.0 {
        return measured;
    }
    value + (measured - value) * ((now - before) / (1.0 - before)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::units::{Millis, Nodes};
    use proptest::prelude::*;

    const PR1195: NpsRule = NpsRule::Decay {
        step_s: 5.0,
        guess_s: 7.3,
    };

    /// The first batch of `first` nodes returns after `latency` ms, then `nps` nodes/s.
    fn at(elapsed_ms: f64, latency: f64, first: u64, nps: f64) -> SearchStats {
        let since = (elapsed_ms >= latency).then_some(elapsed_ms - latency);
        let new_nodes = since.map_or(0, |ms| first + (ms / 1000.0 * nps).round() as u64);
        SearchStats {
            elapsed: Millis(elapsed_ms),
            since_first_eval: since.map(Millis),
            new_nodes: Nodes(new_nodes),
            batches: u64::from(since.is_some()),
            ..SearchStats::default()
        }
    }

    #[test]
    fn half_way_after_one_step() {
        let mut nps = NpsEstimator::new(PR1195, 20_000.0, 0.0);
        for ms in (0..=5_100).step_by(10) {
            nps.observe(&at(f64::from(ms), 100.0, 256, 1_000.0), 0.0);
        }
        // 5 s at 1,000: 1000 − (1000 − 20000)/2 = 10500
        assert!((nps.value - 10_500.0).abs() < 1.0, "{}", nps.value);
    }

    /// A regression: after one second a guess worth half a second still weighed 0.47.
    #[test]
    fn a_guess_weighs_as_much_as_so_many_seconds_of_measuring() {
        let left_after = |ms: u32, guess_s| {
            let mut nps = NpsEstimator::new(NpsRule::Decay { step_s: 5.0, guess_s }, 20_000.0, 0.0);
            for ms in (0..=ms).step_by(10) {
                nps.observe(&at(f64::from(ms), 0.0, 0, 1_000.0), 0.0);
            }
            (nps.value - 1_000.0) / 19_000.0
        };
        assert!((left_after(1_000, 0.5) - 0.5 / 1.5).abs() < 1e-3);
        assert!((left_after(4_000, 0.5) - 0.5 / 4.5).abs() < 1e-3);
        // The mean reaches back 5/ln 2 = 7.2135 s, then the decay.
        let (mean, decay) = (0.5 / 7.2135, (-(10.5_f64 - 7.2135) / 5.0).exp2());
        assert!((left_after(10_000, 0.5) - mean * decay).abs() < 1e-3);
        assert_eq!(left_after(10, 0.0), 0.0, "the first measurement takes its place");
    }

    /// Lc0's defect: the first batch's nodes counted over a time that began after it.
    #[test]
    fn the_first_batch_does_not_inflate_the_rate() {
        let mut nps = NpsEstimator::new(NpsRule::Window { window_s: 20.0 }, 0.0, 0.0);
        for ms in (0..=300).step_by(20) {
            nps.observe(&at(f64::from(ms), 200.0, 256, 500.0), 0.0);
        }
        // 100 ms after the first batch Lc0 would see (256 + 50)/0.1 = 3060.
        assert!((nps.value - 500.0).abs() < 1.0, "{}", nps.value);
    }

    #[test]
    fn time_before_the_first_evaluation_does_not_count() {
        let mut nps = NpsEstimator::new(PR1195, 1_000.0, 5.0);
        for ms in (0..=12_000).step_by(100) {
            nps.observe(&at(f64::from(ms), 10_000.0, 256, 1_000.0), 0.0);
        }
        assert!((nps.value - 1_000.0).abs() < 1.0, "{}", nps.value);
    }

    /// A regression: the rate of a single batch included the wait for the network.
    #[test]
    fn a_single_batch_shows_the_rate_of_a_slow_device() {
        // 10 s of loading, a batch of 10 after 1 s, another 0.5 s.
        let after = |rule, value, measured_s| {
            let mut nps = NpsEstimator::new(rule, value, measured_s);
            nps.observe(&at(11_000.0, 11_000.0, 10, 0.0), 10.0);
            nps.observe(&at(11_500.0, 11_000.0, 10, 0.0), 10.0);
            assert_eq!((nps.value, nps.measured()), (value, None));
            let after = nps.after_the_move();
            (after.value, after.measured_s)
        };
        let decays = |step_s, guess_s| NpsRule::Decay { step_s, guess_s };
        let (nps, measured_s) = after(decays(5.0, 1.0), 110.0, 0.0);
        assert!((nps - 60.0).abs() < 1e-9 && measured_s == 1.0, "{nps}");
        let (nps, measured_s) = after(decays(4.0, 1.0), 110.0, 9.0);
        assert!(
            (nps - (10.0 + 100.0 * 0.25_f64.exp2().recip())).abs() < 1e-9 && measured_s == 10.0,
            "{nps}"
        );
        let window = NpsRule::Window { window_s: 20.0 };
        assert_eq!(after(window, 110.0, 0.0).0, 10.0);
        assert!((after(window, 110.0, 9.0).0 - 105.0).abs() < 1e-9);
        let mut cached = NpsEstimator::new(window, 110.0, 9.0);
        cached.observe(
            &SearchStats {
                batches: 0,
                ..at(0.5, 0.5, 200, 0.0)
            },
            0.0,
        );
        assert_eq!(cached.after_the_move().value, 110.0);
        let mut two = NpsEstimator::new(PR1195, 110.0, 0.0);
        two.observe(&at(11_000.0, 11_000.0, 10, 20.0), 10.0);
        two.observe(&at(12_000.0, 11_000.0, 10, 20.0), 10.0);
        assert_eq!(two.after_the_move().value, two.value);
    }

    #[test]
    fn the_window_rises_at_once_and_falls_linearly() {
        let mut nps = NpsEstimator::new(NpsRule::Window { window_s: 20.0 }, 2_000.0, 1.0);
        nps.observe(&at(0.0, 0.0, 0, 1_000.0), 0.0);
        nps.observe(&at(5_000.0, 0.0, 0, 1_000.0), 0.0);
        // A quarter of the window: 2000 − 1000/4.
        assert!((nps.value - 1_750.0).abs() < 1e-9);
        nps.observe(&at(10_000.0, 0.0, 0, 1_000.0), 0.0);
        assert!((nps.value - 1_500.0).abs() < 1e-9);
        nps.observe(&at(11_000.0, 0.0, 0, 3_000.0), 0.0);
        assert!((nps.value - 3_000.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_falls_from_what_was_measured_not_from_a_guess() {
        let mut nps = NpsEstimator::new(NpsRule::Window { window_s: 20.0 }, 20_000.0, 0.0);
        nps.observe(&at(0.0, 0.0, 0, 1_000.0), 0.0);
        nps.observe(&at(1_000.0, 0.0, 0, 1_000.0), 0.0);
        assert!((nps.value - 1_000.0).abs() < 1e-9, "{}", nps.value);
    }

    #[test]
    fn an_optimistic_rate_does_not_trust_a_low_guess() {
        let mut nps = NpsEstimator::new(PR1195, 1_000.0, 0.0);
        nps.observe(&at(0.0, 0.0, 0, 50_000.0), 0.0);
        nps.observe(&at(100.0, 0.0, 0, 50_000.0), 0.0);
        assert!((nps.optimistic() - 50_000.0).abs() < 1e-6 && nps.value < 2_000.0);
    }

    proptest! {
        /// The estimate must not depend on how often the search asks.
        #[test]
        fn ticks_do_not_matter(tick in 1u32..500, rate in 10.0..1e5) {
            let run = |tick: u32| {
                let mut nps = NpsEstimator::new(PR1195, 20_000.0, 5.0);
                for ms in (0..=8_000).step_by(tick as usize).chain([8_000]) {
                    nps.observe(&at(f64::from(ms), 0.0, 0, rate), 0.0);
                }
                nps.value
            };
            let (coarse, fine) = (run(tick), run(1));
            prop_assert!((coarse - fine).abs() <= 0.01 * fine + 10.0, "{} {}", coarse, fine);
        }

        #[test]
        fn never_negative_nor_infinite(steps in proptest::collection::vec((0.0..1e5, 0u64..1_000_000), 0..40)) {
            let mut nps = NpsEstimator::new(PR1195, 20_000.0, 0.0);
            for (elapsed_ms, new_nodes) in steps {
                let (elapsed, since_first_eval, new_nodes) = (Millis(elapsed_ms), Some(Millis::ZERO), Nodes(new_nodes));
                nps.observe(&SearchStats { elapsed, new_nodes, since_first_eval, ..SearchStats::default() }, 0.0);
                prop_assert!(nps.value.is_finite() && nps.value >= 0.0);
            }
        }
    }
}
