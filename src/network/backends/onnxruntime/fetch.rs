//! Fetches ONNX Runtime once, as the wheel that its makers publish on PyPI, into the cache folder, in a process that was asked to: that of
//! `zeitnot setup`.
//!
//! `pip download` gets the file, so that the user's mirrors, proxies and certificates apply; we check its SHA-256 and
//! unpack it. Processes that want it at the same time wait for one another at a lock, which the system takes away
//! from a process that dies. All work happens in a folder of its own that is renamed when it is complete: an
//! interrupted fetch leaves nothing but such a folder, and the next fetch removes it.
//!
//! Messages and pip's progress go to stderr: stdout belongs to UCI and JSON.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use super::package::{Package, Release};
use super::progress_message::eprint_message;
use super::provider::Provider;
use super::python::{self, DownloadError, Wheel};
use crate::network::folders;

/// The beginning of the names of folders of fetches under way.
const UNFINISHED: &str = "fetching-onnxruntime-";

/// Says why the library could not be fetched; it is the reason of a [`super::LibraryError::NotFetched`].
#[derive(Debug, Error)]
pub enum FetchError {
    /// Nobody has asked for it: a process that plays or measures fetches nothing.
    #[error("only `zeitnot setup{}` fetches it (about {size_mb} MB)", arguments(*provider))]
    NotAsked {
        /// The provider that is wanted.
        provider: Provider,
        /// Megabytes to download, at most.
        size_mb: u32,
    },
    /// The user has forbidden it.
    #[error("nothing is fetched with --offline or {}", folders::OFFLINE_VARIABLE)]
    Offline,
    /// No folder is known into which it could be fetched.
    #[error("no cache folder is known; set {}", folders::CACHE_VARIABLE)]
    NoCacheFolder,
    /// There is no wheel for this machine.
    #[error("PyPI has no {name} {version} for {os} on {arch}")]
    NoRelease {
        /// The package.
        name: &'static str,
        /// Its version.
        version: &'static str,
        /// The operating system.
        os: &'static str,
        /// The processor.
        arch: &'static str,
    },
    /// The cache folder cannot be written.
    #[error("cannot write to {} ({source})", path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// pip could not download it.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The download is not the file that we know.
    #[error("the file that pip downloaded is not the one expected (SHA-256 {found}, expected {expected})")]
    WrongHash {
        /// The hash of the download.
        found: String,
        /// The hash of the true file.
        expected: &'static str,
    },
    /// The wheel cannot be unpacked.
    #[error("the wheel cannot be unpacked ({0})")]
    Unpack(#[from] UnpackError),
    /// The library was fetched and unpacked, but does not load.
    #[error("the library fetched does not load")]
    NotLoaded,
}

/// Says why a wheel cannot be unpacked.
#[derive(Debug, Error)]
pub enum UnpackError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The wheel is no proper zip archive.
    #[error(transparent)]
    Zip(#[from] ZipError),
}

/// Returns what the command line of `setup` says of `provider`.
fn arguments(provider: Provider) -> String {
    if provider == Provider::Cpu { String::new() } else { format!(" --provider {provider}") }
}

/// Returns an error unless the files of `provider` may be fetched.
fn check_permission(provider: Provider, package: &Package) -> Result<(), FetchError> {
    if !folders::may_fetch() {
        return Err(FetchError::NotAsked { provider, size_mb: package.size_mb });
    }
    if folders::is_offline() { Err(FetchError::Offline) } else { Ok(()) }
}

/// Fetches `package`, which has `provider`, into its [`destination`](Package::destination) and returns that folder, unless one is there for
/// which `usable` holds: another process may have brought it meanwhile. A damaged one is replaced.
///
/// # Errors
/// Returns [`FetchError`]; the cache then holds nothing new.
pub fn fetch(
    package: &Package,
    provider: Provider,
    cache: &Path,
    usable: impl Fn(&Path) -> bool,
) -> Result<PathBuf, FetchError> {
    let release = package.release()?;
    check_permission(provider, package)?;
    let at_cache = |source| FetchError::Cache { path: cache.to_path_buf(), source };
    fs::create_dir_all(cache).map_err(at_cache)?;
    let lock = File::create(cache.join("onnxruntime.lock")).map_err(at_cache)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprint_message("Another process is fetching ONNX Runtime; waiting for it.");
            lock.lock().map_err(at_cache)?;
        }
        Err(TryLockError::Error(error)) => return Err(at_cache(error)),
    }
    let destination = package.destination(cache);
    if usable(&destination) {
        return Ok(destination);
    }
    remove_unfinished(cache);
    if destination.exists() {
        fs::remove_dir_all(&destination).map_err(at_cache)?;
    }
    fetch_locked(Wanted { package, release }, cache, &destination)?;
    Ok(destination)
}

/// Removes what interrupted fetches left. The caller must hold the lock: all that is there is then stale.
fn remove_unfinished(cache: &Path) {
    let Ok(entries) = fs::read_dir(cache) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            // What cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A package, and its release for this machine.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    package: &'a Package,
    release: &'static Release,
}

