//! Fetches ONNX Runtime once, as the wheel that its makers publish on PyPI, into the cache folder, in a process that was asked to: that of
//! `zeitnot setup`.
//!
//! `pip download` gets the file, so that the user's mirrors, proxies and certificates apply; we check its SHA-256 and
//! unpack it. Processes that want it at the same time wait for one another at a lock, which the system takes away
//! from a process that dies. All work happens in a folder of its own that is renamed when it is complete: an
//! interrupted fetch leaves nothing but such a folder, and the next fetch removes it.
//!
//! Messages and pip's progress go to stderr: stdout belongs to UCI and JSON.
//!
//! A file is fetched by its name, version and platform, and taken only if it has the SHA-256 that stands in its [`Package`].

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};
use thiserror::Error;
use zip::ZipArchive;

use super::provider::Provider;
use super::runtime::eprint_message;
use crate::network::folders;

/// A wheel on PyPI that has the library for one platform.
#[derive(Debug)]
pub(super) struct Release {
    os: &'static str,
    arch: &'static str,
    platform: &'static str,
    /// Megabytes to download, rounded up.
    size_mb: u32,
    /// SHA-256 of the wheel: of that for CPython 3.12, or the only one there is.
    sha256: &'static str,
}

/// Lists the wheels of a package: operating system, processor, platform tag, megabytes, SHA-256.
macro_rules! releases {
    ($($os:literal, $arch:literal, $platform:literal, $size_mb:literal, $sha256:literal;)*) => {
        &[$(Release { os: $os, arch: $arch, platform: $platform, size_mb: $size_mb, sha256: $sha256 }),*]
    };
}

/// A build of ONNX Runtime, a plugin with a provider, or a library of NVIDIA, that its makers publish on PyPI.
#[derive(Debug)]
pub(super) struct Package {
    /// Its name on PyPI.
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// The folder inside the wheel in which the libraries lie, or below which they do.
    pub(super) library_folder: &'static str,
    releases: &'static [Release],
}

