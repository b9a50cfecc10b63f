//! Memory of the tree: runs of slots addressed by 32-bit index, in blocks that never move.
//!
//! Slots consist of atomics, so that every thread may hold `&T` while others write.
//!
//! Each block is twice as long as the one before, and comes zeroed from the system: a page becomes resident
//! when it is written. Large pages keep most descents within the TLB.

use std::ops::Range;

use crossbeam::utils::CachePadded;

use crate::search::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::search::sync::{BLOCKS, FIRST_BLOCK as FIRST, Mutex, OnceLock, REGIONS, zeroed_block};
use crate::system::huge_pages::{HUGE_PAGE, prefer_huge_pages};

/// Slots that a thread takes at once, to seldom share a cache line.
const CHUNK: u32 = 4096;
/// Chunks that threads take slots from. More threads share them.
const SHARES: usize = 16;

thread_local! {
    /// Index in `Slab::chunks`.
    static SHARE: usize = {
        use std::sync::atomic::AtomicUsize;
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Relaxed) % SHARES
    };
}

/// Bytes that the system must have left beside a new block.
const RESERVE: usize = 16 << 20;

/// Consecutive slots of one region. The next ones belong to the next region, in turn.
const STRIPE: u32 = 1 << 16;

pub(super) const CLASSES: usize = 128;

pub(super) struct RunClasses {
    pub(super) len: fn(usize) -> u32,
    /// The highest class of runs no longer than this, which is not 0.
    pub(super) within: fn(u32) -> usize,
}

/// Holds the index of the next free run while its own run is free.
pub(super) trait Slot: Zeroed {
    /// Meaningless while the run is in use.
    fn link(&self) -> &AtomicU32;
}

// SAFETY: an integer.
unsafe impl Zeroed for AtomicU32 {}

