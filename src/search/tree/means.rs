//! The means that a node keeps of its visits beside their values: draw probability and plies left.
//!
//! Both lie in one atomic, so that they are read together. Used by [`super::node`], under the lock of whose sums they change.

use crate::search::sync::atomic::{AtomicU64, Ordering};

/// Mean draw probability in the upper half, mean plies left in the lower one, both as `f32`.
#[derive(Debug, Default)]
pub(super) struct Means(AtomicU64);

impl Means {
    /// Returns draw probability and plies left.
    #[inline]
    pub(super) fn get(&self) -> (f32, f32) {
        let bits = self.0.load(Ordering::Relaxed);
        (f32::from_bits((bits >> 32) as u32), f32::from_bits(bits as u32))
    }

    /// Sets draw probability and plies left.
    #[inline]
    pub(super) fn set(&self, d: f32, m: f32) {
        self.0.store(u64::from(d.to_bits()) << 32 | u64::from(m.to_bits()), Ordering::Relaxed);
    }
}
