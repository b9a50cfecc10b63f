//! A search without threads of its own: its owner lets it gather, has its batch evaluated, and hands that back.
//!
//! So one thread can take many searches along and evaluate their batches together. What a search finds does not depend
//! on what else is in a batch. Used by `engine` for games that are played many at once.

use std::sync::Arc;

use super::backup;
use super::controller::{self, SearchResult};
use super::gather::Gatherer;
use super::shared::Search;
use super::stop_controller::EndReason;
use super::tree::TreeFull;
use crate::network::EvalSlot;

/// The number of times that room is made in a full tree without use before the search gives up.
const MAX_FRUITLESS: u32 = 100;

/// The next thing that a search needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The waiting batch has to be evaluated.
    Evaluate,
    /// The search is over and needs nothing.
    Over,
}

/// A search that its owner drives step by step. Its buffers serve one search after the other.
#[derive(Debug)]
pub(crate) struct SteppedSearch {
    search: Arc<Search>,
    gatherer: Gatherer,
}

impl SteppedSearch {
    /// Returns the driver of `search`, in which nobody else takes part.
    pub(crate) fn new(search: Arc<Search>) -> SteppedSearch {
        let gatherer = Gatherer::new(search.context.history.clone());
        SteppedSearch { search, gatherer }
    }

    /// Goes on with another search in the same buffers.
    pub(crate) fn take_up(&mut self, search: Arc<Search>) {
        self.gatherer.start_from(search.context.history.clone());
        self.search = search;
    }

    /// Returns the present search.
    pub(crate) fn search(&self) -> &Arc<Search> {
        &self.search
    }

    /// Gathers until a batch waits for evaluation or the search is over.
    pub(crate) fn advance(&mut self) -> NextStep {
        let mut fruitless = 0;
        while !self.search.progress.is_stopped() {
            self.search.make_room();
            let progress = self.gatherer.gather(&self.search);
            if !self.gatherer.batch.leaves.is_empty() {
                return NextStep::Evaluate;
            }
            backup::release_collisions(&self.search, &self.gatherer.batch);
            self.search.check_stoppers();
            if progress || self.search.progress.is_stopped() {
                fruitless = 0;
            } else if !self.search.context.tree.is_full() {
                // Nothing is left to search, and nobody else will bring anything.
                self.search.give_up();
            } else if fruitless < MAX_FRUITLESS {
                fruitless += 1;
            } else {
                self.search.fail(TreeFull.to_string());
            }
        }
        NextStep::Over
    }

    /// Returns the number of leaves in the waiting batch.
    pub(crate) fn leaves(&self) -> usize {
        self.gatherer.batch.leaves.len()
    }

    /// Exchanges the slots of the waiting batch, [`SteppedSearch::leaves`] of them, for `slots`: once to lend them for an
    /// evaluation, and once more to take them back.
    pub(crate) fn swap_slots(&mut self, slots: &mut [EvalSlot]) {
        self.gatherer.batch.slots_mut().swap_with_slice(slots);
    }

    /// Backs up the waiting batch, whose slots have been evaluated.
    pub(crate) fn finish_batch(&mut self) {
        let visits = backup::finish_batch(&self.search, &mut self.gatherer.batch);
        self.search.batch_done(visits);
    }

    /// Returns how the search ended; it must be over.
    pub(crate) fn result(&self) -> SearchResult {
        let reason = self.search.stop_controller.end_reason().unwrap_or(EndReason::Stopped);
        controller::conclude(&self.search, reason)
    }
}
