//! Atomics, locks and memory of the search tree and of a search's life.
//!
//! `tests/models` compiles these files with another module of this name, which takes atomics and locks from
//! loom and makes the blocks small.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
pub(crate) use std::sync::{OnceLock, atomic};
pub(crate) use std::thread;

use std::mem::MaybeUninit;

/// Slots of a slab's first block, a power of two.
pub(crate) const FIRST_BLOCK: u32 = 1 << 16;
/// Regions of a slab, at most 64: free runs of one region are joined at once.
pub(crate) const REGIONS: usize = 64;
/// Blocks that a 32-bit index can address, together 2³² − 2¹⁶ slots.
pub(crate) const BLOCKS: usize = 16;

/// Zeroed memory from the system, not yet touched.
pub(crate) fn zeroed_block<T: Default>(len: usize) -> Box<[MaybeUninit<T>]> {
    Box::new_zeroed_slice(len)
}

/// Spins at first, then yields: the holder of the lock may have been descheduled.
#[cold]
pub(crate) fn wait_for_lock(tries: u32) {
    if tries < 64 {
        std::hint::spin_loop()
    } else {
        thread::yield_now()
    }
}
