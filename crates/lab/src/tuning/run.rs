//! The state of a tuning run: where the parameters stand, which values the next games try, and what their
//! results change.
//!
//! Games of several iterations run at once. So that the values of an iteration do not depend on which games
//! happen to end first, iteration k takes those that the parameters had after iteration k − lag, and results
//! count in the order of the iterations: a run is the same with one game at a time and with a hundred, and
//! whether it was stopped or not.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::parameter::Parameter;
use zeitnot_engine::VERSION;
use zeitnot_engine::chance::GOLDEN;

/// The sequences of gains of a run, for a parameter whose perturbation at the end is 1. Both are in
/// proportion to it.
///
/// They are those of Spall's SPSA ("Implementation of the simultaneous perturbation algorithm for stochastic
/// optimization", IEEE Transactions on Aerospace and Electronic Systems 34(3), 1998), with his exponents, in
/// the terms of fishtest (`server/fishtest/spsa_handler.py`, `parse_spsa_params`) and OpenBench
/// (`OpenBench/spsa_utils.py`): the user says how large perturbation and step are at the end of the run. With
/// K iterations, A = K/10 and k = 1, 2, …, K
///
/// - perturbation c_k = c / k^γ with c = c_end · K^γ, γ = 0.101.
/// - gain a_k = a / (A + k)^α with a = r_end · c_end² · (A + K)^α, α = 0.602.
/// - step of a parameter θ ← θ + a_k / c_k · δ · (wins − losses), where δ = ±1 is its sign and wins and
///   losses are those of the side with θ + c_k · δ against the side with θ − c_k · δ.
///
/// The quotient of Spall's gradient has 2 c_k below it. As in fishtest and OpenBench the 2 belongs to a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// K, the iterations of the whole run.
    pub iterations: u64,
    /// r_end, the gain at the end in relation to the perturbation: a_K / c_K². A parameter of perturbation c
    /// then moves by r_end · c for each game that one side wins more than the other.
    pub r_end: f64,
}

impl Gains {
    /// γ, at which perturbations fall.
    const GAMMA: f64 = 0.101;
    /// α, at which steps fall.
    const ALPHA: f64 = 0.602;
    /// A as part of the iterations: it keeps the first steps small.
    const STABILITY: f64 = 0.1;

    /// Returns true if the run moves nothing: it measures what the values that it tries are worth, which then
    /// stay the same.
    pub fn only_measures(&self) -> bool {
        self.r_end == 0.0
    }

    /// Returns c_k / c_end for iteration `k`, from 1.
    pub(crate) fn perturbation(&self, k: u64) -> f64 {
        if self.only_measures() {
            return 1.0;
        }
        (self.iterations as f64 / k as f64).powf(Gains::GAMMA)
    }

    /// Returns a_k / c_end² for iteration `k`, from 1.
    pub(crate) fn gain(&self, k: u64) -> f64 {
        let stability = Gains::STABILITY * self.iterations as f64;
        let last = stability + self.iterations as f64;
        self.r_end * (last / (stability + k as f64)).powf(Gains::ALPHA)
    }
}

/// All that a run depends on, results of games apart.
#[derive(Clone, Debug, PartialEq)]
pub struct TunePlan {
    pub parameters: Vec<Parameter>,
    pub gains: Gains,
    /// Pairs of games in an iteration, at least 1.
    pub pairs: u64,
    /// The iterations by which results are late, at least 1: iteration k begins when k − lag is done.
    pub lag: u64,
    pub seed: u64,
}

impl TunePlan {
    pub fn games_of_iteration(&self) -> u64 {
        2 * self.pairs
    }

    pub fn games(&self) -> u64 {
        self.gains.iterations * self.games_of_iteration()
    }
}

/// The values that an iteration plays. A and B are the sides of its games.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Probe {
    pub(crate) iteration: u64,
    /// δ: +1 where A has the higher value, −1 where B has it.
    pub(crate) signs: Vec<i8>,
    /// θ + c_k · δ and θ − c_k · δ.
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

/// A finished iteration, as it stands in the file of a run. Lists have an entry for each parameter.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct IterationRow {
    pub(crate) run: String,
    pub(crate) iteration: u64,
    pub(crate) names: Vec<String>,
    /// See [`Probe`].
    pub(crate) signs: Vec<i8>,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    /// The half points of A in each game. The first of two of the same opening with White.
    pub(crate) half_points: Vec<u8>,
    /// Wins less losses of A.
    pub(crate) result: i64,
    pub theta: Vec<f64>,
    /// New nodes that its games took.
    pub(crate) nodes: u64,
    pub(crate) version: String,
}

