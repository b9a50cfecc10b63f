//! The evaluation cache: a bounded number of evaluations, shared by all threads.
//!
//! The key must identify everything that an evaluation
//! depends on ([`crate::chess::History::evaluation_key`]). A full cache drops the oldest evaluation.

use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam::queue::SegQueue;
use crossbeam::utils::CachePadded;
use dashmap::DashMap;
use nohash_hasher::BuildNoHashHasher;

use super::value::Value;

/// Biased `f32` exponent of the smallest nonzero probability (2⁻³¹).
const MIN_EXPONENT: u32 = 96;

/// Packs a probability (`0..=1`) into 16 bits: 5 of exponent, 11 of mantissa, rounded, monotonic.
pub(crate) fn compress(p: f32) -> u16 {
    let rounded = (p.to_bits() + (1 << 11)) >> 12;
    rounded.saturating_sub(MIN_EXPONENT << 11) as u16
}

/// Unpacks [`compress`]. Packing again gives the same bits.
#[inline]
pub(crate) fn expand(bits: u16) -> f32 {
    f32::from_bits((u32::from(bits) << 12) + (MIN_EXPONENT << 23))
}

#[derive(Debug)]
struct CachedEvaluation {
    evaluation: Value,
    policy: Box<[u16]>,
}

/// Each has a lock.
const SHARDS: usize = 64;
/// Per place of the map: entry, key and control byte.
const PLACE_BYTES: usize = size_of::<(u64, CachedEvaluation)>() + 1;
/// Per entry elsewhere: the policy of up to 44 moves, as the allocator rounds it, and its place in the queue.
const OUTSIDE_BYTES: usize = 96 + 16;

/// Evaluations by position key.
///
/// The map locks a shard at a time, the queue is lock-free, and `len` is relaxed, because a late reader only
/// evicts a little later.
#[derive(Debug)]
pub struct EvalCache {
    entries: DashMap<u64, CachedEvaluation, BuildNoHashHasher<u64>>,
    /// Each key of `entries` once, in order of insertion.
    order: SegQueue<u64>,
    capacity: usize,
    /// Changes with every evaluation, so it must not share a cache line with read-only fields.
    len: CachePadded<AtomicUsize>,
}

