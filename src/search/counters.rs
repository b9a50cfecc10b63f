//! The counters of a search. Every worker writes them, with relaxed ordering: each is a number of its own, and
//! nothing else is published through it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The counters of a search. Every visit is one of evaluation, cache hit or terminal; collisions are no visits.
#[derive(Debug, Default)]
pub(crate) struct SearchCounters {
    /// Visits that the network evaluated.
    pub(crate) evaluations: AtomicU64,
    /// Visits whose evaluation was in the cache.
    pub(crate) cache_hits: AtomicU64,
    /// Visits that ended where the result is certain, or taken to be.
    pub(crate) terminals: AtomicU64,
    /// Positions found in the endgame tables, leaves and root moves.
    pub(crate) tablebase_hits: AtomicU64,
    /// Stops at leaves under evaluation.
    pub(crate) collisions: AtomicU64,
    /// Positions evaluated for the cache alone.
    pub(crate) prefetched: AtomicU64,
    /// Batches evaluated.
    pub(crate) batches: AtomicU64,
    /// Visits of earlier searches that were taken back because they ended in repetitions that are none any more.
    pub(crate) reverted: AtomicU32,
    /// Sum of the depths of all visits: positions on their way, the root included.
    pub(crate) depth_sum: AtomicU64,
    /// Depth of the deepest visit, counted likewise.
    pub(crate) max_depth: AtomicU32,
}

/// The values of [`SearchCounters`] at one moment; the fields have the same names and meanings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CounterValues {
    pub(crate) evaluations: u64,
    pub(crate) cache_hits: u64,
    pub(crate) terminals: u64,
    pub(crate) tablebase_hits: u64,
    pub(crate) collisions: u64,
    pub(crate) prefetched: u64,
    pub(crate) batches: u64,
    pub(crate) reverted: u32,
    pub(crate) depth_sum: u64,
    pub(crate) max_depth: u32,
}

impl SearchCounters {
    /// Returns counters of which `tablebase_hits` root moves were found in the endgame tables before the search.
    pub(crate) fn new(tablebase_hits: u64) -> SearchCounters {
        SearchCounters { tablebase_hits: tablebase_hits.into(), ..SearchCounters::default() }
    }

    /// Returns the number of finished visits.
    pub(crate) fn visits(&self) -> u64 {
        [&self.evaluations, &self.cache_hits, &self.terminals].map(|c| c.load(Ordering::Relaxed)).iter().sum()
    }

    /// Counts the depths of visits: their `sum`, and the largest one, `max`.
    pub(crate) fn count_depths(&self, sum: usize, max: usize) {
        self.depth_sum.fetch_add(sum as u64, Ordering::Relaxed);
        self.max_depth.fetch_max(max as u32, Ordering::Relaxed);
    }

    /// Reads all counters.
    pub(crate) fn read(&self) -> CounterValues {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CounterValues {
            evaluations: count(&self.evaluations),
            cache_hits: count(&self.cache_hits),
            terminals: count(&self.terminals),
            tablebase_hits: count(&self.tablebase_hits),
            collisions: count(&self.collisions),
            prefetched: count(&self.prefetched),
            batches: count(&self.batches),
            reverted: self.reverted.load(Ordering::Relaxed),
            depth_sum: count(&self.depth_sum),
            max_depth: self.max_depth.load(Ordering::Relaxed),
        }
    }
}

impl CounterValues {
    /// Returns the number of finished visits.
    pub(crate) fn visits(&self) -> u64 {
        self.evaluations + self.cache_hits + self.terminals
    }

    /// Returns the average depth of the visits: positions on their way, the root included, as Lc0 counts.
    pub(crate) fn mean_depth(&self) -> u32 {
        (self.depth_sum / self.visits().max(1)) as u32
    }
}
