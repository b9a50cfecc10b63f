//! Fetches a package's wheel from PyPI into the cache folder, once.
//!
//! `pip download` uses the user's mirrors, proxies and certificates. Concurrent processes wait at a lock,
//! which the system releases when a process dies. A fetch works in its own folder, renamed when complete. The
//! next fetch removes the folder of an interrupted one.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{self, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;
use zip::ZipArchive;

use super::machine::{pip, pip_remedy, pythons_with_pip};
use super::packages::{Package, Wheel, own_os};
use crate::output::eprint_message;
use zeitnot_engine::files::hex;
use zeitnot_engine::foreign::{VERBOSE_SETTING, in_our_words, record};
use zeitnot_engine::network::folders;
use zeitnot_engine::system::tool::finish_within;
use zeitnot_engine::system::{PYTHONS, entries};
use zeitnot_lab::alone::{Lock, WITHOUT_LOCKS, lock, open_regular};

/// Forbids fetching, unless it is empty or 0.
const OFFLINE_VARIABLE: &str = "ZEITNOT_OFFLINE";

/// The time of pip beyond ten minutes, for a connection of 50 kB/s.
const SECONDS_PER_MB: u64 = 20;

const UNFINISHED: &str = "fetching-onnxruntime-";

const AGAIN: &str = "Start again, or run";
const AGAIN_ONLINE: &str = "Start again with a network connection, or run";

#[derive(Debug, Error)]
#[error("{reason}")]
pub(crate) struct FetchError {
    reason: String,
    /// What to do, up to the command of pip that helps, too. Empty where none does.
    remedy: String,
}

