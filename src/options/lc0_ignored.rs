//! Options that Lc0 has and this engine has no use for: their names are accepted, so that saved settings carry over, and
//! what is done instead is told. Used by `uci`.

const OWN_BATCHES: &str = "each search thread gathers and backs up a batch of its own, without helpers";
const BATCHES_WAIT_FOR_NOBODY: &str = "how large a batch is follows from tree, clock and device, see MinibatchSize; it is not cut short for an idle device";

/// Names with what is done instead.
const IGNORED: [(&str, &str); 14] = [
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

/// What is done in the place of Lc0's option of this name, in any case; `None` for all other names.
pub fn ignored_option(name: &str) -> Option<&'static str> {
    IGNORED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, instead)| *instead)
}

/// The same for Lc0's flag of this name, written without dashes in front.
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
    use crate::options::Settings;

    #[test]
    fn no_option_of_ours_is_without_effect() {
        assert!(IGNORED.is_sorted());
        assert!(IGNORED.iter().all(|(name, _)| Settings::spec(name).is_err()));
        assert!(Settings::SPECS.iter().all(|spec| ignored_option(spec.name).is_none()));
        assert_eq!(ignored_option("taskworkers"), Some(OWN_BATCHES));
        assert_eq!(ignored_flag("task-workers"), Some(OWN_BATCHES));
        assert!(ignored_flag("config").is_some() && ignored_flag("threads").is_none());
        assert!(Settings::SPECS.iter().all(|spec| ignored_flag(spec.flag).is_none()));
    }
}
