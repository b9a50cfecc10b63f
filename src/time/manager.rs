//! The trait of time managers.

use std::fmt::Debug;

use super::facts::MoveFacts;
use super::report::MoveReport;
use super::stats::SearchStats;
use super::stopper::{StopReason, Stopper};
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
    /// The rule that ended the search; `None` if the user stopped it.
    pub reason: Option<StopReason>,
    /// The manager's last report on the move, from its stopper.
    pub report: MoveReport,
}

/// A time manager budgets the moves of one game. Each game gets a new one.
pub trait TimeManager: Send + Debug {
    /// Returns its name as in the option `TimeManager`.
    fn name(&self) -> &'static str;

    /// Budgets a move and returns its stopper; `None` if no clock limits the move (no time given, `infinite`). It is not asked
    /// about `ponder`.
    fn start_move(&mut self, facts: &MoveFacts) -> Option<Box<dyn Stopper>>;

    /// Learns from a finished move that this manager had budgeted.
    fn finish_move(&mut self, outcome: &MoveOutcome);

    /// Returns true if its budgets depend on the evaluation by a network that has or has not a Moves Left Head.
    fn asks_network(&self, _has_moves_left: bool) -> bool {
        false
    }

    /// Takes the message for the user that has come up since the last call, for an `info string`.
    fn take_message(&mut self) -> Option<String> {
        None
    }
}
