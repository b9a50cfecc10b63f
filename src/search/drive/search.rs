//! One search: its state, and the stoppers that end it.

use std::sync::atomic::Ordering;

use super::device::{Device, Evaluated};
use super::stop_controller::StopController;
use crate::search::leaf::{Gatherer, backup};
use crate::search::report::{self, RootSnapshot};
use crate::search::state::{SearchContext, SearchState};
use crate::time::{Chain, SearchStats};

/// A search. It lives until the last of those who share it lets go.
#[derive(Debug)]
pub(crate) struct Search {
    /// What it is given, and what its workers count.
    pub(crate) state: SearchState,
    /// Decides when it ends.
    pub(crate) stop_controller: StopController,
}

impl Search {
    /// Returns a search of at most `visits` new visits, which `chain` ends, and nobody takes part in yet.
    pub(crate) fn new(context: SearchContext, chain: Chain, visits: u64) -> Search {
        let stop_controller = StopController::new(chain, context.clock.started().is_none());
        Search { state: SearchState::new(context, visits), stop_controller }
    }

    /// Reads the root as it is now.
    pub(crate) fn snapshot(&self) -> RootSnapshot {
        let SearchState { context, root, counters, progress, .. } = &self.state;
        RootSnapshot::read(context, root, counters, progress.first_evaluation())
    }

    /// Reads the figures that stoppers and time managers are asked with.
    pub(crate) fn stats(&self) -> SearchStats {
        let SearchState { context, root, counters, progress, .. } = &self.state;
        report::stats(&RootSnapshot::read_children(context, root, counters, progress.first_evaluation()))
    }

    /// Backs up the oldest batch of `device`, for which it waits, and lets go of the visits of `gatherer` that collided while it was
    /// under way: some of the leaves may be evaluated now. Returns whether there was one.
    pub(super) fn take_in_oldest(&self, device: &mut Device, gatherer: &mut Gatherer) -> bool {
        let Some(Evaluated { mut batch, outcome }) = self.receive(device) else { return false };
        let SearchState { context, budget, counters, .. } = &self.state;
        let leaves = batch.leaves.len() as u32;
        budget.end_leaves(leaves);
        match outcome {
            Ok(()) => {
                backup::finish_batch(context, budget, counters, &mut batch);
                self.batch_done(leaves.into());
            }
            Err(error) => {
                backup::abandon_batch(&context.tree, &batch);
                self.fail(error.to_string());
            }
        }
        gatherer.recycle(batch);
        gatherer.release_collisions(&context.tree);
        true
    }

    /// Waits for the oldest batch of `device`, and notes for whom: for the device if it has all that is of use, else for the
    /// tree, in which nothing more can be begun.
    fn receive(&self, device: &mut Device) -> Option<Evaluated> {
        let SearchState { context, counters, .. } = &self.state;
        let clock = &context.clock;
        if device.queues() == 0 {
            return device.receive(clock);
        }
        let (is_full, began) = (device.is_full(), clock.elapsed());
        let evaluated = device.receive(clock);
        let waited = if is_full { &counters.waited_for_device } else { &counters.waited_for_tree };
        waited.fetch_add((clock.elapsed() - began).as_nanos() as u64, Ordering::Relaxed);
        evaluated
    }

    /// Notes how long `device` has computed, where time is virtual.
    pub(super) fn note_busy_time(&self, device: &Device) {
        let SearchState { context, counters, .. } = &self.state;
        if let Some(busy) = device.busy_until(context.clock.elapsed()) {
            counters.virtual_busy.store(busy.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Makes room in the tree if it is full. The caller must not be inside ([`crate::search::tree::Tree::enter`]).
    pub(super) fn make_room(&self) {
        let SearchContext { tree, root, .. } = &self.state.context;
        if tree.is_full() {
            tree.prune(*root, || self.state.progress.is_stopped());
        }
    }

    /// Takes in that a batch came back from the backend and was backed up, which ended `visits` visits.
    fn batch_done(&self, visits: u64) {
        let SearchState { context, counters, progress, .. } = &self.state;
        counters.evaluations.fetch_add(visits, Ordering::Relaxed);
        counters.batches.fetch_add(1, Ordering::Relaxed);
        progress.batch_done(|| context.clock.elapsed());
        self.check_stoppers();
    }

    /// Asks the stoppers with fresh figures, and ends the search if one of them says so.
    pub(super) fn check_stoppers(&self) {
        if self.stop_controller.check(&self.stats(), self.state.visits_left(), &self.state.hints) {
            self.dismiss_workers();
        }
    }

    /// Asks the stoppers with the figures of `snapshot` because time has passed, and ends the search if one of them says
    /// so.
    pub(super) fn check_stoppers_by_clock(&self, snapshot: &RootSnapshot) {
        let SearchState { hints, .. } = &self.state;
        if self.stop_controller.check_by_clock(&report::stats(snapshot), self.state.visits_left(), hints) {
            self.dismiss_workers();
        }
    }

    /// Lets the workers of a search that is over leave. Before the root is evaluated they go on: without that the move
    /// would be a guess. The controller bounds how long.
    fn dismiss_workers(&self) {
        if self.state.context.has_evaluated_root() {
            self.state.progress.stop();
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
        self.state.progress.stop();
    }

    /// Ends the search because it cannot go on; the reason is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.state.progress.fail(reason);
        self.stop_controller.fail();
        self.state.progress.stop();
    }
}
