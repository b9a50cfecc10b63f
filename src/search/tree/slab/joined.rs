//! Free slots that lie in no size class: free runs are joined to chunks, and cut anew to the lengths that are wanted.
//!
//! Only a slab that can grow no more needs that.

use std::sync::PoisonError;

use super::{CLASSES, Run, Slab, Slot, blocks};
use crate::search::sync::atomic::Ordering;
use crate::search::sync::{MutexGuard, REGIONS};

/// The number of free runs after which no further region is joined: to sort them takes some hundredths of a second.
const MANY_RUNS: usize = 1 << 18;

/// Free slots that lie in no size class.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Free runs that were joined, the shortest first. Runs are taken from the last one only, which becomes shorter then.
    chunks: Vec<Run>,
    /// The ends of chunks that were too short for the run that was wanted.
    pub(super) leftovers: Vec<Run>,
    /// The region that is joined next.
    region: usize,
}

impl<T: Slot> Slab<T> {
    /// Joins free runs to chunks that are as long as possible, from which runs of any length can be taken: all of a region, of
    /// as many regions as make for much work, and of the next ones the next time. Returns the number of slots in chunks that
    /// any run fits into.
    pub(in crate::search::tree) fn join_free_runs(&self) -> u64 {
        let mut joined = self.joined();
        let Joined { chunks, leftovers, region } = &mut *joined;
        chunks.append(leftovers);
        for _ in 0..REGIONS {
            for class in 0..CLASSES {
                let free = std::iter::from_fn(|| self.pop_from(*region, class));
                chunks.extend(free.map(|start| Run { start, len: (self.classes.len)(class) }));
            }
            *region = (*region + 1) % REGIONS;
            if chunks.len() >= MANY_RUNS {
                break;
            }
        }
        chunks.sort_unstable();
        chunks.dedup_by(|next, chunk| {
            let continues =
                chunk.start + chunk.len == next.start && blocks::share_block(chunk.start, next.start);
            if continues {
                chunk.len += next.len;
            }
            continues
        });
        chunks.sort_unstable_by_key(|chunk| chunk.len);
        // The others go to their classes: short runs are not cut off a long chunk as long as there are short ones.
        let short = chunks.partition_point(|chunk| chunk.len < CLASSES as u32);
        for chunk in chunks.drain(..short) {
            self.give_back_by_classes(chunk);
        }
        chunks.shrink_to_fit();
        chunks.iter().map(|chunk| u64::from(chunk.len)).sum()
    }

    /// Takes a run of `len` slots off a chunk of those that were joined, or off a longer run that was given back.
    pub(in crate::search::tree) fn carve(&self, len: u32) -> Option<u32> {
        let start = self.cut_run(len).or_else(|| self.cut_chunk(len))?;
        self.idle.fetch_sub(len.into(), Ordering::Relaxed);
        Some(start)
    }

    /// Takes `len` slots off the longest chunk of those that were joined. A leftover that is too short for them is put aside
    /// if the next one is not.
    fn cut_chunk(&self, len: u32) -> Option<u32> {
        let mut joined = self.joined();
        let Joined { chunks, leftovers, .. } = &mut *joined;
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
        *chunk = Run { start: start + len, len: chunk.len - len };
        if chunk.len == 0 {
            chunks.pop();
        }
        Some(start)
    }

    /// Takes `len` slots off the shortest free run of those that are longer.
    fn cut_run(&self, len: u32) -> Option<u32> {
        let mut longer = (self.classes.within)(len) + 1..CLASSES;
        let (class, start) = longer.find_map(|class| Some((class, self.pop(class)?)))?;
        self.give_back_by_classes(Run { start: start + len, len: (self.classes.len)(class) - len });
        Some(start)
    }

    /// Puts a free chunk back as runs of classes.
    fn give_back_by_classes(&self, chunk: Run) {
        let Run { mut start, mut len } = chunk;
        while len > 0 {
            let class = (self.classes.within)(len);
            self.push(class, start);
            start += (self.classes.len)(class);
            len -= (self.classes.len)(class);
        }
    }

    pub(super) fn joined(&self) -> MutexGuard<'_, Joined> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
