//! Free slots that lie in no size class: free runs are joined to chunks, and cut anew to the lengths that are wanted.
//!
//! Only a slab that can grow no more needs that.

use std::sync::PoisonError;

use super::{CLASSES, Run, Slab, Slot, blocks};
use crate::search::sync::MutexGuard;
use crate::search::sync::atomic::Ordering;

/// The number of free runs that are joined at once: to sort them takes some hundredths of a second.
const MAX_JOINED: usize = 1 << 18;

/// Free slots that lie in no size class.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Free runs that were joined, the shortest first. Runs are taken from the last one only, which becomes shorter then.
    chunks: Vec<Run>,
    /// The ends of chunks that were too short for the run that was wanted.
    pub(super) leftovers: Vec<Run>,
}

impl<T: Slot> Slab<T> {
    /// Joins free runs, the longest and latest ones if there are many, to chunks that are as long as possible, from which
    /// runs of any length can be taken. Returns the number of slots in chunks that any run fits into.
    pub(in crate::search::tree) fn join_free_runs(&self) -> u64 {
        let mut joined = self.joined();
        let Joined { chunks, leftovers } = &mut *joined;
        chunks.append(leftovers);
        for class in (0..CLASSES).rev() {
            let room = MAX_JOINED.saturating_sub(chunks.len());
            let free = std::iter::from_fn(|| self.pop(class)).take(room);
            chunks.extend(free.map(|start| Run { start, len: (self.classes.len)(class) }));
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
        // So that others can be joined the next time.
        for chunk in chunks.drain(..chunks.len().saturating_sub(MAX_JOINED / 2)) {
            self.give_back_by_classes(chunk);
        }
        chunks.shrink_to_fit();
        let long = chunks.iter().rev().take_while(|chunk| chunk.len >= CLASSES as u32);
        long.map(|chunk| u64::from(chunk.len)).sum()
    }

    /// Takes a run of `len` slots off a chunk of those that were joined, or off a longer run that was given back.
    pub(in crate::search::tree) fn carve(&self, len: u32) -> Option<u32> {
        let start = self.cut_chunk(len).or_else(|| self.cut_run(len))?;
        self.idle.fetch_sub(len.into(), Ordering::Relaxed);
        Some(start)
    }

    /// Takes `len` slots off the longest chunk of those that were joined. A leftover that is too short for them is put aside
    /// if the next one is not.
    fn cut_chunk(&self, len: u32) -> Option<u32> {
        let mut joined = self.joined();
        let Joined { chunks, leftovers } = &mut *joined;
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