#[derive(Clone, Debug)]
pub struct TuneRun {
    pub(super) plan: TunePlan,
    /// A hash over all that its games depend on.
    id: String,
    pub(super) done: u64,
    /// θ after the latest `lag` iterations, the last one at the end. At the beginning that of the start
    /// alone.
    history: VecDeque<Vec<f64>>,
}

impl TuneRun {
    pub fn new(plan: TunePlan, id: &str) -> TuneRun {
        let start = plan.parameters.iter().map(|parameter| parameter.start).collect();
        TuneRun { plan, id: id.to_owned(), done: 0, history: VecDeque::from([start]) }
    }

    /// Returns the values that `iteration`, from 1, plays, or `None` if it cannot begin yet, is done already,
    /// or there is none.
    pub(crate) fn probe(&self, iteration: u64) -> Option<Probe> {
        let TunePlan { parameters, gains, lag, seed, .. } = &self.plan;
        if iteration <= self.done || iteration > gains.iterations {
            return None;
        }
        // The place from the end of the history of θ after iteration k − lag. Before the first iteration θ is
        // the start.
        let back = self.done.checked_sub(iteration.saturating_sub(*lag))? as usize;
        let values = &self.history[self.history.len().checked_sub(1 + back)?];
        let mut rng = fastrand::Rng::with_seed(seed ^ iteration.wrapping_mul(GOLDEN));
        let mut probe = Probe { iteration, signs: Vec::new(), a: Vec::new(), b: Vec::new() };
        let share = gains.perturbation(iteration);
        for (parameter, value) in parameters.iter().zip(values) {
            let (sign, [a, b]) = parameter.probe(*value, share, &mut rng);
            probe.signs.push(sign);
            probe.a.push(a);
            probe.b.push(b);
        }
        Some(probe)
    }

