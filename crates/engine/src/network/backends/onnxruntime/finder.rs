//! Finds ONNX Runtime and the plugins of its providers: the places where they may lie, best first.
//!
//! | order | place |
//! |---|---|
//! | 1 | the file or folder that `ORT_DYLIB_PATH` names, if it cannot be used, that is an error |
//! | 2 | beside the program, in its `lib` and in its `onnxruntime/lib` |
//! | 3 | our cache folder, into which `zeitnot setup` fetches packages |
//! | 4 | folders of the system, `LD_LIBRARY_PATH` first |
//! | 5 | an installed Python package `onnxruntime`, `onnxruntime-gpu`, `onnxruntime-openvino` |
//!
//! A library in places 2 to 5 that doesn't load, is too old, or lacks the provider that is wanted is passed
//! over. Plugins lie beside the library, or in places 2, 3 and 5.

use std::cmp::Reverse;
use std::env;
use std::fmt;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Serialize;
use thiserror::Error;

use super::process_environment::{SOFTWARE_VARIABLE, set_variables};
use super::provider::{Plugin, Provider, SystemPart};
use crate::network::backend_error::BackendError;
use crate::network::folders;
use crate::options::option_choice;
use crate::system::{PYTHONS, entries, entries_named, told};

pub const PATH_VARIABLE: &str = "ORT_DYLIB_PATH";

option_choice! {
    /// The place where a library was found.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LibrarySource {
        /// The file or folder that `ORT_DYLIB_PATH` names.
        Environment = "named by ORT_DYLIB_PATH",
        Executable = "beside the program",
        Cache = "in the cache",
        System = "in a folder of the system",
        Python = "in an installed Python package",
    }
}

/// A library that loads and is new enough.
#[derive(Clone, Debug, Serialize)]
pub struct Library {
    pub path: PathBuf,
    /// Its version, `1.31.1`. Without the last number where the file's name doesn't tell it.
    pub version: String,
    pub source: LibrarySource,
}

impl Library {
    /// Loads the file at `path` for a moment to see what it is.
    pub fn probe(path: &Path, source: LibrarySource) -> Result<Library, Unusable> {
        set_variables();
        let unusable = |reason: &str| Unusable {
            path: path.to_path_buf(),
            reason: reason.into(),
        };
        if !path.is_file() {
            return Err(unusable("does not exist"));
        }
        let minor = ort::util::probe(path)
            .ok_or_else(|| unusable("is not an ONNX Runtime library for this machine"))?;
        if minor < ort::MINOR_VERSION {
            let least = ort::MINOR_VERSION;
            return Err(unusable(&format!(
                "is ONNX Runtime 1.{minor}, but 1.{least} or newer is needed"
            )));
        }
        Ok(Library {
            path: path.to_path_buf(),
            version: full_version(path, minor),
            source,
        })
    }

    /// Whether the library was built with `provider`, or takes it as a plugin. A provider's own file must lie
    /// beside it.
    pub fn has(&self, provider: Provider) -> bool {
        match (provider.file_name(), self.path.parent()) {
            (Some(file), Some(folder)) => folder.join(file).is_file(),
            _ => true,
        }
    }
}

/// `1.minor`, and the patch where the file that `path` leads to has it in its name.
fn full_version(path: &Path, minor: u32) -> String {
    let short = format!("1.{minor}");
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = real
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let from_name = name.strip_prefix("libonnxruntime.").map(|rest| {
        rest.trim_start_matches("so.")
            .trim_end_matches(".dylib")
            .to_string()
    });
    from_name
        .filter(|version| version.starts_with(&format!("{short}.")))
        .unwrap_or(short)
}

