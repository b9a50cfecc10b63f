//! Prefetching: positions that the search will probably want soon fill up a short batch; their evaluations go into the
//! cache.
//!
//! The descent goes where the next visits would go if all values stayed as they are. It changes nothing in the tree.
//! Called by `worker` after a gathering.

use std::num::NonZero;

use super::gather::Gatherer;
use super::select::{Candidate, CandidateMove};
use crate::chess::MoveList;
use crate::search::state::{SearchContext, SearchState};
use crate::search::tree::{NodeId, NodeState};

/// A batch for a device is filled up to the size of a full one divided by this.
const BATCH_PER_PREFETCH: u32 = 4;

impl Gatherer {
    /// Fills the batch up to `MaxPrefetch` positions, as far as the backend takes them. Where that leaves it to us, a device
    /// gets a part of a batch: that takes it not much longer than a single position. A batch without leaves is left
    /// alone: nothing waits for it.
    pub(crate) fn prefetch(&mut self, search: &SearchState) {
        let leaves = self.batch.leaves.len();
        let of_device = if self.has_device() { search.context.batch_size() / BATCH_PER_PREFETCH } else { 0 };
        let size = search.context.params.max_prefetch.map_or(of_device, NonZero::get) as usize;
        let size = size.min(search.context.backend_info.max_batch);
        if leaves == 0
            || leaves >= size
            || search.context.cache.capacity() == 0
            || search.progress.is_stopped()
        {
            return;
        }
        let _inside = search.context.tree.enter();
        self.prefetch_below(search, search.context.root, (size - leaves) as u32);
    }

    /// Looks for up to `budget` positions below the node that stands for the last position of `history`. Returns how many
    /// it found, those in the cache included.
    fn prefetch_below(&mut self, search: &SearchState, id: NodeId, budget: u32) -> u32 {
        let node = search.context.tree.node(id);
        if node.visits() == 0 || node.state() != NodeState::Expanded || node.proof().is_some() {
            return 0;
        }
        self.path.push(id);
        let first = self.candidates.len();
        self.push_candidates(search, node, budget);
        let mut left = budget;
        for index in first..self.candidates.len() {
            if left == 0 || search.progress.is_stopped() {
                break;
            }
            let candidate = self.candidates[index];
            let rival = self.candidates.get(index + 1).map_or(f32::NEG_INFINITY, |next| next.score);
            let share = candidate.visits_until_below(rival, left);
            left -= self.prefetch_candidate(search, candidate, share).min(left);
        }
        self.candidates.truncate(first);
        self.path.pop();
        budget - left
    }

    /// Looks for up to `budget` positions below `candidate`. Returns how many it found.
    fn prefetch_candidate(&mut self, search: &SearchState, candidate: Candidate, budget: u32) -> u32 {
        let mv = match candidate.target {
            CandidateMove::Child(child) => search.context.tree.node(child).edge().mv(),
            CandidateMove::Unvisited(edge) => self.history.legal_moves()[usize::from(edge.index)],
        };
        self.history.push(mv);
        let found = match candidate.target {
            CandidateMove::Child(child) => self.prefetch_below(search, child, budget),
            CandidateMove::Unvisited(_) => {
                self.prefetch_leaf(&search.context);
                1
            }
        };
        self.history.pop();
        found
    }

    /// Adds the last position of `history` to the batch, unless it is known or asked for already.
    fn prefetch_leaf(&mut self, context: &SearchContext) {
        let moves = self.history.legal_moves();
        let key = self.history.evaluation_key();
        let is_known = self.history.terminal(&moves).is_some()
            || self.batch.slots().iter().any(|slot| slot.key == key)
            || context.cache.get(key, moves.len(), &mut self.policy).is_some()
            || self.is_decided(context, &moves);
        if !is_known {
            self.batch.push_extra().fill(&self.history, &moves, context.encoding());
        }
    }

    /// Returns whether the last position of `history`, one move after the last node of the path, will be decided by a mate, a
    /// repetition or a table once the search comes there.
    fn is_decided(&self, context: &SearchContext, moves: &MoveList) -> bool {
        let SearchContext { params, tablebase, .. } = context;
        let repeats_within =
            |plies| self.history.plies_since_repetition().is_some_and(|cycle| cycle as usize <= plies);
        self.history.plies_to_mate_by_checks(moves, params.leaf_mate_search).is_some()
            || (params.two_fold_draws && repeats_within(self.path.len()))
            || tablebase.as_ref().is_some_and(|tables| tables.probe(self.history.current()).is_some())
    }
}
