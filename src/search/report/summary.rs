//! Sums up a finished search for benchmarks and logs.

use std::time::Duration;

use crate::chess::Move;
use crate::search::report::snapshot::RootSnapshot;
use crate::search::state::counters::CounterValues;
use crate::time::RootEvaluation;

/// Figures of a finished search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchSummary {
    /// Visits of the root, those of earlier searches included.
    pub nodes: u64,
    /// Visits made by this search.
    pub new_nodes: u64,
    /// Time from `go` to the answer.
    pub time: Duration,
    /// Time from `go` to the first evaluation; `None` if there was none.
    pub first_evaluation: Option<Duration>,
    /// What the search has counted.
    pub counts: CounterValues,
    /// Memory of the tree, bytes.
    pub tree_bytes: u64,
    /// Mean value, draws and plies left at the root, from the side to move's point of view; `None` if nothing was visited.
    pub root: Option<RootEvaluation>,
    /// The root's moves with their visits, in the order of their policy; moves that were never tried are missing.
    pub root_visits: Vec<(Move, u32)>,
}

/// Returns the figures of the search that `snapshot` is of; `tree_bytes` is the memory of its tree.
pub(crate) fn of(snapshot: &RootSnapshot, tree_bytes: u64) -> SearchSummary {
    SearchSummary {
        nodes: snapshot.nodes.into(),
        new_nodes: snapshot.new_nodes,
        time: snapshot.elapsed,
        first_evaluation: snapshot.first_evaluation,
        counts: snapshot.counts,
        tree_bytes,
        root: snapshot.evaluation,
        root_visits: snapshot.children.iter().map(|child| (child.mv, child.node.visits)).collect(),
    }
}
