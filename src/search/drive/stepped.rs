//! A search without threads of its own: its owner lets it gather, has its batch evaluated, and hands that back.
//!
//! So one thread can take many searches along and evaluate their batches together. What a search finds does not depend
//! on what else is in a batch. Used by `engine` for games that are played many at once.

use std::sync::Arc;
use std::time::Duration;

use super::controller::{self, SearchResult};
use super::device::Device;
use super::search::Search;
use super::stop_controller::EndReason;
use crate::network::EvalSlot;
use crate::search::leaf::{Gathered, Gatherer};
use crate::search::report::{SearchInfo, info, move_stats};
use crate::search::state::SearchState;
use crate::search::tree::TreeFull;

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
    device: Device,
    /// The time of the search when it was over, before what was under way came back.
    over_at: Duration,
}

impl SteppedSearch {
    /// Returns the driver of `search`, in which nobody else takes part.
    pub(crate) fn new(search: Arc<Search>) -> SteppedSearch {
        let mut device = Device::of_owner(&search.state.context.backend_info);
        device.begin();
        let gatherer = Gatherer::new(search.state.context.history.clone(), device.queues());
        SteppedSearch { search, gatherer, device, over_at: Duration::ZERO }
    }

    /// Goes on with another search in the same buffers.
    pub(crate) fn take_up(&mut self, search: Arc<Search>) {
        self.gatherer.start_from(search.state.context.history.clone());
        self.device.begin();
        self.search = search;
    }

    /// Returns the present search.
    pub(crate) fn search(&self) -> &Arc<Search> {
        &self.search
    }

    /// Gathers until a batch waits for evaluation or the search is over.
    pub(crate) fn advance(&mut self) -> NextStep {
        loop {
            if let Some(step) = self.advance_within(u32::MAX) {
                return step;
            }
        }
    }

    /// Does the same in at most `rounds` gatherings, more than [`MAX_FRUITLESS`]. Returns `None` if there is more to gather: a search
    /// whose leaves are all known would else keep the thread from others.
    pub(crate) fn advance_within(&mut self, mut rounds: u32) -> Option<NextStep> {
        let SteppedSearch { search, gatherer, device, over_at } = self;
        let SearchState { context, budget, progress, .. } = &search.state;
        let mut fruitless = 0;
        while !progress.is_stopped() {
            if rounds == 0 {
                return None;
            }
            rounds -= 1;
            search.make_room();
            let gathered = gatherer.gather(&search.state);
            if device.wants(gatherer.waiting_leaves(), context.batch_size()) {
                if gatherer.has_device() {
                    gatherer.prefetch(&search.state);
                }
                return Some(NextStep::Evaluate);
            }
            if gathered == Gathered::More && !device.is_idle() {
                search.check_stoppers();
                continue;
            }
            if search.take_in_oldest(device, gatherer) {
                continue;
            }
            gatherer.release_collisions(&context.tree);
            search.check_stoppers();
            if gathered != Gathered::Nothing || progress.is_stopped() {
                fruitless = 0;
            } else if !context.tree.is_full() {
                // Nothing is left to search, and nobody else will bring anything.
                search.give_up();
            } else if fruitless < MAX_FRUITLESS {
                fruitless += 1;
            } else {
                search.fail(TreeFull.to_string());
            }
        }
        *over_at = context.clock.elapsed();
        gatherer.abandon_batch(&context.tree, budget);
        while search.take_in_oldest(device, gatherer) {}
        Some(NextStep::Over)
    }

    /// Returns the number of positions in the waiting batch.
    pub(crate) fn waiting(&self) -> usize {
        self.gatherer.batch.slots().len()
    }

    /// Exchanges the slots of the waiting batch, [`SteppedSearch::waiting`] of them, for `slots`: once to lend them for an
    /// evaluation, and once more to take them back.
    pub(crate) fn swap_slots(&mut self, slots: &mut [EvalSlot]) {
        self.gatherer.batch.slots_mut().swap_with_slice(slots);
    }

    /// Takes the waiting batch, whose slots have been evaluated: it is backed up, at once where time is real.
    pub(crate) fn finish_batch(&mut self) {
        self.device.send(self.gatherer.take_batch(), &self.search.state.context.clock);
        if self.device.is_full() {
            self.search.take_in_oldest(&mut self.device, &mut self.gatherer);
        }
    }

    /// Returns the present state with the figures of every root move; `None` before the root is evaluated.
    pub(crate) fn report(&self) -> Option<SearchInfo> {
        let (context, snapshot) = (&self.search.state.context, self.search.snapshot());
        let mut info = info::of(context, &snapshot, &snapshot.ranked_moves())?;
        info.move_stats = Some(move_stats::of(context, &snapshot));
        Some(info)
    }

    /// Returns the time that a search took which is over.
    pub(crate) fn elapsed(&self) -> Duration {
        self.over_at
    }

    /// Returns how the search ended; it must be over.
    pub(crate) fn result(&self) -> SearchResult {
        let reason = self.search.stop_controller.end_reason().unwrap_or(EndReason::Stopped);
        controller::conclude(&self.search, reason)
    }
}
