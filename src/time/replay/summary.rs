//! What many replayed games have in common.

use crate::time::stopper::StopReason;

use super::{ReplayedGame, ReplayedMove};

/// A move with a choice that takes less than this share of an even share of the clock is an insta-move.
const INSTANT_SHARE: f64 = 0.02;
/// Moves over which that even share is reckoned.
const EVEN_SHARE_MOVES: f64 = 40.0;

/// Figures over many games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Games.
    pub games: usize,
    /// Games lost on time.
    pub losses: usize,
    /// Mean share of all time given that was used by the game's end.
    pub time_used: f64,
    /// Smallest clock after any move, before its increment, ms; negative if a flag fell.
    pub min_clock_ms: f64,
    /// Moves that were made at once though there was a choice and nothing was proven.
    pub instamoves: usize,
    /// Mean over the games of the coefficient of variation (standard deviation ÷ mean) of the nodes in the tree
    /// at the end of each move that had a choice.
    pub nodes_cv: f64,
}

impl Summary {
    /// Adds up games.
    pub fn of(games: &[ReplayedGame]) -> Summary {
        let count = games.len().max(1) as f64;
        let moves = || games.iter().flat_map(|game| &game.moves);
        Summary {
            games: games.len(),
            losses: games.iter().filter(|game| game.final_clock_ms < 0.0).count(),
            time_used: games.iter().map(ReplayedGame::time_used).sum::<f64>() / count,
            min_clock_ms: moves().map(|m| m.clock_ms - m.used_ms).fold(f64::INFINITY, f64::min),
            instamoves: moves().filter(|m| m.is_instamove()).count(),
            nodes_cv: games.iter().map(ReplayedGame::nodes_cv).sum::<f64>() / count,
        }
    }
}

impl ReplayedGame {
    /// Share of all time given that was used, 1 if all was.
    pub fn time_used(&self) -> f64 {
        1.0 - self.final_clock_ms.max(0.0) / self.given_ms.max(f64::MIN_POSITIVE)
    }

    /// Coefficient of variation of the nodes at the end of each move that had a choice; 0 for fewer than two.
    pub fn nodes_cv(&self) -> f64 {
        let nodes: Vec<f64> = self.moves.iter().filter(|m| m.had_choice).map(|m| m.nodes as f64).collect();
        let count = nodes.len() as f64;
        let mean = nodes.iter().sum::<f64>() / count;
        if nodes.len() < 2 || mean <= 0.0 {
            return 0.0;
        }
        let variance = nodes.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / count;
        variance.sqrt() / mean
    }
}

impl ReplayedMove {
    /// True if the move was made at once without need.
    pub fn is_instamove(&self) -> bool {
        let was_proven = matches!(
            self.reason,
            StopReason::SmartPruning | StopReason::OnlyMove | StopReason::ProvenWin | StopReason::OthersLose
        );
        let even_share_ms = self.clock_ms / EVEN_SHARE_MOVES;
        self.had_choice && !was_proven && self.used_ms < INSTANT_SHARE * even_share_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(nodes: u64, used_ms: f64, reason: StopReason) -> ReplayedMove {
        ReplayedMove {
            clock_ms: 40_000.0,
            budget_ms: used_ms,
            used_ms,
            nodes,
            new_nodes: nodes,
            reason,
            had_choice: true,
            moves_left: None,
        }
    }

    #[test]
    fn by_hand() {
        let moves = vec![
            moved(100, 1_000.0, StopReason::Budget),
            moved(300, 10.0, StopReason::Budget),
            moved(200, 10.0, StopReason::SmartPruning),
        ];
        let game = ReplayedGame { moves, given_ms: 50_000.0, final_clock_ms: 10_000.0 };
        let summary = Summary::of(&[game]);
        assert!((summary.time_used - 0.8).abs() < 1e-12);
        assert_eq!((summary.losses, summary.instamoves), (0, 1), "10 ms of 1,000 is an insta-move");
        assert_eq!(summary.min_clock_ms, 39_000.0);
        // Mean 200, variance (100² + 100² + 0)/3 = 6666.7, deviation 81.65
        assert!((summary.nodes_cv - 0.408_248).abs() < 1e-6);
    }
}