    /// Applies the half points of A in the games of the next iteration, and returns what they have led to, or
    /// `None` if the run is over.
    pub(crate) fn apply(&mut self, half_points: Vec<u8>, nodes: u64) -> Option<IterationRow> {
        let result: i64 = half_points.iter().map(|&points| i64::from(points) - 1).sum();
        let probe = self.probe(self.done + 1)?;
        let gains = self.plan.gains;
        let (share, gain) = (gains.perturbation(probe.iteration), gains.gain(probe.iteration));
        let values = self.history.back()?;
        let moved =
            self.plan.parameters.iter().zip(values).zip(&probe.signs).map(|((parameter, value), &sign)| {
                let perturbation = parameter.perturbation(share);
                let step = gain * parameter.step * parameter.step / perturbation;
                parameter.clamp(value + step * f64::from(sign) * result as f64)
            });
        let theta: Vec<f64> = moved.collect();
        self.done += 1;
        self.history.push_back(theta.clone());
        while self.history.len() as u64 > self.plan.lag {
            self.history.pop_front();
        }
        let names = self.plan.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let Probe { iteration, signs, a, b } = probe;
        let (run, version) = (self.id.clone(), VERSION.to_owned());
        Some(IterationRow { run, iteration, names, signs, a, b, half_points, result, theta, nodes, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::engine::Settings;

    /// A plan of three parameters whose best values are `BEST`.
    fn plan(iterations: u64, pairs: u64, lag: u64, seed: u64) -> TunePlan {
        let list = "CPuct=2.5:0.3,FpuValue=0.1:0.1:-1:1,MinibatchSize=40:4:1:256";
        TunePlan {
            parameters: Parameter::parse_list(list, &Settings::default()).unwrap(),
            gains: Gains { iterations, r_end: 0.01 },
            pairs,
            lag,
            seed,
        }
    }

    const BEST: [f64; 3] = [1.6, 0.5, 24.0];

    /// The Elo that `values` lose against the best ones: 15 at a distance of one perturbation, four times as
    /// many at two.
    fn loss(plan: &TunePlan, values: &[f64]) -> f64 {
        let distances = plan.parameters.iter().zip(values).zip(BEST);
        15.0 * distances
            .map(|((parameter, value), best)| ((value - best) / parameter.step).powi(2))
            .sum::<f64>()
    }

    /// Stands in for the games of an iteration: each is won with the chance that the difference in Elo gives,
    /// a third are draws.
    fn play(plan: &TunePlan, probe: &Probe) -> Vec<u8> {
        let mut rng = fastrand::Rng::with_seed(probe.iteration * 7919 + plan.seed);
        let elo = loss(plan, &probe.b) - loss(plan, &probe.a);
        let score = 1.0 / (1.0 + 10_f64.powf(-elo / 400.0));
        let game = |_| match (rng.f64() < 1.0 / 3.0, rng.f64() < score) {
            (true, _) => 1,
            (_, true) => 2,
            (_, false) => 0,
        };
        (0..plan.games_of_iteration()).map(game).collect()
    }

    /// Returns where a run ends that has as many iterations under way as may be.
    fn end_of_run(plan: &TunePlan) -> Vec<f64> {
        let mut run = TuneRun::new(plan.clone(), "id");
        let (mut under_way, mut next, mut theta) = (VecDeque::new(), 1, Vec::new());
        while run.done < plan.gains.iterations {
            while let Some(probe) = run.probe(next) {
                under_way.push_back(probe);
                next += 1;
            }
            let probe: Probe = under_way.pop_front().unwrap();
            let row = run.apply(play(plan, &probe), 0).unwrap();
            assert_eq!((row.a, row.b), (probe.a, probe.b), "values are fixed when an iteration begins");
            theta = row.theta;
        }
        assert_eq!(under_way.len(), 0);
        theta
    }

    /// Returns the half points of two games with this many wins less losses.
    fn points(result: i64) -> Vec<u8> {
        let sum = (result + 2) as u8;
        vec![sum / 2, sum - sum / 2]
    }

    #[test]
    fn a_known_optimum_is_found_with_and_without_lag() {
        for (pairs, lag) in [(1, 1), (1, 40), (4, 8)] {
            let mut total = 0.0;
            for seed in 0..5 {
                let plan = plan(12_000 / pairs, pairs, lag, seed);
                let first = loss(&plan, &[2.5, 0.1, 40.0]);
                let found = loss(&plan, &end_of_run(&plan));
                assert!(
                    found < 0.25 * first,
                    "{pairs} pairs, lag {lag}, seed {seed}: {found} of {first} Elo are left"
                );
                total += found / first;
            }
            assert!(total / 5.0 < 0.1, "{pairs} pairs, lag {lag}: {total}");
        }
    }

    #[test]
    fn without_an_optimum_there_is_no_drift() {
        let mut sum = 0.0;
        for seed in 0..20 {
            let plan = plan(500, 1, 10, seed);
            let mut run = TuneRun::new(plan.clone(), "id");
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut last = Vec::new();
            while let Some(row) = run.apply(points(rng.i64(-2..=2)), 0) {
                last = row.theta;
            }
            sum += (last[0] - 2.5) / 0.3;
        }
        assert!((sum / 20.0).abs() < 0.2, "{sum}");
    }

    #[test]
    fn an_iteration_waits_for_the_one_that_lies_lag_before_it() {
        let mut run = TuneRun::new(plan(20, 1, 3, 1), "id");
        assert!((1..=3).all(|k| run.probe(k).is_some()) && run.probe(4).is_none());
        let second = run.probe(3).unwrap();
        run.apply(points(2), 0).unwrap();
        assert_eq!((run.probe(1), run.probe(3)), (None, Some(second)));
        assert!(run.probe(4).is_some() && run.probe(5).is_none());
        while run.apply(points(1), 0).is_some() {}
        assert_eq!((run.done, run.probe(21)), (20, None));
    }

    #[test]
    fn the_winner_is_followed_by_the_step_of_the_formula() {
        let plan = plan(100, 1, 1, 3);
        let mut run = TuneRun::new(plan.clone(), "id");
        let row = run.apply(points(2), 0).unwrap();
        let (c, a) = (0.3 * plan.gains.perturbation(1), 0.09 * plan.gains.gain(1));
        let sign = f64::from(row.signs[0]);
        assert!((row.theta[0] - (2.5 + a / c * sign * 2.0)).abs() < 1e-12);
        assert!((row.a[0] - (2.5 + sign * c)).abs() < 1e-4);
        assert!((row.b[0] - (2.5 - sign * c)).abs() < 1e-4);
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
