//! The root's moves, their policy with noise, and a mate found before the first visit.
//!
//! The noise has a symmetric Dirichlet distribution (AlphaZero, Silver et al. 2018), drawn once per search.

use std::f64::consts::TAU;

use super::context::SearchContext;
use super::params::NoiseParams;
use crate::chess::{History, Move, MoveList};
use crate::search::tree::{Node, Proof, ProofOutcome, Unvisited};

/// What is fixed at the root for one search.
pub(crate) struct SearchRoot {
    pub(crate) moves: MoveList,
    allowed: Vec<bool>,
    all_allowed: bool,
    noise: Option<RootNoise>,
    /// A clone draws the move, the same each time.
    pub(crate) rng: fastrand::Rng,
    pub(crate) mate: Option<FoundMate>,
    pub(crate) reused_visits: u32,
    draw_score: f32,
}

impl SearchRoot {
    pub(crate) fn new(context: &SearchContext) -> SearchRoot {
        let SearchContext {
            params,
            history,
            root_moves,
            ..
        } = context;
        let moves = history.legal_moves();
        let all_allowed = root_moves.is_empty();
        let mut rng = match params.seed {
            0 => fastrand::Rng::new(),
            seed => fastrand::Rng::with_seed(seed ^ history.evaluation_key()),
        };
        SearchRoot {
            allowed: moves
                .iter()
                .map(|mv| all_allowed || root_moves.contains(mv))
                .collect(),
            all_allowed,
            noise: RootNoise::draw(params.noise, moves.len(), &mut rng),
            moves,
            rng,
            mate: FoundMate::by_checks(history, params.leaf_mate_search),
            reused_visits: context.visits(),
            draw_score: history
                .current()
                .turn()
                .fold_wb(params.draw_score, -params.draw_score),
        }
    }

    /// The worth of a draw to the side that moves `plies` below the root.
    #[inline]
    pub(crate) fn draw_score(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) {
            self.draw_score
        } else {
            -self.draw_score
        }
    }

    #[inline]
    pub(crate) fn allows(&self, mv: Move) -> bool {
        self.all_allowed || self.index_of(mv).is_some_and(|index| self.allowed[index])
    }

    /// Moves that may be searched.
    pub(crate) fn choices(&self) -> usize {
        self.allowed.iter().filter(|&&allowed| allowed).count()
    }

    pub(crate) fn allows_index(&self, index: u8) -> bool {
        self.allowed
            .get(usize::from(index))
            .is_some_and(|&allowed| allowed)
    }

    /// With noise unless the move certainly loses.
    #[inline]
    pub(crate) fn policy_of_child(&self, child: &Node) -> f32 {
        let (mv, policy) = (child.edge().mv(), child.edge().policy());
        match &self.noise {
            Some(noise) if !child.is_lost() => {
                self.index_of(mv).map_or(policy, |index| noise.mix(index, policy))
            }
            _ => policy,
        }
    }

    pub(crate) fn policy_of_unvisited(&self, edge: Unvisited) -> f32 {
        let policy = edge.policy();
        self.noise
            .as_ref()
            .map_or(policy, |noise| noise.mix(edge.index.into(), policy))
    }

    fn index_of(&self, mv: Move) -> Option<usize> {
        self.moves.iter().position(|&other| other == mv)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct FoundMate {
    pub(crate) mv: Move,
    pub(crate) proof: Proof,
}

impl FoundMate {
    pub(crate) fn by_checks(history: &History, moves: u32) -> Option<FoundMate> {
        let line = history.mate_by_checks(moves);
        let plies = line.len() as f32 - 1.0;
        let proof = Proof {
            outcome: ProofOutcome::Win,
            plies,
            is_mate: true,
        };
        line.first().map(|&mv| FoundMate { mv, proof })
    }
}

struct RootNoise {
    epsilon: f32,
    parts: Vec<f32>,
}

impl RootNoise {
    fn draw(params: NoiseParams, moves: usize, rng: &mut fastrand::Rng) -> Option<RootNoise> {
        if params.epsilon <= 0.0 || params.alpha <= 0.0 {
            return None;
        }
        let gammas: Vec<f64> = (0..moves).map(|_| gamma(params.alpha, rng)).collect();
        let sum: f64 = gammas.iter().sum();
        // All are 0 where alpha is so small that every draw is rounded down.
        let parts = (sum > 0.0).then(|| gammas.iter().map(|g| (g / sum) as f32).collect())?;
        Some(RootNoise {
            epsilon: params.epsilon,
            parts,
        })
    }

    fn mix(&self, index: usize, policy: f32) -> f32 {
        let part = self.parts.get(index).copied().unwrap_or_default();
        policy * (1.0 - self.epsilon) + part * self.epsilon
    }
}

/// Gamma distribution with this shape and scale 1 (Marsaglia and Tsang 2000).
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

/// Standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * libm::log(positive(rng))).sqrt() * libm::cos(TAU * rng.f64())
}

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
            assert!((mean - 0.2).abs() < 0.01, "{alpha}: {mean}");
            let expected = 0.16 / (5.0 * alpha + 1.0);
            assert!(
                (variance / expected - 1.0).abs() < 0.1,
                "{alpha}: {variance} for {expected}"
            );
        }
    }

    #[test]
    fn policy_and_noise_are_mixed() {
        let noise = RootNoise {
            epsilon: 0.25,
            parts: vec![1.0, 0.0],
        };
        assert_eq!((noise.mix(0, 0.4), noise.mix(1, 0.4)), (0.55, 0.3));
        let mut rng = fastrand::Rng::with_seed(1);
        assert!(RootNoise::draw(NoiseParams::default(), 20, &mut rng).is_none());
    }
}
