//! The reserve of `preset=lc0`.

use std::collections::VecDeque;

use super::params::PiggybankParams;
use crate::time::stats::SearchStats;

#[derive(Clone, Debug, Default)]
pub(crate) struct Piggybank {
    balance_ms: Option<f64>,
}

impl Piggybank {
    pub(crate) fn prepare(&mut self, params: &PiggybankParams, time_ms: f64, cap_ms: f64) {
        let balance = self.balance_ms.unwrap_or(params.initial_share * time_ms);
        self.balance_ms = Some(balance.min(cap_ms).max(0.0));
    }

    pub(crate) fn balance_ms(&self) -> f64 {
        self.balance_ms.unwrap_or(0.0)
    }

    pub(crate) fn book(&mut self, saved_ms: f64, drawn_ms: f64) {
        self.balance_ms = self
            .balance_ms
            .map(|balance| (balance + saved_ms - drawn_ms).max(0.0));
    }
}

/// Per window: its start is known to a sixteenth.
const SAMPLES: f64 = 16.0;

#[derive(Debug)]
pub(crate) struct VisitRates {
    params: PiggybankParams,
    /// Oldest first. All but the first lie within the window.
    samples: VecDeque<(f64, Vec<u32>)>,
    latest: Option<(f64, Vec<u32>)>,
}

impl VisitRates {
    pub(crate) fn new(params: PiggybankParams) -> Self {
        VisitRates {
            params,
            samples: VecDeque::new(),
            latest: None,
        }
    }

    /// However often it is called, the window keeps its length. (Lc0's shrinks to one tick.)
    pub(crate) fn observe(&mut self, stats: &SearchStats) {
        if stats.race_visits.is_empty() {
            return;
        }
        let (now, window_ms) = (stats.elapsed.0, self.params.trend_window_ms);
        let due = self
            .samples
            .back()
            .is_none_or(|(ms, _)| now >= ms + window_ms / SAMPLES);
        if due {
            self.samples.push_back((now, stats.race_visits.clone()));
        }
        while self.samples.get(1).is_some_and(|(ms, _)| *ms <= now - window_ms) {
            self.samples.pop_front();
        }
        let (ms, visits) = self.latest.get_or_insert_default();
        *ms = now;
        visits.clone_from(&stats.race_visits);
    }

    /// For some move i, N_i + 4·rate_i·Δ > N_best + 0.2·rate_best·Δ (Lc0's figures).
    pub(crate) fn is_best_overtaken(&self, by_ms: f64) -> bool {
        let (Some((then, before)), Some((now, visits))) = (self.samples.front(), &self.latest) else {
            return false;
        };
        if now <= then || by_ms <= *now || before.len() != visits.len() {
            return false;
        }
        let Some(best) = (0..visits.len()).max_by_key(|&i| (visits[i], std::cmp::Reverse(i))) else {
            return false;
        };
        let expected = |i: usize, optimism: f64| {
            let rate = (f64::from(visits[i]) - f64::from(before[i])).max(0.0) / (now - then);
            f64::from(visits[i]) + optimism * rate * (by_ms - now)
        };
        let goal = expected(best, self.params.bestmove_optimism);
        (0..visits.len()).any(|i| i != best && expected(i, self.params.overtaker_optimism) > goal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::time::managers::smooth::SmoothConfig;
    use crate::time::units::Millis;

    fn lc0() -> PiggybankParams {
        SmoothConfig::from_params(&Params::parse("preset=lc0").unwrap())
            .unwrap()
            .values
            .piggybank
    }

    #[test]
    fn opens_with_nine_percent_and_keeps_its_books() {
        let params = lc0();
        let mut bank = Piggybank::default();
        assert_eq!(bank.balance_ms(), 0.0);
        bank.prepare(&params, 100_000.0, 1e9);
        assert_eq!(bank.balance_ms(), 9_000.0);
        bank.book(500.0, 2_000.0);
        assert_eq!(bank.balance_ms(), 7_500.0);
        bank.prepare(&params, 50_000.0, 6_000.0);
        assert_eq!(bank.balance_ms(), 6_000.0, "held to the cap, not opened again");
        bank.book(0.0, 1e9);
        assert_eq!(bank.balance_ms(), 0.0);
    }

    fn visit_rates() -> VisitRates {
        VisitRates::new(lc0())
    }

    fn at(elapsed_ms: f64, visits: [u32; 2]) -> SearchStats {
        SearchStats {
            elapsed: Millis(elapsed_ms),
            race_visits: visits.into(),
            ..SearchStats::default()
        }
    }

    #[test]
    fn by_hand() {
        let mut visit_rates = visit_rates();
        visit_rates.observe(&at(0.0, [1_000, 500]));
        visit_rates.observe(&at(1_000.0, [1_100, 600]));
        // Both gain 0.1 a ms. In 1,000 ms more: 1100 + 0.2·100 = 1120 against 600 + 4·100 = 1000. In 2,000 ms
        // 1140 against 1400.
        assert!(!visit_rates.is_best_overtaken(2_000.0));
        assert!(visit_rates.is_best_overtaken(3_000.0));
    }

    /// Lc0's defect: the rates are those of one tick.
    #[test]
    fn the_window_grows_to_its_length_whatever_the_ticks() {
        let mut visit_rates = visit_rates();
        let visits = |ms: u32| [10_000 + ms / 10, 9_000 + ms / 10];
        for ms in (0..=10_000).step_by(5) {
            visit_rates.observe(&at(f64::from(ms), visits(ms)));
        }
        let (first, _) = visit_rates.samples.front().unwrap();
        let (now, _) = visit_rates.latest.as_ref().unwrap();
        assert!((3_000.0..3_400.0).contains(&(now - first)), "{}", now - first);
        assert!(visit_rates.samples.len() <= SAMPLES as usize + 2);
    }

    #[test]
    fn no_verdict_without_a_trend() {
        let mut visit_rates = visit_rates();
        assert!(!visit_rates.is_best_overtaken(1e9));
        visit_rates.observe(&at(10.0, [5, 4]));
        assert!(!visit_rates.is_best_overtaken(1e9), "one sample");
    }
}
