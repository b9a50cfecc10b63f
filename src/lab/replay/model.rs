//! Models the speed of an engine, and how much of its tree survives from move to move.

use super::course::SearchCourse;
use super::random::ReplayRandom;

/// New nodes per second.
#[derive(Clone, Debug, PartialEq)]
pub enum SpeedModel {
    /// The same speed at all times.
    Constant(f64),
    /// A speed that changes evenly with the pieces that leave the board: cache hits and terminal positions make endgames faster.
    ByPhase {
        /// Speed with all pieces on the board.
        opening: f64,
        /// Speed with the kings alone.
        endgame: f64,
    },
    /// A measured speed: pieces and pawns on the board, ascending, with new nodes per second; linear in between.
    Measured(Vec<(u32, f64)>),
}

impl SpeedModel {
    /// Returns the new nodes per second with this many pieces and pawns on the board.
    pub fn nps(&self, pieces: u32) -> f64 {
        match self {
            SpeedModel::Constant(nps) => *nps,
            SpeedModel::ByPhase { opening, endgame } => {
                let gone = f64::from(32 - pieces.clamp(2, 32)) / 30.0;
                opening + (endgame - opening) * gone
            }
            SpeedModel::Measured(points) => between(points, pieces),
        }
    }
}

/// Interpolates linearly between the points around `pieces`; beyond the ends the nearest point counts, and 0 without any.
fn between(points: &[(u32, f64)], pieces: u32) -> f64 {
    let above = points.iter().find(|(at, _)| *at >= pieces);
    let below = points.iter().rev().find(|(at, _)| *at <= pieces);
    match (below, above) {
        (Some(&(a, low)), Some(&(b, high))) if a < b => {
            low + (high - low) * f64::from(pieces - a) / f64::from(b - a)
        }
        (Some(&(_, nps)), _) | (None, Some(&(_, nps))) => nps,
        (None, None) => 0.0,
    }
}

/// An engine on a machine. All figures are means; `replay` scatters them from move to move.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineModel {
    /// The speed of the search.
    pub speed: SpeedModel,
    /// Scatter of the speed from move to move, as a share of it.
    pub nps_scatter: f64,
    /// Largest batch.
    pub batch: u32,
    /// Time that a batch takes whatever its size, ms.
    pub batch_latency_ms: f64,
    /// Share of the tree that survives our move and the opponent's expected answer.
    pub reuse: f64,
    /// Probability that the opponent surprises, so that hardly anything survives.
    pub surprise: f64,
    /// The course that score and best move take during a search.
    pub course: SearchCourse,
    /// Time from the end of the search to the GUI's clock, ms.
    pub lag_ms: f64,
    /// Time from the deadline to `bestmove` while a batch is in flight, ms.
    pub reaction_ms: f64,
}

impl Default for EngineModel {
    /// Returns the model of a small network on one GPU.
    fn default() -> Self {
        EngineModel {
            speed: SpeedModel::ByPhase { opening: 10_000.0, endgame: 16_000.0 },
            nps_scatter: 0.15,
            batch: 128,
            batch_latency_ms: 5.0,
            reuse: 0.55,
            surprise: 0.25,
            course: SearchCourse::default(),
            lag_ms: 5.0,
            reaction_ms: 2.0,
        }
    }
}

/// The nodes that a search finds in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptNodes {
    /// Those of our earlier searches.
    pub(super) searched: u64,
    /// Those made while the opponent thought.
    pub(super) pondered: u64,
}

/// Share of the visits that each further root move has of what the ones before it left.
const TAIL_SHARE: f64 = 0.5;
/// Root moves that get visits at all.
const VISITED_MOVES: usize = 6;

impl EngineModel {
    /// Returns what survives of a tree of `nodes` after our move and the opponent's, and of the nodes that were made while the
    /// opponent thought for `opponent_ms`, of which only the opponent's move takes its share.
    pub(super) fn kept_nodes(
        &self,
        nodes: u64,
        opponent_ms: f64,
        pieces: u32,
        random: &mut ReplayRandom,
    ) -> KeptNodes {
        let is_surprise = random.unit() < self.surprise;
        let share = self.reuse + 0.15 * random.normal();
        let share = if is_surprise { 0.03 } else { share }.clamp(0.0, 0.95);
        let pondered = self.speed.nps(pieces) * opponent_ms / 1000.0;
        KeptNodes { searched: (nodes as f64 * share) as u64, pondered: (pondered * share.sqrt()) as u64 }
    }

    /// Draws the speed during one move with this many pieces on the board, new nodes per second.
    pub(super) fn speed(&self, pieces: u32, random: &mut ReplayRandom) -> f64 {
        self.speed.nps(pieces) * (1.0 + self.nps_scatter * random.normal()).max(0.2)
    }

    /// Spreads `nodes` over root moves, most visited first.
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
    fn measured_speeds_are_joined_by_lines() {
        let speed = SpeedModel::Measured(vec![(4, 1_000.0), (12, 2_000.0), (32, 500.0)]);
        let found: Vec<f64> = [2, 4, 8, 12, 22, 32, 40].map(|pieces| speed.nps(pieces)).into();
        assert_eq!(found, [1_000.0, 1_000.0, 1_500.0, 2_000.0, 1_250.0, 500.0, 500.0]);
        assert_eq!(SpeedModel::Measured(Vec::new()).nps(9), 0.0);
        assert_eq!(SpeedModel::Constant(7.0).nps(9), 7.0);
    }

    #[test]
    fn endgames_are_faster_and_trees_shrink() {
        let model = EngineModel { nps_scatter: 0.0, ..EngineModel::default() };
        let mut random = ReplayRandom::new(7);
        assert_eq!(model.speed(32, &mut random), 10_000.0);
        assert_eq!(model.speed(2, &mut random), 16_000.0);
        let mut kept = |opponent_ms| model.kept_nodes(1_000, opponent_ms, 32, &mut random);
        assert!((0..100).all(|_| kept(0.0).searched <= 950 && kept(0.0).pondered == 0));
        assert!((0..100).all(|_| (1..=975).contains(&kept(100.0).pondered)), "1,000 nodes in 100 ms");
        assert_eq!(model.spread(1_000, 3), [500, 250, 125]);
        assert!(model.spread(1_000, 0).is_empty());
    }
}