fn is_library_name(name: &str) -> bool {
    name == "onnxruntime.dll"
        || name == "libonnxruntime.so"
        || name.starts_with("libonnxruntime.so.")
        || (name.starts_with("libonnxruntime.") && name.ends_with(".dylib"))
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{} {reason}", path.display())]
pub struct Unusable {
    pub path: PathBuf,
    /// The reason why it cannot be used, which continues its name.
    pub reason: String,
}

#[derive(Clone, Debug)]
pub enum MissingPart {
    System(SystemPart),
    /// A library of NVIDIA, and what it is in words.
    Library {
        name: String,
        words: String,
    },
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingPart::System(part) => part.fmt(f),
            MissingPart::Library { words, .. } => f.write_str(words),
        }
    }
}

/// Why there is no ONNX Runtime, or none with a provider.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LibraryError {
    #[error("{PATH_VARIABLE}: {0}. Name another library, or unset the variable to have one found")]
    Named(Unusable),
    #[error(
        "found no ONNX Runtime{found}, and only `{}` fetches it. Or put ONNX Runtime 1.24 or newer beside the program, or \
         its path into {PATH_VARIABLE}",
        setup_command(*provider)
    )]
    NotFetched { provider: Provider, found: String },
    #[error(
        "found no ONNX Runtime with {provider}{found}. Put one beside the program, or its path into {PATH_VARIABLE}"
    )]
    NotInstalled { provider: Provider, found: String },
    #[error(
        "{provider} cannot run, because parts are missing: {}. {remedy}",
        listed(parts)
    )]
    PartsMissing {
        provider: Provider,
        parts: Vec<MissingPart>,
        remedy: String,
    },
    #[error("{package} is not installed, and only `{}` fetches it. Or put {file} beside the program", setup_command(*provider))]
    NoPlugin {
        provider: Provider,
        package: &'static str,
        file: String,
    },
    #[error("{provider} is for {systems}, and this is {os} on {arch}")]
    NotForSystem {
        provider: Provider,
        systems: &'static str,
        os: &'static str,
        arch: &'static str,
    },
    #[error("{provider} at {} does not load: {reason}", path.display())]
    NotRegistered {
        provider: Provider,
        path: PathBuf,
        reason: String,
    },
    #[error("{provider} finds no device {number} on this machine (it finds {found}). {remedy}")]
    NoDevice {
        provider: Provider,
        number: u32,
        found: usize,
        remedy: String,
    },
    #[error("{0} finds no device (software emulation of a GPU does not count without {SOFTWARE_VARIABLE}=1)")]
    NoHardware(Provider),
    #[error("{provider} has no code for {gpu}")]
    NoCode { provider: Provider, gpu: String },
    #[error(
        "the ONNX Runtime in use, {}, has no {provider}, and a program can use only one. Start the engine with \
         --backend=onnxruntime --backend-opts=provider={provider}",
        path.display()
    )]
    Occupied { path: PathBuf, provider: Provider },
    #[error("ONNX Runtime at {} does not start: {reason}", path.display())]
    NotStarted { path: PathBuf, reason: String },
}

impl LibraryError {
    /// How to get the parts is known to `setup`.
    pub(super) fn parts_missing(provider: Provider, parts: Vec<MissingPart>) -> LibraryError {
        let remedy = format!(
            "`{}` fetches them or says how to install them",
            setup_command(provider)
        );
        LibraryError::PartsMissing {
            provider,
            parts,
            remedy,
        }
    }

    /// Nothing that could be installed would help.
    pub fn is_final(&self) -> bool {
        matches!(self, LibraryError::NotForSystem { .. })
    }
}

impl From<LibraryError> for BackendError {
    fn from(error: LibraryError) -> BackendError {
        BackendError::Library(Box::new(error))
    }
}

