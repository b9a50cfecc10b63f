//! Reproducible random numbers for models: SplitMix64.

/// A small generator; the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct ReplayRandom {
    state: u64,
}

impl ReplayRandom {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Self {
        ReplayRandom { state: seed }
    }

    /// Returns a number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number in `low..high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a number around 0 with standard deviation 1: the sum of twelve uniform ones, close to normal.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_and_normal_enough() {
        let mut random = ReplayRandom::new(1);
        let mean: f64 = (0..10_000).map(|_| random.unit()).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let square: f64 = (0..10_000).map(|_| random.normal().powi(2)).sum::<f64>() / 10_000.0;
        assert!((square - 1.0).abs() < 0.05, "{square}");
    }
}
