//! Finds the network to use where the user names none.
//!
//! Tools and engine use it before they make a backend; it uses `weights` to see whether a file is a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use thiserror::Error;

use super::folders;
use super::weights::{HeadChoice, NetworkError, NetworkFile, begins_as_network};

/// The endings of the names of network files.
const ENDINGS: [&str; 3] = [".pb.gz", ".pb", ".onnx"];
/// The size from which on a file of another name may be a network, bytes; it is Lc0's.
const LEAST_SIZE: u64 = 500_000;
/// The folders beside the program where networks may lie.
const SUBFOLDERS: [&str; 3] = ["networks", "weights", "models"];

/// Says why there is no network.
#[derive(Debug, Error)]
pub enum DiscoverError {
    /// The file that the user named cannot be used.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// No folder holds a network that can be read.
    #[error(
        "no network found: name one with --weights (or WeightsFile under UCI), or put a .pb.gz file into {}{}",
        list(.folders.iter().map(|folder| folder.display())),
        refused_suffix(.refused)
    )]
    NoneFound {
        /// The folders that were looked into.
        folders: Vec<PathBuf>,
        /// Files there that were tried and refused.
        refused: Vec<NetworkError>,
    },
}

fn list(items: impl Iterator<Item = impl ToString>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(" or ")
}

/// Returns the part of the message on the files that were refused; nothing if there are none.
fn refused_suffix(refused: &[NetworkError]) -> String {
    let reasons: Vec<String> = refused.iter().map(NetworkError::to_string).collect();
    if reasons.is_empty() { String::new() } else { format!("; not usable: {}", reasons.join("; ")) }
}

/// The network in the program itself: the path of its file when the program was built, and the file's content.
#[cfg(feature = "embed")]
const EMBEDDED: Option<(&str, &[u8])> =
    Some((env!("ZEITNOT_EMBEDDED"), include_bytes!(env!("ZEITNOT_EMBEDDED"))));
#[cfg(not(feature = "embed"))]
const EMBEDDED: Option<(&str, &[u8])> = None;

/// A network, and the reason why it was taken, if the user named none.
#[derive(Debug)]
pub struct Discovered {
    /// The network.
    pub network: NetworkFile,
    /// A sentence for people; `None` if they named the network.
    pub reason: Option<String>,
}

/// Folders that are looked into together: the newest network in any of them is taken.
struct Place {
    folders: Vec<PathBuf>,
    /// Where that is, in words.
    name: &'static str,
}

/// Reads the network `named`, or where none is named the newest file that can be read.
///
/// As with Lc0 it is looked for beside the program and in the folders `networks`, `weights` and `models` there; then in the
/// working folder. If there is none, the network that was built into the program (feature `embed`) is taken, or one of
/// `models` in the source tree that the program was built from. [`NetworkFile::path`] names the file that was read.
///
/// # Errors
/// Returns [`DiscoverError`].
pub fn load(named: Option<&Path>, heads: HeadChoice) -> Result<Discovered, DiscoverError> {
    if let Some(path) = named {
        return Ok(Discovered { network: NetworkFile::load(path, heads)?, reason: None });
    }
    let refused = match newest_in(users_places(), heads) {
        Ok(found) => return Ok(found),
        Err(refused) => refused,
    };
    if let Some((file, bytes)) = EMBEDDED {
        let network = NetworkFile::from_bytes(&embedded_name(file), bytes, heads)?;
        let reason = Some("the program's own: no other lies beside it or in the working folder".into());
        return Ok(Discovered { network, reason });
    }
    let source = Place {
        folders: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("models")],
        name: "in the source tree",
    };
    newest_in(vec![source], heads).map_err(|more| more.after(refused).into_error())
}

/// Returns the path under which people see an embedded network.
fn embedded_name(file: &str) -> PathBuf {
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    format!("{name} (built in)").into()
}

