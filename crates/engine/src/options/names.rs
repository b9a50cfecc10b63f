//! Names that are not those of an option of ours, and are taken all the same.
//!
//! Some are second names of our options: those which UCI and other engines have made common, and flags that
//! Lc0 spells otherwise. Others are options of Lc0 that this engine has no use for: they are accepted, so
//! that saved settings carry over, and the user is told what is done instead. `uci` lists them, as some GUIs
//! send only what an engine lists.

use super::{OptionKind, OptionSpec, Visibility};

const OWN_BATCHES: &str =
    "Has no effect: each search thread gathers and backs up its own batch, without helper threads.";
const BATCHES_WAIT_FOR_NOBODY: &str = "Has no effect: the batch size depends on tree, clock and device, as MinibatchSize describes. It is not reduced for an idle device.";

/// Lc0's options without effect here, with Lc0's types, defaults and ranges. The help says what is done
/// instead.
pub static IGNORED_OPTIONS: [OptionSpec; 13] = [
    ignored(
        "CacheHistoryLength",
        "cache-history-length",
        integer(0, 0, 7),
        "Has no effect: the cache identifies a position by its board, its fifty-move counter and its repetitions.",
    ),
    ignored(
        "ConfigFile",
        "config",
        OptionKind::Text { default: String::new() },
        "Has no effect under UCI: the file is read at startup. The flag --config selects another file.",
    ),
    ignored(
        "GarbageCollectionDelay",
        "garbage-collection-delay",
        OptionKind::Decimal { default: 10.0, min: 0.0, max: 100.0 },
        "Has no effect: nodes that are no longer needed are freed in the background at once.",
    ),
    ignored("IdlingMinimumWork", "idling-minimum-work", integer(0, 0, 10_000), BATCHES_WAIT_FOR_NOBODY),
    ignored(
        "MaxConcurrentSearchers",
        "max-concurrent-searchers",
        integer(1, 0, 128),
        "Has no effect: all search threads gather at the same time, without a lock.",
    ),
    ignored("MinimumPerTaskProcessing", "minimum-per-task-processing", integer(8, 1, 100_000), OWN_BATCHES),
    ignored("MinimumPickingWork", "minimum-picking-work", integer(1, 1, 100_000), OWN_BATCHES),
    ignored("MinimumProcessingWork", "minimum-processing-work", integer(20, 2, 100_000), OWN_BATCHES),
    ignored(
        "MinimumRemainingPickingWork",
        "minimum-remaining-picking-work",
        integer(20, 0, 100_000),
        OWN_BATCHES,
    ),
    ignored(
        "SearchSpinBackoff",
        "search-spin-backoff",
        OptionKind::Switch { default: false },
        "Has no effect: waiting threads sleep instead of spinning.",
    ),
    ignored(
        "SolidTreeThreshold",
        "solid-tree-threshold",
        integer(100, 1, 2_000_000_000),
        "Has no effect: the children of a node are always stored together.",
    ),
    ignored("TaskWorkers", "task-workers", integer(-1, -1, 128), OWN_BATCHES),
    ignored("ThreadIdlingThreshold", "thread-idling-threshold", integer(1, 0, 128), BATCHES_WAIT_FOR_NOBODY),
];

const fn integer(default: i64, min: i64, max: i64) -> OptionKind {
    OptionKind::Integer { default, min, max }
}

const fn ignored(name: &'static str, flag: &'static str, kind: OptionKind, help: &'static str) -> OptionSpec {
    OptionSpec { name, flag, kind, help, visibility: Visibility::Normal, meanings: Vec::new(), before: None }
}

/// Returns Lc0's option of this name, in any case, or with this flag, if it is one that has no effect here.
pub fn ignored_option(name: &str) -> Option<&'static OptionSpec> {
    IGNORED_OPTIONS.iter().find(|spec| spec.is_named(name))
}

/// An option's second name.
#[derive(Debug, PartialEq)]
pub struct OtherName {
    /// The second name under UCI.
    pub name: &'static str,
    /// The second flag.
    pub flag: &'static str,
    pub option: &'static str,
    /// A sentence on what it is.
    pub help: &'static str,
}

impl OtherName {
    /// Returns true if `name` is this name, in any case, or its flag.
    pub(crate) fn is_named(&self, name: &str) -> bool {
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

/// Returns the name of an option that has two, as it is listed, and its other one, or `None` if `name` is no
/// such name.
pub fn both_names(name: &str) -> Option<[&'static str; 2]> {
    let own = own_name(name);
    let other = OTHER_NAMES.iter().find(|other| other.option.eq_ignore_ascii_case(own))?;
    Some(if other.is_named(name) { [other.name, other.option] } else { [other.option, other.name] })
}

/// Returns the own name of the option that `name` means. `name` itself unless it is a second one.
pub(crate) fn own_name(name: &str) -> &str {
    OTHER_NAMES.iter().find(|other| other.is_named(name)).map_or(name, |other| other.option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_name_and_flag() {
        assert!(IGNORED_OPTIONS.iter().is_sorted_by_key(|spec| spec.name));
        for spec in &IGNORED_OPTIONS {
            assert!(spec.help.starts_with("Has no effect"), "{}", spec.name);
            assert_eq!(ignored_option(&spec.name.to_lowercase()), Some(spec));
            assert_eq!(ignored_option(spec.flag), Some(spec));
        }
        assert_eq!(ignored_option("threads"), None);
    }
}
