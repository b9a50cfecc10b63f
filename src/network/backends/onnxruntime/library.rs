//! ONNX Runtime libraries: the facts about each, and the reasons why there may be none.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use super::fetch::FetchError;
use super::process_environment::set_variables;
use super::provider::Provider;

/// The environment variable that names a library to use and no other.
pub const PATH_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The place where a library was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LibrarySource {
    /// The file or folder that `ORT_DYLIB_PATH` names.
    Environment,
    /// A place beside the program.
    Executable,
    /// Our cache, where it was fetched earlier.
    Cache,
    /// A folder of the system.
    System,
    /// An installed Python package.
    Python,
    /// Our cache, where it was fetched just now.
    Fetched,
}

impl fmt::Display for LibrarySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LibrarySource::Environment => "named by ORT_DYLIB_PATH",
            LibrarySource::Executable => "beside the program",
            LibrarySource::Cache => "in the cache, fetched earlier",
            LibrarySource::System => "in a folder of the system",
            LibrarySource::Python => "in an installed Python package",
            LibrarySource::Fetched => "fetched from PyPI",
        })
    }
}

/// A library that loads and is new enough.
#[derive(Clone, Debug, Serialize)]
pub struct Library {
    /// The file.
    pub path: PathBuf,
    /// Its version, `1.31.1`; without the last number where the file's name doesn't tell it.
    pub version: String,
    /// The place where it was found.
    pub source: LibrarySource,
}

impl Library {
    /// Loads the file at `path` for a moment to see what it is.
    ///
    /// # Errors
    /// Returns the reason why the file cannot be used.
    pub fn probe(path: &Path, source: LibrarySource) -> Result<Library, Unusable> {
        set_variables();
        let unusable = |reason| Unusable { path: path.to_path_buf(), reason };
        if !path.is_file() {
            return Err(unusable(UnusableReason::Missing));
        }
        let minor = ort::util::probe(path).ok_or_else(|| unusable(UnusableReason::NotOnnxRuntime))?;
        if minor < ort::MINOR_VERSION {
            return Err(unusable(UnusableReason::TooOld { minor }));
        }
        Ok(Library { path: path.to_path_buf(), version: full_version(path, minor), source })
    }

    /// Returns whether the library was built with `provider`, or takes it as a plugin. Where a provider that is no plugin
    /// is a file of its own, that file must lie beside the library.
    pub fn has(&self, provider: Provider) -> bool {
        match (provider.file_name(), self.path.parent()) {
            (Some(file), Some(folder)) => folder.join(file).is_file(),
            _ => true,
        }
    }
}

/// Returns `1.minor`, and the patch where the file that `path` leads to has it in its name.
fn full_version(path: &Path, minor: u32) -> String {
    let short = format!("1.{minor}");
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let from_name = name
        .strip_prefix("libonnxruntime.")
        .map(|rest| rest.trim_start_matches("so.").trim_end_matches(".dylib").to_string());
    match from_name {
        Some(version) if version.starts_with(&format!("{short}.")) => version,
        _ => short,
    }
}

/// Returns whether a file of this name could be ONNX Runtime itself.
pub(super) fn is_library_name(name: &str) -> bool {
    name == "onnxruntime.dll"
        || name == "libonnxruntime.so"
        || name.starts_with("libonnxruntime.so.")
        || (name.starts_with("libonnxruntime.") && name.ends_with(".dylib"))
}

/// A file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{} {reason}", path.display())]
pub struct Unusable {
    /// The file.
    pub path: PathBuf,
    /// The reason why it cannot be used.
    pub reason: UnusableReason,
}

/// Says why a file cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UnusableReason {
    /// There is no such file.
    #[error("does not exist")]
    Missing,
    /// It does not load, or it is some other library.
    #[error("is not an ONNX Runtime library for this machine")]
    NotOnnxRuntime,
    /// It was built without the provider that is wanted.
    #[error("is an ONNX Runtime without {0}")]
    WithoutProvider(Provider),
    /// It is too old for the calls that we make.
    #[error("is ONNX Runtime 1.{minor}; 1.{} or newer is needed", ort::MINOR_VERSION)]
    TooOld {
        /// Its minor version.
        minor: u32,
    },
}

