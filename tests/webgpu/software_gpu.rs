//! Sets the software GPU up, and gives the environment in which a process sees it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use zeitnot::network::folders;

use crate::common::{package_file, stderr, zeitnot};

/// Names the version of what `software_vulkan.py` fetches.
const FOLDER: &str = "software-vulkan-of-mesa-25.0.7";

/// A GPU that is software, unpacked in the cache folder.
#[derive(Debug)]
pub struct SoftwareGpu {
    folder: PathBuf,
}

impl SoftwareGpu {
    /// Returns the software GPU; `None`, with a message, where it cannot be had.
    ///
    /// # Panics
    /// Panics instead of returning `None` if `ZEITNOT_REQUIRE_SOFTWARE_GPU` is 1.
    pub fn get() -> Option<&'static SoftwareGpu> {
        static GPU: LazyLock<Result<SoftwareGpu, String>> = LazyLock::new(set_up);
        match &*GPU {
            Ok(gpu) => Some(gpu),
            Err(reason) => {
                let is_required =
                    std::env::var_os("ZEITNOT_REQUIRE_SOFTWARE_GPU").is_some_and(|it| it == "1");
                assert!(!is_required, "no software GPU: {reason}");
                eprintln!("SKIPPED, for there is no software GPU here: {reason}");
                None
            }
        }
    }

    /// Returns the driver's folder of libraries.
    pub fn libraries(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// Lets `command` see the software GPU, and keep what it compiles for it.
    pub fn show_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("VK_ICD_FILENAMES", self.folder.join("icd.json"))
            .env("LD_LIBRARY_PATH", self.library_path())
            .env("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", "1")
            .env("MESA_SHADER_CACHE_DIR", self.folder.join("shaders"))
    }

    /// Returns the folders of libraries, ours first.
    pub fn library_path(&self) -> OsString {
        let given = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders = [self.libraries()].into_iter().chain(std::env::split_paths(&given));
        std::env::join_paths(folders).unwrap()
    }
}

fn set_up() -> Result<SoftwareGpu, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        return Err("its packages are for Linux with glibc on x86-64".into());
    }
    let folder = folders::cache().ok_or("no cache folder is known")?.join(FOLDER);
    if !folder.is_dir() {
        fetch(&folder)?;
    }
    let gpu = SoftwareGpu { folder };
    let setup = gpu.show_to(&mut zeitnot(&["setup", "--provider=webgpu"])).output().unwrap();
    if setup.status.success() { Ok(gpu) } else { Err(stderr(&setup).trim().to_owned()) }
}

fn fetch(folder: &Path) -> Result<(), String> {
    let script = package_file("tests/webgpu/software_vulkan.py");
    let output = Command::new("python3").arg(script).arg(folder).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("python3 does not run ({error})"))?;
    let message = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(message()) }
}
