//! The trait of all rules that end a search, and the reasons they give.

use std::fmt;

use super::report::MoveReport;
use super::stats::{Hints, SearchStats};

/// Why a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// `go nodes` reached.
    Nodes,
    /// `go movetime` is over.
    MoveTime,
    /// The manager's budget in time is spent.
    Budget,
    /// The manager's target in nodes is reached.
    TargetNodes,
    /// The manager sees nothing to gain from thinking on (a finished iteration, a short mate).
    Settled,
    /// `go depth` reached.
    Depth,
    /// `go mate` found.
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
        })
    }
}

/// A rule that may end a search. It lives for one search and is asked again and again.
pub trait Stopper: Send + fmt::Debug {
    /// Whether to stop now; also tightens the hints for the stoppers after it and for the search.
    fn should_stop(&mut self, stats: &SearchStats, hints: &mut Hints) -> Option<StopReason>;

    /// The moment, ms since `go`, by which `bestmove` must be out even if a batch is in flight. It may move
    /// while the search runs. `None`: this rule does not watch the clock.
    fn deadline_ms(&self) -> Option<f64> {
        None
    }

    /// The figures behind the budget, from rules that have one.
    fn report(&self) -> Option<MoveReport> {
        None
    }
}
