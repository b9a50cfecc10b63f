//! One search as its workers see it: what to search, what bounds it, what happened so far.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::utils::CachePadded;

use super::noise::RootNoise;
use super::stop_controller::StopController;
use super::tree::{Node, NodeId, Tree, Unvisited};
use super::{Reporting, SearchParams};
use crate::chess::{History, Move, MoveList};
use crate::network::{Backend, BackendInfo, cache::EvalCache};
use crate::tablebase::Tablebase;
use crate::time::Chain;

/// What a search counts. Every visit is one of evaluation, cache hit or terminal; collisions are no visits.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) evaluations: AtomicU64,
    pub(crate) cache_hits: AtomicU64,
    pub(crate) terminals: AtomicU64,
    /// Positions found in the endgame tables, leaves and root moves.
    pub(crate) tablebase_hits: AtomicU64,
    pub(crate) collisions: AtomicU64,
    /// Positions evaluated for the cache alone.
    pub(crate) prefetched: AtomicU64,
    pub(crate) batches: AtomicU64,
    /// Visits of earlier searches that were taken back because they ended in repetitions that are none any more.
    pub(crate) reverted: AtomicU32,
    /// Sum of the depths of all visits: positions on their way, the root included.
    pub(crate) depth_sum: AtomicU64,
    /// The deepest visit, counted likewise.
    pub(crate) max_depth: AtomicU32,
}

impl Counters {
    /// Finished visits.
    pub(crate) fn visits(&self) -> u64 {
        [&self.evaluations, &self.cache_hits, &self.terminals].map(|c| c.load(Ordering::Relaxed)).iter().sum()
    }

    /// Counts visits: the sum of their depths, and the largest depth.
    pub(crate) fn count_depths(&self, sum: usize, max: usize) {
        self.depth_sum.fetch_add(sum as u64, Ordering::Relaxed);
        self.max_depth.fetch_max(max as u32, Ordering::Relaxed);
    }
}

/// A batch has at most one position for so many visits of the root.
const VISITS_PER_LEAF: u32 = 8;

#[derive(Debug, Default)]
struct WorkerProgress {
    /// Workers that are in this search.
    workers: usize,
    /// Threads that wait for a change.
    waiting: usize,
    /// Changes whenever a batch has been backed up or a worker leaves.
    epoch: u64,
    /// Time from the start to the end of the first evaluation.
    first_evaluation: Option<Duration>,
    /// Why the backend gave up, if it did.
    failure: Option<String>,
}

/// What a search is of.
#[derive(Debug)]
pub(crate) struct SearchSpec {
    pub(crate) tree: Arc<Tree>,
    pub(crate) root: NodeId,
    pub(crate) history: History,
    /// Root moves that may be searched; empty means all.
    pub(crate) root_moves: Vec<Move>,
    pub(crate) params: SearchParams,
    pub(crate) cache: Arc<EvalCache>,
    /// Endgame tables for leaves; `None` also when the root moves were chosen by distance and every leaf would be
    /// the same win.
    pub(crate) tablebase: Option<Arc<Tablebase>>,
    /// Positions found in the tables before the search.
    pub(crate) tablebase_hits: u64,
    pub(crate) backend: BackendInfo,
    /// Asked for the batch size; the workers have its evaluators.
    pub(crate) device: Arc<dyn Backend>,
    pub(crate) reporting: Reporting,
    /// When the `go` line was read.
    pub(crate) started: Instant,
    /// New visits that the search may make.
    pub(crate) visits: u64,
}

/// A search. Shared by its workers and its controller; lives until the last of them lets go.
#[derive(Debug)]
pub(crate) struct Search {
    spec: SearchSpec,
    pub(crate) counters: CachePadded<Counters>,
    pub(crate) stop_controller: StopController,
    /// Visits that the root had when the search began.
    pub(crate) reused_visits: u32,
    /// The root's legal moves, in the order of the rules.
    moves: MoveList,
    /// For each of them: may it be searched?
    allowed: Vec<bool>,
    noise: Option<RootNoise>,
    /// Draws the move to play.
    pub(crate) rng: fastrand::Rng,
    /// What a draw is worth to the side that moves at the root.
    root_draw_score: f32,
    /// Visits that may still be begun.
    budget: CachePadded<AtomicU64>,
    stop: AtomicBool,
    progress: Mutex<WorkerProgress>,
    changed: Condvar,
}

impl Deref for Search {
    type Target = SearchSpec;

    fn deref(&self) -> &SearchSpec {
        &self.spec
    }
}

