//! The options of Lc0 that this engine has no use for. Their names are accepted, so that saved settings carry over, and
//! the user is told what is done instead. Used by `uci` and `tools`.

const OWN_BATCHES: &str = "each search thread gathers and backs up a batch of its own, without helpers";
const BATCHES_WAIT_FOR_NOBODY: &str = "how large a batch is follows from tree, clock and device, see MinibatchSize; it is not cut short for an idle device";

/// The names of the options, with what is done instead.
pub const IGNORED_OPTIONS: [(&str, &str); 14] = [
    (
        "CacheHistoryLength",
        "a position is found in the cache by itself, its fifty-move counter and its repetitions",
    ),
    ("ClearTree", "ucinewgame clears the tree"),
    ("ConfigFile", "options come from the command line and by setoption"),
    ("GarbageCollectionDelay", "what the game has left behind is freed in the background at once"),
    ("IdlingMinimumWork", BATCHES_WAIT_FOR_NOBODY),
    ("MaxConcurrentSearchers", "all search threads gather at the same time, without a lock"),
    ("MinimumPerTaskProcessing", OWN_BATCHES),
    ("MinimumPickingWork", OWN_BATCHES),
    ("MinimumProcessingWork", OWN_BATCHES),
    ("MinimumRemainingPickingWork", OWN_BATCHES),
    ("SearchSpinBackoff", "threads that wait sleep; none spins"),
    ("SolidTreeThreshold", "the children of a node lie together from the beginning"),
    ("TaskWorkers", OWN_BATCHES),
    ("ThreadIdlingThreshold", BATCHES_WAIT_FOR_NOBODY),
];

/// Returns what is done instead of Lc0's option of this name, in any case; `None` for all other names.
pub fn ignored_option(name: &str) -> Option<&'static str> {
    IGNORED_OPTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, instead)| *instead)
}

/// Returns what is done instead of Lc0's flag of this name, written without dashes in front.
pub fn ignored_flag(flag: &str) -> Option<&'static str> {
    match flag {
        "config" => ignored_option("ConfigFile"),
        "preload" => Some("the network is loaded at isready"),
        _ => ignored_option(&flag.replace('-', "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_flags_are_known() {
        assert!(IGNORED_OPTIONS.is_sorted());
        assert_eq!(ignored_option("taskworkers"), Some(OWN_BATCHES));
        assert_eq!(ignored_flag("task-workers"), Some(OWN_BATCHES));
        assert!(ignored_flag("config").is_some() && ignored_flag("threads").is_none());
    }
}