impl FetchError {
    fn new(reason: impl Into<String>, remedy: impl Into<String>) -> FetchError {
        FetchError {
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn cache(path: &Path, error: &io::Error) -> FetchError {
        let own_folder = format!(
            "Name a folder of your own with {}, or run",
            folders::CACHE_VARIABLE
        );
        let remedy = if is_forbidden(error.kind()) {
            &own_folder
        } else {
            AGAIN
        };
        FetchError::new(
            format!("cannot write to {}: {}", path.display(), in_our_words(error)),
            remedy,
        )
    }

    fn of_pip(stderr: &str) -> FetchError {
        stderr.lines().for_each(|line| record("pip", &line));
        let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
        if says(&[
            "No space left",
            "Disk quota exceeded",
            "File too large",
            "not enough space on the disk",
        ]) {
            FetchError::new("the disk is full: pip cannot store it", AGAIN)
        } else if says(&["NewConnectionError", "ConnectTimeout", "NameResolutionError"]) {
            FetchError::new("pip cannot reach the package index (no network?)", AGAIN_ONLINE)
        } else {
            FetchError::new(
                format!("pip cannot download it ({VERBOSE_SETTING} tells more)"),
                AGAIN_ONLINE,
            )
        }
    }

    pub(super) fn with_remedy(&self, package: &Package) -> String {
        let FetchError { reason, remedy } = self;
        match remedy.as_str() {
            "" => reason.clone(),
            remedy => format!(
                "{reason}. {remedy} `{} -m pip install {}`",
                PYTHONS[0], package.name
            ),
        }
    }
}

/// Starting again does not help.
pub(super) fn is_forbidden(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

pub(crate) struct Fetcher {
    is_offline: bool,
}

impl Fetcher {
    /// Fetches nothing if it `is_offline` or the environment forbids it.
    pub(crate) fn new(is_offline: bool) -> Fetcher {
        let by_variable =
            env::var_os(OFFLINE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
        Fetcher {
            is_offline: is_offline || by_variable,
        }
    }

    /// Excludes other processes while the returned file is open.
    pub(super) fn lock(&self) -> Result<(PathBuf, File), FetchError> {
        if self.is_offline {
            let reason = format!("nothing is fetched with --offline or {OFFLINE_VARIABLE}");
            return Err(FetchError::new(reason, ""));
        }
        let unknown = || format!("no cache folder is known. Set {}", folders::CACHE_VARIABLE);
        let cache = folders::cache().ok_or_else(|| FetchError::new(unknown(), ""))?;
        let at_cache = |error| FetchError::cache(&cache, &error);
        fs::create_dir_all(&cache).map_err(at_cache)?;
        let options = File::options().write(true).create(true).truncate(false).clone();
        let lock = open_regular(&cache.join("onnxruntime.lock"), &options).map_err(at_cache)?;
        lock_file(&lock).map_err(at_cache)?;
        Ok((cache, lock))
    }

    /// Fetches libraries and licences into [`destination`](Package::destination), unless another process did.
    /// A damaged folder is replaced.
    pub(super) fn fetch(
        &self,
        package: &'static Package,
        usable: impl Fn(&Path) -> bool,
    ) -> Result<(), FetchError> {
        let Package { name, version, .. } = package;
        let os = own_os();
        let arch = env::consts::ARCH;
        let wheel = package.wheel(os, arch).ok_or_else(|| {
            let reason = format!("PyPI has no {name} {version} for {os} on {arch}");
            FetchError::new(reason + ". Build it, and put its library beside the program", "")
        })?;
        let (cache, _lock) = self.lock()?;
        let at_cache = |error| FetchError::cache(&cache, &error);
        let destination = package.destination(&cache);
        if usable(&destination) {
            return Ok(());
        }
        remove_unfinished(&cache);
        if destination.exists() {
            fs::remove_dir_all(&destination).map_err(at_cache)?;
        }
        eprint_message(format_args!(
            "{name} is not installed. Fetching {version} once (about {} MB) into {}",
            wheel.size_mb,
            cache.display()
        ));
        let folder = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&cache)
            .map_err(at_cache)?;
        download(package, wheel, folder.path())?;
        let file = entries(folder.path())
            .pop()
            .ok_or_else(|| FetchError::of_pip(""))?;
        let unpacked = |error| {
            FetchError::new(
                format!("the wheel cannot be unpacked ({})", in_our_words(&error)),
                AGAIN,
            )
        };
        let found = sha256(&file).map_err(unpacked)?;
        if found != wheel.sha256 {
            let reason = format!(
                "the file that pip downloaded is not the one expected (SHA-256 {found}, expected {})",
                wheel.sha256
            );
            return Err(FetchError::new(reason, "Run"));
        }
        let package_folder = folder.path().join("package");
        unpack(package, &file, &package_folder).map_err(unpacked)?;
        fs::rename(package_folder, destination).map_err(at_cache)
    }
}

pub(super) fn lock_file(file: &File) -> io::Result<()> {
    match lock(file) {
        Lock::Held => {}
        Lock::Taken => {
            eprint_message("Another process is fetching. Waiting for it.");
            file.lock()?;
        }
        Lock::Unknown => eprint_message(WITHOUT_LOCKS),
    }
    Ok(())
}

/// The caller must hold the lock: all remains are stale then.
fn remove_unfinished(cache: &Path) {
    for path in entries(cache) {
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
        {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn unpack(package: &Package, wheel: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let path = entry.name()?.into_owned();
        let Some(name) = wanted_name(package.folder, &path) else {
            continue;
        };
        io::copy(&mut entry, &mut File::create(folder.join(name))?)?;
    }
    Ok(())
}

fn wanted_name<'a>(library_folder: &str, entry: &'a str) -> Option<&'a str> {
    let (folder, name) = entry.rsplit_once('/')?;
    let is_shared = name.starts_with("lib") && !name.ends_with(".a") || name.ends_with(".dll");
    let is_library = Path::new(folder).starts_with(library_folder) && is_shared && !name.contains("pybind11");
    let module = library_folder.split('/').next()?;
    let has_licences = folder == module || folder.ends_with(".dist-info/licenses");
    let names = [
        "LICENSE",
        "License.txt",
        "ThirdPartyNotices.txt",
        "third-party-programs.txt",
    ];
    let is_licence =
        names.contains(&name) || name.ends_with("README.txt") || name.ends_with("Acknowledgements.txt");
    (is_library || (has_licences && is_licence)).then_some(name)
}

pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    sha256_of(&mut File::open(path)?)
}

pub(super) fn sha256_of(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            length => hasher.update(&buffer[..length]),
        }
    }
}

/// Downloads one wheel, whatever the Python's version and platform. pip shows progress on stderr.
fn download(package: &Package, wheel: &Wheel, folder: &Path) -> Result<(), FetchError> {
    let remedy = format!("{}, and start again, or run", pip_remedy());
    let mut error = FetchError::new("no Python 3.8 or newer with pip is here", remedy);
    for python in pythons_with_pip() {
        match download_with(python, package, wheel, folder) {
            Ok(()) => return Ok(()),
            Err(reason) => error = reason,
        }
    }
    Err(error)
}

