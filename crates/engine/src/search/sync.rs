//! The atomics, locks and memory that the search tree is made of: those of the standard library and of
//! parking_lot.
//!
//! `tests/models` compiles the files of `tree` with a module of the same name in the place of this one, which
//! takes atomics and locks from loom and makes the blocks small. So the models run the tree's own code, and
//! cost nothing here.

pub(crate) use parking_lot::{Mutex, RwLock, RwLockReadGuard};
pub(crate) use std::sync::{OnceLock, atomic};
pub(crate) use std::thread;

use std::mem::MaybeUninit;

/// The number of slots of the first block of a slab, a power of two.
pub(crate) const FIRST_BLOCK: u32 = 1 << 16;
/// The number of regions of a slab, at most 64: free runs of one region are joined at once.
pub(crate) const REGIONS: usize = 64;
/// The number of blocks that a 32-bit index can tell apart. Together they have 2³² − 2¹⁶ slots.
pub(crate) const BLOCKS: usize = 16;

/// Returns memory for `len` values that comes from the system zeroed and untouched.
pub(crate) fn zeroed_block<T: Default>(len: usize) -> Box<[MaybeUninit<T>]> {
    Box::new_zeroed_slice(len)
}

/// Waits a moment for a lock that was not free `tries` times before: its holder may have been taken off the
/// processor.
#[cold]
pub(crate) fn wait_for_lock(tries: u32) {
    if tries < 64 { std::hint::spin_loop() } else { thread::yield_now() }
}
