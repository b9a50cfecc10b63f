//! Threads that search, and [`SteppedSearch`] for owners that provide the thread and the evaluations
//! themselves.
//!
//! A worker that waits for an evaluation holds no lock. Late batches are backed up before it leaves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam::channel::{Sender, unbounded};

use super::device::{DeviceLink, WorkerPoolError};
use super::search::{Outcome, Search, conclude};
use crate::network::{Backend, EvalSlot};
use crate::search::leaf::{Gathered, Gatherer};
use crate::search::report::SearchInfo;
use crate::search::state::{EndReason, SearchState, Stage};
use crate::search::tree::TreeFull;
use crate::system::most_threads;
use crate::system::threads::EndingThreads;

/// Stack of a search thread. A descent recurses once per ply, of which there can be thousands.
pub const STACK_BYTES: usize = 32 << 20;
const IDLE_WAIT: Duration = Duration::from_millis(20);
/// Wait of a search ahead of its limit of nodes per second.
pub(crate) const PACE_WAIT: Duration = Duration::from_millis(1);

pub(crate) struct WorkerPool {
    /// One for each worker, which leaves once it is closed. A search in it keeps no large tree alive. With it
    /// goes the number of its recalls.
    mailboxes: Vec<Sender<(Weak<Search>, u32)>>,
    /// Dropped after the mailboxes.
    threads: EndingThreads,
}

impl WorkerPool {
    /// Starts `threads` workers, fewer where no more fit, and one in virtual time.
    pub(crate) fn new(backend: &dyn Backend, threads: usize) -> Result<WorkerPool, WorkerPoolError> {
        let threads = if backend.facts().has_virtual_time() {
            1
        } else {
            threads.clamp(1, most_threads(STACK_BYTES))
        };
        let mut pool = WorkerPool {
            mailboxes: Vec::new(),
            threads: EndingThreads::default(),
        };
        for (index, mut device) in DeviceLink::of_workers(backend, threads)?.into_iter().enumerate() {
            let (mailbox, searches) = unbounded::<(Weak<Search>, u32)>();
            let thread = std::thread::Builder::new()
                .name(format!("search-{index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    searches
                        .iter()
                        .filter_map(|(search, recalls)| Some((search.upgrade()?, recalls)))
                        .for_each(|(search, recalls)| work(&search, recalls, &mut device));
                });
            match thread {
                Ok(thread) => pool.threads.0.push(thread),
                Err(error) if pool.len() == 0 => return Err(WorkerPoolError::thread(&error)),
                // Fewer threads than asked for are better than none.
                Err(_) => break,
            }
            pool.mailboxes.push(mailbox);
        }
        Ok(pool)
    }

    pub(crate) fn len(&self) -> usize {
        self.threads.0.len()
    }

    pub(crate) fn assign(&self, search: &Arc<Search>) {
        let recalls = search.state.life.recalls();
        self.mailboxes
            .iter()
            .for_each(|mailbox| drop(mailbox.send((Arc::downgrade(search), recalls))));
    }
}

fn work(search: &Search, recalls: u32, device: &mut DeviceLink) {
    if !search.state.life.try_enter(recalls) {
        return;
    }
    // A panic is our bug or a backend's. The process lives on.
    let outcome = catch_unwind(AssertUnwindSafe(|| take_part(search, recalls, device)));
    if outcome.is_err() {
        search.state.context.tree.mark_damaged();
        search
            .state
            .life
            .fail("a search thread panicked and its batch is lost".into());
    }
    search.state.life.leave();
}

fn take_part(search: &Search, recalls: u32, device: &mut DeviceLink) {
    let SearchState {
        context,
        budget,
        life,
        ..
    } = &search.state;
    device.begin();
    let mut gatherer = Gatherer::new(context.history.clone(), device.queues);
    let goes_on = || !life.is_dismissed() && life.recalls() == recalls;
    while goes_on() {
        let epoch = life.epoch();
        let gathered = gather(search, &mut gatherer, device);
        if gathered.fills_batch {
            device.send(gatherer.take_batch(), &context.clock);
        }
        if !settle(search, &mut gatherer, device, gathered.found) && goes_on() {
            life.wait_for_change(epoch, if gathered.is_ahead { PACE_WAIT } else { IDLE_WAIT });
        }
    }
    gatherer.abandon_batch(&context.tree, budget);
    while search.take_in_oldest(device, &mut gatherer) {}
}

struct GatheringOutcome {
    found: Gathered,
    fills_batch: bool,
    is_ahead: bool,
}

fn gather(search: &Search, gatherer: &mut Gatherer, device: &DeviceLink) -> GatheringOutcome {
    let SearchState {
        context,
        counters,
        life,
        ..
    } = &search.state;
    if context.tree.is_full() {
        context.tree.prune(context.root, || life.is_dismissed());
    }
    let limit = context.params.nps_limit;
    let is_ahead =
        limit > 0.0 && counters.lock().visits() as f64 > limit * context.clock.elapsed().as_secs_f64();
    let found = if is_ahead {
        Gathered::Nothing
    } else {
        gatherer.gather(&search.state)
    };
    let fills_batch = device.wants(gatherer.waiting_leaves(), context.batch_size());
    if fills_batch {
        gatherer.prefetch(&search.state);
    }
    GatheringOutcome {
        found,
        fills_batch,
        is_ahead,
    }
}

