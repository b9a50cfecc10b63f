//! What a search is given, and what its threads count. It decides nothing.
//!
//! Every worker writes the counters, with relaxed ordering: each is a number of its own, and nothing else is
//! published through it.

mod clock;
mod contempt;
mod params;
mod root;

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam::utils::CachePadded;
use parking_lot::{Condvar, Mutex, MutexGuard};

pub(crate) use clock::SearchClock;
pub(super) use contempt::ExpectedResult;
pub use contempt::{ContemptError, ContemptMode, ContemptOptions, Rescale};
pub use params::{
    CollisionScaling, Exploration, FirstPlayUrgency, FpuStrategy, NoiseParams, RootFpuStrategy, SearchParams,
    TemperatureParams,
};
pub(super) use root::{FoundMate, SearchRoot};

use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::network::{BackendInfo, PositionEncoding};
use crate::search::tree::{Node, NodeId, NodeState, Tree};
use crate::tablebase::Tablebase;

/// What the threads of a search share, and whoever started it.
#[derive(Debug)]
pub(crate) struct SearchState {
    pub(crate) context: SearchContext,
    pub(crate) root: SearchRoot,
    pub(crate) budget: CachePadded<VisitBudget>,
    pub(crate) counters: CachePadded<SearchCounters>,
    pub(crate) hints: SearchHints,
    pub(crate) progress: Arc<CachePadded<WorkerProgress>>,
}

/// What the stoppers last said to the workers. Relaxed: each is a number of its own, and nothing else is
/// published through it.
#[derive(Debug)]
pub(crate) struct SearchHints {
    /// The largest batch that should be back in time, positions.
    pub(super) batch_cap: AtomicU32,
    /// The lead in visits that no root move can make up any more. [`u32::MAX`] while there is no such lead.
    pub(super) decisive_lead: AtomicU32,
}

impl SearchState {
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

    pub(super) fn visits_left(&self) -> u64 {
        self.budget.total().saturating_sub(self.counters.visits())
    }
}

impl Default for SearchHints {
    fn default() -> SearchHints {
        SearchHints { batch_cap: AtomicU32::new(u32::MAX), decisive_lead: AtomicU32::new(u32::MAX) }
    }
}

/// What a search works on. Nothing here changes while it runs, but tree and cache are written through their
/// own atomics and locks.
#[derive(Debug)]
pub(crate) struct SearchContext {
    pub(crate) tree: Arc<Tree>,
    /// The node of the position to search.
    pub(crate) root: NodeId,
    pub(crate) history: History,
    /// While pondering, the move that the opponent is expected to play at the root: what is reported follows
    /// it.
    pub(crate) expected_move: Option<Move>,
    /// Root moves that may be searched. Empty means all.
    pub(crate) root_moves: Vec<Move>,
    /// While pondering, the moves that may be played after the expected one. Empty means all. All are
    /// searched.
    pub(crate) reply_moves: Vec<Move>,
    pub(crate) params: SearchParams,
    /// The change of the network's values for accuracy of play and contempt.
    pub(crate) rescale: Rescale,
    pub(crate) cache: Arc<EvalCache>,
    /// Endgame tables for leaves, `None` also where root moves were chosen by distance.
    pub(crate) tablebase: Option<Arc<Tablebase>>,
    /// Positions found in the endgame tables before the search.
    pub(crate) tablebase_hits: u64,
    pub(crate) backend_info: BackendInfo,
    pub(crate) reporting: Reporting,
    /// The time since the `go` line was read.
    pub(crate) clock: SearchClock,
}

impl SearchContext {
    pub(crate) fn root_node(&self) -> &Node {
        self.tree.node(self.root)
    }

    pub(crate) fn root_visits(&self) -> u32 {
        self.root_node().visits()
    }

    /// Returns whether the root is evaluated: from then on there is something to choose a move by.
    pub(crate) fn has_evaluated_root(&self) -> bool {
        self.root_node().state() == NodeState::Expanded
    }

    /// Returns the moves that may be answered with, one of which is played. Empty means all.
    pub(crate) fn answer_moves(&self) -> &[Move] {
        if self.expected_move.is_some() { &self.reply_moves } else { &self.root_moves }
    }

