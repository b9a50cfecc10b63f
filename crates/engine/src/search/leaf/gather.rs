//! Descents from the root that collect leaves for one batch.
//!
//! One descent carries many visits, which each node splits among its children as single visits would have
//! gone. Visits under way count in the formula, so that descents differ. Leaves with a known value are backed
//! up at once. A [`Quota`] bounds a gathering.
//!
//! Prefetching fills a short batch for a device, with positions to which the next visits would go if all
//! values stayed. Their evaluations go into the cache.

use std::sync::atomic::Ordering;

use super::backup::Batch;
use super::quota::{GatherCounts, Quota, leaves_that_may_begin};
use super::select::{Candidate, CandidateMove, MovesLeftUtility, UnvisitedTerms};
use super::{backup, select};
use crate::chess::{History, MoveList, Terminal};
use crate::network::Value;
use crate::search::state::{SearchContext, SearchParams, SearchState, VisitBudget};
use crate::search::tree::{Node, NodeId, NodeState, Proof, ProofOutcome, Tree, TreeFull, Unvisited, verdict};
use crate::tablebase;

/// Visits sent for each leaf that is still wanted.
const MAX_VISITS_PER_LEAF: u32 = 16;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Gathered {
    /// Another gathering will find more.
    More,
    /// No more until an evaluation comes back.
    Enough,
    /// No visit was begun or ended: all that is left is under evaluation.
    Nothing,
}

pub(crate) struct Gatherer {
    pub(crate) history: History,
    pub(crate) path: Vec<NodeId>,
    /// A stack, of which each level of the descent has a part.
    pub(crate) candidates: Vec<Candidate>,
    policy: Vec<f32>,
    siblings: Vec<Sibling>,
    pub(crate) batch: Batch,
    spare: Vec<Batch>,
    /// Batches that the device computes at once, or 0 if it needs this thread's core.
    queues: usize,
    target: usize,
    pending_gain: f32,
    counts: GatherCounts,
}

/// A child as it was read. It becomes a [`Candidate`] once all children are known.
struct Sibling {
    id: NodeId,
    policy: f32,
    /// `None` before its first visit.
    q: Option<f32>,
    started: u32,
}

impl Gatherer {
    pub(crate) fn new(history: History, queues: usize) -> Gatherer {
        Gatherer {
            history,
            path: Vec::new(),
            candidates: Vec::new(),
            policy: Vec::new(),
            siblings: Vec::new(),
            batch: Batch::default(),
            spare: Vec::new(),
            queues,
            target: 0,
            pending_gain: 0.0,
            counts: GatherCounts::default(),
        }
    }

    pub(crate) fn gather(&mut self, state: &SearchState) -> Gathered {
        let _inside = state.context.tree.enter();
        self.counts = GatherCounts::default();
        let before = self.waiting_leaves();
        let target = (before + self.leaves_to_begin(state)).min(state.context.batch_size());
        self.target = target as usize;
        let gain = state.context.params.pending_visit_gain;
        self.pending_gain = select::pending_gain(gain, target, self.queues > 0);
        let quota = Quota::new(&state.context.params, target, state.context.visits(), self.queues);
        let mut per_leaf = 1;
        while !state.life.is_dismissed() && !state.context.tree.is_full() {
            let found = self.waiting_leaves();
            // Where most visits collide, more are sent at once, so that one collision takes them together.
            let visits = state.budget.reserve(quota.places(found, &self.counts) * per_leaf);
            if visits == 0 {
                break;
            }
            let spare = self.counts.spare;
            let collided = self.counts.collided;
            self.descend(state, state.context.root, visits);
            let unused = self.counts.spare - spare;
            state.budget.give_back(self.counts.collided - collided + unused);
            let new = self.waiting_leaves() - found;
            per_leaf = (visits / new.max(1)).clamp(1, MAX_VISITS_PER_LEAF);
            if unused == visits || quota.is_spent(&self.counts) {
                break;
            }
        }
        self.counts.add_to(&state.counters);
        let new = self.waiting_leaves() - before;
        state.budget.begin_leaves(new);
        state
            .context
            .clock
            .visited(new + self.counts.known + self.counts.collisions);
        if new + self.counts.known + self.counts.reopened == 0 {
            Gathered::Nothing
        } else if self.is_full() || quota.has_enough_known(&self.counts) {
            Gathered::More
        } else {
            Gathered::Enough
        }
    }

    pub(crate) fn waiting_leaves(&self) -> u32 {
        self.batch.leaves as u32
    }

