//! Time managers, and the outcome that they learn from.

use std::fmt::Debug;

use super::facts::MoveFacts;
use super::report::MoveReport;
use super::stats::SearchStats;
use super::stoppers::{StopReason, Stopper};
use super::units::Millis;

/// What became of a move's budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveOutcome {
    /// From `go` (or `ponderhit`) to `bestmove`.
    pub used: Millis,
    /// The statistics at the end of the search.
    pub stats: SearchStats,
    /// At the root. Moves without a choice teach nothing.
    pub legal_moves: u32,
    /// `None` if the user stopped it.
    pub reason: Option<StopReason>,
    /// The budget at the end of the search.
    pub report: MoveReport,
}

/// Budgets the moves of one game. Each game gets a new one.
pub trait TimeManager: Send + Debug {
    /// `None` if no clock limits the move. Not called for `ponder`.
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>>;

    /// Learns from the move.
    fn finish_move(&mut self, _outcome: &MoveOutcome) {}

    /// Budgets depend on the network's evaluation.
    fn asks_network(&self, _has_moves_left: bool) -> bool {
        false
    }

    /// Takes the message for an `info string`.
    fn take_message(&mut self) -> Option<String> {
        None
    }
}
