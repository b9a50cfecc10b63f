//! Gathering: descents from the root that collect leaves for one batch.
//!
//! One descent carries many visits. At each node they are split among the children as single visits would have
//! gone, one after the other; visits under way count in the formula, so that different leaves are found. Leaves
//! whose value is known at once (terminals, cache hits) are backed up on the spot.

use std::sync::atomic::Ordering;

use super::backup;
use super::batch::Batch;
use super::job::Job;
use super::select::{self, Candidate};
use super::tree::{Edge, Node, NodeId, State, Value};
use crate::chess::{History, MoveList, Terminal};
use crate::network::{Evaluation, encode, policy_map};

/// Visits that may end in terminals and cache hits before a gathering goes to evaluation, in batch sizes.
const MAX_KNOWN_PER_BATCH: u32 = 4;

/// What became of the visits of one gathering.
#[derive(Debug, Default)]
struct Tally {
    /// Ended in terminals and cache hits.
    known: u32,
    /// Stopped at leaves under evaluation.
    collided: u32,
    /// Stops at leaves under evaluation.
    collisions: u32,
    /// Not needed after all: the leaf took one visit only.
    spare: u32,
}

/// The state of one worker's descents; its buffers are reused.
#[derive(Debug)]
pub(super) struct Gatherer {
    history: History,
    path: Vec<NodeId>,
    /// A stack of candidates: each level of a descent has its stretch.
    candidates: Vec<Candidate>,
    /// Buffer for the edges of one node.
    pub(super) edges: Vec<Edge>,
    /// Buffer for a policy out of the cache.
    policy: Vec<f32>,
    pub(super) batch: Batch,
    tally: Tally,
}

impl Gatherer {
    pub(super) fn new(history: History) -> Gatherer {
        Gatherer {
            history,
            path: Vec::new(),
            candidates: Vec::new(),
            edges: Vec::new(),
            policy: Vec::new(),
            batch: Batch::default(),
            tally: Tally::default(),
        }
    }

    /// Fills the batch. Returns whether any visit was begun or ended: if not, all that is left to do is under
    /// evaluation by others.
    pub(super) fn gather(&mut self, job: &Job) -> bool {
        self.batch.clear();
        self.tally = Tally::default();
        let target = job.batch_size();
        while !job.is_stopped() {
            let found = self.batch.leaves.len() as u32;
            let visits = job.reserve_visits(target - found);
            if visits == 0 {
                break;
            }
            let before = (found, self.tally.known);
            let lost = self.tally.collided + self.tally.spare;
            self.descend(job, job.root, visits);
            job.return_visits(self.tally.collided + self.tally.spare - lost);
            let nothing_new = before == (self.batch.leaves.len() as u32, self.tally.known);
            if nothing_new
                || self.tally.known >= target * MAX_KNOWN_PER_BATCH
                || self.tally.collisions > job.params.max_collision_events
                || self.tally.collided > job.params.max_collision_visits
            {
                break;
            }
        }
        job.counters.collisions.fetch_add(self.tally.collided.into(), Ordering::Relaxed);
        !self.batch.leaves.is_empty() || self.tally.known > 0
    }

    /// Takes `visits` visits into the node that stands for the last position of `history`.
    fn descend(&mut self, job: &Job, id: NodeId, visits: u32) {
        self.path.push(id);
        let node = job.tree.node(id);
        node.start_visits(visits);
        match node.state() {
            State::Expanded => self.split(job, node, visits),
            State::Terminal => {
                self.finish_known(job, visits, node.mean());
                job.counters.terminals.fetch_add(visits.into(), Ordering::Relaxed);
            }
            State::Unexpanded if node.claim() => self.open_leaf(job, node, visits),
            State::Unexpanded | State::Claimed => self.collide(visits),
        }
        self.path.pop();
    }

    /// Splits visits among the children of `node` and takes them there.
    fn split(&mut self, job: &Job, node: &Node, visits: u32) {
        let first = self.candidates.len();
        let unplaced = self.choose(job, node, visits);
        if unplaced > 0 {
            self.cancel(job, unplaced);
        }
        for index in first..self.candidates.len() {
            let Candidate { taken, edge, .. } = self.candidates[index];
            if taken == 0 {
                continue;
            }
            match job.tree.child_or_new(node, edge.into()) {
                Ok(Some(child)) => {
                    self.history.push(job.tree.node(child).edge().mv());
                    self.descend(job, child, taken);
                    self.history.pop();
                }
                // Another worker is making this child at this moment; it will be under evaluation.
                Ok(None) => self.collide(taken),
                Err(full) => {
                    job.fail(full.to_string());
                    self.cancel(job, taken);
                }
            }
        }
        self.candidates.truncate(first);
    }

