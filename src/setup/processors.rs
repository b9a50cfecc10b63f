//! The processors this program may use, as Linux describes them: hyper-threads and NUMA nodes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Serialize;

use zeitnot_engine::network::cores;

/// Lists of processors end here, whatever a file says.
const MOST: usize = 8192;
const CPUS: &str = "sys/devices/system/cpu";

/// A processor runs one thread. Systems other than Linux report only their number.
#[derive(Clone, Default, PartialEq, Serialize)]
pub(crate) struct Processors {
    /// As many as this program may keep busy at once.
    pub(crate) usable: usize,
    /// All on which its threads may run. Like all that follows, 0 if unknown.
    allowed: usize,
    /// Of the allowed processors.
    cores: usize,
    nodes: usize,
}

impl Processors {
    pub(super) fn this() -> Processors {
        Processors::read(Path::new("/"), cores())
    }

    /// `usable` processors are busy for this program.
    fn read(root: &Path, usable: usize) -> Processors {
        let allowed = allowed(root);
        let siblings = |&cpu: &usize| list(root, &format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"));
        // A processor without siblings is a core.
        let core = |cpu| siblings(cpu).and_then(|all| all.first().copied()).unwrap_or(*cpu);
        let cores = allowed.iter().map(core).collect::<BTreeSet<_>>().len();
        Processors {
            usable,
            allowed: allowed.len(),
            cores,
            nodes: nodes(root, &allowed),
        }
    }

    /// Describes hyper-threads and NUMA nodes. `None` on a plain machine.
    pub(super) fn in_words(&self) -> Option<String> {
        let Processors {
            allowed,
            cores,
            nodes,
            ..
        } = *self;
        let parts = [
            (cores < allowed).then(|| format!("{allowed} threads on {cores} cores")),
            (nodes > 1).then(|| format!("{nodes} nodes of memory")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The processors on which this program's threads may run.
pub(crate) fn allowed(root: &Path) -> BTreeSet<usize> {
    let status = read(root, "proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(numbers).unwrap_or_default()
}

fn nodes(root: &Path, allowed: &BTreeSet<usize>) -> usize {
    const NODES: &str = "sys/devices/system/node";
    let with_processors = list(root, &format!("{NODES}/has_cpu")).unwrap_or_default();
    let processors = |node: &usize| list(root, &format!("{NODES}/node{node}/cpulist")).unwrap_or_default();
    with_processors
        .into_iter()
        .filter(|node| !processors(node).is_disjoint(allowed))
        .count()
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
            files.write(
                "proc/self/status",
                &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"),
            )
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
            cpus.fold(self, |files, cpu| {
                files.write(&format!("{CPUS}/cpu{cpu}/{file}"), &text(cpu))
            })
        }

        fn read(&self, usable: usize) -> Processors {
            Processors::read(self.0.path(), usable)
        }
    }

    #[test]
    fn two_sockets_are_two_nodes_of_memory() {
        let files = Files::of("0-63")
            .each(0..64, "topology/thread_siblings_list", |cpu| {
                format!("{},{}", cpu % 32, cpu % 32 + 32)
            })
            .write("sys/devices/system/node/has_cpu", "0-1\n")
            .write("sys/devices/system/node/node0/cpulist", "0-15,32-47\n")
            .write("sys/devices/system/node/node1/cpulist", "16-31,48-63\n");
        let processors = files.read(64);
        assert_eq!(
            processors.in_words().unwrap(),
            "64 threads on 32 cores, 2 nodes of memory"
        );
        let pinned = files
            .write("proc/self/status", "Cpus_allowed_list:\t0-15\n")
            .read(16);
        assert_eq!(pinned.in_words(), None);
    }

    #[test]
    fn where_nothing_is_told_only_the_number_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let processors = Processors::read(folder.path(), 6);
        assert_eq!(processors.in_words(), None);
        let odd = Files::of("0-5").each(0..6, "topology/thread_siblings_list", |_| "x".into());
        assert_eq!(odd.read(6).in_words(), None);
    }

    #[test]
    fn lists_are_read_whatever_they_hold() {
        assert_eq!(numbers("0-2,8\n"), BTreeSet::from([0, 1, 2, 8]));
        assert_eq!(numbers(""), BTreeSet::new());
        assert_eq!(numbers("3-1,x,-,7"), BTreeSet::from([7]));
        assert_eq!(numbers("0-99999999999999").len(), MOST + 1);
    }
}
