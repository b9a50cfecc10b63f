//! What a search is given, and what its threads count. It decides nothing.

mod contempt;
mod context;
mod counters;
mod params;
mod progress;
mod root;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crossbeam::utils::CachePadded;

pub(super) use contempt::ExpectedResult;
pub use contempt::{ContemptError, ContemptMode, ContemptOptions, Rescale};
pub use context::{MoveStatsWhen, Reporting};
pub(crate) use context::{SearchClock, SearchContext};
pub use counters::CounterValues;
pub(super) use counters::{SearchCounters, VisitBudget};
pub use params::{
    CollisionScaling, Exploration, FirstPlayUrgency, FpuStrategy, NoiseParams, RootFpuStrategy, SearchParams,
    TemperatureParams,
};
pub(crate) use progress::WorkerProgress;
pub(super) use root::{FoundMate, SearchRoot};

/// What the threads of a search share, and whoever started it.
#[derive(Debug)]
pub(crate) struct SearchState {
    /// The tree, the game and the parameters.
    pub(crate) context: SearchContext,
    /// The root's moves and their policy.
    pub(crate) root: SearchRoot,
    /// The visits that may still be begun.
    pub(crate) budget: CachePadded<VisitBudget>,
    /// The counters, which all workers write.
    pub(crate) counters: CachePadded<SearchCounters>,
    /// The latest hints of the stoppers.
    pub(crate) hints: SearchHints,
    /// The progress of its workers.
    pub(crate) progress: Arc<CachePadded<WorkerProgress>>,
}

/// What the stoppers last said to the workers. Relaxed: each is a number of its own, and nothing else is published through it.
#[derive(Debug)]
pub(crate) struct SearchHints {
    /// The largest batch that should be back in time, positions.
    pub(super) batch_cap: AtomicU32,
    /// The lead in visits that no root move can make up any more; [`u32::MAX`] while there is no such lead.
    pub(super) decisive_lead: AtomicU32,
}

impl SearchState {
    /// Returns the state of a search of `visits` new visits that nobody takes part in yet.
    pub(super) fn new(context: SearchContext, visits: u64) -> SearchState {
        SearchState {
            root: SearchRoot::new(&context),
            budget: CachePadded::new(VisitBudget::new(visits)),
            counters: CachePadded::new(SearchCounters::new(context.tablebase_hits)),
            hints: SearchHints::default(),
            progress: Arc::default(),
            context,
        }
    }

    /// Lets a search that nobody takes part in yet make at most `visits` new visits.
    pub(crate) fn limit_visits(&mut self, visits: u64) {
        *self.budget = VisitBudget::new(visits.min(self.budget.total()));
    }

    /// Returns the visits that the search can still finish.
    pub(super) fn visits_left(&self) -> u64 {
        self.budget.total().saturating_sub(self.counters.visits())
    }
}

impl Default for SearchHints {
    /// Returns the hints of stoppers that limit nothing.
    fn default() -> SearchHints {
        SearchHints { batch_cap: AtomicU32::new(u32::MAX), decisive_lead: AtomicU32::new(u32::MAX) }
    }
}