fn download_with(python: &str, package: &Package, wheel: &Wheel, folder: &Path) -> Result<(), FetchError> {
    let requirement = format!("{}=={}", package.name, package.version);
    let failed = |error: io::Error| FetchError::of_pip(&error.to_string());
    let place = path::absolute(folder).map_err(failed)?;
    let patience = Duration::from_secs(600 + u64::from(wheel.size_mb) * SECONDS_PER_MB);
    let output = pip(python, &place)
        .args([
            "download",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary=:all:",
            "--retries",
            "1",
            "--timeout",
            "20",
            "--implementation",
            "cp",
            "--python-version",
            "3.12",
            "--abi",
            "cp312",
            "--platform",
            wheel.platform,
            &requirement,
            "--dest",
        ])
        .arg(&place)
        .stdout(io::stderr())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| finish_within(child, patience))
        .map_err(failed)?;
    if output.status.success() {
        Ok(())
    } else {
        Err(FetchError::of_pip(&String::from_utf8_lossy(&output.stderr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::network::backends::onnxruntime::Provider;

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
        assert_eq!(
            wanted("onnxruntime/capi/libonnxruntime.so.1.31.1"),
            Some("libonnxruntime.so.1.31.1")
        );
        assert_eq!(
            wanted("onnxruntime/capi/libopenvino.so.2541"),
            Some("libopenvino.so.2541")
        );
        assert_eq!(wanted("onnxruntime/LICENSE"), Some("LICENSE"));
        assert_eq!(wanted("onnxruntime/capi/onnxruntime_pybind11_state.so"), None);
        assert_eq!(wanted("onnxruntime/transformers/LICENSE"), None);
        let wanted = |entry| wanted_name("onnxruntime_ep_webgpu", entry);
        let plugin = "onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so";
        assert_eq!(wanted(plugin), Some("libonnxruntime_providers_webgpu.so"));
        assert_eq!(wanted("onnxruntime_ep_webgpu/dxil.dll"), Some("dxil.dll"));
        assert_eq!(
            wanted("onnxruntime_ep_webgpu-0.4.0.dist-info/licenses/LICENSE"),
            Some("LICENSE")
        );
        assert_eq!(wanted("onnxruntime_ep_webgpu/README.md"), None);
        let wanted = |entry| wanted_name("nvidia/cu13", entry);
        assert_eq!(wanted("nvidia/cu13/lib/libcudart.so.13"), Some("libcudart.so.13"));
        assert_eq!(
            wanted("nvidia/cu13/bin/x86_64/cudart64_13.dll"),
            Some("cudart64_13.dll")
        );
        assert_eq!(wanted("nvidia/cu13/lib/libcudart_static.a"), None);
        assert_eq!(wanted("nvidia/cu13/include/cuda.h"), None);
        assert_eq!(
            wanted("nvidia_cublas-13.10.0.20.dist-info/licenses/License.txt"),
            Some("License.txt")
        );
    }

    #[test]
    fn what_an_interrupted_fetch_left_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let stale = cache.path().join(format!("{UNFINISHED}1"));
        let complete = Package::runtime(Provider::Cpu).unwrap().destination(cache.path());
        fs::create_dir_all(stale.join("sub")).unwrap();
        fs::create_dir_all(&complete).unwrap();
        remove_unfinished(cache.path());
        assert!(!stale.exists() && complete.exists());
    }

    #[test]
    fn what_pip_says_is_said_in_our_words_with_a_remedy() {
        let package = Package::runtime(Provider::Cpu).unwrap();
        let said = |stderr| FetchError::of_pip(stderr).with_remedy(package);
        let offline =
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching";
        let again = "Start again with a network connection, or run `py";
        assert!(said(offline).starts_with(&format!(
            "pip cannot reach the package index (no network?). {again}"
        )));
        let missing = "ERROR: Could not find a version\nERROR: No matching distribution found for x\n";
        assert!(said(missing).starts_with(&format!(
            "pip cannot download it (RUST_LOG=info tells more). {again}"
        )));
        assert!(!said(missing).contains("distribution"), "{}", said(missing));
        let full = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device";
        assert!(said(full).starts_with("the disk is full: pip cannot store it. Start again, or run `py"));
        // A missing Python is reported like one that fails.
        let absent = download_with(
            "no-such-python",
            package,
            package.wheel("linux", "x86_64").unwrap(),
            Path::new("/"),
        );
        assert!(
            absent
                .as_ref()
                .is_err_and(|error| error.reason.contains("download it")),
            "{absent:?}"
        );
        let denied = FetchError::cache(Path::new("/x"), &io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(denied.to_string(), "cannot write to /x: access to it is denied");
        assert!(
            !denied.with_remedy(package).contains("Start again"),
            "{}",
            denied.with_remedy(package)
        );
    }
}
