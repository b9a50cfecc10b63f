//! Shares `RamLimitMb` between evaluation cache, batches and tree.

use std::num::NonZero;
use std::sync::LazyLock;

use crate::network::BackendInfo;
use crate::network::cache::EvalCache;
use crate::options::option_group;
use crate::search::buffer_bytes;
use crate::system;

option_group! {
    /// The options that limit the memory of a search.
    pub struct MemoryOptions {
        /// Number of network evaluations that are cached for positions that occur again.
        nn_cache_size: usize = 2_000_000, in 0..=999_999_999, "NNCacheSize", "nncache";
        /// Memory limit in MB for tree, cache and threads together, without the network and the program.
        /// 0 uses four fifths of the memory of the machine or container, and less than 20 counts as 20. There
        /// are no more threads than half of it has room for. At the limit the search continues and frees the
        /// positions with the fewest visits.
        ram_limit_mb: Option<NonZero<usize>> = None, in 0..=100_000_000, "RamLimitMb", "ramlimit-mb";
    }
}

const CACHE_DIVISOR: usize = 4;
/// Share and most bytes of a server's unread answers, and of games that wait there.
const ANSWERS_DIVISOR: usize = 16;
const MOST_ANSWERS: usize = 64_000_000;

/// A search's bytes beside tree, cache and batches: game, reports …
const SEARCH_BYTES: u64 = 500_000;
/// … and per thread the stack, lists of prunable nodes, and the allocator's reserve.
const THREAD_BYTES: u64 = 500_000;

/// A search without `RamLimitMb` may take this share. Network and program have the rest.
const SYSTEM_SHARE: (u64, u64) = (4, 5);

/// Smaller trees are useless.
const LEAST_MB: usize = 20;

impl MemoryOptions {
    /// `None` without a known limit. By default that of the system: forgetting positions beats being killed
    /// in the middle of a game.
    fn limit_bytes(&self) -> Option<usize> {
        static SYSTEM: LazyLock<Option<u64>> = LazyLock::new(system::memory_limit);
        let set = self.ram_limit_mb.map(|mb| mb.get().max(LEAST_MB) * 1_000_000);
        let of_system = || usize::try_from((*SYSTEM)? / SYSTEM_SHARE.1 * SYSTEM_SHARE.0).ok();
        set.or_else(of_system)
    }

    pub(crate) fn answer_bytes(&self) -> usize {
        self.limit_bytes()
            .map_or(MOST_ANSWERS, |bytes| (bytes / ANSWERS_DIVISOR).min(MOST_ANSWERS))
    }

    /// For one of `searches` that share a cache: an equal part of the memory that answers and waiting games
    /// leave.
    pub(crate) fn share_of(&self, searches: usize) -> MemoryOptions {
        let others = EvalCache::full_bytes(self.cache_capacity()) + 2 * self.answer_bytes();
        let share = |bytes: usize| bytes.saturating_sub(others) / searches.max(1) / 1_000_000;
        let ram_limit_mb = self
            .limit_bytes()
            .and_then(|bytes| NonZero::new(share(bytes).max(LEAST_MB)));
        MemoryOptions {
            nn_cache_size: 0,
            ram_limit_mb,
        }
    }

    pub(crate) fn cache_capacity(&self) -> usize {
        let wanted = self.nn_cache_size;
        self.limit_bytes().map_or(wanted, |bytes| {
            EvalCache::capacity_within(bytes / CACHE_DIVISOR, wanted)
        })
    }

    /// Bytes for the tree of a search and its threads.
    pub(super) fn search_bytes(&self) -> u64 {
        let others = EvalCache::full_bytes(self.cache_capacity()) as u64 + SEARCH_BYTES;
        self.limit_bytes()
            .map_or(u64::MAX, |bytes| (bytes as u64).saturating_sub(others))
    }
}

/// Bytes of a thread that gathers `batch` positions at once for this backend.
pub(super) fn thread_bytes(batch: usize, backend: &BackendInfo) -> u64 {
    // The device's batches, the next one, and the one being filled.
    let batches = if backend.queues == 0 {
        1
    } else {
        backend.queues + 2
    };
    let batches = batches as u64 * buffer_bytes(batch.min(backend.max_batch));
    THREAD_BYTES + backend.evaluator_bytes as u64 + batches
}
