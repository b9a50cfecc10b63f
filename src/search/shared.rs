//! One search as its threads share it: its workers, its controller, and whoever started it.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;

use super::context::SearchContext;
use super::counters::SearchCounters;
use super::info::MoveStatsWhen;
use super::root_policy::RootPolicy;
use super::root_snapshot::{FoundMate, RootSnapshot};
use super::stats;
use super::stop_controller::StopController;
use super::tree::{Node, NodeState, ProofOutcome, Unvisited};
use super::visit_budget::VisitBudget;
use super::worker_progress::WorkerProgress;
use crate::time::{Chain, SearchStats};

/// At most one visit is under way, on all threads together, per this many visits of the root.
const VISITS_PER_LEAF: u32 = 8;

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
            progress: Arc::default(),
            stop_controller: StopController::new(chain),
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

    /// Returns the number of positions for the next batch: the backend's best size, but fewer in a small tree, where
    /// visits that don't know of each other's results are ill spent (those of other threads count), and fewer when the clock or another limit is near.
    pub(crate) fn batch_size(&self) -> u32 {
        let chosen = self.context.params.minibatch_size;
        let wanted = chosen.map_or_else(|| self.context.backend.batch_size(), NonZero::get);
        let size = wanted.clamp(1, self.context.backend_info.max_batch) as u32;
        size.min(self.visits_that_may_begin()).min(self.stop_controller.batch_cap()).max(1)
    }

    /// Returns the visits that a tree of this size may have under way, less those that are already.
    pub(super) fn visits_that_may_begin(&self) -> u32 {
        let (finished, started) = self.context.root_node().finished_and_started();
        (finished / VISITS_PER_LEAF).saturating_sub(started - finished)
    }

    /// Returns whether the search has made more visits than `NodesPerSecondLimit` allows up to now.
    pub(crate) fn is_ahead_of_its_pace(&self) -> bool {
        let limit = self.context.params.nps_limit;
        limit > 0.0 && self.counters.visits() as f64 > limit * self.context.started.elapsed().as_secs_f64()
    }

    /// Makes room in the tree if it is full. The caller must not be inside ([`super::tree::Tree::enter`]).
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
        self.progress.batch_done(|| self.context.started.elapsed());
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
        stats::of(&RootSnapshot::read_children(self))
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
        if self.stop_controller.check_by_clock(&stats::of(snapshot), self.visits_left()) {
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