    pub(crate) fn take_batch(&mut self) -> Batch {
        std::mem::replace(&mut self.batch, self.spare.pop().unwrap_or_default())
    }

    pub(crate) fn recycle(&mut self, mut batch: Batch) {
        batch.clear();
        if self.batch.is_empty() {
            std::mem::swap(&mut self.batch, &mut batch);
        }
        if batch.has_buffers() {
            self.spare.push(batch);
        }
    }

    pub(crate) fn release_collisions(&mut self, tree: &Tree) {
        backup::release_collisions(tree, &mut self.batch);
    }

    pub(crate) fn abandon_batch(&mut self, tree: &Tree, budget: &VisitBudget) {
        budget.end_leaves(self.waiting_leaves());
        backup::abandon_batch(tree, &self.batch);
        self.batch.clear();
    }

    /// Fewer near a limit, one if nothing else is under way.
    fn leaves_to_begin(&self, state: &SearchState) -> u32 {
        let under_way = state.budget.leaves_under_way();
        let would_idle = self.queues == 0 || under_way == 0;
        let allowed = leaves_that_may_begin(&state.context, under_way, self.queues);
        allowed
            .min(state.hints.batch_cap.load(Ordering::Relaxed))
            .max(would_idle.into())
    }

    fn descend(&mut self, state: &SearchState, id: NodeId, visits: u32) {
        self.path.push(id);
        let node = state.context.tree.node(id);
        node.start_visits(visits);
        if self.path.len() > 1
            && let Some(proof) = node.proof()
        {
            self.end_in_known(state, visits, proof.value());
        } else {
            match node.state() {
                NodeState::Expanded => self.split(state, node, visits),
                NodeState::TwoFoldDraw(cycle) if usize::from(cycle) >= self.path.len() => {
                    self.revert_two_fold_draw(state);
                    self.collide(visits);
                }
                NodeState::Terminal | NodeState::TwoFoldDraw(_) => {
                    self.end_in_known(state, visits, node.mean());
                }
                NodeState::Unexpanded if self.is_full() => self.cancel(&state.context.tree, visits),
                NodeState::Unexpanded if node.claim() => self.open_leaf(state, node, visits),
                NodeState::Unexpanded | NodeState::Claimed => self.collide(visits),
            }
        }
        self.path.pop();
    }

    fn is_full(&self) -> bool {
        self.batch.leaves >= self.target
    }

    fn revert_two_fold_draw(&mut self, state: &SearchState) {
        let reverted = state.context.tree.revert_two_fold_draw(&self.path);
        state.counters.lock().reverted += reverted;
        self.counts.reopened += 1;
    }

    fn split(&mut self, state: &SearchState, node: &Node, visits: u32) {
        let first = self.candidates.len();
        let unplaced = self.choose(state, node, visits);
        if unplaced > 0 {
            self.cancel(&state.context.tree, unplaced);
        }
        // Prefetches memory that these descents need next.
        for candidate in self.candidates[first..]
            .iter()
            .filter(|candidate| candidate.taken > 0)
        {
            match candidate.target {
                CandidateMove::Child(child) => {
                    state
                        .context
                        .tree
                        .fetch_first_child(state.context.tree.node(child));
                }
                CandidateMove::Unvisited(_) => state.context.tree.fetch_policy(node),
            }
        }
        let mut moves = None;
        for index in first..self.candidates.len() {
            let Candidate { taken, target, .. } = self.candidates[index];
            if taken == 0 {
                continue;
            }
            let child = match target {
                CandidateMove::Child(child) => Ok(Some(child)),
                CandidateMove::Unvisited(edge) => {
                    let moves = moves.get_or_insert_with(|| self.history.legal_moves());
                    state
                        .context
                        .tree
                        .new_child(node, edge, moves[edge.index as usize])
                }
            };
            match child {
                Ok(Some(child)) => {
                    self.history.push(state.context.tree.node(child).edge().mv());
                    self.descend(state, child, taken);
                    self.history.pop();
                }
                // Another worker is appending a child to this node.
                Ok(None) => self.collide(taken),
                Err(TreeFull) => self.cancel(&state.context.tree, taken),
            }
        }
        self.candidates.truncate(first);
    }

