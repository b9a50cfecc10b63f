//! Finds ONNX Runtime: the places where it may lie, best first, and at last the fetcher.
//!
//! | order | place |
//! |---|---|
//! | 1 | the file or folder that `ORT_DYLIB_PATH` names; if it cannot be used, that is an error |
//! | 2 | beside the program, in its `lib` and in its `onnxruntime/lib` |
//! | 3 | our cache folder |
//! | 4 | folders of the system, `LD_LIBRARY_PATH` first |
//! | 5 | an installed Python package `onnxruntime`, `onnxruntime-gpu`, `onnxruntime-openvino` |
//! | 6 | fetched once into the cache by `zeitnot setup`, see `fetch` |
//!
//! A library in places 2 to 5 that doesn't load, is too old, or lacks the provider that is wanted is passed over.
//! The finder is called by `runtime`, and by callers that ask what is installed.

use std::cmp::Reverse;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::fetch::{self, FetchError};
use super::library::{self, Library, LibraryError, LibrarySource, PATH_VARIABLE, Unusable, UnusableReason};
use super::nvidia;
use super::package::Package;
use super::plugin;
use super::provider::Provider;
use super::python;
use crate::network::folders;

/// Finds a usable library that has `provider`, or fetches one if this process may.
///
/// # Errors
/// Returns [`LibraryError`], with remedies.
pub fn find_or_fetch(provider: Provider) -> Result<Library, LibraryError> {
    let mut refused = Vec::new();
    if let Some(library) = find(provider, &mut refused)? {
        return Ok(library);
    }
    let Some(package) = Package::runtime_for(provider) else {
        return Err(LibraryError::NotInstalled { provider, found: refused_suffix(&refused) });
    };
    fetched(package, provider, &mut refused).map_err(|reason| LibraryError::NotFetched {
        package: package.name,
        found: refused_suffix(&refused),
        reason: Box::new(reason),
    })
}

/// Says which library would be used for `provider`, without fetching any, and why others were refused.
pub fn look_for(provider: Provider) -> (Option<Library>, Vec<String>) {
    let mut refused = Vec::new();
    match find(provider, &mut refused) {
        Ok(library) => (library, refused.iter().map(Unusable::to_string).collect()),
        Err(error) => (None, vec![error.to_string()]),
    }
}

/// Returns the plugin of `provider`, if it is one and is installed.
pub fn plugin_file(provider: Provider) -> Option<PathBuf> {
    let (library, _) = look_for(provider);
    provider.plugin()?.find(library.as_ref().and_then(|library| library.path.parent()))
}

/// Returns what this system lacks for `provider`, with a remedy; `None` where nothing is known to be missing.
pub fn obstacle(provider: Provider) -> Option<LibraryError> {
    nvidia::check_driver(provider).and_then(|()| plugin::check_system(provider)).err()
}

/// Returns whether `provider` can be had here and now, without asking Python for its packages, which takes longer than each start
/// of an engine may.
pub fn is_at_hand(provider: Provider) -> bool {
    if provider.plugin().is_some_and(|plugin| !plugin.is_known()) || obstacle(provider).is_some() {
        return false;
    }
    let has_provider = |library: Library| library.has(provider);
    match env::var_os(PATH_VARIABLE).filter(|value| !value.is_empty()) {
        Some(named) => named_library(Path::new(&named)).is_ok_and(has_provider),
        None => known_folders(provider)
            .into_iter()
            .any(|(source, folder)| best_in(&folder, source, &mut Vec::new()).is_some_and(has_provider)),
    }
}

/// Returns whether a library that has `provider` is installed, with its plugin if it is one.
pub fn is_installed(provider: Provider) -> bool {
    (provider.plugin().is_none() || plugin::is_installed(provider))
        && matches!(find(provider, &mut Vec::new()), Ok(Some(_)))
}

/// Returns the first library of places 1 to 5; those that cannot be used are added to `refused`.
fn find(provider: Provider, refused: &mut Vec<Unusable>) -> Result<Option<Library>, LibraryError> {
    if let Some(named) = env::var_os(PATH_VARIABLE).filter(|value| !value.is_empty()) {
        let library = named_library(Path::new(&named))?;
        if !library.has(provider) {
            let reason = UnusableReason::WithoutProvider(provider);
            return Err(LibraryError::Named(Unusable { path: library.path, reason }));
        }
        return Ok(Some(library));
    }
    let mut has_provider = |(source, folder): (LibrarySource, PathBuf)| {
        best_in(&folder, source, refused).filter(|library| library.has(provider))
    };
    if let Some(library) = known_folders(provider).into_iter().find_map(&mut has_provider) {
        return Ok(Some(library));
    }
    let packages = python::package_folders().into_iter().map(|folder| (LibrarySource::Python, folder));
    Ok(packages.into_iter().find_map(has_provider))
}