/// Backs up the oldest batch unless more can be gathered meanwhile, and asks the stoppers. False if only
/// waiting helps.
fn settle(search: &Search, gatherer: &mut Gatherer, device: &mut DeviceLink, found: Gathered) -> bool {
    if found == Gathered::More && !device.is_full() && !device.is_idle() {
        search.check_stoppers();
        return true;
    }
    if search.take_in_oldest(device, gatherer) {
        return true;
    }
    gatherer.release_collisions(&search.state.context.tree);
    search.check_stoppers();
    found != Gathered::Nothing
}

/// Rounds in a full tree without progress after which the search gives up.
const MAX_FRUITLESS: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    Evaluate,
    /// The search is ahead of `NodesPerSecondLimit`.
    Wait,
    Over,
}

pub(crate) struct SteppedSearch {
    pub(crate) search: Arc<Search>,
    gatherer: Gatherer,
    device: DeviceLink,
    found: Gathered,
    /// The search's time at its end, before the batches under way came back.
    pub(crate) over_at: Duration,
}

impl SteppedSearch {
    pub(crate) fn new(search: Arc<Search>) -> SteppedSearch {
        let device = DeviceLink::of_owner(&search.state.context.backend_info);
        let gatherer = Gatherer::new(search.state.context.history.clone(), device.queues);
        SteppedSearch {
            search,
            gatherer,
            device,
            found: Gathered::Nothing,
            over_at: Duration::ZERO,
        }
    }

    pub(crate) fn take_up(&mut self, search: Arc<Search>) {
        // Nobody asks for the last one's answer any more.
        self.search.state.life.answer();
        self.gatherer.history = search.state.context.history.clone();
        self.device.begin();
        self.search = search;
    }

    /// At most `rounds` gatherings, more than [`MAX_FRUITLESS`]. `None` if there is more to gather: a search
    /// whose leaves are all known would block the thread.
    pub(crate) fn advance_within(&mut self, mut rounds: u32) -> Option<NextStep> {
        let SteppedSearch {
            search,
            gatherer,
            device,
            found,
            over_at,
        } = self;
        let SearchState { context, life, .. } = &search.state;
        let mut fruitless = 0;
        while !life.is_dismissed() {
            if rounds == 0 {
                return None;
            }
            rounds -= 1;
            let gathered = gather(search, gatherer, device);
            if gathered.fills_batch {
                *found = gathered.found;
                return Some(NextStep::Evaluate);
            }
            if settle(search, gatherer, device, gathered.found) || life.is_dismissed() {
                fruitless = 0;
            } else if gathered.is_ahead {
                return Some(NextStep::Wait);
            } else if !context.tree.is_full() {
                search.request_stop();
                search.state.life.dismiss();
            } else if fruitless < MAX_FRUITLESS {
                fruitless += 1;
            } else {
                search.state.life.fail(TreeFull.to_string());
            }
        }
        *over_at = context.clock.elapsed();
        self.settle_all();
        Some(NextStep::Over)
    }

    /// Gives up the batch that is being gathered, and backs up those that are under way.
    pub(crate) fn settle_all(&mut self) {
        let SearchState { context, budget, .. } = &self.search.state;
        self.gatherer.abandon_batch(&context.tree, budget);
        while self.search.take_in_oldest(&mut self.device, &mut self.gatherer) {}
    }

    pub(crate) fn waiting(&self) -> usize {
        self.gatherer.batch.slots().len()
    }

    /// First lends the slots of the waiting batch, later takes them back.
    pub(crate) fn swap_slots(&mut self, slots: &mut [EvalSlot]) {
        self.gatherer.batch.slots_mut().swap_with_slice(slots);
    }

    /// The waiting batch has been evaluated.
    pub(crate) fn finish_batch(&mut self) {
        let SteppedSearch {
            search,
            gatherer,
            device,
            found,
            ..
        } = self;
        device.send(gatherer.take_batch(), &search.state.context.clock);
        settle(search, gatherer, device, *found);
    }

    pub(crate) fn report(&self) -> Option<SearchInfo> {
        let snapshot = self.search.snapshot();
        let info = snapshot.info(&snapshot.ranked_moves(), &self.search.state.context.tree.enter())?;
        Some(SearchInfo {
            move_stats: Some(snapshot.root_stats()),
            ..info
        })
    }

    pub(crate) fn result(&self) -> Outcome {
        let reason = match self.search.state.life.stage() {
            Stage::Ending(reason) => reason,
            _ => EndReason::Stopped,
        };
        conclude(&self.search, reason)
    }
}