    fn choose(&mut self, state: &SearchState, node: &Node, visits: u32) -> u32 {
        let first = self.candidates.len();
        let mut terms = self.push_children(state, node);
        let mut last = None;
        let mut fresh = self.push_unvisited(state, node, &mut last, &terms);
        let mut left = visits;
        while left > 0 {
            let Some((best, rival)) = select::best_two(&self.candidates[first..]) else {
                break;
            };
            let candidate = &mut self.candidates[first + best];
            let is_fresh = fresh == Some(first + best);
            if candidate.started > 0 {
                let run = candidate.visits_until_below(rival, left);
                left -= match select::take_together(&mut self.candidates[first..], left) {
                    0 => self.candidates[first + best].take(run),
                    taken => taken,
                };
                continue;
            }
            terms.begin_first_visit(candidate);
            left -= 1;
            if is_fresh && left > 0 {
                fresh = self.push_unvisited(state, node, &mut last, &terms);
            }
        }
        left
    }

    fn push_children(&mut self, state: &SearchState, node: &Node) -> UnvisitedTerms {
        let plies = self.path.len() - 1;
        let params = &state.context.params;
        let (exploration, urgency) = (params.exploration_at(plies), params.fpu_at(plies));
        let draw_score = state.root.draw_score(plies);
        let mean = node.mean();
        let has_moves_left = state.context.backend_info.has_moves_left;
        let utility = MovesLeftUtility::new(params, has_moves_left, mean);
        let parent_q = select::parent_q(mean, draw_score);
        let pending_q = select::pending_q(parent_q, self.pending_gain);
        let mut children_visits = 0;
        let mut visited_policy = 0.0;
        for (id, child) in state.context.tree.children(node) {
            let edge = child.edge();
            let mut policy = edge.policy();
            let (finished, started) = child.finished_and_started();
            if plies == 0 {
                if !state.root.allows(edge.mv()) {
                    continue;
                }
                policy = state.root.policy_of_child(child);
            }
            children_visits += finished;
            let mut q = None;
            if started > 0 {
                visited_policy += policy;
                q = Some(pending_q);
            }
            if finished > 0 {
                let value = if draw_score == 0.0 {
                    child.wl()
                } else {
                    select::child_q(child.mean(), draw_score)
                };
                q = Some(value + utility.map_or(0.0, |utility| utility.of(value, child.mean().m)));
            }
            self.siblings.push(Sibling {
                id,
                policy,
                q,
                started,
            });
        }
        let exploration = select::exploration(&exploration, children_visits);
        let fpu = select::fpu(urgency, parent_q, visited_policy);
        let terms = UnvisitedTerms {
            urgency,
            parent_q,
            pending_q,
            visited_policy,
            fpu,
            exploration,
        };
        if plies == 0 {
            self.drop_decided_root_moves(state);
        }
        for Sibling {
            id,
            policy,
            q,
            started,
        } in self.siblings.drain(..)
        {
            let q = q.unwrap_or(terms.fpu);
            let target = CandidateMove::Child(id);
            self.candidates
                .push(Candidate::new(q, policy, terms.exploration, started, target));
        }
        terms
    }

    /// Leaves out root moves that can no longer become the most visited. With several lines, also certain
    /// wins while others are left: their lines have been searched enough.
    fn drop_decided_root_moves(&mut self, state: &SearchState) {
        let SearchContext { tree, reporting, .. } = &state.context;
        let least = visits_to_stay_in_the_race(state);
        self.siblings.retain(|child| child.started >= least);
        if reporting.lines == 1 {
            return;
        }
        let is_open = |child: &Sibling| {
            let proof = tree.node(child.id).proof();
            proof.is_none_or(|proof| proof.outcome != ProofOutcome::Win)
        };
        let has_unvisited = best_unvisited_root_move(state, state.context.root_node(), None).is_some();
        if has_unvisited || self.siblings.iter().any(is_open) {
            self.siblings.retain(is_open);
        }
    }

    pub(crate) fn push_candidates(&mut self, state: &SearchState, node: &Node, fresh: u32) {
        let first = self.candidates.len();
        let terms = self.push_children(state, node);
        let mut last = None;
        for _ in 0..fresh {
            if self.push_unvisited(state, node, &mut last, &terms).is_none() {
                break;
            }
        }
        self.candidates[first..].sort_by(|a, b| b.score.total_cmp(&a.score));
    }

    fn push_unvisited(
        &mut self,
        state: &SearchState,
        node: &Node,
        last: &mut Option<Unvisited>,
        terms: &UnvisitedTerms,
    ) -> Option<usize> {
        let is_root = self.path.len() == 1;
        let edge = if is_root {
            best_unvisited_root_move(state, node, *last)?
        } else {
            state.context.tree.best_unvisited(node, *last)?
        };
        *last = Some(edge);
        let policy = if is_root {
            state.root.policy_of_unvisited(edge)
        } else {
            edge.policy()
        };
        let target = CandidateMove::Unvisited(edge);
        self.candidates
            .push(Candidate::new(terms.fpu, policy, terms.exploration, 0, target));
        Some(self.candidates.len() - 1)
    }

