//! Sums up a finished search for benchmarks and logs.

use std::time::Duration;

use super::root_snapshot::RootSnapshot;
use crate::chess::Move;
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
    /// Visits that the network evaluated.
    pub evaluations: u64,
    /// Visits whose evaluation was in the cache.
    pub cache_hits: u64,
    /// Visits that ended where the result is certain: in finished games, proven nodes and endgame tables.
    pub terminals: u64,
    /// Positions found in the endgame tables, leaves and root moves.
    pub tablebase_hits: u64,
    /// Visits that were given up because they ran into a leaf under evaluation; not counted as nodes.
    pub collisions: u64,
    /// Positions evaluated for the cache alone.
    pub prefetched: u64,
    /// Batches evaluated.
    pub batches: u64,
    /// Memory of the tree, bytes.
    pub tree_bytes: u64,
    /// Mean value, draws and plies left at the root, from the side to move's point of view; `None` if nothing was visited.
    pub root: Option<RootEvaluation>,
    /// The root's moves with their visits, in the order of their policy; moves that were never tried are missing.
    pub root_visits: Vec<(Move, u32)>,
}

/// Returns the figures of the search that `snapshot` is of; `tree_bytes` is the memory of its tree.
pub(crate) fn of(snapshot: &RootSnapshot, tree_bytes: u64) -> SearchSummary {
    let counts = snapshot.counts;
    SearchSummary {
        nodes: snapshot.nodes.into(),
        new_nodes: snapshot.new_nodes,
        time: snapshot.elapsed,
        first_evaluation: snapshot.first_evaluation,
        evaluations: counts.evaluations,
        cache_hits: counts.cache_hits,
        terminals: counts.terminals,
        tablebase_hits: counts.tablebase_hits,
        collisions: counts.collisions,
        prefetched: counts.prefetched,
        batches: counts.batches,
        tree_bytes,
        root: snapshot.evaluation,
        root_visits: snapshot.children.iter().map(|child| (child.mv, child.node.visits)).collect(),
    }
}
