//! One search as its threads share it: its workers, its controller, and whoever started it.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam::utils::CachePadded;

use crate::network::BackendInfo;
use crate::search::drive::device::{Device, Evaluated};
use crate::search::drive::stop_controller::StopController;
use crate::search::leaf::quota;
use crate::search::report::figures;
use crate::search::report::info::MoveStatsWhen;
use crate::search::report::snapshot::{FoundMate, RootSnapshot};
use crate::search::state::context::SearchContext;
use crate::search::state::counters::SearchCounters;
use crate::search::state::progress::WorkerProgress;
use crate::search::state::root::RootPolicy;
use crate::search::state::visit_budget::VisitBudget;
use crate::search::tree::{Node, NodeState, ProofOutcome, Unvisited};
use crate::time::{Chain, SearchStats};

/// The parts that a search is made from.
#[derive(Debug)]
pub(crate) struct SearchSpec {
    /// The tree, the game and the parameters.
    pub(crate) context: SearchContext,
    /// The rules that end it.
    pub(crate) chain: Chain,
    /// New visits that it may make.
    pub(crate) visits: u64,
    /// Positions found in the endgame tables before the search.
    pub(crate) tablebase_hits: u64,
}

/// A search. It lives until the last of those who share it lets go.
#[derive(Debug)]
pub(crate) struct Search {
    /// The tree, the game and the parameters.
    pub(crate) context: SearchContext,
    /// The root's moves and their policy.
    pub(crate) root_policy: RootPolicy,
    /// The visits that may still be begun.
    pub(crate) budget: CachePadded<VisitBudget>,
    /// The counters, which all workers write.
    pub(crate) counters: CachePadded<SearchCounters>,
    /// Leaves that are gathered and not backed up yet, of all workers. Relaxed: a counter that publishes nothing else.
    leaves_under_way: CachePadded<AtomicU32>,
    /// The progress of its workers.
    pub(crate) progress: Arc<CachePadded<WorkerProgress>>,
    /// Decides when it ends.
    pub(crate) stop_controller: StopController,
    /// The mate by checks at the root.
    pub(crate) mate: Option<FoundMate>,
    /// Visits that the root had when the search began.
    pub(crate) reused_visits: u32,
    /// The worth of a draw to the side to move at the root.
    root_draw_score: f32,
}

impl Search {
    /// Returns a search that nobody takes part in yet.
    pub(crate) fn new(spec: SearchSpec) -> Search {
        let SearchSpec { context, chain, visits, tablebase_hits } = spec;
        Search {
            root_policy: RootPolicy::new(&context),
            mate: FoundMate::by_checks(&context.history, context.params.leaf_mate_search),
            budget: CachePadded::new(VisitBudget::new(visits)),
            counters: CachePadded::new(SearchCounters::new(tablebase_hits)),
            leaves_under_way: CachePadded::default(),
            progress: Arc::default(),
            stop_controller: StopController::new(chain, context.clock.started().is_none()),
            reused_visits: context.root_node().visits(),
            root_draw_score: context.params.draw_score_for(context.history.current().turn()),
            context,
        }
    }