    fn open_leaf(&mut self, state: &SearchState, node: &Node, visits: u32) {
        let moves = self.history.legal_moves();
        let is_root = self.path.len() == 1;
        if !is_root {
            if let Some(terminal) = self.history.terminal(&moves) {
                let is_mate = terminal == Terminal::Checkmate;
                let outcome = if is_mate {
                    ProofOutcome::Win
                } else {
                    ProofOutcome::Draw
                };
                return self.end_in_proof(
                    state,
                    node,
                    Proof {
                        outcome,
                        plies: 0.0,
                        is_mate,
                    },
                    visits,
                );
            }
            let mate = self
                .history
                .plies_to_mate_by_checks(&moves, state.context.params.leaf_mate_search);
            if let Some(plies) = mate {
                let proof = Proof {
                    outcome: ProofOutcome::Loss,
                    plies: plies as f32,
                    is_mate: true,
                };
                return self.end_in_proof(state, node, proof, visits);
            }
            if let Some(cycle) = self.two_fold_cycle(&state.context.params, self.path.len() - 1) {
                let value = node.set_two_fold_draw(cycle);
                return self.end_in_known(state, visits, value);
            }
            if let Some(proof) = self.probe(&state.context) {
                state.counters.lock().tablebase_hits += 1;
                return self.end_in_proof(state, node, proof, visits);
            }
        }
        let key = self.history.evaluation_key();
        match state.context.cache.get(key, moves.len(), &mut self.policy) {
            Some(evaluation) => self.open_cached(state, evaluation, visits),
            None => {
                let encoding = state.context.encoding();
                self.batch
                    .push_leaf(&self.path)
                    .fill(&self.history, &moves, encoding);
                // One of the visits waits for the network.
                if visits > 1 {
                    self.collide(visits - 1);
                }
            }
        }
    }

    /// Plies back to an earlier occurrence within the `depth` plies below the root.
    fn two_fold_cycle(&self, params: &SearchParams, depth: usize) -> Option<u8> {
        let cycle = self.history.plies_since_repetition()?;
        (params.two_fold_draws && cycle as usize <= depth).then(|| u8::try_from(cycle).ok())?
    }

    /// The distance to the end is estimated by the moves left at the parent.
    fn probe(&self, context: &SearchContext) -> Option<Proof> {
        let outcome = match context.tablebase.as_ref()?.probe(self.history.current())? {
            tablebase::ProbeResult::Win => ProofOutcome::Loss,
            tablebase::ProbeResult::Draw => ProofOutcome::Draw,
            tablebase::ProbeResult::Loss => ProofOutcome::Win,
        };
        let parent = self.path[self.path.len() - 2];
        let plies = (context.tree.node(parent).mean().m - 1.0).max(0.0);
        Some(Proof {
            outcome,
            plies,
            is_mate: false,
        })
    }

    fn open_cached(&mut self, state: &SearchState, evaluation: Value, visits: u32) {
        if !backup::expand(&state.context.tree, &self.path, &self.policy) {
            return self.cancel(&state.context.tree, visits);
        }
        self.end_in_known(
            state,
            1,
            backup::leaf_value(&state.context, self.path.len(), evaluation),
        );
        self.counts.cache_hits += 1;
        self.cancel(&state.context.tree, visits - 1);
    }

    fn end_in_proof(&mut self, state: &SearchState, leaf: &Node, proof: Proof, visits: u32) {
        leaf.set_terminal(proof);
        self.end_in_known(state, visits, proof.value());
        if state.context.params.sticky_endgames {
            verdict::propagate(&state.context.tree, &self.path);
        }
    }

    fn end_in_known(&mut self, state: &SearchState, visits: u32, value: Value) {
        backup::finish(&state.context.tree, &self.path, visits, value);
        let depth = self.path.len();
        self.counts.depth_sum += depth * visits as usize;
        self.counts.max_depth = self.counts.max_depth.max(depth);
        self.counts.known += visits;
    }

    fn collide(&mut self, visits: u32) {
        self.batch.end_at(&self.path, visits);
        self.counts.collided += visits;
        self.counts.collisions += 1;
    }

    fn cancel(&mut self, tree: &Tree, visits: u32) {
        backup::cancel(tree, &self.path, visits);
        self.counts.spare += visits;
    }
}