/// Fetches a package; the caller must hold the lock.
fn fetch_locked(wanted: Wanted<'_>, cache: &Path, destination: &Path) -> Result<(), FetchError> {
    let package = wanted.package;
    let folder = cache.join(format!("{UNFINISHED}{}", std::process::id()));
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |source| FetchError::Cache { path, source }
    };
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    eprint_message(format_args!(
        "{} is not installed; fetching {} once (about {} MB) into {}",
        package.name,
        package.version,
        package.size_mb,
        cache.display()
    ));
    let done = download_and_unpack(wanted, &folder)
        .and_then(|()| fs::rename(&folder, destination).map_err(at(destination)));
    if done.is_err() {
        // Already an error; what stays is removed by the next fetch.
        let _ = fs::remove_dir_all(&folder);
    }
    done
}

/// Leaves the libraries and their licences in `folder`, and nothing else.
fn download_and_unpack(wanted: Wanted<'_>, folder: &Path) -> Result<(), FetchError> {
    let Wanted { package, release } = wanted;
    let requirement = format!("{}=={}", package.name, package.version);
    let wheel = Wheel { requirement: &requirement, platform: release.platform };
    python::download(&wheel, folder)?;
    let wheel = only_file(folder).map_err(UnpackError::from)?;
    let found = sha256(&wheel).map_err(UnpackError::from)?;
    if found != release.sha256 {
        return Err(FetchError::WrongHash { found, expected: release.sha256 });
    }
    Ok(unpack(package, &wheel, folder)?)
}

/// Unpacks the libraries and licences of `wheel` into `folder` and removes the wheel.
fn unpack(package: &Package, wheel: &Path, folder: &Path) -> Result<(), UnpackError> {
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let path = entry.name()?.into_owned();
        let Some(name) = wanted_name(package.library_folder, &path) else { continue };
        io::copy(&mut entry, &mut File::create(folder.join(name))?)?;
    }
    Ok(fs::remove_file(wheel)?)
}

/// Returns the plain name under which an entry of a wheel is to be kept, if it is; libraries lie in `library_folder`.
fn wanted_name<'a>(library_folder: &str, entry: &'a str) -> Option<&'a str> {
    let (folder, name) = entry.rsplit_once('/')?;
    let is_shared = name.starts_with("lib") || name.ends_with(".dll");
    let is_library = folder == library_folder && is_shared && !name.contains("pybind11");
    let module = library_folder.split('/').next()?;
    let has_licences = folder == module || folder.ends_with(".dist-info/licenses");
    let is_licence = ["LICENSE", "ThirdPartyNotices.txt", "third-party-programs.txt"].contains(&name)
        || name.ends_with("README.txt")
        || name.ends_with("Acknowledgements.txt");
    (is_library || (has_licences && is_licence)).then_some(name)
}

fn only_file(folder: &Path) -> io::Result<PathBuf> {
    let mut entries = fs::read_dir(folder)?;
    entries.next().map_or_else(|| Err(io::Error::other("pip left no file")), |entry| Ok(entry?.path()))
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hasher.update(&buffer[..length]);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_not_asked_says_who_fetches() {
        let not_asked = |provider| FetchError::NotAsked { provider, size_mb: 24 }.to_string();
        assert_eq!(not_asked(Provider::Cpu), "only `zeitnot setup` fetches it (about 24 MB)");
        assert!(not_asked(Provider::WebGpu).contains("`zeitnot setup --provider webgpu`"));
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&path).unwrap(), expected);
    }

    #[test]
    fn libraries_and_licences_are_kept() {
        let wanted = |entry| wanted_name("onnxruntime/capi", entry);
        assert_eq!(wanted("onnxruntime/capi/libonnxruntime.so.1.31.1"), Some("libonnxruntime.so.1.31.1"));
        assert_eq!(wanted("onnxruntime/capi/libopenvino.so.2541"), Some("libopenvino.so.2541"));
        assert_eq!(wanted("onnxruntime/LICENSE"), Some("LICENSE"));
        assert_eq!(wanted("onnxruntime/capi/onnxruntime_pybind11_state.so"), None);
        assert_eq!(wanted("onnxruntime/transformers/LICENSE"), None);
        let wanted = |entry| wanted_name("onnxruntime_ep_webgpu", entry);
        let plugin = "onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so";
        assert_eq!(wanted(plugin), Some("libonnxruntime_providers_webgpu.so"));
        assert_eq!(wanted("onnxruntime_ep_webgpu/dxil.dll"), Some("dxil.dll"));
        assert_eq!(wanted("onnxruntime_ep_webgpu-0.4.0.dist-info/licenses/LICENSE"), Some("LICENSE"));
        assert_eq!(wanted("onnxruntime_ep_webgpu/README.md"), None);
    }

    #[test]
    fn what_an_interrupted_fetch_left_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let stale = cache.path().join(format!("{UNFINISHED}1"));
        let complete = Package::PLAIN.destination(cache.path());
        fs::create_dir_all(stale.join("sub")).unwrap();
        fs::create_dir_all(&complete).unwrap();
        remove_unfinished(cache.path());
        assert!(!stale.exists() && complete.exists());
    }
}