impl Package {
    /// The build that evaluates on CPUs, on Apple's with CoreML; plugins add other providers.
    pub(super) const PLAIN: Package = Package {
        name: "onnxruntime",
        version: "1.31.1",
        library_folder: "onnxruntime/capi",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_28_x86_64", 24, "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536";
            "linux", "aarch64", "manylinux_2_28_aarch64", 22, "0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc";
            "macos", "aarch64", "macosx_14_0_arm64", 21, "96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c";
            "windows", "x86_64", "win_amd64", 15, "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130";
            "windows", "aarch64", "win_arm64", 15, "fe8b9ac1ae8e894e12c47ee82e4f6dfc1835768133687257866469fda80d0bf1";
        },
    };

    /// The build with CUDA and TensorRT, for CUDA 13. The libraries of NVIDIA are not in it.
    pub(super) const GPU: Package = Package {
        name: "onnxruntime-gpu",
        version: "1.31.1",
        library_folder: "onnxruntime/capi",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_28_x86_64", 256, "05d548956197b9d01f59b625de740e0d6be3593f874e241a12dc0362650ecdf7";
            "linux", "aarch64", "manylinux_2_34_aarch64", 213, "a0f1725c5a6d1ef82d63498b5ebc25e2c90c9560e91dc76db9be4a49162d4d33";
            "windows", "x86_64", "win_amd64", 169, "2bb1e9373baba88f6415257f5b6a589d23e23c16004f7d89adf4344eada5749e";
        },
    };

    /// The build with DirectML, for Windows.
    pub(super) const DIRECTML: Package = Package {
        name: "onnxruntime-directml",
        version: "1.24.4",
        library_folder: "onnxruntime/capi",
        releases: releases! {
            "windows", "x86_64", "win_amd64", 26, "f2ecb68b7b7b259d2ef3112ae760149f9b5a1e7c0fbb73d539da6250a648a614";
        },
    };

    /// The plugin with WebGPU: Vulkan, Metal or Direct3D 12.
    pub(super) const WEBGPU: Package = Package {
        name: "onnxruntime-ep-webgpu",
        version: "0.4.0",
        library_folder: "onnxruntime_ep_webgpu",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_28_x86_64", 7, "5d8c961eda91a88961cad1fb7621f389f006b18497d6ea9ecf96f729f066cbfb";
            "linux", "aarch64", "manylinux_2_28_aarch64", 7, "17f660db53b1a509c63e721ac6784a2daa1c4e91a968523ee9986505ee5b0a55";
            "macos", "aarch64", "macosx_14_0_universal2", 6, "8d0a91d44b43d931c3068b9134aed9770f27803e353c2b58c93e1700bb68bcca";
            "windows", "x86_64", "win_amd64", 14, "7db646669d1a2390551da675115ea125e68cb3d4d2c3a2d6e463372bf8d6ea87";
            "windows", "aarch64", "win_arm64", 15, "a9586f6744370776059edd794c11bca2f563258a5bd2707864aefff31d3af39f";
        },
    };

    /// The plugin with OpenVINO, whose libraries are in it.
    pub(super) const OPENVINO: Package = Package {
        name: "onnxruntime-ep-openvino",
        version: "1.8.1",
        library_folder: "onnxruntime_ep_openvino",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_28_x86_64", 53, "3832643158c8c187fcab6db661cde2a8c06a2b3559d95d0f2411ac0e51c5e924";
            "windows", "x86_64", "win_amd64", 76, "1acd878be173b02bb8b953460f2f59b121e5f6e47ebc6aad490c0590cf6718fb";
        },
    };

    /// The plugin with TensorRT for RTX, for CUDA 13. It needs the driver and nothing else of NVIDIA.
    pub(super) const TENSORRT_RTX: Package = Package {
        name: "onnxruntime-ep-nv-tensorrt-rtx-cu13",
        version: "0.5.0",
        library_folder: "onnxruntime_ep_nv_tensorrt_rtx",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_28_x86_64", 147, "32f575c633d171b4edf4b53d3bb22b72a6c9c0a850d2982ce9a788a5d40d3298";
            "linux", "aarch64", "manylinux_2_35_aarch64", 135, "1f0bb2b89bb3dfd43096fccb8ec1f581c266c5852c4e6ba672b7bf790c8c96c2";
            "windows", "x86_64", "win_amd64", 111, "609b19f7236c8522ef005a9f763003a78f492e5d871afad39fe1b247760eb3c7";
            "windows", "aarch64", "win_arm64", 99, "b60932e1acd243722915953e3dc6714327038d4f1db6b728de20cead0bc7c4ac";
        },
    };

    /// CUDA 13's linear algebra.
    pub(super) const CUBLAS: Package = Package {
        name: "nvidia-cublas",
        version: "13.10.0.20",
        library_folder: "nvidia/cu13",
        releases: releases! {
            "linux", "x86_64", "manylinux1_x86_64", 445, "dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84";
            "linux", "aarch64", "manylinux2014_aarch64", 561, "c5f3418c0a845232a8cabc58f6fa52cfae7d8bd3680d94c3907aca710fd48d70";
            "windows", "x86_64", "win_amd64", 428, "c310b749eea855b88fafb906de08d6819b87216c6711640771764fea5dcd8546";
        },
    };

    /// CUDA 13's compiler, which cuDNN calls.
    pub(super) const NVRTC: Package = Package {
        name: "nvidia-cuda-nvrtc",
        version: "13.5.37",
        library_folder: "nvidia/cu13",
        releases: releases! {
            "linux", "x86_64", "manylinux2010_x86_64", 59, "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc";
            "linux", "aarch64", "manylinux2014_aarch64", 57, "36e4fa2a8ada293f5693d308e531c196ab6f91cf7a0ff479bf96a537d43a6096";
            "windows", "x86_64", "win_amd64", 50, "e8e6c10b251385707ae3abd7b4ee118de6736fd7678d0f0f4eab4d759f679c21";
        },
    };

    /// CUDA 13's runtime.
    pub(super) const CUDA_RUNTIME: Package = Package {
        name: "nvidia-cuda-runtime",
        version: "13.5.37",
        library_folder: "nvidia/cu13",
        releases: releases! {
            "linux", "x86_64", "manylinux2014_x86_64", 3, "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d";
            "linux", "aarch64", "manylinux2014_aarch64", 3, "de2dc5a7367974228b0a69588a9acc9340d3768bef1bf38bf0801eb08497cd2d";
            "windows", "x86_64", "win_amd64", 3, "f225d3fa5ea6bfbb58fc4979ef72375cbe661d9107f0d8a4ff22cc151525e4a9";
        },
    };

    /// cuDNN 9 for CUDA 13.
    pub(super) const CUDNN: Package = Package {
        name: "nvidia-cudnn-cu13",
        version: "9.28.1.4",
        library_folder: "nvidia/cudnn",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_27_x86_64", 517, "a54f205b1db1f2895d99f398754db1369816f0569dd459731f925635cf7b65ec";
            "linux", "aarch64", "manylinux_2_27_aarch64", 598, "759b6a4919951ed8ec603dec97b96f6a6396c8269b95b3d345526e2471fb433d";
            "windows", "x86_64", "win_amd64", 408, "73d874c6bd8a1c75ca040228f77c4e163efe9bab3b65bd85914e2b7334ac68ee";
        },
    };

    /// CUDA 13's random numbers, which the build for Linux links to.
    pub(super) const CURAND: Package = Package {
        name: "nvidia-curand",
        version: "10.4.5.25",
        library_folder: "nvidia/cu13",
        releases: releases! {
            "linux", "x86_64", "manylinux_2_27_x86_64", 78, "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529";
            "linux", "aarch64", "manylinux_2_27_aarch64", 78, "07c75d8ba14b627d1a01d2c1bfa1eece88f25d564d3aae7e6b6fb44f7bbec9c1";
        },
    };

    /// Returns the package with the ONNX Runtime for `provider`: one that was built with it, or the plain one if the
    /// provider is a plugin.
    pub(super) fn runtime_for(provider: Provider) -> Option<&'static Package> {
        match provider {
            Provider::Cpu | Provider::CoreMl => Some(&Package::PLAIN),
            Provider::OpenVino | Provider::WebGpu | Provider::TensorRtRtx => Some(&Package::PLAIN),
            Provider::Cuda | Provider::TensorRt => Some(&Package::GPU),
            Provider::DirectMl => Some(&Package::DIRECTML),
            Provider::MiGraphX => None,
        }
    }

    /// Returns the folder in `cache` that holds the libraries once they are fetched: machines of different kinds may
    /// share a cache.
    pub(super) fn destination(&self, cache: &Path) -> PathBuf {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        cache.join(format!("{}-{}-{os}-{arch}", self.name, self.version))
    }

    /// Returns the megabytes to download on a system; `None` if there is no build for it.
    pub(super) fn size_mb(&self, os: &str, arch: &str) -> Option<u32> {
        self.release_for(os, arch).map(|release| release.size_mb)
    }

    fn release_for(&self, os: &str, arch: &str) -> Option<&'static Release> {
        self.releases.iter().find(|release| release.os == os && release.arch == arch)
    }

    fn release(&self) -> Result<&'static Release, FetchError> {
        let (os, arch) = (own_os(), std::env::consts::ARCH);
        let (name, version) = (self.name, self.version);
        self.release_for(os, arch).ok_or(FetchError::NoRelease { name, version, os, arch })
    }
}