/// With fewer a root move can no longer become the most visited. 0 while all can.
fn visits_to_stay_in_the_race(state: &SearchState) -> u32 {
    let SearchState { context, root, .. } = state;
    let Some(lead) = state.decisive_lead() else {
        return 0;
    };
    let children = context.tree.children(context.root_node()).map(|(_, child)| child);
    let rivals = children.filter(|child| root.allows(child.edge().mv()) && !child.is_lost());
    rivals.map(Node::visits).max().unwrap_or(0).saturating_sub(lead)
}

fn best_unvisited_root_move(state: &SearchState, node: &Node, last: Option<Unvisited>) -> Option<Unvisited> {
    if visits_to_stay_in_the_race(state) > 0 {
        return None;
    }
    let root = &state.root;
    // Policies are not negative, so their bits have the same order.
    let rank = |&edge: &Unvisited| (root.policy_of_unvisited(edge).to_bits(), u8::MAX - edge.index);
    let below = last.as_ref().map(rank);
    let allowed = state
        .context
        .tree
        .unvisited(node)
        .filter(|edge| root.allows_index(edge.index));
    allowed
        .filter(|edge| below.is_none_or(|below| rank(edge) < below))
        .max_by_key(rank)
}

impl Gatherer {
    /// Fills the batch up to `MaxPrefetch` positions, by default with what takes a device hardly longer.
    /// Nothing waits for a batch without leaves.
    pub(crate) fn prefetch(&mut self, state: &SearchState) {
        let leaves = self.batch.leaves;
        let backend = &state.context.backend_info;
        let asked = state.context.params.max_prefetch.map(|size| size.get() as usize);
        let most = backend.filled_up(leaves).min(state.context.batch_size() as usize);
        let size = asked.unwrap_or(most).min(backend.max_batch);
        if leaves == 0 || leaves >= size || state.context.cache.capacity() == 0 || state.life.is_dismissed() {
            return;
        }
        let _inside = state.context.tree.enter();
        self.prefetch_below(state, state.context.root, (size - leaves) as u32);
    }

    /// Finds up to `budget` positions, including those in the cache.
    fn prefetch_below(&mut self, state: &SearchState, id: NodeId, budget: u32) -> u32 {
        let node = state.context.tree.node(id);
        if node.visits() == 0 || node.state() != NodeState::Expanded || node.proof().is_some() {
            return 0;
        }
        self.path.push(id);
        let first = self.candidates.len();
        self.push_candidates(state, node, budget);
        let mut left = budget;
        for index in first..self.candidates.len() {
            if left == 0 || state.life.is_dismissed() {
                break;
            }
            let candidate = self.candidates[index];
            let rival = self
                .candidates
                .get(index + 1)
                .map_or(f32::NEG_INFINITY, |next| next.score);
            let share = candidate.visits_until_below(rival, left);
            left -= self.prefetch_candidate(state, candidate, share).min(left);
        }
        self.candidates.truncate(first);
        self.path.pop();
        budget - left
    }

    fn prefetch_candidate(&mut self, state: &SearchState, candidate: Candidate, budget: u32) -> u32 {
        let mv = match candidate.target {
            CandidateMove::Child(child) => state.context.tree.node(child).edge().mv(),
            CandidateMove::Unvisited(edge) => self.history.legal_moves()[usize::from(edge.index)],
        };
        self.history.push(mv);
        let found = match candidate.target {
            CandidateMove::Child(child) => self.prefetch_below(state, child, budget),
            CandidateMove::Unvisited(_) => {
                self.prefetch_leaf(&state.context);
                1
            }
        };
        self.history.pop();
        found
    }

    fn prefetch_leaf(&mut self, context: &SearchContext) {
        let moves = self.history.legal_moves();
        let key = self.history.evaluation_key();
        let is_known = self.history.terminal(&moves).is_some()
            || self.batch.slots().iter().any(|slot| slot.key == key)
            || context.cache.get(key, moves.len(), &mut self.policy).is_some()
            || self.is_decided(context, &moves);
        if !is_known {
            self.batch
                .push_extra()
                .fill(&self.history, &moves, context.encoding());
        }
    }

    /// By a mate, a repetition or a table, once the search gets there.
    fn is_decided(&self, context: &SearchContext, moves: &MoveList) -> bool {
        let SearchContext {
            params, tablebase, ..
        } = context;
        self.history
            .plies_to_mate_by_checks(moves, params.leaf_mate_search)
            .is_some()
            || self.two_fold_cycle(params, self.path.len()).is_some()
            || tablebase
                .as_ref()
                .is_some_and(|tables| tables.probe(self.history.current()).is_some())
    }
}
