//! The trait of the rules that end a search, and the reasons that they give.

use std::fmt;

use super::report::MoveReport;
use super::stats::{Hints, SearchStats};
use super::units::Millis;

/// The reason why a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The limit of `go nodes` is reached.
    Nodes,
    /// The time of `go movetime` is over.
    MoveTime,
    /// The manager's budget in time is spent.
    Budget,
    /// The manager's target in nodes is reached.
    TargetNodes,
    /// The manager expects no gain from more time (after an iteration, or a short mate).
    Settled,
    /// The limit of `go depth` is reached.
    Depth,
    /// The mate of `go mate` is found, or there is none.
    Mate,
    /// The visit distribution hardly changes any more.
    KldGain,
    /// The best move cannot be overtaken in the time that is left.
    SmartPruning,
    /// There is only one legal move.
    OnlyMove,
    /// A root move wins by force.
    ProvenWin,
    /// All moves but one lose.
    OthersLose,
    /// The root's result is certain.
    ProvenResult,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Nodes => "nodes",
            StopReason::MoveTime => "movetime",
            StopReason::Budget => "budget",
            StopReason::TargetNodes => "target-nodes",
            StopReason::Settled => "settled",
            StopReason::Depth => "depth",
            StopReason::Mate => "mate",
            StopReason::KldGain => "kld-gain",
            StopReason::SmartPruning => "smart-pruning",
            StopReason::OnlyMove => "only-move",
            StopReason::ProvenWin => "proven-win",
            StopReason::OthersLose => "others-lose",
            StopReason::ProvenResult => "proven-result",
        })
    }
}

/// A rule that may end a search. It lives for one search and is asked again and again.
pub trait Stopper: Send + fmt::Debug {
    /// Returns the reason if the search is to stop now. Also tightens the hints for the stoppers after it and for the search.
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason>;

    /// Returns the time since `go` by which `bestmove` must be sent even if a batch is in flight; `None` for rules that
    /// do not depend on the clock. It may change while the search runs.
    fn deadline(&self) -> Option<Millis> {
        None
    }

    /// Returns what the budget was computed from, for rules that have one.
    fn report(&self) -> Option<MoveReport> {
        None
    }
}