/// The operating system for which this program was built; nothing is published for Linux with musl.
pub(super) fn own_os() -> &'static str {
    if cfg!(target_env = "musl") { "linux-musl" } else { std::env::consts::OS }
}

/// The beginning of the names of folders of fetches under way.
const UNFINISHED: &str = "fetching-onnxruntime-";

/// Says why the library could not be fetched; it is the reason of a [`super::LibraryError::NotFetched`].
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error("only `zeitnot setup{}` fetches it (about {size_mb} MB)", arguments(*provider))]
    NotAsked { provider: Provider, size_mb: u32 },
    #[error("nothing is fetched with --offline or {}", folders::OFFLINE_VARIABLE)]
    Offline,
    #[error("no cache folder is known. Set {}", folders::CACHE_VARIABLE)]
    NoCacheFolder,
    #[error("PyPI has no {name} {version} for {os} on {arch}")]
    NoRelease { name: &'static str, version: &'static str, os: &'static str, arch: &'static str },
    #[error("cannot write to {} ({source})", path.display())]
    Cache { path: PathBuf, source: io::Error },
    /// pip could not download it.
    #[error(transparent)]
    Download(#[from] DownloadError),
    #[error("the file that pip downloaded is not the one expected (SHA-256 {found}, expected {expected})")]
    WrongHash { found: String, expected: &'static str },
    #[error("the wheel cannot be unpacked ({0})")]
    Unpack(#[from] io::Error),
    #[error("the library fetched does not load")]
    NotLoaded,
}

impl FetchError {
    /// Says it with what else can be done, if that is not said in the reason itself.
    pub(super) fn with_remedy(&self, package: &Package) -> String {
        let name = package.name;
        match self {
            FetchError::NotAsked { .. } | FetchError::Offline | FetchError::NoCacheFolder => self.to_string(),
            FetchError::NoRelease { .. } => {
                format!("{self}. Build it, and put its library beside the program")
            }
            FetchError::Download(_) => format!(
                "{self}. Run `python3 -m pip install {name}`, or install Python 3.8 or newer with pip (Debian, Ubuntu: apt install \
                 python3-pip) and start again with a network connection"
            ),
            _ => format!("{self}. Start again, or run `python3 -m pip install {name}`"),
        }
    }
}

/// Returns what the command line of `setup` says of `provider`.
fn arguments(provider: Provider) -> String {
    if provider == Provider::Cpu { String::new() } else { format!(" --provider {provider}") }
}

/// Returns an error unless the files of `provider` may be fetched.
fn check_permission(provider: Provider, release: &Release) -> Result<(), FetchError> {
    if !folders::may_fetch() {
        return Err(FetchError::NotAsked { provider, size_mb: release.size_mb });
    }
    if folders::is_offline() { Err(FetchError::Offline) } else { Ok(()) }
}

/// Fetches `package`, which has `provider`, into its [`destination`](Package::destination) and returns that folder, unless one is there for
/// which `usable` holds: another process may have brought it meanwhile. A damaged one is replaced.
pub(super) fn fetch(
    package: &Package,
    provider: Provider,
    cache: &Path,
    usable: impl Fn(&Path) -> bool,
) -> Result<PathBuf, FetchError> {
    let release = package.release()?;
    check_permission(provider, release)?;
    let at_cache = |source| FetchError::Cache { path: cache.to_path_buf(), source };
    fs::create_dir_all(cache).map_err(at_cache)?;
    let lock = File::create(cache.join("onnxruntime.lock")).map_err(at_cache)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprint_message("Another process is fetching ONNX Runtime. Waiting for it.");
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
    fetch_locked(package, release, cache, &destination)?;
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

/// Fetches a package; the caller must hold the lock.
fn fetch_locked(
    package: &Package,
    release: &Release,
    cache: &Path,
    destination: &Path,
) -> Result<(), FetchError> {
    let folder = cache.join(format!("{UNFINISHED}{}", std::process::id()));
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |source| FetchError::Cache { path, source }
    };
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    eprint_message(format_args!(
        "{} is not installed. Fetching {} once (about {} MB) into {}",
        package.name,
        package.version,
        release.size_mb,
        cache.display()
    ));
    let done = download_and_unpack(package, release, &folder)
        .and_then(|()| fs::rename(&folder, destination).map_err(at(destination)));
    if done.is_err() {
        // Already an error; what stays is removed by the next fetch.
        let _ = fs::remove_dir_all(&folder);
    }
    done
}

/// Leaves the libraries and their licences in `folder`, and nothing else.
fn download_and_unpack(package: &Package, release: &Release, folder: &Path) -> Result<(), FetchError> {
    download(package, release, folder)?;
    let wheel = only_file(folder)?;
    let found = sha256(&wheel)?;
    if found != release.sha256 {
        return Err(FetchError::WrongHash { found, expected: release.sha256 });
    }
    Ok(unpack(package, &wheel, folder)?)
}

/// Unpacks the libraries and licences of `wheel` into `folder` and removes the wheel.
fn unpack(package: &Package, wheel: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let path = entry.name()?.into_owned();
        let Some(name) = wanted_name(package.library_folder, &path) else { continue };
        io::copy(&mut entry, &mut File::create(folder.join(name))?)?;
    }
    fs::remove_file(wheel)
}

/// Returns the plain name under which an entry of a wheel is to be kept, if it is; libraries lie in `library_folder` or below.
fn wanted_name<'a>(library_folder: &str, entry: &'a str) -> Option<&'a str> {
    let (folder, name) = entry.rsplit_once('/')?;
    let is_shared = name.starts_with("lib") && !name.ends_with(".a") || name.ends_with(".dll");
    let is_library = Path::new(folder).starts_with(library_folder) && is_shared && !name.contains("pybind11");
    let module = library_folder.split('/').next()?;
    let has_licences = folder == module || folder.ends_with(".dist-info/licenses");
    let names = ["LICENSE", "License.txt", "ThirdPartyNotices.txt", "third-party-programs.txt"];
    let is_licence =
        names.contains(&name) || name.ends_with("README.txt") || name.ends_with("Acknowledgements.txt");
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

