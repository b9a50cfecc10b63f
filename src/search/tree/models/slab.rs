//! The stacks of free runs, and the chunks that threads share.

use std::sync::Arc;

use crate::search::sync::atomic::{AtomicU32, Ordering};
use crate::search::sync::thread;
use crate::search::tree::nodes::POLICY_RUNS;
use crate::search::tree::slab::Slab;

/// The size class of the runs, and their length.
const CLASS: usize = 1;
const LEN: u32 = 1;

/// A slab, and for each of its first slots a mark of the thread that owns it; 0 for none.
struct Ledger {
    slab: Slab<AtomicU32>,
    owners: [AtomicU32; 16],
}

impl Ledger {
    fn new() -> Arc<Ledger> {
        let ledger = Ledger { slab: Slab::new(POLICY_RUNS), owners: Default::default() };
        let first = ledger.slab.grow(LEN);
        assert_eq!(first, Some(1));
        Arc::new(ledger)
    }

    /// Takes a run, if there is one, and marks it.
    fn take(&self, thread: u32) -> Option<u32> {
        let start = self.slab.allocate(CLASS, LEN)?;
        let owner = &self.owners[start as usize];
        // Relaxed: that the last owner took its mark away is seen because the slab orders what owners do.
        assert_eq!(owner.load(Ordering::Relaxed), 0, "a run has two owners");
        owner.store(thread, Ordering::Relaxed);
        Some(start)
    }

    fn give_back(&self, thread: u32, start: u32) {
        let owner = &self.owners[start as usize];
        assert_eq!(owner.load(Ordering::Relaxed), thread, "a run has two owners");
        owner.store(0, Ordering::Relaxed);
        self.slab.release(CLASS, start, LEN);
    }
}

/// Two runs are free; one thread takes one while the other takes both and gives the one that was on top back (the ABA
/// problem).
pub(super) fn a_free_run_that_is_taken_has_one_owner() {
    let ledger = Ledger::new();
    let next = ledger.slab.allocate(CLASS, LEN).unwrap();
    [next, 1].into_iter().for_each(|run| ledger.slab.release(CLASS, run, LEN));
    let other = {
        let ledger = ledger.clone();
        thread::spawn(move || {
            let (top, next) = (ledger.take(1), ledger.take(1));
            top.into_iter().for_each(|run| ledger.give_back(1, run));
            next
        })
    };
    let mut held: Vec<u32> = [ledger.take(2)].into_iter().chain([other.join().unwrap()]).flatten().collect();
    assert_eq!(ledger.slab.used(), held.len() as u64);
    // The stack is whole: what it still holds is nobody's.
    held.extend([ledger.take(3), ledger.take(3)].into_iter().flatten());
    held.sort();
    assert!(held.is_sorted_by(|a, b| a < b), "{held:?}");
}

/// Two threads take more than is left of the chunk that they share, so that both may replace it.
pub(super) fn threads_that_share_a_chunk_cut_it_at_different_places() {
    const LONG: u32 = 7;
    let take =
        |slab: &Slab<AtomicU32>| slab.allocate(LONG as usize, LONG).or_else(|| slab.grow(LONG)).unwrap();
    let ledger = Ledger::new();
    // On real threads the chunks are much longer, and each thread has its own.
    let other = {
        let ledger = ledger.clone();
        thread::spawn(move || take(&ledger.slab))
    };
    let (first, second) = (take(&ledger.slab), other.join().unwrap());
    assert!(first.abs_diff(second) >= LONG, "runs at {first} and {second} overlap");
    assert_eq!(ledger.slab.used(), u64::from(1 + 2 * LONG));
}
