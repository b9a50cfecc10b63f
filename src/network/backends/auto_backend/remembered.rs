//! Choices made at earlier starts, in a file of the cache folder: what `auto` took for each version of the program,
//! processor and network.
//!
//! If the file is removed, all choices are made anew. An error with it only costs another measurement.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};

use super::{CANDIDATES, GPUS};
use crate::network::backends::onnxruntime::Provider;
use crate::network::folders;
use crate::network::weights::NetworkFile;
use crate::proc_file;
use crate::version::VERSION;

/// The name of the file in the cache folder.
const FILE: &str = "backends.json";

/// The content of the file: choices by processor and network.
type Choices = BTreeMap<String, StoredChoice>;

/// A choice as it stands in the file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct StoredChoice {
    /// One of [`CANDIDATES`] or [`GPUS`].
    backend: String,
    /// Starts for which it has been a guess; 0 if it was measured.
    guessed: u32,
}

/// A choice that was made at an earlier start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RememberedChoice {
    /// One of [`CANDIDATES`] or [`GPUS`].
    pub(super) backend: &'static str,
    /// Starts for which it has been a guess; 0 if it was measured.
    pub(super) guessed: u32,
}

/// The place of the choice for one network on this processor.
#[derive(Debug)]
pub(super) struct ChoiceFile {
    /// `None` where no cache folder is known.
    path: Option<PathBuf>,
    key: String,
}

impl ChoiceFile {
    /// Returns the place in the cache folder for `network` on this processor with these `gpus`, for this version of the program.
    pub(super) fn of(network: &NetworkFile, gpus: &[&'static str]) -> ChoiceFile {
        ChoiceFile {
            path: folders::cache().map(|cache| cache.join(FILE)),
            key: key(VERSION, gpus, &network.sha256),
        }
    }

    /// Returns the choice that is kept, if there is one that this version understands.
    pub(super) fn read(&self) -> Option<RememberedChoice> {
        let StoredChoice { backend, guessed } = read_choices(self.path.as_deref()?).remove(&self.key)?;
        let mut candidates = CANDIDATES.into_iter().chain(GPUS.map(Provider::name));
        let backend = candidates.find(|candidate| *candidate == backend)?;
        Some(RememberedChoice { backend, guessed })
    }

    /// Keeps a choice in the place of the one before.
    pub(super) fn write(&self, choice: RememberedChoice) {
        let Some(path) = &self.path else { return };
        let mut choices = read_choices(path);
        let RememberedChoice { backend, guessed } = choice;
        choices.insert(self.key.clone(), StoredChoice { backend: backend.into(), guessed });
        let folder = path.parent().unwrap_or(Path::new("."));
        // Written aside and renamed, so that nobody reads half of it.
        let new = folder.join(format!("{FILE}.{}", std::process::id()));
        let text = serde_json::to_string_pretty(&choices).unwrap_or_default();
        // If this fails, the next start measures again.
        let _ = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, path));
    }
}

/// Returns the name of the choice for a network on this processor with these `gpus`. Another version of the program may be faster
/// with another backend.
fn key(version: &str, gpus: &[&'static str], network: &str) -> String {
    let gpus: String = gpus.iter().map(|gpu| format!(", {gpu}")).collect();
    format!("{version}, {}{gpus}, network {network}", processor())
}

fn read_choices(file: &Path) -> Choices {
    fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Returns the processor's name where the system tells it, and how many threads it runs.
fn processor() -> String {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = proc_file::value(&cpu_info, "model name").unwrap_or(std::env::consts::ARCH);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} threads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_found_again_for_the_same_machine_and_network_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join(FILE);
        let file = |key: &str| ChoiceFile { path: Some(path.clone()), key: key.into() };
        let choice = |backend, guessed| RememberedChoice { backend, guessed };
        assert_eq!(file("a").read(), None);
        file("a").write(choice("openvino", 0));
        file("b").write(choice("native", 3));
        let found = (file("a").read(), file("b").read());
        assert_eq!(found, (Some(choice("openvino", 0)), Some(choice("native", 3))));
        assert_eq!(file("c").read(), None);
        file("a").write(choice("abacus", 0));
        assert_eq!(file("a").read(), None, "a name of another version");
        fs::write(&path, r#"{"b": "native"}"#).unwrap();
        assert_eq!(file("b").read(), None, "a file of another version");
    }

    /// A regression: what was measured with one version was taken for ever after, whatever had become faster.
    #[test]
    fn each_version_network_and_set_of_gpus_has_its_choice() {
        let keys =
            [("0.1.0", &[][..], "a"), ("0.2.0", &[], "a"), ("0.1.0", &["cuda"], "a"), ("0.1.0", &[], "b")]
                .map(|(version, gpus, network)| key(version, gpus, network));
        assert!((1..keys.len()).all(|index| !keys[..index].contains(&keys[index])), "{keys:?}");
    }
}