    /// Returns the worth of a draw to the side that moves `plies` below the root.
    #[inline]
    pub(crate) fn draw_score(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) { self.root_draw_score } else { -self.root_draw_score }
    }

    /// Returns the visits of the root so far.
    pub(crate) fn root_visits(&self) -> u32 {
        self.context.root_node().visits()
    }

    /// Returns the visits below which a root move cannot become the most visited any more, and gets no more; 0 while all
    /// can. Moves that certainly lose are not in the race.
    pub(crate) fn visits_to_stay_in_the_race(&self) -> u32 {
        let lead = self.stop_controller.decisive_lead();
        if lead == u32::MAX {
            return 0;
        }
        let tree = &self.context.tree;
        let children = tree.children(self.context.root_node()).map(|(_, child)| child);
        let rivals = children.filter(|child| self.root_policy.allows(child.edge().mv()) && !child.is_lost());
        rivals.map(Node::visits).max().unwrap_or(0).saturating_sub(lead)
    }

    /// Returns whether `child` of the root comes last in the choice of moves to visit: it wins for certain, and the other lines
    /// that are wanted beside it have no score yet, or a poor one.
    pub(crate) fn is_settled(&self, child: &Node) -> bool {
        self.context.reporting.lines > 1
            && child.proof().is_some_and(|proof| proof.outcome == ProofOutcome::Win)
    }

    /// Returns the unvisited root move with the largest policy that may be searched, among those that come after `last`.
    pub(crate) fn best_unvisited_root_move(&self, root: &Node, last: Option<Unvisited>) -> Option<Unvisited> {
        if self.visits_to_stay_in_the_race() > 0 {
            return None;
        }
        // Policies are not negative: their bits are in the same order.
        let rank = |&edge: &Unvisited| (self.root_policy.of_unvisited(edge).to_bits(), u8::MAX - edge.index);
        let below = last.as_ref().map(rank);
        let unvisited = self.context.tree.unvisited(root);
        let allowed = unvisited.filter(|edge| self.root_policy.allows_index(edge.index));
        allowed.filter(|edge| below.is_none_or(|below| rank(edge) < below)).max_by_key(rank)
    }

    /// Returns the number of positions in a full batch: as many as the user wants, or the backend.
    pub(crate) fn batch_size(&self) -> u32 {
        let BackendInfo { preferred_batch, max_batch, .. } = self.context.backend_info;
        let chosen = self.context.params.minibatch_size.map(NonZero::get);
        chosen.unwrap_or(preferred_batch).clamp(1, max_batch) as u32
    }

    /// Returns the leaves that a tree of this size may have under way, less those that are already, for a device that has
    /// `queues` batches at once.
    pub(crate) fn leaves_that_may_begin(&self, queues: usize) -> u32 {
        let allowed = quota::leaves_under_way(self.root_visits(), self.batch_size(), queues);
        allowed.saturating_sub(self.leaves_under_way.load(Ordering::Relaxed))
    }

    /// Returns the same, but fewer when the clock or another limit is near, and one where nothing else would be done.
    pub(crate) fn leaves_to_begin(&self, queues: usize) -> u32 {
        let would_idle = queues == 0 || self.leaves_under_way.load(Ordering::Relaxed) == 0;
        let allowed = self.leaves_that_may_begin(queues).min(self.stop_controller.batch_cap());
        allowed.max(would_idle.into())
    }

    /// Notes that `leaves` leaves have been gathered.
    pub(crate) fn begin_leaves(&self, leaves: u32) {
        self.leaves_under_way.fetch_add(leaves, Ordering::Relaxed);
    }

    /// Notes that `leaves` leaves are about to be backed up, or given up.
    pub(crate) fn end_leaves(&self, leaves: u32) {
        self.leaves_under_way.fetch_sub(leaves, Ordering::Relaxed);
    }

    /// Lets the time of so many visits pass where time is virtual.
    pub(crate) fn spend_host_time(&self, visits: u32) {
        if let Some(pace) = self.context.backend_info.virtual_pace {
            let clock = &self.context.clock;
            clock.pass_until(clock.elapsed() + pace.host_per_visit * visits);
        }
    }

    /// Waits for the oldest batch of `device`, and notes for whom: for the device if it has all that is of use, else for the
    /// tree, in which nothing more can be begun.
    pub(crate) fn receive(&self, device: &mut Device) -> Option<Evaluated> {
        let clock = &self.context.clock;
        if device.queues() == 0 {
            return device.receive(clock);
        }
        let (is_full, began) = (device.is_full(), clock.elapsed());
        let evaluated = device.receive(clock);
        let waited = if is_full { &self.counters.waited_for_device } else { &self.counters.waited_for_tree };
        waited.fetch_add((clock.elapsed() - began).as_nanos() as u64, Ordering::Relaxed);
        evaluated
    }

    /// Notes how long `device` has computed, where time is virtual.
    pub(crate) fn note_busy_time(&self, device: &Device) {
        if let Some(busy) = device.busy_until(self.context.clock.elapsed()) {
            self.counters.virtual_busy.store(busy.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Returns whether the search has made more visits than `NodesPerSecondLimit` allows up to now.
    pub(crate) fn is_ahead_of_its_pace(&self) -> bool {
        let limit = self.context.params.nps_limit;
        limit > 0.0 && self.counters.visits() as f64 > limit * self.context.clock.elapsed().as_secs_f64()
    }

    /// Makes room in the tree if it is full. The caller must not be inside ([`crate::search::tree::Tree::enter`]).
    pub(crate) fn make_room(&self) {
        let tree = &self.context.tree;
        if tree.is_full() {
            tree.prune(self.context.root, || self.progress.is_stopped());
        }
    }

    /// Takes in a batch that came back from the backend and was backed up, which ended `visits` visits.
    pub(crate) fn batch_done(&self, visits: u64) {
        self.counters.evaluations.fetch_add(visits, Ordering::Relaxed);
        self.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.progress.batch_done(|| self.context.clock.elapsed());
        self.check_stoppers();
    }

    /// Returns whether figures of every root move are reported on this occasion, [`MoveStatsWhen::AtEnd`] or
    /// [`MoveStatsWhen::Always`]. They are not while pondering, where the root's moves are the opponent's.
    pub(crate) fn reports_move_stats(&self, occasion: MoveStatsWhen) -> bool {
        let wanted = self.context.reporting.move_stats;
        let is_wanted = wanted == MoveStatsWhen::Always || wanted == occasion;
        is_wanted && self.context.expected_move.is_none()
    }

    /// Reads the figures that stoppers and time managers are asked with.
    pub(crate) fn stats(&self) -> SearchStats {
        figures::of(&RootSnapshot::read_children(self))
    }

    /// Asks the stoppers with fresh figures, and ends the search if one of them says so.
    pub(crate) fn check_stoppers(&self) {
        if self.stop_controller.check(&self.stats(), self.visits_left()) {
            self.dismiss_workers();
        }
    }

    /// Asks the stoppers with the figures of `snapshot` because time has passed, and ends the search if one of them says
    /// so.
    pub(crate) fn check_stoppers_by_clock(&self, snapshot: &RootSnapshot) {
        if self.stop_controller.check_by_clock(&figures::of(snapshot), self.visits_left()) {
            self.dismiss_workers();
        }
    }

    /// Returns the visits that the search can still finish.
    fn visits_left(&self) -> u64 {
        self.budget.total().saturating_sub(self.counters.visits())
    }

    /// Returns whether the root is evaluated: from then on there is something to choose a move by.
    pub(crate) fn has_evaluated_root(&self) -> bool {
        self.context.root_node().state() == NodeState::Expanded
    }

    /// Lets the workers of a search that is over leave. Before the root is evaluated they go on: without that the move
    /// would be a guess. The controller bounds how long.
    fn dismiss_workers(&self) {
        if self.has_evaluated_root() {
            self.progress.stop();
        }
    }

    /// Ends the search as `stop` does: `bestmove` goes out also after `infinite` and `ponder`.
    pub(crate) fn request_stop(&self) {
        self.stop_controller.request_stop();
        self.dismiss_workers();
    }

    /// Ends the search as [`Search::request_stop`] does, whether the root is evaluated or not.
    pub(crate) fn give_up(&self) {
        self.stop_controller.request_stop();
        self.progress.stop();
    }

    /// Ends the search because it cannot go on; the reason is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.progress.fail(reason);
        self.stop_controller.fail();
        self.progress.stop();
    }
}