/// Names under which Python 3 may be installed, best first.
const NAMES: &[&str] = if cfg!(windows) { &["py", "python", "python3"] } else { &["python3", "python"] };

/// Prints the folder of the library inside the package `onnxruntime`, without importing it.
const LOCATE_PACKAGE: &str = "import importlib.util as u, os\n\
    s = u.find_spec('onnxruntime')\n\
    print(os.path.join(os.path.dirname(s.origin), 'capi') if s and s.origin else '')";

/// Returns the library folders of the `onnxruntime` packages of all Pythons found.
pub(super) fn package_folders() -> Vec<PathBuf> {
    let folder = |name: &&str| {
        let output = python(name).args(["-c", LOCATE_PACKAGE]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
        (output.status.success() && !text.is_empty()).then(|| PathBuf::from(text))
    };
    let mut folders: Vec<PathBuf> = NAMES.iter().filter_map(folder).collect();
    folders.dedup();
    folders
}

/// Prints the folders of installed packages, a line each.
const LIST_PACKAGES: &str =
    "import site\nprint(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')";

/// Returns the folders in which all Pythons found keep their packages.
pub(super) fn site_folders() -> Vec<PathBuf> {
    let folders = |name: &&str| {
        let output = python(name).args(["-c", LIST_PACKAGES]).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect::<Vec<_>>())
    };
    NAMES.iter().filter_map(folders).flatten().collect()
}

