//! What smart pruning did to the moves of a match: how many it ended, and how much time that saved.

use super::rows::MatchMoveRow;
use crate::time::StopReason;

/// Sums over the moves of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PruningCounts {
    /// Moves with a clock, and those of them that smart pruning ended.
    moves: u64,
    pruned: u64,
    /// Time used, ms.
    used_ms: f64,
    /// Time that the budgets of pruned moves had left, ms.
    saved_ms: f64,
}

impl PruningCounts {
    /// Adds a move of the side. Moves without a clock are left out: smart pruning is off where nodes are the limit.
    pub(super) fn add(&mut self, row: &MatchMoveRow) {
        let (Some(used_ms), Some(budget_ms)) = (row.used_ms, row.budget_ms) else { return };
        self.moves += 1;
        self.used_ms += used_ms;
        if row.end == StopReason::SmartPruning.to_string() {
            self.pruned += 1;
            self.saved_ms += (budget_ms - used_ms).max(0.0);
        }
    }

    /// Returns the share of the moves that smart pruning ended; `None` without moves.
    pub fn pruned(&self) -> Option<f64> {
        (self.moves > 0).then(|| self.pruned as f64 / self.moves as f64)
    }

    /// Returns the time that this saved as a share of the time used; `None` where none was used.
    pub fn saved(&self) -> Option<f64> {
        (self.used_ms > 0.0).then(|| self.saved_ms / self.used_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(used_ms: Option<f64>, budget_ms: f64, end: StopReason) -> MatchMoveRow {
        MatchMoveRow {
            match_id: "m".into(),
            game: 0,
            by_a: true,
            number: 1,
            ply: 0,
            pieces: 32,
            clock_ms: used_ms,
            budget_ms: Some(budget_ms),
            used_ms,
            nodes: 1,
            new_nodes: 1,
            centipawns: None,
            moves_left_plies: None,
            moves_left: None,
            really_left: 1,
            end: end.to_string(),
        }
    }

    #[test]
    fn shares_by_hand() {
        let mut counts = PruningCounts::default();
        assert_eq!((counts.pruned(), counts.saved()), (None, None));
        for row in [
            row(Some(300.0), 300.0, StopReason::Budget),
            row(Some(100.0), 250.0, StopReason::SmartPruning),
            // Late by a little: nothing was saved.
            row(Some(201.0), 200.0, StopReason::SmartPruning),
            row(Some(199.0), 900.0, StopReason::OnlyMove),
            row(None, 900.0, StopReason::SmartPruning),
        ] {
            counts.add(&row);
        }
        assert_eq!((counts.pruned(), counts.saved()), (Some(0.5), Some(150.0 / 800.0)));
    }
}