impl Search {
    /// A search that ends by the rules of `chain`.
    pub(crate) fn new(spec: SearchSpec, chain: Chain) -> Search {
        let is_allowed = |mv| spec.root_moves.is_empty() || spec.root_moves.contains(mv);
        let moves = spec.history.legal_moves();
        let allowed = moves.iter().map(is_allowed).collect();
        let mut rng = match spec.params.seed {
            0 => fastrand::Rng::new(),
            seed => fastrand::Rng::with_seed(seed ^ spec.history.evaluation_key()),
        };
        let noise = RootNoise::draw(spec.params.noise, moves.len(), &mut rng);
        let counters = Counters { tablebase_hits: spec.tablebase_hits.into(), ..Counters::default() };
        Search {
            counters: CachePadded::new(counters),
            stop_controller: StopController::new(chain),
            reused_visits: spec.tree.node(spec.root).visits(),
            moves,
            allowed,
            noise,
            rng,
            root_draw_score: spec.params.draw_score_for(spec.history.current().turn()),
            budget: CachePadded::new(AtomicU64::new(spec.visits)),
            stop: AtomicBool::new(false),
            progress: Mutex::default(),
            changed: Condvar::new(),
            spec,
        }
    }

    /// May this root move be searched?
    pub(crate) fn allows(&self, mv: Move) -> bool {
        self.root_moves.is_empty() || self.root_moves.contains(&mv)
    }

    /// May the root move at this place of the list of legal moves be searched?
    pub(crate) fn allows_index(&self, index: u8) -> bool {
        self.allowed.get(index as usize).is_some_and(|&allowed| allowed)
    }

    /// The root's legal moves, in the order of the rules.
    pub(crate) fn moves(&self) -> &MoveList {
        &self.moves
    }

    /// Visits below which a root move cannot become the most visited any more, and gets no more; 0 while all can. Moves
    /// that certainly lose are not in the race.
    pub(crate) fn visits_to_stay_in_the_race(&self) -> u32 {
        let lead = self.stop_controller.decisive_lead();
        if lead == u32::MAX {
            return 0;
        }
        let children = self.tree.children(self.tree.node(self.root)).map(|(_, child)| child);
        let rivals = children.filter(|child| self.allows(child.edge().mv()) && !child.is_lost());
        rivals.map(Node::visits).max().unwrap_or(0).saturating_sub(lead)
    }

    /// The policy of a root move with this search's noise.
    pub(crate) fn root_policy(&self, mv: Move, policy: f32) -> f32 {
        let Some(noise) = &self.noise else { return policy };
        self.moves.iter().position(|&other| other == mv).map_or(policy, |index| noise.mix(index, policy))
    }

    /// The same for a move without a child.
    pub(crate) fn unvisited_root_policy(&self, edge: Unvisited) -> f32 {
        let policy = edge.policy();
        self.noise.as_ref().map_or(policy, |noise| noise.mix(edge.index.into(), policy))
    }

    /// The unvisited root move with the largest policy that may be searched, among those that come after `last`.
    pub(crate) fn best_unvisited_root_move(&self, root: &Node, last: Option<Unvisited>) -> Option<Unvisited> {
        if self.visits_to_stay_in_the_race() > 0 {
            return None;
        }
        // Policies are not negative: their bits are in the same order.
        let rank = |&edge: &Unvisited| (self.unvisited_root_policy(edge).to_bits(), u8::MAX - edge.index);
        let below = last.as_ref().map(rank);
        let allowed = self.tree.unvisited(root).filter(|edge| self.allows_index(edge.index));
        allowed.filter(|edge| below.is_none_or(|below| rank(edge) < below)).max_by_key(rank)
    }

