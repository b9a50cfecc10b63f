//! How fast the modelled engine is, and how much of its tree survives from move to move.

use super::random::Random;

/// An engine on a machine. All figures are means; `replay` scatters them from move to move.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineModel {
    /// New nodes per second in the opening.
    pub nps: f64,
    /// Factor on it when only the kings are left: cache hits and terminal positions make endgames faster.
    pub endgame_speed: f64,
    /// Scatter of the speed from move to move, as a share of it.
    pub nps_scatter: f64,
    /// Largest batch.
    pub batch: u32,
    /// Time that a batch takes whatever its size, ms.
    pub batch_latency_ms: f64,
    /// Share of the tree that survives our move and the opponent's expected answer.
    pub reuse: f64,
    /// How often the opponent surprises, and hardly anything survives.
    pub surprise: f64,
    /// Time from the end of the search to the GUI's clock, ms.
    pub lag_ms: f64,
    /// Time from the deadline to `bestmove` while a batch is in flight, ms.
    pub reaction_ms: f64,
}

impl Default for EngineModel {
    /// A small network on one GPU.
    fn default() -> Self {
        EngineModel {
            nps: 10_000.0,
            endgame_speed: 1.6,
            nps_scatter: 0.15,
            batch: 128,
            batch_latency_ms: 5.0,
            reuse: 0.55,
            surprise: 0.25,
            lag_ms: 5.0,
            reaction_ms: 2.0,
        }
    }
}

/// Share of the visits that each further root move has of what the ones before it left.
const TAIL_SHARE: f64 = 0.5;
/// Root moves that get visits at all.
const VISITED_MOVES: usize = 6;

impl EngineModel {
    /// Nodes that survive from a tree of `nodes`.
    pub(super) fn reused_nodes(&self, nodes: u64, random: &mut Random) -> u64 {
        let is_surprise = random.unit() < self.surprise;
        let share = self.reuse + 0.15 * random.normal();
        let share = if is_surprise { 0.03 } else { share };
        (nodes as f64 * share.clamp(0.0, 0.95)) as u64
    }

    /// The speed during one move with so many pieces on the board, new nodes per second.
    pub(super) fn speed(&self, pieces: u32, random: &mut Random) -> f64 {
        let gone = f64::from(32 - pieces.clamp(2, 32)) / 30.0;
        let mean = self.nps * (1.0 + (self.endgame_speed - 1.0) * gone);
        mean * (1.0 + self.nps_scatter * random.normal()).max(0.2)
    }

    /// `nodes` spread over root moves, most visited first.
    pub(super) fn spread(&self, nodes: u64, legal_moves: u32) -> Vec<u32> {
        let moves = (legal_moves as usize).min(VISITED_MOVES);
        let mut left = nodes as f64;
        (0..moves)
            .map(|_| {
                let visits = left * TAIL_SHARE;
                left -= visits;
                visits as u32
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endgames_are_faster_and_trees_shrink() {
        let model = EngineModel { nps_scatter: 0.0, ..EngineModel::default() };
        let mut random = Random::new(7);
        assert_eq!(model.speed(32, &mut random), 10_000.0);
        assert_eq!(model.speed(2, &mut random), 16_000.0);
        assert!((0..100).all(|_| model.reused_nodes(1_000, &mut random) <= 950));
        assert_eq!(model.spread(1_000, 3), [500, 250, 125]);
        assert!(model.spread(1_000, 0).is_empty());
    }
}
