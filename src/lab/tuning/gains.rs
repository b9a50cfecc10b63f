//! The sizes of perturbations and steps.

/// The sequences of gains of a run, for a parameter whose perturbation at the end is 1; both are in proportion to it.
///
/// They are those of Spall's SPSA ("Implementation of the simultaneous perturbation algorithm for stochastic optimization",
/// IEEE Transactions on Aerospace and Electronic Systems 34(3), 1998), with his exponents, in the terms of fishtest
/// (`server/fishtest/spsa_handler.py`, `parse_spsa_params`) and OpenBench (`OpenBench/spsa_utils.py`): the user says how large
/// perturbation and step are at the end of the run. With K iterations, A = K/10 and k = 1, 2, …, K
///
/// - perturbation c_k = c / k^γ with c = c_end · K^γ, γ = 0.101;
/// - gain a_k = a / (A + k)^α with a = r_end · c_end² · (A + K)^α, α = 0.602;
/// - step of a parameter θ ← θ + a_k / c_k · δ · (wins − losses), where δ = ±1 is its sign and wins and losses are those
///   of the side with θ + c_k · δ against the side with θ − c_k · δ.
///
/// The quotient of Spall's gradient has 2 c_k below it; as in fishtest and OpenBench the 2 belongs to a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// K, the iterations of the whole run.
    pub iterations: u64,
    /// r_end, the gain at the end in relation to the perturbation: a_K / c_K². A parameter of perturbation c then moves by
    /// r_end · c for each game that one side wins more than the other.
    pub r_end: f64,
}

impl Gains {
    /// γ, at which perturbations fall.
    pub const GAMMA: f64 = 0.101;
    /// α, at which steps fall.
    pub const ALPHA: f64 = 0.602;
    /// A as part of the iterations: it keeps the first steps small.
    pub const STABILITY: f64 = 0.1;

    /// Returns c_k / c_end for iteration `k`, from 1.
    pub fn perturbation(&self, k: u64) -> f64 {
        (self.iterations as f64 / k as f64).powf(Gains::GAMMA)
    }

    /// Returns a_k / c_end² for iteration `k`, from 1.
    pub fn gain(&self, k: u64) -> f64 {
        let stability = Gains::STABILITY * self.iterations as f64;
        let last = stability + self.iterations as f64;
        self.r_end * (last / (stability + k as f64)).powf(Gains::ALPHA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_iteration_has_the_gains_that_the_user_chose() {
        let gains = Gains { iterations: 500, r_end: 0.002 };
        assert!((gains.perturbation(500) - 1.0).abs() < 1e-12);
        assert!((gains.gain(500) - 0.002).abs() < 1e-12);
    }

    #[test]
    fn gains_are_those_of_the_formulas() {
        let (k_max, k, c_end, r_end) = (20_000.0_f64, 17.0_f64, 0.3, 0.0015);
        let gains = Gains { iterations: 20_000, r_end };
        let (c, big_a) = (c_end * k_max.powf(0.101), 0.1 * k_max);
        let a = r_end * c_end * c_end * (big_a + k_max).powf(0.602);
        assert!((c_end * gains.perturbation(17) - c / k.powf(0.101)).abs() < 1e-12);
        assert!((c_end * c_end * gains.gain(17) - a / (big_a + k).powf(0.602)).abs() < 1e-12);
    }
}
