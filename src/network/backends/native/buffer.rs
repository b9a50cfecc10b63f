//! Memory for numbers, aligned to cache lines or huge pages: scratch of an evaluator and packed weights.

use std::ops::{Deref, DerefMut};

use crate::huge_pages::{HUGE_PAGE, prefer_huge_pages};

/// A cache line, and the widest vector of any kernel, in bytes.
const LINE: usize = 64;

/// A fixed number of numbers, the first of them at the start of a cache line, or of a huge page if they fill one.
///
/// It is made of a somewhat longer `Vec`, so that it needs no `unsafe`. It is neither cloned nor resized: a move of the
/// buffer leaves the numbers where they are.
#[derive(Debug)]
pub(super) struct Buffer<T = f32> {
    memory: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Clone + Default> Buffer<T> {
    /// Makes a buffer of `length` zeros.
    pub(super) fn zeros(length: usize) -> Buffer<T> {
        let is_large = length * size_of::<T>() >= HUGE_PAGE;
        let alignment = if is_large { HUGE_PAGE } else { LINE } / size_of::<T>();
        let whole = length.next_multiple_of(alignment);
        // Zeros come from the system as pages that take no memory before they are written.
        let memory = vec![T::default(); whole + alignment];
        // Alignment is only for speed: `align_offset` may decline (it does so under Miri).
        let aligned = Some(memory.as_ptr().align_offset(alignment * size_of::<T>()));
        let start = aligned.filter(|&start| start < alignment).unwrap_or(0);
        if is_large {
            prefer_huge_pages(&memory[start..start + whole]);
        }
        Buffer { memory, start, length }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_asked_for() {
        for length in [0, 1, 15, 16, 1000, 1_500_000] {
            let mut buffer = Buffer::zeros(length);
            assert_eq!(buffer.len(), length);
            buffer.fill(1.0);
            assert_eq!(buffer[..], vec![1.0; length]);
        }
    }
}
