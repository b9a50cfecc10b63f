//! Finds the network to use where the user names none.
//!
//! Tools and engine use it before they make a backend; it uses `weights` to see whether a file is a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use thiserror::Error;

use super::folders;
use super::weights::{HeadChoice, NetworkError, NetworkFile};

/// The endings of the names of network files.
const ENDINGS: [&str; 3] = [".pb.gz", ".pb", ".onnx"];

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

/// Reads the network `named`, or where none is named the one that was built into the program (feature `embed`), or else
/// the newest file that can be read.
///
/// The folders are `models` beside the program, `models` in the source tree that the program was built from, and the
/// working folder, in this order: the first folder that has a network wins. [`NetworkFile::path`] names the file that
/// was read.
///
/// # Errors
/// Returns [`DiscoverError`].
pub fn load(named: Option<&Path>, heads: HeadChoice) -> Result<NetworkFile, DiscoverError> {
    match (named, EMBEDDED) {
        (Some(path), _) => Ok(NetworkFile::load(path, heads)?),
        (None, Some((file, bytes))) => Ok(NetworkFile::from_bytes(&embedded_name(file), bytes, heads)?),
        (None, None) => newest_in(default_folders(), heads),
    }
}

/// Returns the path under which people see an embedded network.
fn embedded_name(file: &str) -> PathBuf {
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    format!("{name} (built in)").into()
}

fn default_folders() -> Vec<PathBuf> {
    let beside = folders::executable().map(|folder| folder.join("models"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let working = std::env::current_dir().ok();
    beside.into_iter().chain([source]).chain(working).collect()
}

fn newest_in(folders: Vec<PathBuf>, heads: HeadChoice) -> Result<NetworkFile, DiscoverError> {
    let mut refused = Vec::new();
    for path in folders.iter().flat_map(|folder| candidates(folder)) {
        match NetworkFile::load(&path, heads) {
            Ok(network) => return Ok(network),
            Err(error) => refused.push(error),
        }
    }
    Err(DiscoverError::NoneFound { folders, refused })
}

/// Returns the files in `folder` that are called like networks, newest first.
fn candidates(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            ENDINGS.iter().any(|ending| name.ends_with(ending))
        })
        .filter_map(|entry| Some((fs::metadata(entry.path()).ok()?.modified().ok()?, entry.path())))
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
        let names: Vec<_> = candidates(folder.path())
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["new.PB", "middle.onnx", "old.pb.gz"]);
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
        let folders = vec![folder.path().join("missing"), folder.path().to_path_buf()];
        let error = newest_in(folders, HeadChoice::default()).unwrap_err().to_string();
        let dir = folder.path().display();
        assert!(
            error.contains(&format!("into {dir}/missing or {dir}; not usable: {}: ", bad.display())),
            "{error}"
        );
    }
}
