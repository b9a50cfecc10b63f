//! The input of a search, its counters and the stages of its life. It decides nothing.
//!
//! Workers write the counters under their lock.

mod clock;
mod contempt;
mod context;
pub(crate) mod life;
#[cfg(test)]
mod models;
mod params;
mod root;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam::utils::CachePadded;
use parking_lot::Mutex;

pub(crate) use clock::SearchClock;
pub use contempt::{ContemptMode, ContemptOptions, Rescale};
pub(crate) use context::SearchContext;
pub use context::{MoveStatsWhen, Reporting};
pub use life::EndReason;
pub(crate) use life::{Life, Stage};
pub use params::{
    CollisionScaling, Exploration, FirstPlayUrgency, FpuStrategy, NoiseParams, RootFpuStrategy, SearchParams,
    TemperatureParams,
};
pub(super) use root::{FoundMate, SearchRoot};

use crate::time::Millis;

pub(crate) struct SearchState {
    pub(crate) context: SearchContext,
    pub(crate) root: SearchRoot,
    pub(crate) budget: CachePadded<VisitBudget>,
    pub(crate) counters: CachePadded<SearchCounters>,
    pub(crate) hints: SearchHints,
    pub(crate) life: Arc<CachePadded<Life>>,
}

/// The stoppers' latest hints. Relaxed: each is a number that publishes nothing else.
pub(crate) struct SearchHints {
    /// The largest batch that should be back in time, positions.
    pub(super) batch_cap: AtomicU32,
    /// A lead in visits that no other root move can make up. [`u32::MAX`] if there is none.
    pub(super) decisive_lead: AtomicU32,
}

impl SearchState {
    pub(super) fn new(context: SearchContext, visits: u64, waits_for_stop: bool) -> SearchState {
        SearchState {
            root: SearchRoot::new(&context),
            budget: CachePadded::new(VisitBudget::new(visits)),
            counters: CachePadded::new(Mutex::new(CounterValues {
                tablebase_hits: context.tablebase_hits,
                ..CounterValues::default()
            })),
            hints: SearchHints::default(),
            life: Arc::new(CachePadded::new(Life::new(waits_for_stop))),
            context,
        }
    }

    pub(crate) fn limit_visits(&mut self, visits: u64) {
        *self.budget = VisitBudget::new(visits.min(self.budget.total));
    }

    pub(crate) fn decisive_lead(&self) -> Option<u32> {
        let lead = self.hints.decisive_lead.load(Ordering::Relaxed);
        (lead < u32::MAX).then_some(lead)
    }

    pub(super) fn visits_left(&self) -> u64 {
        self.budget.total.saturating_sub(self.counters.lock().visits())
    }
}

impl Default for SearchHints {
    fn default() -> SearchHints {
        SearchHints {
            batch_cap: AtomicU32::new(u32::MAX),
            decisive_lead: AtomicU32::new(u32::MAX),
        }
    }
}

pub(crate) type SearchCounters = Mutex<CounterValues>;

/// Every visit is an evaluation, a cache hit or a terminal. Collisions are no visits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterValues {
    pub evaluations: u64,
    pub cache_hits: u64,
    /// Visits with a certain or assumed result, including tables.
    pub terminals: u64,
    /// Table hits at leaves and root moves.
    pub tablebase_hits: u64,
    /// Descents that ended at a leaf under evaluation. Their visits are given up.
    pub collisions: u64,
    pub prefetched: u64,
    pub batches: u64,
    /// Earlier searches' visits to repetitions that are no draws any more.
    pub reverted: u32,
    pub depth_sum: u64,
    pub max_depth: u32,
    /// Time in which nothing more could begin in the tree.
    pub waited_for_tree: Duration,
    /// Time in which the device had enough batches.
    pub waited_for_device: Duration,
    /// Time from `go` to the end of the first evaluation, from the network or the cache.
    pub first_evaluation: Option<Duration>,
}

impl CounterValues {
    /// `None` without a device.
    pub fn waits(&self, time: Millis, threads: usize) -> Option<String> {
        let time = time.as_secs() * threads as f64;
        let share = |waited: Duration| 100.0 * waited.as_secs_f64() / time.max(1e-9);
        let (device, tree) = (share(self.waited_for_device), share(self.waited_for_tree));
        let host = (100.0 - device - tree).max(0.0);
        (device + tree > 0.0).then(|| format!("device {device:.1} %, tree {tree:.1} %, host {host:.1} %"))
    }

    /// Of this search.
    pub fn visits(&self) -> u64 {
        self.evaluations + self.cache_hits + self.terminals
    }

    pub(crate) fn count_depths(&mut self, sum: usize, max: usize) {
        self.depth_sum += sum as u64;
        self.max_depth = self.max_depth.max(max as u32);
    }

    /// Average positions per visit, including the root, as in Lc0.
    pub(crate) fn mean_depth(&self) -> u32 {
        (self.depth_sum / self.visits().max(1)) as u32
    }
}

/// Visits are reserved before the descent, so the limit is exact.
pub(crate) struct VisitBudget {
    total: u64,
    /// Relaxed: a counter that publishes nothing else.
    left: AtomicU64,
    /// Gathered and not backed up. Relaxed, too.
    leaves_under_way: AtomicU32,
}

impl VisitBudget {
    fn new(total: u64) -> VisitBudget {
        VisitBudget {
            total,
            left: AtomicU64::new(total),
            leaves_under_way: AtomicU32::new(0),
        }
    }

    pub(crate) fn reserve(&self, wanted: u32) -> u32 {
        let rest = |left: u64| Some(left.saturating_sub(wanted.into()));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        left.unwrap_or_default().min(wanted.into()) as u32
    }

    pub(crate) fn give_back(&self, visits: u32) {
        self.left.fetch_add(visits.into(), Ordering::Relaxed);
    }

    pub(crate) fn leaves_under_way(&self) -> u32 {
        self.leaves_under_way.load(Ordering::Relaxed)
    }

    pub(crate) fn begin_leaves(&self, leaves: u32) {
        self.leaves_under_way.fetch_add(leaves, Ordering::Relaxed);
    }

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
        assert_eq!((budget.reserve(7), budget.total), (2, 10));
    }
}
