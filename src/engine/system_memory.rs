//! The memory that the system lets this process have: that of its container, or the machine's. `memory` keeps searches below it.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use crate::system;

/// Returns the bytes after which the system would end this process: the least limit of its control groups, or the memory of the machine;
/// `None` where the system does not tell. It is asked once.
pub(super) fn limit() -> Option<u64> {
    static LIMIT: LazyLock<Option<u64>> =
        LazyLock::new(|| if cfg!(target_os = "linux") { limit_below(Path::new("/")) } else { None });
    *LIMIT
}

/// Returns the limit that the files below `root` tell.
fn limit_below(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let machine = read("proc/meminfo").and_then(|text| system::bytes(&text, "MemTotal"));
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(group_folder).flat_map(|(folder, name)| {
        let file = if folder.ends_with("memory") { "memory.limit_in_bytes" } else { "memory.max" };
        // A limit holds for all groups below. A container sees its own group as the first one, or not by its name.
        let groups: Vec<_> = Path::new(name).ancestors().map(Path::to_path_buf).collect();
        let limit = move |group: &Path| {
            let group = group.strip_prefix("/").unwrap_or(group);
            fs::read_to_string(root.join(folder).join(group).join(file)).ok()?.trim().parse::<u64>().ok()
        };
        groups.into_iter().filter_map(move |group| limit(&group)).collect::<Vec<_>>()
    });
    of_groups.chain(machine).min()
}

/// Reads a line of `/proc/self/cgroup`, `number:controllers:name`. Returns where the files about memory begin, and the group's name; `None`
/// for other controllers.
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

    /// Returns the limit that is found with these files.
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

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_tells_its_memory() {
        assert!(limit().is_some_and(|bytes| bytes > 100_000_000));
    }
}
