//! The blocks in which slots live: they never move, and each is twice as long as the one before.
//!
//! A block comes from the system zeroed and untouched: its pages become resident when a slot in them is first written, large
//! pages where the system has them, so that a descent through a large tree finds most of its way in the processor's table of
//! pages. Used by [`super::slab`]. All `unsafe` code of the search is here.

use crate::huge_pages::{HUGE_PAGE, prefer_huge_pages};
use crate::search::sync::{BLOCKS, FIRST_BLOCK as FIRST, OnceLock, zeroed_block};

/// The size in bytes from which on a block is put on large pages, by which its resident memory then grows.
const LARGE: usize = 4 << 20;

/// A value that a block can hold.
///
/// # Safety
/// A value whose bytes are all zero must be valid and the same as the default.
pub(super) unsafe trait Zeroed: Default {}

/// Slots addressed by 32-bit index.
pub(super) struct Blocks<T> {
    blocks: [OnceLock<Box<[T]>>; BLOCKS],
}

/// Returns the block of a slot, and its place there.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST);
    let power = shifted.ilog2();
    ((power - FIRST.ilog2()) as usize, (shifted ^ 1 << power) as usize)
}

/// Returns the number of slots from this one to the end of its block.
pub(super) fn room(index: u32) -> u32 {
    let (block, place) = place(index);
    ((u64::from(FIRST) << block) - place as u64) as u32
}

/// Returns whether both slots are in one block.
pub(super) fn share_block(a: u32, b: u32) -> bool {
    place(a).0 == place(b).0
}

/// The number of indices that exist.
pub(super) const END: u32 = (((1u64 << BLOCKS) - 1) * FIRST as u64 - 1) as u32;

impl<T: Zeroed> Blocks<T> {
    /// Returns slots without any memory yet.
    pub(super) fn new() -> Blocks<T> {
        Blocks { blocks: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Returns one slot; `index` is below [`END`].
    #[inline]
    pub(super) fn slot(&self, index: u32) -> &T {
        let (block, place) = place(index);
        &self.block(block)[place]
    }

    /// Returns the slots `start..start + len`, which lie in one block.
    #[inline]
    pub(super) fn run(&self, start: u32, len: usize) -> &[T] {
        let (block, place) = place(start);
        &self.block(block)[place..place + len]
    }

    #[inline]
    fn block(&self, block: usize) -> &[T] {
        self.blocks[block].get_or_init(|| take_block((FIRST as usize) << block))
    }

    /// Asks the processor to fetch the cache lines of a slot, whose block exists. Nothing waits for it.
    #[inline]
    pub(super) fn fetch(&self, index: u32) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let slot = std::slice::from_ref(self.slot(index)).as_ptr_range();
            // SAFETY: hints; they read and write nothing.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(slot.start.cast());
                _mm_prefetch::<_MM_HINT_T0>(slot.end.cast::<i8>().wrapping_sub(1));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }

    /// Returns an upper bound of the memory that is resident once `slots` slots are in use, bytes.
    pub(super) fn resident_bytes(slots: u64) -> u64 {
        (slots * size_of::<T>() as u64).next_multiple_of(HUGE_PAGE as u64)
    }
}

#[cold]
fn take_block<T: Zeroed>(len: usize) -> Box<[T]> {
    let block = zeroed_block(len);
    if size_of_val(&*block) >= LARGE {
        prefer_huge_pages(&block);
    }
    // SAFETY: zeroed (or a default, in models), which is a value by the contract of `Zeroed`.
    unsafe { block.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn places_follow_each_other_in_doubling_blocks() {
        assert_eq!((place(0), place(FIRST - 1), place(FIRST)), ((0, 0), (0, FIRST as usize - 1), (1, 0)));
        assert_eq!((place(3 * FIRST - 1), place(3 * FIRST)), ((1, 2 * FIRST as usize - 1), (2, 0)));
        assert_eq!(place(END), (BLOCKS - 1, (1 << 31) - 1));
        assert_eq!((room(0), room(FIRST - 1), room(FIRST), room(END)), (FIRST, 1, 2 * FIRST, 1));
        assert!(share_block(FIRST, 3 * FIRST - 1) && !share_block(FIRST - 1, FIRST));
    }

    #[test]
    fn slots_are_zero_at_first_and_keep_what_is_written() {
        let blocks = Blocks::<AtomicU32>::new();
        // Into the first block that is put on large pages.
        let indices = (0..40 * FIRST).step_by(4001);
        for index in indices.clone() {
            assert_eq!(blocks.slot(index).swap(index + 1, Ordering::Relaxed), 0);
        }
        for index in indices {
            assert_eq!(blocks.run(index, 1)[0].load(Ordering::Relaxed), index + 1);
        }
        assert_eq!(Blocks::<AtomicU32>::resident_bytes(1), HUGE_PAGE as u64);
    }
}