fn listed(parts: &[MissingPart]) -> String {
    parts
        .iter()
        .map(MissingPart::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

pub fn setup_command(provider: Provider) -> String {
    let provider = if provider == Provider::Cpu {
        String::new()
    } else {
        format!(" --provider {provider}")
    };
    format!("zeitnot setup{provider}")
}

pub(super) fn library_for(provider: Provider) -> Result<Library, LibraryError> {
    let mut refused = Vec::new();
    find(provider, &mut refused)?.ok_or_else(|| LibraryError::NotFetched {
        provider,
        found: refused_suffix(&refused),
    })
}

/// The library for `provider`, and why others were refused.
pub fn look_for(provider: Provider) -> (Option<Library>, Vec<String>) {
    let mut refused = Vec::new();
    match find(provider, &mut refused) {
        Ok(library) => (library, refused.iter().map(Unusable::to_string).collect()),
        Err(error) => (None, vec![error.to_string()]),
    }
}

pub fn check_system(provider: Provider) -> Result<(), LibraryError> {
    let (os, arch) = (env::consts::OS, env::consts::ARCH);
    if let Some(systems) = provider.only_on(os, arch) {
        return Err(LibraryError::NotForSystem {
            provider,
            systems,
            os,
            arch,
        });
    }
    match provider.needed_part(os).filter(|part| !part.is_here()) {
        Some(part) => Err(LibraryError::parts_missing(
            provider,
            vec![MissingPart::System(part)],
        )),
        None => Ok(()),
    }
}

/// Whether `provider` can be had without asking Python for its packages, which takes long.
pub(crate) fn is_at_hand(provider: Provider) -> bool {
    let has_plugin = |plugin: &Plugin| file_in(plugin_folders(plugin), &plugin.file_name()).is_some();
    provider.plugin().is_none_or(has_plugin)
        && check_system(provider).is_ok()
        && matches!(find_with(|| &[], provider, &mut Vec::new()), Ok(Some(_)))
}

pub fn is_installed(provider: Provider) -> bool {
    provider
        .plugin()
        .is_none_or(|plugin| plugin_file(plugin, None).is_some())
        && matches!(find(provider, &mut Vec::new()), Ok(Some(_)))
}

/// The first library of places 1 to 5. Those that cannot be used are added to `refused`.
pub fn find(provider: Provider, refused: &mut Vec<Unusable>) -> Result<Option<Library>, LibraryError> {
    find_with(python_folders, provider, refused)
}

/// Most places don't exist. Python is asked for its folders only where it comes to that.
fn find_with(
    python: fn() -> &'static [PathBuf],
    provider: Provider,
    refused: &mut Vec<Unusable>,
) -> Result<Option<Library>, LibraryError> {
    if let Some(named) = env::var_os(PATH_VARIABLE).filter(|value| !value.is_empty()) {
        let library = named_library(Path::new(&named))?;
        if !library.has(provider) {
            let reason = format!("is an ONNX Runtime without {provider}");
            return Err(LibraryError::Named(Unusable {
                path: library.path,
                reason,
            }));
        }
        return Ok(Some(library));
    }
    let fetched = fetched_folders(|name| name == provider.spec().runtime_package);
    let packages = iter::once_with(python)
        .flatten()
        .map(|folder| folder.join("onnxruntime/capi"));
    let beside = folders_beside_the_program()
        .into_iter()
        .map(|folder| (LibrarySource::Executable, folder));
    let mut folders = beside
        .chain(fetched.into_iter().map(|folder| (LibrarySource::Cache, folder)))
        .chain(
            system_folders()
                .into_iter()
                .map(|folder| (LibrarySource::System, folder)),
        )
        .chain(packages.map(|folder| (LibrarySource::Python, folder)));
    Ok(folders
        .find_map(|(source, folder)| best_in(&folder, source, refused).filter(|found| found.has(provider))))
}

fn named_library(named: &Path) -> Result<Library, LibraryError> {
    let path = std::path::absolute(named).unwrap_or_else(|_| named.to_path_buf());
    let path = if path.is_dir() {
        libraries_in(&path).into_iter().next().unwrap_or(path)
    } else {
        path
    };
    Library::probe(&path, LibrarySource::Environment).map_err(LibraryError::Named)
}

/// `" that can be used (…)"`, or nothing where nothing was refused.
pub fn refused_suffix(refused: &[Unusable]) -> String {
    if refused.is_empty() {
        return String::new();
    }
    let reasons: Vec<String> = refused.iter().map(Unusable::to_string).collect();
    format!(" that can be used ({})", reasons.join(", "))
}

/// The folder in the cache into which `setup` fetches a package. Machines of different kinds may
/// share a cache.
pub fn fetched_folder(cache: &Path, package: &str, version: &str) -> PathBuf {
    cache.join(format!("{package}-{version}{}", of_this_machine()))
}

fn of_this_machine() -> String {
    format!("-{}-{}", env::consts::OS, env::consts::ARCH)
}

/// In the cache, the newest version first.
pub(super) fn fetched_folders(is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let is_wanted = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(&of_this_machine()));
        name.and_then(|name| name.rsplit_once('-'))
            .is_some_and(|(package, _)| is_wanted(package))
    };
    let mut found: Vec<_> = folders::cache()
        .iter()
        .flat_map(|cache| entries(cache))
        .filter(is_wanted)
        .collect();
    newest_first(&mut found);
    found
}

