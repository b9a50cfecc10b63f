//! What a search counts: the visits that it may still begin, and those that it has made.
//!
//! Every worker writes the counters, with relaxed ordering: each is a number of its own, and nothing else is published through it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The counters of a search; [`CounterValues`] says what each counts.
#[derive(Debug, Default)]
pub(crate) struct SearchCounters {
    pub(crate) evaluations: AtomicU64,
    pub(crate) cache_hits: AtomicU64,
    pub(crate) terminals: AtomicU64,
    pub(crate) tablebase_hits: AtomicU64,
    pub(crate) collisions: AtomicU64,
    pub(crate) prefetched: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) reverted: AtomicU32,
    pub(crate) depth_sum: AtomicU64,
    pub(crate) max_depth: AtomicU32,
    pub(crate) waited_for_tree: AtomicU64,
    pub(crate) waited_for_device: AtomicU64,
    pub(crate) virtual_busy: AtomicU64,
}

/// What a search has counted up to one moment. Every visit is one of evaluation, cache hit or terminal; collisions are no visits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterValues {
    /// Visits that the network evaluated.
    pub evaluations: u64,
    /// Visits whose evaluation was in the cache.
    pub cache_hits: u64,
    /// Visits that ended where the result is certain, or taken to be: in finished games, repetitions, proven nodes, at mates found
    /// at a leaf, and in endgame tables.
    pub terminals: u64,
    /// Positions found in the endgame tables, leaves and root moves.
    pub tablebase_hits: u64,
    /// Descents that ended at a leaf under evaluation; the visits that they carried are given up.
    pub collisions: u64,
    /// Positions evaluated for the cache alone.
    pub prefetched: u64,
    /// Batches evaluated.
    pub batches: u64,
    /// Visits of earlier searches that were taken back because they ended in repetitions that are none any more.
    pub reverted: u32,
    /// Sum of the depths of all visits: positions on their way, the root included.
    pub depth_sum: u64,
    /// Depth of the deepest visit, counted likewise.
    pub max_depth: u32,
    /// Time that workers waited for a device because nothing more could be begun in the tree.
    pub waited_for_tree: Duration,
    /// Time that workers waited for a device which had as many batches as are of use.
    pub waited_for_device: Duration,
    /// Time that the device computed, where time is virtual.
    pub virtual_busy: Duration,
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
        let time = |nanos: &AtomicU64| Duration::from_nanos(count(nanos));
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
            waited_for_tree: time(&self.waited_for_tree),
            waited_for_device: time(&self.waited_for_device),
            virtual_busy: time(&self.virtual_busy),
        }
    }
}

impl CounterValues {
    /// Returns in words what a search that took `time` on `threads` threads waited for; `None` if it had no device to wait for.
    pub fn waits(&self, time: Duration, threads: usize) -> Option<String> {
        let time = time.as_secs_f64() * threads as f64;
        let share = |waited: Duration| 100.0 * waited.as_secs_f64() / time.max(1e-9);
        let (device, tree) = (share(self.waited_for_device), share(self.waited_for_tree));
        let host = (100.0 - device - tree).max(0.0);
        (device + tree > 0.0)
            .then(|| format!("waited for: device {device:.1} %, tree {tree:.1} %, host {host:.1} %"))
    }

    /// Returns the number of finished visits.
    pub(crate) fn visits(&self) -> u64 {
        self.evaluations + self.cache_hits + self.terminals
    }

    /// Returns the average depth of the visits: positions on their way, the root included, as Lc0 counts.
    pub(crate) fn mean_depth(&self) -> u32 {
        (self.depth_sum / self.visits().max(1)) as u32
    }
}

/// The visits that a search may make. Workers take theirs before they descend and give back what they could not use, so
/// that the limit is kept exactly on any number of threads.
#[derive(Debug)]
pub(crate) struct VisitBudget {
    total: u64,
    /// Visits that may still be begun. Relaxed: a counter that publishes nothing else.
    left: AtomicU64,
    /// Leaves that are gathered and not backed up yet, of all workers. Relaxed, too.
    leaves_under_way: AtomicU32,
}

impl VisitBudget {
    /// Returns a budget of `total` visits.
    pub(crate) fn new(total: u64) -> VisitBudget {
        VisitBudget { total, left: AtomicU64::new(total), leaves_under_way: AtomicU32::new(0) }
    }

    /// Returns the number of visits that the whole search may make.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Takes up to `wanted` visits and returns how many it got.
    pub(crate) fn reserve(&self, wanted: u32) -> u32 {
        let mut left = self.left.load(Ordering::Relaxed);
        loop {
            let taken = left.min(wanted.into());
            match self.left.compare_exchange_weak(left, left - taken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return taken as u32,
                Err(now) => left = now,
            }
        }
    }

    /// Takes back `visits` visits that were reserved and not made.
    pub(crate) fn give_back(&self, visits: u32) {
        self.left.fetch_add(visits.into(), Ordering::Relaxed);
    }

    /// Returns the leaves that are gathered and not backed up yet.
    pub(crate) fn leaves_under_way(&self) -> u32 {
        self.leaves_under_way.load(Ordering::Relaxed)
    }

    /// Notes that `leaves` leaves have been gathered.
    pub(crate) fn begin_leaves(&self, leaves: u32) {
        self.leaves_under_way.fetch_add(leaves, Ordering::Relaxed);
    }

    /// Notes that `leaves` leaves are about to be backed up, or given up.
    pub(crate) fn end_leaves(&self, leaves: u32) {
        self.leaves_under_way.fetch_sub(leaves, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_gives_no_more_than_it_has() {
        let budget = VisitBudget::new(10);
        assert_eq!((budget.reserve(7), budget.reserve(7)), (7, 3));
        assert_eq!(budget.reserve(1), 0);
        budget.give_back(2);
        assert_eq!((budget.reserve(7), budget.total()), (2, 10));
    }
}
