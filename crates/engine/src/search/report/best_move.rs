//! Chooses the move to play and the line after it. With a temperature the move is drawn by Lc0's rules.

use std::cmp::Ordering;

use super::snapshot::{NodeReading, RootMove, RootSnapshot, compare, moves_to_mate, rank};
use crate::chance;
use crate::chess::Move;
use crate::search::leaf::select;
use crate::search::state::{FoundMate, SearchContext, SearchState, TemperatureParams};
use crate::search::tree::{Inside, Node, NodeId, NodeState, Proof, ProofOutcome, Tree};

const MAX_PV: usize = 64;

impl RootSnapshot<'_> {
    /// The move to play among `ranked` moves, best first.
    pub(crate) fn choose<'a>(&self, ranked: &[&'a RootMove]) -> Option<&'a RootMove> {
        let SearchState {
            context: SearchContext { params, history, .. },
            root,
            ..
        } = self.state;
        let temperature = params.temperature.at(history.game_ply());
        let best = ranked.first().copied();
        if temperature <= 0.0 {
            return best;
        }
        let visited = ranked.iter().filter(|root_move| root_move.is_visited());
        let visited_policy = visited.map(|root_move| root_move.policy).sum();
        let parent_q = select::parent_q(self.root.mean, self.draw_score());
        let fpu = select::fpu(params.fpu_at(0), parent_q, visited_policy);
        let candidate = |root_move: &&RootMove| DrawCandidate {
            visits: root_move.node.visits,
            q: if root_move.is_visited() { root_move.q } else { fpu },
            policy: root_move.policy,
        };
        let candidates: Vec<_> = ranked.iter().map(candidate).collect();
        let drawn = params
            .temperature
            .draw(temperature, &candidates, &mut root.rng.clone());
        drawn.map_or(best, |drawn| ranked.get(drawn).copied())
    }

    /// Up to a mate found at its leaf.
    pub(super) fn principal_variation(&self, first: &RootMove, _inside: &Inside<'_>) -> Vec<Move> {
        let SearchContext {
            tree,
            history,
            expected_move,
            ..
        } = &self.state.context;
        let mut line = vec![first.mv];
        let before = expected_move.filter(|_| self.plies > 0);
        let mate_after = |line: &[Move], plies_left: f32| {
            let mut history = history.clone();
            before.iter().chain(line).for_each(|&mv| history.push(mv));
            history.mate_by_checks(moves_to_mate(plies_left))
        };
        let is_at_root =
            |mate: FoundMate| self.plies == 0 && mate.mv == first.mv && first.node.proof == Some(mate.proof);
        if let Some(mate) = first.node.proof
            && (first.child.is_none() || self.state.root.mate.is_some_and(is_at_root))
        {
            return mate_after(&[], mate.plies + 1.0);
        }
        let Some(mut id) = first.child.filter(|_| first.is_visited()) else {
            return line;
        };
        while line.len() < MAX_PV {
            let draw_score = self.state.root.draw_score(self.plies + line.len());
            let Some((next, child)) = best_child(tree, tree.node(id), draw_score) else {
                break;
            };
            line.push(child.edge().mv());
            id = next;
        }
        let leaf = tree.node(id);
        if let Some(Proof {
            outcome: ProofOutcome::Loss,
            plies: left,
            is_mate: true,
        }) = leaf.proof()
            && leaf.is_terminal()
        {
            line.extend(mate_after(&line, left));
        }
        line
    }
}

fn best_child<'a>(tree: &'a Tree, node: &'a Node, draw_score: f32) -> Option<(NodeId, &'a Node)> {
    if node.state() != NodeState::Expanded {
        return None;
    }
    // Workers change the figures meanwhile, so each is read once.
    let ranks = tree
        .children(node)
        .filter(|(_, child)| child.visits() > 0)
        .map(|(id, child)| {
            let reading = NodeReading::of(child);
            let q = select::child_q(reading.mean, draw_score);
            (rank(&reading, q, child.edge().policy()), id, child)
        });
    // `max_by` prefers the last of equals, and children were made by falling policy.
    let best = ranks.max_by(|(a, ..), (b, ..)| compare(a, b).then(Ordering::Greater));
    best.map(|(_, id, child)| (id, child))
}

impl TemperatureParams {
    fn at(&self, game_ply: u32) -> f32 {
        let moves = game_ply / 2;
        if self.cutoff_move > 0 && moves + 1 >= self.cutoff_move {
            return self.endgame;
        }
        if self.initial == 0.0 || self.decay_moves == 0 {
            return self.initial;
        }
        let left =
            (self.decay_delay_moves + self.decay_moves).saturating_sub(moves.max(self.decay_delay_moves));
        (self.initial * left as f32 / self.decay_moves as f32).max(self.endgame)
    }