/// The file of a plugin, if it is installed: in the folder `beside`, or elsewhere.
pub fn plugin_file(plugin: &Plugin, beside: Option<&Path>) -> Option<PathBuf> {
    let known = beside
        .map(Path::to_path_buf)
        .into_iter()
        .chain(plugin_folders(plugin));
    let file = plugin.file_name();
    let in_python = || {
        file_in(
            python_folders().iter().map(|folder| folder.join(plugin.module)),
            &file,
        )
    };
    file_in(known, &file).or_else(in_python)
}

fn file_in(folders: impl IntoIterator<Item = PathBuf>, file: &str) -> Option<PathBuf> {
    folders
        .into_iter()
        .map(|folder| folder.join(file))
        .find(|path| path.is_file())
}

fn plugin_folders(plugin: &Plugin) -> Vec<PathBuf> {
    let mut folders = folders_beside_the_program();
    folders.extend(fetched_folders(|name| name == plugin.package));
    folders
}

/// Where all Pythons found look for packages. They are asked once.
pub(super) fn python_folders() -> &'static [PathBuf] {
    static FOLDERS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let asked = PYTHONS
            .iter()
            .filter_map(|name| told(name, &["-c", "import sys; print(*sys.path, sep='\\n')"]));
        let mut folders = Vec::new();
        for folder in asked
            .collect::<Vec<_>>()
            .iter()
            .flat_map(|text| text.lines())
            .map(PathBuf::from)
        {
            if folder.is_absolute() && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    });
    &FOLDERS
}

pub(super) fn folders_beside_the_program() -> Vec<PathBuf> {
    folders::beside_the_program(&["", "lib", "onnxruntime/lib"])
}

