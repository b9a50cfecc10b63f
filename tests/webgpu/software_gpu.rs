//! Finds a GPU that is software, and gives the environment in which a process sees it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::common::{set_up_onnx_runtime, skipped};

/// Where packages put the descriptions of Vulkan drivers …
const DRIVERS: &str = "/usr/share/vulkan/icd.d";
/// … how that of Mesa's driver for processors is called …
const SOFTWARE: &str = "lvp_icd";
/// … and the oldest Vulkan that the driver may offer: Mesa before 25 lacks what WebGPU needs.
const LEAST_API: &str = "1.4";
/// Where packages put the Vulkan loader.
const LOADERS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
    "/usr/lib64/libvulkan.so.1",
    "/usr/lib/libvulkan.so.1",
];

/// A GPU that is software: Mesa's Vulkan driver for processors, installed by the system's package tool.
#[derive(Debug)]
pub struct SoftwareGpu {
    /// The description of the driver.
    driver: PathBuf,
    /// The Vulkan loader.
    pub loader: PathBuf,
}

impl SoftwareGpu {
    /// Finds the software GPU, and sets WebGPU's plugin up; `None`, with a message, where either is missing.
    ///
    /// # Panics
    /// Panics instead of returning `None` if `ZEITNOT_REQUIRE_SOFTWARE_GPU` is 1.
    pub fn get() -> Option<&'static SoftwareGpu> {
        static GPU: LazyLock<Result<SoftwareGpu, String>> = LazyLock::new(find);
        let gpu = GPU.as_ref().inspect_err(|why| skipped(why)).ok();
        let gpu = gpu.filter(|_| set_up_onnx_runtime("webgpu"));
        let is_required = std::env::var_os("ZEITNOT_REQUIRE_SOFTWARE_GPU").is_some_and(|it| it == "1");
        assert!(gpu.is_some() || !is_required, "no software GPU");
        gpu
    }

    /// Lets `command` see the software GPU, and keep what it compiles for it.
    pub fn show_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("VK_ICD_FILENAMES", &self.driver)
            // The library sets it for a process that uses it without the next variable, as this one may.
            .env_remove("VK_LOADER_DRIVERS_DISABLE")
            .env("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", "1")
            .env(
                "MESA_SHADER_CACHE_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("shaders"),
            )
    }
}

fn find() -> Result<SoftwareGpu, String> {
    let remedy = "install Mesa's Vulkan drivers, version 25 or newer (Debian, Ubuntu: apt install mesa-vulkan-drivers)";
    let entries = fs::read_dir(DRIVERS).into_iter().flatten().flatten();
    let is_software = |name: &OsString| name.to_string_lossy().starts_with(SOFTWARE);
    let driver = entries
        .filter(|entry| is_software(&entry.file_name()))
        .map(|entry| entry.path())
        .next();
    let driver = driver.ok_or_else(|| format!("no software GPU is installed: {remedy}"))?;
    let text = fs::read_to_string(&driver).map_err(|error| error.to_string())?;
    let description: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let api = description["ICD"]["api_version"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if api.as_str() < LEAST_API {
        return Err(format!("the software GPU here offers Vulkan {api}: {remedy}"));
    }
    let loader = LOADERS.iter().map(PathBuf::from).find(|path| path.exists());
    Ok(SoftwareGpu {
        driver,
        loader: loader.ok_or("the Vulkan loader libvulkan.so.1 is not installed")?,
    })
}