    fn progress(&self) -> MutexGuard<'_, WorkerProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a draw is worth to the side that moves `plies` below the root.
    pub(crate) fn draw_score(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) { self.root_draw_score } else { -self.root_draw_score }
    }

    /// Visits of the root so far.
    pub(crate) fn root_visits(&self) -> u32 {
        self.tree.node(self.root).visits()
    }

    /// Visits that earlier searches left, and those made by this one.
    pub(crate) fn nodes(&self) -> u32 {
        self.root_visits() + self.counters.reverted.load(Ordering::Relaxed)
    }

    /// Visits made by this search.
    pub(crate) fn new_nodes(&self) -> u64 {
        self.nodes().saturating_sub(self.reused_visits).into()
    }

    /// Positions for the next batch: what the backend likes, but fewer in a small tree, where visits that don't know
    /// of each other's results are ill spent, and fewer when the clock or another limit is near.
    pub(crate) fn batch_size(&self) -> u32 {
        let wanted = match self.params.minibatch_size {
            0 => self.device.batch_size(),
            size => size as usize,
        };
        let size = wanted.clamp(1, self.backend.max_batch) as u32;
        size.min(self.root_visits() / VISITS_PER_LEAF).min(self.stop_controller.batch_cap()).max(1)
    }

    /// Has the search made more visits than `NodesPerSecondLimit` allows up to now?
    pub(crate) fn is_ahead_of_its_pace(&self) -> bool {
        let limit = self.params.nps_limit;
        limit > 0.0 && self.counters.visits() as f64 > limit * self.started.elapsed().as_secs_f64()
    }

    /// Has it made all the visits that it may make?
    pub(crate) fn is_out_of_visits(&self) -> bool {
        self.counters.visits() >= self.visits
    }

    /// Takes up to `wanted` visits from the budget.
    pub(crate) fn reserve_visits(&self, wanted: u32) -> u32 {
        let mut left = self.budget.load(Ordering::Relaxed);
        loop {
            let taken = left.min(wanted.into());
            match self.budget.compare_exchange_weak(left, left - taken, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return taken as u32,
                Err(now) => left = now,
            }
        }
    }

    /// Gives back visits that were reserved and not made.
    pub(crate) fn return_visits(&self, visits: u32) {
        self.budget.fetch_add(visits.into(), Ordering::Relaxed);
    }

    /// Counts a change as the next epoch, and wakes those who wait for one: nobody, as a rule, and then the system is not
    /// asked.
    fn change(&self, change: impl FnOnce(&mut WorkerProgress)) {
        let mut progress = self.progress();
        change(&mut progress);
        progress.epoch += 1;
        let is_awaited = progress.waiting > 0;
        drop(progress);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    /// Waits until `is_awaited` is no longer true of the progress, or `timeout` has passed.
    fn wait_while(
        &self,
        timeout: Duration,
        mut is_awaited: impl FnMut(&WorkerProgress) -> bool,
    ) -> MutexGuard<'_, WorkerProgress> {
        let mut progress = self.progress();
        progress.waiting += 1;
        let (mut progress, _) = self
            .changed
            .wait_timeout_while(progress, timeout, |progress| is_awaited(progress))
            .unwrap_or_else(PoisonError::into_inner);
        progress.waiting -= 1;
        progress
    }

    /// Asks all workers to leave. They finish the batch they are in.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.touch();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells all who wait that something has changed.
    pub(crate) fn touch(&self) {
        self.change(|_| ());
    }

    /// A batch of `leaves` came back from the backend and was backed up: the stop controller looks at where the search stands.
    pub(crate) fn batch_done(&self, leaves: u64) {
        self.counters.evaluations.fetch_add(leaves, Ordering::Relaxed);
        self.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.change(|progress| {
            progress.first_evaluation.get_or_insert_with(|| self.started.elapsed());
        });
        self.stop_controller.check(self);
    }

    /// The backend failed: the search ends, with the reason kept.
    pub(crate) fn fail(&self, reason: String) {
        self.progress().failure.get_or_insert(reason);
        self.stop_controller.fail(self);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.progress().failure.clone()
    }

    /// Time from the start until the first evaluation was back, if it is.
    pub(crate) fn first_evaluation(&self) -> Option<Duration> {
        self.progress().first_evaluation
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.progress().epoch
    }

    /// Waits until the epoch is no longer `seen` or `timeout` has passed; returns the epoch.
    pub(crate) fn wait_for_change(&self, seen: u64, timeout: Duration) -> u64 {
        self.wait_while(timeout, |progress| progress.epoch == seen).epoch
    }

    /// A worker joins. It must call [`Search::leave`].
    pub(crate) fn enter(&self) {
        self.progress().workers += 1;
    }

    /// A worker leaves; it holds no visits under way any more.
    pub(crate) fn leave(&self) {
        self.change(|progress| progress.workers -= 1);
    }

    /// True when no worker is in this search.
    pub(crate) fn is_idle(&self) -> bool {
        self.progress().workers == 0
    }

    /// Waits until no worker is in this search, or `timeout` has passed. It must have been stopped.
    pub(crate) fn wait_idle(&self, timeout: Duration) {
        drop(self.wait_while(timeout, |progress| progress.workers > 0));
    }
}