/// Says why one Python could not download a wheel.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum PythonError {
    #[error("is not installed")]
    NotInstalled,
    #[error("does not run ({reason})")]
    NotRun { reason: String },
    #[error("has no pip")]
    NoPip,
    #[error("pip cannot reach the package index (no network?)")]
    Offline,
    #[error("pip download failed ({message})")]
    Pip { message: String },
}

impl PythonError {
    fn not_run(error: &io::Error) -> PythonError {
        match error.kind() {
            io::ErrorKind::NotFound => PythonError::NotInstalled,
            _ => PythonError::NotRun { reason: error.to_string() },
        }
    }

    /// Finds the reason of a failure in what pip wrote: a lost connection if it warns of one, else its last error.
    fn of_pip(stderr: &str) -> PythonError {
        let lost = ["NewConnectionError", "ConnectTimeout", "NameResolutionError"];
        if lost.iter().any(|warning| stderr.contains(warning)) {
            return PythonError::Offline;
        }
        let errors = stderr.lines().rev().find(|line| line.starts_with("ERROR:"));
        let line = errors.or_else(|| stderr.lines().last()).unwrap_or("no message");
        PythonError::Pip { message: line.trim_start_matches("ERROR: ").to_owned() }
    }
}

/// Says why no Python could download a wheel: gives each reason with the Pythons that have it.
#[derive(Debug, Default, Error)]
pub(super) struct DownloadError(Vec<(PythonError, Vec<&'static str>)>);

impl DownloadError {
    fn add(&mut self, python: &'static str, error: PythonError) {
        match self.0.iter_mut().find(|(known, _)| *known == error) {
            Some((_, pythons)) => pythons.push(python),
            None => self.0.push((error, vec![python])),
        }
    }
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.0.iter().map(|(error, pythons)| format!("{}: {error}", pythons.join(", ")));
        f.write_str(&texts.collect::<Vec<_>>().join(", "))
    }
}

/// Downloads one wheel, whatever this Python's version and platform are, into `folder`; pip shows the progress on
/// stderr.
fn download(package: &Package, release: &Release, folder: &Path) -> Result<(), DownloadError> {
    let mut errors = DownloadError::default();
    for name in NAMES {
        match download_with(name, package, release, folder) {
            Ok(()) => return Ok(()),
            Err(error) => errors.add(name, error),
        }
    }
    Err(errors)
}

fn download_with(name: &str, package: &Package, release: &Release, folder: &Path) -> Result<(), PythonError> {
    if !has_pip(name)? {
        return Err(PythonError::NoPip);
    }
    let requirement = format!("{}=={}", package.name, package.version);
    let output = python(name)
        .args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"])
        .args(["--retries", "1", "--timeout", "20"])
        .args(["--implementation", "cp", "--python-version", "3.12", "--abi", "cp312"])
        .args(["--platform", release.platform, &requirement, "--dest"])
        .arg(folder)
        .stdout(io::stderr())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| child.wait_with_output())
        .map_err(|error| PythonError::not_run(&error))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(PythonError::of_pip(&String::from_utf8_lossy(&output.stderr)))
    }
}