    /// Puts candidates on the stack and gives `visits` to them. Returns the visits that found no place.
    fn choose(&mut self, job: &Job, node: &Node, visits: u32) -> u32 {
        let first = self.candidates.len();
        let exploration = select::exploration(&job.params, node.visits());
        let is_root = self.path.len() == 1;
        let mut visited_policy = 0.0;
        for (index, (_, child)) in job.tree.children(node).enumerate() {
            let edge = child.edge();
            if is_root && !job.allows(edge.mv()) {
                continue;
            }
            let finished = child.visits();
            if finished > 0 {
                visited_policy += edge.policy();
            }
            self.candidates.push(Candidate {
                q: if finished > 0 { child.q() } else { f32::NAN },
                pu: edge.policy() * exploration,
                started: finished + child.in_flight(),
                taken: 0,
                edge: index as u8,
            });
        }
        let fpu = select::fpu(&job.params, -node.q(), visited_policy);
        for candidate in &mut self.candidates[first..] {
            if candidate.q.is_nan() {
                candidate.q = fpu;
            }
        }
        let mut next_edge = node.child_count();
        let mut fresh = self.push_fresh(job, node, &mut next_edge, (fpu, exploration));
        let mut left = visits;
        while left > 0 {
            let Some((best, rival)) = select::best_two(&self.candidates[first..]) else { break };
            let candidate = &mut self.candidates[first + best];
            let is_fresh = fresh == Some(first + best);
            // A new leaf takes one visit; the next unvisited edge then becomes a candidate.
            let run = if is_fresh { 1 } else { candidate.visits_until_below(rival, left) };
            candidate.started += run;
            candidate.taken += run;
            left -= run;
            if is_fresh {
                fresh = self.push_fresh(job, node, &mut next_edge, (fpu, exploration));
            }
        }
        left
    }

    /// Puts the next edge without a child on the stack, passing over root moves that may not be searched.
    /// Returns its place.
    fn push_fresh(
        &mut self,
        job: &Job,
        node: &Node,
        next_edge: &mut usize,
        (fpu, exploration): (f32, f32),
    ) -> Option<usize> {
        while *next_edge < node.edge_count() {
            let index = *next_edge;
            *next_edge += 1;
            let edge = job.tree.unvisited_edge(node, index);
            if self.path.len() == 1 && !job.allows(edge.mv()) {
                // Children exist in the order of their edges, also the ones that are never visited.
                let _ = job.tree.child_or_new(node, index);
                continue;
            }
            let pu = edge.policy() * exploration;
            self.candidates.push(Candidate { q: fpu, pu, started: 0, taken: 0, edge: index as u8 });
            return Some(self.candidates.len() - 1);
        }
        None
    }

    /// The claimed `node` is evaluated: at once if it is terminal or in the cache, else with the batch.
    fn open_leaf(&mut self, job: &Job, node: &Node, visits: u32) {
        let moves = self.history.legal_moves();
        let is_root = self.path.len() == 1;
        if !is_root && let Some(terminal) = self.history.terminal(&moves) {
            let value = match terminal {
                Terminal::Checkmate => Value { v: 1.0, d: 0.0, m: 0.0 },
                _ => Value { v: 0.0, d: 1.0, m: 0.0 },
            };
            node.set_terminal();
            self.finish_known(job, visits, value);
            job.counters.terminals.fetch_add(visits.into(), Ordering::Relaxed);
            return;
        }
        let key = self.history.evaluation_key();
        match job.cache.get(key, moves.len(), &mut self.policy) {
            Some(evaluation) => self.open_cached(job, node, evaluation, (&moves, visits)),
            None => self.queue_leaf(job, key, moves, visits),
        }
    }

    /// The evaluation of `node` was in the cache, its policy is in the buffer: one visit ends here, the others are
    /// not needed.
    fn open_cached(
        &mut self,
        job: &Job,
        node: &Node,
        evaluation: Evaluation,
        (moves, visits): (&MoveList, u32),
    ) {
        let leaf = self.path[self.path.len() - 1];
        match backup::expand(job, leaf, moves, &self.policy, &mut self.edges) {
            Ok(()) => {
                self.finish_known(job, 1, backup::leaf_value(evaluation));
                job.counters.cache_hits.fetch_add(1, Ordering::Relaxed);
                self.cancel(job, visits - 1);
            }
            Err(full) => {
                node.unclaim();
                job.fail(full.to_string());
                self.cancel(job, visits);
            }
        }
    }

    /// The leaf goes into the batch with one visit; the others collide with it.
    fn queue_leaf(&mut self, job: &Job, key: u64, moves: MoveList, visits: u32) {
        let turn = self.history.current().turn();
        let (moves, slot) = self.batch.push_leaf(&self.path, moves);
        slot.key = key;
        let fill = job.params.history_fill;
        let transform = encode::encode(&self.history, job.backend.input_format, fill, &mut slot.planes);
        slot.moves.clear();
        slot.moves.extend(moves.iter().map(|&mv| policy_map::index(mv, turn, transform)));
        if visits > 1 {
            self.collide(visits - 1);
        }
    }

    /// The visits end here with a known value.
    fn finish_known(&mut self, job: &Job, visits: u32, value: Value) {
        backup::finish(job, &self.path, visits, value);
        self.tally.known += visits;
    }

    /// The visits stop at a leaf under evaluation.
    fn collide(&mut self, visits: u32) {
        self.batch.push_collision(&self.path, visits);
        self.tally.collided += visits;
        self.tally.collisions += 1;
    }

    /// Takes visits back that have no use.
    fn cancel(&mut self, job: &Job, visits: u32) {
        backup::cancel(job, &self.path, visits);
        self.tally.spare += visits;
    }
}
