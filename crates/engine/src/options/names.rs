//! Other names that are taken all the same.
//!
//! Some are common second names of our options. Others are options of Lc0 without use here, so that saved
//! settings carry over: the user is told what is done instead. `uci` lists them, as some GUIs send only what
//! an engine lists.

use std::sync::LazyLock;

use super::group::{OptionGroup, option_group};
use super::value::OptionSpec;

option_group! {
    /// Lc0's options without effect here, with Lc0's types, defaults and ranges. The help says what is done
    /// instead.
    struct WithoutEffect {
        /// Has no effect: the cache identifies a position by its board, its fifty-move counter and its
        /// repetitions.
        cache_history_length: u32 = 0, in 0..=7, "CacheHistoryLength", "cache-history-length";
        /// Has no effect under UCI: the file is read at startup. The flag --config selects another file.
        config: String = String::new(), "ConfigFile", "config";
        /// Has no effect: nodes that are no longer needed are freed in the background at once.
        garbage_collection_delay: f64 = 10.0, in 0.0..=100.0, "GarbageCollectionDelay", "garbage-collection-delay";
        /// Has no effect: the batch size depends on tree, clock and device, as MinibatchSize describes. It is
        /// not reduced for an idle device.
        idling_minimum_work: u32 = 0, in 0..=10_000, "IdlingMinimumWork", "idling-minimum-work";
        /// Has no effect: all search threads gather at the same time, without a lock.
        max_concurrent_searchers: u32 = 1, in 0..=128, "MaxConcurrentSearchers", "max-concurrent-searchers";
        /// Has no effect: each search thread gathers and backs up its own batch, without helper threads.
        minimum_per_task: u32 = 8, in 1..=100_000, "MinimumPerTaskProcessing", "minimum-per-task-processing";
        /// Has no effect: each search thread gathers and backs up its own batch, without helper threads.
        minimum_picking: u32 = 1, in 1..=100_000, "MinimumPickingWork", "minimum-picking-work";
        /// Has no effect: each search thread gathers and backs up its own batch, without helper threads.
        minimum_processing: u32 = 20, in 2..=100_000, "MinimumProcessingWork", "minimum-processing-work";
        /// Has no effect: each search thread gathers and backs up its own batch, without helper threads.
        minimum_remaining: u32 = 20, in 0..=100_000, "MinimumRemainingPickingWork", "minimum-remaining-picking-work";
        /// Has no effect: waiting threads sleep instead of spinning.
        search_spin_backoff: bool = false, "SearchSpinBackoff", "search-spin-backoff";
        /// Has no effect: the children of a node are always stored together.
        solid_tree: u32 = 100, in 1..=2_000_000_000, "SolidTreeThreshold", "solid-tree-threshold";
        /// Has no effect: each search thread gathers and backs up its own batch, without helper threads.
        task_workers: i32 = -1, in -1..=128, "TaskWorkers", "task-workers";
        /// Has no effect: the batch size depends on tree, clock and device, as MinibatchSize describes. It is
        /// not reduced for an idle device.
        thread_idling: u32 = 1, in 0..=128, "ThreadIdlingThreshold", "thread-idling-threshold";
    }
}

pub static IGNORED_OPTIONS: LazyLock<Vec<OptionSpec>> = LazyLock::new(WithoutEffect::declared);

/// Lc0's option without effect here of this name, in any case, or flag.
pub fn ignored_option(name: &str) -> Option<&'static OptionSpec> {
    IGNORED_OPTIONS.iter().find(|spec| spec.is_named(name))
}

#[derive(Debug, PartialEq)]
pub struct OtherName {
    pub name: &'static str,
    pub flag: &'static str,
    pub option: &'static str,
    pub help: &'static str,
}

impl OtherName {
    fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.flag == name
    }
}

/// The second names. A name stands beside the option's own in the list of options.
pub const OTHER_NAMES: [OtherName; 2] = [
    OtherName {
        name: "Hash",
        flag: "hash",
        option: "RamLimitMb",
        help: "The same as RamLimitMb: memory limit in MB for tree, cache and batches. 0 uses four fifths of the memory of the machine or container.",
    },
    OtherName {
        name: "Move Overhead",
        flag: "move-overhead-ms",
        option: "MoveOverheadMs",
        help: "The same as MoveOverheadMs.",
    },
];

/// The name of an option that has two, and its other one. `None` if `name` is no such name.
pub fn both_names(name: &str) -> Option<[&'static str; 2]> {
    let own = own_name(name);
    let other = OTHER_NAMES
        .iter()
        .find(|other| other.option.eq_ignore_ascii_case(own))?;
    Some(if other.is_named(name) {
        [other.name, other.option]
    } else {
        [other.option, other.name]
    })
}

/// The option's own name if `name` is a second one, else `name`.
pub(crate) fn own_name(name: &str) -> &str {
    OTHER_NAMES
        .iter()
        .find(|other| other.is_named(name))
        .map_or(name, |other| other.option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_name_and_flag() {
        assert!(IGNORED_OPTIONS.iter().is_sorted_by_key(|spec| spec.name));
        for spec in IGNORED_OPTIONS.iter() {
            assert!(spec.help.starts_with("Has no effect"), "{}", spec.name);
            assert_eq!(ignored_option(&spec.name.to_lowercase()), Some(spec));
            assert_eq!(ignored_option(spec.flag), Some(spec));
        }
        assert_eq!(ignored_option("threads"), None);
    }
}
