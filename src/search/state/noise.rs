//! Noise on the policy of the root's moves, so that games differ and moves are tried that the policy would leave out.
//!
//! A symmetric Dirichlet distribution as in AlphaZero (Silver et al. 2018). It is drawn once per search, by `root_policy`.

use std::f64::consts::TAU;

use crate::options::option_group;

option_group! {
    /// The noise that is mixed into the root's policy: its share and its shape.
    #[derive(Copy)]
    pub struct NoiseParams {
        /// Share of noise in the policy of the root's moves.
        epsilon: f32 = 0.0, in 0.0..=1.0, "DirichletNoiseEpsilon", "noise-epsilon", hidden;
        /// Shape of the noise (Dirichlet's alpha): the smaller, the fewer moves get most of it.
        alpha: f64 = 0.3, in 0.0..=1e7, "DirichletNoiseAlpha", "noise-alpha", hidden;
    }
}

/// The noise of one search.
#[derive(Clone, Debug)]
pub(crate) struct RootNoise {
    epsilon: f32,
    /// One per legal move, in their order; they sum to 1.
    parts: Vec<f32>,
}

impl RootNoise {
    /// Draws noise for `moves` legal moves; `None` if there is to be none.
    pub(crate) fn draw(params: NoiseParams, moves: usize, rng: &mut fastrand::Rng) -> Option<RootNoise> {
        if params.epsilon <= 0.0 || params.alpha <= 0.0 {
            return None;
        }
        let gammas: Vec<f64> = (0..moves).map(|_| gamma(params.alpha, rng)).collect();
        let sum: f64 = gammas.iter().sum();
        // All are 0 where alpha is so small that every draw is rounded down.
        let parts = (sum > 0.0).then(|| gammas.iter().map(|g| (g / sum) as f32).collect())?;
        Some(RootNoise { epsilon: params.epsilon, parts })
    }

    /// Returns the policy of the legal move at this place, with its noise.
    pub(crate) fn mix(&self, index: usize, policy: f32) -> f32 {
        let part = self.parts.get(index).copied().unwrap_or_default();
        policy * (1.0 - self.epsilon) + part * self.epsilon
    }
}

/// Draws a number of the gamma distribution with this shape and scale 1 (Marsaglia and Tsang 2000).
fn gamma(shape: f64, rng: &mut fastrand::Rng) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, rng) * libm::pow(positive(rng), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && libm::log(positive(rng)) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// Draws a number of the normal distribution with mean 0 and deviation 1 (Box and Muller 1958).
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * libm::log(positive(rng))).sqrt() * libm::cos(TAU * rng.f64())
}

/// Draws a number in `0..=1`, but not 0.
fn positive(rng: &mut fastrand::Rng) -> f64 {
    1.0 - rng.f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_mean_and_variance_of_its_distribution() {
        let mut rng = fastrand::Rng::with_seed(1);
        for alpha in [0.3, 1.0, 10.0] {
            let (n, draws) = (5usize, 20_000);
            let params = NoiseParams { epsilon: 0.25, alpha };
            let firsts: Vec<f64> = (0..draws)
                .map(|_| {
                    let noise = RootNoise::draw(params, n, &mut rng).unwrap();
                    assert!((noise.parts.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                    noise.parts[0].into()
                })
                .collect();
            let mean = firsts.iter().sum::<f64>() / f64::from(draws);
            let variance = firsts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(draws);
            // 1/n, and (1/n)(1 − 1/n) / (nα + 1)
            assert!((mean - 0.2).abs() < 0.01, "{alpha}: {mean}");
            let expected = 0.16 / (5.0 * alpha + 1.0);
            assert!((variance / expected - 1.0).abs() < 0.1, "{alpha}: {variance} for {expected}");
        }
    }

    #[test]
    fn policy_and_noise_are_mixed() {
        let noise = RootNoise { epsilon: 0.25, parts: vec![1.0, 0.0] };
        assert_eq!((noise.mix(0, 0.4), noise.mix(1, 0.4)), (0.55, 0.3));
        let mut rng = fastrand::Rng::with_seed(1);
        assert!(RootNoise::draw(NoiseParams::default(), 20, &mut rng).is_none());
    }
}
