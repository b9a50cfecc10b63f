//! Options that Lc0 has and this engine has no use for: their names are accepted, so that saved settings carry over, and
//! what is done instead is told. Used by `uci`.

const OWN_BATCHES: &str = "each search thread gathers and backs up a batch of its own, without helpers";
const BATCHES_WAIT_FOR_NOBODY: &str = "how large a batch is follows from tree, clock and device, see MinibatchSize; it is not cut short for an idle device";

/// Names with what is done instead.
const ELSEWHERE: [(&str, &str); 14] = [
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
pub fn instead_of(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, instead)| *instead)
}

/// The same for Lc0's flag of this name, written without dashes in front.
pub fn flag_instead_of(flag: &str) -> Option<&'static str> {
    match flag {
        "config" => instead_of("ConfigFile"),
        "preload" => Some("the network is loaded at isready"),
        _ => instead_of(&flag.replace('-', "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Settings;

    #[test]
    fn no_option_of_ours_is_without_effect() {
        assert!(ELSEWHERE.is_sorted());
        assert!(ELSEWHERE.iter().all(|(name, _)| Settings::spec(name).is_err()));
        assert!(Settings::SPECS.iter().all(|spec| instead_of(spec.name).is_none()));
        assert_eq!(instead_of("taskworkers"), Some(OWN_BATCHES));
        assert_eq!(flag_instead_of("task-workers"), Some(OWN_BATCHES));
        assert!(flag_instead_of("config").is_some() && flag_instead_of("threads").is_none());
        assert!(Settings::SPECS.iter().all(|spec| flag_instead_of(spec.flag).is_none()));
    }
}
