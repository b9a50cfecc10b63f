//! Mean, deviation and percentiles of measured numbers.

/// Measured numbers in ascending order.
#[derive(Clone, Debug)]
pub struct SortedSamples(Vec<f64>);

impl SortedSamples {
    /// Sorts a copy of `values`.
    pub fn of(values: &[f64]) -> SortedSamples {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        SortedSamples(values)
    }

    /// Returns the mean; 0 if there are no numbers.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Returns the standard deviation of the population from which these are a sample; 0 for fewer than two numbers.
    pub fn deviation(&self) -> f64 {
        if self.0.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len() - 1) as f64).sqrt()
    }

    /// Returns the number below which `percent` (0 to 100) percent of the numbers lie, interpolated between the two
    /// nearest ranks; 0 if there are no numbers.
    pub fn percentile(&self, percent: f64) -> f64 {
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
    fn percentiles_lie_between_ranks() {
        let sorted = SortedSamples::of(&[4.0, 1.0, 3.0, 9.0]);
        assert_eq!(sorted.percentile(50.0), 3.5);
        assert_eq!(SortedSamples::of(&[2.0]).deviation(), 0.0);
        assert_eq!((SortedSamples::of(&[]).percentile(50.0), SortedSamples::of(&[]).mean()), (0.0, 0.0));
    }
}
