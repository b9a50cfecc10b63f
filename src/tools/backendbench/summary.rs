//! A batch size's measurements in a few figures.

use serde::Serialize;

use super::measure::Series;

/// What is reported of a batch size. Rates are of all threads together, times of one batch on its thread.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct BatchSizeRow {
    pub(super) batch: usize,
    /// Evaluations per second, of the rounds.
    pub(super) mean_nps: f64,
    pub(super) median_nps: f64,
    pub(super) min_nps: f64,
    pub(super) max_nps: f64,
    /// Standard deviation of the rounds' rates; 0 for a single round.
    pub(super) deviation_nps: f64,
    /// Median of the rounds' evaluations per second of CPU time, and its deviation; `None` where the system doesn't tell CPU
    /// time.
    pub(super) cpu_nps: Option<f64>,
    pub(super) cpu_deviation_nps: Option<f64>,
    /// Duration of the first batch of this size.
    pub(super) first_ms: f64,
    pub(super) mean_ms: f64,
    pub(super) deviation_ms: f64,
    pub(super) p50_ms: f64,
    pub(super) p90_ms: f64,
    pub(super) p99_ms: f64,
    /// Batches that were timed.
    pub(super) batches: usize,
    /// Rounds that were measured.
    #[serde(skip)]
    pub(super) rounds: usize,
    /// What happens between the next smaller size and this one, if something does.
    pub(super) cliff: Option<String>,
    /// Games for which this is the size to take: "bullet", "rapid", "long".
    pub(super) recommended_for: Vec<&'static str>,
}

pub(super) fn summarize(series: &Series) -> BatchSizeRow {
    let nps = Sorted::of(&series.nps);
    let ms = Sorted::of(&series.batch_ms);
    let cpu = Some(Sorted::of(&series.cpu_nps)).filter(|cpu| !cpu.0.is_empty());
    BatchSizeRow {
        batch: series.size,
        mean_nps: nps.mean(),
        median_nps: nps.percentile(50.0),
        min_nps: nps.percentile(0.0),
        max_nps: nps.percentile(100.0),
        deviation_nps: nps.deviation(),
        cpu_nps: cpu.as_ref().map(|cpu| cpu.percentile(50.0)),
        cpu_deviation_nps: cpu.as_ref().map(Sorted::deviation),
        first_ms: series.first_ms,
        mean_ms: ms.mean(),
        deviation_ms: ms.deviation(),
        p50_ms: ms.percentile(50.0),
        p90_ms: ms.percentile(90.0),
        p99_ms: ms.percentile(99.0),
        batches: series.batch_ms.len(),
        rounds: series.nps.len(),
        cliff: None,
        recommended_for: Vec::new(),
    }
}

/// Numbers in ascending order.
pub(super) struct Sorted(Vec<f64>);

impl Sorted {
    pub(super) fn of(values: &[f64]) -> Sorted {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        Sorted(values)
    }

    pub(super) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Standard deviation of the population that these are a sample of; 0 for less than two.
    pub(super) fn deviation(&self) -> f64 {
        if self.0.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len() - 1) as f64).sqrt()
    }

    /// Between the two nearest ranks; `percent` from 0 to 100. 0 of no numbers.
    pub(super) fn percentile(&self, percent: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return 0.0 };
        let place = percent / 100.0 * last as f64;
        let (low, high) = (self.0[place.floor() as usize], self.0[(place.ceil() as usize).min(last)]);
        low + (high - low) * place.fract()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_the_middle_the_ends_and_the_spread() {
        let series = Series {
            size: 4,
            first_ms: 9.0,
            nps: vec![3.0, 1.0, 8.0],
            cpu_nps: vec![5.0, 4.0, 6.0],
            batch_ms: (0..=100).map(f64::from).collect(),
        };
        let row = summarize(&series);
        assert_eq!((row.mean_nps, row.median_nps, row.min_nps, row.max_nps), (4.0, 3.0, 1.0, 8.0));
        assert_eq!((row.p50_ms, row.p90_ms, row.p99_ms, row.batches), (50.0, 90.0, 99.0, 101));
        assert!((row.deviation_nps - 13f64.sqrt()).abs() < 1e-12);
        assert_eq!((row.cpu_nps, row.cpu_deviation_nps), (Some(5.0), Some(1.0)));
    }

    #[test]
    fn percentiles_lie_between_ranks() {
        let sorted = Sorted::of(&[4.0, 1.0, 3.0, 9.0]);
        assert_eq!(sorted.percentile(50.0), 3.5);
        assert_eq!(Sorted::of(&[2.0]).deviation(), 0.0);
    }
}
