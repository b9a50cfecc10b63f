//! Shares `RamLimitMb` between evaluation cache, batches and tree, and decides when a cache has to be made
//! anew. Without the option the system's memory is the limit: that of the container, or the machine's.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::LazyLock;

use super::Settings;
use crate::network::Backend;
use crate::network::cache::EvalCache;
use crate::network::encode::HistoryFill;
use crate::options::option_group;
use crate::search::buffer_bytes;
use crate::system;

option_group! {
    /// The options that limit the memory of a search.
    pub struct MemoryOptions {
        /// Number of network evaluations that are cached for positions that occur again.
        nn_cache_size: usize = 2_000_000, in 0..=999_999_999, "NNCacheSize", "nncache";
        /// Memory limit in MB for tree, cache and batches together, without the network and the program. 0
        /// uses four fifths of the memory of the machine or container, and less than 20 counts as 20. At the
        /// limit the search continues and frees the positions with the fewest visits.
        ram_limit_mb: Option<NonZero<usize>> = None, in 0..=100_000_000, "RamLimitMb", "ramlimit-mb";
    }
}

/// The evaluation cache takes at most `RamLimitMb` divided by this.
const CACHE_DIVISOR: usize = 4;

/// The memory of a search beside tree, cache and batches, bytes: the game, what is reported of it …
const SEARCH_BYTES: u64 = 500_000;
/// … and for each of its threads stack, lists of what is pruned, and what the allocator keeps for it.
const THREAD_BYTES: u64 = 1_000_000;

/// The share of the system's memory that a search without `RamLimitMb` may take. Network and program have the
/// rest.
const SYSTEM_SHARE: (u64, u64) = (4, 5);

/// The least `RamLimitMb`: smaller trees are of no use to a search.
const LEAST_MB: usize = 20;

impl MemoryOptions {
    /// Returns the bytes that a search may take, or `None` if no limit is set or known. Without a limit of
    /// the user's the system's memory is one: to be ended by the system in the middle of a game is worse than
    /// to forget what was visited least.
    fn limit_bytes(&self) -> Option<usize> {
        let set = self.ram_limit_mb.map(|mb| mb.get().max(LEAST_MB) * 1_000_000);
        let of_system = || usize::try_from(system_limit()? / SYSTEM_SHARE.1 * SYSTEM_SHARE.0).ok();
        set.or_else(of_system)
    }

    /// Returns the options of one of `searches` that run at once beside one cache, whose size these options
    /// give: an equal part of what that leaves, and no cache of their own.
    pub(crate) fn share_of(&self, searches: usize) -> MemoryOptions {
        let cache = EvalCache::full_bytes(self.cache_capacity());
        let share = |bytes: usize| bytes.saturating_sub(cache) / searches.max(1) / 1_000_000;
        let ram_limit_mb = self.limit_bytes().and_then(|bytes| NonZero::new(share(bytes).max(LEAST_MB)));
        MemoryOptions { nn_cache_size: 0, ram_limit_mb }
    }

    pub(crate) fn cache_capacity(&self) -> usize {
        let wanted = self.nn_cache_size;
        self.limit_bytes().map_or(wanted, |bytes| EvalCache::capacity_within(bytes / CACHE_DIVISOR, wanted))
    }
}

/// Returns the bytes that are left for the tree. [`u64::MAX`] if no limit is set or known.
pub(super) fn tree_limit(settings: &Settings, backend: &dyn Backend) -> u64 {
    let others = EvalCache::full_bytes(settings.memory.cache_capacity()) as u64
        + thread_bytes(settings, backend)
        + SEARCH_BYTES;
    settings.memory.limit_bytes().map_or(u64::MAX, |bytes| (bytes as u64).saturating_sub(others))
}

fn thread_bytes(settings: &Settings, backend: &dyn Backend) -> u64 {
    let info = backend.info();
    let threads = settings.network.threads.map_or(info.preferred_threads, NonZero::get);
    let positions = settings.search.minibatch_size.map_or(info.preferred_batch, NonZero::get);
    let positions = positions.min(info.max_batch);
    // Those of the device, the next one, and the one that is filled.
    let batches = if info.queues == 0 { 1 } else { info.queues + 2 };
    threads as u64 * (THREAD_BYTES + batches as u64 * buffer_bytes(positions))
}

