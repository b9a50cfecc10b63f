//! How `RamLimitMb` is shared between evaluation cache and tree, and when a cache has to be made anew.

use crate::network::cache::EvalCache;
use crate::options::Settings;

/// One part in so many of `RamLimitMb` is for the evaluation cache, at most.
const CACHE_PART: usize = 4;

/// `RamLimitMb` in bytes, if there is a limit.
fn memory_limit(settings: &Settings) -> Option<usize> {
    (settings.ram_limit_mb > 0).then_some(settings.ram_limit_mb as usize * 1_000_000)
}

/// Evaluations that the cache may hold.
pub(super) fn cache_capacity(settings: &Settings) -> usize {
    let wanted = settings.nn_cache_size as usize;
    memory_limit(settings).map_or(wanted, |bytes| EvalCache::capacity_within(bytes / CACHE_PART, wanted))
}

/// Bytes that are left for the tree; all there are if there is no limit.
pub(super) fn tree_limit(settings: &Settings) -> u64 {
    let cache = EvalCache::full_bytes(cache_capacity(settings));
    memory_limit(settings).map_or(u64::MAX, |bytes| bytes.saturating_sub(cache) as u64)
}

/// The options that an evaluation cache and what it holds depend on, beside the network.
#[derive(Debug, PartialEq)]
pub(super) struct CacheOrder {
    capacity: usize,
    policy_temperature: f64,
    history_fill: &'static str,
}

impl CacheOrder {
    pub(super) fn of(settings: &Settings) -> CacheOrder {
        CacheOrder {
            capacity: cache_capacity(settings),
            policy_temperature: settings.policy_temperature,
            history_fill: settings.history_fill,
        }
    }
}