fn system_folders() -> Vec<PathBuf> {
    let paths = |variable: &str| -> Vec<PathBuf> {
        env::var_os(variable)
            .map(|value| env::split_paths(&value).collect())
            .unwrap_or_default()
    };
    if cfg!(windows) {
        return paths("PATH");
    }
    let variable = if cfg!(target_os = "macos") {
        "DYLD_LIBRARY_PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
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

pub fn has_library(folder: &Path) -> bool {
    best_in(folder, LibrarySource::Cache, &mut Vec::new()).is_some()
}

/// The newest library that can be used.
fn best_in(folder: &Path, source: LibrarySource, refused: &mut Vec<Unusable>) -> Option<Library> {
    libraries_in(folder).into_iter().find_map(|path| {
        Library::probe(&path, source)
            .map_err(|unusable| refused.push(unusable))
            .ok()
    })
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = entries_named(folder, is_library_name);
    newest_first(&mut files);
    files
}

fn newest_first(paths: &mut [PathBuf]) {
    paths.sort_by_cached_key(|path| Reverse(path.file_name().map(|name| numbers(&name.to_string_lossy()))));
}

/// The numbers in a file's or folder's name, for comparing versions: `libonnxruntime.so.1.31.1` gives
/// 1, 31, 1.
fn numbers(name: &str) -> Vec<u32> {
    name.split(['.', '-'])
        .filter_map(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_runtime_itself_has_the_right_name() {
        for name in [
            "libonnxruntime.so",
            "libonnxruntime.so.1.31.1",
            "libonnxruntime.1.31.1.dylib",
            "onnxruntime.dll",
        ] {
            assert!(is_library_name(name), "{name}");
        }
        for name in [
            "libonnxruntime_providers_shared.so",
            "onnxruntime_pybind11_state.so",
            "libonnxruntime.txt",
        ] {
            assert!(!is_library_name(name), "{name}");
        }
    }

    /// A regression: it was said just after fetching.
    #[test]
    fn what_lies_in_the_cache_is_not_said_to_be_fetched_earlier() {
        assert_eq!(LibrarySource::Cache.to_string(), "in the cache");
    }

    #[test]
    fn a_runtime_has_cuda_only_with_its_library_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("onnxruntime.dll");
        let library = Library {
            path,
            version: "1.24".into(),
            source: LibrarySource::Cache,
        };
        assert!(library.has(Provider::Cpu) && !library.has(Provider::Cuda));
        std::fs::write(folder.path().join(Provider::Cuda.file_name().unwrap()), "").unwrap();
        assert!(library.has(Provider::Cuda));
    }

    #[test]
    fn the_version_is_completed_from_the_file_name() {
        assert_eq!(
            full_version(Path::new("/x/libonnxruntime.so.1.31.1"), 31),
            "1.31.1"
        );
        assert_eq!(
            full_version(Path::new("/x/libonnxruntime.1.31.1.dylib"), 31),
            "1.31.1"
        );
        assert_eq!(full_version(Path::new("/x/libonnxruntime.so.1.31.1"), 30), "1.30");
        assert_eq!(full_version(Path::new("/x/onnxruntime.dll"), 31), "1.31");
    }

    #[test]
    fn files_that_are_no_library_are_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libonnxruntime.so");
        assert_eq!(
            Library::probe(&path, LibrarySource::System).unwrap_err().reason,
            "does not exist"
        );
        std::fs::write(&path, "no library").unwrap();
        let unusable = Library::probe(&path, LibrarySource::System).unwrap_err();
        let text = format!(
            "{} is not an ONNX Runtime library for this machine",
            path.display()
        );
        assert_eq!(unusable.to_string(), text);
        let mut refused = Vec::new();
        assert!(best_in(folder.path(), LibrarySource::System, &mut refused).is_none());
        assert_eq!(refused_suffix(&refused), format!(" that can be used ({text})"));
        assert_eq!(refused_suffix(&[]), "");
        for named in [folder.path(), &path] {
            let error = named_library(named).unwrap_err().to_string();
            assert!(error.starts_with(&format!("ORT_DYLIB_PATH: {text}")), "{error}");
        }
    }

    #[test]
    fn a_plugin_is_found_beside_the_library_under_the_name_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = Provider::WebGpu.plugin().unwrap();
        let path = folder.path().join(plugin.file_name());
        std::fs::write(&path, "").unwrap();
        assert_eq!(plugin_file(plugin, Some(folder.path())), Some(path));
        assert!(Provider::Cuda.plugin().is_none());
    }

    #[test]
    fn newest_file_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "libonnxruntime.so.1.9.0",
            "libonnxruntime.so.1.31.1",
            "libonnxruntime_providers_shared.so",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let expected = ["libonnxruntime.so.1.31.1", "libonnxruntime.so.1.9.0"];
        assert_eq!(
            libraries_in(folder.path()),
            expected.map(|name| folder.path().join(name))
        );
    }
}
