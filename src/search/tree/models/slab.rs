//! The stacks of free runs.

use std::sync::Arc;

use crate::search::sync::atomic::{AtomicU32, Ordering};
use crate::search::sync::thread;
use crate::search::tree::slab::Slab;

/// The size class of the runs, and their length.
const CLASS: usize = 1;
const LEN: u32 = 1;

/// A slab, and for each of its first slots a mark of the thread that owns it; 0 for none.
struct Ledger {
    slab: Slab<AtomicU32>,
    owners: [AtomicU32; 8],
}

impl Ledger {
    /// Takes a free run, if there is one, and marks it.
    fn take(&self, thread: u32) -> Option<u32> {
        let start = self.slab.allocate(CLASS, LEN)?;
        let owner = &self.owners[start as usize];
        // Relaxed: the mark that the last owner took away is seen because the stack orders what its users do.
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

/// One thread takes runs while another takes two and gives back the one that was on top: the ABA problem.
pub(super) fn a_run_has_one_owner_at_a_time() {
    let ledger = Arc::new(Ledger { slab: Slab::new(), owners: Default::default() });
    let runs = [(); 3].map(|()| ledger.slab.allocate(CLASS, LEN).or_else(|| ledger.slab.grow(LEN)).unwrap());
    runs.into_iter().for_each(|run| ledger.slab.release(CLASS, run, LEN));
    let other = {
        let ledger = ledger.clone();
        thread::spawn(move || {
            let (top, next) = (ledger.take(1), ledger.take(1));
            top.into_iter().for_each(|run| ledger.give_back(1, run));
            next
        })
    };
    let taken = [ledger.take(2), ledger.take(2)];
    let kept = other.join().unwrap();
    let rest = std::iter::from_fn(|| ledger.take(3));
    let mut all: Vec<u32> = taken.into_iter().flatten().chain(kept).chain(rest).collect();
    all.sort();
    all.truncate(3);
    assert_eq!(all, [1, 2, 3], "no run is lost");
}
