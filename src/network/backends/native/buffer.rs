//! Memory for numbers, aligned to cache lines: scratch of an evaluator and packed weights.

use std::ops::{Deref, DerefMut};

/// A cache line, and the widest vector of any kernel, in `f32`s.
const LINE: usize = 16;

/// A fixed number of `f32`s, the first of them at the start of a cache line.
///
/// Made of a somewhat longer `Vec`, so that it needs no `unsafe`. It is neither cloned nor resized: a move of the
/// buffer leaves the numbers where they are.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<f32>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// `length` zeros.
    pub(super) fn zeros(length: usize) -> Buffer {
        let memory = vec![0.0; length + LINE];
        // Alignment is only for speed: `align_offset` may decline (it does so under Miri).
        let start = Some(memory.as_ptr().align_offset(LINE * size_of::<f32>())).filter(|&start| start < LINE);
        Buffer { memory, start: start.unwrap_or(0), length }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_asked_for() {
        for length in [0, 1, 15, 16, 1000] {
            let mut buffer = Buffer::zeros(length);
            assert_eq!(buffer.len(), length);
            buffer.fill(1.0);
            assert_eq!(buffer[..], vec![1.0; length]);
        }
    }
}
