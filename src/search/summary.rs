//! What a search counted, for benchmarks and logs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::job::Job;
use super::stats::root_evaluation;
use crate::chess::Move;
use crate::time::RootEvaluation;

/// Figures of a finished search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
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

/// Reads the figures of `job`.
pub(crate) fn of(job: &Job) -> Summary {
    let root = job.tree.node(job.root);
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    Summary {
        nodes: job.nodes().into(),
        new_nodes: job.new_nodes(),
        time: job.started.elapsed(),
        first_evaluation: job.first_evaluation(),
        evaluations: count(&job.counters.evaluations),
        cache_hits: count(&job.counters.cache_hits),
        terminals: count(&job.counters.terminals),
        tablebase_hits: count(&job.counters.tablebase_hits),
        collisions: count(&job.counters.collisions),
        prefetched: count(&job.counters.prefetched),
        batches: count(&job.counters.batches),
        tree_bytes: job.tree.bytes(),
        root: root_evaluation(&job.tree, job.root, &job.backend),
        root_visits: job.tree.children(root).map(|(_, child)| (child.edge().mv(), child.visits())).collect(),
    }
}