impl Slot for AtomicU32 {
    fn link(&self) -> &AtomicU32 {
        self
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Run {
    pub(super) fn single(index: u32) -> Run {
        Run { start: index, len: 1 }
    }

    pub(super) fn contains(self, index: u32) -> bool {
        index
            .checked_sub(self.start)
            .is_some_and(|place| place < self.len)
    }
}

/// No further region is joined after so many free runs: sorting them takes some hundredths of a second.
const MANY_RUNS: usize = 1 << 18;

#[derive(Default)]
struct Joined {
    /// Joined free runs, the shortest first.
    chunks: Vec<Run>,
    /// Ends of chunks that were too short for the run wanted.
    leftovers: Vec<Run>,
    region: usize,
}

/// Slots that are handed out and taken back in runs. Index 0 means "none".
pub(super) struct Slab<T> {
    blocks: [OnceLock<Box<[T]>>; BLOCKS],
    /// No index from here on is handed out.
    end: u32,
    classes: RunClasses,
    /// The first slot that no chunk contains so far.
    next: CachePadded<AtomicU32>,
    /// The free part of each chunk: its start in the upper half, its end in the lower.
    chunks: [CachePadded<AtomicU64>; SHARES],
    idle: AtomicU64,
    /// A stack of free runs per region and class: its top, and above that a counter against the ABA problem.
    free: Box<[AtomicU64]>,
    /// For each class a bit for every region whose stack may hold runs.
    filled: [AtomicU64; CLASSES],
    /// Empty until the slab has once been full.
    joined: Mutex<Joined>,
}

impl<T: Slot> Slab<T> {
    pub(super) fn new(classes: RunClasses) -> Slab<T> {
        Slab::ending_at(END, classes)
    }

    pub(super) fn ending_at(end: u32, classes: RunClasses) -> Slab<T> {
        Slab {
            blocks: std::array::from_fn(|_| OnceLock::new()),
            end,
            classes,
            next: CachePadded::new(AtomicU32::new(1)),
            chunks: std::array::from_fn(|_| CachePadded::default()),
            idle: AtomicU64::new(0),
            free: (0..REGIONS * CLASSES).map(|_| AtomicU64::new(0)).collect(),
            filled: std::array::from_fn(|_| AtomicU64::new(0)),
            joined: Mutex::default(),
        }
    }

    #[inline]
    pub(super) fn slot(&self, index: u32) -> &T {
        let (block, place) = place(index);
        &self.block(block)[place]
    }

    #[inline]
    pub(super) fn run(&self, start: u32, len: usize) -> &[T] {
        let (block, place) = place(start);
        &self.block(block)[place..place + len]
    }

    #[inline]
    fn block(&self, block: usize) -> &[T] {
        self.blocks[block].get_or_init(|| take_block((FIRST as usize) << block))
    }

    /// False if a new block begins there for which the system has too little memory. Taking it would end the
    /// process.
    fn has_memory_from(&self, index: u32) -> bool {
        let (block, place) = place(index);
        // Taken on trial and given back. No page of it becomes resident.
        place > 0
            || Vec::<T>::new()
                .try_reserve_exact(((FIRST as usize) << block) + RESERVE / size_of::<T>())
                .is_ok()
    }

    /// The block of the slot exists.
    #[inline]
    pub(super) fn fetch(&self, index: u32) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let slot = std::slice::from_ref(self.slot(index)).as_ptr_range();
            // SAFETY: hints. They read and write nothing.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(slot.start.cast());
                _mm_prefetch::<_MM_HINT_T0>(slot.end.cast::<i8>().wrapping_sub(1));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }

    /// A run of `len` slots, fewer than [`CHUNK`], with any content. `None` if [`Slab::grow`] or
    /// [`Slab::carve`] must help.
    #[inline]
    pub(super) fn allocate(&self, len: u32) -> Option<u32> {
        if let Some(start) = self.pop((self.classes.within)(len)) {
            self.idle.fetch_sub(len.into(), Relaxed);
            return Some(start);
        }
        SHARE.with(|&share| cut(&self.chunks[share], len))
    }

    /// The run comes from a new chunk for this thread. `None` when all indices are in use.
    #[cold]
    pub(super) fn grow(&self, len: u32) -> Option<u32> {
        let chunk = SHARE.with(|&share| &self.chunks[share]);
        loop {
            let range = self.extend(len)?;
            let leftover = chunk.swap(packed(range), Relaxed);
            self.park(unpacked(leftover));
            if let Some(start) = cut(chunk, len) {
                return Some(start);
            }
        }
    }

    /// Keeps the rest of a chunk until free runs are joined.
    fn park(&self, range: Range<u32>) {
        if let Some(len) = range.end.checked_sub(range.start).filter(|&len| len > 0) {
            self.joined.lock().leftovers.push(Run {
                start: range.start,
                len,
            });
            self.idle.fetch_add(len.into(), Relaxed);
        }
    }

    pub(super) fn reserved_bytes(&self) -> u64 {
        resident_bytes::<T>(self.extent())
    }

    pub(super) fn growth_bytes(&self) -> u64 {
        resident_bytes::<T>(self.extent() + u64::from(CHUNK)) - self.reserved_bytes()
    }

    pub(super) fn extent(&self) -> u64 {
        self.next.load(Relaxed).into()
    }

    /// Nobody may use its index any more.
    pub(super) fn release(&self, run: Run) {
        // Counted first, so that nobody subtracts the run before it is counted.
        self.idle.fetch_add(run.len.into(), Relaxed);
        self.push((self.classes.within)(run.len), run.start);
    }

    fn stack(&self, region: usize, class: usize) -> &AtomicU64 {
        &self.free[region * CLASSES + class]
    }

    fn push(&self, class: usize, start: u32) {
        let region = (start / STRIPE) as usize % REGIONS;
        let top = self.stack(region, class);
        let mut old = top.load(Relaxed);
        loop {
            self.slot(start).link().store(old as u32, Relaxed);
            // Release: the link is visible to whoever pops the run.
            match top.compare_exchange_weak(old, retagged(old, start), Release, Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        // If another thread clears the bit now, the run is joined all the same.
        if self.filled[class].load(Relaxed) >> region & 1 == 0 {
            self.filled[class].fetch_or(1 << region, Relaxed);
        }
    }

    pub(super) fn used(&self) -> u64 {
        let left = |chunk: &CachePadded<AtomicU64>| {
            let free = unpacked(chunk.load(Relaxed));
            u64::from(free.end - free.start)
        };
        let unused = self.idle.load(Relaxed) + self.chunks.iter().map(left).sum::<u64>();
        (self.extent() - 1).saturating_sub(unused)
    }

    fn pop(&self, class: usize) -> Option<u32> {
        let filled = &self.filled[class];
        loop {
            let regions = filled.load(Relaxed);
            if regions == 0 {
                return None;
            }
            let region = regions.trailing_zeros() as usize;
            if let Some(start) = self.pop_from(region, class) {
                return Some(start);
            }
            filled.fetch_and(!(1 << region), Relaxed);
        }
    }

    fn pop_from(&self, region: usize, class: usize) -> Option<u32> {
        let top = self.stack(region, class);
        let mut old = top.load(Acquire);
        loop {
            let start = old as u32;
            if start == 0 {
                return None;
            }
            // If another thread takes the run first, the link is garbage, but then the counter has changed.
            let next = self.slot(start).link().load(Relaxed);
            match top.compare_exchange_weak(old, retagged(old, next), Acquire, Acquire) {
                Ok(_) => return Some(start),
                Err(now) => old = now,
            }
        }
    }

    fn extend(&self, len: u32) -> Option<Range<u32>> {
        let mut next = self.next.load(Relaxed);
        loop {
            let left = room(next);
            let start = if left >= len {
                next
            } else {
                next.checked_add(left)?
            };
            let end = start
                .checked_add(CHUNK.min(room(start)))
                .filter(|&end| end <= self.end)?;
            if !self.has_memory_from(start) {
                return None;
            }
            match self.next.compare_exchange_weak(next, end, Relaxed, Relaxed) {
                Ok(_) => {
                    self.park(next..start);
                    return Some(start..end);
                }
                Err(now) => next = now,
            }
        }
    }
}

/// Needed only in a slab that can grow no more.
impl<T: Slot> Slab<T> {
    /// Joins the free runs of as many regions as are worth the work, and of others next time. Counts the
    /// slots in chunks that any run fits into.
    pub(super) fn join_free_runs(&self) -> u64 {
        let mut joined = self.joined.lock();
        let Joined {
            chunks,
            leftovers,
            region,
        } = &mut *joined;
        chunks.append(leftovers);
        for _ in 0..REGIONS {
            for class in 0..CLASSES {
                let free = std::iter::from_fn(|| self.pop_from(*region, class));
                chunks.extend(free.map(|start| Run {
                    start,
                    len: (self.classes.len)(class),
                }));
            }
            *region = (*region + 1) % REGIONS;
            if chunks.len() >= MANY_RUNS {
                break;
            }
        }
        chunks.sort_unstable();
        chunks.dedup_by(|next, chunk| {
            let continues = chunk.start + chunk.len == next.start && share_block(chunk.start, next.start);
            if continues {
                chunk.len += next.len;
            }
            continues
        });
        chunks.sort_unstable_by_key(|chunk| chunk.len);
        // Others return to their classes: no short run is cut off a long chunk while there are short ones.
        let short = chunks.partition_point(|chunk| chunk.len < CLASSES as u32);
        for chunk in chunks.drain(..short) {
            self.give_back_by_classes(chunk);
        }
        chunks.shrink_to_fit();
        chunks.iter().map(|chunk| u64::from(chunk.len)).sum()
    }

    pub(super) fn carve(&self, len: u32) -> Option<u32> {
        let start = self.cut_run(len).or_else(|| self.cut_chunk(len))?;
        self.idle.fetch_sub(len.into(), Relaxed);
        Some(start)
    }

    /// Too short a rest is put aside.
    fn cut_chunk(&self, len: u32) -> Option<u32> {
        let mut joined = self.joined.lock();
        let Joined {
            chunks, leftovers, ..
        } = &mut *joined;
        let fits = |chunk: &&mut Run| chunk.len >= len;
        if chunks.last_mut().filter(fits).is_none() {
            let next = chunks.len().checked_sub(2)?;
            if chunks[next].len < len {
                return None;
            }
            leftovers.extend(chunks.pop());
        }
        let chunk = chunks.last_mut()?;
        let start = chunk.start;
        *chunk = Run {
            start: start + len,
            len: chunk.len - len,
        };
        if chunk.len == 0 {
            chunks.pop();
        }
        Some(start)
    }

    fn cut_run(&self, len: u32) -> Option<u32> {
        let mut longer = (self.classes.within)(len) + 1..CLASSES;
        let (class, start) = longer.find_map(|class| Some((class, self.pop(class)?)))?;
        self.give_back_by_classes(Run {
            start: start + len,
            len: (self.classes.len)(class) - len,
        });
        Some(start)
    }

    fn give_back_by_classes(&self, chunk: Run) {
        let Run { mut start, mut len } = chunk;
        while len > 0 {
            let class = (self.classes.within)(len);
            self.push(class, start);
            start += (self.classes.len)(class);
            len -= (self.classes.len)(class);
        }
    }
}

#[inline]
fn cut(chunk: &AtomicU64, len: u32) -> Option<u32> {
    let mut old = chunk.load(Relaxed);
    loop {
        let Range { start, end } = unpacked(old);
        if end - start < len {
            return None;
        }
        let new = packed(start + len..end);
        match chunk.compare_exchange_weak(old, new, Relaxed, Relaxed) {
            Ok(_) => return Some(start),
            Err(now) => old = now,
        }
    }
}

/// The form of [`Slab::chunks`].
fn packed(free: Range<u32>) -> u64 {
    u64::from(free.start) << 32 | u64::from(free.end)
}

fn unpacked(chunk: u64) -> Range<u32> {
    (chunk >> 32) as u32..chunk as u32
}

fn retagged(old: u64, index: u32) -> u64 {
    ((old >> 32).wrapping_add(1) << 32) | u64::from(index)
}

/// Blocks of so many bytes lie on large pages.
const LARGE: usize = 4 << 20;

/// A value that a block can hold.
///
/// # Safety
/// A value whose bytes are all zero must be valid and the same as the default.
pub(super) unsafe trait Zeroed: Default {}

#[inline]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST);
    let power = shifted.ilog2();
    ((power - FIRST.ilog2()) as usize, (shifted ^ 1 << power) as usize)
}

fn room(index: u32) -> u32 {
    let (block, place) = place(index);
    ((u64::from(FIRST) << block) - place as u64) as u32
}

fn share_block(a: u32, b: u32) -> bool {
    place(a).0 == place(b).0
}

const END: u32 = (((1u64 << BLOCKS) - 1) * FIRST as u64 - 1) as u32;

fn resident_bytes<T>(slots: u64) -> u64 {
    (slots * size_of::<T>() as u64).next_multiple_of(HUGE_PAGE as u64)
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

    #[test]
    fn places_follow_each_other_in_doubling_blocks() {
        assert_eq!(
            (place(0), place(FIRST - 1), place(FIRST)),
            ((0, 0), (0, FIRST as usize - 1), (1, 0))
        );
        assert_eq!(
            (place(3 * FIRST - 1), place(3 * FIRST)),
            ((1, 2 * FIRST as usize - 1), (2, 0))
        );
        assert_eq!(place(END), (BLOCKS - 1, (1 << 31) - 1));
        assert_eq!(
            (room(0), room(FIRST - 1), room(FIRST), room(END)),
            (FIRST, 1, 2 * FIRST, 1)
        );
        assert!(share_block(FIRST, 3 * FIRST - 1) && !share_block(FIRST - 1, FIRST));
    }

    #[test]
    fn slots_are_zero_at_first_and_keep_what_is_written() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        // Reaches into the first block on large pages.
        let indices = (0..40 * FIRST).step_by(4001);
        for index in indices.clone() {
            assert_eq!(slab.slot(index).swap(index + 1, Relaxed), 0);
        }
        for index in indices {
            assert_eq!(slab.run(index, 1)[0].load(Relaxed), index + 1);
        }
        assert_eq!(resident_bytes::<AtomicU32>(1), HUGE_PAGE as u64);
    }

    const ANY_LENGTH: RunClasses = RunClasses {
        len: |class| class as u32,
        within: |len| (len as usize).min(CLASSES - 1),
    };

    fn take(slab: &Slab<AtomicU32>, len: u32) -> Option<u32> {
        slab.allocate(len).or_else(|| slab.grow(len))
    }

    fn again(slab: &Slab<AtomicU32>, len: u32) -> Option<u32> {
        slab.pop((slab.classes.within)(len)).or_else(|| slab.carve(len))
    }

    #[test]
    fn runs_never_overlap_and_come_back() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        let first = take(&slab, 4).unwrap();
        let second = take(&slab, 4).unwrap();
        assert!(first != 0 && second >= first + 4);
        slab.release(Run { start: first, len: 4 });
        assert_eq!(slab.used(), 4);
        assert_eq!(take(&slab, 4), Some(first));
        assert_eq!(take(&slab, 8), Some(second + 4));
    }