/// Says why there is no ONNX Runtime.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// The user named a library that cannot be used.
    #[error("{PATH_VARIABLE}: {0}. Name another library, or unset the variable to have one found or fetched")]
    Named(Unusable),
    /// None is installed, and none could be fetched.
    #[error("found no ONNX Runtime{found}, and fetched none: {reason}. {}", remedies(package))]
    NotFetched {
        /// The package on PyPI that would do.
        package: &'static str,
        /// Those that were found and refused, as text for the message.
        found: String,
        /// The reason why fetching failed.
        #[source]
        reason: Box<FetchError>,
    },
    /// No package that could be fetched has the provider.
    #[error(
        "found no ONNX Runtime with {provider}{found}; put one beside the program, or its path into {PATH_VARIABLE}"
    )]
    NotInstalled {
        /// The provider.
        provider: Provider,
        /// Those that were found and refused, as text for the message.
        found: String,
    },
    /// The library was found, but the provider needs others that were not.
    #[error("{provider} cannot run, for parts are missing: {}", parts.join("; "))]
    PartsMissing {
        /// The provider.
        provider: Provider,
        /// The missing libraries, each with what it is and how to get it.
        parts: Vec<String>,
    },
    /// The plugin with the provider is not installed, and could not be fetched.
    #[error(
        "{package} is not installed and was not fetched: {reason}. Any of these helps too: run `python3 -m pip install \
         {package}`; or install Python 3.8 or newer with pip (Debian, Ubuntu: apt install python3-pip) and be online \
         once; or put {file} beside the program"
    )]
    PluginNotFetched {
        /// The package on PyPI that brings it.
        package: &'static str,
        /// Its file.
        file: String,
        /// The reason why fetching failed.
        #[source]
        reason: Box<FetchError>,
    },
    /// The plugin with the provider does not load, or does not go with the library.
    #[error("{provider} at {} does not load: {reason}", path.display())]
    NotRegistered {
        /// The provider.
        provider: Provider,
        /// The plugin.
        path: PathBuf,
        /// The library's own message.
        reason: String,
    },
    /// The provider is there, but finds no device of the number.
    #[error(
        "{provider} finds no device {number} on this machine (it finds {found}); `zeitnot doctor` tells whether it can \
         work here, and what is missing"
    )]
    NoDevice {
        /// The provider.
        provider: Provider,
        /// The number that was asked for.
        number: u32,
        /// The number of devices that it finds.
        found: usize,
    },
    /// The provider is there, but this machine has nothing for it.
    #[error("{0} finds nothing to compute on; software that stands for a GPU does not count")]
    NoHardware(Provider),
    /// Another library is in use already.
    #[error(
        "the ONNX Runtime in use, {}, has no {provider}, and a program can use only one: start the engine with \
         --backend=onnxruntime --backend-opts=provider={provider}",
        path.display()
    )]
    Occupied {
        /// The library in use.
        path: PathBuf,
        /// The provider that it lacks.
        provider: Provider,
    },
    /// The library was found, but would not start.
    #[error("ONNX Runtime at {} does not start: {reason}", path.display())]
    NotStarted {
        /// The library.
        path: PathBuf,
        /// The library's own message.
        reason: String,
    },
}

fn remedies(package: &str) -> String {
    format!(
        "Any of these helps too: run `python3 -m pip install {package}`; or install Python 3.8 or newer with pip (Debian, \
         Ubuntu: apt install python3-pip) and be online once; or download ONNX Runtime 1.24 or newer from \
         https://github.com/microsoft/onnxruntime/releases and put its library beside the program or its path into \
         {PATH_VARIABLE}"
    )
}

#[cfg(test)]
mod tests {
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
        for name in
            ["libonnxruntime_providers_shared.so", "onnxruntime_pybind11_state.so", "libonnxruntime.txt"]
        {
            assert!(!is_library_name(name), "{name}");
        }
    }

    /// A regression: every ONNX Runtime was taken for one with DirectML.
    #[test]
    fn a_runtime_has_directml_only_with_its_library_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("onnxruntime.dll");
        let library = Library { path, version: "1.24".into(), source: LibrarySource::Cache };
        assert!(library.has(Provider::Cpu) && !library.has(Provider::DirectMl));
        std::fs::write(folder.path().join("DirectML.dll"), "").unwrap();
        assert!(library.has(Provider::DirectMl));
    }

    #[test]
    fn the_version_is_completed_from_the_file_name() {
        assert_eq!(full_version(Path::new("/x/libonnxruntime.so.1.31.1"), 31), "1.31.1");
        assert_eq!(full_version(Path::new("/x/libonnxruntime.1.31.1.dylib"), 31), "1.31.1");
        assert_eq!(full_version(Path::new("/x/libonnxruntime.so.1.31.1"), 30), "1.30");
        assert_eq!(full_version(Path::new("/x/onnxruntime.dll"), 31), "1.31");
    }

    #[test]
    fn files_that_are_no_library_are_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libonnxruntime.so");
        assert_eq!(Library::probe(&path, LibrarySource::System).unwrap_err().reason, UnusableReason::Missing);
        std::fs::write(&path, "no library").unwrap();
        let unusable = Library::probe(&path, LibrarySource::System).unwrap_err();
        assert_eq!(
            unusable.to_string(),
            format!("{} is not an ONNX Runtime library for this machine", path.display())
        );
    }
}
