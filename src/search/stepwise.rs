//! A search without threads of its own: whoever owns it lets it gather, has its batch evaluated, and hands that back.
//!
//! One thread can so take many searches along and evaluate their batches together. What a search finds does not depend
//! on what else is in a batch. Used by `engine` for games that are played many at once.

use std::sync::Arc;

use super::backup;
use super::controller::{self, SearchResult};
use super::gather::Gatherer;
use super::job::Job;
use super::referee::EndReason;
use crate::network::EvalSlot;

/// What a search needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its batch waits for evaluation.
    Evaluate,
    /// Nothing: it is over.
    Over,
}

/// See the module. Its buffers serve one search after the other.
#[derive(Debug)]
pub(crate) struct Stepwise {
    job: Arc<Job>,
    gatherer: Gatherer,
}

impl Stepwise {
    /// Takes up `job`, in which nobody else takes part.
    pub(crate) fn new(job: Arc<Job>) -> Stepwise {
        let gatherer = Gatherer::new(job.history.clone());
        Stepwise { job, gatherer }
    }

    /// Goes on with another search in the same buffers.
    pub(crate) fn take_up(&mut self, job: Arc<Job>) {
        self.gatherer.start_from(job.history.clone());
        self.job = job;
    }

    pub(crate) fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Gathers until a batch waits for evaluation or the search is over.
    pub(crate) fn advance(&mut self) -> Step {
        while !self.job.is_stopped() {
            let progress = self.gatherer.gather(&self.job);
            if !self.gatherer.batch.leaves.is_empty() {
                return Step::Evaluate;
            }
            backup::release_collisions(&self.job, &self.gatherer.batch);
            self.job.referee.judge(&self.job);
            if !progress && !self.job.is_stopped() {
                // Nothing is left to search, and nobody else will bring anything.
                self.job.referee.tell_to_stop(&self.job);
            }
        }
        Step::Over
    }

    /// Leaves in the waiting batch.
    pub(crate) fn leaves(&self) -> usize {
        self.gatherer.batch.leaves.len()
    }

    /// Exchanges the slots of the waiting batch, [`Stepwise::leaves`] of them, for `slots`: once to lend them for an
    /// evaluation, and once more to take them back.
    pub(crate) fn swap_slots(&mut self, slots: &mut [EvalSlot]) {
        self.gatherer.batch.slots_mut().swap_with_slice(slots);
    }

    /// The slots of the waiting batch are evaluated: backs it up.
    pub(crate) fn finish_batch(&mut self) {
        backup::finish_batch(&self.job, &mut self.gatherer.batch);
        self.job.batch_done(self.leaves() as u64);
    }

    /// How the search ended; it must be over.
    pub(crate) fn result(&self) -> SearchResult {
        let reason = self.job.referee.end_reason().unwrap_or(EndReason::Told);
        controller::conclude(&self.job, reason)
    }
}
