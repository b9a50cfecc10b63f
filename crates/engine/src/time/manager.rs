//! The trait of time managers, and the outcome of a move that they learn from.

use std::fmt::Debug;

use super::facts::MoveFacts;
use super::report::MoveReport;
use super::stats::SearchStats;
use super::stoppers::{StopReason, Stopper};
use super::units::Millis;

/// The outcome of a move, from which a manager learns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveOutcome {
    /// Time from `go` (or `ponderhit`) to `bestmove`.
    pub used: Millis,
    /// The search's last statistics.
    pub stats: SearchStats,
    /// Legal moves at the root. Moves without a choice teach a manager nothing.
    pub legal_moves: u32,
    /// The rule that ended the search, or `None` if the user stopped it.
    pub reason: Option<StopReason>,
    /// The manager's last report on the move, from its stopper.
    pub report: MoveReport,
}

/// A time manager budgets the moves of one game. Each game gets a new one.
pub trait TimeManager: Send + Debug {
    /// Budgets a move and returns its stopper, or `None` if no clock limits the move (no time given,
    /// `infinite`). It is not asked about `ponder`.
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>>;

    fn finish_move(&mut self, _outcome: &MoveOutcome) {}

    /// Returns true if its budgets depend on the evaluation by a network that has or has not a Moves Left
    /// Head.
    fn asks_network(&self, _has_moves_left: bool) -> bool {
        false
    }

    /// Takes the message for the user that has come up since the last call, for an `info string`.
    fn take_message(&mut self) -> Option<String> {
        None
    }
}