/// Returns the places where users put networks.
fn users_places() -> Vec<Place> {
    let beside = folders::executable().map(|folder| {
        let folders = [folder.clone()].into_iter().chain(SUBFOLDERS.map(|name| folder.join(name)));
        Place { folders: folders.collect(), name: "beside the program" }
    });
    let working = std::env::current_dir().ok();
    let working = working.map(|folder| Place { folders: vec![folder], name: "in the working folder" });
    beside.into_iter().chain(working).collect()
}

/// What was looked through in vain.
#[derive(Debug, Default)]
struct NothingFound {
    folders: Vec<PathBuf>,
    refused: Vec<NetworkError>,
}

impl NothingFound {
    /// Returns both, `earlier` first.
    fn after(self, mut earlier: NothingFound) -> NothingFound {
        earlier.folders.extend(self.folders);
        earlier.refused.extend(self.refused);
        earlier
    }

    fn into_error(self) -> DiscoverError {
        DiscoverError::NoneFound { folders: self.folders, refused: self.refused }
    }
}

/// Returns the newest network of the first place that has one which can be read.
fn newest_in(places: Vec<Place>, heads: HeadChoice) -> Result<Discovered, NothingFound> {
    let mut nothing = NothingFound::default();
    for place in places {
        let candidates = candidates(&place.folders);
        let count = candidates.len();
        for path in candidates {
            match NetworkFile::load(&path, heads) {
                Ok(network) => {
                    let which = if count > 1 {
                        format!("the newest of {count} networks")
                    } else {
                        "the network".into()
                    };
                    let reason = Some(format!("{which} {}", place.name));
                    return Ok(Discovered { network, reason });
                }
                Err(error) => nothing.refused.push(error),
            }
        }
        nothing.folders.extend(place.folders);
    }
    Err(nothing)
}

/// Returns the files in `folders` that are called like networks, or that are as large as one and begin like one, newest first.
fn candidates(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let metadata = fs::metadata(entry.path()).ok().filter(|metadata| metadata.is_file())?;
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
        for (age, name) in [(3, "old.pb.gz"), (1, "new.PB"), (2, "middle.onnx"), (0, "notes.txt")] {
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
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/zeitnot-small.pb.gz");
        let bytes = fs::read(own).unwrap();
        for (name, content) in
            [("weights_run1_812345", &bytes[..]), ("large", &[b'x'; 600_000]), ("small", &bytes[..1000])]
        {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let place = Place { folders: vec![folder.path().join("none"), folder.path().into()], name: "here" };
        let found = newest_in(vec![place], HeadChoice::default()).unwrap();
        assert_eq!(found.network.path, folder.path().join("weights_run1_812345"));
        assert_eq!(found.reason.as_deref(), Some("the network here"));
    }

    #[test]
    fn a_network_in_memory_is_read_like_its_file() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/zeitnot-small.pb.gz");
        let name = embedded_name(&file.display().to_string());
        let inside =
            NetworkFile::from_bytes(&name, &fs::read(&file).unwrap(), HeadChoice::default()).unwrap();
        let outside = NetworkFile::load(&file, HeadChoice::default()).unwrap();
        assert_eq!((inside.sha256, inside.size), (outside.sha256, outside.size));
        assert_eq!(inside.path, Path::new("zeitnot-small.pb.gz (built in)"));
    }

    #[test]
    fn the_error_names_the_folders_and_the_files_refused() {
        let folder = tempfile::tempdir().unwrap();
        let bad = folder.path().join("bad.pb.gz");
        fs::write(&bad, "no network").unwrap();
        let place = |folder: PathBuf| Place { folders: vec![folder], name: "there" };
        let places = vec![place(folder.path().join("missing")), place(folder.path().to_path_buf())];
        let error = newest_in(places, HeadChoice::default()).unwrap_err().into_error().to_string();
        let dir = folder.path().display();
        assert!(
            error.contains(&format!("into {dir}/missing or {dir}; not usable: {}: ", bad.display())),
            "{error}"
        );
    }
}