/// Returns whether any Python here has pip.
pub(super) fn is_pip_here() -> bool {
    NAMES.iter().any(|name| has_pip(name).unwrap_or(false))
}

fn has_pip(name: &str) -> Result<bool, PythonError> {
    let version = python(name).args(["-m", "pip", "--version"]).output();
    Ok(version.map_err(|error| PythonError::not_run(&error))?.status.success())
}

fn python(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
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
        let wanted = |entry| wanted_name("nvidia/cu13", entry);
        assert_eq!(wanted("nvidia/cu13/lib/libcudart.so.13"), Some("libcudart.so.13"));
        assert_eq!(wanted("nvidia/cu13/bin/x86_64/cudart64_13.dll"), Some("cudart64_13.dll"));
        assert_eq!(wanted("nvidia/cu13/lib/libcudart_static.a"), None);
        assert_eq!(wanted("nvidia/cu13/include/cuda.h"), None);
        assert_eq!(wanted("nvidia_cublas-13.10.0.20.dist-info/licenses/License.txt"), Some("License.txt"));
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

    #[test]
    fn pip_errors_become_one_line() {
        let line = |stderr| PythonError::of_pip(stderr).to_string();
        let offline =
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching";
        assert_eq!(line(offline), "pip cannot reach the package index (no network?)");
        let missing = "ERROR: Could not find a version\nERROR: No matching distribution found for x\n";
        assert_eq!(line(missing), "pip download failed (No matching distribution found for x)");
        assert_eq!(line(""), "pip download failed (no message)");
        let package = &Package::PLAIN;
        let absent = download_with("no-such-python", package, &package.releases[0], Path::new("/"));
        let mut errors = DownloadError::default();
        errors.add("python3", PythonError::NoPip);
        errors.add("py", absent.unwrap_err());
        errors.add("python", PythonError::NoPip);
        assert_eq!(errors.to_string(), "python3, python: has no pip, py: is not installed");
    }
}