    #[test]
    fn free_runs_are_joined_and_cut_anew() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        let runs: Vec<u32> = (0..100).map(|_| take(&slab, 4).unwrap()).collect();
        assert_eq!(again(&slab, 8), None);
        runs[..40]
            .iter()
            .chain(&runs[50..90])
            .for_each(|&run| slab.release(Run { start: run, len: 4 }));
        assert_eq!(again(&slab, 8), None);
        assert_eq!(slab.join_free_runs(), 320);
        let mut taken: Vec<u32> = std::iter::from_fn(|| again(&slab, 7)).collect();
        assert_eq!(taken.len(), 2 * (160 / 7));
        taken.sort();
        assert!(taken.windows(2).all(|pair| pair[0] + 7 <= pair[1]));
        assert!(
            taken
                .iter()
                .all(|run| (1..161).contains(run) || (201..361).contains(run)),
            "{taken:?}"
        );
        // Six slots are left of each chunk, at 155 and at 355.
        assert!(matches!(again(&slab, 3), Some(155 | 355)));
    }

    #[test]
    fn longer_runs_are_cut_where_none_of_the_length_is_free() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        let run = take(&slab, 20).unwrap();
        slab.release(Run { start: run, len: 20 });
        assert_eq!(again(&slab, 21), None);
        assert_eq!([again(&slab, 12), again(&slab, 5)], [Some(run), Some(run + 12)]);
        assert_eq!((again(&slab, 4), again(&slab, 3)), (None, Some(run + 17)));
    }

    /// A regression: short runs were cut off the longest chunk until nothing was left for long ones.
    #[test]
    fn short_runs_leave_long_chunks_alone() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        let runs: Vec<u32> = (0..50).map(|_| take(&slab, 4).unwrap()).collect();
        runs[..40]
            .iter()
            .chain(&runs[45..46])
            .for_each(|&run| slab.release(Run { start: run, len: 4 }));
        assert_eq!(slab.join_free_runs(), 160);
        assert_eq!(
            (again(&slab, 3), again(&slab, 1)),
            (Some(runs[45]), Some(runs[45] + 3))
        );
        assert_eq!(again(&slab, 127), Some(runs[0]));
    }

    /// A regression: of very many free runs the last freed were joined over and over, neighbours or not.
    #[test]
    fn neighbours_are_joined_however_many_runs_are_free() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        let runs: Vec<u32> = (0..600_000).map(|_| take(&slab, 1).unwrap()).collect();
        let [even, odd] = [0, 1].map(|first| runs.iter().skip(first).step_by(2));
        even.chain(odd)
            .for_each(|&run| slab.release(Run { start: run, len: 1 }));
        let joined = (0..4).map(|_| slab.join_free_runs()).last();
        assert!(joined > Some(590_000), "{joined:?}");
    }

    #[test]
    fn a_slab_at_its_end_still_hands_out_what_came_back() {
        let slab = Slab::<AtomicU32>::ending_at(3 * CHUNK, ANY_LENGTH);
        let runs: Vec<u32> = std::iter::from_fn(|| take(&slab, 4)).collect();
        // The first slot and the last chunk, which has no room behind it, are never handed out.
        assert_eq!(runs.len() as u32, (2 * CHUNK) / 4);
        runs[..100]
            .iter()
            .for_each(|&run| slab.release(Run { start: run, len: 4 }));
        assert_eq!(take(&slab, 8), None, "nothing of that class");
        assert_eq!(slab.join_free_runs(), 400);
        assert_eq!(std::iter::from_fn(|| again(&slab, 8)).count(), 50);
    }

    #[test]
    fn runs_stay_inside_a_block() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        for _ in 0..5000 {
            let start = take(&slab, 100).unwrap();
            assert!(share_block(start, start + 99));
        }
    }

    #[test]
    fn threads_never_get_the_same_run() {
        let slab = Slab::<AtomicU32>::new(ANY_LENGTH);
        std::thread::scope(|scope| {
            for thread in 1..=4u32 {
                let slab = &slab;
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for round in 0..20_000u32 {
                        let start = take(slab, 4).unwrap();
                        slab.run(start, 4)
                            .iter()
                            .for_each(|slot| slot.store(thread, Relaxed));
                        held.push(start);
                        if round % 3 != 0 {
                            let start = held.swap_remove((round as usize * 7) % held.len());
                            for slot in slab.run(start, 4) {
                                assert_eq!(slot.load(Relaxed), thread, "a run has two owners");
                            }
                            slab.release(Run { start, len: 4 });
                        }
                    }
                });
            }
        });
    }
}