impl EvalCache {
    /// A cache of at most `capacity` evaluations. 0 turns it off.
    pub fn new(capacity: usize) -> EvalCache {
        EvalCache {
            entries: DashMap::with_hasher_and_shard_amount(BuildNoHashHasher::default(), SHARDS),
            order: SegQueue::new(),
            capacity,
            len: CachePadded::default(),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(crate) fn full_bytes(capacity: usize) -> usize {
        // A shard's table is a power of two, at most seven eighths full. With insertions and removals it
        // doubles unless less than half of that is taken. Shards fill unevenly.
        let fullest_shard = capacity.div_ceil(SHARDS) + capacity.div_ceil(SHARDS) / 50;
        let places = SHARDS * (fullest_shard * 16 / 7).next_power_of_two();
        if capacity == 0 {
            0
        } else {
            places * PLACE_BYTES + capacity * OUTSIDE_BYTES
        }
    }

    /// The largest capacity up to `wanted` whose full cache fits in `bytes`.
    pub(crate) fn capacity_within(bytes: usize, wanted: usize) -> usize {
        let smaller = |&capacity: &usize| (capacity > 0).then_some(capacity - capacity.div_ceil(20));
        std::iter::successors(Some(wanted), smaller)
            .find(|&capacity| EvalCache::full_bytes(capacity) <= bytes)
            .unwrap_or(0)
    }

    /// In permille.
    pub fn hashfull(&self) -> u32 {
        (self.len() * 1000)
            .checked_div(self.capacity)
            .unwrap_or(0)
            .min(1000) as u32
    }

    /// Looks up a position with `moves` legal moves, and writes their policy to `policy` in their order. An
    /// entry with another number of moves is another position with the same key.
    pub fn get(&self, key: u64, moves: usize, policy: &mut Vec<f32>) -> Option<Value> {
        if self.capacity == 0 {
            return None;
        }
        let entry = self
            .entries
            .get(&key)
            .filter(|entry| entry.policy.len() == moves)?;
        policy.clear();
        policy.extend(entry.policy.iter().map(|&bits| expand(bits)));
        Some(entry.evaluation)
    }

    /// `policy` holds the probabilities of the legal moves in their order.
    pub fn insert(&self, key: u64, evaluation: Value, policy: &[f32]) {
        if self.capacity == 0 {
            return;
        }
        let entry = CachedEvaluation {
            evaluation,
            policy: policy.iter().copied().map(compress).collect(),
        };
        if self.entries.insert(key, entry).is_none() {
            self.order.push(key);
            if self.len.fetch_add(1, Ordering::Relaxed) >= self.capacity {
                self.evict();
            }
        }
    }

    pub fn clear(&self) {
        (0..self.len()).for_each(|_| self.evict());
    }

    fn evict(&self) {
        let oldest = self.order.pop().and_then(|key| self.entries.remove(&key));
        if oldest.is_some() {
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn evaluation(wl: f32) -> Value {
        Value { wl, d: 0.25, m: 40.0 }
    }

    #[test]
    fn gives_back_what_was_kept() {
        let cache = EvalCache::new(10);
        let mut policy = Vec::new();
        assert_eq!(cache.get(7, 2, &mut policy), None);
        cache.insert(7, evaluation(0.5), &[0.75, 0.25]);
        assert_eq!(cache.get(7, 2, &mut policy), Some(evaluation(0.5)));
        assert_eq!(policy, [0.75, 0.25]);
        assert_eq!(
            cache.get(7, 3, &mut policy),
            None,
            "another position with the same key"
        );
        cache.insert(7, evaluation(-0.5), &[1.0]);
        assert_eq!(cache.get(7, 1, &mut policy), Some(evaluation(-0.5)));
        assert_eq!((cache.len(), cache.hashfull()), (1, 100));
    }

    #[test]
    fn the_oldest_makes_room() {
        let cache = EvalCache::new(3);
        let mut policy = Vec::new();
        (0..5).for_each(|key| cache.insert(key, evaluation(0.0), &[1.0]));
        let kept: Vec<_> = (0..5)
            .filter(|&key| cache.get(key, 1, &mut policy).is_some())
            .collect();
        assert_eq!(kept, [2, 3, 4]);
        assert_eq!((cache.len(), cache.hashfull()), (3, 1000));
        let cache = EvalCache::new(0);
        cache.insert(1, evaluation(0.0), &[1.0]);
        assert_eq!(
            (cache.get(1, 1, &mut policy), cache.len(), cache.hashfull()),
            (None, 0, 0)
        );
    }

    #[test]
    fn capacities_fit_into_memory() {
        for bytes in [0, 10_000, 25_000_000, 250_000_000] {
            let capacity = EvalCache::capacity_within(bytes, 2_000_000);
            assert!(EvalCache::full_bytes(capacity) <= bytes);
            let is_smaller = capacity < 2_000_000;
            assert!(
                !is_smaller || EvalCache::full_bytes(capacity + capacity / 10 + 10) > bytes,
                "{capacity}"
            );
        }
        assert_eq!(EvalCache::capacity_within(usize::MAX, 2_000_000), 2_000_000);
    }

    #[test]
    fn threads_share_it_and_it_stays_bounded() {
        let cache = EvalCache::new(100);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let cache = &cache;
                scope.spawn(move || {
                    let mut policy = Vec::new();
                    for i in 0..10_000u64 {
                        let key = (i * 7 + thread) % 300;
                        cache.insert(key, evaluation(0.1), &[0.5, 0.5]);
                        if cache.get(key, 2, &mut policy).is_some() {
                            assert_eq!(policy, [0.5, 0.5]);
                        }
                    }
                });
            }
        });
        assert!(cache.len() <= 100, "{}", cache.len());
        assert_eq!(cache.len(), cache.entries.len());
    }

    proptest! {
        #[test]
        fn compression_is_close_monotone_and_stable(a in 0f32..=1.0, b in 0f32..=1.0) {
            let back = expand(compress(a));
            prop_assert!((back - a).abs() <= a / 4096.0 + 1e-9, "{back} for {a}");
            prop_assert_eq!(compress(back), compress(a));
            prop_assert!(a > b || compress(a) <= compress(b));
        }
    }
}
