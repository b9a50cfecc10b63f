//! What a search counted, for benchmarks and logs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Search;
use super::stats::root_evaluation;
use crate::chess::Move;
use crate::time::RootEvaluation;

/// Figures of a finished search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchSummary {
    /// Visits of the root, those of earlier searches included.
    pub nodes: u64,
    /// Visits made by this search.
    pub new_nodes: u64,
    /// From `go` to the answer.
    pub time: Duration,
    /// From `go` to the first evaluation; `None` if there was none.
    pub first_evaluation: Option<Duration>,
    /// Visits that the network evaluated.
    pub evaluations: u64,
    /// Visits whose evaluation was in the cache.
    pub cache_hits: u64,
    /// Visits that ended in a finished game.
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
    /// What the tree says of the root, from the side to move's point of view; `None` if nothing was visited.
    pub root: Option<RootEvaluation>,
    /// The root's moves with their visits, in the order of their policy.
    pub root_visits: Vec<(Move, u32)>,
}

/// Reads the figures of `search`.
pub(crate) fn of(search: &Search) -> SearchSummary {
    let root = search.tree.node(search.root);
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    SearchSummary {
        nodes: search.nodes().into(),
        new_nodes: search.new_nodes(),
        time: search.started.elapsed(),
        first_evaluation: search.first_evaluation(),
        evaluations: count(&search.counters.evaluations),
        cache_hits: count(&search.counters.cache_hits),
        terminals: count(&search.counters.terminals),
        tablebase_hits: count(&search.counters.tablebase_hits),
        collisions: count(&search.counters.collisions),
        prefetched: count(&search.counters.prefetched),
        batches: count(&search.counters.batches),
        tree_bytes: search.tree.bytes(),
        root: root_evaluation(&search.tree, search.root, &search.backend),
        root_visits: search
            .tree
            .children(root)
            .map(|(_, child)| (child.edge().mv(), child.visits()))
            .collect(),
    }
}
