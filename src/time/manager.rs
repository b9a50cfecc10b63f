//! The trait of time managers.

use std::fmt::Debug;

use super::facts::MoveFacts;
use super::report::MoveReport;
use super::stats::SearchStats;
use super::stopper::{StopReason, Stopper};

/// What became of a move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveOutcome {
    /// Time from `go` (or `ponderhit`) to `bestmove`, ms.
    pub used_ms: f64,
    /// The search's last figures; after a `ponderhit` counted from there.
    pub stats: SearchStats,
    /// Legal moves at the root: moves without a choice teach nothing.
    pub legal_moves: u32,
    /// Which rule ended the search; `None` if the user stopped it.
    pub reason: Option<StopReason>,
    /// The manager's last report on the move, from its stopper.
    pub report: MoveReport,
}

/// Budgets the moves of one game. Make a new one for each game.
pub trait TimeManager: Send + Debug {
    /// Its name as in the option `TimeManager`.
    fn name(&self) -> &'static str;

    /// Budgets a move. `None` if there is no clock to watch (no time given, `infinite`, `ponder`).
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>>;

    /// Budgets the move that was pondered, now that the opponent has played it.
    ///
    /// `facts` are those of this moment (their limits without `ponder`, `reused_nodes` what is in the tree now),
    /// but nodes made while pondering are a gift, not a saving: the move still gets a budget of its own, as if
    /// only `kept_nodes`, those that were there when pondering began, had been reused.
    fn ponder_hit(&mut self, facts: &MoveFacts, kept_nodes: u64) -> Option<Box<dyn Stopper>> {
        self.start_move(&MoveFacts { reused_nodes: kept_nodes.min(facts.reused_nodes), ..facts.clone() })
    }

    /// Learns from a finished move that this manager had budgeted.
    fn finish_move(&mut self, outcome: &MoveOutcome);

    /// True if its budgets depend on what a network says of the position, one with or without a Moves Left Head.
    fn asks_network(&self, _has_moves_left: bool) -> bool {
        false
    }

    /// A message for the user that came up since the last call, for an `info string`.
    fn take_message(&mut self) -> Option<String> {
        None
    }
}