    fn draw(&self, temperature: f32, candidates: &[DrawCandidate], rng: &mut fastrand::Rng) -> Option<usize> {
        let visits = |candidate: &DrawCandidate| candidate.visits as f32 + self.visit_offset;
        let most = candidates
            .iter()
            .reduce(|a, b| if visits(b) > visits(a) { b } else { a })?;
        let power = 1.0 / f64::from(temperature);
        // The value is between −1 and 1, the cutoff in percent of that range.
        let least_q = most.q - self.value_cutoff / 50.0;
        let weight = |candidate: &DrawCandidate| {
            if visits(most) <= 0.0 {
                return libm::pow(candidate.policy.into(), power);
            }
            let share = if candidate.q < least_q {
                0.0
            } else {
                visits(candidate) / visits(most)
            };
            libm::pow(share.max(0.0).into(), power)
        };
        let weights: Vec<f64> = candidates.iter().map(weight).collect();
        chance::draw(&weights, rng.f64())
    }
}

struct DrawCandidate {
    visits: u32,
    q: f32,
    policy: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_falls_as_the_game_goes_on() {
        let params = TemperatureParams {
            initial: 1.0,
            ..TemperatureParams::default()
        };
        assert_eq!((params.at(0), params.at(300)), (1.0, 1.0));
        let decaying = TemperatureParams {
            decay_moves: 10,
            decay_delay_moves: 5,
            ..params
        };
        let found = [0, 11, 12, 20, 30, 40].map(|ply| decaying.at(ply));
        assert_eq!(found, [1.0, 1.0, 0.9, 0.5, 0.0, 0.0]);
        let floored = TemperatureParams {
            endgame: 0.3,
            ..decaying
        };
        assert_eq!([20, 28, 40].map(|ply| floored.at(ply)), [0.5, 0.3, 0.3]);
        let cut = TemperatureParams {
            cutoff_move: 16,
            endgame: 0.25,
            ..params
        };
        assert_eq!((cut.at(29), cut.at(30)), (1.0, 0.25));
    }

    fn shares(params: TemperatureParams, temperature: f32, candidates: &[DrawCandidate]) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut counts = vec![0.0; candidates.len()];
        for _ in 0..10_000 {
            counts[params.draw(temperature, candidates, &mut rng).unwrap()] += 1e-4;
        }
        counts
    }

    fn assert_shares(params: TemperatureParams, temperature: f32, expected: [f64; 3]) {
        let candidates = [(60, 0.2, 0.1), (30, 0.0, 0.6), (10, -0.5, 0.3)]
            .map(|(visits, q, policy)| DrawCandidate { visits, q, policy });
        let found = shares(params, temperature, &candidates);
        let is_near = found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 0.015 && (b > 0.0) == (*a > 0.0));
        assert!(is_near, "{found:?} for {expected:?}");
    }

    #[test]
    fn moves_are_drawn_by_their_visits() {
        let params = TemperatureParams::default();
        assert_shares(params, 1.0, [0.6, 0.3, 0.1]);
        assert_shares(params, 0.5, [36.0 / 46.0, 9.0 / 46.0, 1.0 / 46.0]);
        assert_shares(
            TemperatureParams {
                value_cutoff: 36.0,
                ..params
            },
            1.0,
            [0.6, 0.3, 0.1],
        );
        assert_shares(
            TemperatureParams {
                value_cutoff: 34.0,
                ..params
            },
            1.0,
            [2.0 / 3.0, 1.0 / 3.0, 0.0],
        );
        assert_shares(
            TemperatureParams {
                value_cutoff: 9.0,
                ..params
            },
            1.0,
            [1.0, 0.0, 0.0],
        );
        assert_shares(
            TemperatureParams {
                visit_offset: -20.0,
                ..params
            },
            1.0,
            [0.8, 0.2, 0.0],
        );
        assert_shares(
            TemperatureParams {
                visit_offset: 20.0,
                ..params
            },
            1.0,
            [0.5, 0.3125, 0.1875],
        );
    }

    #[test]
    fn without_visits_the_policy_decides() {
        let params = TemperatureParams {
            visit_offset: -60.0,
            ..TemperatureParams::default()
        };
        assert_shares(params, 1.0, [0.1, 0.6, 0.3]);
        assert_eq!(params.draw(1.0, &[], &mut fastrand::Rng::with_seed(1)), None);
    }
}
