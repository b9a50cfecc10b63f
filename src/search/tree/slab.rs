//! Memory of the tree: runs of slots addressed by 32-bit index, from blocks that never move.
//!
//! Used by [`super::Tree`] for nodes and for edges. Slots consist of atomics, so that every thread may hold `&T`
//! while others write; there is no `unsafe` here. What a slot means, and when a run may be handed back, is the
//! tree's business.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crossbeam::utils::CachePadded;

/// Slots per block; a run never crosses the border of a block.
const BLOCK: u32 = 1 << 16;
/// Blocks that a 32-bit index can tell apart.
const BLOCKS: usize = 1 << 16;
/// Size classes of runs.
const CLASSES: usize = 128;

/// A slot in which a free run keeps the index of the next free run.
pub(super) trait Slot: Default {
    /// The cell for that index. Its content is meaningless while the run is in use.
    fn link(&self) -> &AtomicU32;
}

impl Slot for AtomicU32 {
    fn link(&self) -> &AtomicU32 {
        self
    }
}

/// Free slots that were joined: stretches as start and length.
#[derive(Debug, Default)]
struct Joined {
    /// The shortest first. Runs are taken from the last one only, which becomes shorter then.
    stretches: Vec<(u32, u32)>,
    /// What was left of stretches.
    rests: Vec<(u32, u32)>,
}

/// Runs of slots. Index 0 is never handed out: it means "none".
pub(super) struct Slab<T> {
    blocks: Box<[OnceLock<Box<[T]>>]>,
    /// The first slot never used so far. On a cache line of its own: every allocation writes it.
    next: CachePadded<AtomicU32>,
    /// Slots in runs that were given back and wait for their next use.
    idle: AtomicU64,
    /// One stack of free runs per class: index of the top, and above it a counter that changes with every push
    /// and pop, so that a compare-and-swap never mistakes a run that was taken and given back for an untouched one.
    free: [AtomicU64; CLASSES],
    /// Free slots in no class; none but in a slab that has been full.
    joined: Mutex<Joined>,
}

impl<T> fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab").field("idle", &self.idle).field("next", &self.next).finish()
    }
}

impl<T: Slot> Slab<T> {
    /// Memory of the table of blocks.
    pub(super) const TABLE_BYTES: u64 = (BLOCKS * size_of::<OnceLock<Box<[T]>>>()) as u64;

    pub(super) fn new() -> Slab<T> {
        Slab {
            blocks: (0..BLOCKS).map(|_| OnceLock::new()).collect(),
            next: CachePadded::new(AtomicU32::new(1)),
            idle: AtomicU64::new(0),
            free: [const { AtomicU64::new(0) }; CLASSES],
            joined: Mutex::default(),
        }
    }

    /// The slots `start..start + len` of one run.
    pub(super) fn run(&self, start: u32, len: usize) -> &[T] {
        let offset = (start % BLOCK) as usize;
        &self.block(start)[offset..offset + len]
    }

    /// One slot.
    #[inline]
    pub(super) fn slot(&self, index: u32) -> &T {
        &self.block(index)[(index % BLOCK) as usize]
    }

    #[inline]
    fn block(&self, index: u32) -> &[T] {
        self.blocks[(index / BLOCK) as usize].get_or_init(|| (0..BLOCK).map(|_| T::default()).collect())
    }

    /// Takes a run of `len` slots (at most [`BLOCK`]). Its content is whatever was there before.
    /// `class` must be the same number for the same `len`, always. `None` when all 2³² indices are in use.
    pub(super) fn allocate(&self, class: usize, len: u32) -> Option<u32> {
        if let Some(start) = self.pop(class) {
            self.idle.fetch_sub(len.into(), Ordering::Relaxed);
            return Some(start);
        }
        self.extend(len)
    }

    /// The same from slots that were given back only.
    pub(super) fn reuse(&self, class: usize, len: u32) -> Option<u32> {
        let start = self.pop(class).or_else(|| self.carve(len))?;
        self.idle.fetch_sub(len.into(), Ordering::Relaxed);
        Some(start)
    }

    /// Joins all free runs to stretches as long as possible, from which runs of any length can be taken. `class_len` is
    /// the length of a class's runs. Returns the slots in stretches that any run fits into.
    pub(super) fn join_free_runs(&self, class_len: impl Fn(usize) -> u32) -> u64 {
        let mut joined = self.joined();
        let Joined { stretches, rests } = &mut *joined;
        stretches.append(rests);
        for class in 0..CLASSES {
            stretches.extend(std::iter::from_fn(|| self.pop(class)).map(|start| (start, class_len(class))));
        }
        stretches.sort_unstable();
        stretches.dedup_by(|next, stretch| {
            let continues = stretch.0 + stretch.1 == next.0 && stretch.0 / BLOCK == next.0 / BLOCK;
            if continues {
                stretch.1 += next.1;
            }
            continues
        });
        stretches.shrink_to_fit();
        stretches.sort_unstable_by_key(|&(_, len)| len);
        let long = stretches.iter().rev().take_while(|&&(_, len)| len >= CLASSES as u32);
        long.map(|&(_, len)| u64::from(len)).sum()
    }