fn named_library(named: &Path) -> Result<Library, LibraryError> {
    let path = std::path::absolute(named).unwrap_or_else(|_| named.to_path_buf());
    let path = if path.is_dir() { libraries_in(&path).into_iter().next().unwrap_or(path) } else { path };
    Library::probe(&path, LibrarySource::Environment).map_err(LibraryError::Named)
}

/// Fetches `package` and returns its library; one that does not load is added to `refused`.
fn fetched(
    package: &Package,
    provider: Provider,
    refused: &mut Vec<Unusable>,
) -> Result<Library, FetchError> {
    let cache = folders::cache().ok_or(FetchError::NoCacheFolder)?;
    let usable = |folder: &Path| best_in(folder, LibrarySource::Cache, &mut Vec::new()).is_some();
    let folder = fetch::fetch(package, provider, &cache, usable)?;
    best_in(&folder, LibrarySource::Fetched, refused).ok_or(FetchError::NotLoaded)
}

/// Returns `" that can be used (…)"` for the message, or nothing where nothing was refused.
fn refused_suffix(refused: &[Unusable]) -> String {
    if refused.is_empty() {
        return String::new();
    }
    let reasons: Vec<String> = refused.iter().map(Unusable::to_string).collect();
    format!(" that can be used ({})", reasons.join("; "))
}

/// Returns the folders of places 2 to 4, best first. Most don't exist.
fn known_folders(provider: Provider) -> Vec<(LibrarySource, PathBuf)> {
    let beside = folders_beside_the_program();
    let mut known: Vec<_> = beside.into_iter().map(|folder| (LibrarySource::Executable, folder)).collect();
    let fetched = folders::cache().zip(Package::runtime_for(provider));
    known.extend(fetched.map(|(cache, package)| (LibrarySource::Cache, package.destination(&cache))));
    known.extend(system_folders().into_iter().map(|folder| (LibrarySource::System, folder)));
    known
}

/// Returns the folders of place 2.
pub(super) fn folders_beside_the_program() -> Vec<PathBuf> {
    let subfolders = |folder: PathBuf| ["", "lib", "onnxruntime/lib"].map(|sub| folder.join(sub));
    folders::executable().map(subfolders).into_iter().flatten().collect()
}

fn system_folders() -> Vec<PathBuf> {
    let paths = |variable: &str| -> Vec<PathBuf> {
        env::var_os(variable).map(|value| env::split_paths(&value).collect()).unwrap_or_default()
    };
    if cfg!(windows) {
        return paths("PATH");
    }
    let variable = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let mut folders = paths(variable);
    folders.retain(|folder| folder.is_absolute());
    folders.push(format!("/usr/lib/{}-linux-gnu", env::consts::ARCH).into());
    folders.extend(
        [
            "/usr/local/lib",
            "/usr/local/lib64",
            "/usr/lib",
            "/usr/lib64",
            "/opt/onnxruntime/lib",
            "/opt/homebrew/lib",
        ]
        .map(PathBuf::from),
    );
    folders
}

/// Returns the newest library in `folder` that can be used; those that cannot are added to `refused`.
fn best_in(folder: &Path, source: LibrarySource, refused: &mut Vec<Unusable>) -> Option<Library> {
    libraries_in(folder)
        .into_iter()
        .find_map(|path| Library::probe(&path, source).map_err(|unusable| refused.push(unusable)).ok())
}

/// Returns the files in `folder` whose names are right, newest version first.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| library::is_library_name(name))
        .collect();
    names.sort_by_cached_key(|name| Reverse(numbers(name)));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Returns the numbers in a file name, for comparing versions: `libonnxruntime.so.1.31.1` gives 1, 31, 1.
fn numbers(name: &str) -> Vec<u32> {
    name.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_file_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["libonnxruntime.so.1.9.0", "libonnxruntime.so.1.31.1", "libonnxruntime_providers_shared.so"]
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let expected = ["libonnxruntime.so.1.31.1", "libonnxruntime.so.1.9.0"];
        assert_eq!(libraries_in(folder.path()), expected.map(|name| folder.path().join(name)));
    }

    #[test]
    fn refused_libraries_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("libonnxruntime.so"), "junk").unwrap();
        let mut refused = Vec::new();
        assert!(best_in(folder.path(), LibrarySource::System, &mut refused).is_none());
        let text = refused_suffix(&refused);
        assert!(
            text.starts_with(" that can be used (") && text.contains("libonnxruntime.so is not"),
            "{text}"
        );
        assert_eq!(refused_suffix(&[]), "");
    }

    #[test]
    fn a_named_library_of_no_use_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libonnxruntime.so");
        fs::write(&path, "junk").unwrap();
        for named in [folder.path(), &path] {
            let error = named_library(named).unwrap_err().to_string();
            assert!(
                error.starts_with("ORT_DYLIB_PATH: ") && error.contains(&path.display().to_string()),
                "{error}"
            );
        }
    }
}
