//! The processors this program may use, as Linux describes them: hyper-threads, efficiency cores and NUMA
//! nodes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Serialize;

use zeitnot_engine::network::cores;

/// Least share of the fastest core's capacity or frequency of a core that is no efficiency core.
const FAST: f64 = 0.85;
/// Lists of processors end here, whatever a file says.
const MOST: usize = 8192;
const CPUS: &str = "sys/devices/system/cpu";

/// A processor runs one thread. Systems other than Linux report only their number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Processors {
    /// As many as this program may keep busy at once.
    pub(crate) usable: usize,
    /// All on which its threads may run. Like all that follows, 0 if unknown.
    allowed: usize,
    /// Of the allowed processors.
    cores: usize,
    /// Processors of fast cores …
    fast: usize,
    /// … and these cores.
    fast_cores: usize,
    nodes: usize,
    of_a_node: usize,
}

impl Processors {
    pub(super) fn this() -> Processors {
        Processors::read(Path::new("/"), cores())
    }

    /// `usable` processors are busy for this program.
    pub(crate) fn read(root: &Path, usable: usize) -> Processors {
        let allowed = allowed(root);
        let fast = fast_ones(root, &allowed);
        let cores_of = |cpus: &BTreeSet<usize>| {
            let siblings =
                |&cpu: &usize| list(root, &format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"));
            // A processor without siblings is a core.
            let core = |cpu| siblings(cpu).and_then(|all| all.first().copied()).unwrap_or(*cpu);
            cpus.iter().map(core).collect::<BTreeSet<_>>().len()
        };
        let nodes: Vec<usize> = nodes(root, &allowed).iter().map(BTreeSet::len).collect();
        Processors {
            usable,
            allowed: allowed.len(),
            cores: cores_of(&allowed),
            fast: fast.len(),
            fast_cores: cores_of(&fast),
            nodes: nodes.len(),
            of_a_node: nodes.iter().copied().min().unwrap_or(0),
        }
    }

    /// Worth trying: all processors, half of them, one per core, the fast cores, one node.
    pub(crate) fn thread_counts(&self) -> BTreeSet<usize> {
        let Processors { usable, cores, fast, fast_cores, of_a_node, .. } = *self;
        let counts = [usable, usable.div_ceil(2), cores, fast, fast_cores, of_a_node];
        counts.into_iter().filter(|count| (1..=usable).contains(count)).collect()
    }

    /// Describes hyper-threads, efficiency cores and NUMA nodes. `None` on a plain machine.
    pub(super) fn in_words(&self) -> Option<String> {
        let Processors { allowed, cores, fast_cores, nodes, .. } = *self;
        let slow = cores.saturating_sub(fast_cores);
        let parts = [
            (cores < allowed).then(|| format!("{allowed} threads on {cores} cores")),
            (slow > 0).then(|| format!("{slow} efficiency cores")),
            (nodes > 1).then(|| format!("{nodes} nodes of memory")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The processors on which this program's threads may run.
pub(crate) fn allowed(root: &Path) -> BTreeSet<usize> {
    let status = read(root, "proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(numbers).unwrap_or_default()
}

/// Intel's kind `core`, or else about the capacity or frequency of the fastest.
fn fast_ones(root: &Path, allowed: &BTreeSet<usize>) -> BTreeSet<usize> {
    if let Some(fast) = list(root, "sys/devices/cpu_core/cpus") {
        let fast: BTreeSet<_> = fast.intersection(allowed).copied().collect();
        if !fast.is_empty() {
            return fast;
        }
    }
    for file in ["cpu_capacity", "cpufreq/cpuinfo_max_freq"] {
        let speed = |cpu: &usize| read(root, &format!("{CPUS}/cpu{cpu}/{file}"))?.trim().parse::<f64>().ok();
        let speeds: Option<Vec<f64>> = allowed.iter().map(speed).collect();
        if let Some(speeds) = speeds {
            let fastest = speeds.iter().copied().fold(0.0, f64::max);
            let is_fast = |(cpu, speed)| (speed >= FAST * fastest).then_some(cpu);
            return allowed.iter().copied().zip(speeds).filter_map(is_fast).collect();
        }
    }
    allowed.clone()
}

fn nodes(root: &Path, allowed: &BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
    const NODES: &str = "sys/devices/system/node";
    let with_processors = list(root, &format!("{NODES}/has_cpu")).unwrap_or_default();
    let processors = |node| list(root, &format!("{NODES}/node{node}/cpulist")).unwrap_or_default();
    let nodes =
        with_processors.into_iter().map(|node| processors(node).intersection(allowed).copied().collect());
    nodes.filter(|node: &BTreeSet<usize>| !node.is_empty()).collect()
}

fn read(root: &Path, file: &str) -> Option<String> {
    fs::read_to_string(root.join(file)).ok()
}

fn list(root: &Path, file: &str) -> Option<BTreeSet<usize>> {
    read(root, file).map(|text| numbers(&text))
}

/// As in `0-3,8`.
fn numbers(text: &str) -> BTreeSet<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.parse().ok()?..=last.parse::<usize>().ok()?.min(MOST);
        Some(range)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Files(tempfile::TempDir);

    impl Files {
        /// A machine that allows the processors in `allowed`.
        fn of(allowed: &str) -> Files {
            let files = Files(tempfile::tempdir().unwrap());
            files.write("proc/self/status", &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"))
        }

        fn write(self, file: &str, text: &str) -> Files {
            let path = self.0.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn each(
            self,
            cpus: impl Iterator<Item = usize>,
            file: &str,
            text: impl Fn(usize) -> String,
        ) -> Files {
            cpus.fold(self, |files, cpu| files.write(&format!("{CPUS}/cpu{cpu}/{file}"), &text(cpu)))
        }

        fn read(&self, usable: usize) -> Processors {
            Processors::read(self.0.path(), usable)
        }
    }

    fn counts(processors: &Processors) -> Vec<usize> {
        processors.thread_counts().into_iter().collect()
    }

    #[test]
    fn fast_cores_of_a_hybrid_processor_are_told_from_efficiency_cores() {
        // Eight fast cores with two threads each, eight efficiency cores.
        let siblings = |cpu: usize| match cpu {
            0..16 => format!("{}-{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1),
            _ => format!("{cpu}\n"),
        };
        let files = Files::of("0-23").each(0..24, "topology/thread_siblings_list", siblings);
        let files =
            files.write("sys/devices/cpu_core/cpus", "0-15\n").write("sys/devices/cpu_atom/cpus", "16-23\n");
        let processors = files.read(24);
        assert_eq!(processors.in_words().unwrap(), "24 threads on 16 cores, 8 efficiency cores");
        assert_eq!(counts(&processors), [8, 12, 16, 24]);
        assert_eq!(counts(&files.read(2)), [1, 2]);
        // Pinned to efficiency cores: they are all alike.
        let pinned = files.write("proc/self/status", "Cpus_allowed_list:\t16-19\n").read(4);
        assert_eq!((pinned.in_words(), counts(&pinned)), (None, vec![2, 4]));
    }

    #[test]
    fn capacities_and_frequencies_tell_efficiency_cores_too() {
        for (file, fast, slow) in
            [("cpu_capacity", "1024", "446"), ("cpufreq/cpuinfo_max_freq", "5100000", "3300000")]
        {
            let files = Files::of("0-9");
            let files = files.each(0..10, file, |cpu| if cpu < 4 { fast.into() } else { slow.into() });
            let processors = files.read(10);
            assert_eq!(processors.in_words().unwrap(), "6 efficiency cores", "{file}");
            assert_eq!(counts(&processors), [4, 5, 10]);
        }
        // Favoured cores have higher frequencies and are of the same kind.
        let files = Files::of("0-3")
            .each(0..4, "cpufreq/cpuinfo_max_freq", |cpu| (5_000_000 + cpu * 100_000).to_string());
        assert_eq!(files.read(4).in_words(), None);
    }

    #[test]
    fn two_sockets_are_two_nodes_of_memory() {
        let files = Files::of("0-63")
            .each(0..64, "topology/thread_siblings_list", |cpu| format!("{},{}", cpu % 32, cpu % 32 + 32))
            .write("sys/devices/system/node/has_cpu", "0-1\n")
            .write("sys/devices/system/node/node0/cpulist", "0-15,32-47\n")
            .write("sys/devices/system/node/node1/cpulist", "16-31,48-63\n");
        let processors = files.read(64);
        assert_eq!(processors.in_words().unwrap(), "64 threads on 32 cores, 2 nodes of memory");
        assert_eq!(counts(&processors), [32, 64]);
        let pinned = files.write("proc/self/status", "Cpus_allowed_list:\t0-15\n").read(16);
        assert_eq!((pinned.in_words(), counts(&pinned)), (None, vec![8, 16]));
    }

    #[test]
    fn where_nothing_is_told_only_the_number_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let processors = Processors::read(folder.path(), 6);
        assert_eq!((processors.in_words(), counts(&processors)), (None, vec![3, 6]));
        let odd = Files::of("0-5").each(0..6, "topology/thread_siblings_list", |_| "x".into());
        assert_eq!(odd.write("sys/devices/cpu_core/cpus", "").read(6).in_words(), None);
    }

    #[test]
    fn lists_are_read_whatever_they_hold() {
        assert_eq!(numbers("0-2,8\n"), BTreeSet::from([0, 1, 2, 8]));
        assert_eq!(numbers(""), BTreeSet::new());
        assert_eq!(numbers("3-1,x,-,7"), BTreeSet::from([7]));
        assert_eq!(numbers("0-99999999999999").len(), MOST + 1);
    }
}
