//! Finds the network where the user names none.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folders;
use super::weights::{HeadChoice, NetworkError, NetworkFile, begins_as_network};
use crate::note::Note;

/// Of the names of network files.
pub const ENDINGS: [&str; 3] = [".pb.gz", ".pb", ".onnx"];
/// Lc0's least size of a network file with another name, in bytes.
const LEAST_SIZE: u64 = 500_000;
/// Beside the program.
pub const NETWORKS: &str = "networks";
const FOLDERS: [&str; 4] = ["", NETWORKS, "weights", "models"];

/// The network in the program: file name and content. `build.rs` finds it.
const BUILT_IN: (&str, &[u8]) = (
    env!("ZEITNOT_EMBEDDED_NAME"),
    include_bytes!(env!("ZEITNOT_EMBEDDED")),
);

pub const BUILT_IN_MARK: &str = " (built in)";

pub(crate) const BUILT_IN_NAME: &str = "<built in>";

/// Whether a name is that of the network in the program, also as it is shown.
pub fn is_built_in(name: &Path) -> bool {
    name == Path::new(BUILT_IN_NAME) || name == Path::new(&format!("{}{BUILT_IN_MARK}", BUILT_IN.0))
}

/// `passed_over` is empty if a network was named.
#[derive(Debug)]
pub struct Discovered {
    pub network: NetworkFile,
    /// Why newer files cannot be used.
    pub passed_over: Vec<Note>,
}

/// Reads the network `named`, or else the newest readable file.
///
/// As in Lc0 the search covers the program's folder and `networks`, `weights` and `models` there. Without a
/// file it takes the built-in network.
///
/// Fails if the named or built-in network cannot be used.
pub fn load(named: Option<&Path>, heads: HeadChoice) -> Result<Discovered, NetworkError> {
    match named {
        Some(name) if is_built_in(name) => newest_or_built_in(&[], heads),
        Some(path) => Ok(Discovered {
            network: NetworkFile::load(path, heads)?,
            passed_over: Vec::new(),
        }),
        None => newest_or_built_in(&folders::beside_the_program(&FOLDERS), heads),
    }
}

fn newest_or_built_in(folders: &[PathBuf], heads: HeadChoice) -> Result<Discovered, NetworkError> {
    let mut passed_over = Vec::new();
    for path in candidates(folders) {
        match NetworkFile::load(&path, heads) {
            Ok(network) => return Ok(Discovered { network, passed_over }),
            Err(error) => passed_over.push(format!("beside the program, but not usable: {error}").into()),
        }
    }
    let (name, bytes) = BUILT_IN;
    let network = NetworkFile::from_bytes(Path::new(&format!("{name}{BUILT_IN_MARK}")), bytes, heads)?;
    Ok(Discovered { network, passed_over })
}

/// Files in `folders` named like networks, or large enough and beginning like one, newest first.
fn candidates(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let metadata = fs::metadata(entry.path())
                .ok()
                .filter(|metadata| metadata.is_file())?;
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            let is_called_so = ENDINGS.iter().any(|ending| name.ends_with(ending));
            let is_one = is_called_so || (metadata.len() >= LEAST_SIZE && begins_as_network(&entry.path()));
            is_one.then_some((metadata.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    files.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_file_with_a_networks_name_is_tried_first() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for (age, name) in [
            (3, "old.pb.gz"),
            (1, "new.PB"),
            (2, "middle.onnx"),
            (0, "notes.txt"),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        let names: Vec<_> = candidates(&[folder.path().to_path_buf()])
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["new.PB", "middle.onnx", "old.pb.gz"]);
    }

    #[test]
    fn a_network_needs_no_ending_if_it_begins_like_one() {
        let folder = tempfile::tempdir().unwrap();
        let (_, bytes) = BUILT_IN;
        for (name, content) in [
            ("weights_run1_812345", bytes),
            ("large", &[b'x'; 600_000]),
            ("small", &bytes[..1000]),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let folders = [folder.path().join("none"), folder.path().into()];
        let found = newest_or_built_in(&folders, HeadChoice::default()).unwrap();
        assert_eq!(found.network.path, folder.path().join("weights_run1_812345"));
        assert_eq!(found.passed_over, []);
    }

    #[test]
    fn without_a_usable_file_the_built_in_network_is_taken_and_the_files_refused_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let bad = folder.path().join("bad.pb.gz");
        fs::write(&bad, "no network").unwrap();
        let folders = [folder.path().join("missing"), folder.path().into()];
        let found = newest_or_built_in(&folders, HeadChoice::default()).unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/zeitnot-small.pb.gz");
        let outside = NetworkFile::load(&file, HeadChoice::default()).unwrap();
        assert_eq!(
            (found.network.sha256, found.network.size),
            (outside.sha256, outside.size)
        );
        assert_eq!(found.network.path, Path::new("zeitnot-small.pb.gz (built in)"));
        for name in [BUILT_IN_NAME, "zeitnot-small.pb.gz (built in)"] {
            let named = load(Some(Path::new(name)), HeadChoice::default()).unwrap();
            assert_eq!(named.network.path, found.network.path, "{name}");
        }
        let start = format!("beside the program, but not usable: {}: ", bad.display());
        let passed_over = found.passed_over;
        assert!(
            passed_over.len() == 1 && passed_over[0].to_string().starts_with(&start),
            "{passed_over:?}"
        );
    }
}
