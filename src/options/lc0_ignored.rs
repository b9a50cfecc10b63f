//! The options of Lc0 that this engine has no use for. Their names are accepted, so that saved settings carry over, and
//! the user is told what is done instead. `uci` lists them, as some GUIs send only what an engine lists. Used by `engine`,
//! `uci` and `tools`.

use super::{OptionKind, OptionSpec};

const OWN_BATCHES: &str =
    "Has no effect: each search thread gathers and backs up a batch of its own, without helpers.";
const BATCHES_WAIT_FOR_NOBODY: &str = "Has no effect: how large a batch is follows from tree, clock and device, see MinibatchSize; it is not cut short for an idle device.";

/// The options, with Lc0's types, defaults and ranges. The help says what is done instead.
pub static IGNORED_OPTIONS: [OptionSpec; 13] = [
    OptionSpec {
        name: "CacheHistoryLength",
        flag: "cache-history-length",
        kind: OptionKind::Integer { default: 0, min: 0, max: 7 },
        help: "Has no effect: a position is found in the cache by itself, its fifty-move counter and its repetitions.",
    },
    OptionSpec {
        name: "ConfigFile",
        flag: "config",
        kind: OptionKind::Text { default: String::new() },
        help: "Has no effect under UCI, as the file is read at the start: the flag --config names another one.",
    },
    OptionSpec {
        name: "GarbageCollectionDelay",
        flag: "garbage-collection-delay",
        kind: OptionKind::Decimal { default: 10.0, min: 0.0, max: 100.0 },
        help: "Has no effect: what the game has left behind is freed in the background at once.",
    },
    OptionSpec {
        name: "IdlingMinimumWork",
        flag: "idling-minimum-work",
        kind: OptionKind::Integer { default: 0, min: 0, max: 10_000 },
        help: BATCHES_WAIT_FOR_NOBODY,
    },
    OptionSpec {
        name: "MaxConcurrentSearchers",
        flag: "max-concurrent-searchers",
        kind: OptionKind::Integer { default: 1, min: 0, max: 128 },
        help: "Has no effect: all search threads gather at the same time, without a lock.",
    },
    OptionSpec {
        name: "MinimumPerTaskProcessing",
        flag: "minimum-per-task-processing",
        kind: OptionKind::Integer { default: 8, min: 1, max: 100_000 },
        help: OWN_BATCHES,
    },
    OptionSpec {
        name: "MinimumPickingWork",
        flag: "minimum-picking-work",
        kind: OptionKind::Integer { default: 1, min: 1, max: 100_000 },
        help: OWN_BATCHES,
    },
    OptionSpec {
        name: "MinimumProcessingWork",
        flag: "minimum-processing-work",
        kind: OptionKind::Integer { default: 20, min: 2, max: 100_000 },
        help: OWN_BATCHES,
    },
    OptionSpec {
        name: "MinimumRemainingPickingWork",
        flag: "minimum-remaining-picking-work",
        kind: OptionKind::Integer { default: 20, min: 0, max: 100_000 },
        help: OWN_BATCHES,
    },
    OptionSpec {
        name: "SearchSpinBackoff",
        flag: "search-spin-backoff",
        kind: OptionKind::Switch { default: false },
        help: "Has no effect: threads that wait sleep; none spins.",
    },
    OptionSpec {
        name: "SolidTreeThreshold",
        flag: "solid-tree-threshold",
        kind: OptionKind::Integer { default: 100, min: 1, max: 2_000_000_000 },
        help: "Has no effect: the children of a node lie together from the beginning.",
    },
    OptionSpec {
        name: "TaskWorkers",
        flag: "task-workers",
        kind: OptionKind::Integer { default: -1, min: -1, max: 128 },
        help: OWN_BATCHES,
    },
    OptionSpec {
        name: "ThreadIdlingThreshold",
        flag: "thread-idling-threshold",
        kind: OptionKind::Integer { default: 1, min: 0, max: 128 },
        help: BATCHES_WAIT_FOR_NOBODY,
    },
];

/// Returns Lc0's option of this name, in any case, or with this flag, if it is one that has no effect here.
pub fn ignored_option(name: &str) -> Option<&'static OptionSpec> {
    IGNORED_OPTIONS.iter().find(|spec| spec.is_named(name))
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