    pub(crate) fn encoding(&self) -> PositionEncoding {
        PositionEncoding { format: self.backend_info.input_format, history_fill: self.params.history_fill }
    }

    /// Returns the number of positions in a full batch: as many as the user wants, or the backend.
    pub(crate) fn batch_size(&self) -> u32 {
        let BackendInfo { preferred_batch, max_batch, .. } = self.backend_info;
        let chosen = self.params.minibatch_size.map(NonZero::get);
        chosen.unwrap_or(preferred_batch).clamp(1, max_batch) as u32
    }

    /// Returns whether figures of every root move are reported on this occasion. They are not while
    /// pondering.
    pub(crate) fn reports_move_stats(&self, occasion: MoveStatsWhen) -> bool {
        let wanted = self.reporting.move_stats;
        let is_wanted = wanted == MoveStatsWhen::Always || wanted == occasion;
        is_wanted && self.expected_move.is_none()
    }
}

/// Decides when a search reports figures of every root move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MoveStatsWhen {
    /// They are not reported.
    #[default]
    Never,
    /// They come with the last report.
    AtEnd,
    /// They come with every report.
    Always,
}

/// The selection of what a search reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// The number of lines, best first.
    pub(crate) lines: usize,
    /// The occasions on which figures of every root move are reported.
    pub(crate) move_stats: MoveStatsWhen,
}

/// The counters of a search. [`CounterValues`] says what each counts.
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
}

/// What a search has counted up to one moment. Every visit is one of evaluation, cache hit or terminal.
/// Collisions are no visits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterValues {
    /// Visits that the network evaluated.
    pub evaluations: u64,
    /// Visits whose evaluation was in the cache.
    pub cache_hits: u64,
    /// Visits that ended where the result is certain, or taken to be, tables included.
    pub terminals: u64,
    /// Positions found in the endgame tables, leaves and root moves.
    pub tablebase_hits: u64,
    /// Descents that ended at a leaf under evaluation. The visits that they carried are given up.
    pub collisions: u64,
    /// Positions evaluated for the cache alone.
    pub prefetched: u64,
    pub batches: u64,
    /// Visits of earlier searches that were taken back because they ended in repetitions that are none any
    /// more.
    pub reverted: u32,
    /// Sum of the depths of all visits: positions on their way, the root included.
    pub depth_sum: u64,
    /// Depth of the deepest visit, counted likewise.
    pub max_depth: u32,
    /// Time that workers waited for a device because nothing more could be begun in the tree.
    pub waited_for_tree: Duration,
    /// Time that workers waited for a device which had as many batches as are of use.
    pub waited_for_device: Duration,
}

impl SearchCounters {
    pub(crate) fn new(tablebase_hits: u64) -> SearchCounters {
        SearchCounters { tablebase_hits: tablebase_hits.into(), ..SearchCounters::default() }
    }

    pub(crate) fn visits(&self) -> u64 {
        [&self.evaluations, &self.cache_hits, &self.terminals].map(|c| c.load(Ordering::Relaxed)).iter().sum()
    }

    /// Counts the depths of visits: their `sum`, and the largest one, `max`.
    pub(crate) fn count_depths(&self, sum: usize, max: usize) {
        self.depth_sum.fetch_add(sum as u64, Ordering::Relaxed);
        self.max_depth.fetch_max(max as u32, Ordering::Relaxed);
    }

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
        }
    }
}

impl CounterValues {
    /// Returns in words what a search that took `time` on `threads` threads waited for, or `None` if it had
    /// no device to wait for.
    pub fn waits(&self, time: Duration, threads: usize) -> Option<String> {
        let time = time.as_secs_f64() * threads as f64;
        let share = |waited: Duration| 100.0 * waited.as_secs_f64() / time.max(1e-9);
        let (device, tree) = (share(self.waited_for_device), share(self.waited_for_tree));
        let host = (100.0 - device - tree).max(0.0);
        (device + tree > 0.0)
            .then(|| format!("waited for: device {device:.1} %, tree {tree:.1} %, host {host:.1} %"))
    }

    pub(crate) fn visits(&self) -> u64 {
        self.evaluations + self.cache_hits + self.terminals
    }