/// The options that an evaluation cache and what it holds depend on, beside the network.
#[derive(Debug, PartialEq)]
pub(super) struct CacheSettings {
    capacity: usize,
    policy_temperature: f32,
    history_fill: HistoryFill,
}

impl CacheSettings {
    pub(super) fn of(settings: &Settings) -> CacheSettings {
        CacheSettings {
            capacity: settings.memory.cache_capacity(),
            policy_temperature: settings.search.policy_temperature,
            history_fill: settings.search.history_fill,
        }
    }
}

/// Returns the bytes after which the system would end this process: the least limit of its control groups, or
/// the machine's memory.
fn system_limit() -> Option<u64> {
    static LIMIT: LazyLock<Option<u64>> =
        LazyLock::new(
            || if cfg!(target_os = "linux") { limit_below(Path::new("/")) } else { system::memory() },
        );
    *LIMIT
}

fn limit_below(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let machine = read("proc/meminfo").and_then(|text| system::bytes(&text, "MemTotal"));
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(group_folder).flat_map(|(folder, name)| {
        let file = if folder.ends_with("memory") { "memory.limit_in_bytes" } else { "memory.max" };
        // A limit holds for all groups below. A container sees its own group as the first one, or not by its
        // name.
        let groups: Vec<_> = Path::new(name).ancestors().map(Path::to_path_buf).collect();
        let limit = move |group: &Path| {
            let group = group.strip_prefix("/").unwrap_or(group);
            fs::read_to_string(root.join(folder).join(group).join(file)).ok()?.trim().parse::<u64>().ok()
        };
        groups.into_iter().filter_map(move |group| limit(&group)).collect::<Vec<_>>()
    });
    of_groups.chain(machine).min()
}

/// Reads a line of `/proc/self/cgroup`: where the files about memory begin, and the group's name. `None` for
/// other controllers.
fn group_folder(line: &str) -> Option<(&'static str, &str)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, name) = (fields.next()?, fields.next()?);
    match controllers {
        "" => Some(("sys/fs/cgroup", name)),
        _ => controllers.split(',').any(|it| it == "memory").then_some(("sys/fs/cgroup/memory", name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_with(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        limit_below(root.path())
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:       16000 kB\nMemFree: 1 kB\n");

    #[test]
    fn a_container_s_limit_counts_where_it_is_below_the_machine_s_memory() {
        let (group, memory) = ("proc/self/cgroup", "sys/fs/cgroup/memory");
        assert_eq!(limit_with(&[]), None);
        assert_eq!(limit_with(&[MACHINE]), Some(16_384_000));
        // Version 2, in the group's own namespace, of a group of a service, and without a limit.
        let own = [MACHINE, (group, "0::/\n"), ("sys/fs/cgroup/memory.max", "5000000\n")];
        assert_eq!(limit_with(&own), Some(5_000_000));
        let service = [
            MACHINE,
            (group, "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "4000000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ];
        assert_eq!(limit_with(&service), Some(4_000_000));
        let none = [MACHINE, (group, "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")];
        assert_eq!(limit_with(&none), Some(16_384_000));
        // Version 1, where a container's files do not lie under the name that the machine has for it.
        let names = "8:pids:/x\n4:memory:/docker/f00\n0::/\n";
        let limit = format!("{memory}/memory.limit_in_bytes");
        assert_eq!(limit_with(&[MACHINE, (group, names), (&limit, "3000000\n")]), Some(3_000_000));
        assert_eq!(
            limit_with(&[MACHINE, (group, names), (&limit, "9223372036854771712\n")]),
            Some(16_384_000)
        );
    }

    #[test]
    fn this_machine_tells_its_memory() {
        assert!(system_limit().is_some_and(|bytes| bytes > 100_000_000));
    }
}
