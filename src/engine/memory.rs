//! How `RamLimitMb` is shared between evaluation cache, batches and tree, and when a cache has to be made anew.

use crate::network::Backend;
use crate::network::cache::EvalCache;
use crate::options::Settings;
use crate::search::buffer_bytes;

/// One part in so many of `RamLimitMb` is for the evaluation cache, at most.
const CACHE_PART: usize = 4;

/// What a search takes beside tree, cache and batches, bytes: the game, what is told of it …
const SEARCH_BYTES: u64 = 500_000;
/// … and for each of its threads stack, lists of what is pruned, and what the allocator keeps for it.
const THREAD_BYTES: u64 = 1_000_000;

/// The least `RamLimitMb`: smaller trees are of no use to a search.
const LEAST_MB: i64 = 20;

/// `RamLimitMb` in bytes, if there is a limit.
fn memory_limit(settings: &Settings) -> Option<usize> {
    (settings.ram_limit_mb > 0).then_some(settings.ram_limit_mb.max(LEAST_MB) as usize * 1_000_000)
}

/// Evaluations that the cache may hold.
pub(super) fn cache_capacity(settings: &Settings) -> usize {
    let wanted = settings.nn_cache_size as usize;
    memory_limit(settings).map_or(wanted, |bytes| EvalCache::capacity_within(bytes / CACHE_PART, wanted))
}

/// Bytes that are left for the tree; all there are if there is no limit.
pub(super) fn tree_limit(settings: &Settings, backend: &dyn Backend) -> u64 {
    let others = EvalCache::full_bytes(cache_capacity(settings)) as u64
        + thread_bytes(settings, backend)
        + SEARCH_BYTES;
    memory_limit(settings).map_or(u64::MAX, |bytes| (bytes as u64).saturating_sub(others))
}

/// Bytes of all search threads with their batches.
fn thread_bytes(settings: &Settings, backend: &dyn Backend) -> u64 {
    let info = backend.info();
    let or_chosen = |option: i64, chosen: usize| if option == 0 { chosen } else { option as usize };
    let threads = or_chosen(settings.threads, info.preferred_threads);
    let positions = or_chosen(settings.minibatch_size, backend.batch_size()).min(info.max_batch);
    threads as u64 * (THREAD_BYTES + buffer_bytes(positions))
}

/// The options that an evaluation cache and what it holds depend on, beside the network.
#[derive(Debug, PartialEq)]
pub(super) struct CacheSettings {
    capacity: usize,
    policy_temperature: f64,
    history_fill: &'static str,
}

impl CacheSettings {
    pub(super) fn of(settings: &Settings) -> CacheSettings {
        CacheSettings {
            capacity: cache_capacity(settings),
            policy_temperature: settings.policy_temperature,
            history_fill: settings.history_fill,
        }
    }
}