    /// Returns the average depth of the visits: positions on their way, the root included, as Lc0 counts.
    pub(crate) fn mean_depth(&self) -> u32 {
        (self.depth_sum / self.visits().max(1)) as u32
    }
}

/// The visits that a search may make. Workers take theirs before they descend, so that the limit is kept
/// exactly.
#[derive(Debug)]
pub(crate) struct VisitBudget {
    total: u64,
    /// Visits that may still be begun. Relaxed: a counter that publishes nothing else.
    left: AtomicU64,
    /// Leaves that are gathered and not backed up yet, of all workers. Relaxed, too.
    leaves_under_way: AtomicU32,
}

impl VisitBudget {
    pub(crate) fn new(total: u64) -> VisitBudget {
        VisitBudget { total, left: AtomicU64::new(total), leaves_under_way: AtomicU32::new(0) }
    }

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

/// The progress of a search's workers. The stop flag is read before every descent and is an atomic of its
/// own. Everything else changes once per batch and lies under one lock, with a condition variable for those
/// who wait for a change.
#[derive(Debug, Default)]
pub(crate) struct WorkerProgress {
    /// True if the workers are to leave. Relaxed: it publishes nothing, and being seen a little later does no
    /// harm.
    stop: AtomicBool,
    state: Mutex<ProgressState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ProgressState {
    workers: usize,
    waiting: usize,
    /// A number that changes whenever a batch has been backed up or a worker leaves.
    epoch: u64,
    /// Time from the start to the end of the first evaluation.
    first_evaluation: Option<Duration>,
    /// The reason why the backend gave up, if it did.
    failure: Option<String>,
}

impl WorkerProgress {
    /// Makes a change, counts it as the next epoch, and wakes those who wait for one.
    fn change(&self, change: impl FnOnce(&mut ProgressState)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.epoch += 1;
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    /// Waits until `must_wait` is no longer true of the state, or `timeout` has passed.
    fn wait_while(
        &self,
        timeout: Duration,
        must_wait: impl Fn(&ProgressState) -> bool,
    ) -> MutexGuard<'_, ProgressState> {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.changed.wait_while_for(&mut state, |state| must_wait(state), timeout);
        state.waiting -= 1;
        state
    }

    /// Asks all workers to leave. They finish the batch they are in.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.change(|_| ());
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Notes that a batch was backed up.
    pub(crate) fn batch_done(&self) {
        self.change(|_| ());
    }

    /// Notes that the search has made visits, `elapsed` after its start. The first of them had the first
    /// evaluation, by the network or out of the cache.
    pub(crate) fn has_evaluation(&self, elapsed: impl FnOnce() -> Duration) {
        self.state.lock().first_evaluation.get_or_insert_with(elapsed);
    }

    /// Keeps the reason why the search cannot go on. Of several the first one is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.state.lock().failure.get_or_insert(reason);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    pub(crate) fn first_evaluation(&self) -> Option<Duration> {
        self.state.lock().first_evaluation
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    /// Waits until the epoch is no longer `seen` or `timeout` has passed.
    pub(crate) fn wait_for_change(&self, seen: u64, timeout: Duration) {
        drop(self.wait_while(timeout, |state| state.epoch == seen));
    }

    /// Lets a worker in unless the search has been stopped. It must then call [`WorkerProgress::leave`].
    pub(crate) fn try_enter(&self) -> bool {
        let mut state = self.state.lock();
        // The flag is set before `stop` takes the lock: whoever is let in here is counted before that.
        let may_enter = !self.is_stopped();
        state.workers += usize::from(may_enter);
        may_enter
    }

    /// Notes that a worker leaves. It holds no visits under way any more.
    pub(crate) fn leave(&self) {
        self.change(|state| state.workers -= 1);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().workers == 0
    }

    /// Waits until no worker is in this search, or `timeout` has passed. The search must have been stopped.
    pub(crate) fn wait_idle(&self, timeout: Duration) {
        self.wait_idle_unless(timeout, || false);
    }

    /// Waits as [`WorkerProgress::wait_idle`] does, but no longer than until `is_urgent`.
    pub(crate) fn wait_idle_unless(&self, timeout: Duration, is_urgent: impl Fn() -> bool) {
        drop(self.wait_while(timeout, |state| state.workers > 0 && !is_urgent()));
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