    /// A run from the longest stretch. A rest that is too short for it is put aside if the next one is not.
    fn carve(&self, len: u32) -> Option<u32> {
        let mut joined = self.joined();
        let Joined { stretches, rests } = &mut *joined;
        let fits = |stretch: &&mut (u32, u32)| stretch.1 >= len;
        if stretches.last_mut().filter(fits).is_none() {
            let next = stretches.len().checked_sub(2)?;
            if stretches[next].1 < len {
                return None;
            }
            rests.extend(stretches.pop());
        }
        let (start, free) = stretches.last_mut()?;
        let run = *start;
        (*start, *free) = (run + len, *free - len);
        if *free == 0 {
            stretches.pop();
        }
        Some(run)
    }

    fn joined(&self) -> MutexGuard<'_, Joined> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Slots of all blocks that are begun, once `len` slots more are taken.
    pub(super) fn extent(&self, len: u32) -> u64 {
        let next = u64::from(self.next.load(Ordering::Relaxed)) + u64::from(len);
        next.next_multiple_of(u64::from(BLOCK))
    }

    /// Gives a run back. Nobody may use its index any more.
    pub(super) fn release(&self, class: usize, start: u32, len: u32) {
        // Counted first, so that nobody takes the run off the count before it is on it.
        self.idle.fetch_add(len.into(), Ordering::Relaxed);
        let top = &self.free[class];
        let mut old = top.load(Ordering::Relaxed);
        loop {
            self.slot(start).link().store(old as u32, Ordering::Relaxed);
            // Release: the link is visible to whoever pops the run.
            match top.compare_exchange_weak(old, retagged(old, start), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
    }

    /// Slots in use, and those left over at the ends of blocks.
    pub(super) fn used(&self) -> u64 {
        let idle = self.idle.load(Ordering::Relaxed);
        u64::from(self.next.load(Ordering::Relaxed) - 1).saturating_sub(idle)
    }

    fn pop(&self, class: usize) -> Option<u32> {
        let top = &self.free[class];
        let mut old = top.load(Ordering::Acquire);
        loop {
            let start = old as u32;
            if start == 0 {
                return None;
            }
            // If another thread takes this run first, the link read here is garbage, but then the counter in
            // `top` has changed and the exchange fails.
            let next = self.slot(start).link().load(Ordering::Relaxed);
            match top.compare_exchange_weak(old, retagged(old, next), Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(start),
                Err(now) => old = now,
            }
        }
    }

    fn extend(&self, len: u32) -> Option<u32> {
        let mut next = self.next.load(Ordering::Relaxed);
        loop {
            let room = BLOCK - next % BLOCK;
            let start = if room >= len { next } else { next.checked_add(room)? };
            let end = start.checked_add(len)?;
            match self.next.compare_exchange_weak(next, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(start),
                Err(now) => next = now,
            }
        }
    }
}

fn retagged(old: u64, index: u32) -> u64 {
    ((old >> 32).wrapping_add(1) << 32) | u64::from(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_never_overlap_and_come_back() {
        let slab = Slab::<AtomicU32>::new();
        let first = slab.allocate(1, 4).unwrap();
        let second = slab.allocate(1, 4).unwrap();
        assert!(first != 0 && second >= first + 4);
        slab.release(1, first, 4);
        assert_eq!(slab.used(), 4);
        assert_eq!(slab.allocate(1, 4), Some(first));
        assert_eq!(slab.allocate(2, 8), Some(second + 4));
    }

    #[test]
    fn free_runs_are_joined_and_cut_anew() {
        let slab = Slab::<AtomicU32>::new();
        let runs: Vec<u32> = (0..100).map(|_| slab.allocate(4, 4).unwrap()).collect();
        assert_eq!(slab.reuse(8, 8), None);
        runs[..40].iter().chain(&runs[50..90]).for_each(|&run| slab.release(4, run, 4));
        assert_eq!(slab.reuse(8, 8), None);
        assert_eq!(slab.join_free_runs(|class| class as u32), 320);
        let mut taken: Vec<u32> = std::iter::from_fn(|| slab.reuse(7, 7)).collect();
        assert_eq!(taken.len(), 2 * (160 / 7));
        taken.sort();
        assert!(taken.windows(2).all(|pair| pair[0] + 7 <= pair[1]));
        assert!(taken.iter().all(|run| (1..161).contains(run) || (201..361).contains(run)), "{taken:?}");
        // Six slots are left of each stretch, at 155 and at 355.
        assert!(matches!(slab.reuse(3, 3), Some(155 | 355)));
    }

    #[test]
    fn runs_stay_inside_a_block() {
        let slab = Slab::<AtomicU32>::new();
        for _ in 0..3 * BLOCK / 100 {
            let start = slab.allocate(0, 100).unwrap();
            assert_eq!(start / BLOCK, (start + 99) / BLOCK);
        }
    }

    #[test]
    fn threads_never_get_the_same_run() {
        let slab = Slab::<AtomicU32>::new();
        std::thread::scope(|scope| {
            for thread in 1..=4u32 {
                let slab = &slab;
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for round in 0..20_000u32 {
                        let start = slab.allocate(1, 4).unwrap();
                        slab.run(start, 4).iter().for_each(|slot| slot.store(thread, Ordering::Relaxed));
                        held.push(start);
                        if round % 3 != 0 {
                            let start = held.swap_remove((round as usize * 7) % held.len());
                            for slot in slab.run(start, 4) {
                                assert_eq!(slot.load(Ordering::Relaxed), thread, "a run has two owners");
                            }
                            slab.release(1, start, 4);
                        }
                    }
                });
            }
        });
    }
}
