//! A batch size's measurements in a few figures.

use serde::Serialize;

use crate::network::throughput::{BatchSizeSeries, SortedSamples};

/// The figures that are reported for a batch size. Rates are of all threads together, times of one batch on its thread.
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
    /// Median of the rounds' evaluations per second of CPU time; `None` where the system doesn't measure CPU time.
    pub(super) cpu_nps: Option<f64>,
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
    /// The cliff between the next smaller size and this one, if there is one.
    pub(super) cliff: Option<String>,
    /// Games for which this is the recommended size: "bullet", "rapid", "long".
    pub(super) recommended_for: Vec<&'static str>,
}

pub(super) fn summarize(series: &BatchSizeSeries) -> BatchSizeRow {
    let nps = SortedSamples::of(&series.nps);
    let ms = SortedSamples::of(&series.batch_ms);
    BatchSizeRow {
        batch: series.size,
        mean_nps: nps.mean(),
        median_nps: nps.percentile(50.0),
        min_nps: nps.percentile(0.0),
        max_nps: nps.percentile(100.0),
        deviation_nps: nps.deviation(),
        cpu_nps: (!series.cpu_nps.is_empty()).then(|| SortedSamples::of(&series.cpu_nps).percentile(50.0)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_the_middle_the_ends_and_the_spread() {
        let series = BatchSizeSeries {
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
        assert_eq!(row.cpu_nps, Some(5.0));
    }
}
